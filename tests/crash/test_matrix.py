"""Killed at any step and started again: the same file in the end, and only what was in flight is asked twice.

Each case begins where an undisturbed run stood before its stage, so that it costs two processes.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.journey import IN_FLIGHT, STAGES, Place
from tests.crash.parent import Rows, child, content, put_back, requests_of, steps_of, stored_marks

pytestmark = pytest.mark.skipif(os.name != "posix", reason="not here: no SIGKILL")

QUICK = {
    "create": ("INSERT meta#1",),
    "add": ("INSERT chunk_words#3", "COMMIT#2"),
    "index": ("INSERT chunk_vectors#5", "UPDATE chunks#4", "PRAGMA wal_checkpoint#1"),
    "change": ("INSERT chunks#1",),
    "sync": ("DELETE documents#1",),
    "decide": ("UPDATE mentions#1",),
    "index at last": ("INSERT relation_mentions#4",),
    "retry": ("UPDATE chunks#1",),
    "export": ("file rename#1",),
    "delete": ("REPLACE chunk_words_data#20",),
    "merge": ("INSERT mentions#3",),
    "reembed": ("UPDATE embedding_spaces#2",),
    "vacuum": ("VACUUM#1",),
}
"""The steps of the quick run, by stage."""

KINDS, BY_CHANCE = 7, 2
"""Steps that the full run takes of each stage: so many of different kinds, and so many of any kind."""

BORDERS = ("COMMIT", "PRAGMA wal_checkpoint", "PRAGMA journal_mode", "VACUUM", "file rename", "file open")
"""Kinds of steps that are always among them: where things become true."""


@dataclass(frozen=True)
class Stage:
    """A stage of the undisturbed run."""

    before: Path
    """Everything as it was before it."""

    stored: Counter[str]
    """How often the reading of each passage had been stored before it."""

    rows: Rows
    """What the file said after it."""

    asked: Counter[str]
    """How often the models had been asked for what by its end."""

    steps: tuple[str, ...]
    """Its steps."""


@dataclass(frozen=True)
class Course:
    """The undisturbed run."""

    place: Place
    """Where all runs are made, since the file holds the path of the texts."""

    stages: Mapping[str, Stage]
    """All stages."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """All stages, one after the other, undisturbed."""
    folder = tmp_path_factory.mktemp("course")
    place = Place(folder / "run")
    place.folder.mkdir()
    stages = {}
    for number, name in enumerate(STAGES):
        before = folder / f"before-{number}"
        shutil.copytree(place.folder, before)
        stored = stored_marks(place)
        assert child(place, name) == 0
        rows = content(place)
        stages[name] = Stage(before, stored, rows, requests_of(place), tuple(steps_of(place)))
    return Course(place, stages)


def killed_and_started_again(course: Course, name: str, stop: str) -> None:
    """Kill a stage at a step, look at what is left, start it again, and compare."""
    place, stage = course.place, course.stages[name]
    put_back(place, stage.before)
    asked_before = requests_of(place)
    assert child(place, name, stop) == -signal.SIGKILL, f"{name} has no step {stop}"
    asked_by_killed = requests_of(place) - asked_before
    in_flight = reads(asked_by_killed) - (stored_marks(place) - stage.stored)
    assert in_flight.total() <= IN_FLIGHT, f"{name}: {stop}"
    assert child(place, name) == 0
    assert content(place) == stage.rows, f"{name}: {stop}"
    asked_again = requests_of(place) - stage.asked
    assert reads(asked_again) == in_flight
    assert (asked_again - reads(asked_again)).total() <= IN_FLIGHT  # one batch of vectors


def reads(asked: Counter[str]) -> Counter[str]:
    """Requests to read, without those for vectors."""
    return Counter({line: count for line, count in asked.items() if line.startswith("read ")})


def chosen(stage: Stage, name: str) -> list[str]:
    """Steps of a stage: the borders, kinds drawn by chance at a place drawn by chance, and any steps."""
    chance = random.Random(name)
    places: dict[str, list[str]] = {}
    for step in stage.steps:
        places.setdefault(step.split("#")[0], []).append(step)
    borders = [kind for kind in BORDERS if kind in places]
    others = [kind for kind in places if kind not in BORDERS]
    others = chance.sample(others, min(len(others), KINDS - len(borders)))
    kinds = [chance.choice(places[kind]) for kind in (*borders, *others)]
    rest = [step for step in stage.steps if step not in kinds]
    return [*kinds, *chance.sample(rest, min(len(rest), BY_CHANCE))]


@pytest.mark.parametrize(
    ("stage", "step"),
    [pytest.param(stage, step, id=f"{stage}: {step}") for stage, steps in QUICK.items() for step in steps],
)
def test_a_few_steps(course: Course, stage: str, step: str) -> None:
    killed_and_started_again(course, stage, step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stage", STAGES)
def test_many_steps(course: Course, stage: str) -> None:
    """About a dozen of each stage."""
    steps = chosen(course.stages[stage], stage)
    assert len(steps) >= min(KINDS, len(course.stages[stage].steps))
    for step in steps:
        killed_and_started_again(course, stage, step)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(2))
def test_killed_again_and_again(course: Course, seed: int) -> None:
    """Every process of the whole journey is killed, each a little later than the one before."""
    chance = random.Random(seed)
    put_back(course.place, course.stages["create"].before)
    for name, stage in course.stages.items():
        reach = 8
        while child(course.place, name, f"#{chance.randint(1, reach)}") != 0:
            reach *= 2
        assert content(course.place) == stage.rows, name


def test_the_matrix_has_enough_steps(course: Course) -> None:
    """Seen from the steps themselves, so that the full run cannot shrink unnoticed."""
    steps = [(name, step) for name, stage in course.stages.items() for step in chosen(stage, name)]
    assert len(set(steps)) == len(steps) >= 100
    assert {name for name, _ in steps} == set(STAGES)
