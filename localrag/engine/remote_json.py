"""Programs as JSON schemas, for servers that take nothing else, and their JSON turned back into our text.

Names, types and sources are enumerations; free text is bounded and without characters that our form forbids.
What a schema cannot say (no name twice, no pair twice) is checked on the text that the JSON is turned into,
with the same code that checks every other server's words.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from localrag.engine.lean import ARROW, BETWEEN, END
from localrag.engine.names import NameBook, capitals
from localrag.engine.programs import (
    Choice,
    CitedText,
    Field,
    FreeText,
    JsonSchema,
    LeanRecords,
    Program,
    Records,
)
from localrag.engine.steps import any_of, inside_set
from localrag.errors import ConstraintError

_SAFE = r'"\\\x00-\x1f\x7f'
"""Never in a free string: what JSON writes with a backslash, since servers differ in patterns for it."""

_MOST_STATEMENTS = 12
_STATEMENT_CHARS = 400
_MOST_PAIRS = 2000


@dataclass(frozen=True)
class Ask:
    """One call under a schema."""

    schema: dict[str, Any]
    """The schema."""

    instruction: str
    """What the model is told about the form, behind the last message."""


@dataclass(frozen=True)
class _Kind:
    """One kind of record."""

    fields: tuple[Field, ...]
    """In order."""

    around: tuple[str, ...]
    """The text before, between and behind the fields."""

    maximum: int
    """Most records."""

    end: str
    """What is written behind the last record of the kind; empty if the next kind follows at once."""


class JsonRecords:
    """The records of one output: a call for the rest of one kind at a time."""

    def __init__(self, program: Records | LeanRecords) -> None:
        self._kinds = _kinds(program)
        self._closing = program.completion_delimiter if isinstance(program, Records) else ""
        directed = isinstance(program, Records) and program.directed
        self._book = NameBook(program.taken, program.taken_pairs, directed=directed)
        self._loose = isinstance(program, LeanRecords) and program.loose
        self._firsts = _first_characters(program)
        self._forbidden = (*self._firsts, *"<>|#", "->", "\n", "\r", "\t", "\0")
        self._counts = [0] * len(self._kinds)
        self._kind = 0

    def ask(self) -> Ask | None:
        """The next call for the current kind; None if none of its records can be written."""
        kind = self._kinds[self._kind]
        left = kind.maximum - self._counts[self._kind]
        item = self._item(kind) if left > 0 else None
        if item is None:
            return None
        keys = ", ".join(f'"{field.name}": …' for field in kind.fields)
        return Ask(
            object_schema({"records": {"type": "array", "items": item, "maxItems": left}}),
            "Write this part of the answer as JSON instead of the form above: "
            f'{{"records": [{{{keys}}}, …]}}. Leave out what is written already. '
            "An empty list says that there is no more.",
        )

    def lines(self, text: str) -> list[str]:
        """The records of an answer as our text, unchecked. Raises `ConstraintError` for other JSON."""
        records = _loaded(text).get("records")
        if not isinstance(records, list):
            raise ConstraintError("The JSON has no list of records.")
        return [self._line(record) for record in records]

    def lines_of_part(self, text: str) -> list[str]:
        """The same for an answer that was cut off: its whole records."""
        head = re.match(r'\s*\{\s*"records"\s*:\s*\[', text)
        place = head.end() if head else len(text)
        lines = []
        while place < len(text):
            try:
                record, place = json.JSONDecoder().raw_decode(text, place)
            except ValueError:
                break
            lines.append(self._line(record))
            place += len(text[place:]) - len(text[place:].lstrip(" \n\r\t,"))
        return lines

    def kept(self, record: str) -> None:
        """A record of the current kind was checked and kept."""
        kind = self._kinds[self._kind]
        values = _values(record, kind)
        for field, value in zip(kind.fields, values, strict=True):
            if field.form == "new":
                self._book.add(self._known(value, field))
        used = [self._known(v, f) for f, v in zip(kind.fields, values, strict=True) if f.form == "used"]
        if used:
            self._book.join(used[0], used[1])
        self._counts[self._kind] += 1

    def next_kind(self) -> str:
        """Go on with the next kind; returns the text that ends the one before."""
        end = self._kinds[self._kind].end
        self._kind += 1
        return end

    @property
    def over(self) -> bool:
        """Whether there is no further kind."""
        return self._kind >= len(self._kinds)

    @property
    def closing(self) -> str:
        """What is written behind everything."""
        return self._closing

    def _known(self, shown: str, field: Field) -> str:
        """The name behind what is shown in capitals."""
        if not field.upper:
            return shown
        names = [*self._book.names, *(v for kind in self._kinds for f in kind.fields for v in f.values)]
        return next((name for name in names if capitals(name) == shown), shown)

    def _writable(self, name: str) -> bool:
        """Whether a name can stand in our text; the drivers leave out the others too."""
        return bool(name) and name == name.strip() and not any(part in name for part in self._forbidden)

    def _line(self, record: object) -> str:
        kind = self._kinds[self._kind]
        if not isinstance(record, dict) or list(record) != [field.name for field in kind.fields]:
            raise ConstraintError("A record in the JSON has other keys than were asked for.")
        values = list(record.values())
        if not all(isinstance(value, str) for value in values):
            raise ConstraintError("A record in the JSON holds something that is no text.")
        parts = [kind.around[0]]
        for value, behind in zip(values, kind.around[1:], strict=True):
            parts += [value, behind]
        return "".join(parts)

    def _item(self, kind: _Kind) -> dict[str, Any] | None:
        """The schema of one record; None if no record is possible."""
        used = [field for field in kind.fields if field.form == "used"]
        if not used:
            properties = {field.name: self._field(field) for field in kind.fields}
            return object_schema(properties) if all(properties.values()) else None
        options = []
        pairs = 0
        for source in self._book.sources():
            partners = self._book.partners(source)
            pairs += len(partners)
            ends = {used[0].name: [source], used[1].name: partners}
            options.append(
                object_schema(
                    {
                        f.name: _enum([_shown(n, f) for n in ends[f.name]])
                        if f.form == "used"
                        else self._field(f)
                        for f in kind.fields
                    }
                )
            )
        if pairs > _MOST_PAIRS:
            raise ConstraintError(
                f"The records could join {pairs} pairs of names; a schema holds {_MOST_PAIRS}."
            )
        if not options:
            return None
        return options[0] if len(options) == 1 else {"anyOf": options}

    def _field(self, field: Field) -> dict[str, Any]:
        """The schema of a field; empty if nothing can be written in it."""
        if field.form == "new":
            possible = [name for name in field.values if self._writable(name)]
            free = self._book.free(possible, loose=field.loose or self._loose)
            written = {_shown(name, field) for name in self._book.names}
            shown = dict.fromkeys(_shown(name, field) for name in free)
            left = [name for name in shown if name not in written]
            return _enum(left) if left else {}
        if field.form == "choice":
            return _enum(list(dict.fromkeys(field.values)))
        begins = any_of(field.values)
        if field.form == "pattern":
            return {"type": "string", "pattern": f"^{begins}({field.pattern})$"}
        more = inside_set("".join(c for c in self._firsts if c not in "<>|#"))
        inside = rf"[^()<>|#{more}{_SAFE}]"
        first = rf"[^ ()<>|#{more}{_SAFE}]"
        return {"type": "string", "pattern": f"^{begins}{first}{inside}{{0,{max(field.max_chars - 1, 0)}}}$"}


def _kinds(program: Records | LeanRecords) -> tuple[_Kind, ...]:
    if isinstance(program, LeanRecords):
        word = rf"[^ |<>#{_SAFE}]{{1,{program.word_chars}}}"
        more = f"( {word}){{0,{program.phrase_words - 1}}}" if program.phrase_words > 1 else ""
        type_word = rf"[^ |<>#{_SAFE}]{{1,{program.type_chars}}}"
        type_more = f"( {type_word}){{0,{program.type_words - 1}}}" if program.type_words > 1 else ""
        type_ = Field("type", "choice", values=program.types)
        if not program.types:
            type_ = Field("type", "pattern", pattern=f"{type_word}{type_more}")
        entity = (Field("name", "new", values=program.names), type_)
        ends = (Field("source", "used"), Field("target", "used"))
        phrase = Field("phrase", "pattern", pattern=f"{word}{more}")
        if program.phrases:
            phrase = Field("phrase", "choice", values=program.phrases)
        return (
            _Kind(entity, ("", BETWEEN, "\n"), program.max_entities, f"{END}\n"),
            _Kind((*ends, phrase), ("", f"{ARROW} ", BETWEEN, "\n"), program.max_relations, END),
        )
    kinds = []
    for record in program.kinds:
        tag = f'"{record.tag}"' if program.quoted_tags else record.tag
        between = program.tuple_delimiter
        around = (f"({tag}{between}", *[between] * (len(record.fields) - 1), f"){program.record_delimiter}\n")
        kinds.append(_Kind(record.fields, around, record.maximum, ""))
    return tuple(kinds)


def _values(record: str, kind: _Kind) -> list[str]:
    """The fields of a record that was checked."""
    values = []
    rest = record.removeprefix(kind.around[0])
    for behind in kind.around[1:]:
        value, _, rest = rest.partition(behind)
        values.append(value)
    return values


def _shown(name: str, field: Field) -> str:
    return capitals(name) if field.upper else name


def _first_characters(program: Records | LeanRecords) -> str:
    """The characters with which delimiters begin; no field holds one of them."""
    if isinstance(program, LeanRecords):
        return ""
    delimiters = (program.tuple_delimiter, program.record_delimiter, program.completion_delimiter)
    return "".join(dict.fromkeys(text[0] for text in delimiters))


def single_ask(program: Program) -> Ask:
    """The one call of any other program. Raises `ConstraintError` for one that no schema can say."""
    if isinstance(program, JsonSchema):
        return Ask(program.schema, "")
    if isinstance(program, Choice):
        return Ask(object_schema({"choice": _enum(list(program.options))}), 'Write JSON: {"choice": …}.')
    if isinstance(program, FreeText) and program.one_line:
        first = rf"[^ {{}}<>|#*`\[\]\-{_SAFE}]"
        most = f"{{0,{program.max_chars - 1}}}" if program.max_chars else "*"
        text = {"type": "string", "pattern": f"^{first}[^{_SAFE}]{most}$"}
        return Ask(object_schema({"text": text}), 'Write JSON: {"text": …}.')
    if isinstance(program, FreeText):
        bound: dict[str, Any] = {"maxLength": program.max_chars} if program.max_chars else {}
        return Ask(
            object_schema({"text": {"type": "string", "minLength": 1, **bound}}), 'Write JSON: {"text": …}.'
        )
    if isinstance(program, CitedText):
        return _cited_ask(program)
    raise ConstraintError(
        "This task is written under a grammar, and the server takes JSON schemas only.",
        "Use a server that takes grammars, such as llama-server or vLLM.",
    )


def _cited_ask(program: CitedText) -> Ask:
    """An answer as statements, each with the numbers of its sources; none of its characters can be a mark."""
    numbers = {"type": "integer", "enum": list(range(1, program.sources + 1))}
    sources = {"type": "array", "items": numbers, "minItems": 1, "maxItems": program.max_sources}
    text = {"type": "string", "pattern": rf"^[^\[\]{_SAFE}]{{1,{_STATEMENT_CHARS}}}$"}
    statements = {
        "type": "array",
        "items": object_schema({"text": text, "sources": sources}),
        "minItems": 1,
        "maxItems": _MOST_STATEMENTS,
    }
    answer = object_schema({"statements": statements})
    instruction = 'Write JSON: {"answer": {"statements": [{"text": …, "sources": [its numbers]}, …]}}'
    if not program.refusal:
        return Ask(object_schema({"answer": answer}), f"{instruction}.")
    refusal = object_schema({"refusal": text})
    return Ask(
        object_schema({"answer": {"anyOf": [answer, refusal]}}),
        f'{instruction}, or, where the sources do not answer it, {{"answer": {{"refusal": …}}}}.',
    )


def single_text(program: Program, text: str) -> list[str]:
    """The segments, unchecked, that an answer to `single_ask` means. Raises `ConstraintError`."""
    if isinstance(program, JsonSchema):
        return [text]
    value = _loaded(text)
    if isinstance(program, CitedText):
        answer = value.get("answer")
        if not isinstance(answer, dict):
            raise ConstraintError("The JSON holds no answer.")
        return [_cited_text(program, answer)]
    said = value.get("choice" if isinstance(program, Choice) else "text")
    if not isinstance(said, str):
        raise ConstraintError("The JSON does not hold what was asked for.")
    return [said]


def _cited_text(program: CitedText, value: dict[str, Any]) -> str:
    refusal = value.get("refusal")
    if isinstance(refusal, str) and program.refusal:
        return f"{refusal} {program.refusal}"
    statements = value.get("statements")
    if not isinstance(statements, list) or not statements:
        raise ConstraintError("The JSON holds no statements.")
    parts = []
    for statement in statements:
        held = statement if isinstance(statement, dict) else {}
        said, numbers = held.get("text"), held.get("sources")
        if not isinstance(said, str) or not isinstance(numbers, list):
            raise ConstraintError("A statement in the JSON has no text or no sources.")
        if not all(type(number) is int for number in numbers):
            raise ConstraintError("A source in the JSON is no number.")
        parts.append(f"{said.strip()} {''.join(f'[{number}]' for number in dict.fromkeys(numbers))}")
    return " ".join(parts)


def _loaded(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConstraintError(f"What was written is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ConstraintError("What was written is no JSON object.")
    return value


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these properties, all of them and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _enum(values: list[str]) -> dict[str, Any]:
    return {"type": "string", "enum": values}
