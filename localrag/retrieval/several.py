"""One question to several knowledge bases: each is searched by itself, and what they found becomes one list.

Ids mean something within one file only, so files are never searched as one: every hit carries the name of its
knowledge base. Scores of two files cannot be compared either. What can be is how much of the question a
passage holds, words that few passages of all files have counting most, and, where the files' vectors are of
one model, its cosine. The best passage of a file by these says how strong the file is for the question; the
order within a file stays as its own search made it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from localrag.engine.types import Embedder
from localrag.retrieval.auto import choose
from localrag.retrieval.keywords import keywords_of
from localrag.retrieval.mentions import named_entities
from localrag.retrieval.passages import LEAST_SHARE
from localrag.retrieval.query import make_query
from localrag.retrieval.search import (
    NO_TOOLS,
    NOTHING_WITHIN,
    Retriever,
    Tools,
    asks_model,
    check_mode,
    limited,
)
from localrag.retrieval.trace import KINDS, Candidate, Kind, Trace
from localrag.retrieval.types import (
    Coverage,
    EntityHit,
    Keywords,
    Passage,
    RelationHit,
    RetrievalOptions,
    Retrieved,
)
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.terms import fold

H = TypeVar("H", Passage, EntityHit, RelationHit)

_NAMES = 8


@dataclass(frozen=True)
class Base:
    """A knowledge base that is searched."""

    name: str
    """Its name in citations; empty for the one that was asked."""

    store: Store
    """Its open file."""

    embedder: Embedder | None
    """The model that made its vectors, or None."""


class SeveralRetriever:
    """Searches several files as `Retriever` searches one. The first is the one that was asked."""

    def __init__(self, bases: Sequence[Base], settings: RetrievalSettings, tools: Tools = NO_TOOLS) -> None:
        self._bases = tuple(bases)
        self._settings = settings
        self._tools = tools

    def retrieve(self, question: str, options: RetrievalOptions | str = "mix") -> Retrieved:
        """What all of them hold for a question. Raises as `Retriever.retrieve` does.

        A filter by documents leaves the other knowledge bases out, since they hold others.
        """
        wanted = RetrievalOptions(mode=options) if isinstance(options, str) else options
        check_mode(wanted.mode)
        if len(self._bases) == 1:
            return self._one(self._bases[0], question, wanted)
        names = tuple(dict.fromkeys(name for base in self._bases for name in _names(base, question)))
        why = ""
        if wanted.mode == "auto":
            choice = choose(question, names)
            wanted, why = replace(wanted, mode=choice.mode), choice.why
        note = ""
        if wanted.given is None:
            keywords, note = self._keywords(question, names, wanted, asked_auto=bool(why))
            wanted = replace(wanted, given=keywords)
        found = [self._one(base, question, _for(base, wanted)) for base in self._bases]
        joined = self._joined(found, limited(self._settings, wanted))
        notes = tuple(dict.fromkeys([*([note] if note else []), *joined.notes]))
        return replace(joined, asked="auto" if why else joined.asked, why=why, notes=notes)

    def _one(self, base: Base, question: str, options: RetrievalOptions) -> Retrieved:
        return Retriever(base.store, base.embedder, self._settings, self._tools).retrieve(question, options)

    def _keywords(
        self, question: str, names: tuple[str, ...], options: RetrievalOptions, *, asked_auto: bool
    ) -> tuple[Keywords, str]:
        """The keywords, found once for all."""
        by_model = asks_model(options, self._settings, "auto" if asked_auto else options.mode)
        model = self._tools.model if by_model else None
        return keywords_of(question, names, model, self._tools.own_prompts, self._tools.cancel)

    def _joined(self, found: Sequence[Retrieved], limits: RetrievalSettings) -> Retrieved:
        strengths = _strengths(self._bases, found)
        first = found[0]
        passages = _merged([item.passages for item in found], self._bases, strengths)
        passages = _near_best(_once(passages))[: limits.passages]
        entities = _merged([item.entities for item in found], self._bases, strengths)[: limits.entities]
        relations = _merged([item.relations for item in found], self._bases, strengths)[: limits.relations]
        return replace(
            first,
            mode=next((item.mode for item in found if not item.empty), first.mode),
            passages=tuple(passages),
            entities=tuple(entities),
            relations=tuple(relations),
            coverage=Coverage(
                sum(item.coverage.read for item in found), sum(item.coverage.total for item in found)
            ),
            notes=_notes(self._bases, found),
            trace=_trace(self._bases, found, passages, entities, relations),
        )


def _names(base: Base, question: str) -> list[str]:
    return [row.name for row, _ in named_entities(base.store, question, _NAMES)]


def _for(base: Base, options: RetrievalOptions) -> RetrievalOptions:
    """The options for a knowledge base: ids of documents are those of the one that was asked."""
    if not base.name or not options.filter.documents:
        return options
    return replace(options, filter=replace(options.filter, documents=(-1,)))


def _strengths(bases: Sequence[Base], found: Sequence[Retrieved]) -> list[float]:
    """How well each knowledge base answers the question, from 0 to 1, the best one 1."""
    words = [_by_words(bases, item) for item in found]
    cosines = _by_vectors(bases, found)
    values = [
        sum(part) / len(part)
        for part in zip(*(parts for parts in (_scaled(words), _scaled(cosines)) if parts), strict=True)
    ]
    best = max(values, default=0.0)
    return [value / best for value in values] if best > 0 else [1.0] * len(found)


def _scaled(values: Sequence[float]) -> list[float]:
    """The values as shares of the best; none if there is no best."""
    best = max(values, default=0.0)
    return [max(value, 0.0) / best for value in values] if best > 0 else []


def _by_words(bases: Sequence[Base], found: Retrieved) -> float:
    """The weight of the question's words that the best passage holds."""
    weights = _weights(bases, found.question)
    texts = [fold(f"{passage.heading}\n{passage.text}") for passage in found.passages]
    return max((sum(w for word, w in weights.items() if word in text) for text in texts), default=0.0)


def _weights(bases: Sequence[Base], question: str) -> dict[str, float]:
    """How much each word of the question tells, by how few passages of all knowledge bases have it."""
    counts: Counter[str] = Counter()
    total = 0
    for base in bases:
        counts.update(base.store.fulltext.holding(question))
        total += base.store.chunks.count().total
    return {word: math.log1p(total / (1 + count)) for word, count in counts.items()}


def _by_vectors(bases: Sequence[Base], found: Sequence[Retrieved]) -> list[float]:
    """How far the best passage's cosine lies above an ordinary one's; none where vectors are of several
    models, since their cosines cannot be compared."""
    spaces = [base.store.vectors.active_space() for base in bases]
    if any(space is None for space in spaces) or len({space.fingerprint for space in spaces if space}) > 1:
        return []
    question = make_query(bases[0].store, bases[0].embedder, found[0].question)
    if question.vector is None:
        return []
    ordinary: list[float] = []
    for base, space in zip(bases, spaces, strict=True):
        near = replace(question, space_id=space.id if space else 0).nearest(base.store, "chunk")
        ordinary += [near[-1].score] if len(near) > 1 else []
    floor = min(ordinary, default=0.0)
    return [_best_cosine(item) - floor for item in found]


def _best_cosine(found: Retrieved) -> float:
    places = [item.places.get("vector") for item in found.trace.candidates.get("chunk", ())]
    return max((place.score for place in places if place is not None), default=0.0)


def _merged(lists: Sequence[Sequence[H]], bases: Sequence[Base], strengths: Sequence[float]) -> list[H]:
    """The hits of all, best first: the place in its own list, times the strength of its file."""
    ranked: list[tuple[float, int, int, H]] = []
    for place, (items, base, strength) in enumerate(zip(lists, bases, strengths, strict=True)):
        best = max((item.score for item in items), default=0.0)
        for rank, item in enumerate(items):
            score = strength * (item.score / best if best > 0 else 1.0)
            ranked.append((score, place, rank, replace(item, score=score, base=base.name)))
    ranked.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    return [item for _, _, _, item in ranked]


def _once(passages: Sequence[Passage]) -> list[Passage]:
    """Without passages whose text stands in a better one of another file: copies of one document."""
    found: dict[str, Passage] = {}
    for passage in passages:
        known = found.setdefault(passage.text, passage)
        if known is not passage and known.base == passage.base:
            found[f"{passage.text}\0{passage.chunk_id}"] = passage
    return list(found.values())


def _near_best(passages: Sequence[Passage]) -> list[Passage]:
    best = passages[0].score if passages else 0.0
    return [passage for passage in passages if passage.score >= LEAST_SHARE * best]


def _notes(bases: Sequence[Base], found: Sequence[Retrieved]) -> tuple[str, ...]:
    """What all say once, and what only some say with their names."""
    said: dict[str, list[str]] = {}
    for base, item in zip(bases, found, strict=True):
        for note in item.notes:
            said.setdefault(note, []).append(base.name)
    notes = []
    for note, names in said.items():
        if note == NOTHING_WITHIN and len(names) < len(found):
            continue
        others = [name for name in names if name]
        notes.append(note if len(names) == len(found) or not others else f"{', '.join(others)}: {note}")
    return tuple(notes)


def _trace(
    bases: Sequence[Base],
    found: Sequence[Retrieved],
    passages: Sequence[Passage],
    entities: Sequence[EntityHit],
    relations: Sequence[RelationHit],
) -> Trace:
    """All candidates, each with its knowledge base, those in the joined result in its order."""
    chosen: Mapping[Kind, dict[tuple[str, int], int]] = {
        "chunk": {(p.base, p.chunk_id): place for place, p in enumerate(passages, start=1)},
        "entity": {(e.base, e.id): place for place, e in enumerate(entities, start=1)},
        "relation": {(r.base, r.id): place for place, r in enumerate(relations, start=1)},
    }
    candidates: dict[Kind, tuple[Candidate, ...]] = {}
    for kind in KINDS:
        marked = [
            replace(item, base=base.name, chosen=chosen[kind].get((base.name, item.id), 0))
            for base, result in zip(bases, found, strict=True)
            for item in result.trace.candidates.get(kind, ())
        ]
        candidates[kind] = tuple(sorted(marked, key=lambda item: (not item.chosen, item.chosen)))
    times: Counter[str] = Counter()
    for item in found:
        times.update(dict(item.trace.milliseconds))
    return Trace(candidates, dict(times))
