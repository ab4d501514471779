"""Where one was in the graph, to go back and forward as in a browser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

View = Literal["page", "drawn", "way"]


@dataclass(frozen=True)
class Visit:
    """Something that was shown."""

    view: View
    """How: a page, a drawing, a way."""

    entity_id: int
    """The entity, or the first one of a way."""

    other: int = 0
    """The second one of a way."""

    place: tuple[int, int] | None = None
    """Where one was on the page."""


class Visits:
    """The visits in their order, and which of them is shown."""

    def __init__(self) -> None:
        self._visits: list[Visit] = []
        self._at = -1

    @property
    def here(self) -> Visit | None:
        """The one that is shown; None before the first."""
        return self._visits[self._at] if self._at >= 0 else None

    def go(self, visit: Visit) -> Visit:
        """Go somewhere new; what lay ahead is forgotten. The same again is no new visit."""
        here = self.here
        if here is None or replace(here, place=None) != visit:
            del self._visits[self._at + 1 :]
            self._visits.append(visit)
            self._at = len(self._visits) - 1
        return self._visits[self._at]

    def keep(self, place: tuple[int, int]) -> None:
        """Keep where one is on the page that is shown."""
        if self.here is not None:
            self._visits[self._at] = replace(self._visits[self._at], place=place)

    def move(self, by: int) -> Visit | None:
        """Go back (-1) or forward (1); None if there is nothing."""
        if not 0 <= self._at + by < len(self._visits):
            return None
        self._at += by
        return self._visits[self._at]

    def drop(self) -> Visit | None:
        """Forget the one that is shown, which there is not; returns the one before."""
        if self._at >= 0:
            del self._visits[self._at]
            self._at -= 1
        return self.here
