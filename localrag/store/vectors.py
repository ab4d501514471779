"""Vectors: float32 BLOBs in ordinary tables, and the exact search over them.

sqlite-vec's function does the search inside SQLite; where it cannot be loaded, NumPy does it over the same
rows. Both only choose candidates. The candidates are then scored in double precision, row by row, so that
both ways give the same order on every machine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from localrag.errors import UsageError
from localrag.store.rows import Hit, SpaceFields, SpaceRow, VectorKind
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean
from localrag.store.upkeep import entity_text, relation_text, text_hash

Method = Literal["sqlite-vec", "numpy"]

ROUNDING = 1e-5
"""More than the float32 error of a cosine: rows this near to the last place are scored exactly too."""

RESIDENT = 1 << 28
"""Most bytes of one kind's vectors that the NumPy search keeps in memory between searches."""

_OWNERS: dict[VectorKind, str] = {"chunk": "chunks", "entity": "entities", "relation": "relations"}
_BLOCK = 4096
_SPACE = "id, fingerprint, model, dimension, pooling, query_prefix, passage_prefix, token_limit, active"

Matrix = NDArray[np.float32]


class Vectors:
    """Stores vectors of chunks, entities and relations in their embedding spaces and searches them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._resident: dict[tuple[int, VectorKind], tuple[tuple[int, int], NDArray[np.int64], Matrix]] = {}

    @property
    def method(self) -> Method:
        """How `search` works on this connection."""
        return "sqlite-vec" if self._session.vec else "numpy"

    def ensure_space(self, space: SpaceFields) -> int:
        """Id of the embedding space, stored if it is new. The first space becomes the active one."""
        session = self._session
        found = session.value("SELECT id FROM embedding_spaces WHERE fingerprint = ?", [space.fingerprint])
        if found is not None:
            return int(found)
        with session.transaction():
            active = session.value("SELECT count(*) = 0 FROM embedding_spaces WHERE active = 1")
            session.touch()
            return session.insert(
                "INSERT INTO embedding_spaces (fingerprint, model, dimension, pooling, query_prefix, "
                "passage_prefix, token_limit, active) VALUES (?,?,?,?,?,?,?,?)",
                [
                    clean(space.fingerprint),
                    clean(space.model),
                    space.dimension,
                    clean(space.pooling),
                    clean(space.query_prefix),
                    clean(space.passage_prefix),
                    space.limit,
                    active,
                ],
            )

    def active_space(self) -> SpaceRow | None:
        """The space that questions are searched in, or None before the first vector."""
        return next((space for space in self.spaces() if space.active), None)

    def spaces(self) -> list[SpaceRow]:
        """All embedding spaces, the oldest first."""
        rows = self._session.rows(f"SELECT {_SPACE} FROM embedding_spaces ORDER BY id")
        return [SpaceRow(*(*row[:8], bool(row[8]))) for row in rows]

    def activate(self, space_id: int) -> None:
        """Make another space the active one. Raises `UsageError` if there is no such space."""
        with self._session.transaction():
            self._dimension(space_id)
            self._session.run("UPDATE embedding_spaces SET active = 0 WHERE active = 1")
            self._session.run("UPDATE embedding_spaces SET active = 1 WHERE id = ?", [space_id])
            self._session.touch()

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
        matrix = _unit_rows(vectors, (len(ids), dimension))
        if texts is not None and len(texts) != len(ids):
            raise ValueError(f"{len(texts)} texts for {len(ids)} vectors")
        table, owner = f"{kind}_vectors", f"{kind}_id"
        with self._session.transaction():
            embedded = self.texts(kind, ids) if texts is None else [clean(text) for text in texts]
            self._session.run_many(
                f"INSERT INTO {table} ({owner}, space_id, text_hash, vec) SELECT ?1, ?2, ?3, ?4 "
                f"WHERE EXISTS (SELECT 1 FROM {_OWNERS[kind]} WHERE id = ?1) "
                f"ON CONFLICT ({owner}, space_id) DO UPDATE SET text_hash = excluded.text_hash, "
                "vec = excluded.vec",
                [
                    (int(row_id), space_id, text_hash(text), vector.tobytes())
                    for row_id, text, vector in zip(ids, embedded, matrix, strict=True)
                ],
            )
            self._session.touch()

    def missing(self, space_id: int, kind: VectorKind, limit: int | None = None) -> list[int]:
        """Ids, ascending, of rows that have no vector in the space or whose text has changed since."""
        table, owner = f"{kind}_vectors", f"{kind}_id"
        changed = "" if kind == "chunk" else "OR v.text_hash <> o.text_hash"
        return self._session.column(
            f"SELECT o.id FROM {_OWNERS[kind]} o LEFT JOIN {table} v ON v.{owner} = o.id AND v.space_id = ? "
            f"WHERE v.{owner} IS NULL {changed} ORDER BY o.id LIMIT ?",
            [space_id, -1 if limit is None else limit],
        )

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
        wanted = _unit_rows(np.reshape(query, (1, -1)), (1, self._dimension(space_id)))[0]
        if limit <= 0 or (ids is not None and not ids):
            return []
        only = None if ids is None else listed(sorted(ids))
        if (method or self.method) == "sqlite-vec":
            found, matrix = self._nearest_in_sqlite(space_id, kind, wanted, limit, only)
        else:
            found, matrix = self._nearest_in_numpy(space_id, kind, wanted, limit, only)
        # einsum sums every row in the same order, unlike a BLAS product: equal rows get equal scores.
        scores = np.einsum("ij,j->i", matrix.astype(np.float64), wanted.astype(np.float64))
        order = np.lexsort((found, -scores))[:limit]
        return [Hit(int(found[index]), float(scores[index])) for index in order]

    def _nearest_in_sqlite(
        self, space_id: int, kind: VectorKind, query: Matrix, limit: int, only: str | None
    ) -> tuple[NDArray[np.int64], Matrix]:
        table, owner = f"{kind}_vectors", f"{kind}_id"
        where = "" if only is None else f"AND {owner} IN (SELECT value FROM json_each(?))"
        rows = self._session.rows(
            f"WITH near AS MATERIALIZED (SELECT {owner} AS id, vec_distance_cosine(vec, ?) AS d FROM {table} "
            f"WHERE space_id = ? {where}), "
            "edge AS MATERIALIZED (SELECT d FROM near ORDER BY d LIMIT 1 OFFSET ?) "
            f"SELECT near.id, v.vec FROM near JOIN {table} v ON v.{owner} = near.id AND v.space_id = ? "
            "WHERE near.d <= coalesce((SELECT d FROM edge) + ?, 9)",
            [query.tobytes(), space_id, *([] if only is None else [only]), limit - 1, space_id, ROUNDING],
        )
        return _as_arrays(rows, len(query))

    def _nearest_in_numpy(
        self, space_id: int, kind: VectorKind, query: Matrix, limit: int, only: str | None
    ) -> tuple[NDArray[np.int64], Matrix]:
        kept: list[tuple[NDArray[np.int64], Matrix, Matrix]] = []
        for ids, matrix in self._blocks(space_id, kind, len(query), only):
            scores = matrix @ query
            near = np.flatnonzero(scores >= _threshold(scores, limit))
            kept.append((ids[near], matrix[near], scores[near]))
        if not kept:
            return _as_arrays([], len(query))
        ids, matrix, scores = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        near = np.flatnonzero(scores >= _threshold(scores, limit))
        return ids[near], matrix[near]

    def _blocks(
        self, space_id: int, kind: VectorKind, dimension: int, only: str | None
    ) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
        """The vectors of a kind in blocks; whole from memory where they are small and nothing changed."""
        session = self._session
        table, owner = f"{kind}_vectors", f"{kind}_id"
        if only is not None:
            yield _as_arrays(
                session.rows(
                    f"SELECT {owner}, vec FROM {table} WHERE space_id = ? "
                    f"AND {owner} IN (SELECT value FROM json_each(?))",
                    [space_id, only],
                ),
                dimension,
            )
            return
        count = session.value(f"SELECT count(*) FROM {table} WHERE space_id = ?", [space_id])
        fits = count * dimension * 4 <= RESIDENT and not session.changing
        version = (session.value("SELECT revision FROM meta"), count)
        resident = self._resident.get((space_id, kind))
        if fits and resident is not None and resident[0] == version:
            yield resident[1], resident[2]
            return
        self._resident.pop((space_id, kind), None)
        rows = session.each(
            f"SELECT {owner}, vec FROM {table} WHERE space_id = ? ORDER BY {owner}", [space_id]
        )
        if fits:
            ids, matrix = _as_arrays(list(rows), dimension)
            self._resident[space_id, kind] = (version, ids, matrix)
            yield ids, matrix
            return
        block: list[Any] = []
        for row in rows:
            block.append(row)
            if len(block) == _BLOCK:
                yield _as_arrays(block, dimension)
                block = []
        yield _as_arrays(block, dimension)

    def _dimension(self, space_id: int) -> int:
        dimension = self._session.value("SELECT dimension FROM embedding_spaces WHERE id = ?", [space_id])
        if dimension is None:
            raise UsageError(f"There is no embedding space {space_id} in the knowledge base.")
        return int(dimension)


def _unit_rows(vectors: NDArray[Any], shape: tuple[int, int]) -> Matrix:
    """Little-endian float32 rows of length 1; raises `ValueError` where that cannot be."""
    matrix = np.asarray(vectors, dtype="<f4")
    if matrix.shape != shape:
        raise ValueError(f"vectors of shape {matrix.shape} where {shape} is expected")
    if not np.isfinite(matrix).all():
        raise ValueError("a vector holds NaN or infinity")
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix.astype(np.float64), matrix.astype(np.float64)))
    if not (lengths > 1e-12).all():
        raise ValueError("a vector is zero")
    off = np.abs(lengths - 1.0) > 1e-4
    if off.any():
        matrix = matrix.copy()
        matrix[off] = (matrix[off] / lengths[off, None]).astype("<f4")
    return np.ascontiguousarray(matrix)


def _as_arrays(rows: Sequence[Any], dimension: int) -> tuple[NDArray[np.int64], Matrix]:
    ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dimension)
    return ids, matrix


def _threshold(scores: Matrix, limit: int) -> float:
    """A score that the best `limit` rows surely reach; rows as near to it as rounding reach it too."""
    if len(scores) <= limit:
        return -np.inf
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit]) - ROUNDING
