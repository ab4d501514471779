"""The names of a question that a walk through the graph starts at, and the words that they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from localrag.retrieval.mentions import inside_longer, named_spans
from localrag.retrieval.question_terms import QuestionTerms
from localrag.store.adjacency import COMMON, NameGraph
from localrag.store.database import Store

MOST_NAMES = 24
"""Most names that a walk starts at."""

_ENTITY = 0.5
"""What an entity counts that was found by its vector, beside one that the question names."""

_SURE = 0.3
"""From how much weight on a name that is a title tells which document is meant."""

_WIDE = re.compile(r"[^\x00-\u02ff]")


@dataclass(frozen=True)
class Starts:
    """Where a walk starts."""

    nodes: Mapping[int, float]
    """Nodes of the graph with their weights: long and rare names have the most."""

    settled: frozenset[str]
    """Words of the question, as stems, that are spent in naming a document that is there."""


def starts_of(
    store: Store, graph: NameGraph, question: str, terms: QuestionTerms, keys: Iterable[str]
) -> Starts:
    """The names that a question holds, and `keys` of entities that the read graph found for it.

    A name counts as much as its rarest word: `director` may be the name of few things and still say nothing.
    """
    spans = named_spans(question)
    named = store.zero.nodes(spans)
    taken = [span for node in named for span in spans.get(node.key, ())]
    free = [node for node in named if not all(inside_longer(span, taken) for span in spans.get(node.key, ()))]
    weighed = [(node, _words(node.key) / max(node.chunks, terms.rarest(node.key))) for node in free]
    seen = {node.id for node, _ in weighed}
    weighed += [
        (node, _ENTITY * _words(node.key) / node.chunks)
        for node in store.zero.nodes(keys)
        if node.id not in seen
    ]
    places = graph.name_places(node.id for node, _ in weighed)
    best: dict[int, float] = {}
    settled: set[str] = set()
    for node, weight in sorted(weighed, key=lambda item: (-item[1], item[0].id))[:MOST_NAMES]:
        place = places.get(node.id)
        if place is None or graph.commonness[place] > COMMON:
            continue
        best[place] = max(weight, best.get(place, 0.0))
        if graph.titled[place] and weight >= _SURE:
            settled |= terms.within(node.key)
    return Starts(best, frozenset(settled))


def _words(key: str) -> float:
    """How long a name is; in Chinese two characters are a word."""
    wide = len(_WIDE.findall(key))
    return wide / 2 if wide else float(len(key.split()))
