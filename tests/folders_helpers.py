"""Small folders, and a view of what the knowledge base holds of them, shared by the tests of following."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localrag.adding import AddReport, add
from localrag.folders.run import Options
from localrag.folders.types import SyncReport
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.rows import EntityMention, GenerationRow, Reading
from localrag.syncing import PatternChange, sync

CHUNKING = ChunkingSettings(size=40, overlap=8)


@contextmanager
def place() -> Iterator[tuple[Store, Path]]:
    """A new knowledge base that does not wait for the disk, and an empty folder beside it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name)) / "notes"
        folder.mkdir()
        with Store.create(folder.parent / "k.localrag") as store:
            store._session.database.execute("PRAGMA synchronous = OFF")
            yield store, folder


def text(*numbers: int, word: str = "harbour") -> str:
    """A text of one sentence for each number, about fourteen tokens long."""
    return " ".join(f"Sentence {number} of the {word} speaks about boats and the sea." for number in numbers)


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, with folders as needed."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def put_in(store: Store, *paths: Path, patterns: PatternChange | None = None) -> AddReport:
    """Add paths."""
    return add(store, paths, CHUNKING, patterns=patterns)


def run(store: Store, *paths: Path, patterns: PatternChange | None = None, **options: bool) -> SyncReport:
    """Sync."""
    return sync(store, CHUNKING, paths, patterns=patterns, options=Options(**options))


def read_all(store: Store) -> None:
    """Read every pending chunk as a model would: one entity that is named after the chunk's text."""
    for chunk in store.chunks.pending():
        name = chunk.text[:40]
        said = Reading((EntityMention(name, name.casefold(), "Thing", "As read."),))
        generation = GenerationRow("extraction", "p", "model", "{}", 10, 5, 20, "stop", chunk.text)
        store.graph.record(chunk.id, said, generation)


def texts(store: Store) -> dict[str, str]:
    """Text by path of the first place."""
    return {row.path: store.documents.text(row.id) for row in store.documents.list()}


def ids(store: Store) -> dict[str, int]:
    """Id of the document by path of the first place."""
    return {row.path: row.id for row in store.documents.list()}


def places(store: Store) -> set[frozenset[str]]:
    """The places of each document."""
    return {frozenset(place.full for place in found) for found in store.documents.all_places().values()}


def mentions(store: Store) -> dict[int, str]:
    """Chunks that were read, with what was read in them, by id."""
    rows = store._session.rows("SELECT chunk_id, name FROM mentions ORDER BY chunk_id")
    return {int(chunk_id): str(name) for chunk_id, name in rows}
