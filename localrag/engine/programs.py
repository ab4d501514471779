"""Programs: descriptions of what a model may write, as plain data.

The method packages build a program, the worker turns it into llguidance matchers (`constraints.py`).
A program is a chain of segments; each segment has one grammar, and what was written so far decides the
next. That is how a name that was used is no longer offered, and how a relation can only join names that
were just written.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from localrag.engine.claim_program import ClaimRecords, claim_records
from localrag.engine.weighed_program import WeighedRecords, weighed_records


@dataclass(frozen=True)
class FreeText:
    """Any text without control tokens, up to the model's own end."""

    max_chars: int = 0
    """Most characters; 0 leaves the bound to the token budget."""

    repeats: bool = False
    """Whether the text may repeat itself; otherwise it ends where it begins to."""

    one_line: bool = False
    """Whether it is one line of prose: without a line break or a tab, and not begun as JSON, a list, a
    heading or a quotation are."""

    kind: Literal["free"] = "free"


@dataclass(frozen=True)
class Grammar:
    """One segment named `text` under a grammar in llguidance's Lark dialect."""

    lark: str
    """The grammar; must have a rule `start`."""

    kind: Literal["grammar"] = "grammar"


@dataclass(frozen=True)
class JsonSchema:
    """One segment named `json`: compact JSON that fits a schema."""

    schema: dict[str, Any]
    """A JSON schema within what llguidance supports; where it sets no bounds, those of `json_bounds` hold.
    When the token budget ends, the text is closed so that it still fits."""

    kind: Literal["json"] = "json"


@dataclass(frozen=True)
class Choice:
    """One segment named `choice`: exactly one of the options."""

    options: tuple[str, ...]
    """Non-empty, distinct."""

    kind: Literal["choice"] = "choice"


@dataclass(frozen=True)
class Decide:
    """Nothing is written: the probabilities of the options are read where they begin to differ.

    An option is read in the canonical tokenisation of its text alone, without a blank before it: a prompt's
    template ends with a line break behind the assistant's header.
    """

    options: tuple[str, ...]
    """At least two, non-empty, distinct."""

    kind: Literal["decide"] = "decide"


@dataclass(frozen=True)
class Field:
    """One field of a record."""

    name: str
    """For the reader of the result."""

    form: Literal["new", "used", "choice", "text", "pattern"]
    """`new`: one of `values` that no record has used in a `new` field before; `used`: one of the names
    that records before wrote in their `new` fields; `choice`: one of `values`; `text`: free text without
    delimiter characters; `pattern`: the regular expression `pattern`."""

    values: tuple[str, ...] = ()
    """Options of `new` and `choice`; with what a `text` or `pattern` begins, if any."""

    max_chars: int = 200
    """Bound of `text`, without what it begins with."""

    pattern: str = ""
    """Bound of `pattern`."""

    upper: bool = False
    """For `new` and `used`: written in capitals, as GraphRAG's records are (`names.capitals`)."""

    loose: bool = False
    """For `new`: once a name is written, values that contain it or are contained in it, counted in whole
    words, are no longer offered."""


@dataclass(frozen=True)
class Record:
    """One kind of record."""

    tag: str
    """First field, literal: `entity`, `relationship`."""

    fields: tuple[Field, ...]
    """The other fields, in order. The two `used` fields of a record name different things, and no pair of
    them is written twice."""

    maximum: int
    """Most records of this kind."""


@dataclass(frozen=True)
class Records:
    """Delimited records, kind after kind, then the completion mark; each record is one or more segments
    named by its tag (a record's segments are joined in the result), the mark is a segment `complete`."""

    kinds: tuple[Record, ...]
    """In the order in which they are written; a later kind may begin at any border of an earlier one."""

    tuple_delimiter: str = "<|>"
    """Between fields."""

    record_delimiter: str = "##"
    """Behind each record."""

    completion_delimiter: str = "<|COMPLETE|>"
    """Behind the last."""

    quoted_tags: bool = False
    """Whether tags stand in double quotes, as in GraphRAG's form."""

    taken: tuple[str, ...] = ()
    """Names that count as written before the first record (gleaning); usable in `used` fields."""

    taken_pairs: tuple[tuple[str, str], ...] = ()
    """Pairs that count as written."""

    directed: bool = False
    """Whether a pair may be written once in each direction; otherwise once."""

    kind: Literal["records"] = "records"


@dataclass(frozen=True)
class LeanRecords:
    """Records as short lines: `name | type` lines, `END`, then `source -> target | phrase` lines, `END`.

    The segments are named `entity`, `relationship` and `end`; `lean.parse_lean` reads them. Names are used
    once, both ends of a relation are known names, and no unordered pair is written twice.
    """

    names: tuple[str, ...]
    """What an entity may be called; not offered with blanks at an end, `|`, `->` or a line break."""

    types: tuple[str, ...]
    """What an entity may be; empty for words of the model's own, bounded by the two fields below."""

    type_words: int = 3
    """Most words of a type of the model's own."""

    type_chars: int = 20
    """Most characters of such a word."""

    phrases: tuple[str, ...] = ()
    """What may join two entities; empty for a phrase of the model's own."""

    max_entities: int = 14
    """Most entity lines."""

    max_relations: int = 16
    """Most relation lines."""

    phrase_words: int = 8
    """Most words of a phrase, words being what blanks part; 1 for languages that write without blanks."""

    word_chars: int = 24
    """Most characters of such a word."""

    loose: bool = False
    """As `Field.loose`."""

    taken: tuple[str, ...] = ()
    """Names that count as written; usable as ends of relations."""

    taken_pairs: tuple[tuple[str, str], ...] = ()
    """Pairs that count as written."""

    kind: Literal["lean"] = "lean"


@dataclass(frozen=True)
class CitedText:
    """An answer: a segment `body` with marks such as [2], then a segment `sources`, a list of numbers.

    Only the numbers 1 to `sources` can be written in either. The body may instead end with `refusal`,
    after which no sources are written.
    """

    sources: int
    """How many numbered sources the prompt holds; at least 1."""

    max_sources: int = 5
    """Most numbers in the list."""

    heading: str = "\n\n### References\n"
    """Literal text between body and list."""

    refusal: str = "[no-context]"
    """Mark that ends a refusal; empty where refusing is not allowed."""

    marks: tuple[str, ...] = ()
    """Other bracketed marks that the body may hold, for example `[General Knowledge]`."""

    max_chars: int = 4000
    """Most characters of the body."""

    kind: Literal["cited"] = "cited"


Program = (
    FreeText
    | Grammar
    | JsonSchema
    | Choice
    | Decide
    | Records
    | LeanRecords
    | CitedText
    | ClaimRecords
    | WeighedRecords
)


def offered(program: WeighedRecords) -> LeanRecords:
    """What an engine that cannot weigh lets the model write instead: a list of the likely names."""
    likely = [
        name for name, prior in zip(program.names, program.priors, strict=True) if prior >= program.least_name
    ]
    return LeanRecords(
        names=tuple(likely),
        types=program.types,
        type_words=program.type_words,
        type_chars=program.type_chars,
        phrases=program.phrases,
        max_entities=program.max_entities,
        max_relations=program.max_relations,
        phrase_words=program.phrase_words,
        word_chars=program.word_chars,
        loose=True,
    )


def to_dict(program: Program) -> dict[str, Any]:
    """The program as JSON-ready data."""
    return asdict(program)


def from_dict(data: dict[str, Any]) -> Program:
    """Undo `to_dict`.

    Raises `ValueError` for an unknown kind.
    """
    kind = data.get("kind")
    if kind == "free":
        return FreeText(int(data["max_chars"]), bool(data["repeats"]), bool(data["one_line"]))
    if kind == "grammar":
        return Grammar(lark=str(data["lark"]))
    if kind == "json":
        return JsonSchema(schema=dict(data["schema"]))
    if kind == "choice":
        return Choice(options=tuple(data["options"]))
    if kind == "decide":
        return Decide(options=tuple(data["options"]))
    if kind == "cited":
        return CitedText(**{**data, "marks": tuple(data["marks"])})
    if kind == "lean":
        lists = {key: tuple(data[key]) for key in ("names", "types", "phrases", "taken")}
        return LeanRecords(**{**data, **lists, "taken_pairs": _pairs(data)})
    if kind == "records":
        kinds = tuple(
            Record(
                tag=record["tag"],
                fields=tuple(Field(**{**f, "values": tuple(f["values"])}) for f in record["fields"]),
                maximum=record["maximum"],
            )
            for record in data["kinds"]
        )
        taken = tuple(data["taken"])
        return Records(**{**data, "kinds": kinds, "taken": taken, "taken_pairs": _pairs(data)})
    if kind == "weighed":
        return weighed_records(data)
    if kind == "claims":
        return claim_records(data)
    raise ValueError(f"unknown program kind {kind!r}")


def _pairs(data: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((pair[0], pair[1]) for pair in data["taken_pairs"])
