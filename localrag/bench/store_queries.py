"""The process that searches for the measure of the store: opens a file, searches, prints one JSON object."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import psutil

from localrag.bench.store_data import Data, Question
from localrag.retrieval.fusion import near_best, rrf
from localrag.retrieval.passages import candidates
from localrag.retrieval.query import SAMPLE
from localrag.retrieval.ranking import WORDS_SHARE
from localrag.settings import cache_dir
from localrag.store.database import Store
from localrag.store.filters import Filter, Ids

DIMENSION = 384
"""Length of the vectors."""

TOP = 20
"""Hits that are asked for."""

_WARMED = 5
_ASKED = 40
_COMPARED = 10
_KEPT = Filter(folder="part-07")
"""A hundredth of the documents."""


class Searches:
    """The searches that are measured, on an open store."""

    def __init__(self, store: Store) -> None:
        space = store.vectors.active_space()
        assert space is not None
        self._store = store
        self._space = space.id

    def knn(self, question: Question, ids: Ids | None = None) -> list[int]:
        """The nearest vectors."""
        hits = self._store.vectors.search(self._space, "chunk", question.vector, TOP, ids)
        return [hit.id for hit in hits]

    def exact(self, question: Question) -> list[int]:
        """The nearest vectors, found by reading all of them from the file."""
        method = self._store.vectors.method
        hits = self._store.vectors.search(self._space, "chunk", question.vector, TOP, method=method)
        return [hit.id for hit in hits]

    def fulltext(self, question: Question, ids: Ids | None = None, *, whole: bool = False) -> list[int]:
        """The chunks with the best words."""
        return [hit.id for hit in self._store.fulltext.search(question.text, TOP, ids, whole=whole)]

    def hybrid(self, question: Question, ids: Ids | None = None) -> list[int]:
        """Both, with the depths and the fusion of mode `naive`."""
        words = self._store.fulltext.search(question.text, candidates(TOP), ids)
        near = self._store.vectors.search(self._space, "chunk", question.vector, SAMPLE, ids)
        fused = rrf({"fulltext": near_best(words, WORDS_SHARE), "vector": near[: candidates(TOP)]})
        return [item.id for item in fused[:TOP]]

    def kept(self) -> Ids | None:
        """What passes the filter."""
        return self._store.filters.ids(_KEPT, "chunk")


def main(arguments: Sequence[str]) -> int:
    """Measure `first` (the first search ever) or `warm` (the rest) for a file and its number of chunks."""
    path, chunks, part = Path(arguments[0]), int(arguments[1]), arguments[2]
    questions = Data(DIMENSION).questions(_WARMED + _ASKED, chunks)
    if part == "first":
        found = {"first_ms": _milliseconds(lambda: _open_and_search(path, questions[0]))}
        files = (cache_dir() / "vectors").rglob("*.vectors")
        found["cache_mb"] = sum(file.stat().st_size for file in files) / 1e6
    else:
        found = _warm(path, questions)
    print(json.dumps(found))
    return 0


def _open_and_search(path: Path, question: Question) -> None:
    with Store.open(path, read_only=True) as store:
        Searches(store).hybrid(question)


def _warm(path: Path, questions: Sequence[Question]) -> dict[str, float]:
    began = time.perf_counter()
    with Store.open(path, read_only=True) as store:
        searches = Searches(store)
        searches.hybrid(questions[0])
        found = {"cold_ms": (time.perf_counter() - began) * 1000}
        ways: dict[str, Callable[[Question], object]] = {
            "knn_ms": searches.knn,
            "knn_filtered_ms": lambda question: searches.knn(question, searches.kept()),
            "fulltext_ms": searches.fulltext,
            "hybrid_ms": searches.hybrid,
            "hybrid_filtered_ms": lambda question: searches.hybrid(question, searches.kept()),
        }
        for name, way in ways.items():
            for question in questions[:_WARMED]:
                way(question)
            asked = questions[_WARMED:]
            found[name] = statistics.median(_milliseconds(partial(way, question)) for question in asked)
        memory = psutil.Process().memory_info()
        found["peak_rss_mb"] = _peak() / 1e6
        found["own_mb"] = (memory.rss - getattr(memory, "shared", 0)) / 1e6
        compared = questions[_WARMED : _WARMED + _COMPARED]
        found["recall_at_20"] = statistics.mean(_share(searches.knn(q), searches.exact(q)) for q in compared)
        found["fulltext_recall_at_20"] = statistics.mean(
            _share(searches.fulltext(q), searches.fulltext(q, whole=True)) for q in questions[_WARMED:]
        )
    return found


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _share(found: Sequence[int], wanted: Sequence[int]) -> float:
    return len(set(found) & set(wanted)) / len(wanted) if wanted else 1.0


def _peak() -> int:
    """Most bytes of memory that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    memory = psutil.Process().memory_info()
    return int(getattr(memory, "peak_wset", memory.rss))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
