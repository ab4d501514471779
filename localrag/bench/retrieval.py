"""Measures what is found for the questions of open sets, before any model answers.

Each question goes the product's own way through a knowledge base of its set: by words, by vectors, by both
joined, over the graph that needs no model, and, if asked for, over the graph that the model read. A ranking
of chunks is one of passages by the first chunk of each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, TextIO

from localrag.bench.retrieval_build import Builder, Step, places_of
from localrag.bench.retrieval_data import Crossing, DataQuestion, QuestionSet
from localrag.engine.types import Embedder
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.retrieval.finding import Finding
from localrag.retrieval.mix import mix
from localrag.retrieval.naive import naive
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import Query, make_query
from localrag.sections import RetrievalSettings
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.space_rows import Hit

METHODS = ("fulltext", "vectors", "fused", "free_graph")
"""What is measured without a model's reading."""

GRAPH = "graph"
"""What is measured over what the model read."""

DEEP = RetrievalSettings(passages=10)
"""Passages that are ranked; the figures look at the first ten documents."""

_CUTS = (2, 5, 10)
_ALL = 8


@dataclass(frozen=True)
class Ranked:
    """The passages that a method ranked for a question."""

    question: DataQuestion
    """What was asked."""

    places: tuple[str, ...]
    """Ids of passages, best first, each once."""

    passing: tuple[str, ...] | None
    """Those whose chunks are good enough to be read; None where a method does not say."""

    def recall(self, cut: int) -> float:
        """Share of what is needed among the first ones."""
        return len(set(self.question.gold) & set(self.places[:cut])) / len(self.question.gold)


@dataclass(frozen=True)
class Row:
    """One method on one set."""

    name: str
    """The set, or the crossing of two."""

    method: str
    """One of `METHODS`, or `GRAPH`."""

    ranked: tuple[Ranked, ...]
    """One for each question."""

    def figures(self, *, many_hops: bool = False) -> dict[str, float]:
        """Recall among the first 2, 5 and 10, and share of the questions with all that is needed among the
        first 8; of all questions, or of those that take many hops. Empty without any."""
        chosen = [item for item in self.ranked if item.question.many_hops or not many_hops]
        if not chosen:
            return {}
        found = {f"r{cut}": mean(item.recall(cut) for item in chosen) for cut in _CUTS}
        found["all8"] = mean(float(item.recall(_ALL) == 1.0) for item in chosen)
        return {name: round(value, 4) for name, value in found.items()}

    def passing(self) -> dict[str, float]:
        """How many passages are good enough to be read on average, and the recall among them."""
        chosen = [(item, item.passing) for item in self.ranked if item.passing is not None]
        if not chosen:
            return {}
        recalls = [
            len(set(item.question.gold) & set(kept)) / len(item.question.gold) for item, kept in chosen
        ]
        return {
            "passages": round(mean(len(kept) for _, kept in chosen), 2),
            "recall": round(mean(recalls), 4),
        }


def measure(
    sets: Sequence[QuestionSet],
    pairs: Sequence[Crossing],
    settings: Settings,
    engines: Engines,
    *,
    graph: bool = False,
    on_step: Step = lambda text, done, total: None,
    cancel: threading.Event | None = None,
    dump: TextIO | None = None,
) -> list[Row]:
    """Measure all methods on sets and on pairs of them; with `graph` the model reads each set first.

    `dump` gets one line of JSON for each question and method. Raises `Cancelled`, and what adding, reading
    and the models raise; what was done is kept in the cache.
    """
    stop = cancel or threading.Event()
    most = settings.retrieval.passages
    builder = Builder(settings, engines, on_step, stop)
    asked = [(data.name, data, data) for data in sets]
    asked += [(pair.name, pair.asks, pair.holds) for pair in pairs]
    rows = []
    for name, asks, holds in asked:
        measured = _methods(
            builder.plain(holds), name, asks, holds, engines.embedder, METHODS, most, on_step, stop
        )
        if graph:
            path = builder.read(holds)
            measured += _methods(path, name, asks, holds, engines.embedder, (GRAPH,), most, on_step, stop)
        for row in measured:
            _write(dump, row)
        rows += measured
    return rows


def as_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures for programs: `sets`, `many_hops` and `passing`, each by set and method."""
    data: dict[str, dict[str, dict[str, dict[str, float]]]] = {"sets": {}, "many_hops": {}, "passing": {}}
    for row in rows:
        parts = {"sets": row.figures(), "many_hops": row.figures(many_hops=True), "passing": row.passing()}
        for part, figures in parts.items():
            if figures:
                data[part].setdefault(row.name, {})[row.method] = figures
    return data


def _methods(
    path: Path,
    name: str,
    asks: QuestionSet,
    holds: QuestionSet,
    embedder: Embedder,
    methods: Sequence[str],
    most: int,
    on_step: Step,
    stop: threading.Event,
) -> list[Row]:
    """The methods on one file, which is only read; `most` passages of a ranking are read by the model."""
    ranked: dict[str, list[Ranked]] = {method: [] for method in methods}
    with Store.open(path, read_only=True) as store:
        places = places_of(store, holds)
        for number, question in enumerate(asks.questions):
            if stop.is_set():
                raise Cancelled("The measure was stopped.", "What was added and read is kept.")
            on_step(f"Asking {name}", number, len(asks.questions))
            query = make_query(store, embedder, question.text)
            for method in methods:
                hits, passing = _WAYS[method](store, query)
                passages = tuple(_passages(store, hits, places))
                kept = (
                    None if passing is None else tuple(_passages(store, hits[: min(passing, most)], places))
                )
                ranked[method].append(Ranked(question, passages, kept))
    return [Row(name, method, tuple(found)) for method, found in ranked.items()]


Found = tuple[list[int], int | None]
"""Chunks, best first, and how many of them are good enough to be read, if the method says so."""


def _by_words(store: Store, query: Query) -> Found:
    return _ids(store.fulltext.search(query.question, candidates(DEEP.passages))), None


def _by_vectors(store: Store, query: Query) -> Found:
    return _ids(query.nearest(store, "chunk")), None


def _by_mode(mode: Callable[[Store, Query, RetrievalSettings], Finding]) -> Callable[[Store, Query], Found]:
    def way(store: Store, query: Query) -> Found:
        finding = mode(store, query, DEEP)
        return [item.id for item in finding.chunks], finding.passing

    return way


_WAYS: Mapping[str, Callable[[Store, Query], Found]] = {
    "fulltext": _by_words,
    "vectors": _by_vectors,
    "fused": _by_mode(naive),
    "free_graph": _by_mode(mix),
    GRAPH: _by_mode(mix),
}


def _ids(hits: Sequence[Hit]) -> list[int]:
    return [hit.id for hit in hits]


def _passages(store: Store, chunks: Sequence[int], places: Mapping[int, str]) -> Iterator[str]:
    """The passages that chunks are of, each once, in the order of their first ones."""
    rows = {row.id: row for row in store.chunks.many(chunks)}
    return iter(dict.fromkeys(places[rows[chunk].document_id] for chunk in chunks if chunk in rows))


def _write(dump: TextIO | None, row: Row) -> None:
    if dump is None:
        return
    for item in row.ranked:
        line = {
            "set": row.name,
            "method": row.method,
            "id": item.question.id,
            "question": item.question.text,
            "gold": item.question.gold,
            "ranked": item.places[: max(_CUTS)],
            "passing": item.passing,
        }
        dump.write(json.dumps(line, ensure_ascii=False) + "\n")
