"""Who may run: places, sequences and cells of the cache, and what gives way to a waiting question."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.engine.job import Job, JobRequest
from localrag.engine.prefixes import PrefixTable

SLACK = 64
"""Cells kept free per job for a run of forced tokens beyond its budget."""

RESERVE = 2048
"""Cells that background jobs leave free for a question, at most a quarter of the context."""


class Room:
    """Counts cells: every job is booked with the most that it can take."""

    def __init__(self, cells: int, prefixes: PrefixTable) -> None:
        self._cells = cells
        self._prefixes = prefixes

    def fits(self, request: JobRequest, jobs: Sequence[Job], held: int = 0) -> bool:
        """Whether a request fits beside `jobs` and `held` cells that are kept for the next question.

        These lie in the room that background jobs leave free for it.
        """
        used = sum(job.request.need + SLACK for job in jobs) + self._prefixes.cells
        if request.prompt.shared not in self._prefixes:
            used += len(request.prompt.shared)
        urgent = request.priority > 0
        reserve = 0 if urgent or not jobs else min(RESERVE, self._cells // 4)
        return used + request.need + SLACK + max(reserve, held) <= self._cells

    def victim(self, jobs: Sequence[Job]) -> Job | None:
        """The background job that loses least by starting again, or None if there is none."""
        background = [job for job in jobs if job.request.priority <= 0]
        return min(background, key=lambda job: job.past, default=None)
