"""Takes deleted vectors out of the cache beside the file, in the call that deletes them.

A trigger of this connection notes which rows a transaction deletes, whoever deletes them and however. After
the commit they are overwritten in the cache. A crash between the two leaves a cache with another mark than
the file's, and that is deleted when the file is opened next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from localrag.store.matrix_cache import CacheKey, MatrixCache, Numbers
from localrag.store.rows import VectorKind
from localrag.store.session import Session

KINDS: tuple[VectorKind, ...] = ("chunk", "entity", "relation")

_NONE: Numbers = np.empty(0, dtype=np.int64)

_MANY = 50_000
"""Rows of one space deleted at once after which its cache is made anew sooner than overwritten."""


class Removals:
    """Watches the deletions of a connection that may write."""

    def __init__(self, session: Session, cache: MatrixCache) -> None:
        self._session = session
        self._cache = cache
        cache.drop_stale(keys_of(session).values(), marks_of(session))
        if session.read_only:
            return
        execute = session.database.conn.execute
        execute(
            "CREATE TEMP TABLE deleted_vectors (n INTEGER PRIMARY KEY, kind TEXT NOT NULL, "
            "space_id INTEGER NOT NULL, seq INTEGER NOT NULL, mark INTEGER NOT NULL)"
        )
        for kind in KINDS:
            execute(
                f"CREATE TEMP TRIGGER note_{kind}_vectors BEFORE DELETE ON main.{kind}_vectors BEGIN "
                "INSERT INTO deleted_vectors (kind, space_id, seq, mark) "
                f"SELECT '{kind}', OLD.space_id, OLD.seq, {kind}_vectors_removed FROM main.meta; END"
            )
        session.before_commit(self._noted)

    def _noted(self) -> Callable[[], None] | None:
        """Read the notes of the transaction that is about to be committed."""
        session = self._session
        groups = session.rows(
            "SELECT kind, space_id, count(*) FROM temp.deleted_vectors GROUP BY kind, space_id"
        )
        if not groups:
            return None
        keys, after = keys_of(session), marks_of(session)
        # The values of the first row of each kind: what the mark was before this transaction.
        before: dict[VectorKind, int] = {
            kind: mark
            for kind, mark, _ in session.rows(
                "SELECT kind, mark, min(n) FROM temp.deleted_vectors GROUP BY kind"
            )
        }
        lost: list[CacheKey] = []
        deleted: dict[CacheKey, Numbers] = {key: _NONE for key in keys.values() if key.kind in before}
        for kind, space_id, count in groups:
            key = keys.get((kind, space_id))
            if key is not None and count > _MANY:
                lost.append(key)
            elif key is not None:
                found = session.column(
                    "SELECT seq FROM temp.deleted_vectors WHERE kind = ? AND space_id = ?", [kind, space_id]
                )
                deleted[key] = np.array(found, dtype=np.int64)
        session.run("DELETE FROM temp.deleted_vectors")

        def take_out() -> None:
            for key in lost:
                self._cache.drop(key)
            for key, seqs in deleted.items():
                self._take_out(key, seqs, before[key.kind], after[key.kind])
            # All of a space that is gone, and what could not be followed.
            self._cache.drop_stale(keys.values(), after)

        return take_out

    def _take_out(self, key: CacheKey, seqs: Numbers, before: int, after: int) -> None:
        """Overwrite rows of a chain, if it has followed every deletion before this one."""
        for segment in self._cache.chain(key):
            if segment.mark != before:
                continue
            stored = segment.rows.seqs
            positions = np.searchsorted(stored, seqs)
            positions = positions[positions < len(stored)]
            positions = positions[np.isin(stored[positions], seqs)]
            if len(positions):
                segment.bury(positions)
            segment.set_mark(after)


def keys_of(session: Session) -> Mapping[tuple[VectorKind, int], CacheKey]:
    """The chains that the knowledge base may have, by kind and space."""
    uuid = session.value("SELECT uuid FROM meta")
    return {
        (kind, space_id): CacheKey(uuid, kind, space_id, fingerprint, dimension)
        for space_id, fingerprint, dimension in session.rows(
            "SELECT id, fingerprint, dimension FROM embedding_spaces"
        )
        for kind in KINDS
    }


def marks_of(session: Session) -> dict[VectorKind, int]:
    """The marks of the last deletions."""
    row = session.row(f"SELECT {', '.join(f'{kind}_vectors_removed' for kind in KINDS)} FROM meta") or ()
    return dict(zip(KINDS, row, strict=True))
