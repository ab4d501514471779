"""Fixtures of the command line's tests: a folder of one's own, scripted models, a runner."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from localrag import engines as engines_module
from localrag import settings as settings_module
from localrag.cli.main import cli
from localrag.engine.programs import CitedText
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Embedder, GenerationRequest
from localrag.engines import Engines
from localrag.settings import Settings
from tests.conftest import reader, write_library

Run = Callable[..., Result]

SCRIPTED = """
import sys
from pathlib import Path
from localrag import engines
from localrag.cli.main import main
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel

class Model(ScriptedModel):
    def stream(self, request):
        Path("asked").touch()
        yield from super().stream(request)

real = engines.Engines
texts = {{"extraction": "<|COMPLETE|>"}}
model = Model(lambda request: texts.get(request.task, "In the texts."), delay={delay})
engines.Engines = lambda settings: real(settings, model, ScriptedEmbedder())
sys.exit(main())
"""
"""A program that is the real command line but for its models; a file `asked` appears when one is asked."""


def cited(text: str) -> Callable[[GenerationRequest], str]:
    """An answer of `text` that names the first source."""

    def answer(request: GenerationRequest) -> str:
        heading = request.program.heading if isinstance(request.program, CitedText) else ""
        return f"{text} [1].{heading}[1]"

    return answer


@dataclass
class Scripted:
    """The models that commands get instead of real ones; None stands for one that is not installed."""

    model: ScriptedModel | None = field(default_factory=lambda: reader(cited("Marta Lind built it")))
    """Reads and answers."""

    embedder: ScriptedEmbedder | None = field(default_factory=ScriptedEmbedder)
    """Makes vectors."""

    others: dict[str, Embedder] = field(default_factory=dict)
    """Further embedding models, by name."""

    settings: list[Settings] = field(default_factory=list)
    """The settings of every call so far."""

    def engines(self, settings: Settings) -> Engines:
        """What a command gets."""
        self.settings.append(settings)
        return Engines(settings, self.model, self.embedder, self.others)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, with an empty cache and no settings of the person who runs the tests."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    for name in list(os.environ):
        if name.startswith("LOCALRAG_") and not name.startswith("LOCALRAG_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALRAG_ENGINE__TUNE", "off")
    monkeypatch.setenv("LOCALRAG_CONFIG", os.devnull)
    # Model files that lie in the checkout are none of the tests' business.
    monkeypatch.setattr(settings_module, "model_folders", lambda: (settings_module.models_dir(),))
    return place


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """Scripted models for the commands of this test."""
    models = Scripted()
    monkeypatch.setattr(engines_module, "Engines", models.engines)
    return models


@pytest.fixture
def run(scripted: Scripted) -> Run:
    """Runs a command line in this process; nothing but an exit may come out of it."""

    def call(*words: str | Path, stdin: str | bytes | None = None, code: int | None = 0) -> Result:
        result = CliRunner().invoke(cli, [str(word) for word in words], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        if code is not None:
            assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def read_kb(folder: Path, read_file: Path) -> Path:
    """The knowledge base of the shared library, read, as the only one in the folder."""
    path = folder / "library.localrag"
    shutil.copyfile(read_file, path)
    return path


@pytest.fixture
def library(folder: Path) -> Path:
    """The shared texts, in the folder."""
    return write_library(folder / "library")


def json_of(result: Result) -> Any:
    """The one JSON document on stdout."""
    return json.loads(result.stdout)


def start(*words: str, delay: float | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start the command line as a process of its own; with `delay`, on scripted models that take so long."""
    scripted = ("-m", "localrag") if delay is None else ("-c", SCRIPTED.format(delay=delay))
    program = options.pop("program", scripted)
    environment = os.environ | options.pop("env", {})
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return subprocess.Popen(
        [sys.executable, *program, *words],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        encoding="utf-8",
        errors="replace",
        env=environment | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"},
        **options,
    )
