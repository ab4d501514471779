"""The engine's process and the program's own: whichever is killed, nothing is lost and nothing stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engines import Engines
from localrag.indexing import ChunkFailed, ChunkRead, Finished
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from tests.conftest import TEXTS, write_library
from tests.engine.random_model import build
from tests.store.helpers import files_beside

pytestmark = pytest.mark.skipif(os.name != "posix", reason="not here: no SIGKILL")

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
SETTINGS = Settings(extraction=ExtractionSettings(max_tokens=120, max_description=20))
OPTIONS = EngineOptions(n_ctx=32768, sequences=2, threads=1, prefix_mb=0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of random weights that can hold the prompts."""
    return build(tmp_path_factory.mktemp("model") / "long.gguf", context=16384)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The library, not read, alone in its folder."""
    (tmp_path / "kb").mkdir()
    with KnowledgeBase.create(tmp_path / "kb" / "n.localrag") as kb:
        kb.add([write_library(tmp_path / "library")])
    return tmp_path / "kb" / "n.localrag"


@pytest.fixture
def worker(model: Path) -> Iterator[WorkerModel]:
    made = WorkerModel(model, OPTIONS)
    yield made
    made.close()


def test_a_killed_worker_is_started_again_and_nothing_is_lost(path: Path, worker: WorkerModel) -> None:
    with KnowledgeBase.open(path, settings=SETTINGS, engines=Engines(SETTINGS, worker)) as kb:
        killed = 0
        events = []
        for event in kb.index():
            events.append(event)
            if isinstance(event, ChunkRead) and not killed:
                assert worker.pid is not None
                killed = worker.pid
                os.kill(killed, signal.SIGKILL)
        assert worker.pid != killed
        assert not [event for event in events if isinstance(event, ChunkFailed)]
        report = next(event.report for event in events if isinstance(event, Finished))
        assert (report.read, report.failed) == (len(TEXTS), 0)
        assert kb.status().journal.generations == len(TEXTS)
        assert kb._store.check() == []


INDEXING = """
    import sys
    from pathlib import Path
    from localrag.engine.client import WorkerModel
    from localrag.engines import Engines
    from localrag.indexing import ChunkRead
    from localrag.kb import KnowledgeBase
    from tests.crash.test_worker import OPTIONS, SETTINGS

    worker = WorkerModel(Path(sys.argv[2]), OPTIONS)
    with KnowledgeBase.open(Path(sys.argv[1]), settings=SETTINGS, engines=Engines(SETTINGS, worker)) as kb:
        for event in kb.index():
            if isinstance(event, ChunkRead):
                print(worker.pid, flush=True)
"""


def test_a_killed_program_takes_its_worker_along_and_the_next_goes_on(
    path: Path, model: Path, worker: WorkerModel
) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INDEXING), str(path), str(model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    )
    try:
        assert child.stdout is not None
        orphan = int(child.stdout.readline())
    finally:
        child.kill()
        child.wait(SECONDS)
        assert child.stdout is not None
        child.stdout.close()
    wait_for_end(orphan)
    with KnowledgeBase.open(path, settings=SETTINGS, engines=Engines(SETTINGS, worker)) as kb:
        done = kb.status().coverage.read
        assert done >= 1
        report = next(event.report for event in kb.index() if isinstance(event, Finished))
        assert (report.read, report.failed) == (len(TEXTS) - done, 0)
        assert kb.status().journal.generations == len(TEXTS)
        assert kb._store.check() == []
    assert files_beside(path) == [path.name]


def wait_for_end(process: int) -> None:
    """A process that is no child of ours ends by itself."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{process}/stat").exists() and _is_dead(process):
            return
        time.sleep(0.1)
    os.kill(process, signal.SIGKILL)
    raise AssertionError("the worker lives on without its program")


def _is_dead(process: int) -> bool:
    """Whether it ended and merely waits to be noticed by its parent."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
