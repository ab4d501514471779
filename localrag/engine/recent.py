"""The last prompt that a person waited for stays in the cache, so that a next one that begins alike is not
read again: first a decision on a prompt, then the answer to it.
"""

from __future__ import annotations

from typing import Protocol

from localrag.engine.job import Job
from localrag.engine.template import RenderedPrompt

LEAST = 32
"""Tokens beyond the shared prefix that two prompts must have in common; fewer are read as fast."""


class Cache(Protocol):
    """What can cut a sequence."""

    def remove(self, sequence: int, start: int = 0, end: int = -1) -> bool:
        """Forget a sequence from a position on; False if that cannot be done."""


class Recent:
    """At most one prompt, in the sequence of the job that read it."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._tokens: tuple[int, ...] = ()
        self._sequence = -1
        self.reused = 0
        """Tokens that were not read again so far, those of shared prefixes not counted."""

    @property
    def cells(self) -> int:
        """Cells that it takes; 0 if nothing is held."""
        return len(self._tokens)

    def begins(self, prompt: RenderedPrompt) -> bool:
        """Whether a prompt begins as the held one does, far enough to be worth it."""
        return self._common(prompt) >= len(prompt.shared) + LEAST

    def give(self, job: Job) -> None:
        """Hand the held sequence to a job whose prompt `begins` alike: it has only the rest to read."""
        prompt = job.request.prompt
        common = self._common(prompt)
        job.sequence, self._sequence, self._tokens = self._sequence, -1, ()
        self._cache.remove(job.sequence, common)
        job.past = job.reused = common
        del job.prompt_left[: common - len(prompt.shared)]
        self.reused += common - len(prompt.shared)

    def take(self, job: Job) -> None:
        """Keep the prompt of a job that has ended, and its sequence. Nothing else may be held."""
        prompt = job.request.prompt
        tokens = (*prompt.shared, *prompt.own)
        self._cache.remove(job.sequence, len(tokens))
        self._sequence, self._tokens = job.sequence, tokens

    def drop(self) -> int | None:
        """Forget what is held; returns its sequence, emptied, or None if nothing was held."""
        if self._sequence < 0:
            return None
        sequence, self._sequence, self._tokens = self._sequence, -1, ()
        self._cache.remove(sequence)
        return sequence

    def _common(self, prompt: RenderedPrompt) -> int:
        """Tokens with which both begin; the prompt's last one is always read, since its scores are wanted."""
        whole = (*prompt.shared, *prompt.own)[:-1]
        for place, (held, wanted) in enumerate(zip(self._tokens, whole, strict=False)):
            if held != wanted:
                return place
        return min(len(self._tokens), len(whole))
