"""What goes into a step: full groups of rows, prompts only when writers cannot fill a step, fair turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from localrag.engine.batching import ROWS, Shape, Step, compose
from localrag.engine.job import Job, Output
from localrag.engine.prefixes import Prefix

SHAPE = Shape(batch=512, width=48)


@dataclass
class Request:
    """The part of a request that a step depends on."""

    priority: int = 0
    max_tokens: int = 100


@dataclass
class Stand:
    """A job in some state; the real one needs a model."""

    sequence: int
    pending: list[int] = field(default_factory=list)
    prompt_left: list[int] = field(default_factory=list)
    past: int = 10
    served: int = 0
    request: Request = field(default_factory=Request)
    output: Output = field(default_factory=Output)
    asks: int = 1

    @property
    def reading(self) -> bool:
        return bool(self.prompt_left)


def step(jobs: list[Stand], prefixes: list[Prefix] | None = None, **flags: bool) -> Step:
    chosen = {"after_reading": False, **flags}
    return compose(prefixes or [], cast("list[Job]", jobs), SHAPE, **chosen)


def sequences(found: Step) -> list[int]:
    return [cast(Any, owner).sequence for owner, _, _ in found.owners]


def writers(count: int, tokens: int = 1) -> list[Stand]:
    return [Stand(i, pending=[7] * tokens) for i in range(count)]


def test_nothing_to_do_is_an_empty_step() -> None:
    assert len(step([])) == 0
    assert len(step([Stand(1, past=-1, prompt_left=[1, 2])])) == 0


def test_a_writing_step_is_never_wider_than_its_width() -> None:
    found = step(writers(70))
    assert len(found) == SHAPE.width
    assert all(index >= 0 for _, _, index in found.owners)


def test_a_few_tokens_beyond_a_group_of_rows_wait_for_the_next_step() -> None:
    assert len(step(writers(ROWS + 4))) == ROWS
    assert len(step(writers(2 * ROWS + 1))) == 2 * ROWS
    # A rest that nearly fills a group is worth one, and fewer than a group is all there is.
    assert len(step(writers(ROWS + 12))) == ROWS + 12
    assert len(step(writers(5))) == 5


def test_who_was_left_out_is_served_next() -> None:
    jobs = writers(70)
    served: set[int] = set()
    for number in range(1, 4):
        found = step(jobs)
        for sequence in sequences(found):
            jobs[sequence].served = number
            served.add(sequence)
    assert served == set(range(70))


def test_prompts_are_read_only_when_writers_cannot_fill_a_step() -> None:
    newcomer = Stand(99, prompt_left=[1] * 200)
    assert 99 not in sequences(step([*writers(48), newcomer]))
    found = step([*writers(47), newcomer])
    assert sequences(found) == [99]
    assert len(found) == 200
    assert found.entries[-1].logits


def test_a_prefix_is_read_before_the_prompts_behind_it() -> None:
    prefix = Prefix(0, tuple(range(600)), users=1)
    waiting = Stand(9, past=-1, prompt_left=[1] * 20)
    found = step([waiting], [prefix])
    assert [e.position for e in found.entries] == list(range(512))
    assert found.owners == [(prefix, 512, -1)]


def test_what_is_forced_at_the_start_is_read_with_the_end_of_the_prompt() -> None:
    found = step([Stand(3, pending=[5, 6], prompt_left=[1, 2, 3])])
    assert [e.token for e in found.entries] == [1, 2, 3, 5, 6]
    assert [e.logits for e in found.entries] == [False, False, False, False, True]


def test_a_long_forced_run_is_split_and_only_its_end_asks_for_scores() -> None:
    job = Stand(3, pending=list(range(100)))
    found = step([job])
    assert len(found) == SHAPE.width
    assert not any(e.logits for e in found.entries)
    assert found.owners[0][2] == -1


def test_beside_the_words_that_a_person_waits_for_a_prompt_is_read_in_slices_and_turns() -> None:
    writer = Stand(1, pending=[5], request=Request(priority=10))
    reader = Stand(2, prompt_left=[1] * 400, request=Request(priority=10))
    first = step([writer, reader], after_reading=False)
    assert sequences(first) == [2]
    assert len(first) < 400
    assert sequences(step([writer, reader], after_reading=True)) == [1]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 300), st.booleans()), max_size=60),
    st.booleans(),
)
def test_every_step_is_one_that_the_context_can_take(
    states: list[tuple[int, int, bool]], after_reading: bool
) -> None:
    jobs = [
        Stand(i, pending=[1] * pending, prompt_left=[2] * left, past=-1 if unattached else 20)
        for i, (pending, left, unattached) in enumerate(states)
    ]
    found = step(jobs, after_reading=after_reading)
    assert len(found) <= SHAPE.batch
    assert sum(count for _, count, _ in found.owners) == len(found)
    reading = any(jobs[s].reading for s in sequences(found))
    if not reading:
        assert len(found) <= SHAPE.width
    for owner, count, index in found.owners:
        job = cast(Any, owner)
        assert job.past >= 0
        assert 0 < count <= len(job.prompt_left) + len(job.pending)
        # Scores are asked for exactly where nothing of the owner is left to decode.
        assert (index >= 0) == (count == len(job.prompt_left) + len(job.pending))
    if any(job.past >= 0 and (job.pending or job.reading) for job in jobs):
        assert len(found) > 0


def test_a_run_with_scores_in_it_is_read_at_once() -> None:
    jobs = [Stand(i, pending=[7] * 14, asks=13) for i in range(4)]
    found = step(jobs)
    assert [count for _, count, _ in found.owners] == [14, 14, 14]
    for _, count, index in found.owners:
        asked = [entry.logits for entry in found.entries[index - count + 1 : index + 1]]
        assert asked == [False] + [True] * 13


def test_a_run_that_is_longer_than_a_step_is_read_all_the_same() -> None:
    jobs = cast("list[Job]", [Stand(i, pending=[7] * 14, asks=14) for i in range(2)])
    found = compose([], jobs, Shape(batch=512, width=8), after_reading=False)
    assert [count for _, count, _ in found.owners] == [14]
    assert all(entry.logits for entry in found.entries)
