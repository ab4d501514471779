"""Measures how long it takes to find passages in a large knowledge base, without the language model.

Texts and vectors are those of the measure of the store; each text is given names too, a few that many texts
share and some that hardly any does, and each document is about one of them, as in real texts.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from localrag.bench.store_data import Data, Question
from localrag.bench.store_queries import DIMENSION
from localrag.engine.types import Embedder, EmbeddingSpace
from localrag.errors import Cancelled
from localrag.extraction.zero_names import RULES
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query
from localrag.retrieval.ranking import rank_passages
from localrag.store.database import Store
from localrag.store.zero_rows import FORM, TITLE, ZeroName

NAMES = 12
"""Names of a text."""

_SPACE = EmbeddingSpace("generated", "generated", DIMENSION, "mean")
_WARMED = 5
_ASKED = 40
_PASSAGES = 5
_TOGETHER = 20
_KINDS_OF_NAMES = 5
"""For so many texts there is one name on average."""


@dataclass(frozen=True)
class SpeedRow:
    """What was measured for one size, in milliseconds."""

    chunks: int
    """Chunks, of about 800 characters each."""

    embedding_ms: float | None
    """To embed a question, median; None without an embedding model."""

    ranking_ms: float
    """To find and rank the passages, median of a warm process."""

    slow_ms: float
    """The same for the slowest in twenty."""

    first_ms: float
    """The first question after opening, which also reads the graph of names."""

    cpu_ms: float
    """Processor time of a question, mean."""

    @property
    def total_ms(self) -> float:
        """Both together: what a person waits for."""
        return round((self.embedding_ms or 0.0) + self.ranking_ms, 2)


def measure(
    sizes: Sequence[int],
    embedder: Embedder | None,
    on_step: Callable[[str, int, int], None] = lambda text, done, total: None,
    cancel: threading.Event | None = None,
    keep: Path | None = None,
) -> list[SpeedRow]:
    """Measure each size on generated data, in the folder `keep` or in one that is removed afterwards.

    What lies in `keep` from an earlier call is used again. Raises `Cancelled`.
    """
    stop = cancel or threading.Event()
    with tempfile.TemporaryDirectory(prefix="localrag-bench-") as name:
        rows = []
        for size in sizes:
            path = (keep or Path(name)) / f"named-{size}.localrag"
            if not path.exists():
                _store(path, size, on_step, stop)
            on_step(f"Asking {size:,} chunks", 0, 0)
            rows.append(_row(path, size, embedder))
        return rows


def as_json(rows: Sequence[SpeedRow]) -> list[dict[str, Any]]:
    """The figures for programs."""
    return [{**asdict(row), "total_ms": row.total_ms} for row in rows]


def _store(path: Path, size: int, on_step: Callable[[str, int, int], None], stop: threading.Event) -> None:
    """Store generated texts with vectors and names; the file has its name only once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    random = np.random.default_rng(6)
    batches, done = Data(DIMENSION).batches(size), 0
    with Store.create(part) as store:
        space = store.vectors.ensure_space(_SPACE)
        while group := list(islice(batches, _TOGETHER)):
            if stop.is_set():
                raise Cancelled("The measure was stopped.")
            on_step(f"Storing {size:,} chunks", done, size)
            with store.transaction():
                for batch in group:
                    document = store.documents.add(batch.document, batch.chunks)
                    ids = [chunk.id for chunk in store.chunks.of_document(document)]
                    texts = [chunk.text for chunk in batch.chunks]
                    store.vectors.put(space, "chunk", ids, batch.vectors, texts=texts)
                    subject = [ZeroName(_name(int(random.integers(_count(size)))), TITLE)]
                    inside = {chunk: _names(random, size) for chunk in ids}
                    store.zero.put(document, RULES, inside, dict.fromkeys(ids, subject))
                    done += len(ids)
    part.replace(path)


def _names(random: np.random.Generator, size: int) -> list[ZeroName]:
    """Names of a text: some stand in many texts, most in a few."""
    numbers = {int(_count(size) * value**3) for value in random.random(NAMES)}
    return [ZeroName(_name(number), FORM, 8 * place, 8 * place + 7) for place, number in enumerate(numbers)]


def _count(size: int) -> int:
    return max(NAMES, size // _KINDS_OF_NAMES * NAMES)


def _name(number: int) -> str:
    return f"mount orla {number}"


def _row(path: Path, size: int, embedder: Embedder | None) -> SpeedRow:
    questions = Data(DIMENSION).questions(_WARMED + _ASKED, size)
    random = np.random.default_rng(7)
    named = [f"{q.text} Mount Orla {int(_count(size) * random.random() ** 3)}" for q in questions]
    with Store.open(path, read_only=True) as store:
        ask = _asking(store)
        first = _milliseconds(partial(ask, named[0], questions[0]))
        for text, question in zip(named[1:_WARMED], questions[1:_WARMED], strict=True):
            ask(text, question)
        began = time.process_time()
        times = [
            _milliseconds(partial(ask, text, question))
            for text, question in zip(named[_WARMED:], questions[_WARMED:], strict=True)
        ]
        cpu = 1000 * (time.process_time() - began) / len(times)
    return SpeedRow(
        chunks=size,
        embedding_ms=None if embedder is None else _embedding(embedder, named),
        ranking_ms=round(median(times), 2),
        slow_ms=round(sorted(times)[-len(times) // 20], 2),
        first_ms=round(first, 2),
        cpu_ms=round(cpu, 2),
    )


def _embedding(embedder: Embedder, texts: Sequence[str]) -> float:
    """Milliseconds to embed a question, one at a time, once the model is there."""
    embedder.embed(texts[:1], "query")
    return round(median(_milliseconds(partial(embedder.embed, [text], "query")) for text in texts), 2)


def _asking(store: Store) -> Callable[[str, Question], object]:
    space = store.vectors.active_space()
    assert space is not None
    ordinary = np.zeros(DIMENSION, dtype=np.float32)

    def ask(text: str, question: Question) -> object:
        query = Query(text, question.vector, space.id, ordinary)
        return rank_passages(store, query, limit=candidates(_PASSAGES))

    return ask


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000
