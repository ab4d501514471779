"""The rows of a matrix that are nearest to a query: chosen in single precision, scored in double precision.

A product of single precision depends on how the processor sums it up. So it only chooses candidates, with a
margin, and the candidates' scores are computed in one order everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.store.space_rows import Hit

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int64]

ROUNDING = 1e-5
"""More than the float32 error of a cosine: rows this near to the last place are scored exactly too."""


def unit_rows(vectors: NDArray[Any], shape: tuple[int, int]) -> Matrix:
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


def as_arrays(rows: Sequence[Any], dimension: int) -> tuple[Numbers, Matrix]:
    """Rows of id and vector, as two arrays."""
    ids = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
    matrix = np.frombuffer(b"".join(row[1] for row in rows), dtype="<f4").reshape(len(rows), dimension)
    return ids, matrix


def candidates(blocks: Iterable[tuple[Numbers, Matrix]], query: Matrix, limit: int) -> tuple[Numbers, Matrix]:
    """The rows that may be among the nearest `limit`; rows with the id 0 do not count."""
    kept: list[tuple[Numbers, Matrix, Matrix]] = []
    for ids, matrix in blocks:
        scores = matrix @ query
        scores[ids == 0] = -np.inf
        near = np.flatnonzero(scores >= _threshold(scores, limit))
        # Looked at again: another program may be overwriting rows that were just deleted.
        near = near[(ids[near] != 0) & (scores[near] > -np.inf)]
        kept.append((ids[near], matrix[near], scores[near]))
    if not kept:
        return as_arrays([], len(query))
    ids, matrix, scores = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    near = np.flatnonzero(scores >= _threshold(scores, limit))
    return ids[near], matrix[near]


def ranked(ids: Numbers, matrix: Matrix, query: Matrix, limit: int) -> list[Hit]:
    """The nearest `limit` candidates, best first, ties by id."""
    # einsum sums every row in the same order, unlike a BLAS product: equal rows get equal scores.
    scores = np.einsum("ij,j->i", matrix.astype(np.float64), query.astype(np.float64))
    order = np.lexsort((ids, -scores))[:limit]
    return [Hit(int(ids[index]), float(scores[index])) for index in order]


def _threshold(scores: Matrix, limit: int) -> float:
    """A score that the best `limit` rows surely reach; rows as near to it as rounding reach it too."""
    if len(scores) <= limit:
        return -np.inf
    return float(np.partition(scores, len(scores) - limit)[len(scores) - limit]) - ROUNDING
