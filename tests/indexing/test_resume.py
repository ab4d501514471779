"""An index run that is closed or killed anywhere goes on where it was."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.indexing import (
    ChunkRead,
)
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import reader
from tests.indexing.helpers import report_of, run


def test_closing_the_run_between_chunks_loses_nothing(waiting: KnowledgeBase) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    for expected in (1, 2, 3, 4):
        with KnowledgeBase.open(waiting.path, engines=engines) as opened:
            events = opened.index()
            next(event for event in events if isinstance(event, ChunkRead))
            events.close()
        assert waiting.status().chunks.read == expected
    calls = len(engines.model.calls)  # type: ignore[attr-defined]
    assert 4 <= calls <= 8  # only what was in flight is paid twice
    assert report_of(run(waiting)).read == 0


KILLED = """
import os, sys
from pathlib import Path
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.indexing import ChunkRead, Embedded
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.conftest import reader

path, stop = Path(sys.argv[1]), int(sys.argv[2])
engines = Engines(Settings(), reader(), ScriptedEmbedder())
kb = KnowledgeBase.open(path, engines=engines)
stored = [event for event in ()]
for event in kb.index():
    if isinstance(event, (ChunkRead, Embedded)):
        stored.append(event)
        if len(stored) == stop:
            os.kill(os.getpid(), 9)
"""


def content(path: Path) -> tuple[object, ...]:
    """What the file says, without ids and times."""
    with Store.open(path) as store:
        assert store.check() == []
        ids = [row.id for row in store.graph.top_entities(1_000)]
        space = store.vectors.active_space()
        assert space is not None
        missing = [store.vectors.missing(space.id, kind) for kind in ("chunk", "entity", "relation")]
        return (
            [(row.path, row.status, row.read) for row in store.documents.list()],
            [(row.key, row.type, row.mentions, row.descriptions) for row in store.graph.entities(ids)],
            sorted((r.source, r.target, r.weight) for r in store.graph.relations_of(ids, 1_000)),
            missing,
        )


@pytest.mark.skipif(os.name != "posix", reason="not here: no SIGKILL")
@pytest.mark.parametrize("stop", [1, 3, 6])
def test_killed_anywhere_and_started_again_ends_the_same(waiting: KnowledgeBase, stop: int) -> None:
    waiting.close()
    whole = waiting.path.with_name("whole.localrag")
    shutil.copyfile(waiting.path, whole)
    with KnowledgeBase.open(whole, engines=Engines(Settings(), reader(), ScriptedEmbedder())) as undisturbed:
        list(undisturbed.index())
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(waiting.path), str(stop)],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    run(waiting)
    assert content(waiting.path) == content(whole)
