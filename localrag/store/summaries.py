"""Summaries of entities and relations, written by the model from many descriptions, and the calls behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from localrag.store.journal import insert_generation, insert_sources
from localrag.store.origins import drop_calls
from localrag.store.report_rows import SummaryKind
from localrag.store.rows import GenerationRow
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean
from localrag.store.summary_rows import Said, Saying, Waiting
from localrag.store.upkeep import entity_text, relation_text, text_hash

_TABLES: dict[SummaryKind, str] = {"entity": "entities", "relation": "relations"}
_MENTIONS: dict[SummaryKind, str] = {"entity": "mentions", "relation": "relation_mentions"}
_ID_IN = "IN (SELECT value FROM json_each(?))"
_WEIGHTS: dict[SummaryKind, str] = {
    "entity": "(SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = t.id) "
    "+ (SELECT count(*) FROM relations WHERE source_id = t.id) "
    "+ (SELECT count(*) FROM relations WHERE target_id = t.id)",
    "relation": "(SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = t.id)",
}
_ENDS = (
    "SELECT r.id, m.entity_id = r.target_id AS second, m.name FROM relations r "
    "JOIN relation_mentions l ON l.relation_id = r.id JOIN mentions m ON m.chunk_id = l.chunk_id "
    f"AND m.entity_id IN (r.source_id, r.target_id) WHERE r.id {_ID_IN} "
    "GROUP BY r.id, second, m.name ORDER BY r.id, second, count(DISTINCT m.chunk_id) DESC, m.name"
)
"""The ends of relations with the names that the relations' own chunks give them, the most frequent first."""


class Summaries:
    """Stores summaries and knows which are to be written anew."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def dirty(self, kind: SummaryKind, limit: int | None = None, least: int = 1) -> list[int]:
        """Ids, ascending, of entities or relations whose descriptions changed since their summary was made.

        Only those with at least `least` different descriptions, since one needs no summary.
        """
        table, mentions = _TABLES[kind], _MENTIONS[kind]
        return self._session.column(
            f"SELECT id FROM {table} WHERE dirty = 1 AND (SELECT count(DISTINCT description) FROM {mentions} "
            f"WHERE {kind}_id = {table}.id AND description <> '') >= ? ORDER BY id LIMIT ?",
            [least, -1 if limit is None else max(limit, 0)],
        )

    def waiting(self, kind: SummaryKind) -> list[Waiting]:
        """What changed since it was last looked at and has more than one description, or a summary; most
        connected first, ties by id."""
        table, mentions = _TABLES[kind], _MENTIONS[kind]
        rows = self._session.rows(
            f"SELECT id, {_WEIGHTS[kind]} AS weight FROM {table} t WHERE dirty = 1 AND (summary <> '' OR "
            f"(SELECT count(DISTINCT description) FROM {mentions} WHERE {kind}_id = t.id "
            "AND description <> '') > 1) ORDER BY weight DESC, id"
        )
        return [Waiting(kind, row_id, weight) for row_id, weight in rows]

    def said(self, kind: SummaryKind, ids: Iterable[int]) -> list[Said]:
        """All that is said of entities or relations, in the order of `ids`; those that are gone are left out.

        The names of a relation's ends are those that its own chunks give them: a summary must hold nothing of
        a chunk that it does not rest on.
        """
        wanted = list(ids)
        parameters = [listed(wanted)]
        table, mentions = _TABLES[kind], _MENTIONS[kind]
        type_column = "m.type" if kind == "entity" else "''"
        sayings: dict[int, list[Saying]] = {}
        chunks: dict[int, dict[int, None]] = {}
        for row_id, chunk_id, text, type_, language in self._session.rows(
            f"SELECT m.{kind}_id, m.chunk_id, m.description, {type_column}, c.language "
            f"FROM {mentions} m JOIN chunks c ON c.id = m.chunk_id WHERE m.{kind}_id {_ID_IN} "
            f"ORDER BY m.{kind}_id, m.chunk_id, m.id",
            parameters,
        ):
            chunks.setdefault(row_id, {})[chunk_id] = None
            if text:
                sayings.setdefault(row_id, []).append(Saying(chunk_id, text, type_, language))
        names = self._names(kind, parameters)
        found = {
            row_id: Said(
                kind,
                row_id,
                *names.get(row_id, ("", "")),
                bool(own),
                tuple(sayings.get(row_id, ())),
                tuple(chunks.get(row_id, ())),
            )
            for row_id, own in self._session.rows(
                f"SELECT id, description FROM {table} WHERE id {_ID_IN}", parameters
            )
        }
        return [found[row_id] for row_id in wanted if row_id in found]

    def _names(self, kind: SummaryKind, parameters: list[str]) -> dict[int, tuple[str, str]]:
        """The name of each entity, or the names of both ends of each relation."""
        if kind == "entity":
            rows = self._session.rows(f"SELECT id, name FROM entities WHERE id {_ID_IN}", parameters)
            return {row_id: (name, "") for row_id, name in rows}
        ends: dict[int, dict[int, str]] = {}
        for row_id, second, name in self._session.rows(_ENDS, parameters):
            ends.setdefault(row_id, {}).setdefault(second, name)
        return {row_id: (names.get(0, ""), names.get(1, "")) for row_id, names in ends.items()}

    def get(self, kind: SummaryKind, row_id: int) -> str:
        """The summary of an entity or a relation; empty if there is none."""
        text = self._session.value(f"SELECT summary FROM {_TABLES[kind]} WHERE id = ?", [row_id])
        return str(text or "")

    def put(
        self,
        kind: SummaryKind,
        row_id: int,
        text: str,
        generation: GenerationRow,
        sources: Collection[int] | None = None,
    ) -> bool:
        """Store a summary with the call that wrote it, in place of an earlier one and its call.

        `sources` are the chunks whose descriptions the model read; without them it is taken to have read all.
        If other chunks mention it by now, the summary is stored and stays marked for renewal. Returns False,
        and stores nothing, if the entity or relation is gone. Raises `SourceGone` if a source is: then the
        summary has to be written again.
        """
        session, table = self._session, _TABLES[kind]
        with session.transaction():
            row = session.row(f"SELECT generation_id FROM {table} WHERE id = ?", [row_id])
            if row is None:
                return False
            # The new call first: both may have been made with the same prompt, which must not go between.
            generation_id = insert_generation(session, generation)
            present = session.column(
                f"SELECT DISTINCT chunk_id FROM {_MENTIONS[kind]} WHERE {kind}_id = ?", [row_id]
            )
            if sources is None:
                sources = present
            dirty = int(set(sources) != set(present))
            insert_sources(session, generation_id, sources)
            drop_calls(session, [] if row[0] is None else [row[0]])
            session.run(
                f"UPDATE {table} SET summary = ?, dirty = ?, generation_id = ? WHERE id = ?",
                [clean(text), dirty, generation_id, row_id],
            )
            self._note_text(kind, row_id)
            session.touch()
        return True

    def settle(self, kind: SummaryKind, *row_ids: int) -> None:
        """Note that entities or relations need no summary, such as those with few descriptions.

        An earlier summary, of descriptions that were moved elsewhere, goes with its call.
        """
        session, table = self._session, _TABLES[kind]
        ids = [listed(row_ids)]
        with session.transaction():
            summed = session.rows(
                f"SELECT id, generation_id FROM {table} WHERE id {_ID_IN} AND summary <> ''", ids
            )
            if summed:
                drop_calls(session, [call for _, call in summed if call is not None])
                # Without a call, as in files that were put together by hand, nothing else empties it.
                session.run(
                    f"UPDATE {table} SET summary = '' WHERE id {_ID_IN}", [listed(row[0] for row in summed)]
                )
                for row_id, _ in summed:
                    self._note_text(kind, row_id)
                session.touch()
            session.run(f"UPDATE {table} SET dirty = 0 WHERE id {_ID_IN}", ids)

    def settle_plain(self) -> None:
        """Note that all that has no summary and at most one description needs none."""
        with self._session.transaction():
            for kind, table in _TABLES.items():
                self._session.run(
                    f"UPDATE {table} SET dirty = 0 WHERE dirty = 1 AND summary = '' AND "
                    f"(SELECT count(DISTINCT description) FROM {_MENTIONS[kind]} "
                    f"WHERE {kind}_id = {table}.id AND description <> '') < 2"
                )

    def _note_text(self, kind: SummaryKind, row_id: int) -> None:
        """Note which text the vector of a row has to be made from now."""
        embedded = (
            entity_text(self._session, row_id) if kind == "entity" else relation_text(self._session, row_id)
        )
        self._session.run(
            f"UPDATE {_TABLES[kind]} SET text_hash = ? WHERE id = ?", [text_hash(embedded), row_id]
        )
