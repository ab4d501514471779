"""One request on its way through the scheduler: its tokens, its place in the cache, what it has written.

A job that decides between options writes nothing: it walks their tree of tokens and ends with numbers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from localrag.engine.decide import Decider
from localrag.engine.matching import Vocabulary
from localrag.engine.programs import Decide, Program
from localrag.engine.template import RenderedPrompt
from localrag.engine.weighed import Weighing
from localrag.engine.weighed_program import WeighedRecords
from localrag.engine.writing import Emit as Emit
from localrag.engine.writing import Scores, Writer
from localrag.errors import ConstraintError


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
    """Tokens written and kept."""

    forced: int = 0
    """How many of these were forced."""

    rolled_back: int = 0
    """Tokens written and taken back."""

    weighed: int = 0
    """Tokens that were only weighed; the budget does not hold them."""


class Job:
    """A running request, driven by the scheduler: `feed` gives it scores, `pending` is decoded next."""

    def __init__(
        self, request: JobRequest, vocabulary: Vocabulary, pieces: Callable[[int], bytes], emit: Emit
    ) -> None:
        self.request = request
        self.sequence = -1
        self.past = 0
        """Positions that are in the cache."""
        self.reused = 0
        """How many of these another prompt had left there, its shared prefix included."""
        self.prompt_left = list(request.prompt.own)
        """Prompt tokens that are not read yet."""
        self.pending: list[int] = []
        """Written tokens that are not in the cache yet."""
        self.asks = 1
        """After how many of the last pending tokens scores are wanted; each is fed, in their order."""
        self.cut = 0
        """Positions at the end of the sequence that a rollback took back; the scheduler sets it to 0."""
        self.served = 0
        """Number of the scheduler's step that last decoded some of it."""
        self.finish = ""
        self.error = ""
        self.output = Output()
        self._vocabulary = vocabulary
        self._began = time.monotonic()
        self._course: Writer | Choosing | Weighing
        if isinstance(request.program, Decide):
            self._course = Choosing(self, request.program, vocabulary)
        elif isinstance(request.program, WeighedRecords):
            self._course = Weighing(self, request.program, vocabulary, pieces, emit)
        else:
            self._course = Writer(self, vocabulary, pieces, emit)

    @property
    def reading(self) -> bool:
        """Whether part of the prompt is still to be read."""
        return bool(self.prompt_left)

    def feed(self, logits: Scores) -> None:
        """Choose the next token from the scores and all that is forced behind it; may set `finish`.

        It may also set `cut`: then so many positions at the end of the sequence are no longer part of the
        output and must leave the cache. `past` is their number already, and `pending` is never empty.
        """
        self._course.feed(logits)

    def take_back(self, count: int) -> None:
        """The last tokens are no longer part of the output, whether they are in the cache or not."""
        waiting = min(count, len(self.pending))
        del self.pending[len(self.pending) - waiting :]
        self.cut += count - waiting
        self.past -= count - waiting

    def read_again(self, token: int | None) -> None:
        """Decode the last kept token once more, since its scores are gone; None is the prompt's last."""
        if token is None:
            token = [*self.request.prompt.shared, *self.request.prompt.own][-1]
        self.pending = [token]
        self.cut += 1
        self.past -= 1

    def result(self, model: str) -> dict[str, Any]:
        """The message that ends the job."""
        output = self.output
        ids = np.array([*self.request.prompt.shared, *self.request.prompt.own], dtype="<i4")
        return {
            "event": "done",
            "id": self.request.id,
            **self._course.written(),
            "finish": self.finish or "error",
            "prompt_tokens": len(ids),
            "shared_tokens": max(len(self.request.prompt.shared), self.reused),
            "output_tokens": output.tokens,
            "forced_tokens": output.forced,
            "rolled_back_tokens": output.rolled_back,
            "weighed_tokens": output.weighed,
            "milliseconds": int((time.monotonic() - self._began) * 1000),
            "model": model,
            "prompt_hash": hashlib.sha256(ids.tobytes()).hexdigest(),
            "error": self.error,
        }


class Choosing:
    """The course of a job that decides between options."""

    def __init__(self, job: Job, program: Decide, vocabulary: Vocabulary) -> None:
        """What the options have in common is pending afterwards."""
        self._job = job
        self._options = program.options
        self._probabilities: tuple[float, ...] = ()
        self._mass = 0.0
        self._decider = Decider(program.options, vocabulary.encode)
        if self._decider.depth > job.request.max_tokens:
            raise ConstraintError(
                f"The options have up to {self._decider.depth} tokens; {job.request.max_tokens} may be read."
            )
        self._read(self._decider.common)

    def feed(self, logits: Scores) -> None:
        """Take the scores at one place of the tree; go to the next, or finish."""
        move = self._decider.take(logits)
        if move is None:
            self._probabilities, self._mass = self._decider.probabilities()
            self._job.finish = "stop"
            return
        self._job.output.rolled_back += move.back
        self._job.output.tokens -= move.back
        self._job.output.forced -= move.back
        self._job.take_back(move.back)
        self._read(move.tokens)

    def _read(self, tokens: Sequence[int]) -> None:
        self._job.pending.extend(tokens)
        self._job.output.tokens += len(tokens)
        self._job.output.forced += len(tokens)

    def written(self) -> dict[str, Any]:
        """The likeliest option as text, and the probabilities of all."""
        if self._job.finish != "stop":
            return {"text": "", "segments": []}
        best = self._options[self._probabilities.index(max(self._probabilities))]
        return {
            "text": best,
            "segments": [("choice", best)],
            "probabilities": self._probabilities,
            "mass": self._mass,
        }
