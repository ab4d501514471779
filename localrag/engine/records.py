"""Delimited records: the grammar of each record, chosen by the names and pairs that were written before."""

from __future__ import annotations

from localrag.engine.names import NameBook, capitals
from localrag.engine.programs import Field, Record, Records
from localrag.engine.steps import Step, alternatives, any_of, inside_set, literal
from localrag.errors import ConstraintError

_RECORD_EXCLUDED = "<>|#\\n\\r\\t\\x00-\\x1f\\x7f"


class RecordsDriver:
    """Record after record; names are offered once, pairs are written once, both ends are known names."""

    def __init__(self, program: Records) -> None:
        self._program = program
        self._check()
        self._book = NameBook(program.taken, program.taken_pairs, directed=program.directed)
        delimiters = (program.tuple_delimiter, program.record_delimiter, program.completion_delimiter)
        # No field holds the first character of a delimiter, so none can hold a delimiter.
        self._firsts = "".join(dict.fromkeys(text[0] for text in delimiters))
        self._counts = dict.fromkeys((record.tag for record in program.kinds), 0)
        self._closers = (f"){program.record_delimiter}\n", program.tuple_delimiter)
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
            self._book.join(self._known(source, record, 0), self._known(target, record, 1))
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

    def prose(self, text: str) -> tuple[str, str]:
        """The text fields of a finished record, joined."""
        if self._open is not None:
            record = self._open[0]
            fields = record.fields[self._used_places(record)[0] + 1 :]
            values = text
        elif text == self._program.completion_delimiter:
            return "", ""
        else:
            record = self._record_of(text)
            if self._used_fields(record):
                return "", ""
            fields, values = record.fields, text[len(self._opening(record)) :]
        written = zip(fields, self._written(values), strict=True)
        return record.tag, " ".join(value for field, value in written if field.form == "text")

    def skip(self, text: str) -> Step | None:
        """The border behind the last record of its kind."""
        record = self._open[0] if self._open is not None else self._record_of(text)
        self._open = None
        self._phase = self._program.kinds.index(record) + 1
        return self._border()

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
        return Step(
            "",
            f"start: {' | '.join(starts)}\n" + "\n".join(rules) + "\n",
            watch="record",
            opener=self._program.tuple_delimiter,
            closers=self._closers,
        )

    def _first_half(self, record: Record, index: int) -> list[str]:
        """Rules for a whole record, or up to the first of its two names."""
        between = literal(self._program.tuple_delimiter)
        parts = [literal(self._opening(record))]
        rules: list[str] = []
        for number, field in enumerate(record.fields):
            name = f"F{index}X{number}"
            if field.form == "used":
                options = [self._shown(n, field) for n in self._book.sources()]
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
        rest = record.fields[self._used_places(record)[0] + 1 :]
        known = self._known(source, record, 0)
        parts: list[str] = []
        rules: list[str] = []
        for number, field in enumerate(rest):
            name = f"G{number}"
            if field.form == "used":
                rules.append(
                    f"{name}: {alternatives([self._shown(n, field) for n in self._book.partners(known)])}"
                )
            else:
                rules.append(f"{name}: {self._terminal(field)}")
            parts.append(name)
            last = number == len(rest) - 1
            parts.append(literal(f"){self._program.record_delimiter}\n") if last else between)
        return Step(
            record.tag,
            f"start: {' '.join(parts)}\n" + "\n".join(rules) + "\n",
            joins=True,
            watch="record",
            opener=self._program.tuple_delimiter,
            closers=self._closers,
        )

    def _terminal(self, field: Field) -> str:
        if field.form == "choice":
            return alternatives(list(dict.fromkeys(field.values)))
        if field.form == "new":
            return alternatives([self._shown(value, field) for value in self._free(field)])
        begins = any_of(field.values)
        if field.form == "pattern":
            return f"/{begins}({field.pattern})/" if begins else f"/{field.pattern}/"
        extra = inside_set("".join(c for c in self._firsts if c not in "<>|#/"))
        inside = f"[^()\\/{_RECORD_EXCLUDED}{extra}]"
        first = f"[^() \\/{_RECORD_EXCLUDED}{extra}]"
        # The slash is excluded above only because it would end the regular expression; it is let in here.
        slash = "" if "/" in self._firsts else "|\\/"
        bound = max(field.max_chars - 1, 0)
        return f"/{begins}({first}{slash})({inside}{slash}|\\({inside}{{0,40}}\\)){{0,{bound}}}/"

    # Names and pairs.

    def _possible(self, record: Record) -> bool:
        if self._used_fields(record):
            return bool(self._book.sources())
        return all(self._free(field) for field in record.fields if field.form == "new")

    def _free(self, field: Field) -> list[str]:
        free = self._book.free([v for v in field.values if self._writable(v)], loose=field.loose)
        if not field.upper:
            return free
        # Two names may look the same in capitals though they are not in other respects.
        written = {capitals(name) for name in self._book.names}
        distinct = {capitals(name): name for name in reversed(free)}
        return [name for name in free if name == distinct[capitals(name)] and capitals(name) not in written]

    def _writable(self, value: str) -> bool:
        return bool(value.strip()) and not any(c in value for c in self._firsts + "\n\r\t<>|#")

    def _note_names(self, record: Record, values: str) -> None:
        for field, text in zip(record.fields, self._written(values), strict=False):
            if field.form == "new":
                name = next((v for v in field.values if self._shown(v, field) == text), text)
                self._book.add(name)

    def _written(self, text: str) -> list[str]:
        """The fields of a record's rest, without what closes it."""
        return text.removesuffix(f"){self._program.record_delimiter}\n").split(self._program.tuple_delimiter)

    def _known(self, shown: str, record: Record, which: int) -> str:
        field = self._used_fields(record)[which]
        return next((name for name in self._book.names if self._shown(name, field) == shown), shown)

    @staticmethod
    def _shown(name: str, field: Field) -> str:
        return capitals(name) if field.upper else name

    @staticmethod
    def _used_fields(record: Record) -> list[Field]:
        return [field for field in record.fields if field.form == "used"]

    @staticmethod
    def _used_places(record: Record) -> list[int]:
        return [number for number, field in enumerate(record.fields) if field.form == "used"]

    def _opening(self, record: Record) -> str:
        tag = f'"{record.tag}"' if self._program.quoted_tags else record.tag
        return f"({tag}{self._program.tuple_delimiter}"

    def _record_of(self, text: str) -> Record:
        for index, record in enumerate(self._program.kinds):
            if text.startswith(self._opening(record)):
                self._phase = max(self._phase, index)
                return record
        raise ConstraintError(f"No record begins with {text[:20]!r}.")
