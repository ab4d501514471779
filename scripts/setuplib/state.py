"""What earlier set-ups left: records that are written whole, locks, and facts that tell what changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from .errors import SetupError
from .progress import Talk

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def read_json(path: Path) -> Any:
    """The content of a record, or an empty one if it is not there or not whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_json(path: Path, content: object) -> None:
    """Write a record so that it is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(draft, path)


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of(content: object) -> str:
    """A short hash of anything that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def installed_packages(packages: Path) -> list[str]:
    """Names of what is installed in a site-packages folder, sorted; versions are a person's own affair."""
    return sorted({folder.name.split("-")[0] for folder in packages.glob("*.dist-info")})


def file_facts(paths: Iterable[Path]) -> list[list[object]]:
    """Size and time of change of files; a missing one is marked by -1."""
    facts: list[list[object]] = []
    for path in paths:
        try:
            status = path.stat()
            facts.append([str(path), status.st_size, status.st_mtime_ns])
        except OSError:
            facts.append([str(path), -1, -1])
    return facts


class Lock:
    """Lets one set-up at a time do a thing; others wait. The system lets go of it when the process ends."""

    def __init__(self, path: Path, purpose: str, talk: Talk, *, poll: float = 0.3) -> None:
        self._path = path
        self._purpose = purpose
        self._talk = talk
        self._poll = poll
        self._file: IO[str] | None = None

    def __enter__(self) -> Lock:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+", encoding="ascii", errors="replace")
        except OSError as error:
            raise SetupError(f"{self._path.parent} cannot be written: {error.strerror}.") from error
        if not self._take():
            self._file.seek(0)
            holder = self._file.read().strip()
            who = f"process {holder}" if holder.isdigit() else "another process"
            self._talk.say(f"Another set-up ({who}) is {self._purpose}; waiting for it.")
            while not self._take():
                self._talk.tick("waiting")
                time.sleep(self._poll)
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _take(self) -> bool:
        assert self._file is not None
        if sys.platform == "win32":
            self._file.seek(1 << 20)  # past the text, which others must be able to read
            try:
                msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)
            except OSError:
                return False
            return True
        with contextlib.suppress(OSError):  # some network disks have no locks: better without than not at all
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True
