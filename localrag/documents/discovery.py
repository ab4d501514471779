"""Paths that a person names to the files in them, each with its folder, and whatever was passed over.

Nothing is opened here. A bad entry is noted with its reason and never stops the rest; only a path that a
person named and that is not there raises.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localrag.documents.patterns import Rules
from localrag.errors import DocumentError

_KNOWLEDGE_BASE = re.compile(
    r"\.localrag(?:-(?:wal|shm|journal)|\.(?:format-\d+|before-repair).*)?$", re.DOTALL
)
"""The end of a name that belongs to a knowledge base, its logs, or the copy that an upgrade leaves."""

_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class FoundFile:
    """A file to read."""

    path: Path
    """Absolute path, to open it by."""

    root: Path
    """Absolute path of the folder that it was found in; for a file that was named itself, its parent."""

    relative: str
    """Path from the root with `/` between names. Well-formed text: a byte that is none is written `\\xNN`.
    It may hold anything else that a name can, line feeds and escape codes included."""

    size: int = 0
    """Bytes."""

    mtime: float = 0.0
    """When it was last changed, in seconds since 1970."""

    identity: tuple[int, int] | None = None
    """What the file system knows it by whatever its name, or None where it has no such thing."""


@dataclass(frozen=True)
class Skipped:
    """An entry that was passed over."""

    path: Path
    """Absolute path."""

    reason: str
    """Why, as the end of a sentence, such as `hidden`."""


@dataclass(frozen=True)
class Discovery:
    """What lies under the paths that a person named."""

    files: tuple[FoundFile, ...]
    """Files in the order of the paths named, none twice. Within a folder they go by name, its own files
    before those of its folders, links last."""

    skipped: tuple[Skipped, ...]
    """Entries passed over, as they were met. A folder passed over stands for all that is in it."""

    closed: tuple[Path, ...] = ()
    """Folders that could not be looked into, and links that lead to nothing that is there now."""


def discover(
    paths: Sequence[Path], rules: Mapping[Path, Rules] | None = None, apart: Collection[Path] = ()
) -> Discovery:
    """List the files under `paths`: each is a file, or a folder taken with all its folders.

    Hidden entries, knowledge bases, links that lead out of their folder or to something listed anyway,
    devices, and folders that cannot be opened are passed over with a reason, and so is what the `rules` of
    a named folder leave out. Folders in `apart` are not gone into. Raises `DocumentError` if one of `paths`
    does not exist.
    """
    walk = _Walk(rules or {}, frozenset(apart))
    for path in paths:
        walk.start(path)
    return Discovery(tuple(walk.files), tuple(walk.skipped), tuple(walk.closed))


def is_knowledge_base(name: str) -> bool:
    """Whether a file of this name belongs to a knowledge base."""
    return bool(_KNOWLEDGE_BASE.search(name))


def path_on_disk(text: str) -> Path:
    """The path that `display_name` wrote as `text`; bytes that are no text only where such a file is."""
    path = Path(text)
    if "\\x" in text and not os.path.lexists(path):
        raw = Path(_ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), text))
        return raw if os.path.lexists(raw) else path
    return path


def display_name(name: str) -> str:
    """Return a file name as well-formed text, bytes that are no text written `\\xNN`."""
    return _SURROGATE.sub(_escape, name)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    # Python keeps an undecodable byte of a file name as this surrogate.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


@dataclass
class _Walk:
    """State of one discovery."""

    rules: Mapping[Path, Rules]
    apart: frozenset[Path]
    files: list[FoundFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    seen: dict[tuple[int, int] | str, Path] = field(default_factory=dict)
    """Identity of each file taken and the path it was taken by."""
    closed: list[Path] = field(default_factory=list)

    def start(self, path: Path) -> None:
        """Take a path that a person named, whatever its name looks like."""
        absolute = Path(os.path.abspath(path))
        try:
            status = os.stat(absolute)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DocumentError(
                f"There is no file or folder {display_name(str(path))!r}.", "Check the path."
            ) from error
        except (OSError, ValueError) as error:
            self._skip(absolute, _reason(error))
            self.closed.append(absolute)
            return
        if stat.S_ISDIR(status.st_mode):
            links: list[Path] = []
            for entry in self._files_under(absolute, links):
                self._take(entry, absolute)
            for link in links:
                self._take_link(link, absolute)
        elif is_knowledge_base(absolute.name):
            self._skip(absolute, "a knowledge base")
        else:
            self._take(absolute, absolute.parent)

    def _files_under(self, folder: Path, links: list[Path]) -> Iterator[Path]:
        """Walk a folder without recursion, so that no depth is too deep; links are put aside."""
        rules = self.rules.get(folder)
        waiting = [folder]
        visited: set[tuple[int, int]] = set()
        while waiting:
            current = waiting.pop()
            try:
                status = os.stat(current)
                with os.scandir(current) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError as error:
                self._skip(current, _reason(error))
                self.closed.append(current)
                continue
            if status.st_ino and (status.st_dev, status.st_ino) in visited:
                # A mount or junction can put a folder inside itself without any symbolic link.
                self._skip(current, "a folder that was listed already")
                continue
            visited.add((status.st_dev, status.st_ino))
            below = "" if current == folder else current.relative_to(folder).as_posix()
            if rules is not None:
                rules.enter(below)
            folders = []
            for entry in entries:
                kind = self._kind(entry)
                if rules is not None and kind != "skipped":
                    name = f"{below}/{entry.name}" if below else entry.name
                    if reason := rules.hides(name, folder=kind == "folder"):
                        self._skip(current / entry.name, reason)
                        continue
                if kind == "folder":
                    if current / entry.name not in self.apart:
                        folders.append(current / entry.name)
                elif kind == "link":
                    links.append(current / entry.name)
                elif kind == "file":
                    yield current / entry.name
            waiting.extend(reversed(folders))

    def _kind(self, entry: os.DirEntry[str]) -> str:
        """Say what an entry of a folder is; `skipped` if it was noted as passed over."""
        try:
            if entry.name.startswith("."):
                reason = "hidden"
            elif entry.is_symlink():
                return "link"
            elif entry.is_dir(follow_symlinks=False):
                return "folder"
            elif is_knowledge_base(entry.name):
                reason = "a knowledge base"
            else:
                return "file"
        except OSError as error:
            reason = _reason(error)
            self.closed.append(Path(entry.path))
        self._skip(Path(entry.path), reason)
        return "skipped"

    def _take(self, path: Path, root: Path) -> None:
        try:
            status = os.stat(path)
        except (OSError, ValueError) as error:
            self._skip(path, _reason(error))
            self.closed.append(path)
            return
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, "not an ordinary file")
            return
        # Some Windows file systems number no files; there the path is the identity.
        number = (status.st_dev, status.st_ino) if status.st_ino else None
        identity = number or os.path.normcase(path)
        first = self.seen.get(identity)
        if first is None:
            self.seen[identity] = path
            relative = display_name(path.relative_to(root).as_posix())
            self.files.append(FoundFile(path, root, relative, status.st_size, status.st_mtime, number))
        elif first != path:
            self._skip(path, f"the same file as {display_name(str(first))}")

    def _take_link(self, path: Path, root: Path) -> None:
        """Take a link if it leads to a file in the same root that was not taken by its own name."""
        try:
            target = Path(os.path.realpath(path, strict=True))
        except (OSError, ValueError) as error:
            self._skip(path, f"a link that leads nowhere ({_reason(error)})")
            self.closed.append(path)
            return
        if target.is_dir():
            self._skip(path, "a link to a folder")
        elif not target.is_relative_to(os.path.realpath(root)):
            self._skip(path, "a link that leads out of the folder")
        else:
            self._take(path, root)

    def _skip(self, path: Path, reason: str) -> None:
        self.skipped.append(Skipped(path, reason))


def _reason(error: OSError | ValueError) -> str:
    """Say in a few words why the system refused."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return "the system cannot open it"
