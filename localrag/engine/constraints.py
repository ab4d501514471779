"""Programs turned into grammars: for each segment the next grammar, chosen by what was written before.

Grammars are in llguidance's Lark dialect (https://github.com/guidance-ai/llguidance). Its lexer takes the
longest match, so no field's alphabet holds the first character of what closes the field.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Protocol

from localrag.engine.programs import (
    Choice,
    CitedText,
    Field,
    FreeText,
    Grammar,
    JsonSchema,
    Program,
    Record,
    Records,
)
from localrag.errors import ConstraintError

_ANYTHING = "[^\\x00-\\x08\\x0b-\\x1f\\x7f]"
_RECORD_EXCLUDED = "<>|#\\n\\r\\t\\x00-\\x1f\\x7f"
_NUMBERED = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True)
class Step:
    """What may be written next."""

    name: str
    """Name of the segment; empty if the text decides it."""

    lark: str = ""
    """Grammar, unless `schema` is given."""

    schema: str = ""
    """JSON schema as JSON text."""

    joins: bool = False
    """Whether the text belongs to the segment before."""


class Driver(Protocol):
    """Goes through the segments of one output."""

    def first(self) -> Step:
        """The first step."""

    def following(self, text: str) -> Step | None:
        """The step after one whose text was `text`; None ends the output."""

    def segment_name(self, step: Step, text: str) -> str:
        """The name of the segment that `step` wrote as `text`."""


def driver_for(program: Program) -> Driver:
    """The driver of a program. Raises `ConstraintError` if the program makes no sense."""
    if isinstance(program, Records):
        return RecordsDriver(program)
    if isinstance(program, CitedText):
        return CitedDriver(program)
    return SingleDriver(program)


def literal(text: str) -> str:
    """A Lark string literal for any text."""
    return json.dumps(text, ensure_ascii=False)


def alternatives(texts: tuple[str, ...] | list[str]) -> str:
    """A Lark alternation of literals."""
    return " | ".join(literal(text) for text in texts)


class SingleDriver:
    """One segment, then the end."""

    def __init__(self, program: FreeText | Grammar | JsonSchema | Choice) -> None:
        if isinstance(program, FreeText):
            bound = f"{{1,{program.max_chars}}}" if program.max_chars else "+"
            self._step = Step("text", f"start: TEXT\nTEXT: /{_ANYTHING}{bound}/\n")
        elif isinstance(program, Grammar):
            self._step = Step("text", program.lark)
        elif isinstance(program, JsonSchema):
            self._step = Step("json", schema=json.dumps(program.schema))
        else:
            if not program.options or len(set(program.options)) != len(program.options):
                raise ConstraintError("A choice needs distinct options.")
            self._step = Step("choice", f"start: OPTION\nOPTION: {alternatives(program.options)}\n")

    def first(self) -> Step:
        """The only step."""
        return self._step

    def following(self, text: str) -> Step | None:
        """Nothing follows."""
        return None

    def segment_name(self, step: Step, text: str) -> str:
        """As the step says."""
        return step.name


class CitedDriver:
    """A body with numbered marks; if it names no source, a list of sources."""

    def __init__(self, program: CitedText) -> None:
        if program.sources < 1:
            raise ConstraintError("An answer with citations needs at least one source.")
        self._program = program
        self._number = alternatives([str(n) for n in range(1, program.sources + 1)])

    def first(self) -> Step:
        """The body: text, marks, or a text that ends in the refusal."""
        marks = "".join(f" | {literal(mark)}" for mark in self._program.marks)
        refusal = f" | TEXT {literal(self._program.refusal)}" if self._program.refusal else ""
        return Step(
            "body",
            f"start: TEXT (mark TEXT?)*{refusal}\n"
            f'mark: "[" NUMBER "]"{marks}\n'
            f"NUMBER: {self._number}\n"
            "TEXT: /[^\\[\\]\\x00-\\x08\\x0b-\\x1f\\x7f]+/\n",
        )

    def following(self, text: str) -> Step | None:
        """A list of sources where the body names none and is no refusal."""
        program = self._program
        if text.startswith(program.heading) or _NUMBERED.search(text):
            return None
        if program.refusal and text.endswith(program.refusal):
            return None
        more = f'(" " ref){{0,{program.max_sources - 1}}}' if program.max_sources > 1 else ""
        return Step(
            "sources",
            f'start: {literal(program.heading)} ref {more}\nref: "[" NUMBER "]"\nNUMBER: {self._number}\n',
        )

    def segment_name(self, step: Step, text: str) -> str:
        """As the step says."""
        return step.name


class RecordsDriver:
    """Record after record; names are offered once, pairs are written once, both ends are known names."""

    def __init__(self, program: Records) -> None:
        self._program = program
        self._check()
        self._names: list[str] = list(dict.fromkeys(program.taken))
        self._folded = {name.casefold() for name in self._names}
        self._pairs = {self._pair(left, right) for left, right in program.taken_pairs}
        self._counts = dict.fromkeys((record.tag for record in program.kinds), 0)
        self._phase = 0
        self._open: tuple[Record, str] | None = None
        """A record whose first name of a pair is written, and that name."""

    def _check(self) -> None:
        program = self._program
        delimiters = (program.tuple_delimiter, program.record_delimiter, program.completion_delimiter)
        if not all(delimiters) or any(c in d for d in delimiters for c in "\n\r()"):
            raise ConstraintError(
                "A delimiter is empty or holds a line break or parenthesis.", "Use for example <|> and ##."
            )
        if program.tuple_delimiter.startswith(tuple(' "')) or program.record_delimiter.startswith(" "):
            raise ConstraintError("A delimiter must not begin with a blank or a quote.")
        for record in program.kinds:
            used = sum(1 for field in record.fields if field.form == "used")
            if used not in (0, 2):
                raise ConstraintError(f"Record {record.tag!r} must name two known things or none.")

    def first(self) -> Step:
        """The first border."""
        return self._border()

    def following(self, text: str) -> Step | None:
        """Take note of what was written, and open what may come next."""
        program = self._program
        if text == program.completion_delimiter:
            return None
        if self._open is not None:
            record, source = self._open
            self._open = None
            target = self._written(text)[0]
            self._pairs.add(self._pair(self._known(source, record, 0), self._known(target, record, 1)))
            self._counts[record.tag] += 1
            return self._border()
        record = self._record_of(text)
        values = text[len(self._opening(record)) :]
        if self._used_fields(record):
            before = values[: -len(program.tuple_delimiter)]
            source = before.rsplit(program.tuple_delimiter, 1)[-1]
            self._open = (record, source)
            return self._second_half(record, source)
        self._counts[record.tag] += 1
        self._note_names(record, values)
        return self._border()

    def segment_name(self, step: Step, text: str) -> str:
        """The tag of the record, or `complete`."""
        if text == self._program.completion_delimiter:
            return "complete"
        return step.name or self._record_of(text).tag

    # What the grammar of a border or of a record's second half looks like.

    def _border(self) -> Step:
        rules: list[str] = []
        starts: list[str] = []
        for index, record in enumerate(self._program.kinds):
            if (
                index < self._phase
                or self._counts[record.tag] >= record.maximum
                or not self._possible(record)
            ):
                continue
            rule = self._first_half(record, index)
            if rule:
                starts.append(f"r{index}")
                rules.extend(rule)
        starts.append(literal(self._program.completion_delimiter))
        return Step("", f"start: {' | '.join(starts)}\n" + "\n".join(rules) + "\n")

    def _first_half(self, record: Record, index: int) -> list[str]:
        """Rules for a whole record, or up to the first of its two names."""
        between = literal(self._program.tuple_delimiter)
        parts = [literal(self._opening(record))]
        rules: list[str] = []
        for number, field in enumerate(record.fields):
            name = f"F{index}X{number}"
            if field.form == "used":
                options = [self._shown(n, field) for n in self._names if self._partners(n)]
                rules.append(f"{name}: {alternatives(options)}")
                return [f"r{index}: {' '.join([*parts, name, between])}", *rules]
            rules.append(f"{name}: {self._terminal(field)}")
            parts.append(name)
            last = number == len(record.fields) - 1
            parts.append(literal(f"){self._program.record_delimiter}\n") if last else between)
        return [f"r{index}: {' '.join(parts)}", *rules]

    def _second_half(self, record: Record, source: str) -> Step:
        """From the second name to the record's end."""
        between = literal(self._program.tuple_delimiter)
        places = [number for number, field in enumerate(record.fields) if field.form == "used"]
        rest = record.fields[places[0] + 1 :]
        known = self._known(source, record, 0)
        parts: list[str] = []
        rules: list[str] = []
        for number, field in enumerate(rest):
            name = f"G{number}"
            if field.form == "used":
                rules.append(
                    f"{name}: {alternatives([self._shown(n, field) for n in self._partners(known)])}"
                )
            else:
                rules.append(f"{name}: {self._terminal(field)}")
            parts.append(name)
            last = number == len(rest) - 1
            parts.append(literal(f"){self._program.record_delimiter}\n") if last else between)
        return Step(record.tag, f"start: {' '.join(parts)}\n" + "\n".join(rules) + "\n", joins=True)

    def _terminal(self, field: Field) -> str:
        if field.form == "choice":
            return alternatives(list(dict.fromkeys(field.values)))
        if field.form == "new":
            return alternatives([self._shown(value, field) for value in self._free(field)])
        if field.form == "pattern":
            return f"/{field.pattern}/"
        delimiters = self._program.tuple_delimiter + self._program.record_delimiter
        extra = "".join(re.escape(c) for c in dict.fromkeys(delimiters) if c not in "<>|#")
        inside = f"[^()\\/{_RECORD_EXCLUDED}{extra.replace('/', '')}]"
        first = f"[^() \\/{_RECORD_EXCLUDED}{extra.replace('/', '')}]"
        # The slash is excluded above only because it would end the regular expression; it is let in here.
        slash = "" if "/" in delimiters else "|\\/"
        bound = max(field.max_chars - 1, 0)
        return f"/({first}{slash})({inside}{slash}|\\({inside}{{0,40}}\\)){{0,{bound}}}/"

    # Names and pairs.

    def _possible(self, record: Record) -> bool:
        if self._used_fields(record):
            return any(self._partners(name) for name in self._names)
        return all(self._free(field) for field in record.fields if field.form == "new")

    def _free(self, field: Field) -> list[str]:
        seen: set[str] = set()
        result = []
        for value in field.values:
            folded = value.casefold()
            if folded not in self._folded and folded not in seen and self._writable(value):
                seen.add(folded)
                result.append(value)
        return result

    def _writable(self, value: str) -> bool:
        return bool(value.strip()) and not any(
            c in value for c in self._program.tuple_delimiter + "\n\r\t<>|#"
        )

    def _partners(self, name: str) -> list[str]:
        return [
            other for other in self._names if other != name and self._pair(name, other) not in self._pairs
        ]

    def _note_names(self, record: Record, values: str) -> None:
        for field, text in zip(record.fields, self._written(values), strict=False):
            if field.form == "new":
                name = next((v for v in field.values if self._shown(v, field) == text), text)
                self._names.append(name)
                self._folded.add(name.casefold())

    def _written(self, text: str) -> list[str]:
        """The fields of a record's rest, without what closes it."""
        return text.removesuffix(f"){self._program.record_delimiter}\n").split(self._program.tuple_delimiter)

    def _known(self, shown: str, record: Record, which: int) -> str:
        field = self._used_fields(record)[which]
        return next((name for name in self._names if self._shown(name, field) == shown), shown)

    @staticmethod
    def _pair(left: str, right: str) -> frozenset[str]:
        return frozenset((left, right))

    @staticmethod
    def _shown(name: str, field: Field) -> str:
        return name.upper() if field.upper else name

    @staticmethod
    def _used_fields(record: Record) -> list[Field]:
        return [field for field in record.fields if field.form == "used"]

    def _opening(self, record: Record) -> str:
        tag = f'"{record.tag}"' if self._program.quoted_tags else record.tag
        return f"({tag}{self._program.tuple_delimiter}"

    def _record_of(self, text: str) -> Record:
        for index, record in enumerate(self._program.kinds):
            if text.startswith(self._opening(record)):
                self._phase = max(self._phase, index)
                return record
        raise ConstraintError(f"No record begins with {text[:20]!r}.")
