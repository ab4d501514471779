"""Builds the constraint of a chunk's extraction: which records, with which names and types, how long.

In GraphRAG's form names and types stand in capitals, a pair may be written once in each direction, and a
relation ends with its strength; the type of a closed list stands before its description. Small models do not
end a field by themselves where the next thing could be one more sentence, above all in Chinese. So a Chinese
record has at most three keywords of six characters and one sentence of description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_letters

from localrag.engine.names import NameBook
from localrag.engine.programs import Field, LeanRecords, Program, Record, Records
from localrag.engine.steps import inside_set
from localrag.extraction.delimiters import USUAL, Delimiters
from localrag.extraction.spans import FORBIDDEN
from localrag.extraction.types import own_type_pattern
from localrag.extraction.wire import ENTITY, RELATION, TYPE_MARK, Form

MAX_KEYWORDS = 40
"""Most characters of a relation's keywords where nothing else is said."""

_HAN_WORDS, _HAN_WORD = 3, 6
"""Most Chinese keywords of a relation, and most characters of one."""

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

    keywords: int = MAX_KEYWORDS
    """Most characters of a relation's keywords."""


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

    latin: bool = False
    """Whether descriptions and keywords begin with a letter from A to Z; the prompt's language is English
    then."""


@dataclass(frozen=True)
class Taken:
    """What passes before have written about the chunk: it is not written again, and can be referred to."""

    names: tuple[str, ...] = ()
    """Names of entities, as the text writes them."""

    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of them that are joined."""


_NOTHING = Taken()


def records_program(
    names: Sequence[str], types: Sequence[str], limits: Limits, shape: Shape, taken: Taken = _NOTHING
) -> Records:
    """The program that writes entities out of `names`, then relations between those that were written.

    `names` and `types` are distinct and can stand in a record; without types, the model finds its own.
    Without a name nothing but the completion mark can be written; with one, or with no room for relations,
    there are entities only. The names of `taken` are not in `names`.
    """
    directed = shape.form == "graphrag"
    kinds: list[Record] = []
    entities = min(limits.entities, len(names))
    if entities > 0:
        # Behind the first pass small models take up pieces of what is there: `Marta` behind `Marta Lind`.
        name = Field("name", "new", values=tuple(names), upper=directed, loose=bool(taken.names))
        fields = (name, _type(types, shape), _description(limits.description, shape))
        kinds.append(Record(ENTITY, fields, entities))
    ends = entities + len(taken.names)
    pairs = ends * (ends - 1) // (1 if directed else 2) - len(taken.pairs)
    relations = min(limits.relations, max(pairs, 0))
    if relations > 0:
        joined = (Field("source", "used", upper=directed), Field("target", "used", upper=directed))
        kinds.append(Record(RELATION, (*joined, *_about(limits, shape)), relations))
    return Records(
        tuple(kinds),
        tuple_delimiter=shape.delimiters.fields,
        record_delimiter=shape.delimiters.records,
        completion_delimiter=shape.delimiters.completion,
        quoted_tags=directed,
        taken=taken.names,
        taken_pairs=taken.pairs,
        directed=directed,
    )


def with_taken(program: LeanRecords, taken: Taken, most: int) -> LeanRecords:
    """Lean records that go on behind what was written, with at most `most` relations."""
    relations = min(most, program.max_entities + len(taken.names))
    return replace(program, taken=taken.names, taken_pairs=taken.pairs, max_relations=relations)


def offers_records(program: Program) -> bool:
    """Whether a program of either kind lets anything be written but its end."""
    if isinstance(program, Records):
        return bool(program.kinds)
    if not isinstance(program, LeanRecords):
        return False
    book = NameBook(program.taken, program.taken_pairs)
    if book.free(program.names, loose=program.loose):
        return True
    return bool(program.max_relations and book.sources())


def _type(types: Sequence[str], shape: Shape) -> Field:
    if types:
        return Field("type", "choice", values=tuple(types))
    excluded = _more(shape) + (_SMALL if shape.form == "graphrag" else "")
    return Field("type", "pattern", pattern=own_type_pattern(shape.language, excluded))


def _about(limits: Limits, shape: Shape) -> tuple[Field, Field]:
    """What a relation says behind its two ends."""
    bound = limits.description
    if shape.form == "graphrag":
        begins = tuple(f"{type_}{TYPE_MARK}" for type_ in shape.relation_types)
        return _description(bound, shape, begins), Field("strength", "pattern", pattern=STRENGTH)
    return _keywords(limits.keywords, shape), _description(bound, shape)


def _keywords(bound: int, shape: Shape) -> Field:
    if shape.relation_types:
        return Field("keywords", "choice", values=shape.relation_types)
    if shape.language == "zh":
        longest = min(bound, _HAN_WORD)
        more = min(max(bound - longest, 0) // (longest + 1), _HAN_WORDS - 1)
        word = f"[^ ,;:.!?，；：、。！？{_EXCLUDED}{_more(shape)}]{{1,{longest}}}"
        return Field("keywords", "pattern", max_chars=bound, pattern=f"{word}(、{word}){{0,{more}}}")
    return Field("keywords", "text", _begin("", shape), bound)


def _description(bound: int, shape: Shape, begins: tuple[str, ...] = ()) -> Field:
    if shape.language == "zh":
        out = f"{_EXCLUDED}{_more(shape)}"
        inside = f"([^。！？{out}]|\\([^。！？{out}]{{0,40}}\\))"
        pattern = f"[^ 。！？{out}]{inside}{{0,{max(bound - 2, 0)}}}[。！？]?"
        return Field("description", "pattern", begins, bound, pattern)
    starts = tuple(start for begin in begins or ("",) for start in _begin(begin, shape)) or begins
    return Field("description", "text", starts, bound)


def _begin(before: str, shape: Shape) -> tuple[str, ...]:
    """With what a text may begin, behind something fixed; empty for anything."""
    return tuple(before + letter for letter in ascii_letters) if shape.latin else ()


def _more(shape: Shape) -> str:
    """Characters that no field may hold beside the usual ones, as they stand in a set."""
    return inside_set("".join(c for c in shape.delimiters.firsts if c not in FORBIDDEN))
