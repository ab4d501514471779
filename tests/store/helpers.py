"""Small documents, readings and a view of the file without ids, shared by the tests of the store."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import EmbeddingSpace
from localrag.store import Store
from localrag.store.rows import (
    EntityMention,
    GenerationRow,
    NewChunk,
    NewDocument,
    Reading,
    RelationMention,
    VectorKind,
)
from localrag.store.session import Session
from localrag.store.zero_rows import FORM, HEADING, TITLE, ZeroName
from tests.store.logical import logical_rows

__all__ = [
    "KINDS",
    "SPACE",
    "add",
    "add_lines",
    "chunks_of",
    "document",
    "embed_missing",
    "entity",
    "entity_view",
    "files_beside",
    "generation",
    "logical_rows",
    "name_words",
    "new_store",
    "quick_store",
    "reading",
    "relation",
    "session_of",
    "vector",
]

SPACE = EmbeddingSpace(fingerprint="space-a", model="tiny", dimension=8, pooling="mean", limit=64)
KINDS: tuple[VectorKind, ...] = ("chunk", "entity", "relation")


def session_of(store: Store) -> Session:
    """The connection below a store, for looking at tables."""
    return store._session


@cache
def _new_file() -> tuple[bytes, bytes]:
    """The bytes of a new knowledge base, and its uuid within them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new.localrag"
        with Store.create(path) as store:
            mark = store.info().uuid.encode()
        content = path.read_bytes()
    assert content.count(mark) == 1
    return content, mark


def new_store(path: Path) -> Store:
    """A new knowledge base that does not wait for the disk, open.

    It is a copy of one that `Store.create` made in this process, with a uuid of its own: that takes a fifth
    of the time, and tests make thousands.
    """
    content, mark = _new_file()
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(content.replace(mark, str(uuid4()).encode()))
    store = Store.open(path)
    session_of(store).database.execute("PRAGMA synchronous = OFF")
    return store


@contextmanager
def quick_store() -> Iterator[Store]:
    """A new knowledge base that does not wait for the disk, for tests that make very many."""
    with tempfile.TemporaryDirectory() as folder, new_store(Path(folder) / "q.localrag") as store:
        yield store


def document(path: str, text: str, *, root: str = "library") -> NewDocument:
    """A text file."""
    data = text.encode("utf-8", "replace")
    return NewDocument(
        path=path,
        root=root,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        mtime=1700000000.5,
        media_type="text/plain",
        title=path,
        language="en",
        text=text,
    )


def chunks_of(text: str, *, heading: str = "") -> list[NewChunk]:
    """One chunk for each line that holds something."""
    found: list[NewChunk] = []
    start = 0
    for line in text.split("\n"):
        if line.strip():
            end = start + len(line)
            found.append(NewChunk(start, end, heading, None, len(line) // 4 + 1, "en", line))
        start += len(line) + 1
    return found


def add(store: Store, path: str, text: str) -> int:
    """Store a document whose chunks are its lines."""
    return store.documents.add(document(path, text), chunks_of(text))


def add_lines(store: Store, *lines: str) -> list[int]:
    """Store a document of these lines; returns the ids of its chunks."""
    name = hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:12]
    return [chunk.id for chunk in store.chunks.of_document(add(store, f"{name}.txt", "\n".join(lines)))]


def name_words(store: Store, document_id: int) -> None:
    """Give each chunk the names that its words are, and those of its heading and its document's title."""
    title = store.documents.get(document_id).title
    inside, above = {}, {}
    for chunk in store.chunks.of_document(document_id):
        words = {word.casefold(): chunk.text.index(word) for word in chunk.text.split()}
        inside[chunk.id] = [ZeroName(key, FORM, at, at + 1) for key, at in words.items()]
        above[chunk.id] = [ZeroName(title.casefold(), TITLE)] if title else []
        above[chunk.id] += [ZeroName(chunk.heading.casefold(), HEADING)] if chunk.heading else []
    assert store.zero.put(document_id, 1, inside, above)


def generation(output: str = "", *, prompt_hash: str = "p", tokens: int = 7) -> GenerationRow:
    """A call of the model."""
    return GenerationRow("extraction", prompt_hash, "model", "{}", 100, tokens, 50, "stop", output)


def entity(name: str, description: str = "", kind: str = "Person") -> EntityMention:
    """A mention without a place; the key is the name in lower case."""
    return EntityMention(name, name.lower(), kind, description)


def relation(source: str, target: str, description: str = "", keywords: str = "") -> RelationMention:
    """A mention of a relation between two names."""
    return RelationMention(source.lower(), target.lower(), keywords, description)


def reading(entities: Sequence[EntityMention], relations: Sequence[RelationMention] = ()) -> Reading:
    """What was found in a chunk."""
    return Reading(tuple(entities), tuple(relations))


def vector(text: str, dimension: int = SPACE.dimension) -> NDArray[np.float32]:
    """A unit vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "little")
    values = np.random.default_rng(seed).normal(size=dimension)
    return (values / np.linalg.norm(values)).astype(np.float32)


def embed_missing(store: Store) -> int:
    """Embed all that is missing in the one space; returns how many rows that were."""
    space_id = store.vectors.ensure_space(SPACE)
    count = 0
    for kind in KINDS:
        while ids := store.vectors.missing(space_id, kind, 5):
            texts = store.vectors.texts(kind, ids)
            store.vectors.put(space_id, kind, ids, np.stack([vector(text) for text in texts]))
            count += len(ids)
    return count


def entity_view(store: Store) -> list[tuple[Any, ...]]:
    """Entities as callers see them, without ids."""
    return [
        (row.name, row.key, row.type, row.summary, row.mentions, row.descriptions)
        for row in store.graph.top_entities(1000)
    ]


def files_beside(path: Path) -> list[str]:
    """Names of all files in the folder of a knowledge base."""
    return sorted(item.name for item in path.parent.iterdir())
