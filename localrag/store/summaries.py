"""Summaries of entities and relations, written by the model from many descriptions, and the calls behind."""

from __future__ import annotations

from collections.abc import Collection

from localrag.store.journal import insert_generation, insert_sources
from localrag.store.origins import drop_calls
from localrag.store.report_rows import SummaryKind
from localrag.store.rows import GenerationRow
from localrag.store.session import Session
from localrag.store.sqlite import clean
from localrag.store.upkeep import entity_text, relation_text, text_hash

_TABLES: dict[SummaryKind, str] = {"entity": "entities", "relation": "relations"}
_MENTIONS: dict[SummaryKind, str] = {"entity": "mentions", "relation": "relation_mentions"}


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
        Returns False, and stores nothing, if the entity or relation is gone. Raises `SourceGone` if a source
        is: then the summary has to be written again.
        """
        session, table = self._session, _TABLES[kind]
        with session.transaction():
            row = session.row(f"SELECT generation_id FROM {table} WHERE id = ?", [row_id])
            if row is None:
                return False
            # The new call first: both may have been made with the same prompt, which must not go between.
            generation_id = insert_generation(session, generation)
            if sources is None:
                sources = session.column(
                    f"SELECT DISTINCT chunk_id FROM {_MENTIONS[kind]} WHERE {kind}_id = ?", [row_id]
                )
            insert_sources(session, generation_id, sources)
            drop_calls(session, [] if row[0] is None else [row[0]])
            session.run(
                f"UPDATE {table} SET summary = ?, dirty = 0, generation_id = ? WHERE id = ?",
                [clean(text), generation_id, row_id],
            )
            embedded = entity_text(session, row_id) if kind == "entity" else relation_text(session, row_id)
            session.run(f"UPDATE {table} SET text_hash = ? WHERE id = ?", [text_hash(embedded), row_id])
            session.touch()
        return True

    def settle(self, kind: SummaryKind, row_id: int) -> None:
        """Note that an entity or relation needs no summary, such as one with a single description."""
        with self._session.transaction():
            self._session.run(f"UPDATE {_TABLES[kind]} SET dirty = 0 WHERE id = ?", [row_id])
