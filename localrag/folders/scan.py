"""What lies on the disk in the followed folders, and what can be said of places where nothing was found."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localrag.documents import reading
from localrag.documents.discovery import FoundFile, discover, display_name, path_on_disk
from localrag.documents.patterns import Patterns, Rules
from localrag.folders.types import Absent
from localrag.store.followed_rows import Place, RootRow, full_path

_OWN_ENDS = ("", "-wal", "-shm", "-journal")
"""Ends of the files that a knowledge base consists of while it is open."""


@dataclass
class Scan:
    """The files that were found and what was passed over."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    """Files that localrag can read, by full path as it is stored."""

    others: list[FoundFile] = field(default_factory=list)
    """Files of other formats."""

    skipped: dict[str, str] = field(default_factory=dict)
    """What was passed over, by full path, with the reason."""

    notes: list[str] = field(default_factory=list)
    """What could not be used of ignore files."""

    walked: list[str] = field(default_factory=list)
    """Folders that were looked through, or should have been."""

    missing: dict[str, str] = field(default_factory=dict)
    """Folders of which nothing can be said that is gone, with the reason."""

    closed: set[str] = field(default_factory=set)
    """Folders and files that could not be looked at."""

    identities: set[tuple[int, int]] = field(default_factory=set)
    """What the file system knows the files by."""

    def absence(self, place: Place) -> Absent | None:
        """What is known of a place where no file was taken; None if there is one that was not looked for."""
        full = place.full
        root = innermost(full, self.walked)
        closed = next((item for item in _upwards(full) if item in self.closed), None)
        if closed is not None:
            return Absent("closed", self.skipped.get(closed, "it cannot be looked at"))
        disk = path_on_disk(full)
        try:
            status = os.lstat(disk)
        except (FileNotFoundError, NotADirectoryError):
            return self._nothing_there(place, root)
        except (OSError, ValueError) as error:
            return Absent("closed", str(getattr(error, "strerror", "") or "it cannot be looked at").lower())
        if stat.S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in self.identities:
            # A folder in its place, or the same file under another name.
            return Absent("gone", "")
        if root is None:
            return None
        found = (self.skipped[item] for item in _upwards(full) if item in self.skipped)
        return Absent("hidden", next(found, "it is not taken any more"))

    def _nothing_there(self, place: Place, root: str | None) -> Absent:
        if root is not None:
            reason = self.missing.get(root, "")
        else:
            reason = "" if os.path.isdir(path_on_disk(place.root)) else _not_there(place.root)
        return Absent("missing", reason) if reason else Absent("gone", "")


def scan(roots: Sequence[RootRow], singles: Iterable[Place], named: Sequence[Path], own: Path) -> Scan:
    """Look through folders.

    `roots` are followed as a whole, each without those of the others that lie in it. `singles` are places
    outside of them that are looked at alone, and `named` files that a person named. `own` is the knowledge
    base's file, which is never taken. Raises `DocumentError` if one of `named` is not there.
    """
    result = Scan()
    folders = {row.path: path_on_disk(row.path) for row in roots}
    result.walked = list(folders)
    rules = {
        folders[row.path]: Rules(folders[row.path], Patterns(row.include, row.exclude, row.gitignore))
        for row in roots
    }
    there = [path for text, path in folders.items() if _is_folder(text, path, result)]
    found = discover([*there, *named], rules, list(folders.values()))
    result.closed = {text_of(path) for path in found.closed}
    kb = os.path.realpath(own)
    ours = {f"{kb}{end}" for end in _OWN_ENDS}
    result.skipped = {
        text_of(item.path): item.reason
        for item in found.skipped
        # That it does not read itself is nothing to tell, unless a person asked for it.
        if item.path in named or os.path.realpath(item.path) not in ours
    }
    result.notes = [note for path in there for note in rules[path].notes]
    for file in found.files:
        if not is_readable(file.path):
            result.others.append(file)
        elif os.path.realpath(file.path) != kb:
            result.files.setdefault(text_of(file.path), file)
    result.identities = {file.identity for file in found.files if file.identity is not None}
    for place in singles:
        _take_single(result, place)
    filled = {innermost(full, result.walked) for full in result.files}
    for text in folders:
        if text not in filled and text not in result.missing:
            result.missing[text] = f"no document is left in the folder {text}"
    return result


def text_of(path: Path) -> str:
    """A path as it is stored."""
    return display_name(path.as_posix())


def within(full: str, folder: str) -> bool:
    """Whether a full path is a folder or lies in it."""
    return full == folder or full.startswith(folder.rstrip("/") + "/")


def innermost(full: str, folders: Iterable[str]) -> str | None:
    """The deepest of the folders that a full path lies in."""
    return max((folder for folder in folders if within(full, folder)), key=len, default=None)


def is_readable(path: Path) -> bool:
    """Whether the file's name is of a format that localrag reads."""
    return Path(path.name.strip()).suffix.lower() in reading.MEDIA_TYPES


def _is_folder(text: str, path: Path, result: Scan) -> bool:
    if path.is_dir():
        return True
    result.missing[text] = _not_there(text)
    return False


def _not_there(folder: str) -> str:
    return f"the folder {folder} is not there"


def _take_single(result: Scan, place: Place) -> None:
    """Take a file that was named by itself, if it is there under no other name."""
    full = full_path(place.root, place.path)
    path = path_on_disk(full)
    if full in result.files:
        return
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    identity = (status.st_dev, status.st_ino) if status.st_ino else None
    if not stat.S_ISREG(status.st_mode) or (identity is not None and identity in result.identities):
        return
    root = path_on_disk(place.root)
    result.files[full] = FoundFile(path, root, place.path, status.st_size, status.st_mtime, identity)
    if identity is not None:
        result.identities.add(identity)


def _upwards(full: str) -> Iterable[str]:
    """A full path and the folders above it."""
    yield full
    while "/" in full:
        full = full.rpartition("/")[0]
        yield full
