"""What all tests share: the guard against the network, and a knowledge base of a few texts of our own."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from localrag.catalogue.installed import find_model
from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Decide, Records
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.extraction.wire import parse
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.guard import sitecustomize as guard

_LOG = Path(tempfile.mkdtemp(prefix="localrag-guard-")) / "refused.txt"

TEXTS = {
    "bridge.md": (
        "# The Bridge of Halden\n\n"
        "The Halden Bridge crosses the river Orla. Marta Lind built it in 1931 for the town of Halden. "
        "It has seven arches of granite.\n\n"
        "## The repair\n\n"
        "A flood broke two arches in 1967. The engineer Tomas Berg repaired them within eight months. "
        "He used steel from the Kvern Works.\n"
    ),
    "mill.txt": (
        "The old mill stands above the river Orla. Marta Lind bought the mill in 1934 and made it a "
        "workshop. Her daughter Ida Lind turned the workshop into a museum in 1972.\n"
    ),
    "library.txt": (
        "The library of Halden opened in 1950. It keeps four thousand letters by the poet Jon Aas. "
        "The letters may be read on Tuesdays.\n"
    ),
    "茶馆.md": (
        "# 临江茶馆\n\n"
        "临江茶馆由陈玉兰于1988年在青石镇开办。茶馆的院子里有一棵三百年的银杏树。\n\n"
        "2005年，陈玉兰把茶馆交给了她的徒弟林小川。林小川每周五晚上请人说书。\n"
    ),
}
"""Texts of the shared library, by file name."""

RECORDS = {
    "Halden Bridge crosses": (
        "(entity<|>Halden Bridge<|>work<|>The Halden Bridge crosses the river Orla.)##\n"
        "(entity<|>Marta Lind<|>person<|>Marta Lind built the Halden Bridge.)##\n"
        "(entity<|>Tomas Berg<|>person<|>Tomas Berg is an engineer who repaired two arches.)##\n"
        "(entity<|>Kvern Works<|>organization<|>The Kvern Works delivered steel.)##\n"
        "(relationship<|>Marta Lind<|>Halden Bridge<|>construction<|>She built the bridge in 1931.)##\n"
        "(relationship<|>Tomas Berg<|>Halden Bridge<|>repair<|>He repaired the bridge after a flood.)##\n"
        "<|COMPLETE|>"
    ),
    "old mill stands": (
        "(entity<|>Marta Lind<|>person<|>Marta Lind bought the mill in 1934.)##\n"
        "(entity<|>Ida Lind<|>person<|>Ida Lind made a museum of the workshop.)##\n"
        "(relationship<|>Ida Lind<|>Marta Lind<|>family<|>Ida Lind is the daughter of Marta Lind.)##\n"
        "<|COMPLETE|>"
    ),
    "library of Halden": (
        "(entity<|>Jon Aas<|>person<|>Jon Aas was a poet.)##\n"
        "(entity<|>Halden<|>location<|>Halden is a town with a library.)##\n"
        "(relationship<|>Jon Aas<|>Halden<|>letters<|>The library of Halden keeps letters by Jon Aas.)##\n"
        "<|COMPLETE|>"
    ),
    "临江茶馆由": (
        "(entity<|>临江茶馆<|>组织<|>临江茶馆是青石镇的一家茶馆。)##\n"
        "(entity<|>陈玉兰<|>人物<|>陈玉兰开办了临江茶馆。)##\n"
        "(entity<|>林小川<|>人物<|>林小川是陈玉兰的徒弟。)##\n"
        "(relationship<|>陈玉兰<|>林小川<|>师徒<|>陈玉兰把茶馆交给了徒弟林小川。)##\n"
        "<|COMPLETE|>"
    ),
}
"""What a reader of the library would write, by a part of the text that it stands for."""


def pytest_configure(config: pytest.Config) -> None:
    """Put this process and every Python process that tests start under guard."""
    if config.getoption("dist", "no") != "no":
        return  # This process only hands out the tests; each of those that run them comes here by itself.
    os.environ[guard.SWITCH] = "1"
    os.environ[guard.LOG] = str(_LOG)
    # No test measures this machine by itself, or runs with what was measured of it.
    os.environ["LOCALRAG_ENGINE__TUNE"] = "off"
    os.environ["LOCALRAG_STATE"] = str(_LOG.parent / "state")
    folder = str(Path(guard.__file__).parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *paths])
    guard.install()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A real model computes on all processors, so its tests run alone."""
    for item in items:
        if item.get_closest_marker("model"):
            item.add_marker("alone")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the guard's notes."""
    shutil.rmtree(_LOG.parent, ignore_errors=True)


DESCRIBED = Settings(extraction=ExtractionSettings(profile="lightrag"))
"""Settings with which texts are read with descriptions and keywords, as `RECORDS` has them."""


def lean(text: str) -> str:
    """Records as the compact profile writes them; a relation's description is its phrase."""
    records = parse(text)
    entities = "".join(f"{entity.name} | {entity.type}\n" for entity in records.entities)
    relations = "".join(f"{r.source} -> {r.target} | {r.description}\n" for r in records.relations)
    return f"{entities}END\n{relations}END"


def reader(answer: str | Callable[[GenerationRequest], str] = "", **options: Any) -> ScriptedModel:
    """A model that reads the library as `RECORDS` says and answers every question with `answer`."""

    def answers(request: GenerationRequest) -> str:
        if isinstance(request.program, Decide):
            # Before it answers it is asked whether it would refuse; it would not.
            return request.program.options[-1]
        if request.task == "extraction":
            prompt = "".join(message.text for message in request.messages)
            found = next((text for part, text in RECORDS.items() if part in prompt), "<|COMPLETE|>")
            return found if isinstance(request.program, Records) else lean(found)
        return answer if isinstance(answer, str) else answer(request)

    return ScriptedModel(answers, **options)


class Stopper:
    """Stops some work as soon as it hangs, and tells how long it then took to end."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self._hanging = threading.Event()
        self._release = threading.Event()
        self._stopped_at = 0.0
        threading.Thread(target=self._stop, daemon=True).start()

    def hang(self) -> None:
        """Called by a model: does not come back until `release`."""
        self.hangs()
        self._release.wait(30)

    def hangs(self) -> None:
        """Called by a model that goes on for ever from here."""
        self._hanging.set()

    def took(self) -> float:
        """Seconds since the stop."""
        assert self.cancel.is_set()
        return time.monotonic() - self._stopped_at

    def release(self) -> None:
        """Let what hangs go on, so that its thread ends."""
        self._release.set()

    def _stop(self) -> None:
        if self._hanging.wait(30):
            self._stopped_at = time.monotonic()
            self.cancel.set()


@pytest.fixture
def stopper() -> Iterator[Stopper]:
    """Released at the end of the test."""
    made = Stopper()
    yield made
    made.release()


class Refusals:
    """The guard's notes of this run, its own process and all others."""

    def take(self) -> list[str]:
        """The notes since the last call; they no longer fail the test."""
        notes = _LOG.read_text(encoding="utf-8").splitlines() if _LOG.exists() else []
        _LOG.unlink(missing_ok=True)
        return notes


@pytest.fixture
def refusals() -> Refusals:
    """For tests that reach for the network on purpose."""
    return Refusals()


@pytest.fixture(autouse=True)
def _stays_on_this_machine() -> Iterator[None]:
    """Fail a test that reached for the network, even if the code under test swallowed the refusal."""
    yield
    notes = Refusals().take()
    if notes:
        pytest.fail(f"reached for the network: {'; '.join(notes)}")


def write_library(folder: Path) -> Path:
    """Write the shared texts into a new folder; returns it."""
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with a few texts, English and Chinese."""
    return write_library(tmp_path / "library")


@pytest.fixture
def model() -> ScriptedModel:
    """A language model that reads the library as `RECORDS` says; its answers cite nothing."""
    return reader("It is in the texts.")


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    """An embedding model that hashes words."""
    return ScriptedEmbedder()


@pytest.fixture
def engines(model: ScriptedModel, embedder: ScriptedEmbedder) -> Engines:
    """Both scripted models."""
    return Engines(DESCRIBED, model, embedder)


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    """The 0.5B in a worker of its own, for tests marked `model`."""
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"), EngineOptions(n_ctx=4096, sequences=2)
    )
    yield worker
    worker.close()


@pytest.fixture
def empty_kb(tmp_path: Path, engines: Engines) -> Iterator[KnowledgeBase]:
    """A new knowledge base without a text."""
    with KnowledgeBase.create(tmp_path / "test.localrag", settings=DESCRIBED, engines=engines) as kb:
        yield kb


@pytest.fixture(scope="session")
def read_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed knowledge base with the library in it, embedded and read; to be copied."""
    folder = tmp_path_factory.mktemp("read")
    path = folder / "read.localrag"
    with KnowledgeBase.create(
        path, settings=DESCRIBED, engines=Engines(DESCRIBED, reader(), ScriptedEmbedder())
    ) as kb:
        kb.add([write_library(folder / "library")])
        for _ in kb.index():
            pass
    return path


@pytest.fixture
def kb(tmp_path: Path, read_file: Path, engines: Engines) -> Iterator[KnowledgeBase]:
    """A knowledge base of its own for each test, with the library in it, embedded and read."""
    path = tmp_path / "kb.localrag"
    shutil.copyfile(read_file, path)
    with KnowledgeBase.open(path, settings=DESCRIBED, engines=engines) as opened:
        yield opened


@pytest.fixture
def store(kb: KnowledgeBase) -> Iterator[Store]:
    """The store of `kb`, opened a second time."""
    with Store.open(kb.path) as opened:
        yield opened
