"""Claims as records: the grammar of each part of a record, chosen by what was written before.

A record is written in steps, each of which ends with a delimiter: the subject; the object and the type; the
status and the time; the description; the quotes. So the object is never the subject, an end is never before
its start, and the quotes can be kept from making a claim that is there already.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from localrag.engine.claim_program import MAX_SENTENCES, NONE, STATUSES, ClaimRecords
from localrag.engine.iso_dates import MIDNIGHT, any_day, days_from
from localrag.engine.steps import Step, alternatives, inside_set, literal
from localrag.errors import ConstraintError

CLAIM = "claim"
"""Name of a record's segment."""

_EXCLUDED = "<>|#\\n\\r\\t\\x00-\\x1f\\x7f-\\x9f"
_NOT_IN_NAMES = "<>|#\n\r\t"


@dataclass
class _Claim:
    """What is written of the record that is being written."""

    subject: str = ""
    object: str = ""
    type: str = ""
    status: str = ""
    start: str = ""
    description: str = ""


@dataclass
class _Book:
    """Which claims were written."""

    sentences: int
    firsts: dict[tuple[str, str, str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    """First quotes by subject, object, type and status."""
    pairs: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def free(self, claim: _Claim, status: str) -> list[int]:
        """The sentences that such a claim can quote first."""
        used = self.firsts[claim.subject, claim.object, claim.type, status]
        return [number for number in range(1, self.sentences + 1) if number not in used]

    def open(self, subject: str, object_: str) -> bool:
        """Whether another claim can be written about a pair, whatever its type is going to be."""
        return self.pairs[subject, object_] < len(STATUSES) * self.sentences

    def add(self, claim: _Claim, first: int) -> None:
        """A claim was written."""
        self.firsts[claim.subject, claim.object, claim.type, claim.status].add(first)
        self.pairs[claim.subject, claim.object] += 1


class ClaimsDriver:
    """Claim after claim."""

    def __init__(self, program: ClaimRecords) -> None:
        """Raises `ConstraintError` for a program that makes no sense."""
        self._program = program
        delimiters = (program.tuple_delimiter, program.record_delimiter, program.completion_delimiter)
        if not all(delimiters) or any(c in d for d in delimiters for c in "\n\r()"):
            raise ConstraintError("A delimiter is empty or holds a line break or parenthesis.")
        if not 0 <= program.sentences <= MAX_SENTENCES or program.max_quotes < 1:
            raise ConstraintError(f"A claim can quote up to {MAX_SENTENCES} sentences, and at least one.")
        # No field holds the first character of a delimiter, so none can hold a delimiter.
        self._firsts = "".join(dict.fromkeys(text[0] for text in delimiters))
        self._subjects = self._writable(program.subjects)
        self._objects = [name for name in self._writable(program.objects) if name != NONE]
        self._closing = f"){program.record_delimiter}\n"
        self._book = _Book(program.sentences)
        self._claim = _Claim()
        self._part = 0
        self._count = 0

    def _writable(self, names: tuple[str, ...]) -> list[str]:
        taboo = self._firsts + _NOT_IN_NAMES
        return [name for name in dict.fromkeys(names) if name.strip() and not any(c in name for c in taboo)]

    def first(self) -> Step:
        """The first subject, or the end of none."""
        return self._border()

    def following(self, text: str) -> Step | None:
        """Take note of a part of a record, and open the next."""
        if self._part == 0 and text == self._program.completion_delimiter:
            return None
        part, self._part = self._part, self._part + 1
        fields = text.removesuffix(self._closing).removesuffix(self._program.tuple_delimiter)
        values = fields.split(self._program.tuple_delimiter)
        claim = self._claim
        if part == 0:
            claim.subject = values[0][1:]
            return self._about()
        if part == 1:
            claim.object, claim.type = values
            return self._when()
        if part == 2:
            claim.status, claim.start = values[:2]
            return self._says()
        if part == 3:
            claim.description = values[-1]
            return self._quotes()
        self._book.add(claim, int(fields.partition(",")[0]))
        self._count += 1
        return self._border()

    def segment_name(self, step: Step, text: str) -> str:
        """`claim` or `complete`."""
        return "complete" if text == self._program.completion_delimiter else CLAIM

    def prose(self, text: str) -> tuple[str, str]:
        """The description of a claim whose last part is written."""
        return (CLAIM, self._claim.description) if self._part == 4 else ("", "")

    def skip(self, text: str) -> Step | None:
        """The end: no more claims are written."""
        self._part = 0
        return Step("complete", f"start: {literal(self._program.completion_delimiter)}\n")

    # The parts of a record.

    def _border(self) -> Step:
        self._part = 0
        self._claim = _Claim()
        subjects = list(self.people())
        end = literal(self._program.completion_delimiter)
        if not subjects or not self._program.sentences or self._count >= self._program.maximum:
            return Step("", f"start: {end}\n")
        opening = f"{literal('(')} NAME {literal(self._program.tuple_delimiter)}"
        return Step("", f"start: {opening} | {end}\nNAME: {alternatives(subjects)}\n", watch="record")

    def _partners(self, subject: str) -> list[str]:
        return [name for name in (*self._objects, NONE) if name != subject and self._book.open(subject, name)]

    def _about(self) -> Step:
        rules = f"NAME: {alternatives(self._partners(self._claim.subject))}\nTYPE: {self._type()}\n"
        return self._step("NAME", "TYPE", rules=rules)

    def _when(self) -> Step:
        statuses = [status for status in STATUSES if self._book.free(self._claim, status)]
        rules = f"STATUS: {alternatives(statuses)}\n"
        if self._program.periods is None:
            return self._step("STATUS", "START", rules=f"{rules}START: {_moment(any_day())}\n")
        return self._step("STATUS", "TIME", rules=f"{rules}TIME: {alternatives(self.times())}\n")

    def times(self) -> list[str]:
        """What can be written for start and end together, with the delimiter between them."""
        given = [(_written(start), _written(end)) for start, end in self._program.periods or ()]
        between = self._program.tuple_delimiter
        return list(dict.fromkeys(f"{start}{between}{end}" for start, end in [*given, (NONE, NONE)]))

    def people(self) -> dict[str, list[str]]:
        """Each subject that something can be claimed of, with what can be its object."""
        return {name: partners for name in self._subjects if (partners := self._partners(name))}

    def whole(self) -> str:
        """One grammar for all records and the mark, for who cannot write them part by part.

        It is looser: claims could come twice, and with days of the model's own an end before its start.
        """
        program = self._program
        end, between = literal(program.completion_delimiter), literal(program.tuple_delimiter)
        people = self.people()
        if not people or not program.sentences:
            return f"start: {end}\n"
        who, rules = [], []
        for place, (subject, partners) in enumerate(people.items()):
            who.append(f"{literal(subject)} {between} OBJECT{place}")
            rules.append(f"OBJECT{place}: {alternatives(partners)}")
        times = f"DAY {between} DAY" if program.periods is None else "TIME"
        fields = f" {between} ".join(("who", "TYPE", "STATUS", times, "TEXT", "numbers"))
        rules += [
            f"who: {' | '.join(who)}",
            f"TYPE: {self._type()}",
            f"STATUS: {alternatives(STATUSES)}",
            f"DAY: {_moment(any_day())}"
            if program.periods is None
            else f"TIME: {alternatives(self.times())}",
            f"TEXT: {self._text()}",
            self._numbers(list(range(1, program.sentences + 1))),
        ]
        record = f'record: "(" {fields} {literal(self._closing)}'
        return "\n".join([f"start: record{{0,{program.maximum}}} {end}", record, *rules])

    def _type(self) -> str:
        return alternatives(self._program.types) or f"/{self._program.type_pattern}/"

    def _says(self) -> Step:
        rules = f"TEXT: {self._text()}\n"
        if self._program.periods is not None:
            return self._step("TEXT", rules=rules)
        start = self._claim.start
        end = any_day() if start == NONE else days_from(start.removesuffix(MIDNIGHT))
        return self._step("END", "TEXT", rules=f"{rules}END: {_moment(end)}\n")

    def _text(self) -> str:
        if self._program.description_pattern:
            return f"/{self._program.description_pattern}/"
        extra = inside_set("".join(c for c in self._firsts if c not in "<>|#/"))
        inside = f"[^()\\/{_EXCLUDED}{extra}]"
        # The slash is excluded only because it would end the regular expression; it is let in here.
        slash = "" if "/" in self._firsts else "|\\/"
        bound = max(self._program.description_chars - 1, 0)
        return f"/[^() \\/{_EXCLUDED}{extra}]({inside}{slash}|\\({inside}{{0,40}}\\)){{0,{bound}}}/"

    def _step(self, *parts: str, rules: str) -> Step:
        """Some fields, each with a delimiter behind it."""
        between = literal(self._program.tuple_delimiter)
        return Step(
            CLAIM,
            f"start: {' '.join(f'{part} {between}' for part in parts)}\n{rules}",
            joins=True,
            watch="record",
            opener=self._program.tuple_delimiter,
            closers=(self._program.tuple_delimiter,),
        )

    def _quotes(self) -> Step:
        """The quotes, and the record's end."""
        numbers = self._numbers(self._book.free(self._claim, self._claim.status))
        lark = f"start: numbers {literal(self._closing)}\n{numbers}"
        return Step(CLAIM, lark, joins=True, watch="record")

    def _numbers(self, firsts: list[int]) -> str:
        """Rules for numbers of sentences in ascending order, of which the first is one of some."""
        last = self._program.sentences
        rules: list[str] = []
        for depth in range(1, self._program.max_quotes):
            # Rule qDxN: what can follow the number N, which is one of `depth` numbers so far.
            for number in range(depth, last):
                more = (
                    _number(n, depth + 1, last, self._program.max_quotes) for n in range(number + 1, last + 1)
                )
                rules.append(f'q{depth}x{number}: ", " ({" | ".join(more)})')
        begin = " | ".join(_number(n, 1, last, self._program.max_quotes) for n in firsts)
        return "\n".join([f"numbers: {begin}", *rules]) + "\n"


def _number(number: int, depth: int, last: int, most: int) -> str:
    """A number as the `depth`th of a list, with what may follow it."""
    goes_on = depth < most and number < last
    return f'"{number}" q{depth}x{number}?' if goes_on else f'"{number}"'


def _moment(day: str) -> str:
    return f"/{day}{MIDNIGHT}|{NONE}/"


def _written(day: str) -> str:
    return f"{day}{MIDNIGHT}" if day else NONE
