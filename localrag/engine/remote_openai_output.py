"""Writing one output in the OpenAI dialect: in rounds of records, in segments, or as JSON; all is checked."""

from __future__ import annotations

import json
from typing import Any, Literal, Protocol

from localrag.engine.claim_program import ClaimRecords
from localrag.engine.gbnf import to_gbnf
from localrag.engine.programs import JsonSchema, LeanRecords, Records
from localrag.engine.remote_chat import Reply, go_on, turns
from localrag.engine.remote_check import TextCheck, canonical_json, fits
from localrag.engine.remote_claims import claims_ask, claims_gbnf, claims_lines, split_claims, take_claims
from localrag.engine.remote_json import Ask, JsonRecords, single_ask, single_text
from localrag.engine.remote_mechanisms import Kind, Mechanism
from localrag.engine.remote_rounds import plan_round
from localrag.engine.remote_waiting import Stop
from localrag.engine.remote_writing import Emit, Usage, Written, broken
from localrag.engine.types import Generation, GenerationRequest, ModelDescription, TextEvent
from localrag.errors import ConstraintError, RemoteRefused


class Dialect(Protocol):
    """What the writing needs of a server."""

    def mechanism(self, kind: Kind, stop: Stop) -> Mechanism | None:
        """The way in which the server keeps grammars, or schemas; None if there is none."""

    def call(
        self,
        request: GenerationRequest,
        chat: list[dict[str, str]],
        mechanism: Mechanism,
        constraint: Any,
        left: int,
        stop: Stop,
        take: Any = None,
    ) -> Reply:
        """One chat call under a constraint."""

    @property
    def where(self) -> str:
        """The server's address for messages."""


class Output:
    """The writing of one output."""

    def __init__(
        self,
        dialect: Dialect,
        request: GenerationRequest,
        about: ModelDescription,
        stop: Stop,
        emit: Emit,
    ) -> None:
        """What is written is told to `emit`, and `stop` ends it."""
        self._dialect = dialect
        self._request = request
        self._about = about
        self._stop = stop
        self._emit = emit
        self._written = Written(request.program)
        self._usage = Usage()
        self._shown = 0
        self._prompt = json.dumps(turns(request.messages), ensure_ascii=False).encode("utf-8", "replace")

    def write(self) -> Generation:
        """The checked output."""
        program = self._request.program
        grammar = None if isinstance(program, JsonSchema) else self._dialect.mechanism("grammar", self._stop)
        try:
            if isinstance(program, ClaimRecords):
                finish = self._claims(program, grammar)
            elif grammar is not None:
                many = isinstance(program, Records | LeanRecords)
                finish = self._rounds(grammar) if many else self._segments(grammar)
            else:
                finish = self._as_json(self._schema_mechanism())
        except _OutOfTokens:
            self._written.drop_half()
            finish = "length"
        return self._written.result(self._usage, self._about.fingerprint, self._prompt, finish)

    def _schema_mechanism(self) -> Mechanism:
        mechanism = self._dialect.mechanism("schema", self._stop)
        if mechanism is None:
            raise RemoteRefused(
                f"{self._dialect.where} keeps no JSON schemas, which this task needs.",
                "Use a server that takes both grammars and schemas.",
            )
        return mechanism

    def _call(
        self, mechanism: Mechanism, constraint: Any, chat: list[dict[str, str]], take: Any = None
    ) -> Reply:
        left = self._request.max_tokens - self._usage.output_tokens
        if left <= 0:
            raise _OutOfTokens
        reply = self._dialect.call(self._request, chat, mechanism, constraint, left, self._stop, take)
        if not self._usage.prompt_tokens:
            self._usage.prompt_tokens = reply.prompt_tokens
            self._usage.cached_tokens = reply.cached_tokens
        self._usage.output_tokens += reply.output_tokens
        return reply

    def _broken(self, text: str) -> RemoteRefused:
        return broken(self._dialect.where, text)

    # Under a grammar.

    def _segments(self, mechanism: Mechanism) -> Literal["stop", "length"]:
        """Segment by segment, as a worker does."""
        written = self._written
        chat = turns(self._request.messages)
        while (step := written.step) is not None:
            if written.add_forced():
                continue
            check = TextCheck(step)
            name = step.name

            def take(piece: str, check: TextCheck = check, name: str = name) -> None:
                if check.take(piece) != len(piece):
                    raise self._broken(piece)
                if self._request.stream:
                    self._emit(TextEvent(name, piece))

            reply = self._call(mechanism, to_gbnf(step.lark), go_on(chat, written.text), take)
            if check.finished or (check.complete and not reply.cut):
                written.add(reply.text)
            elif reply.cut:
                written.tail = reply.text
                return "length"
            else:
                raise self._broken(reply.text)
        return "stop"

    def _rounds(self, mechanism: Mechanism) -> Literal["stop", "length"]:
        """Many records to a call."""
        written = self._written
        chat = turns(self._request.messages)
        only = ""
        while written.step is not None:
            if written.add_forced():
                continue
            plan = plan_round(written, only)
            if not plan.gbnf:
                self._take_whole(plan.endings[0])
                continue
            before = len(written.text)
            follow = _Following(written, plan.exits)
            try:
                reply = self._call(mechanism, plan.gbnf, go_on(chat, written.text), follow.take)
                cut = reply.cut
            except _Astray:
                # The rest would be thrown away, and could go on until the budget is used up.
                self._usage.output_tokens += follow.pieces
                cut = False
            self._show()
            if len(written.text) > before:
                only = ""
            if written.step is not None and cut:
                return "length"
            if follow.rest in plan.exits:
                only = follow.rest
            elif len(written.text) == before:
                raise self._broken(follow.rest)
        return "stop"

    def _take_whole(self, text: str) -> None:
        if self._written.take(text):
            raise self._broken(text)

    def _show(self) -> None:
        """Stream the records that were not shown yet; a record is shown once it is whole."""
        segments = self._written.segments
        for segment in segments[self._shown :] if self._request.stream else ():
            self._emit(TextEvent(segment.name, segment.text))
        self._shown = len(segments)

    def _claims(self, program: ClaimRecords, grammar: Mechanism | None) -> Literal["stop", "length"]:
        """All claims in one call, under a grammar or a schema."""
        written, chat = self._written, turns(self._request.messages)
        if written.add_forced():
            return "stop"
        if grammar is not None:
            reply = self._call(grammar, claims_gbnf(program), chat)
            take_claims(program, written, split_claims(program, reply.text))
        else:
            mechanism, ask = self._schema_mechanism(), claims_ask(program)
            if ask is None:
                raise self._broken("")
            chat = turns(self._request.messages, ask.instruction)
            reply = self._call(mechanism, ask.schema, chat)
            try:
                lines = [] if reply.cut else claims_lines(program, reply.text)
            except ConstraintError as error:
                raise RemoteRefused(f"{self._dialect.where}: {error.message}", error.hint) from error
            take_claims(program, written, lines)
        self._show()
        if reply.cut:
            return "length"
        if written.step is not None:
            self._take_whole(program.completion_delimiter)
        return "stop"

    # Under a schema.

    def _as_json(self, mechanism: Mechanism) -> Literal["stop", "length"]:
        program = self._request.program
        try:
            if isinstance(program, Records | LeanRecords):
                return self._json_records(mechanism, JsonRecords(program))
            return self._json_single(mechanism, single_ask(program))
        except ConstraintError as error:
            raise RemoteRefused(f"{self._dialect.where}: {error.message}", error.hint) from error

    def _json_single(self, mechanism: Mechanism, ask: Ask) -> Literal["stop", "length"]:
        written, program = self._written, self._request.program
        reply = self._call(mechanism, ask.schema, turns(self._request.messages, ask.instruction))
        step = written.step
        assert step is not None
        if reply.cut:
            written.tail = reply.text if isinstance(program, JsonSchema) else ""
            return "length"
        for text in single_text(program, reply.text):
            checked = canonical_json(step, text) if step.schema else text
            if not step.schema and not fits(step, text):
                raise self._broken(text)
            if self._request.stream:
                self._emit(TextEvent(step.name, checked))
            written.add(checked)
        if written.step is not None:
            raise self._broken(reply.text)
        return "stop"

    def _json_records(self, mechanism: Mechanism, records: JsonRecords) -> Literal["stop", "length"]:
        written = self._written
        while written.step is not None:
            if records.over:
                self._take_whole(records.closing)
                continue
            ask = records.ask()
            if ask is None:
                self._take_whole(records.next_kind())
                continue
            chat = turns(self._request.messages, "" if written.text else ask.instruction)
            reply = self._call(mechanism, ask.schema, go_on(chat, written.text, ask.instruction))
            lines = records.lines_of_part(reply.text) if reply.cut else records.lines(reply.text)
            kept = 0
            for line in lines:
                if written.take(line):
                    break
                records.kept(line)
                self._show()
                kept += 1
            if reply.cut:
                return "length"
            if lines and not kept:
                raise self._broken(lines[0])
            if kept == len(lines):
                self._take_whole(records.next_kind())
        return "stop"


class _Following:
    """Takes the records of a call as they come."""

    def __init__(self, written: Written, exits: tuple[str, ...]) -> None:
        self._written = written
        self._exits = exits
        self.rest = ""
        """What is no whole record yet."""
        self.pieces = 0
        """How many pieces came, which is about the number of tokens."""

    def take(self, piece: str) -> None:
        """Raises `_Astray` as soon as what was written can no longer become a record that is allowed."""
        self.pieces += 1
        self.rest = self._written.take(self.rest + piece)
        leaving = any(text.startswith(self.rest) for text in self._exits)
        if not leaving and not self._written.may_begin(self.rest):
            raise _Astray


class _Astray(Exception):
    """A call that offers more than is allowed by now has written something else."""


class _OutOfTokens(Exception):
    """The budget is used up between two calls."""
