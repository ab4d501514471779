"""Lays what was found before the model: numbered JSON that keeps to a budget of tokens.

Passages, entities and relations share one numbering, and these numbers are all that an answer can cite. Each
kind has a share of the budget, and what one leaves goes to the others. Nothing is cut inside a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from localrag.documents import sentences
from localrag.retrieval.layout import WIDEST, Item, layout, line
from localrag.retrieval.trimming import stretches
from localrag.retrieval.types import EntityHit, Passage, RelationHit, Retrieved

Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each text, by the model's own tokenizer."""

Order = Literal["best-first", "best-last"]
"""Where in the prompt the best passage stands; the question follows behind the last one."""

Why = Literal["room", "shown", "shortened"]
"""Why something of what was found is not in a context: no room; a better passage shows it already; only the
sentences near the question's words are shown."""

_LEAST_CUT = 24


@dataclass(frozen=True)
class Shares:
    """How the budget is shared; what matters is how they compare with each other."""

    passages: int = 70
    """Of passages."""

    entities: int = 15
    """Of entities, while passages wait for room."""

    relations: int = 15
    """Of relations, while passages wait for room."""


@dataclass(frozen=True)
class Source:
    """One numbered thing of the context."""

    number: int
    """Its number, from 1."""

    item: Item
    """What stands there. A passage is cut to what was shown, its span with it."""


@dataclass(frozen=True)
class Cut:
    """Something that was found and is not, or not wholly, in the context."""

    kind: Literal["chunk", "entity", "relation"]
    """What it is."""

    id: int
    """Its row."""

    why: Why
    """Why it is not there."""

    base: str = ""
    """Name of the knowledge base, where it is not the one that was asked."""


@dataclass(frozen=True)
class ContextTrace:
    """What went into a prompt and what did not: ids and numbers, no text of a document."""

    budget: int = 0
    """Most tokens of passages, entities and relations."""

    used: dict[str, int] = field(default_factory=dict)
    """Tokens of each part of the prompt: `passages`, `entities`, `relations`, `history`, `wishes`; of the
    whole `prompt`; and of the `answer` at most."""

    shown: tuple[tuple[int, str, int, int, int, str], ...] = ()
    """Number, kind, row, of a passage the first character and the one behind the last (else 0), and the name
    of the knowledge base, where it is not the one that was asked."""

    cut: tuple[Cut, ...] = ()
    """What was left out or shortened."""

    notes: tuple[str, ...] = ()
    """What else was cut, in sentences: earlier questions, wishes."""

    def to_json(self) -> dict[str, Any]:
        """The trace for programs and for keeping."""
        return {
            "budget": self.budget,
            "used": dict(self.used),
            "shown": [list(item) for item in self.shown],
            "cut": [[item.kind, item.id, item.why, item.base] for item in self.cut],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Context:
    """What the model gets to read."""

    json: str
    """The text for the prompt."""

    sources: tuple[Source, ...]
    """What it holds, in the order of the numbers."""

    trace: ContextTrace = field(default_factory=ContextTrace, compare=False)
    """What went in and what was cut."""

    @property
    def empty(self) -> bool:
        """Whether nothing fitted or nothing was found."""
        return not self.sources


def build_context(
    retrieved: Retrieved,
    count: Count,
    budget: int,
    *,
    shares: Shares | None = None,
    order: Order = "best-first",
    trim: bool = True,
) -> Context:
    """The context of a question, at most `budget` tokens as `count` counts them.

    Entities and relations get their shares, then the passages all that is left, best first, then more
    entities and relations what these leave. With `trim`, of a passage only the sentences that have to do with
    the question are shown. The first passage that does not fit is cut at the end of a sentence and the worse
    ones are left out. Text that a better passage shows already is not shown twice.
    """
    frame, *_ = count([layout([("passages", [""]), ("entities", [""]), ("relations", [""])])])
    room = budget - frame
    shares = shares or Shares()
    entities, relations = _Queue(retrieved.entities, count), _Queue(retrieved.relations, count)
    passages = without_overlap(retrieved.passages)
    whole = shares.entities + shares.relations + (shares.passages if passages else 0)
    entities.take(room * shares.entities / max(whole, 1))
    relations.take(room * shares.relations / max(whole, 1))
    parts = _stretches(retrieved.question, passages) if trim else [[passage] for passage in passages]
    shown = _fitting(parts, count, room - entities.used - relations.used)
    used = sum(costs(shown, count))
    _in_turn(entities, relations, room - used)
    text = " ".join(" ".join(passage.text.split()) for passage in shown)
    graph = [*(_without_echo(item, text) for item in entities.taken), *relations.taken]
    return _assembled(
        retrieved,
        shown,
        graph,
        order,
        budget,
        {"passages": used, "entities": entities.used, "relations": relations.used},
    )


class _Queue:
    """Entities or relations, best first, of which as many are taken as fit."""

    def __init__(self, items: Sequence[EntityHit] | Sequence[RelationHit], count: Count) -> None:
        self._items = items
        self._costs = costs(items, count)
        self._next = 0
        self.used = 0
        """Tokens of those that were taken."""

    @property
    def taken(self) -> Sequence[Item]:
        """Those that were taken."""
        return self._items[: self._next]

    def take(self, room: float, most: int | None = None) -> bool:
        """Take the next ones that fit in all into `room`, at most `most`; whether there was one."""
        began = self._next
        while self._next < len(self._items) and (most is None or self._next - began < most):
            if self.used + self._costs[self._next] > room:
                break
            self.used += self._costs[self._next]
            self._next += 1
        return self._next > began


def _in_turn(entities: _Queue, relations: _Queue, room: float) -> None:
    """More of both, one of each in turn, from the room that is left for both."""
    while entities.take(room - relations.used, 1) | relations.take(room - entities.used, 1):
        pass


def costs(items: Sequence[Item], count: Count) -> list[int]:
    """Tokens of each item's line, with the line break and comma between lines."""
    if not items:
        return []
    return [tokens + 1 for tokens in count([f"{line(WIDEST, item)},\n" for item in items])]


def _without_echo(item: Item, shown: str) -> Item:
    """An entity without its description, if all that this says stands word for word in what is `shown`."""
    if not isinstance(item, EntityHit) or not item.description:
        return item
    said = [item.description[start:end] for start, end in sentences.split(item.description)]
    return replace(item, description="") if all(" ".join(text.split()) in shown for text in said) else item


def without_overlap(passages: Sequence[Passage]) -> list[Passage]:
    """The passages, best first, without what a better one of the same document shows already."""
    shown: dict[tuple[str, int], list[tuple[int, int]]] = {}
    result = []
    for passage in passages:
        start, end = passage.start, passage.end
        before = shown.setdefault((passage.base, passage.document_id), [])
        for left, right in sorted(before):
            if left <= start < right:
                start = min(right, end)
            if left < end <= right:
                end = max(left, start)
        rest = part_of(passage, start, end)
        if rest is not None:
            result.append(rest)
            before.append((rest.start, rest.end))
    return result


def part_of(passage: Passage, start: int, end: int) -> Passage | None:
    """The passage from `start` to `end` of the document, without blanks around; None if nothing is left."""
    if (start, end) == (passage.start, passage.end):
        return passage
    text = passage.text[start - passage.start : end - passage.start]
    bare = text.strip()
    if not bare:
        return None
    start += len(text) - len(text.lstrip())
    return replace(passage, start=start, end=start + len(bare), text=bare)


def _stretches(question: str, passages: Sequence[Passage]) -> list[list[Passage]]:
    """Each passage as the parts of it that have to do with the question."""
    found = stretches(question, [passage.text for passage in passages])
    return [
        [
            part
            for start, end in spans
            if (part := part_of(passage, passage.start + start, passage.start + end)) is not None
        ]
        for passage, spans in zip(passages, found, strict=True)
    ]


def _fitting(passages: Sequence[Sequence[Passage]], count: Count, room: float) -> list[Passage]:
    """The parts of the passages, best passage first, until one does not fit: of that the first sentences."""
    parts = [part for passage in passages for part in passage]
    shown: list[Passage] = []
    for part, cost in zip(parts, costs(parts, count), strict=True):
        if cost > room:
            first = _beginning(part, count, room)
            if first is not None:
                shown.append(first)
            if shown:
                return shown
            # Not even one sentence: a worse passage may have a shorter one.
            continue
        shown.append(part)
        room -= cost
    if parts and not shown and (words := _words_of(parts[0], count, room)) is not None:
        shown.append(words)
    return shown


def _beginning(passage: Passage, count: Count, room: float) -> Passage | None:
    """The longest beginning of the passage that ends with a sentence and fits."""
    if room < _LEAST_CUT:
        return None
    return _longest(passage, [end for _, end in sentences.split(passage.text)], count, room)


def _words_of(passage: Passage, count: Count, room: float) -> Passage | None:
    """A beginning that ends with a word: the last resort, where no sentence of any passage fits."""
    if room < _LEAST_CUT:
        return None
    step = max(1, len(passage.text) // 64)
    fitting = _longest(passage, range(step, len(passage.text), step), count, room)
    if fitting is not None and " " in fitting.text:
        fitting = part_of(passage, passage.start, passage.start + fitting.text.rindex(" "))
    return fitting


def _longest(passage: Passage, ends: Sequence[int], count: Count, room: float) -> Passage | None:
    parts = [part_of(passage, passage.start, passage.start + end) for end in ends]
    kept = [part for part in parts if part is not None]
    fitting = [part for part, cost in zip(kept, costs(kept, count), strict=True) if cost <= room]
    return fitting[-1] if fitting else None


def _assembled(
    retrieved: Retrieved,
    passages: Sequence[Passage],
    graph: Sequence[Item],
    order: Order,
    budget: int,
    used: dict[str, int],
) -> Context:
    """The groups in the order in which they are read, numbered through."""
    kinds = {"passages": Passage, "entities": EntityHit, "relations": RelationHit}
    items: list[Item] = [*passages, *graph]
    if order == "best-last":
        # The question stands behind the context, so what is best stands next to it.
        kinds = dict(reversed(kinds.items()))
        items.reverse()
    ordered = [item for kind in kinds.values() for item in items if isinstance(item, kind)]
    sources = tuple(Source(number, item) for number, item in enumerate(ordered, start=1))
    groups = [
        (name, [line(source.number, source.item) for source in sources if isinstance(source.item, kind)])
        for name, kind in kinds.items()
    ]
    trace = ContextTrace(budget, used, tuple(map(_row, sources)), _cut(retrieved, ordered))
    return Context(layout([(name, lines) for name, lines in groups if lines]), sources, trace)


def _row(source: Source) -> tuple[int, str, int, int, int, str]:
    item = source.item
    if isinstance(item, Passage):
        return source.number, "chunk", item.chunk_id, item.start, item.end, item.base
    kind = "entity" if isinstance(item, EntityHit) else "relation"
    return source.number, kind, item.id, 0, 0, item.base


def _cut(retrieved: Retrieved, shown: Sequence[Item]) -> tuple[Cut, ...]:
    """What of all that was found is not in the context, or not wholly."""
    lengths: dict[tuple[str, int], int] = {}
    for item in shown:
        if isinstance(item, Passage):
            key = (item.base, item.chunk_id)
            lengths[key] = lengths.get(key, 0) + len(item.text)
    left = {(p.base, p.chunk_id) for p in without_overlap(retrieved.passages)}
    cut = []
    for passage in retrieved.passages:
        key = (passage.base, passage.chunk_id)
        if key not in lengths:
            cut.append(Cut("chunk", passage.chunk_id, "room" if key in left else "shown", passage.base))
        elif lengths[key] < len(passage.text.strip()):
            cut.append(Cut("chunk", passage.chunk_id, "shortened", passage.base))
    entities = {(item.base, item.id) for item in shown if isinstance(item, EntityHit)}
    relations = {(item.base, item.id) for item in shown if isinstance(item, RelationHit)}
    cut += [Cut("entity", e.id, "room", e.base) for e in retrieved.entities if (e.base, e.id) not in entities]
    cut += [
        Cut("relation", r.id, "room", r.base) for r in retrieved.relations if (r.base, r.id) not in relations
    ]
    return tuple(cut)
