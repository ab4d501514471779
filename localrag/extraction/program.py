"""Builds the constraint of a chunk's extraction: which records, with which names and types, how long.

In GraphRAG's form names and types stand in capitals, a pair may be written once in each direction, and a
relation ends with its strength; the type of a closed list stands before its description. Small models do not
end a field by themselves where the next thing could be one more sentence, above all in Chinese. So a Chinese
record has at most three keywords of six characters and one sentence of description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.engine.programs import Field, Record, Records
from localrag.engine.steps import inside_set
from localrag.extraction.delimiters import USUAL, Delimiters
from localrag.extraction.spans import FORBIDDEN
from localrag.extraction.types import own_type_pattern
from localrag.extraction.wire import ENTITY, RELATION, TYPE_MARK, Form

MAX_KEYWORDS = 40
"""Most characters of a relation's keywords."""

STRENGTH = "10|[1-9]"
"""A relation's strength, as a regular expression."""

_EXCLUDED = r"<>|#()\x00-\x1f\x7f-\x9f"
_SMALL = "a-z"


@dataclass(frozen=True)
class Limits:
    """Bounds of one chunk's records."""

    entities: int
    """Most entities."""

    relations: int
    """Most relations."""

    description: int
    """Most characters of a description."""


@dataclass(frozen=True)
class Shape:
    """What the settings say about records."""

    delimiters: Delimiters = USUAL
    """What parts them."""

    form: Form = "lightrag"
    """The family whose form they have."""

    language: str = "en"
    """The prompt's language."""

    relation_types: tuple[str, ...] = ()
    """The only types of relations; empty for words of the model's own."""


def records_program(names: Sequence[str], types: Sequence[str], limits: Limits, shape: Shape) -> Records:
    """The program that writes entities out of `names`, then relations between those that were written.

    `names` and `types` are distinct and can stand in a record; without types, the model finds its own.
    Without a name nothing but the completion mark can be written; with one, or with no room for relations,
    there are entities only.
    """
    directed = shape.form == "graphrag"
    kinds: list[Record] = []
    entities = min(limits.entities, len(names))
    if entities > 0:
        name = Field("name", "new", values=tuple(names), upper=directed)
        fields = (name, _type(types, shape), _description(limits.description, shape))
        kinds.append(Record(ENTITY, fields, entities))
    pairs = entities * (entities - 1) // (1 if directed else 2)
    relations = min(limits.relations, pairs)
    if relations > 0:
        ends = (Field("source", "used", upper=directed), Field("target", "used", upper=directed))
        kinds.append(Record(RELATION, (*ends, *_about(limits.description, shape)), relations))
    return Records(
        tuple(kinds),
        tuple_delimiter=shape.delimiters.fields,
        record_delimiter=shape.delimiters.records,
        completion_delimiter=shape.delimiters.completion,
        quoted_tags=directed,
        directed=directed,
    )


def _type(types: Sequence[str], shape: Shape) -> Field:
    if types:
        return Field("type", "choice", values=tuple(types))
    excluded = _more(shape) + (_SMALL if shape.form == "graphrag" else "")
    return Field("type", "pattern", pattern=own_type_pattern(shape.language, excluded))


def _about(bound: int, shape: Shape) -> tuple[Field, Field]:
    """What a relation says behind its two ends."""
    if shape.form == "graphrag":
        begins = tuple(f"{type_}{TYPE_MARK}" for type_ in shape.relation_types)
        return _description(bound, shape, begins), Field("strength", "pattern", pattern=STRENGTH)
    return _keywords(shape), _description(bound, shape)


def _keywords(shape: Shape) -> Field:
    if shape.relation_types:
        return Field("keywords", "choice", values=shape.relation_types)
    if shape.language == "zh":
        word = f"[^ ,;:.!?，；：、。！？{_EXCLUDED}{_more(shape)}]{{1,6}}"
        return Field("keywords", "pattern", max_chars=MAX_KEYWORDS, pattern=f"{word}(、{word}){{0,2}}")
    return Field("keywords", "text", max_chars=MAX_KEYWORDS)


def _description(bound: int, shape: Shape, begins: tuple[str, ...] = ()) -> Field:
    if shape.language == "zh":
        out = f"{_EXCLUDED}{_more(shape)}"
        inside = f"([^。！？{out}]|\\([^。！？{out}]{{0,40}}\\))"
        pattern = f"[^ 。！？{out}]{inside}{{0,{max(bound - 2, 0)}}}[。！？]?"
        return Field("description", "pattern", begins, bound, pattern)
    return Field("description", "text", begins, bound)


def _more(shape: Shape) -> str:
    """Characters that no field may hold beside the usual ones, as they stand in a set."""
    return inside_set("".join(c for c in shape.delimiters.firsts if c not in FORBIDDEN))
