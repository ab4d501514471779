"""In the parent: starts the child, kills it, looks at what it left, starts it again, compares."""

from __future__ import annotations

import multiprocessing
import re
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from localrag.store import Store
from tests.crash.journey import MARK, Place, main
from tests.store.helpers import files_beside, logical_rows

SECONDS = 120
"""The longest that a stage may take."""

PART = re.compile(r"\.localrag-[0-9a-f]{16}\.part")
"""Names of copies that are not whole yet."""

# Children are forked off one process that has all modules loaded and nothing open, which is quick.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.crash.journey"])

Rows = dict[str, list[tuple[Any, ...]]]


def child(place: Place, stage: str, stop: str = "") -> int:
    """Run a stage in a process of its own; returns its exit code."""
    place.steps.unlink(missing_ok=True)
    process = _FORKS.Process(target=main, args=(str(place.folder), stage, stop))
    process.start()
    try:
        process.join(SECONDS)
        assert process.exitcode is not None, f"{stage} does not end"
    finally:
        process.kill()
        process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{stage} failed; its traceback is in what was captured"
    return process.exitcode


def steps_of(place: Place) -> list[str]:
    """The steps of the last process, in order."""
    return place.steps.read_text().splitlines()


def requests_of(place: Place) -> Counter[str]:
    """How often the models were asked for each thing so far."""
    return Counter(place.requests.read_text().splitlines()) if place.requests.exists() else Counter()


def put_back(place: Place, snapshot: Path) -> None:
    """Make everything as it was at `snapshot`, at the same path, which the file holds."""
    shutil.rmtree(place.folder)
    shutil.copytree(snapshot, place.folder)


def content(place: Place) -> Rows:
    """What the file says without ids and times; nothing may be wrong with it and nothing lie beside it."""
    rows = _rows_of(place.kb)
    if place.copy.parent.exists():
        rows |= {f"copy: {table}": found for table, found in _rows_of(place.copy).items()}
    return rows


def _rows_of(path: Path) -> Rows:
    with Store.open(path) as store:
        problems = store.check()
        assert problems == []
        rows = logical_rows(store)
    # How often a bad file was tried is the one thing that a command given twice may change.
    rows["documents"] = sorted(((*row[:10], *row[11:]) for row in rows["documents"]), key=repr)
    # A copy that was being made when its program was killed is swept up by a later one, an hour on.
    assert [name for name in files_beside(path) if not PART.match(name)] == [path.name]
    return rows


def stored_marks(place: Place) -> Counter[str]:
    """How often the reading of each passage ended and was stored, seen in a copy of what a kill left."""
    found: Counter[str] = Counter()
    copy = place.folder / "looked"
    if not place.kb.exists() or place.kb.stat().st_size == 0:
        return found
    shutil.copytree(place.kb.parent, copy)
    try:
        with Store.open(copy / place.kb.name) as store:
            problems = store.check()
            assert problems == []
            for document in store.documents.list():
                for chunk in store.chunks.of_document(document.id):
                    marks = MARK.findall(chunk.text)
                    if marks:
                        found[f"read {marks[0]}"] += chunk.attempts
            return found
    finally:
        shutil.rmtree(copy)
