"""Killed while a file of an older format is brought up to date: it is the old one or the new one, whole."""

from __future__ import annotations

import gzip
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from localrag.store import Store
from localrag.store.migrations import FORMAT
from localrag.store.sqlite import sqlite3
from tests.crash.journey import Place
from tests.crash.parent import PART, Rows, child, put_back, steps_of
from tests.store.helpers import logical_rows

pytestmark = pytest.mark.skipif(os.name != "posix", reason="not here: no SIGKILL")

OLDER = sorted((Path(__file__).parents[1] / "store" / "files").glob("format-*.localrag.gz"))[0]
QUICK = ("VACUUM#1", "DROP mentions#1", "PRAGMA user_version#1", "COMMIT#1")


@dataclass(frozen=True)
class Course:
    """The undisturbed upgrade."""

    place: Place
    """Where all runs are made."""

    before: Path
    """The folder with the old file."""

    rows: Rows
    """What the new file says."""

    steps: tuple[str, ...]
    """Its steps."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    folder = tmp_path_factory.mktemp("upgrade")
    place, before = Place(folder / "run"), Place(folder / "before")
    for made in (place, before):
        made.kb.parent.mkdir(parents=True)
        made.kb.write_bytes(gzip.decompress(OLDER.read_bytes()))
        made.kb.chmod(0o600)
    assert child(place, "upgrade") == 0
    steps = tuple(steps_of(place))
    return Course(place, before.folder, rows_of(place.kb), steps)


def rows_of(path: Path) -> Rows:
    with Store.open(path) as store:
        problems = store.check()
        assert problems == []
        return logical_rows(store)


def format_of(path: Path) -> int:
    """The format that a file says it has, once what a kill left is undone."""
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    found = raw.execute("PRAGMA user_version").fetchone()[0]
    raw.close()
    return int(found)


def kept(place: Place) -> list[Path]:
    """The copies of the old file that were kept."""
    names = [item for item in place.kb.parent.iterdir() if item != place.kb and not PART.match(item.name)]
    assert all(item.name.startswith(f"{place.kb.name}.format-1") for item in names), names
    return names


def killed_and_opened_again(course: Course, stop: str) -> None:
    place = course.place
    put_back(place, course.before)
    assert child(place, "upgrade", stop) == -signal.SIGKILL, f"there is no step {stop}"
    assert format_of(place.kb) in (1, FORMAT)
    assert child(place, "upgrade") == 0
    assert rows_of(place.kb) == course.rows, stop
    copies = kept(place)
    assert copies, stop
    assert {format_of(copy) for copy in copies} == {1}


@pytest.mark.parametrize("stop", QUICK)
def test_a_few_steps(course: Course, stop: str) -> None:
    killed_and_opened_again(course, stop)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_steps(course: Course) -> None:
    chance = random.Random(7)
    for stop in chance.sample(course.steps, 30):
        killed_and_opened_again(course, stop)
