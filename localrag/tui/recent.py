"""Remembers which knowledge bases were opened lately, in a small file; losing it costs a list."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from localrag.settings import state_dir

MOST = 30
"""Most files that are remembered; the one opened longest ago goes first."""

_FILE = "recent.json"
_FORM = 1


@dataclass(frozen=True)
class RecentFile:
    """A knowledge base that was opened."""

    path: Path
    """Where it was."""

    opened: float
    """When, in seconds since the epoch."""

    documents: int
    """Documents that were in it."""


@dataclass(frozen=True)
class KnownFile:
    """A knowledge base as the opening screen lists it."""

    path: Path
    """Where it is, or was."""

    size: int | None
    """Bytes; None if it is not there any more."""

    opened: float | None
    """When it was last opened; None if that is not known."""

    changed: float
    """When it last changed; 0 if it is gone."""

    documents: int | None
    """Documents when it was last opened; None if that is not known."""

    @property
    def gone(self) -> bool:
        """Whether the file is not there now."""
        return self.size is None


def recent_file() -> Path:
    """The file of the list."""
    return state_dir() / _FILE


def recent() -> list[RecentFile]:
    """What was opened, the last one first; nothing if the list is not there or damaged."""
    try:
        data = json.loads(recent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    rows = data.get("files") if isinstance(data, dict) and data.get("form") == _FORM else None
    found = [_row(item) for item in rows] if isinstance(rows, list) else []
    return [item for item in found if item is not None][:MOST]


def note(path: Path, documents: int, now: float | None = None) -> None:
    """Put a knowledge base at the top of the list. Raises `OSError` if the list cannot be written."""
    path = path.absolute()
    entry = RecentFile(path, time.time() if now is None else now, documents)
    _write([entry, *(item for item in recent() if item.path != path)])


def forget(path: Path) -> None:
    """Take a knowledge base from the list; the file itself stays. Raises `OSError`."""
    _write([item for item in recent() if item.path != path.absolute()])


def known_files(folder_files: Sequence[Path]) -> list[KnownFile]:
    """The recent files, then those of a folder that are not among them, with what the disk says of each."""
    listed = [_look(item.path, item) for item in recent()]
    paths = {item.path for item in listed}
    return [*listed, *(_look(path, None) for path in folder_files if path not in paths)]


def _look(path: Path, item: RecentFile | None) -> KnownFile:
    try:
        facts = path.stat()
        size, changed = (facts.st_size, facts.st_mtime) if path.is_file() else (None, 0.0)
    except OSError:
        size, changed = None, 0.0
    return KnownFile(path, size, item.opened if item else None, changed, item.documents if item else None)


def _row(item: object) -> RecentFile | None:
    """An entry of the file, which people and other programs can write."""
    if not isinstance(item, dict):
        return None
    path, opened, documents = item.get("path"), item.get("opened"), item.get("documents")
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        return None
    if not isinstance(opened, (int, float)) or type(documents) is not int:
        return None
    return RecentFile(Path(path), float(opened), max(0, documents))


def _write(files: Sequence[RecentFile]) -> None:
    rows = [{**asdict(item), "path": str(item.path)} for item in files[:MOST]]
    # Names that are no valid text are kept in escaped form, which JSON reads back as it was.
    text = json.dumps({"form": _FORM, "files": rows}, indent=1)
    target = recent_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{_FILE}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
