"""Vectors of another file, where they are of a model that is in use here and of the text that is here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from localrag.store.row_copies import Ids, RowCopier
from localrag.store.rows import VectorKind
from localrag.store.session import Row
from localrag.store.vectors import Vectors

_BATCH = 1000
_UNIT = 1e-3
_THERE: dict[VectorKind, str] = {
    "chunk": "SELECT v.chunk_id, v.text_hash, v.vec FROM chunk_vectors v WHERE v.space_id = ?",
    "entity": "SELECT e.key, v.text_hash, v.vec FROM entity_vectors v JOIN entities e ON e.id = v.entity_id "
    "WHERE v.space_id = ?",
    "relation": "SELECT s.key || char(0) || t.key, v.text_hash, v.vec FROM relation_vectors v "
    "JOIN relations r ON r.id = v.relation_id JOIN entities s ON s.id = r.source_id "
    "JOIN entities t ON t.id = r.target_id WHERE v.space_id = ?",
}
"""Vectors there with what names their owner in any file, the hash of the text, and the vector."""

_HERE: dict[VectorKind, str] = {
    "entity": "SELECT key, id, text_hash FROM entities",
    "relation": "SELECT s.key || char(0) || t.key, r.id, r.text_hash FROM relations r "
    "JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id",
}


def join_vectors(rows: RowCopier, vectors: Vectors, chunks: Ids) -> tuple[int, list[str]]:
    """Take the vectors that are missing here, within the transactions of both files.

    `vectors` are those of the target, `chunks` the passages there and here. Returns how many came over, and
    what a person should know.
    """
    spaces, notes = _spaces(rows)
    count = 0
    for there, here in spaces.items():
        for kind in _THERE:
            missing = set(vectors.missing(here, kind))
            if missing:
                owners = _owners(rows, kind, chunks)
                found = _fitting(rows.source.each(_THERE[kind], [there]), owners, missing)
                count += _put(vectors, here, kind, found)
    return count, notes


def _spaces(rows: RowCopier) -> tuple[Ids, list[str]]:
    """Embedding spaces there and here that are the same. A file without any takes the one searched there."""
    source, target = rows.source, rows.target
    here: dict[str, int] = dict(target.rows("SELECT fingerprint, id FROM embedding_spaces"))
    spaces: Ids = {}
    notes = []
    for space_id, fingerprint, model, active in source.rows(
        "SELECT id, fingerprint, model, active FROM embedding_spaces ORDER BY id"
    ):
        if fingerprint in here:
            spaces[space_id] = here[fingerprint]
        elif active and not here:
            names = rows.columns("embedding_spaces")
            values = source.row(f"SELECT {', '.join(names)} FROM embedding_spaces WHERE id = ?", [space_id])
            assert values is not None
            spaces[space_id] = rows.put("embedding_spaces", values, {})
        elif active:
            notes.append(
                f"The vectors there are of another model ({model}); `localrag index` makes new ones."
            )
    return spaces, notes


def _owners(rows: RowCopier, kind: VectorKind, chunks: Ids) -> Mapping[Any, tuple[int, str]]:
    """Ids here by what names them there, with the hash of the text that is to be embedded; the text of a
    passage is the same in both files."""
    if kind == "chunk":
        return {there: (here, "") for there, here in chunks.items()}
    return {key: (row_id, digest) for key, row_id, digest in rows.target.each(_HERE[kind])}


def _fitting(
    there: Iterator[Row], owners: Mapping[Any, tuple[int, str]], missing: set[int]
) -> Iterator[tuple[int, bytes]]:
    for name, digest, vector in there:
        row_id, wanted = owners.get(name, (0, ""))
        if row_id in missing and wanted in ("", digest):
            yield row_id, vector


def _put(vectors: Vectors, space_id: int, kind: VectorKind, found: Iterator[tuple[int, bytes]]) -> int:
    """Store vectors batch by batch; damaged ones are left out and made anew by the next index."""
    dimension = next(space.dimension for space in vectors.spaces() if space.id == space_id)
    count = 0
    batch: list[tuple[int, np.ndarray[Any, np.dtype[np.float32]]]] = []
    for row_id, data in found:
        vector = np.frombuffer(data, dtype="<f4")
        if len(vector) == dimension and abs(float(np.linalg.norm(vector)) - 1.0) <= _UNIT:
            batch.append((row_id, vector))
        if len(batch) == _BATCH:
            count += _store(vectors, space_id, kind, batch)
            batch = []
    return count + _store(vectors, space_id, kind, batch)


def _store(
    vectors: Vectors,
    space_id: int,
    kind: VectorKind,
    batch: list[tuple[int, np.ndarray[Any, np.dtype[np.float32]]]],
) -> int:
    if batch:
        ids = [row_id for row_id, _ in batch]
        vectors.put(space_id, kind, ids, np.stack([vector for _, vector in batch]))
    return len(batch)
