"""What an index run may take, in minutes and tokens, and whether another chunk still fits in.

A chunk is begun only if it should end in time, by what is known of the pace: from the run itself, and until
its first chunk has ended from earlier runs or from what was measured of this machine. So a run ends with its
budget and not behind it. If the pace turns out worse, chunks in flight get the time of one more and are given
up then; they wait for the next run.

The first chunk is begun whatever it takes, and waited for: a budget that is smaller than one chunk would
throw away its work run after run, and never get on.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from localrag.engine.types import Generation
from localrag.errors import UsageError

Reason = Literal["", "minutes", "tokens"]
"""What ended a run: nothing but the work itself, or one of the two."""

UNKNOWN_SECONDS = 20.0
"""What a chunk is taken to need where nothing is known, for how many are begun at first."""

UNKNOWN_COST = 2.5
"""Tokens read and written for each token of a chunk, where nothing is known."""

UNKNOWN_VECTOR = 0.05
"""Seconds for a vector, until some were made."""

MOST_FOR_VECTORS = 0.2
"""Most of the time that is kept free for the vectors of what was found."""

_SHARE_LEFT = 0.75
"""How much of a chunk in flight is still to be done; many are read side by side."""


@dataclass(frozen=True)
class Budget:
    """What a run may take. Raises `UsageError` for what is not above zero."""

    minutes: float | None = None
    """Minutes from its beginning; None for as long as it takes."""

    tokens: int | None = None
    """Tokens that the model reads anew and writes; None for as many as it takes."""

    def __post_init__(self) -> None:
        if self.minutes is not None and not (math.isfinite(self.minutes) and self.minutes > 0):
            raise UsageError("The minutes of a run must be more than 0.", "For example --minutes 20.")
        if self.tokens is not None and self.tokens <= 0:
            raise UsageError("The tokens of a run must be more than 0.", "For example --budget-tokens 50000.")

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.minutes is not None or self.tokens is not None


class Meter:
    """Keeps account of one run. Safe for the two threads of reading."""

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        """The time counts from now."""
        self._budget = budget
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._known_seconds: float | None = None
        self._known_cost: float | None = None
        self._flying: dict[int, int] = {}
        self._reading_since: float | None = None
        self._read = 0
        self._chunks = 0
        self._at_work = False
        self._vectors = 0
        self._vector_seconds = 0.0
        self._found = 0
        self.spent = 0
        """Tokens that the model read anew and wrote."""
        self.reason: Reason = ""
        """Why no more was begun."""

    def expect(self, seconds: float | None, cost: float | None) -> None:
        """What a token of a chunk is known to take, in seconds and in tokens; None for what is not known."""
        self._known_seconds, self._known_cost = seconds, cost

    @property
    def elapsed(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float:
        """Seconds that are left; without a limit no end of them."""
        return math.inf if self._budget.minutes is None else 60 * self._budget.minutes - self.elapsed

    def over(self) -> bool:
        """Whether the time is up; that is the reason then."""
        if self.seconds_left > 0:
            return False
        self.reason = "minutes"
        return True

    def overdue(self) -> bool:
        """Whether chunks in flight have had the time of one more chunk behind the end of the time.

        Never while the model is at work on what may be the first chunk of the run that ends.
        """
        if self._budget.minutes is None or self.seconds_left > 0:
            return False
        self.reason = "minutes"
        with self._lock:
            if self._at_work and self._flying and not self._chunks:
                return False
            grace = self._seconds() * self._ordinary() if self._known() else 0.0
        return -self.seconds_left > grace

    def work(self) -> None:
        """The model has started and works on what was begun."""
        self._at_work = True

    def begin(self, chunk_id: int, tokens: int) -> bool:
        """Begin a chunk if it still fits in; else False, and `reason` says why if nothing is in flight.

        The first of the run always fits in, and a chunk that was begun before goes on.
        """
        with self._lock:
            if chunk_id in self._flying:
                return True
            reason = self._against(tokens)
            if reason:
                if not self._flying:
                    self.reason = reason
                return False
            if self._reading_since is None:
                self._reading_since = self._clock()
            self._flying[chunk_id] = tokens
            return True

    def spend(self, call: Generation) -> None:
        """Book what a call read anew and wrote."""
        with self._lock:
            read = max(call.prompt_tokens - call.shared_tokens, 0) + call.weighed_tokens
            self.spent += read + call.output_tokens

    def end(self, chunk_id: int, found: int = 0) -> None:
        """A chunk is read, or failed; `found` entities and relations will want vectors."""
        with self._lock:
            tokens = self._flying.pop(chunk_id, None)
            if tokens is not None:
                self._read += tokens
                self._chunks += 1
            self._found += found

    def drop(self) -> None:
        """What is in flight was given up."""
        with self._lock:
            self._flying.clear()

    def vectors(self, count: int, seconds: float) -> None:
        """So many vectors took so long."""
        self._vectors += count
        self._vector_seconds += seconds

    def _against(self, tokens: int) -> Reason:
        """What speaks against beginning a chunk of so many tokens."""
        if not (self._flying or self._chunks):
            return ""
        flying = sum(self._flying.values())
        if self._budget.tokens is not None:
            cost = self._cost()
            if self.spent + cost * (flying + tokens) > self._budget.tokens:
                return "tokens"
        if self._budget.minutes is not None:
            left = self.seconds_left - self._for_vectors()
            ahead = _SHARE_LEFT * flying + tokens
            wanted = self._seconds() * ahead if self._known() else UNKNOWN_SECONDS * len(self._flying)
            if wanted > left or left <= 0:
                return "minutes"
        return ""

    def _known(self) -> bool:
        return self._chunks > 0 or self._known_seconds is not None

    def _seconds(self) -> float:
        """Seconds for a token of a chunk, as far as it is known."""
        since = self._reading_since
        if since is None or not self._read:
            return self._known_seconds or 0.0
        # What is in flight is done in part too; with it the first chunk of a batch says something.
        done = self._read + (1 - _SHARE_LEFT) * sum(self._flying.values())
        return (self._clock() - since) / done

    def _cost(self) -> float:
        if self._read:
            return self.spent / self._read
        return UNKNOWN_COST if self._known_cost is None else self._known_cost

    def _ordinary(self) -> float:
        """Tokens of an ordinary chunk."""
        if self._chunks:
            return self._read / self._chunks
        return sum(self._flying.values()) / len(self._flying) if self._flying else 0.0

    def _for_vectors(self) -> float:
        """Seconds to keep free for the vectors of what was found."""
        assert self._budget.minutes is not None
        each = self._vector_seconds / self._vectors if self._vectors else UNKNOWN_VECTOR
        return min(self._found * each, MOST_FOR_VECTORS * 60 * self._budget.minutes)


class Deadline(threading.Event):
    """Set once `cancel` is, or once the meter is overdue: for waiting that the engine does not interrupt."""

    def __init__(self, meter: Meter, cancel: threading.Event | None) -> None:
        super().__init__()
        self._meter = meter
        self._cancel = cancel

    @property
    def cancelled(self) -> bool:
        """Whether it was `cancel`."""
        return self._cancel is not None and self._cancel.is_set()

    def is_set(self) -> bool:
        """Whether there is a reason to stop."""
        return self.cancelled or self._meter.overdue()
