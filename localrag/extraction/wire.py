"""The record text of both prompt families: writes it, and reads whatever comes back.

    (entity<|>name<|>type<|>description)##
    (relationship<|>source<|>target<|>keywords<|>description)##
    <|COMPLETE|>

GraphRAG's form puts the tag in double quotes and ends a relationship with a strength instead of beginning
its description with keywords: ("relationship"<|>SOURCE<|>TARGET<|>description<|>7)##
There names are in capitals and both directions of a pair are two relations.

Reading never fails. Every record is either returned or rejected with a reason, so that what was parsed is
what was stored plus what was rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from localrag.extraction.delimiters import USUAL, Delimiters
from localrag.extraction.spans import balanced, one_line, writable
from localrag.graph.names import fold
from localrag.store.rows import Reject

Form = Literal["lightrag", "graphrag"]

ENTITY, RELATION = "entity", "relationship"
"""Tags of the two records."""

TYPE_MARK = ": "
"""Behind the type of a relation that stands before its description, in GraphRAG's form with a closed list."""

_TAGS = {"entity": ENTITY, "relationship": RELATION, "relation": RELATION}
_FIELD_COUNTS = {ENTITY: 3, RELATION: 4}
_GLUED = re.compile(r"\)[ \t]*\n\s*(?=\()")
_MAX_REJECT = 500


@dataclass(frozen=True)
class EntityRecord:
    """An entity as it was written."""

    name: str
    """Its name."""

    type: str
    """Its type, in the words of the prompt."""

    description: str
    """What the text says of it; may be empty."""


@dataclass(frozen=True)
class RelationRecord:
    """A relation as it was written."""

    source: str
    """Name of one entity, as its own record writes it."""

    target: str
    """Name of the other one."""

    keywords: str
    """Words for the kind of relation; empty in GraphRAG's form."""

    description: str
    """What the text says of it; may be empty."""

    strength: float | None = None
    """1 to 10 in GraphRAG's form."""


@dataclass(frozen=True)
class Records:
    """The records of a text and what was wrong with the others."""

    entities: tuple[EntityRecord, ...] = ()
    """No two with the same folded name."""

    relations: tuple[RelationRecord, ...] = ()
    """Between two of the entities (or of the names known before), each pair once; in GraphRAG's form once
    in each direction."""

    rejects: tuple[Reject, ...] = ()
    """Everything else that was written."""

    complete: bool = False
    """Whether the completion mark was written."""

    @property
    def parsed(self) -> int:
        """How many records the text held, good and bad."""
        return len(self.entities) + len(self.relations) + len(self.rejects)


def format_records(
    entities: Iterable[EntityRecord],
    relations: Iterable[RelationRecord],
    delimiters: Delimiters = USUAL,
    form: Form = "lightrag",
    *,
    complete: bool = True,
) -> str:
    """The text of records, entities first; `parse` gives the same records back.

    Raises `ValueError` for a field that cannot be written.
    """
    lines = [_line(ENTITY, (e.name,), (e.type, e.description), delimiters, form) for e in entities]
    for relation in relations:
        rest = (relation.keywords, relation.description)
        if form == "graphrag":
            if relation.strength is None:
                raise ValueError("GraphRAG's form needs a strength")
            rest = (relation.description, f"{relation.strength:g}")
        lines.append(_line(RELATION, (relation.source, relation.target), rest, delimiters, form))
    return "".join(lines) + (delimiters.completion if complete else "")


def _line(tag: str, names: tuple[str, ...], rest: tuple[str, str], delimiters: Delimiters, form: Form) -> str:
    for value in (*names, *(text for text in rest if text)):
        if not writable(value):
            raise ValueError(f"{value!r} cannot stand in a record")
    shown = f'"{tag}"' if form == "graphrag" else tag
    return f"({delimiters.fields.join([shown, *names, *rest])}){delimiters.records}\n"


@dataclass
class _Reader:
    """Collects the records of one text."""

    form: Form
    known: dict[str, str]
    """Folded names that relations may join, and how they were first written."""
    names: Mapping[str, str]
    """Names as they were shown to the model, and as the text writes them."""
    entities: dict[str, EntityRecord] = field(default_factory=dict)
    waiting: list[tuple[str, RelationRecord]] = field(default_factory=list)
    """Relations with their text; their ends are looked up when all entities are known."""
    rejects: list[Reject] = field(default_factory=list)

    def reject(self, kind: str, text: str, reason: str) -> None:
        """Remember a record that is not returned."""
        shown = "relation" if kind == RELATION else kind
        self.rejects.append(Reject(shown, text.strip()[:_MAX_REJECT], reason))

    def take(self, text: str, delimiters: Delimiters) -> None:
        """Read one record."""
        inner = text.removeprefix("(").removesuffix(")") if text.startswith("(") else text
        first, *values = (part.strip() for part in inner.split(delimiters.fields))
        tag = _TAGS.get(first.strip("\"'“” ").casefold())
        if tag is None:
            self.reject("unknown", text, "it is neither an entity nor a relationship")
        elif len(values) != _FIELD_COUNTS[tag]:
            expected = _FIELD_COUNTS[tag]
            self.reject(tag, text, f"it has {len(values)} fields instead of {expected}")
        elif not all(map(one_line, values[: 1 if tag == ENTITY else 2])):
            self.reject(tag, text, "a name is empty")
        elif tag == ENTITY:
            self._entity(text, [one_line(value) for value in values])
        else:
            self._relation(text, [one_line(value) for value in values])

    def _entity(self, text: str, values: list[str]) -> None:
        name, type_, description = values
        name = self.names.get(name, name)
        key = fold(name)
        if key in self.entities or key in self.known:
            self.reject(ENTITY, text, "this entity was written before")
            return
        self.entities[key] = EntityRecord(name, type_, description)

    def _relation(self, text: str, values: list[str]) -> None:
        source, target, third, fourth = values
        source, target = self.names.get(source, source), self.names.get(target, target)
        if self.form == "lightrag":
            self.waiting.append((text, RelationRecord(source, target, third, fourth)))
            return
        strength = _number(fourth)
        if strength is None:
            self.reject(RELATION, text, "its strength is not a number from 1 to 10")
            return
        self.waiting.append((text, RelationRecord(source, target, "", third, strength)))

    def relations(self) -> Iterator[RelationRecord]:
        """The relations whose ends exist, written as their entities write them."""
        names = {**self.known, **{key: entity.name for key, entity in self.entities.items()}}
        pairs: set[tuple[str, ...]] = set()
        for text, relation in self.waiting:
            source, target = fold(relation.source), fold(relation.target)
            pair = (source, target) if self.form == "graphrag" else tuple(sorted((source, target)))
            unknown = [end for end in (relation.source, relation.target) if fold(end) not in names]
            if unknown:
                self.reject(RELATION, text, f"{unknown[0][:80]!r} is not one of the entities")
            elif source == target:
                self.reject(RELATION, text, "it joins an entity to itself")
            elif pair in pairs:
                self.reject(RELATION, text, "this pair was written before")
            else:
                pairs.add(pair)
                yield RelationRecord(
                    names[source], names[target], relation.keywords, relation.description, relation.strength
                )


def parse(
    text: str,
    delimiters: Delimiters = USUAL,
    form: Form = "lightrag",
    known: Iterable[str] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> Records:
    """Read records out of any text; never raises.

    `known` are names of entities that were written before (by an earlier pass) and may be ends of
    relations. `names` leads from a name as the model was shown it, in capitals, to the text's spelling. Tags
    are taken with and without quotes, records with and without the record delimiter if a line break parts
    them. A last record without its end is rejected, since its last field may be cut.
    """
    body, mark, tail = text.partition(delimiters.completion)
    reader = _Reader(form, {fold(name): one_line(name) for name in known if one_line(name)}, names)
    pieces = body.split(delimiters.records)
    for place, piece in enumerate(pieces):
        closed = place < len(pieces) - 1
        lines = [line.strip() for line in _split_glued(piece)]
        lines = [line for line in lines if line]
        for number, line in enumerate(lines):
            if closed or number < len(lines) - 1 or mark or _is_closed(line):
                reader.take(line, delimiters)
            else:
                reader.reject(_kind(line, delimiters), line, "it was cut off before its end")
    if tail.strip():
        reader.reject("unknown", tail, "it stands behind the completion mark")
    relations = tuple(reader.relations())
    return Records(tuple(reader.entities.values()), relations, tuple(reader.rejects), bool(mark))


def _split_glued(piece: str) -> list[str]:
    """Records that only a line break parts."""
    lines = _GLUED.split(piece)
    return [f"{line})" for line in lines[:-1]] + lines[-1:]


def _is_closed(text: str) -> bool:
    """Whether a record without a delimiter behind it ends with its own parenthesis."""
    return text.startswith("(") and text.endswith(")") and balanced(text[1:-1])


def _kind(text: str, delimiters: Delimiters) -> str:
    first = text.removeprefix("(").split(delimiters.fields, 1)[0]
    return _TAGS.get(first.strip("\"' ").casefold(), "unknown")


def _number(text: str) -> float | None:
    """A strength. Digits only: `float` would also take infinity and underscores."""
    if re.fullmatch(r"\d{1,2}(?:\.\d{1,3})?", text, re.ASCII) is None:
        return None
    value = float(text)
    return value if 1 <= value <= 10 else None
