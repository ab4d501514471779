"""The virtual environment in `.venv`: made, filled, and checked quickly when it is there already."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .build import PACKAGE
from .errors import CommandFailed, SetupError
from .explain import explain_failure
from .progress import InstallProgress, Talk
from .run import child_environment, run_logged
from .state import digest_of, file_facts, installed_packages, read_json, sha256_of, write_json

_LOOK = (
    "import importlib.util, json, sys, sysconfig;"
    "print(json.dumps([sys.implementation.cache_tag, sysconfig.get_path('purelib'),"
    " list(sys.version_info[:2]), importlib.util.find_spec('pip') is not None]))"
)


@dataclass(frozen=True)
class Interpreter:
    """The Python of an environment that works."""

    tag: str
    """Such as `cpython-311`."""

    packages: Path
    """Its site-packages folder."""

    has_pip: bool
    """Whether pip is in it."""


def project_pin(root: Path) -> str:
    """The version of llama-cpp-python that pyproject.toml asks for."""
    for line in _pyproject(root)["project"]["dependencies"]:
        name, _, version = str(line).partition("==")
        if name.strip() == PACKAGE and version:
            return version.split(";")[0].strip()
    raise SetupError(f"pyproject.toml does not pin {PACKAGE} to a version.", "Put `==` and a version there.")


def project_digest(root: Path) -> str:
    """A hash of what decides which packages are installed, and how; other tools' settings do not count."""
    content = _pyproject(root)
    build = content.get("tool", {}).get("hatch", {})
    return digest_of([content["project"], content["build-system"], build])


def _pyproject(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


class Venv:
    """The environment of a checkout, and the record of what set-ups did to it."""

    def __init__(self, root: Path, logs: Path, environment: Mapping[str, str]) -> None:
        self.root = root
        self.folder = root / ".venv"
        scripts, suffix = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
        self.python = self.folder / scripts / f"python{suffix}"
        self.program = self.folder / scripts / f"localrag{suffix}"
        self.lock = self.folder / "setup.lock"
        self._stamp = self.folder / "localrag-setup.json"
        self._logs = logs
        self._environment = child_environment(environment)

    @property
    def stamp(self) -> dict[str, Any]:
        """What earlier set-ups wrote down."""
        content = read_json(self._stamp)
        return content if isinstance(content, dict) else {}

    def look(self) -> Interpreter | None:
        """The Python in it, or None where there is none that works at this place."""
        if not (self.folder / "pyvenv.cfg").is_file() or self.stamp.get("root", str(self.root)) != str(
            self.root
        ):
            return None
        try:
            done = subprocess.run(
                [str(self.python), "-I", "-c", _LOOK], capture_output=True, text=True, timeout=60, check=False
            )
            tag, packages, version, has_pip = json.loads(done.stdout)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            return None
        inside = Path(packages).resolve().is_relative_to(self.folder.resolve()) and Path(packages).is_dir()
        return Interpreter(tag, Path(packages), has_pip) if inside and version >= [3, 11] else None

    def create(self, talk: Talk) -> Interpreter:
        """Make it, or make it anew where it is broken; pip is put in. Raises `SetupError`."""
        there = self.look()
        if there is None:
            self.folder.mkdir(exist_ok=True)
            for entry in self.folder.iterdir():
                if entry != self.lock:  # another set-up may be waiting for it
                    shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
            # The Python under an active environment, for that may be the very one that was just removed.
            base = str(getattr(sys, "_base_executable", None) or sys.executable)
            self._run([base, "-m", "venv", str(self.folder)], "Making .venv", "venv.log", talk)
        elif not there.has_pip:
            self._run([str(self.python), "-m", "ensurepip"], "Putting pip into .venv", "venv.log", talk)
        made = self.look()
        if made is None or not made.has_pip:
            raise SetupError(
                f"The environment in {self.folder} has no working Python with pip.",
                "On Debian and Ubuntu: apt-get install python3-venv. Then remove .venv and start again.",
            )
        self._write(root=str(self.root))
        return made

    def holds_wheel(self, interpreter: Interpreter, key: str) -> bool:
        """Whether the build of this key is installed and untouched."""
        stamp = self.stamp
        return stamp.get("key") == key and stamp.get("record") == self._record(interpreter)

    def install_wheel(
        self, interpreter: Interpreter, wheel: Path, key: str, accelerator: str, talk: Talk
    ) -> None:
        """Put a build of llama.cpp in, in place of any other."""
        words = ["--no-deps", "--force-reinstall", "--no-index", str(wheel)]
        self._pip(words, "Installing llama.cpp", "install-llama-cpp.log", talk)
        self._write(
            key=key, accelerator=accelerator, wheel=sha256_of(wheel), record=self._record(interpreter)
        )

    def holds_project(self, interpreter: Interpreter, *, development: bool) -> bool:
        """Whether localrag and all that it needs are installed as pyproject.toml asks today."""
        stamp = self.stamp
        return (
            stamp.get("project") == project_digest(self.root)
            and set(stamp.get("packages", ())) <= set(installed_packages(interpreter.packages))
            and (bool(stamp.get("development")) or not development)
            and self.program.exists()
        )

    def install_project(self, interpreter: Interpreter, *, development: bool, talk: Talk) -> None:
        """Put localrag in, editable, with what it needs, and with the tools of its developers if asked."""
        development = development or bool(self.stamp.get("development"))
        target = f"{self.root}[dev]" if development else str(self.root)
        self._pip(["--editable", target], "Installing localrag", "install.log", talk)
        self._write(
            project=project_digest(self.root),
            packages=installed_packages(interpreter.packages),
            development=development,
        )

    def _record(self, interpreter: Interpreter) -> list[list[object]]:
        name = PACKAGE.replace("-", "_")
        return file_facts(sorted(interpreter.packages.glob(f"{name}-*.dist-info/RECORD")))

    def _write(self, **changes: object) -> None:
        write_json(self._stamp, self.stamp | changes)

    def _pip(self, words: list[str], what: str, log: str, talk: Talk) -> None:
        pip = [str(self.python), "-m", "pip", "install", "--progress-bar", "off"]
        self._run([*pip, *words], what, log, talk)

    def _run(self, command: list[str], what: str, log: str, talk: Talk) -> None:
        try:
            run_logged(
                command,
                what=what,
                log=self._logs / log,
                progress=InstallProgress(),
                talk=talk,
                environment=self._environment,
                folder=self.root,
            )
        except CommandFailed as error:
            raise explain_failure(error) from error
