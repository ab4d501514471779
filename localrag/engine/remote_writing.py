"""What a server has written of one output: checked segment by segment, and cut where the grammar is broken.

The drivers are those of the worker, so names, pairs, counts and phases are held by the same code.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from localrag.engine.constraints import driver_for
from localrag.engine.programs import Program
from localrag.engine.remote_check import TextCheck
from localrag.engine.steps import Driver, Step
from localrag.engine.types import Event, Generation, Segment
from localrag.errors import RemoteRefused

Emit = Callable[[Event], None]
"""Hands an event to the caller."""


@dataclass
class Usage:
    """What an output cost."""

    prompt_tokens: int = 0
    """Of the prompt, without what was written."""

    cached_tokens: int = 0
    """How many of these the server did not read again."""

    output_tokens: int = 0
    """Written, thrown away ones included."""

    began: float = field(default_factory=time.monotonic)
    """When the first call was made."""


class Written:
    """The segments of one output, all of them checked."""

    def __init__(self, program: Program) -> None:
        """Raises `ConstraintError` for a program that makes no sense."""
        self._driver: Driver = driver_for(program)
        self._segments: list[tuple[str, str]] = []
        self._border = (copy.deepcopy(self._driver), 0, self._driver.first())
        """Driver, number of segments and step before the record that is being written."""
        self.step: Step | None = self._driver.first()
        """What comes next; None behind the end."""
        self.tail = ""
        """An unfinished segment behind the others, which the budget cut off."""

    @property
    def text(self) -> str:
        """All checked segments."""
        return "".join(text for _, text in self._segments)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The checked segments."""
        return tuple(Segment(name, text) for name, text in self._segments)

    @property
    def driver(self) -> Driver:
        """A copy of the driver, to look ahead with."""
        return copy.deepcopy(self._driver)

    def add(self, text: str) -> None:
        """Take one whole segment that was checked under `step`."""
        step = self.step
        assert step is not None
        if not step.joins:
            self._border = (copy.deepcopy(self._driver), len(self._segments), step)
        name = self._driver.segment_name(step, text)
        if step.joins and self._segments:
            before_name, before = self._segments[-1]
            self._segments[-1] = (before_name, before + text)
        else:
            self._segments.append((name, text))
        self.step = self._driver.following(text)

    def drop_half(self) -> None:
        """Take back a record whose second half is not there."""
        if self.step is not None and self.step.joins:
            self._driver, count, self.step = self._border
            del self._segments[count:]
            self._border = (copy.deepcopy(self._driver), count, self.step)

    def add_forced(self) -> bool:
        """Take the next segment if it is certain whatever is written; returns whether it was."""
        if self.step is None or self.step.schema:
            return False
        check = TextCheck(self.step)
        text = check.forced()
        if not text or not check.finished:
            return False
        self.add(text)
        return True

    def take(self, text: str) -> str:
        """Take the whole records at the front of `text` that keep the grammar; returns what is left of it."""
        taken = 0
        place = 0
        while self.step is not None and not self.step.schema:
            check = TextCheck(self.step)
            length = check.take(text[place:])
            if not check.finished:
                break
            self.add(text[place : place + length])
            place += length
            if self.step is None or not self.step.joins:
                taken = place
        self.drop_half()
        return text[taken:]

    def may_begin(self, text: str) -> bool:
        """Whether `text`, behind what was taken, could still become a whole record."""
        if self.step is None:
            return not text
        driver, step, place = self.driver, self.step, 0
        while True:
            check = TextCheck(step)
            length = check.take(text[place:])
            if place + length == len(text):
                return True
            if not check.finished:
                return False
            following = driver.following(text[place : place + length])
            if following is None or not following.joins:
                return False
            place += length
            step = following

    def result(
        self, usage: Usage, model: str, prompt: bytes, finish: Literal["stop", "length"]
    ) -> Generation:
        """The output as it is now; `prompt` is what its hash is made of."""
        return Generation(
            text=self.text + self.tail,
            segments=self.segments,
            finish=finish,
            prompt_tokens=usage.prompt_tokens,
            shared_tokens=min(usage.cached_tokens, usage.prompt_tokens),
            output_tokens=usage.output_tokens,
            forced_tokens=0,
            milliseconds=int((time.monotonic() - usage.began) * 1000),
            model=model,
            prompt_hash=hashlib.sha256(prompt).hexdigest(),
        )


def broken(where: str, text: str) -> RemoteRefused:
    """The error for text that does not keep the grammar that was asked for; it names its last words."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text[-60:]).split())
    return RemoteRefused(
        f"{where} wrote what the grammar does not allow (… {shown!r}); nothing of it was kept.",
        "Does the server take grammars?",
    )
