"""Finds the request that kills the worker among those that were running when it died.

All of them are suspects. They run again in halves, without others beside them; a half that comes back whole
is innocent, one that dies is halved again, until a request dies alone. Only that one is blamed. So a death
from outside (memory that ran out, a kill) costs the others nothing but their time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.engine.types import GenerationRequest

DEATHS = 2
"""A request that was in flight at this many deaths, at the last of them alone, is given up."""

MOST_DEATHS = 12
"""A request that was in flight at this many deaths is given up even if it never was alone."""


@dataclass
class Flight:
    """A request on its way."""

    index: int
    """Its number in the run."""

    request: GenerationRequest
    """What was asked."""

    deaths: int = 0
    """Deaths of the worker at which it was in flight."""

    shown: bool = False
    """Whether a piece of its text was handed on already, so that it cannot begin again."""

    @property
    def urgent(self) -> bool:
        """Whether a person waits for it."""
        return self.request.priority > 0

    def given_up(self, *, alone: bool) -> bool:
        """Whether it is not tried again; `alone` says that nothing else was in flight at the last death.

        A person who waits is told after the second death rather than kept waiting for a search.
        """
        if self.shown or self.deaths >= MOST_DEATHS:
            return True
        return self.deaths >= DEATHS and (alone or self.urgent)


class Suspects:
    """The suspects of one run, in groups that run one after the other."""

    def __init__(self) -> None:
        self._groups: deque[list[Flight]] = deque()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, flights: Sequence[Flight]) -> None:
        """A group died: its halves are next."""
        half = (len(flights) + 1) // 2
        for part in (flights[half:], flights[:half]):
            if part:
                self._groups.appendleft(list(part))

    def take(self) -> list[Flight]:
        """The next group."""
        return self._groups.popleft()


class Trials:
    """Lets one run at a time try its suspects, so that no other background work is beside them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: object | None = None

    def enter(self, run: object) -> bool:
        """Begin or go on; False while another run is at it."""
        with self._lock:
            if self._holder is None:
                self._holder = run
            return self._holder is run

    def leave(self, run: object) -> None:
        """This run is done with it, or never was at it."""
        with self._lock:
            if self._holder is run:
                self._holder = None

    def elsewhere(self, run: object) -> bool:
        """Whether another run is at it."""
        with self._lock:
            return self._holder is not None and self._holder is not run
