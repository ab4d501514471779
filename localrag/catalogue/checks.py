"""Remembers which model files were checked, so that a file of a gigabyte is not hashed at every start.

The memory is `checked.json` in the models folder. It is derived: a lost or damaged one costs a check.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

FILE_NAME: Final = "checked.json"
"""Name of the memory's file."""

_FORMAT: Final = 1


@dataclass(frozen=True)
class Check:
    """What was found out about a file."""

    size: int
    """Its bytes at the time."""

    mtime_ns: int
    """When it was last changed, in nanoseconds."""

    sha256: str
    """Its hash; empty if it was only looked into."""

    verified: bool | None
    """Whether the hash is the expected one; None if none is expected."""

    role: str
    """`chat` or `embed`, or empty if the file cannot serve; as its header says."""

    reason: str = ""
    """Why it cannot serve."""


class Checks:
    """The memory of one models folder."""

    def __init__(self, folder: Path) -> None:
        """Takes the models folder; nothing need exist yet."""
        self._path = folder / FILE_NAME

    def get(self, path: Path) -> Check | None:
        """What is known about a file as it is now; None if it is new or has changed since."""
        try:
            status = path.stat()
        except OSError:
            return None
        check = self.last(path)
        if check is None or (check.size, check.mtime_ns) != (status.st_size, status.st_mtime_ns):
            return None
        return check

    def last(self, path: Path) -> Check | None:
        """What was known about a file, even if it has changed since."""
        return self._read().get(_key(path))

    def remember(
        self, path: Path, *, sha256: str = "", verified: bool | None = None, role: str = "", reason: str = ""
    ) -> None:
        """Keep what was found out; if the folder cannot be written, the check is repeated next time."""
        try:
            status = path.stat()
            checks = self._read()
            checks[_key(path)] = Check(status.st_size, status.st_mtime_ns, sha256, verified, role, reason)
            self._write(checks)
        except OSError:
            return

    def forget(self, path: Path) -> None:
        """Drop what is known about a file."""
        checks = self._read()
        if checks.pop(_key(path), None) is None:
            return
        try:
            self._write(checks)
        except OSError:
            return

    def _read(self) -> dict[str, Check]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            return {}
        files = document.get("files")
        if not isinstance(files, dict):
            return {}
        return {key: check for key, values in files.items() if (check := _parse(values)) is not None}

    def _write(self, checks: dict[str, Check]) -> None:
        files = {key: asdict(check) for key, check in sorted(checks.items())}
        text = json.dumps({"format": _FORMAT, "files": files}, indent=1)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Another process may read or write it now: a name of its own, then one step.
        handle, temporary = tempfile.mkstemp(prefix="checked-", suffix=".tmp", dir=self._path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(self._path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _key(path: Path) -> str:
    # A name that is no valid text is kept in escaped form, as JSON text must be valid.
    return str(path.resolve()).encode("utf-8", "backslashreplace").decode("utf-8")


def _parse(values: Any) -> Check | None:
    try:
        check = Check(**values)
    except TypeError:
        return None
    types = {"size": int, "mtime_ns": int, "sha256": str, "role": str, "reason": str}
    if not all(type(getattr(check, name)) is kind for name, kind in types.items()):
        return None
    return check if check.verified in (True, False, None) else None
