"""A desk at which jobs are driven without computing anything: scores come from a test, the cache is a list.

The vocabulary is that of a model of random weights. What a scheduler has to do with `pending`, `past` and
`cut` is done here to the letter, and the cache is checked against what the job says it has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.job import Job, JobRequest
from localrag.engine.llama import Model
from localrag.engine.matching import Vocabulary
from localrag.engine.programs import Decide, Program
from localrag.engine.template import RenderedPrompt
from localrag.engine.weighed_program import WeighedRecords

Scorer = Callable[["Desk", Job, list[int]], NDArray[np.float32]]
"""Gives the scores after the tokens in the cache."""


class Desk:
    """A vocabulary, and a way to run one job."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path, vocabulary_only=True)
        self.vocabulary = Vocabulary(self.model)
        self._tokens: dict[bytes, int] = {}
        self.events: list[dict[str, Any]] = []
        self.read = 0
        """Tokens decoded for the last job, its prompt not counted."""

    def run(
        self, program: Program, scorer: Scorer, *, max_tokens: int = 400, **changes: Any
    ) -> dict[str, Any]:
        """Run one job to its end; the result as the parent hears it."""
        values: dict[str, Any] = {"temperature": 0.0, "seed": 0, "priority": 0, "stream": False, **changes}
        prompt = RenderedPrompt((5, 6), (7, 8))
        request = JobRequest(id=1, prompt=prompt, program=program, max_tokens=max_tokens, **values)
        self.events = []
        job = Job(request, self.vocabulary, self.model.token_bytes, self.events.append)
        cache = [*prompt.shared, *prompt.own]
        job.past, job.prompt_left = len(cache), []
        # Nothing forced at the start: then the prompt's end asks.
        if not job.pending and not job.finish:
            job.feed(scorer(self, job, cache))
        self.read = 0
        while not job.finish:
            assert job.pending, "a job that does not ask would never move again"
            self.read += len(job.pending)
            cache.extend(job.pending)
            job.past += len(job.pending)
            job.pending = []
            for before in reversed(range(job.asks)):
                job.feed(scorer(self, job, cache[: len(cache) - before]))
            if job.cut:
                assert job.cut < len(cache) - len(prompt.shared)
                del cache[len(cache) - job.cut :]
                job.cut = 0
            assert job.past == len(cache)
            if not (job.finish or isinstance(program, Decide | WeighedRecords)):
                text = b"".join(self.model.token_bytes(t) for t in [*cache[4:], *job.pending])
                written = b"".join(data for _, data in job.output.segments) + job.output.current
                # A token that is read again is the cache's last, so it counts once.
                assert text == written
        result = job.result("desk")
        streamed = "".join(e["text"] for e in self.events if e["event"] == "text")
        if request.stream and result["finish"] == "stop":
            assert streamed == result["text"]
        return result

    def token_of(self, data: bytes) -> int | None:
        """The token that is exactly these bytes, if there is one."""
        if not self._tokens:
            self._tokens = {self.model.token_bytes(t): t for t in reversed(range(self.model.n_vocab))}
        return self._tokens.get(data)

    def scores(self) -> NDArray[np.float32]:
        """Equal scores for every token."""
        return np.zeros(self.vocabulary.size, dtype=np.float32)


def chance(seed: int, *, ends: float = 0.0) -> Scorer:
    """Scores by chance, those of the tokens that end a text raised by `ends`."""
    rng = np.random.default_rng(seed)

    def score(desk: Desk, job: Job, cache: list[int]) -> NDArray[np.float32]:
        scores = rng.standard_normal(desk.vocabulary.size).astype(np.float32)
        for token in desk.vocabulary.ends:
            scores[token] += ends
        return scores

    return score


def scripted(script: str) -> Scorer:
    """Scores of a model that wants to write `script`; where it has left it, it wants to end."""
    whole = script.encode()

    def score(desk: Desk, job: Job, cache: list[int]) -> NDArray[np.float32]:
        scores = desk.scores()
        written = b"".join(desk.model.token_bytes(token) for token in cache[4:])
        for token in desk.vocabulary.ends:
            scores[token] = 5.0
        if whole.startswith(written) and len(written) < len(whole):
            rest = whole[len(written) :]
            # The longest token that the grammar takes goes first.
            for size in range(1, min(len(rest), 12) + 1):
                found = desk.token_of(rest[:size])
                if found is not None:
                    scores[found] = 10.0 + size
        return scores

    return score


def segments(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts."""
    yield from result["segments"]
