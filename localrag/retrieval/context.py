"""Lays what was found before the model: numbered JSON that keeps to a budget of tokens.

Passages, entities and relations share one numbering, and these numbers are all that an answer can cite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from localrag.documents import sentences
from localrag.retrieval.types import EntityHit, Passage, RelationHit, Retrieved

Count = Callable[[Sequence[str]], list[int]]
"""Tokens of each text, by the model's own tokenizer."""

Item = Passage | EntityHit | RelationHit

GRAPH_SHARE = 0.3
"""Most of the budget that entities and relations take while passages wait for it."""

_LEAST_CUT = 24
_DESCRIPTION = 300
_WIDEST_NUMBER = 888


@dataclass(frozen=True)
class Source:
    """One numbered thing of the context."""

    number: int
    """Its number, from 1."""

    item: Item
    """What stands there. A passage is cut to what was shown, its span with it."""


@dataclass(frozen=True)
class Context:
    """What the model gets to read."""

    json: str
    """The text for the prompt."""

    sources: tuple[Source, ...]
    """What it holds, in the order of the numbers."""

    @property
    def empty(self) -> bool:
        """Whether nothing fitted or nothing was found."""
        return not self.sources


def build_context(retrieved: Retrieved, count: Count, budget: int) -> Context:
    """The context of a question, at most `budget` tokens as `count` counts them.

    Entities and relations get up to `GRAPH_SHARE` of the budget, then the passages, best first, then more
    entities and relations from what is left. The first passage that does not fit is cut at the end of a
    sentence and the worse ones are left out. Text that a better passage shows already is not shown twice.
    """
    frame, *_ = count([_layout([("passages", [""]), ("entities", [""]), ("relations", [""])])])
    room = budget - frame
    graph = list(_interleaved(retrieved))
    costs = _costs(graph, count)
    passages = without_overlap(retrieved.passages)
    share = room * GRAPH_SHARE if passages else room
    kept, used = _that_fit(costs, share)
    shown = _fitting_passages(passages, count, room - used)
    used += sum(_costs(shown, count))
    more, _ = _that_fit(costs[kept:], room - used)
    text = " ".join(" ".join(passage.text.split()) for passage in shown)
    return _assembled(shown, [_without_echo(item, text) for item in graph[: kept + more]])


def _without_echo(item: Item, shown: str) -> Item:
    """An entity without its description, if all that this says stands word for word in what is `shown`."""
    if not isinstance(item, EntityHit) or not item.description:
        return item
    said = [item.description[start:end] for start, end in sentences.split(item.description)]
    return replace(item, description="") if all(" ".join(text.split()) in shown for text in said) else item


def without_overlap(passages: Sequence[Passage]) -> list[Passage]:
    """The passages, best first, without what a better one of the same document shows already."""
    shown: dict[int, list[tuple[int, int]]] = {}
    result = []
    for passage in passages:
        start, end = passage.start, passage.end
        for left, right in sorted(shown.get(passage.document_id, ())):
            if left <= start < right:
                start = min(right, end)
            if left < end <= right:
                end = max(left, start)
        rest = _part(passage, start, end)
        if rest is not None:
            result.append(rest)
            shown.setdefault(passage.document_id, []).append((rest.start, rest.end))
    return result


def _part(passage: Passage, start: int, end: int) -> Passage | None:
    """The passage from `start` to `end` of the document, without blanks around; None if nothing is left."""
    if (start, end) == (passage.start, passage.end):
        return passage
    text = passage.text[start - passage.start : end - passage.start]
    bare = text.strip()
    if not bare:
        return None
    start += len(text) - len(text.lstrip())
    return replace(passage, start=start, end=start + len(bare), text=bare)


def _interleaved(retrieved: Retrieved) -> Iterator[Item]:
    """Entities and relations in turn, best first."""
    for entity, relation in zip_longest(retrieved.entities, retrieved.relations):
        if entity is not None:
            yield entity
        if relation is not None:
            yield relation


def _that_fit(costs: Sequence[int], room: float) -> tuple[int, int]:
    """How many of the first items fit, and what they cost."""
    used = 0
    for place, cost in enumerate(costs):
        if used + cost > room:
            return place, used
        used += cost
    return len(costs), used


def _fitting_passages(passages: Sequence[Passage], count: Count, room: float) -> list[Passage]:
    costs = _costs(passages, count)
    kept, used = _that_fit(costs, room)
    shown = list(passages[:kept])
    if kept < len(passages):
        last = _cut(passages[kept], count, room - used, must=not shown)
        if last is not None:
            shown.append(last)
    return shown


def _cut(passage: Passage, count: Count, room: float, *, must: bool) -> Passage | None:
    """The longest beginning of the passage that ends with a sentence and fits.

    If not even the first sentence does, a passage that `must` be shown is cut between words.
    """
    if room < _LEAST_CUT:
        return None
    ends = [end for _, end in sentences.split(passage.text)]
    fitting = _longest(passage, ends, count, room)
    if fitting is None and must:
        step = max(1, len(passage.text) // 64)
        fitting = _longest(passage, range(step, len(passage.text), step), count, room)
        if fitting is not None and " " in fitting.text:
            fitting = _part(passage, passage.start, passage.start + fitting.text.rindex(" "))
    return fitting


def _longest(passage: Passage, ends: Sequence[int], count: Count, room: float) -> Passage | None:
    parts = [_part(passage, passage.start, passage.start + end) for end in ends]
    kept = [part for part in parts if part is not None]
    fitting = [part for part, cost in zip(kept, _costs(kept, count), strict=True) if cost <= room]
    return fitting[-1] if fitting else None


def _costs(items: Sequence[Item], count: Count) -> list[int]:
    """Tokens of each item's line, with the line break and comma between lines."""
    if not items:
        return []
    return [tokens + 1 for tokens in count([f"{_line(_WIDEST_NUMBER, item)},\n" for item in items])]


def _assembled(passages: Sequence[Passage], graph: Sequence[Item]) -> Context:
    """Best first: small models cite the first number whatever they read, so it should be the right one."""
    entities = [item for item in graph if isinstance(item, EntityHit)]
    relations = [item for item in graph if isinstance(item, RelationHit)]
    items: list[Item] = [*passages, *entities, *relations]
    sources = tuple(Source(number, item) for number, item in enumerate(items, start=1))
    groups: list[tuple[str, list[str]]] = []
    for name, kind in (("passages", Passage), ("entities", EntityHit), ("relations", RelationHit)):
        lines = [_line(source.number, source.item) for source in sources if isinstance(source.item, kind)]
        if lines:
            groups.append((name, lines))
    return Context(_layout(groups), sources)


def _layout(groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A JSON object with one line an item, which costs fewer tokens than indented JSON."""
    parts = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in groups]
    return "{" + ",\n".join(parts) + "}"


def _line(number: int, item: Item) -> str:
    fields: dict[str, object] = {"id": number}
    if isinstance(item, Passage):
        fields["document"] = item.document
        if item.heading:
            fields["heading"] = item.heading
        fields["text"] = item.text
    elif isinstance(item, EntityHit):
        fields |= {"entity": item.name, "type": item.type}
        if item.description:
            fields["description"] = _short(item.description)
    else:
        fields |= {"entity1": item.source, "entity2": item.target}
        if item.keywords:
            fields["keywords"] = item.keywords
        if item.description:
            fields["description"] = _short(item.description)
    return json.dumps(fields, ensure_ascii=False)


def _short(text: str) -> str:
    """A description at a length that leaves room for others, whole sentences if there are any."""
    if len(text) <= _DESCRIPTION:
        return text
    ends = [end for _, end in sentences.split(text) if end <= _DESCRIPTION]
    return text[: ends[-1]] if ends else text[:_DESCRIPTION].rstrip() + "…"
