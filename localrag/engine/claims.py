"""Claims as records: the grammar of each part of a record, chosen by what was written before.

A record is written in steps, each of which ends with a delimiter: the sentence and the subject; the object
and the type; the status and the time; the description; the quotes. So a claim is about somebody of whom its
sentence speaks, at a time that it names, the object is never the subject, an end is never before its start,
and nothing is claimed twice.
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

    sentence: int = 0
    subject: str = ""
    object: str = ""
    type: str = ""
    status: str = ""
    start: str = ""
    description: str = ""


@dataclass
class _Book:
    """Which claims were written."""

    used: dict[tuple[int, str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Statuses by sentence, subject, object and type."""
    pairs: dict[tuple[int, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def free(self, claim: _Claim) -> list[str]:
        """The statuses that such a claim can have."""
        used = self.used[claim.sentence, claim.subject, claim.object, claim.type]
        return [status for status in STATUSES if status not in used]

    def open(self, sentence: int, subject: str, object_: str) -> bool:
        """Whether another claim can be written about a pair, whatever its type is going to be."""
        return self.pairs[sentence, subject, object_] < len(STATUSES)

    def add(self, claim: _Claim) -> None:
        """A claim was written."""
        self.used[claim.sentence, claim.subject, claim.object, claim.type].add(claim.status)
        self.pairs[claim.sentence, claim.subject, claim.object] += 1


class ClaimsDriver:
    """Claim after claim."""

    def __init__(self, program: ClaimRecords) -> None:
        """Raises `ConstraintError` for a program that makes no sense."""
        self._program = program
        delimiters = (program.tuple_delimiter, program.record_delimiter, program.completion_delimiter)
        if not all(delimiters) or any(c in d for d in delimiters for c in "\n\r()"):
            raise ConstraintError("A delimiter is empty or holds a line break or parenthesis.")
        if len(program.sentences) > MAX_SENTENCES or program.max_quotes < 1:
            raise ConstraintError(f"A claim can quote up to {MAX_SENTENCES} sentences, and at least one.")
        # No field holds the first character of a delimiter, so none can hold a delimiter.
        self._firsts = "".join(dict.fromkeys(text[0] for text in delimiters))
        self._subjects = self._writable(program.subjects)
        self._objects = [name for name in self._writable(program.objects) if name != NONE]
        self._group = {name: place for place, group in enumerate(program.alike) for name in group}
        self._named = [frozenset(sentence.names) for sentence in program.sentences]
        self._closing = f"){program.record_delimiter}\n"
        self._book = _Book()
        self._claim = _Claim()
        self._part = 0
        self._count = 0

    def _writable(self, names: tuple[str, ...]) -> list[str]:
        taboo = self._firsts + _NOT_IN_NAMES
        return [name for name in dict.fromkeys(names) if name.strip() and not any(c in name for c in taboo)]

    def first(self) -> Step:
        """The first sentence and subject, or the end of none."""
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
            number, _, claim.subject = values[0].partition(" (")
            claim.sentence = int(number)
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
        self._book.add(claim)
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
        people = self.people()
        end = literal(self._program.completion_delimiter)
        if not people or self._count >= self._program.maximum:
            return Step("", f"start: {end}\n")
        between = literal(self._program.tuple_delimiter)
        rules = [
            f"s{number}: {literal(f'{number} (')} ({alternatives(list(subjects))}) {between}"
            for number, subjects in people.items()
        ]
        begins = " | ".join(f"s{number}" for number in people)
        return Step("", "\n".join([f"start: {begins} | {end}", *rules]) + "\n", watch="record")

    def people(self) -> dict[int, dict[str, list[str]]]:
        """For each sentence that something can be claimed by: the subjects, with what can be their object."""
        found = {}
        for number, named in enumerate(self._named, 1):
            subjects = {
                name: partners
                for name in self._subjects
                if name in named and (partners := self._partners(number, name))
            }
            if subjects:
                found[number] = subjects
        return found

    def _partners(self, sentence: int, subject: str) -> list[str]:
        named = self._named[sentence - 1]
        group = self._group.get(subject, -1)
        others = [
            name
            for name in self._objects
            if name in named and name != subject and (group < 0 or self._group.get(name) != group)
        ]
        return [name for name in (*others, NONE) if self._book.open(sentence, subject, name)]

    def _about(self) -> Step:
        partners = self._partners(self._claim.sentence, self._claim.subject)
        rules = f"NAME: {alternatives(partners)}\nTYPE: {self._type()}\n"
        return self._step("NAME", "TYPE", rules=rules)

    def _when(self) -> Step:
        rules = f"STATUS: {alternatives(self._book.free(self._claim))}\n"
        if self._program.free_dates:
            return self._step("STATUS", "START", rules=f"{rules}START: {_moment(any_day())}\n")
        times = alternatives(self.times(self._claim.sentence))
        return self._step("STATUS", "TIME", rules=f"{rules}TIME: {times}\n")

    def times(self, sentence: int) -> list[str]:
        """What can be written for start and end together, with the delimiter between them."""
        periods = self._program.sentences[sentence - 1].periods
        between = self._program.tuple_delimiter
        pairs = [(_written(start), _written(end)) for start, end in periods]
        return list(dict.fromkeys(f"{start}{between}{end}" for start, end in [*pairs, (NONE, NONE)]))

    def whole(self) -> str:
        """One grammar for all records and the mark, for who cannot write them part by part.

        It is looser: claims could come twice, and with days of the model's own an end before its start. Each
        quotes one sentence.
        """
        program = self._program
        end, between = literal(program.completion_delimiter), literal(program.tuple_delimiter)
        people = self.people()
        if not people:
            return f"start: {end}\n"
        rules = [
            f"TYPE: {self._type()}",
            f"STATUS: {alternatives(STATUSES)}",
            f"DAY: {_moment(any_day())}",
            f"TEXT: {self._text()}",
        ]
        for number, subjects in people.items():
            who = " | ".join(
                f"{literal(subject)} {between} ({alternatives(partners)})"
                for subject, partners in subjects.items()
            )
            times = f"DAY {between} DAY" if program.free_dates else f"({alternatives(self.times(number))})"
            fields = f" {between} ".join((f"w{number}", "TYPE", "STATUS", times, "TEXT", f'"{number}"'))
            rules += [f"w{number}: {who}", f"s{number}: {literal(f'{number} (')} {fields}"]
        record = f"record: ({' | '.join(f's{number}' for number in people)}) {literal(self._closing)}"
        return "\n".join([f"start: record{{0,{program.maximum}}} {end}", record, *rules]) + "\n"

    def _type(self) -> str:
        return alternatives(self._program.types) or f"/{self._program.type_pattern}/"

    def _says(self) -> Step:
        rules = f"TEXT: {self._text()}\n"
        if not self._program.free_dates:
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
        """The claim's sentence, with later ones that speak of its subject, and the record's end."""
        first = self._claim.sentence
        later = [
            number
            for number, named in enumerate(self._named, 1)
            if number > first and self._claim.subject in named
        ]
        lark = f"start: numbers {literal(self._closing)}\n{self._numbers(first, later)}"
        return Step(CLAIM, lark, joins=True, watch="record")

    def _numbers(self, first: int, later: list[int]) -> str:
        """Rules for a number with some of the later ones behind it, in ascending order."""
        rules: list[str] = []
        ahead = [first, *later]
        for depth in range(1, self._program.max_quotes):
            # Rule qDxN: what can follow the number N, which is one of `depth` numbers so far.
            for place in range(depth - 1, 1 if depth == 1 else len(ahead)):
                more = [self._one(number, depth + 1, ahead) for number in ahead[place + 1 :]]
                if more:
                    rules.append(f'q{depth}x{ahead[place]}: ", " ({" | ".join(more)})')
        return "\n".join([f"numbers: {self._one(first, 1, ahead)}", *rules]) + "\n"

    def _one(self, number: int, depth: int, ahead: list[int]) -> str:
        """A number as the `depth`th of a list, with what may follow it."""
        goes_on = depth < self._program.max_quotes and number < ahead[-1]
        return f'"{number}" q{depth}x{number}?' if goes_on else f'"{number}"'


def _moment(day: str) -> str:
    return f"/{day}{MIDNIGHT}|{NONE}/"


def _written(day: str) -> str:
    return f"{day}{MIDNIGHT}" if day else NONE
