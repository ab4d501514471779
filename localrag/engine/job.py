"""One request on its way through the scheduler: its tokens, its place in the cache, what it has written."""

from __future__ import annotations

import codecs
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from localrag.engine.constraints import Driver, Step, driver_for
from localrag.engine.matching import Matcher, Vocabulary
from localrag.engine.programs import Program
from localrag.engine.template import RenderedPrompt

Emit = Callable[[dict[str, Any]], None]
"""Sends one message to the parent process."""


@dataclass(frozen=True)
class JobRequest:
    """What the parent asked for, with the prompt rendered."""

    id: int
    """The parent's number for it."""

    prompt: RenderedPrompt
    """Token ids."""

    program: Program
    """What may be written."""

    max_tokens: int
    """Bound of new tokens."""

    temperature: float
    """0 is greedy."""

    seed: int
    """For temperatures above 0."""

    priority: int
    """Higher goes first."""

    stream: bool
    """Whether pieces of text are sent."""

    @property
    def need(self) -> int:
        """Most cache cells that it takes beside the shared prefix."""
        return len(self.prompt.own) + self.max_tokens


@dataclass
class Output:
    """What a job has written so far."""

    segments: list[tuple[str, bytes]] = field(default_factory=list)
    """Finished segments."""

    current: bytes = b""
    """The segment that is being written."""

    tokens: int = 0
    """Tokens written."""

    forced: int = 0
    """How many of these were forced."""


class Job:
    """A running request, driven by the scheduler: `feed` gives it scores, `pending` is decoded next."""

    def __init__(
        self, request: JobRequest, vocabulary: Vocabulary, pieces: Callable[[int], bytes], emit: Emit
    ) -> None:
        self.request = request
        self.sequence = -1
        self.past = 0
        """Positions that are in the cache."""
        self.prompt_left = list(request.prompt.own)
        """Prompt tokens that are not read yet."""
        self.pending: list[int] = []
        """Written tokens that are not in the cache yet."""
        self.finish = ""
        self.error = ""
        self.output = Output()
        self._vocabulary = vocabulary
        self._pieces = pieces
        self._emit = emit
        self._began = time.monotonic()
        self._rng = np.random.default_rng(request.seed)
        self._driver: Driver = driver_for(request.program)
        self._step: Step = self._driver.first()
        self._matcher: Matcher = vocabulary.matcher(self._step)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open_forced()

    @property
    def reading(self) -> bool:
        """Whether part of the prompt is still to be read."""
        return bool(self.prompt_left)

    def feed(self, logits: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        """Choose the next token from the scores and all that is forced behind it; may set `finish`."""
        token = self._matcher.choose(logits, self.request.temperature, self._rng)
        if token in self._vocabulary.ends:
            self._end_of_segment()
            if not self.finish and not self.pending:
                # The end itself is not decoded, so the same scores choose what the next segment begins with.
                self.feed(logits)
            return
        self._write(token, forced=False)
        for extra in self._matcher.accept(token):
            self._write(extra, forced=True)
        if self._matcher.finished:
            self._end_of_segment()
        self._bound()

    def _open_forced(self) -> None:
        for token in self._matcher.forced():
            self._write(token, forced=True)
        if self._matcher.finished and not self.finish:
            self._end_of_segment()

    def _write(self, token: int, *, forced: bool) -> None:
        data = self._pieces(token)
        self.pending.append(token)
        self.output.tokens += 1
        self.output.forced += forced
        self.output.current += data
        if self.request.stream:
            text = self._decoder.decode(data)
            if text:
                name = self._step.name
                self._emit({"event": "text", "id": self.request.id, "segment": name, "text": text})

    def _end_of_segment(self) -> None:
        text = self.output.current.decode("utf-8", "replace")
        name = self._driver.segment_name(self._step, text)
        if self._step.joins and self.output.segments:
            before_name, before = self.output.segments[-1]
            self.output.segments[-1] = (before_name, before + self.output.current)
        else:
            self.output.segments.append((name, self.output.current))
        self.output.current = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        following = self._driver.following(text)
        if following is None:
            self.finish = "stop"
            return
        self._step = following
        self._matcher = self._vocabulary.matcher(following)
        self._open_forced()

    def _bound(self) -> None:
        if not self.finish and self.output.tokens >= self.request.max_tokens:
            self.finish = "length"

    def result(self, model: str) -> dict[str, Any]:
        """The message that ends the job."""
        output = self.output
        segments = [(name, data.decode("utf-8", "replace")) for name, data in output.segments]
        if self.finish == "length" and self._step.joins and segments:
            # The first half of a record is in the list: without its end it is no record.
            segments.pop()
        tail = output.current.decode("utf-8", "ignore")
        ids = np.array([*self.request.prompt.shared, *self.request.prompt.own], dtype="<i4")
        return {
            "event": "done",
            "id": self.request.id,
            "text": "".join(data.decode("utf-8", "replace") for _, data in output.segments) + tail,
            "segments": segments,
            "finish": self.finish or "error",
            "prompt_tokens": len(ids),
            "shared_tokens": len(self.request.prompt.shared),
            "output_tokens": output.tokens,
            "forced_tokens": output.forced,
            "milliseconds": int((time.monotonic() - self._began) * 1000),
            "model": model,
            "prompt_hash": hashlib.sha256(ids.tobytes()).hexdigest(),
            "error": self.error,
        }
