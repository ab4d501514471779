"""What speaks for a chunk as an answer to a question, in numbers: of itself, and beside what was found first.

A question whose answer takes two passages names the first and describes the second. So beside what a chunk
has in common with the question, these numbers tell whether it is the subject of a name that stands in one of
the first chunks, whether the words around that name are the question's, and whether the chunk has words of
the question that those lack.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from localrag.retrieval.question_terms import QuestionTerms
from localrag.retrieval.starts import Starts
from localrag.store.adjacency import COMMON, READ, NameGraph, Spot
from localrag.store.rows import ChunkRow
from localrag.store.zero_rows import FORM, TITLE, WORDS

FIRST = 8
"""Chunks that the walk came by most, over which others may be found."""

_INSIDE = FORM | WORDS | READ
_FARTHEST = -8.0
_NEVER = 1e-9
_BEFORE, _BEHIND = 70, 50
_ENDS = (". ", "\n", "。")
_RARE_TITLE = 20


@dataclass(frozen=True)
class Signals:
    """What speaks for one chunk; all but `walk` lie between 0 and 1."""

    walk: float
    """Logarithm of how much the walk comes by it, beside the best: 0 or less."""

    vector: float
    """Its cosine, without what all questions and all chunks have in common, beside the best; without vectors
    its full-text score beside the best."""

    unsettled: float
    """Share of the question that it has, of what is not spent in naming a document that is there."""

    subject: float
    """How much a first chunk names it: the walk of that chunk, times how telling the name is."""

    described: float
    """The same, times the share of the question that stands around the name."""

    about: float
    """The walk of the best first chunk whose title it has."""

    asked: float
    """1 if its document's title is a name in the question."""

    lookalike: float
    """Share of its heading that only looks like a document that the question names."""

    adds: float
    """Share of the question that it has and a first chunk, with which it shares a name, has not; times the
    walk of that chunk."""


NAMES = tuple(field.name for field in fields(Signals))
"""The signals in order."""


class Scene:
    """All that the signals of a question's candidates are worked out from."""

    def __init__(
        self,
        graph: NameGraph,
        terms: QuestionTerms,
        starts: Starts,
        walked: Mapping[int, float],
        chunks: Sequence[ChunkRow],
        first: Sequence[int],
        spots: Sequence[Spot],
    ) -> None:
        """`walked` are the scores of the walk, `chunks` all candidates, `first` those over which others may
        be found, `spots` the places of names in these."""
        self._terms = terms
        self._starts = starts
        most = max(walked.values(), default=1.0)
        self._rows = {row.id: row for row in chunks}
        self._walked = {row.id: walked.get(row.id, 0.0) / most for row in chunks}
        self._words = {row.id: terms.within(f"{row.heading}\n{row.text}") for row in chunks}
        self._open = terms.weights.keys() - starts.settled
        self._first = [chunk for chunk in first if chunk in self._rows]
        self._nodes, self._common = _nodes_of(graph, list(self._rows))
        self._titles = {
            chunk: frozenset(node for node, kind in nodes.items() if kind & TITLE)
            for chunk, nodes in self._nodes.items()
        }
        self._tying = {
            chunk: frozenset(node for node in nodes if self._common[node] <= COMMON)
            for chunk, nodes in self._nodes.items()
        }
        self._spots: dict[int, dict[int, Spot]] = defaultdict(dict)
        for spot in spots:
            self._spots[spot.chunk_id].setdefault(spot.node, spot)
        self._around: dict[tuple[int, int], float] = {}

    def signals(self, chunk_id: int, vector: float) -> Signals:
        """The signals of a candidate whose share of the best vector is known."""
        row, words = self._rows[chunk_id], self._words[chunk_id]
        named = self._titles[chunk_id] & self._starts.nodes.keys()
        asked = any(self._common[node] <= _RARE_TITLE for node in named)
        settled = self._terms.within(row.heading) & self._starts.settled
        beside = [
            self._beside(first, chunk_id)
            for first in self._first
            if self._rows[first].document_id != row.document_id
        ]
        subject, described, about, adds = map(max, zip((0.0,) * 4, *beside, strict=True))
        return Signals(
            walk=max(_FARTHEST, math.log(max(self._walked[chunk_id], _NEVER))),
            vector=vector,
            unsettled=self._terms.share(words, self._open),
            subject=subject,
            described=described,
            about=about,
            asked=float(asked),
            lookalike=0.0 if asked else min(1.0, len(settled) / (len(row.heading.split()) or 1)),
            adds=adds,
        )

    def _beside(self, first: int, chunk_id: int) -> tuple[float, float, float, float]:
        """`subject`, `described`, `about` and `adds` of a chunk with regard to one of the first chunks."""
        walk, nodes = self._walked[first], self._nodes[first]
        subject = described = 0.0
        for node in self._titles[chunk_id] & nodes.keys():
            if nodes[node] & _INSIDE:
                named = walk * _telling(self._common[node])
                subject = max(subject, named)
                described = max(described, named * self._share_around(first, node))
        about = 0.0 if self._titles[first].isdisjoint(self._nodes[chunk_id]) else walk
        if self._tying[first].isdisjoint(self._tying[chunk_id]):
            return subject, described, about, 0.0
        return subject, described, about, walk * self._terms.share(self._words[chunk_id] - self._words[first])

    def _share_around(self, chunk_id: int, node: int) -> float:
        """The share of the open question that stands around a name, within its sentence."""
        if (chunk_id, node) not in self._around:
            spot = self._spots[chunk_id].get(node)
            text = "" if spot is None else _around(self._rows[chunk_id].text, spot.start, spot.end)
            self._around[chunk_id, node] = self._terms.share(self._terms.within(text), self._open)
        return self._around[chunk_id, node]


def as_matrix(signals: Collection[Signals]) -> NDArray[np.float64]:
    """One row for each, in the order of `NAMES`."""
    rows = [[getattr(item, name) for name in NAMES] for item in signals]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(NAMES))


def _nodes_of(graph: NameGraph, chunk_ids: Sequence[int]) -> tuple[dict[int, dict[int, int]], dict[int, int]]:
    """The nodes of chunks with their kinds, and how many chunks have each node."""
    pairs = graph.of_chunks(graph.chunk_places(chunk_ids))
    chunks, nodes = graph.chunk_ids[graph.rows[pairs]].tolist(), graph.nodes[pairs].tolist()
    found: dict[int, dict[int, int]] = {chunk: {} for chunk in chunk_ids}
    for chunk, node, kind in zip(chunks, nodes, graph.kinds[pairs].tolist(), strict=True):
        found[chunk][node] = kind
    return found, dict(zip(nodes, graph.commonness[graph.nodes[pairs]].tolist(), strict=True))


def _telling(commonness: int) -> float:
    """How telling a name is: the less, the more chunks have it."""
    return 1.0 / math.log(1.7 + commonness)


def _around(text: str, start: int, end: int) -> str:
    """What stands around a name, as far as its sentence goes."""
    left = max(0, start - _BEFORE)
    left = max([left, *(text.rfind(sign, left, start) + 1 for sign in _ENDS)])
    right = min(len(text), end + _BEHIND)
    right = min([right, *(found for sign in _ENDS if (found := text.find(sign, end, right)) >= 0)])
    return f"{text[left:start]} {text[end:right]}"
