"""One job, driven without a model: what happens between the segments of its output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.job import Job, JobRequest
from localrag.engine.programs import CitedText
from localrag.engine.steps import Step
from localrag.engine.template import RenderedPrompt

END = 0


class Segment:
    """A matcher that forces nothing and takes the likeliest token, each token only once."""

    finished = False

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def forced(self) -> list[int]:
        return []

    def choose(self, logits: NDArray[np.float32], temperature: float, rng: np.random.Generator) -> int:
        order = [int(token) for token in np.argsort(-logits)]
        return next(token for token in order if token not in self._taken)

    def accept(self, token: int) -> list[int]:
        self._taken.add(token)
        return []


class Second(Segment):
    """One that must write something before it can end."""

    def __init__(self) -> None:
        super().__init__()
        self._taken.add(END)


class Vocabulary:
    """A body that can end at once, then a list that cannot."""

    ends = frozenset({END})

    def matcher(self, step: Step) -> Segment:
        return Second() if step.name == "sources" else Segment()


def test_a_segment_that_ends_without_a_token_is_followed_by_the_next_at_once() -> None:
    request = JobRequest(1, RenderedPrompt((), (5,)), CitedText(sources=2), 50, 0.0, 0, 0, False)
    vocabulary: Any = Vocabulary()
    job = Job(request, vocabulary, lambda token: bytes([96 + token]), lambda message: None)
    job.prompt_left.clear()
    job.feed(np.array([3.0, 2.0, 1.0], dtype=np.float32))
    # The end of the body is no token to decode; without one of the list the job would never move again.
    assert [name for name, _ in job.output.segments] == ["body"]
    assert job.pending == [1]
    assert not job.finish
