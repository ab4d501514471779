"""In a child whose file operations are recorded: many small changes, each told to the person when it is in.

python -m tests.crash.workload FOLDER STATES SYNCHRONOUS PAGES
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from localrag.store import Store
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    embed_missing,
    entity,
    generation,
    logical_rows,
    reading,
    relation,
    session_of,
)

NAME = "notes.localrag"
TOLD = "told.txt"
"""File in the folder that gets a line for each change that was told to be in."""

Change = Callable[[Store], object]


def state_of(store: Store) -> str:
    """A hash of everything that the file says."""
    return hashlib.sha256(repr(sorted(logical_rows(store).items())).encode()).hexdigest()


def changes() -> Iterator[Change]:
    """What is done, one transaction each."""
    for number in range(8):
        lines = "\n".join(
            f"Line {n} of {number}: the harbour, the rope, 港口, {n * number}." for n in range(6)
        )
        yield lambda store, number=number, lines=lines: add(store, f"{number}.txt", lines)  # type: ignore[misc]
        yield lambda store: _read_one(store)
        if number % 3 == 2:
            yield lambda store: embed_missing_once(store)
    yield lambda store: store.documents.delete(2)
    yield lambda store: store.documents.replace(
        1, document("0.txt", "other\nlines"), chunks_of("other\nlines")
    )
    yield lambda store: store.chunks.mark_failed(store.chunks.pending(1)[0].id, "no")
    yield lambda store: add(store, "big.txt", "\n".join(f"{n} a big text of many lines" for n in range(400)))
    yield lambda store: store.documents.delete(3)


def embed_missing_once(store: Store) -> None:
    """All missing vectors in one transaction."""
    with store.transaction():
        embed_missing(store)


def _read_one(store: Store) -> None:
    chunk = store.chunks.pending(1)[0]
    names = [entity(name, chunk.text) for name in ("Ada", "Bo", f"Cy{chunk.id % 3}")]
    store.graph.record(chunk.id, reading(names, [relation("Ada", "Bo", chunk.text)]), generation(chunk.text))


def main(folder: str, states: str, synchronous: str, pages: str) -> None:
    """Do it all; the state after each change goes into `states`, which lies elsewhere.

    `pages` is the length of the log at which it is folded in.
    """
    path = Path(folder) / NAME
    told = os.open(Path(folder) / TOLD, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def prepared(store: Store) -> Store:
        database = session_of(store).database
        database.execute(f"PRAGMA synchronous = {synchronous}")
        database.execute(f"PRAGMA wal_autocheckpoint = {pages}").fetchone()
        return store

    def tell(store: Store) -> None:
        state = state_of(store)
        with open(states, "a", encoding="ascii") as file:
            file.write(f"{state}\n")

    store = prepared(Store.create(path))
    tell(store)
    os.write(told, b".")
    for number, change in enumerate(changes()):
        change(store)
        os.write(told, b".")
        tell(store)
        if number % 7 == 6:
            store.close()
            store = prepared(Store.open(path))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
