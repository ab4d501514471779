"""The power fails at any moment: the file opens, is sound, and holds everything that was told to be in.

A child's file operations are recorded; from the record any moment's disk can be made, with what was not yet
synced there, half there or lost.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.errors import KnowledgeBaseNotFound, NotAKnowledgeBase
from localrag.store import Store
from tests.crash.disk import Disk, Operation, read_record
from tests.crash.workload import NAME, TOLD, state_of
from tests.examples import examples
from tests.store.helpers import files_beside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not here: a library loaded before others")

ROOT = Path(__file__).parents[2]
SECONDS = 120
OFTEN, SELDOM = 12, 1000
"""Pages of the log at which it is folded in: all the time, and as localrag does it."""


@dataclass(frozen=True, repr=False)
class Run:
    """A recorded run of the workload."""

    operations: list[Operation]
    """All that was done to the files."""

    states: list[str]
    """The state after each change; the first one is that of the new file."""


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that records, compiled."""
    made = tmp_path_factory.mktemp("recorder") / "recorder.so"
    source = Path(__file__).with_name("recorder.c")
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-O1", "-shared", "-fPIC", "-o", made, source, "-ldl"], check=True)
    return made


def start(
    recorder: Path, folder: Path, *, synchronous: str = "FULL", pages: int = OFTEN, kill: int = 0
) -> int:
    """Run the workload in `folder/kb`; returns its exit code."""
    (folder / "kb").mkdir(parents=True)
    recording = {
        "LD_PRELOAD": str(recorder),
        "RECORD_FOLDER": str(folder / "kb"),
        "RECORD_LOG": str(folder / "record"),
        "RECORD_KILL": str(kill),
    }
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    words = [
        "-m",
        "tests.crash.workload",
        str(folder / "kb"),
        str(folder / "states"),
        synchronous,
        str(pages),
    ]
    done = subprocess.run(
        [sys.executable, *words],
        env=os.environ | recording | {"PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode("utf-8", "replace")
    return done.returncode


def recorded(recorder: Path, folder: Path, *, synchronous: str = "FULL", pages: int = OFTEN) -> Run:
    assert start(recorder, folder, synchronous=synchronous, pages=pages) == 0
    return Run(read_record(folder / "record"), (folder / "states").read_text().split())


@pytest.fixture(scope="module")
def run(recorder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The workload as localrag does it."""
    return recorded(recorder, tmp_path_factory.mktemp("often") / "run")


@pytest.fixture(scope="module")
def long_run(recorder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same, with a log that grows long."""
    return recorded(recorder, tmp_path_factory.mktemp("seldom") / "run", pages=SELDOM)


def look(folder: Path, told: int, states: list[str]) -> None:
    """The knowledge base in a folder is sound and in the state after `told` changes, or one more."""
    path = folder / NAME
    if not told:
        # While it was being made: it is whole, or it is not there and can be made.
        try:
            store = Store.open(path)
        except (KnowledgeBaseNotFound, NotAKnowledgeBase):
            store = Store.create(path)
    else:
        store = Store.open(path)
    with store:
        problems = store.check()
        assert problems == []
        assert state_of(store) in states[max(told - 1, 0) : told + 1]
    assert [name for name in files_beside(path) if name != TOLD] == [NAME]


def lose_power(run: Run, moment: int, seed: int) -> None:
    """Look at a disk as it may be when the power fails before operation `moment`."""
    disk = Disk(run.operations[:moment])
    with tempfile.TemporaryDirectory() as folder:
        disk.write_to(Path(folder), random.Random(seed))
        look(Path(folder), len(disk.seen(TOLD)), run.states)


MOMENTS = st.integers(min_value=0, max_value=1_000_000)
SEEDS = st.integers(min_value=0, max_value=2**32)


def test_the_workload_folds_the_log_in_often_and_starts_it_anew(run: Run) -> None:
    kinds = [operation.kind for operation in run.operations]
    assert len(run.states) == 24
    assert kinds.count("s") > 60
    assert kinds.count("u") >= 5
    main = [op for op in run.operations if op.kind == "o" and op.data.decode().endswith(NAME)]
    assert len(main) >= 5


@settings(max_examples=examples(40), deadline=None)
@given(MOMENTS, SEEDS)
def test_power_fails(run: Run, moment: int, seed: int) -> None:
    lose_power(run, moment % (len(run.operations) + 1), seed)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=1000, deadline=None)
@given(MOMENTS, SEEDS)
def test_power_fails_very_often(run: Run, moment: int, seed: int) -> None:
    lose_power(run, moment % (len(run.operations) + 1), seed)


def between_changes(run: Run) -> list[list[int]]:
    """Moments between two changes, in groups between which the log was folded in."""
    groups: list[list[int]] = [[]]
    names: dict[tuple[int, int], str] = {}
    for number, operation in enumerate(run.operations):
        if operation.kind == "o":
            names[operation.process, operation.file] = Path(operation.data.decode()).name
        elif operation.kind == "w" and names[operation.process, operation.file] == TOLD:
            groups[-1].append(number + 1)
        elif operation.kind == "w" and names[operation.process, operation.file] == NAME and groups[-1]:
            groups.append([])
    return [group for group in groups if len(group) > 1]


def copied(folder: Path, main: Disk, log: bytes, chance: random.Random) -> None:
    """A copy of the file and its log, with an index of the log that fits nothing."""
    (folder / NAME).write_bytes(main.seen(NAME))
    (folder / f"{NAME}-wal").write_bytes(log)
    (folder / f"{NAME}-shm").write_bytes(chance.randbytes(32768))


def test_a_copy_of_file_and_log_holds_what_the_log_holds_in_whichever_order_they_were_copied(
    long_run: Run, tmp_path: Path
) -> None:
    """As long as the log is not folded in between the two."""
    chance = random.Random(3)
    groups = between_changes(long_run)
    assert len(groups) >= 3
    for number in range(12):
        moments = chance.sample(chance.choice(groups), 2)
        main, log = (Disk(long_run.operations[:moment]) for moment in moments)
        folder = tmp_path / str(number)
        folder.mkdir()
        copied(folder, main, log.seen(f"{NAME}-wal"), chance)
        told = len(log.seen(TOLD))
        look(folder, told, long_run.states)
        with Store.open(folder / NAME) as store:
            assert state_of(store) == long_run.states[told - 1]


def test_a_log_that_was_cut_anywhere_holds_some_of_the_changes_whole(long_run: Run, tmp_path: Path) -> None:
    chance = random.Random(4)
    found = set()
    for number in range(12):
        moment = chance.choice(chance.choice(between_changes(long_run)))
        disk = Disk(long_run.operations[:moment])
        log = disk.seen(f"{NAME}-wal")
        folder = tmp_path / str(number)
        folder.mkdir()
        copied(folder, disk, log[: chance.randrange(len(log))], chance)
        with Store.open(folder / NAME) as store:
            problems = store.check()
            assert problems == []
            assert state_of(store) in long_run.states[: len(disk.seen(TOLD))]
            found.add(state_of(store))
    assert len(found) > 4


def test_the_test_would_notice(recorder: Path, tmp_path: Path) -> None:
    """Where a change does not wait for the disk, as it does here, something told to be in gets lost."""
    run = recorded(recorder, tmp_path / "run", synchronous="NORMAL", pages=SELDOM)
    chance = random.Random(1)
    for _ in range(40):
        try:
            lose_power(run, chance.randrange(len(run.operations) + 1), chance.randrange(2**32))
        except AssertionError:
            return
    raise AssertionError("nothing was lost")


def killed_at(recorder: Path, run: Run, folder: Path, number: int) -> None:
    """Kill the child at one file operation, a write being half done."""
    assert start(recorder, folder, kill=number) == -signal.SIGKILL
    look(folder / "kb", len((folder / "kb" / TOLD).read_bytes()), run.states)


def operations_to_kill(run: Run, number: int) -> list[int]:
    own = [op for op in run.operations if op.process == run.operations[0].process]
    counted = sum(op.kind in "wtsu" and op.data != b"." for op in own)
    return sorted(random.Random(5).sample(range(1, counted + 1), number))


def test_killed_within_a_few_file_operations(recorder: Path, run: Run, tmp_path: Path) -> None:
    for number in operations_to_kill(run, 3):
        killed_at(recorder, run, tmp_path / str(number), number)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_within_many_file_operations(recorder: Path, run: Run, tmp_path: Path) -> None:
    for number in operations_to_kill(run, 60):
        killed_at(recorder, run, tmp_path / str(number), number)
        shutil.rmtree(tmp_path / str(number))
