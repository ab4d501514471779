"""Measures the store on generated data: storing, searching with and without a filter, size and memory.

Data are stored by the same calls that everyone uses. The searches run in a process of their own that does
nothing else, so its memory is theirs; see store_queries.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from localrag.bench.store_data import PER_DOCUMENT, Data
from localrag.bench.store_queries import DIMENSION
from localrag.engine.types import EmbeddingSpace
from localrag.errors import Cancelled, LocalragError, UsageError
from localrag.settings import PREFIX
from localrag.store.database import Store

SIZES = (10_000, 100_000, 1_000_000)
"""Chunks of the usual measures."""

_SPACE = EmbeddingSpace("generated", "generated", DIMENSION, "mean")
_BYTES = 12_000
"""Disk for a chunk: its text twice, full text, vector, cache, and the log while it is written."""

_ROOM_LEFT = 1 << 30
_DOCUMENTS = 20
"""Documents stored in one transaction."""


@dataclass(frozen=True)
class StoreRow:
    """What was measured for one size. Times of searches are medians of a warm process, in milliseconds,
    without embedding the question."""

    chunks: int
    """Chunks, of about 800 characters each."""

    insert_s: float
    """Seconds to store them with their vectors."""

    knn_ms: float
    """The 20 nearest vectors."""

    knn_filtered_ms: float
    """The same under a filter that keeps 1 %, with finding out what passes it."""

    fulltext_ms: float
    """Full text alone, eight words."""

    hybrid_ms: float
    """Full text and vectors, joined into 20, as answers use them."""

    hybrid_filtered_ms: float
    """The same under a filter that keeps 1 %."""

    cold_ms: float
    """The first hybrid search of a process that has nothing in memory, opening included."""

    first_ms: float
    """The first hybrid search ever, which also makes the cache of vectors."""

    recall_at_20: float
    """Share of the 20 truly nearest vectors that are found."""

    fulltext_recall_at_20: float
    """Share of the first 20 of a search that ranks every row with one of the words."""

    size_mb: float
    """The file, closed."""

    cache_mb: float
    """The cache of vectors beside it."""

    peak_rss_mb: float
    """Most memory of the process that searches, the mapped cache included, which the system may take back."""

    own_mb: float
    """What of it belongs to the process alone, at the end."""


def measure(
    sizes: Sequence[int],
    keep: Path | None = None,
    on_step: Callable[[str, int, int], None] = lambda text, done, total: None,
    cancel: threading.Event | None = None,
) -> list[StoreRow]:
    """Measure each size with a file of its own, in `keep` or in a folder that is removed afterwards.

    `on_step` hears what is done, how much of it, and of how much. Raises `UsageError` if there is not enough
    room or if `keep` holds such a file already, `Cancelled`.
    """
    stop = cancel or threading.Event()
    with _folder(keep) as folder:
        needed = sum(sizes) if keep else max(sizes)
        _require_room(folder, needed * _BYTES)
        rows = []
        for size in sizes:
            path = folder / f"generated-{size}.localrag"
            if path.exists():
                raise UsageError(f"{path} is there already.", "Name another folder with --keep.")
            insert = _store(path, size, on_step, stop)
            on_step(f"Searching in {size:,} chunks", 0, 0)
            rows.append(_row(size, insert, path, _queried(path, size, folder / "cache", stop)))
            shutil.rmtree(folder / "cache", ignore_errors=True)
            if keep is None:
                path.unlink()
        return rows


def as_json(rows: Sequence[StoreRow]) -> dict[str, Any]:
    """For the bench's JSON."""
    return {"dimension": DIMENSION, "sizes": [asdict(row) for row in rows]}


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="localrag-bench-") as name:
        yield Path(name)


def _require_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _ROOM_LEFT:
        raise UsageError(
            f"This needs about {(needed + _ROOM_LEFT) / 1e9:.0f} GB in {folder}; "
            f"{free / 1e9:.0f} GB are free.",
            "Measure fewer chunks with --sizes, or name a folder on another disk with --keep.",
        )


def _store(path: Path, size: int, on_step: Callable[[str, int, int], None], stop: threading.Event) -> float:
    """Store generated data; returns the seconds that the store took, without making the data."""
    batches = Data(DIMENSION).batches(size)
    seconds, done = 0.0, 0
    with Store.create(path) as store:
        space = store.vectors.ensure_space(_SPACE)
        while group := list(islice(batches, _DOCUMENTS)):
            if stop.is_set():
                raise Cancelled("The measure was stopped.")
            on_step(f"Storing {size:,} chunks", done, size)
            began = time.perf_counter()
            with store.transaction():
                for batch in group:
                    document = store.documents.add(batch.document, batch.chunks)
                    ids = [chunk.id for chunk in store.chunks.of_document(document)]
                    texts = [chunk.text for chunk in batch.chunks]
                    store.vectors.put(space, "chunk", ids, batch.vectors, texts=texts)
            seconds += time.perf_counter() - began
            done += len(group) * PER_DOCUMENT
        began = time.perf_counter()
    return seconds + time.perf_counter() - began


def _queried(path: Path, size: int, cache: Path, stop: threading.Event) -> dict[str, float]:
    """What the searching processes measured: the first makes the cache, the second finds it."""
    first = _run(path, size, cache, stop, "first")
    for file in (path, *cache.rglob("*.vectors")):
        _forget(file)
    return {**_run(path, size, cache, stop, "warm"), **first}


def _run(path: Path, size: int, cache: Path, stop: threading.Event, part: str) -> dict[str, float]:
    environment = {**os.environ, f"{PREFIX}CACHE": str(cache)}
    command = [sys.executable, "-m", "localrag.bench.store_queries", str(path), str(size), part]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while True:
            try:
                output, errors = process.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    process.kill()
                    raise Cancelled("The measure was stopped.") from None
    if process.returncode:
        raise LocalragError(f"The process that searches failed: {errors.strip()[-500:]}")
    found: dict[str, float] = json.loads(output)
    return found


def _forget(path: Path) -> None:
    """Ask the system to drop what it remembers of a file, so that the next read comes from the disk."""
    if not hasattr(os, "posix_fadvise"):
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)


def _row(size: int, insert: float, path: Path, found: dict[str, float]) -> StoreRow:
    times = {name: round(value, 3) for name, value in found.items()}
    return StoreRow(
        chunks=size, insert_s=round(insert, 2), size_mb=round(path.stat().st_size / 1e6, 1), **times
    )
