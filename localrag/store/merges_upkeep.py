"""Derives the automatic merges from what documents say, and keeps them what would be derived from scratch.

A document that was read is looked at as a whole, then its names are compared with those of all documents that
share a feature with them; a deletion does the second half. So the rows are a function of what is in the
file now, whatever was in it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from localrag.graph.resolution import (
    CROWD,
    VERSION,
    Link,
    Passage,
    features_of,
    flat,
    over_all,
    within_document,
)
from localrag.store.merges import TABLES, is_on
from localrag.store.merges_corpus import StoredNames
from localrag.store.resolution import Moved, reassign
from localrag.store.session import Session, listed

_ID_IN = "IN (SELECT value FROM json_each(?))"
_LINKS = "SELECT key, into_key, score, kind, said, documents, together, neighbours FROM name_links"
_BATCH = 1_000
"""Names whose links are made anew together."""


@dataclass(frozen=True)
class Resolved:
    """What bringing the automatic merges up to date did."""

    documents: int = 0
    """Documents that were looked at."""

    merged: int = 0
    """Names that mean another name now, in a document or everywhere."""

    mentions: int = 0
    """Mentions of entities that moved."""


def bring_up(session: Session) -> Resolved:
    """Derive what changed since the last time, all of it if the rules are others; one transaction."""
    with session.transaction():
        if session.value("SELECT merges_version FROM meta") != VERSION:
            take_down(session)
            session.run("UPDATE meta SET merges_version = ?", [VERSION])
            session.run(
                "INSERT INTO unresolved (document_id) SELECT DISTINCT c.document_id FROM chunks c "
                "JOIN mentions m ON m.chunk_id = c.id"
            )
        due = session.column("SELECT document_id FROM unresolved ORDER BY document_id")
        work = _Upkeep(session)
        for document_id in due:
            work.look_at(document_id)
        session.run("DELETE FROM unresolved")
        moved = work.finish()
        merged = session.value(
            "SELECT (SELECT count(*) FROM name_merges) + (SELECT count(*) FROM document_merges)"
        )
    return Resolved(len(due), merged, moved.mentions)


def take_down(session: Session) -> Moved:
    """Take all automatic merges back and keep none up any more; one transaction."""
    with session.transaction():
        keys = session.column("SELECT key FROM name_merges UNION SELECT key FROM document_merges")
        for table in TABLES:
            session.run(f"DELETE FROM {table}")
        session.run("UPDATE meta SET merges_version = 0")
        return reassign(session, keys) if keys else Moved()


def make_anew(session: Session) -> None:
    """Derive all from scratch where merges are kept up, whatever the rows are like; one transaction."""
    with session.transaction():
        if is_on(session):
            session.run("UPDATE meta SET merges_version = -1")
            bring_up(session)


def names_of(session: Session, document_id: int) -> list[str]:
    """The folded names of a document, to be given to `let_go` when it changed or went; empty where nothing is
    kept up."""
    if not is_on(session):
        return []
    return session.column(
        "SELECT DISTINCT m.key FROM mentions m JOIN chunks c ON c.id = m.chunk_id WHERE c.document_id = ?",
        [document_id],
    )


def let_go(session: Session, document_id: int, keys: Collection[str]) -> None:
    """Bring up to date what rested on names that a document had before it changed or went.

    Within the caller's transaction."""
    if keys and is_on(session):
        work = _Upkeep(session)
        work.keys.update(keys)
        # Of a document that is gone its own rows are gone too.
        work.look_at(document_id)
        work.finish()


class _Upkeep:
    """One bringing up to date, within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.keys: set[str] = set()
        """Names whose documents are others than before."""
        self._moved: set[str] = set()

    def look_at(self, document_id: int) -> None:
        """Derive what the names of a document mean in it."""
        session = self._session
        before = {
            row[0]: row
            for row in session.rows(
                "SELECT key, into_key, score, kind, said FROM document_merges WHERE document_id = ?",
                [document_id],
            )
        }
        passages = list(_passages(session, document_id))
        after = {
            link.key: (link.key, link.into, link.score, link.kind, int(link.said))
            for link in within_document(passages)
        }
        self.keys.update(key for passage in passages for key, _, _ in passage.mentions)
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        self.keys |= changed | {row[1] for rows in (before, after) for row in rows.values()}
        self._moved |= changed
        session.run_many(
            "DELETE FROM document_merges WHERE document_id = ? AND key = ?",
            [(document_id, key) for key in changed],
        )
        session.run_many(
            "INSERT INTO document_merges (document_id, key, into_key, score, kind, said) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(document_id, *after[key]) for key in sorted(changed & after.keys())],
        )

    def finish(self) -> Moved:
        """Bring the links and merges over all documents up to date, and give mentions their places."""
        affected = sorted(self.keys | self._renew_features())
        ends: set[str] = set()
        corpus = StoredNames(self._session)
        for start in range(0, len(affected), _BATCH):
            ends |= self._renew_links(corpus, affected[start : start + _BATCH])
        self._moved |= self._renew_merges(ends)
        return reassign(self._session, self._moved) if self._moved else Moved()

    def _renew_features(self) -> set[str]:
        """Note what the names have in common with others.

        Returns the names that share a feature with one that came, went, or is spoken of otherwise."""
        session = self._session
        corpus = StoredNames(session)
        keys = listed(sorted(self.keys))
        before: dict[str, set[str]] = {}
        for key, feature in session.each(
            f"SELECT key, feature FROM name_features WHERE key {_ID_IN}", [keys]
        ):
            before.setdefault(key, set()).add(feature)
        corpus.load(self.keys)
        gone: list[tuple[str, str]] = []
        came: list[tuple[str, str]] = []
        crowds: dict[str, int] = {}
        for key in sorted(self.keys):
            profile = corpus.profile(key)
            old = before.get(key, set())
            new = (
                set() if profile is None else {*features_of(profile), f"t:{'|'.join(sorted(profile.groups))}"}
            )
            if old != new:
                gone += [(feature, key) for feature in old - new]
                came += [(feature, key) for feature in new - old]
                for feature in old | new:
                    if not feature.startswith("t:"):
                        crowds[feature] = crowds.get(feature, 0) + 1
        session.run_many("DELETE FROM name_features WHERE feature = ? AND key = ?", gone)
        session.run_many("INSERT INTO name_features (feature, key) VALUES (?, ?)", came)
        found: set[str] = set()
        for feature, changed in crowds.items():
            # More than that shared it before too, so it said nothing then and says nothing now.
            most = CROWD + changed
            names = session.column(
                "SELECT key FROM name_features WHERE feature = ? LIMIT ?", [feature, most + 1]
            )
            found.update(names if len(names) <= most else ())
        return found

    def _renew_links(self, corpus: StoredNames, keys: list[str]) -> set[str]:
        """Score the links of names anew; returns the ends of sure links that came, went or changed."""
        session = self._session
        corpus.load(keys)
        rows = session.rows(
            f"{_LINKS} WHERE key {_ID_IN} UNION {_LINKS} WHERE into_key {_ID_IN}",
            [listed(keys)] * 2,
        )
        before = {(row[0], row[1]): row for row in rows}
        after = {(link.key, link.into): _row(link) for link in over_all(corpus, keys)}
        changed = {pair for pair in before.keys() | after.keys() if before.get(pair) != after.get(pair)}
        session.run_many(
            "DELETE FROM name_links WHERE key = ? AND into_key = ?", sorted(changed & before.keys())
        )
        session.run_many(
            "INSERT INTO name_links (key, into_key, score, kind, said, documents, together, neighbours) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [after[pair] for pair in sorted(changed & after.keys())],
        )
        sure = [
            pair
            for pair in changed
            if any(pair in rows and _link(rows[pair]).sure for rows in (before, after))
        ]
        return {end for pair in sure for end in pair}

    def _renew_merges(self, ends: Collection[str]) -> set[str]:
        """Make the groups anew that these names are in; returns the names that mean others than before."""
        session = self._session
        names = self._group(ends)
        before = {
            row[0]: row
            for row in session.rows(
                f"SELECT key, into_key, score, kind, said FROM name_merges WHERE key {_ID_IN}",
                [listed(names)],
            )
        }
        links = [
            _link(row)
            for row in session.rows(
                f"{_LINKS} WHERE key {_ID_IN}",
                [listed(names)],
            )
        ]
        after = {
            link.key: (link.key, link.into, link.score, link.kind, int(link.said))
            for link in flat([link for link in links if link.sure])
        }
        changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
        session.run_many("DELETE FROM name_merges WHERE key = ?", [(key,) for key in sorted(changed)])
        session.run_many(
            "INSERT INTO name_merges (key, into_key, score, kind, said) VALUES (?, ?, ?, ?, ?)",
            [after[key] for key in sorted(changed & after.keys())],
        )
        return changed

    def _group(self, ends: Collection[str]) -> set[str]:
        """These names, those of the groups that they were in, and all that hangs together by sure links."""
        session = self._session
        found = set(ends)
        into = session.column(f"SELECT into_key FROM name_merges WHERE key {_ID_IN}", [listed(found)])
        found.update(into)
        found.update(session.column(f"SELECT key FROM name_merges WHERE into_key {_ID_IN}", [listed(found)]))
        waiting = set(found)
        while waiting:
            further = {
                end
                for row in session.rows(
                    f"{_LINKS} WHERE key {_ID_IN} UNION {_LINKS} WHERE into_key {_ID_IN}",
                    [listed(sorted(waiting))] * 2,
                )
                if _link(row).sure
                for end in row[:2]
            }
            waiting = further - found
            found |= waiting
        return found


def _passages(session: Session, document_id: int) -> Iterator[Passage]:
    """What was read in the chunks of a document, in their order."""
    pairs: dict[int, list[tuple[str, str]]] = {}
    for chunk_id, source, target in session.rows(
        "SELECT m.chunk_id, m.source_key, m.target_key FROM relation_mentions m "
        "JOIN chunks c ON c.id = m.chunk_id WHERE c.document_id = ? ORDER BY m.id",
        [document_id],
    ):
        pairs.setdefault(chunk_id, []).append((source, target))
    mentions: dict[int, list[tuple[str, str, str]]] = {}
    for chunk_id, *mention in session.rows(
        "SELECT m.chunk_id, m.key, m.name, m.type FROM mentions m JOIN chunks c ON c.id = m.chunk_id "
        "WHERE c.document_id = ? ORDER BY m.id",
        [document_id],
    ):
        mentions.setdefault(chunk_id, []).append((mention[0], mention[1], mention[2]))
    for chunk_id, text in session.rows(
        f"SELECT id, text FROM chunks WHERE id {_ID_IN} ORDER BY ordinal", [listed(mentions)]
    ):
        yield Passage(document_id, text, tuple(mentions[chunk_id]), tuple(pairs.get(chunk_id, ())))


def _row(link: Link) -> tuple[Any, ...]:
    return (
        link.key,
        link.into,
        link.score,
        link.kind,
        int(link.said),
        link.documents,
        link.together,
        link.neighbours,
    )


def _link(row: Iterable[Any]) -> Link:
    key, into, score, kind, said, documents, together, neighbours = row
    return Link(key, into, score, kind, bool(said), documents, together, neighbours)
