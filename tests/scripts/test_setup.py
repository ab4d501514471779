"""The set-up as a whole, with stand-ins for the build, pip and the probe: order, second build, resumption."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scripts.setuplib import main as main_module
from scripts.setuplib import prove
from scripts.setuplib.build import Builds, Recipe
from scripts.setuplib.errors import CommandFailed, SetupError, Stopped
from scripts.setuplib.machine import Machine
from scripts.setuplib.main import Setup, failure_lines
from scripts.setuplib.models import SETS, Models, load_catalogue
from scripts.setuplib.plan import parse_options
from scripts.setuplib.progress import Talk
from scripts.setuplib.state import sha256_of, write_json
from scripts.setuplib.venv import Interpreter, Venv, project_digest, project_pin

REPOSITORY = Path(__file__).resolve().parents[2]

WORKS = prove.Verdict(True, speed=20.0)
DIES = prove.Verdict(False, death="SIGSEGV")
KILLED = prove.Verdict(False, death="SIGKILL")

PROJECT = """\
[build-system]
requires = ["hatchling"]
[project]
name = "localrag"
dependencies = ["numpy", "llama-cpp-python==0.3.36"]
[tool.ruff]
line-length = 110
"""


def _catalogue() -> str:
    names = sorted({name for group in SETS.values() for name in group})
    return "".join(
        f'[[model]]\nname = "{name}"\nfile = "{name}.gguf"\nsize = 5\n'
        f'[model.source]\nparts = [{{ size = 4, sha256 = "" }}, {{ size = 2, sha256 = "" }}]\n'
        for name in names
    )


@dataclass
class World:
    """A checkout in which the costly steps are stand-ins that note that they ran."""

    root: Path
    """The checkout."""

    cache: Path
    """Its cache."""

    said: io.StringIO
    """What the set-up said."""

    done: list[str] = field(default_factory=list)
    """The steps that ran, in order."""

    verdicts: list[prove.Verdict] = field(default_factory=list)
    """What the next tries of a build will find; works when empty."""

    run: Callable[..., None] = lambda *words: None
    """Runs the set-up with the words of a command line."""


@pytest.fixture
def world(
    tmp_path: Path, machine: Machine, talk: Talk, said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> World:
    """A fresh checkout with stand-ins."""
    root, cache = tmp_path / "checkout", tmp_path / "cache"
    (root / "models").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (root / "models" / "catalogue.toml").write_text(_catalogue(), encoding="utf-8")
    world = World(root, cache, said)
    packages = root / ".venv" / "packages"

    def look(venv: Venv) -> Interpreter | None:
        return Interpreter("cpython-311", packages, True) if packages.is_dir() else None

    def create(venv: Venv, talk: Talk) -> Interpreter:
        world.done.append("environment")
        packages.mkdir(parents=True)
        return Interpreter("cpython-311", packages, True)

    def make(builds: Builds, recipe: Recipe, **rest: object) -> None:
        world.done.append("careful build" if recipe.careful else f"{recipe.accelerator} build")
        folder = builds.folder(recipe)
        folder.mkdir(parents=True)
        wheel = folder / "llama.whl"
        wheel.write_text(recipe.key, encoding="utf-8")
        record = {"wheel": wheel.name, "size": wheel.stat().st_size, "sha256": sha256_of(wheel)}
        write_json(folder / "build.json", record)

    def pip(venv: Venv, words: list[str], what: str, log: str, talk: Talk) -> None:
        world.done.append(what)
        if "llama" in what:
            (packages / "llama_cpp_python-0.3.36.dist-info").mkdir(exist_ok=True)
            (packages / "llama_cpp_python-0.3.36.dist-info" / "RECORD").write_text(
                words[-1], encoding="utf-8"
            )
        else:
            venv.program.parent.mkdir(exist_ok=True)
            venv.program.touch()
            (packages / "localrag-0.1.0.dist-info").mkdir(exist_ok=True)

    def show(command: list[str], **rest: object) -> int:
        world.done.append(" ".join(command[1:]))
        (cache / "models").mkdir(parents=True, exist_ok=True)
        for name in command[3:]:
            (cache / "models" / f"{name}.gguf").write_bytes(b"model")
        return 0

    def try_build(*rest: object) -> prove.Verdict:
        world.done.append("try")
        return world.verdicts.pop(0) if world.verdicts else WORKS

    monkeypatch.setattr(Venv, "look", look)
    monkeypatch.setattr(Venv, "create", create)
    monkeypatch.setattr(Venv, "_pip", pip)
    monkeypatch.setattr(Builds, "make", make)
    monkeypatch.setattr(main_module, "run_shown", show)
    monkeypatch.setattr(prove, "try_build", try_build)
    monkeypatch.setattr(main_module, "find_compiler", lambda *rest: None)
    monkeypatch.setattr(main_module, "accelerator_environment", lambda *rest: {})

    def run(*words: str) -> None:
        world.done.clear()
        environment = {"LOCALRAG_CACHE": str(cache)}
        Setup(root, parse_options(words), environment, talk, machine).run()

    world.run = run
    return world


STARTER = "models pull qwen2.5-coder-1.5b-instruct multilingual-e5-small"


def test_a_first_run_does_everything_in_order(world: World) -> None:
    world.run()
    assert world.done == [
        "environment",
        "cpu build",
        "Installing llama.cpp",
        "Installing localrag",
        STARTER,
        "try",
    ]
    assert world.said.getvalue().startswith("Setting up localrag:")
    assert "it works (20 tokens per second)" in world.said.getvalue()


def test_a_second_run_has_nothing_to_do(world: World) -> None:
    world.run()
    world.run()
    assert world.done == []
    assert world.said.getvalue().endswith("localrag is set up: nothing to do.\n")


def test_a_run_does_only_what_is_missing(world: World) -> None:
    world.run("--models", "none")
    assert world.done[-1] == "Installing localrag"
    assert "not tried yet" in world.said.getvalue()
    world.run("--models", "none")
    assert world.done == []
    world.run("--models", "test")
    assert [step.split()[0] for step in world.done] == ["models", "try"]
    world.run("--dev", "--models", "test")
    assert world.done == ["Installing localrag"]
    world.run("--models", "test")
    assert world.done == []  # the developers' tools stay


def test_a_model_that_changed_is_checked_again(world: World) -> None:
    world.run()
    (world.cache / "models" / "multilingual-e5-small.gguf").unlink()
    world.run()
    assert world.done == ["models pull multilingual-e5-small"]


def test_another_llama_in_the_environment_is_replaced(world: World) -> None:
    world.run()
    record = world.root / ".venv" / "packages" / "llama_cpp_python-0.3.36.dist-info" / "RECORD"
    record.write_text("something else entirely", encoding="utf-8")
    world.run()
    assert world.done == ["Installing llama.cpp"]


def test_changed_requirements_are_installed_and_other_settings_ignored(world: World) -> None:
    world.run()
    project = world.root / "pyproject.toml"
    project.write_text(PROJECT.replace("110", "120"), encoding="utf-8")
    world.run()
    assert world.done == []
    project.write_text(PROJECT.replace('"numpy"', '"numpy", "rich"'), encoding="utf-8")
    world.run()
    assert world.done == ["Installing localrag"]


def test_an_accelerator_is_remembered_until_another_is_asked_for(world: World) -> None:
    world.run("--cuda")
    assert "cuda build" in world.done
    world.run()
    assert world.done == []
    world.run("--cpu")
    assert world.done == ["cpu build", "Installing llama.cpp", "try"]
    world.run("--cuda")
    assert world.done == ["Installing llama.cpp"]  # built and proved before


def test_a_cleared_cache_does_not_mean_building_again(world: World) -> None:
    world.run()
    for path in (world.cache / "builds").iterdir():
        for entry in path.iterdir():
            entry.unlink()
    world.run()
    assert world.done == ["try"]
    world.run()
    assert world.done == []


def test_rebuild_builds_and_tries_anew(world: World) -> None:
    world.run()
    world.run("--rebuild")
    assert world.done == ["cpu build", "Installing llama.cpp", "try"]


def test_a_build_that_dies_is_built_once_more_with_care(world: World) -> None:
    world.verdicts = [DIES]
    world.run()
    tail = world.done[world.done.index("try") :]
    assert tail == ["try", "careful build", "Installing llama.cpp", "try"]
    world.run()
    assert world.done == []  # the careful one stays the one in use


def test_a_second_failure_is_explained_and_remembered(world: World) -> None:
    world.verdicts = [DIES, prove.Verdict(False, death="SIGILL")]
    with pytest.raises(SetupError, match="neither build works") as caught:
        world.run()
    assert "SIGSEGV" in caught.value.message
    assert "SIGILL" in caught.value.message
    assert world.done.count("careful build") == 1
    # Nothing is built a third time, but the build is tried again: the cause may be gone.
    world.verdicts = [DIES]
    with pytest.raises(SetupError, match="neither build works"):
        world.run()
    assert world.done == ["try"]
    world.run()
    assert world.done == ["try"]
    world.run()
    assert world.done == []


def test_a_try_that_the_system_killed_is_no_fault_of_the_build(world: World) -> None:
    world.verdicts = [KILLED]
    with pytest.raises(SetupError, match="memory ran out"):
        world.run()
    assert "careful build" not in world.done
    world.run()
    assert world.done == ["try"]


def test_a_failed_pull_says_what_to_do(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_module, "run_shown", lambda command, **rest: 1)
    with pytest.raises(SetupError, match="could not be fetched") as caught:
        world.run()
    assert "--models none" in caught.value.hint


def test_a_full_disk_stops_before_anything_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.setuplib.main.check_disk", _no_room)
    with pytest.raises(SetupError, match="room"):
        world.run()
    assert world.done == []


def test_a_missing_compiler_stops_before_anything_is_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_module, "find_compiler", _no_compiler)
    with pytest.raises(SetupError, match="compiler"):
        world.run()
    assert world.done == []


def _no_compiler(*rest: object) -> None:
    raise SetupError("There is no compiler.")


def _no_room(*rest: object) -> None:
    raise SetupError("There is no room.")


def test_a_failure_is_printed_with_the_last_lines_first() -> None:
    error = CommandFailed("Building llama.cpp", 1, Path("/cache/build.log"), [f"line {n}" for n in range(90)])
    lines = failure_lines(error)
    assert lines[0] == "  | line 70"
    assert lines[-2:] == [
        "The whole output is in /cache/build.log",
        "Error: Building llama.cpp failed (exit code 1).",
    ]
    assert len(lines) == 22


def test_the_real_project_and_catalogue_can_be_read(tmp_path: Path) -> None:
    assert project_pin(REPOSITORY).startswith("0.3.")
    assert project_digest(REPOSITORY) == project_digest(REPOSITORY)
    catalogue = load_catalogue(REPOSITORY)
    for names in SETS.values():
        for name in names:
            assert catalogue[name].size > 10_000_000
            assert catalogue[name].download > 10_000_000
    assert Models(REPOSITORY, tmp_path).missing(SETS["none"]) == ()


def test_a_real_environment_is_made_and_recognised(tmp_path: Path, talk: Talk) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    venv = Venv(tmp_path, tmp_path / "logs", {})
    assert venv.look() is None
    there = Interpreter("tag", tmp_path, False)
    assert not venv.holds_wheel(there, "key")
    assert not venv.holds_project(there, development=False)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n", encoding="utf-8")
    (tmp_path / ".venv" / "localrag-setup.json").write_text(
        json.dumps({"root": "/moved/from/here"}), encoding="utf-8"
    )
    assert venv.look() is None


def test_what_is_in_an_environment_without_pip_is_seen(tmp_path: Path) -> None:
    import subprocess

    command = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")]
    subprocess.run(command, check=True, timeout=60)
    found = Venv(tmp_path, tmp_path / "logs", {}).look()
    assert found is not None
    assert found.tag == sys.implementation.cache_tag
    assert not found.has_pip


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (
            SetupError("There is no compiler.", "Install one."),
            1,
            "Error: There is no compiler.\nInstall one.\n",
        ),
        (
            OSError(28, "No space left on device", "/cache/x"),
            1,
            "Error: No space left on device (/cache/x).\n",
        ),
        (Stopped(2), 130, "Stopped. What is done is kept; start it again to go on.\n"),
        (Stopped(15), 143, "Stopped. What is done is kept; start it again to go on.\n"),
    ],
)
def test_every_end_has_its_sentence_and_exit_code(
    raised: BaseException,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def fail(setup: Setup) -> None:
        raise raised

    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path))
    monkeypatch.setattr(main_module, "stop_on_signals", lambda: None)
    monkeypatch.setattr(Setup, "run", fail)
    assert main_module.main(["--models", "none"]) == code
    assert capsys.readouterr().err == words
