"""Mends a file that SQLite can read: rows without an owner go, what can be computed is computed anew.

All in one transaction. What is written by a person or read by a model is never made up: where it cannot be
right, it goes, and that is said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import closing

from sqlite_utils import Database

from localrag.errors import KnowledgeBaseError
from localrag.store import decision_log, merges, merges_upkeep, migrations, tags, zero
from localrag.store.checks import OnStep, wrong_vectors
from localrag.store.decision_json import read
from localrag.store.fulltext import FullText
from localrag.store.resolution import reassign
from localrag.store.session import Session, listed
from localrag.store.sqlite import damaged, sqlite3
from localrag.store.upkeep import settle_document

_IN = "IN (SELECT value FROM json_each(?))"

_OUTSIDE = (
    "NOT EXISTS (SELECT 1 FROM claims k JOIN chunks c ON c.id = k.chunk_id WHERE k.id = q.claim_id "
    "AND q.char_start >= 0 AND q.char_start < q.char_end AND q.char_end <= length(c.text))"
)
"""Quotes `q` that are not of their claim's passage."""


def mend(session: Session, fulltext: FullText, on_step: OnStep | None = None) -> tuple[list[str], list[str]]:
    """Mend what can be mended, in one transaction; returns what was done and what was lost, in sentences.

    Raises `KnowledgeBaseBusy`, `DiskFull`, `KnowledgeBaseError` if the damage is SQLite's own; the file is as
    it was then.
    """
    work = _Mending(session, fulltext)
    try:
        with session.transaction():
            for label, step in work.steps():
                if on_step is not None:
                    on_step(label)
                step()
            session.touch()
    except (sqlite3.Error, AttributeError, TypeError, ValueError, OverflowError) as error:
        # SQLite's own, or values of a kind that no program of ours writes, such as none where one must be.
        raise damaged(session.path, error) from error
    return work.done, work.lost


class _Mending:
    """The steps of mending, within one transaction."""

    def __init__(self, session: Session, fulltext: FullText) -> None:
        self._session = session
        self._fulltext = fulltext
        self.done: list[str] = []
        self.lost: list[str] = []

    def steps(self) -> list[tuple[str, Callable[[], None]]]:
        """The steps in their order: tables, then what rows point to, then what is derived from them."""
        return [
            ("tables and indexes", self._schema),
            ("decisions", self._decisions),
            ("links between rows", self._orphans),
            ("documents and passages", self._places),
            ("mentions and quotes", self._spans),
            ("citations and reports", self._citations),
            ("calls of the model", self._calls),
            ("vectors", self._vectors),
            ("entities and relations", self._derived),
            ("full text", self._full_text),
        ]

    def _say(self, count: int, sentence: str, *, lost: bool = False) -> None:
        if count:
            (self.lost if lost else self.done).append(sentence.format(f"{count:,}"))

    def _schema(self) -> None:
        """Make the tables, indexes and triggers that are missing; indexes that are there are made anew."""
        session = self._session
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            fresh = Database(connection, execute_plugins=False)
            migrations.migrate(fresh)
            wanted = fresh.execute(
                "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL "
                "AND name NOT LIKE 'sqlite_%' ORDER BY type = 'table' DESC, rowid"
            ).fetchall()
        for name, kind, sql in wanted:
            if session.value("SELECT 1 FROM sqlite_master WHERE name = ?", [name]) is None:
                session.run(sql)
                self._say(1, f"The missing {kind} {name} was made.")
        session.run("REINDEX")

    def _decisions(self) -> None:
        """Take out decisions that cannot be understood, since none can be replayed past them."""
        for row_id, kind, arguments in self._session.rows("SELECT id, kind, arguments FROM decisions"):
            try:
                read(kind, arguments)
            except KnowledgeBaseError:
                self._session.run("DELETE FROM decisions WHERE id = ?", [row_id])
                self.lost.append(f"A damaged decision was taken out: {kind} {arguments[:200]}")
        decision_log.changed(self._session)

    def _orphans(self) -> None:
        """Remove rows whose owner is gone, and what points to rows that are gone."""
        session = self._session
        tables = session.column("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        removed: dict[str, int] = {}
        again = True
        while again:
            again = False
            for table in tables:
                for _, _, owner, column, key, _, on_delete, *_ in session.rows(
                    "SELECT * FROM pragma_foreign_key_list(?)", [table]
                ):
                    broken = f"{column} IS NOT NULL AND {column} NOT IN (SELECT {key} FROM {owner})"
                    if on_delete == "SET NULL":
                        count = session.run(f"UPDATE {table} SET {column} = NULL WHERE {broken}")
                    else:
                        count = session.run(f"DELETE FROM {table} WHERE {broken}")
                        removed[table] = removed.get(table, 0) + count
                    again = again or count > 0
        for table, count in removed.items():
            self._say(count, f"{{}} rows of {table} belonged to nothing.", lost=True)

    def _places(self) -> None:
        session = self._session
        count = session.run(
            "DELETE FROM copies WHERE EXISTS "
            "(SELECT 1 FROM documents d WHERE d.root = copies.root AND d.path = copies.path)"
        )
        self._say(count, "{} places that belonged to two documents belong to one.")
        session.run("UPDATE documents SET characters = length(text) WHERE characters <> length(text)")
        moved = 0
        for document_id in session.column("SELECT id FROM documents ORDER BY id"):
            moved += self._place_passages(document_id)
            session.run(
                "UPDATE documents SET status = 'waiting' WHERE id = ? AND status = 'indexed' AND EXISTS "
                "(SELECT 1 FROM chunks WHERE document_id = documents.id AND state = 'pending')",
                [document_id],
            )
            settle_document(session, document_id)
        self._say(moved, "{} passages were given their place in the document again.")

    def _place_passages(self, document_id: int) -> int:
        """Find passages that are not at their place where they are, and number all without a gap. A passage
        that is nowhere in the text gets the text that lies at its place."""
        session = self._session
        text = session.value("SELECT text FROM documents WHERE id = ?", [document_id])
        rows = session.rows(
            "SELECT id, ordinal, char_start, char_end, text FROM chunks WHERE document_id = ? "
            "ORDER BY ordinal",
            [document_id],
        )
        moved = 0
        for chunk_id, _, start, end, part in rows:
            if text[start:end] != part:
                moved += 1
                found = text.find(part) if part else -1
                if found >= 0:
                    values = [found, found + len(part), part]
                else:
                    values = [start, start + len(text[start:end]), text[start:end]]
                    self.lost.append(f"Passage {chunk_id} said something that is not in its document.")
                    session.run("UPDATE chunks SET state = 'pending', attempts = 0 WHERE id = ?", [chunk_id])
                session.run(
                    "UPDATE chunks SET char_start = ?, char_end = ?, text = ? WHERE id = ?",
                    [*values, chunk_id],
                )
        if [row[1] for row in rows] != list(range(len(rows))):
            session.run("UPDATE chunks SET ordinal = -1 - ordinal WHERE document_id = ?", [document_id])
            session.run_many(
                "UPDATE chunks SET ordinal = ? WHERE id = ?",
                [(ordinal, row[0]) for ordinal, row in enumerate(rows)],
            )
        return moved

    def _spans(self) -> None:
        """Find names again in their passage; what is not there has no place."""
        session = self._session
        count = session.run(
            "UPDATE mentions SET (char_start, char_end) = (SELECT CASE instr(c.text, mentions.name) WHEN 0 "
            "THEN -1 ELSE instr(c.text, mentions.name) - 1 END, CASE instr(c.text, mentions.name) WHEN 0 "
            "THEN -1 ELSE instr(c.text, mentions.name) - 1 + length(mentions.name) END "
            "FROM chunks c WHERE c.id = mentions.chunk_id) "
            "WHERE NOT (char_start = -1 AND char_end = -1) AND NOT EXISTS (SELECT 1 FROM chunks c "
            "WHERE c.id = mentions.chunk_id AND mentions.char_start >= 0 "
            "AND mentions.char_start <= mentions.char_end AND substr(c.text, mentions.char_start + 1, "
            "mentions.char_end - mentions.char_start) = mentions.name)"
        )
        self._say(count, "{} mentions were given their place in the passage again, or none.")
        count = session.run(
            "UPDATE relation_mentions AS m SET char_start = -1, char_end = -1 "
            "WHERE NOT (m.char_start = -1 AND m.char_end = -1) AND NOT EXISTS (SELECT 1 FROM chunks c "
            "WHERE c.id = m.chunk_id AND m.char_start >= 0 AND m.char_start <= m.char_end "
            "AND m.char_end <= length(c.text))"
        )
        self._say(count, "{} relations have no evidence any more where it was outside of the passage.")
        # A quote that goes may be the one that named the date.
        count = session.run(
            "UPDATE claims SET start_date = '', end_date = '' WHERE start_date || end_date <> '' "
            f"AND id IN (SELECT q.claim_id FROM claim_quotes q WHERE {_OUTSIDE})"
        )
        self._say(count, "{} claims lost their date with a quote outside of their passage.", lost=True)
        count = session.run(f"DELETE FROM claim_quotes AS q WHERE {_OUTSIDE}")
        self._say(count, "{} quotes lay outside of their passage.", lost=True)
        count = session.run(
            "DELETE FROM claims WHERE NOT EXISTS (SELECT 1 FROM claim_quotes WHERE claim_id = claims.id)"
        )
        self._say(count, "{} claims had no quote.", lost=True)
        count = session.run(
            "DELETE FROM claims WHERE NOT EXISTS "
            "(SELECT 1 FROM mentions m WHERE m.chunk_id = claims.chunk_id AND m.key = subject_key) OR "
            "(object_key <> '' AND NOT EXISTS "
            "(SELECT 1 FROM mentions m WHERE m.chunk_id = claims.chunk_id AND m.key = object_key))"
        )
        self._say(count, "{} claims were about something that their passage does not mention.", lost=True)

    def _citations(self) -> None:
        session = self._session
        count = session.run(
            "UPDATE citations SET gone = 1, text = '', document_id = NULL, chunk_id = NULL, "
            "label = CASE kind WHEN 'document' THEN label ELSE '' END WHERE (text <> '' "
            "AND (gone = 1 OR chunk_id IS NULL)) OR "
            "(gone = 0 AND chunk_id IS NOT NULL AND kind = 'document' AND EXISTS (SELECT 1 FROM documents d "
            "WHERE d.id = document_id "
            "AND substr(d.text, char_start + 1, char_end - char_start) <> citations.text))"
        )
        self._say(count, "{} citations say now that their source is gone.")
        for kind, table in (("entity", "entities"), ("relation", "relations"), ("claim", "claims")):
            session.run(
                f"DELETE FROM report_sources WHERE kind = '{kind}' AND row_id NOT IN (SELECT id FROM {table})"
            )
        count = session.run(
            "UPDATE reports SET title = '', summary = '', rating_reason = '', findings = '[]', "
            "generation_id = NULL WHERE made_from = 'facts' AND "
            "(title || summary || rating_reason <> '' OR findings <> '[]' OR generation_id IS NOT NULL)"
        )
        self._say(count, "{} reports of facts held a text, which went.")
        session.run(
            "DELETE FROM communities WHERE NOT EXISTS "
            "(SELECT 1 FROM community_members WHERE community_id = communities.id)"
        )

    def _calls(self) -> None:
        session = self._session
        wrong = [
            digest
            for digest, text in session.rows("SELECT hash, text FROM prompts")
            if hashlib.sha256(text.encode("utf-8")).hexdigest() != digest
        ]
        session.run(f"DELETE FROM prompts WHERE hash {_IN}", [listed(wrong)])
        self._say(len(wrong), "{} prompts were not the text that was sent.", lost=True)
        count = session.run(
            "DELETE FROM generation_sources WHERE EXISTS "
            "(SELECT 1 FROM generations g WHERE g.id = generation_id AND g.chunk_id IS NOT NULL)"
        )
        self._say(count, "{} passages were noted for calls of the model that another passage was read by.")
        stored = " + ".join(
            f"(SELECT count(*) FROM {table} WHERE generation_id = generations.id)"
            for table in ("mentions", "relation_mentions", "claims", "rejects")
        )
        count = session.run(f"UPDATE generations SET parsed = {stored} WHERE parsed <> {stored}")
        self._say(count, "The records of {} calls of the model were counted again.")

    def _vectors(self) -> None:
        """Delete vectors that cannot be searched; the next index makes them anew."""
        session = self._session
        for kind, owner in (("chunk", "passages"), ("entity", "entities"), ("relation", "relations")):
            wrong = list(wrong_vectors(session, kind))
            session.run(f"DELETE FROM {kind}_vectors WHERE rowid {_IN}", [listed(wrong)])
            self._say(len(wrong), f"{{}} vectors of {owner} were dropped; `localrag index` makes them anew.")
        if session.value("SELECT count(*) FROM embedding_spaces WHERE active = 1") == 0:
            session.run(
                "UPDATE embedding_spaces SET active = 1, building = 0 WHERE id = (SELECT space_id "
                "FROM chunk_vectors GROUP BY space_id ORDER BY count(*) DESC, space_id LIMIT 1)"
            )

    def _derived(self) -> None:
        """Assign all that was read by the decisions, and make every column anew that follows from it."""
        session = self._session
        wrong = merges.problems(session)
        if merges.is_on(session):
            merges_upkeep.make_anew(session)
        moved = reassign(session)
        count = session.run(
            "DELETE FROM relations WHERE NOT EXISTS "
            "(SELECT 1 FROM relation_mentions WHERE relation_id = relations.id)"
        )
        count += session.run(
            "DELETE FROM entities WHERE NOT EXISTS (SELECT 1 FROM mentions WHERE entity_id = entities.id)"
        )
        self._say(count, "{} entities and relations that nothing mentions were removed.")
        self._say(moved.mentions + moved.relation_mentions, "{} mentions were given their entity again.")
        for document_id in session.column("SELECT id FROM documents ORDER BY id"):
            tags.replay(session, document_id)
        self._say(len(wrong), "The automatic merges were derived anew.")
        if zero.problems(session):
            zero.forget_all(session)
            self.done.append("The graph without a model was dropped; `localrag index` makes it anew.")

    def _full_text(self) -> None:
        self._fulltext.rebuild()
        self.done.append("Full text and all that is computed from the texts were made anew.")
