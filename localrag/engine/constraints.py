"""Programs turned into grammars: for each segment the next grammar, chosen by what was written before."""

from __future__ import annotations

import json
import re

from localrag.engine.claim_program import ClaimRecords
from localrag.engine.claims import ClaimsDriver
from localrag.engine.json_bounds import bounded
from localrag.engine.lean import LeanDriver
from localrag.engine.programs import (
    Choice,
    CitedText,
    Decide,
    FreeText,
    Grammar,
    JsonSchema,
    LeanRecords,
    Program,
    Records,
    offered,
)
from localrag.engine.records import RecordsDriver
from localrag.engine.steps import Driver, PlainSegments, Step, alternatives, literal
from localrag.engine.weighed_program import WeighedRecords
from localrag.errors import ConstraintError

_ANYTHING = "[^\\x00-\\x08\\x0b-\\x1f\\x7f]"
_LINE = "[^\\x00-\\x1f\\x7f]"
_FIRST = '[^\\x00-\\x20\\x7f{}<>|#*`"\\[\\]\\\\-]'
_NUMBERED = re.compile(r"\[(\d+)\]")


def driver_for(program: Program) -> Driver:
    """The driver of a program. Raises `ConstraintError` if the program makes no sense, or writes nothing."""
    if isinstance(program, Decide):
        raise ConstraintError(
            "A decision writes nothing and has no grammar: it reads a model's probabilities.",
            "Use a local model for it.",
        )
    if isinstance(program, Records):
        return RecordsDriver(program)
    if isinstance(program, WeighedRecords):
        program = offered(program)
    if isinstance(program, LeanRecords):
        return LeanDriver(program)
    if isinstance(program, ClaimRecords):
        return ClaimsDriver(program)
    if isinstance(program, CitedText):
        return CitedDriver(program)
    return SingleDriver(program)


def _free(program: FreeText) -> str:
    """Free text as a regular expression."""
    if not program.one_line:
        return _ANYTHING + (f"{{1,{program.max_chars}}}" if program.max_chars else "+")
    return _FIRST + _LINE + (f"{{0,{program.max_chars - 1}}}" if program.max_chars else "*")


class SingleDriver(PlainSegments):
    """One segment, then the end."""

    def __init__(self, program: FreeText | Grammar | JsonSchema | Choice) -> None:
        if isinstance(program, FreeText):
            self._step = Step(
                "text", f"start: TEXT\nTEXT: /{_free(program)}/\n", watch="" if program.repeats else "text"
            )
        elif isinstance(program, Grammar):
            self._step = Step("text", program.lark)
        elif isinstance(program, JsonSchema):
            self._step = Step("json", schema=json.dumps(bounded(program.schema), ensure_ascii=False))
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


class CitedDriver(PlainSegments):
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
            watch="text",
        )

    def following(self, text: str) -> Step | None:
        """A list of sources where the body has no mark at all and is no refusal."""
        program = self._program
        if any(mark in text for mark in program.marks):
            return None
        if text.startswith(program.heading) or _NUMBERED.search(text):
            return None
        if program.refusal and text.endswith(program.refusal):
            return None
        more = f'(" " ref){{0,{program.max_sources - 1}}}' if program.max_sources > 1 else ""
        return Step(
            "sources",
            f'start: {literal(program.heading)} ref {more}\nref: "[" NUMBER "]"\nNUMBER: {self._number}\n',
        )
