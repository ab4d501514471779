"""Vectors: float32 BLOBs in ordinary tables, and the exact search over them.

A few rows are searched inside SQLite by sqlite-vec's function, or by NumPy over the same rows where it cannot
be loaded; many rows through a matrix that is kept beside the file (matrix.py). All three only choose
candidates. The candidates are then scored in double precision, so that every way gives the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localrag.store import matrix, nearest
from localrag.store.filters import Ids
from localrag.store.matrix_cache import CacheKey, Matrix, MatrixCache, Numbers
from localrag.store.nearest import ROUNDING, as_arrays, unit_rows
from localrag.store.removals import Removals
from localrag.store.rows import VectorKind
from localrag.store.session import Session, listed
from localrag.store.space_rows import Hit
from localrag.store.spaces import OWNERS, Spaces
from localrag.store.sqlite import clean
from localrag.store.upkeep import entity_text, relation_text, text_hash

Method = Literal["sqlite-vec", "numpy"]

FEW = 4096
"""Most ids of a filter for which no matrix is fetched if none is at hand."""

_BLOCK = 4096
_SAMPLE = 1024


class Vectors(Spaces):
    """Stores vectors of chunks, entities and relations in their embedding spaces and searches them."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._uuid = str(session.value("SELECT uuid FROM meta"))
        self.cache = MatrixCache(self._uuid)
        """What is kept beside the file for faster searches."""
        self._views: dict[tuple[int, VectorKind], matrix.MatrixView | None] = {}
        self._middles: dict[tuple[int, VectorKind], tuple[tuple[int, int, int], Matrix]] = {}
        self._removals = Removals(session, self.cache)

    @property
    def method(self) -> Method:
        """How `search` works on this connection."""
        return "sqlite-vec" if self._session.vec else "numpy"

    def texts(self, kind: VectorKind, ids: Sequence[int]) -> list[str]:
        """The texts to embed, in the order of `ids`; "" for a row that is gone.

        A chunk's is its text; an entity's is name and descriptions, parted by a line break; a relation's is
        keywords, source, target and description, parted by tabs. Descriptions end after about 1,500
        characters.
        """
        if kind == "entity":
            return [entity_text(self._session, entity_id) for entity_id in ids]
        if kind == "relation":
            return [relation_text(self._session, relation_id) for relation_id in ids]
        rows = self._session.rows(
            "SELECT id, text FROM chunks WHERE id IN (SELECT value FROM json_each(?))", [listed(ids)]
        )
        found: dict[int, str] = dict(rows)
        return [found.get(int(chunk_id), "") for chunk_id in ids]

    def put(
        self,
        space_id: int,
        kind: VectorKind,
        ids: Sequence[int],
        vectors: NDArray[Any],
        *,
        texts: Sequence[str] | None = None,
    ) -> None:
        """Store vectors of shape (len(ids), dimension), in place of earlier ones; scaled to length 1.

        `texts` are what was embedded, if that may have changed since; without it they are what `texts`
        gives now. Rows that are gone are left out. Raises `ValueError` on a wrong shape, NaN or zero.
        """
        dimension = self._dimension(space_id)
        rows = unit_rows(vectors, (len(ids), dimension))
        if texts is not None and len(texts) != len(ids):
            raise ValueError(f"{len(texts)} texts for {len(ids)} vectors")
        table, owner = f"{kind}_vectors", f"{kind}_id"
        with self._session.transaction():
            embedded = self.texts(kind, ids) if texts is None else [clean(text) for text in texts]
            # Not changed in place: what is kept beside the file knows a row by its number.
            self._session.run(
                f"DELETE FROM {table} WHERE space_id = ? AND {owner} IN (SELECT value FROM json_each(?))",
                [space_id, listed(ids)],
            )
            self._session.run_many(
                f"INSERT INTO {table} ({owner}, space_id, text_hash, vec) SELECT ?1, ?2, ?3, ?4 "
                f"WHERE EXISTS (SELECT 1 FROM {OWNERS[kind]} WHERE id = ?1)",
                [
                    (int(row_id), space_id, text_hash(text), vector.tobytes())
                    for row_id, text, vector in zip(ids, embedded, rows, strict=True)
                ],
            )
            # Nobody searches a space that is in the making.
            if not self._is_building(space_id):
                self._session.touch()

    def search(
        self,
        space_id: int,
        kind: VectorKind,
        query: NDArray[Any],
        limit: int,
        ids: Collection[int] | None = None,
        *,
        method: Method | None = None,
    ) -> list[Hit]:
        """The rows nearest to the query by cosine, nearest first, ties by id.

        `query` has shape (dimension,) and need not have length 1. `ids`, if given, are the only rows that
        count. Raises `ValueError` on a wrong shape, NaN or zero.
        """
        wanted = unit_rows(np.reshape(query, (1, -1)), (1, self._dimension(space_id)))[0]
        if limit <= 0 or (ids is not None and not ids):
            return []
        only = None if ids is None else Ids.of(ids)
        view = None if method == "sqlite-vec" else self._view(space_id, kind, only, method)
        if view is not None:
            blocks: Iterator[tuple[Numbers, Matrix]] = view.blocks(None if only is None else only.array)
        elif (method or self.method) == "numpy":
            blocks = self._blocks(space_id, kind, len(wanted), only)
        else:
            found, near = self._nearest_in_sqlite(space_id, kind, wanted, limit, only)
            return nearest.ranked(found, near, wanted, limit)
        found, near = nearest.candidates(blocks, wanted, limit)
        return nearest.ranked(found, near, wanted, limit)

    def stored(self, space_id: int, kind: VectorKind, ids: Collection[int]) -> tuple[Numbers, Matrix]:
        """The ids among these that have a vector, ascending, and their vectors, one row each."""
        dimension = self._dimension(space_id)
        rows = self._session.rows(
            f"SELECT {kind}_id, vec FROM {kind}_vectors WHERE space_id = ? "
            f"AND {kind}_id IN (SELECT value FROM json_each(?)) ORDER BY {kind}_id",
            [space_id, listed(ids)],
        )
        return as_arrays(rows, dimension)

    def middle(self, space_id: int, kind: VectorKind) -> Matrix | None:
        """The mean of the vectors of a kind, of a sample where they are many; None without any."""
        first, last, count = self._session.row(
            f"SELECT min(seq), max(seq), count(*) FROM {kind}_vectors WHERE space_id = ?", [space_id]
        ) or (None, None, 0)
        if not count:
            return None
        known = self._middles.get((space_id, kind))
        if known is None or known[0] != (first, last, count):
            seqs = np.unique(np.linspace(first, last, _SAMPLE).astype(np.int64))
            rows = self._session.rows(
                f"SELECT seq, vec FROM {kind}_vectors WHERE space_id = ? "
                "AND seq IN (SELECT value FROM json_each(?)) ORDER BY seq",
                [space_id, listed(seqs.tolist())],
            )
            mean = as_arrays(rows, self._dimension(space_id))[1].mean(axis=0, dtype=np.float64)
            known = self._middles[space_id, kind] = ((first, last, count), mean.astype("<f4"))
        return known[1]

    def prepare(self) -> str:
        """Bring what the next search needs up to date, so that a question does not wait for it.

        Returns why the cache beside the file could not be written, for people; empty if it could.
        """
        space = self.active_space()
        if space is not None:
            for kind in OWNERS:
                self._view(space.id, kind, None, None)
        return self.cache.problem

    def _view(
        self, space_id: int, kind: VectorKind, only: Ids | None, method: Method | None
    ) -> matrix.MatrixView | None:
        """The matrix of a kind, up to date, if searching it is right and worth it."""
        session = self._session
        if session.in_transaction:
            # What it would take in may be undone.
            return None
        place = (space_id, kind)
        if place not in self._views:
            if only is not None and len(only) <= FEW:
                return None
            if (method or self.method) == "sqlite-vec" and self._count(space_id, kind) < matrix.LEAST:
                return None
            self._views = {key: view for key, view in self._views.items() if self.has_space(key[0])}
            self._views[place] = matrix.MatrixView(session, self.cache, self._key(space_id, kind))
        view = self._views[place]
        if view is not None and not view.refresh():
            view = self._views[place] = None
        return view

    def _key(self, space_id: int, kind: VectorKind) -> CacheKey:
        fingerprint = self._session.value("SELECT fingerprint FROM embedding_spaces WHERE id = ?", [space_id])
        return CacheKey(self._uuid, kind, space_id, fingerprint, self._dimension(space_id))

    def _count(self, space_id: int, kind: VectorKind) -> int:
        return int(self._session.value(f"SELECT count(*) FROM {kind}_vectors WHERE space_id = ?", [space_id]))

    def _nearest_in_sqlite(
        self, space_id: int, kind: VectorKind, query: Matrix, limit: int, only: Ids | None
    ) -> tuple[Numbers, Matrix]:
        table, owner = f"{kind}_vectors", f"{kind}_id"
        where = "" if only is None else f"AND {owner} IN (SELECT value FROM json_each(?))"
        rows = self._session.rows(
            f"WITH near AS MATERIALIZED (SELECT {owner} AS id, vec_distance_cosine(vec, ?) AS d FROM {table} "
            f"WHERE space_id = ? {where}), "
            "edge AS MATERIALIZED (SELECT d FROM near ORDER BY d LIMIT 1 OFFSET ?) "
            f"SELECT near.id, v.vec FROM near JOIN {table} v ON v.{owner} = near.id AND v.space_id = ? "
            "WHERE near.d <= coalesce((SELECT d FROM edge) + ?, 9)",
            [query.tobytes(), space_id, *_listed(only), limit - 1, space_id, ROUNDING],
        )
        return as_arrays(rows, len(query))

    def _blocks(
        self, space_id: int, kind: VectorKind, dimension: int, only: Ids | None
    ) -> Iterator[tuple[Numbers, Matrix]]:
        """The vectors of a kind, or of some ids, read from the file block by block."""
        where = "" if only is None else f"AND {kind}_id IN (SELECT value FROM json_each(?))"
        block: list[Any] = []
        for row in self._session.each(
            f"SELECT {kind}_id, vec FROM {kind}_vectors WHERE space_id = ? {where}",
            [space_id, *_listed(only)],
        ):
            block.append(row)
            if len(block) == _BLOCK:
                yield as_arrays(block, dimension)
                block = []
        yield as_arrays(block, dimension)


def _listed(only: Ids | None) -> list[str]:
    """The parameter of a condition on ids, if there is one."""
    return [] if only is None else [only.listed]
