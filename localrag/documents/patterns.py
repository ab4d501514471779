"""Which files of a folder are wanted: patterns that a person gave, and those in ignore files.

All are written as in `.gitignore`. In this order they decide: the person's patterns of what is left out; the
`.localragignore` files, the nearest first; the `.gitignore` files, the nearest first, up to the top of the
repository that the folder lies in; the person's patterns of what is taken. As in git, what lies in a folder
that is left out cannot be taken back by a pattern of its own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localrag.documents.ignoring import IgnoreLine, IgnoreList, parse
from localrag.errors import UsageError

GIT_FILE, OWN_FILE = ".gitignore", ".localragignore"

LARGEST = 1 << 20
"""Most bytes of an ignore file that are looked at."""


@dataclass(frozen=True)
class Patterns:
    """What a person wants of a folder."""

    include: tuple[str, ...] = ()
    """Patterns of the files that are taken; empty takes all."""

    exclude: tuple[str, ...] = ()
    """Patterns of what is left out."""

    gitignore: bool = True
    """Whether `.gitignore` files are respected; `.localragignore` files always are."""

    def __post_init__(self) -> None:
        """Raise `UsageError` for a pattern that cannot be used."""
        for pattern in (*self.include, *self.exclude):
            parsed = parse(pattern)
            if not isinstance(parsed, IgnoreLine):
                raise UsageError(
                    f"The pattern {pattern[:60]!r} cannot be used: {parsed or 'it says nothing'}.",
                    "Patterns are written as in .gitignore, such as '*.md' or 'drafts/**'.",
                )

    def lists(self) -> tuple[IgnoreList, IgnoreList]:
        """What is taken and what is left out, ready to be asked."""
        taken, out = (
            IgnoreList(line for line in map(parse, patterns) if isinstance(line, IgnoreLine))
            for patterns in (self.include, self.exclude)
        )
        return taken, out


class Rules:
    """The patterns of one folder at work. Folders are to be entered from the top down."""

    def __init__(self, root: Path, patterns: Patterns) -> None:
        """`root` is the followed folder; nothing is looked at above the repository that it lies in."""
        self.notes: list[str] = []
        """What could not be used of the ignore files, in sentences."""
        self._root = root
        self._gitignore = patterns.gitignore
        self._include, self._exclude = patterns.lists()
        self._own: dict[str, IgnoreList] = {}
        self._git: dict[str, IgnoreList] = {}
        self._above: list[tuple[str, IgnoreList]] = self._from_above() if patterns.gitignore else []

    def enter(self, relative: str) -> None:
        """Read the ignore files of a folder; `relative` is its path from the root, empty for the root."""
        folder = self._root / relative if relative else self._root
        if self._gitignore and (spec := self._read(folder / GIT_FILE)):
            self._git[relative] = spec
        if spec := self._read(folder / OWN_FILE):
            self._own[relative] = spec

    def hides(self, relative: str, *, folder: bool) -> str:
        """Why an entry of a folder that was entered is not wanted; empty if it is."""
        if self._exclude.decides(relative, folder=folder):
            return "left out by a pattern"
        for file, specs in ((OWN_FILE, self._own), (GIT_FILE, self._git)):
            decided = _nearest(specs, relative, folder)
            if decided is None and specs is self._git:
                decided = _first(self._above, relative, folder)
            if decided:
                return f"left out by {file}"
            if decided is False:
                break
        if not folder and self._include and not self._include.decides(relative, folder=False):
            return "not among the patterns that are taken"
        return ""

    def _from_above(self) -> list[tuple[str, IgnoreList]]:
        """The `.gitignore` files of the folders above, the nearest first, with the path down to the root."""
        folders = [self._root, *self._root.parents]
        top = next((place for place, folder in enumerate(folders) if os.path.lexists(folder / ".git")), 0)
        found = []
        for folder in folders[1 : top + 1]:
            if spec := self._read(folder / GIT_FILE):
                found.append((self._root.relative_to(folder).as_posix(), spec))
        # Whoever names a folder wants it, also if git leaves it out as a whole.
        hidden = any(
            spec.decides("/".join(down.split("/")[:depth]), folder=True)
            for down, spec in found
            for depth in range(1, down.count("/") + 2)
        )
        return [] if hidden else found

    def _read(self, path: Path) -> IgnoreList | None:
        try:
            # A pipe or a device of that name would hold up everything.
            if not stat.S_ISREG(os.stat(path).st_mode):
                return None
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            self.notes.append(f"{path} cannot be read; nothing is left out because of it.")
            return None
        if len(data) > LARGEST:
            self.notes.append(f"{path} is too large; only its beginning is used.")
            data = data[: data[:LARGEST].rfind(b"\n") + 1]
        lines = data.decode("utf-8-sig", "surrogateescape").split("\n")
        return self._usable(path, (line.removesuffix("\r") for line in lines))

    def _usable(self, path: Path, lines: Iterable[str]) -> IgnoreList:
        good = []
        for number, text in enumerate(lines, 1):
            line = parse(text)
            if isinstance(line, IgnoreLine):
                good.append(line)
            elif line is not None:
                self.notes.append(f"{path}: line {number} is not used: {line}.")
        return IgnoreList(good)


def _nearest(lists: dict[str, IgnoreList], path: str, folder: bool) -> bool | None:
    """What the nearest folder above an entry says of it, None if none says anything."""
    parts = path.split("/")
    for depth in range(len(parts) - 1, -1, -1):
        found = lists.get("/".join(parts[:depth]))
        if found is not None:
            decided = found.decides("/".join(parts[depth:]), folder=folder)
            if decided is not None:
                return decided
    return None


def _first(lists: Sequence[tuple[str, IgnoreList]], path: str, folder: bool) -> bool | None:
    for down, found in lists:
        decided = found.decides(f"{down}/{path}", folder=folder)
        if decided is not None:
            return decided
    return None
