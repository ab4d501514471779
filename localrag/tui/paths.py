"""Paths as people type, paste or drag them into a terminal."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

SUFFIX = ".localrag"


@dataclass(frozen=True)
class FoundFile:
    """A knowledge base that lies in a folder."""

    path: Path
    """Where it is."""

    size: int
    """Bytes."""

    modified: float
    """Seconds since the epoch."""


def typed_path(text: str, folder: Path) -> Path | None:
    """The absolute path that a person meant, or None for an empty text.

    Takes away the quotes, backslashes and `file://` that terminals put around a dragged file, and expands
    `~`. Relative paths start at `folder`. A path that exists just as it was typed is taken as typed.
    """
    text = text.strip()
    if not text or "\0" in text:
        return None
    literal = folder / text
    if not text.startswith("~") and os.path.lexists(literal):
        return literal
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    elif text.startswith("file://"):
        text = unquote(urlsplit(text).path)
    elif os.sep == "/":
        text = re.sub(r"\\(.)", r"\1", text)
    return folder / os.path.expanduser(text)


def addable(text: str, folder: Path) -> tuple[Path | None, str]:
    """Check a path that is to be added: (path, "") or (None, what is wrong with it)."""
    path = typed_path(text, folder)
    if path is None:
        return None, "Type the path of a file or a folder."
    if not path.exists():
        return None, f"There is no file or folder {path}."
    if not os.access(path, os.R_OK):
        return None, f"{path} may not be read."
    return path, ""


def addable_all(text: str, folder: Path) -> tuple[list[Path], str]:
    """Check a line of paths that are to be added: (paths, "") or ([], what is wrong with one of them).

    Several files that are dragged into a terminal come parted by blanks, quoted as a shell wants them.
    """
    path, problem = addable(text, folder)
    if path is not None:
        return [path], ""
    pieces = _pieces(text)
    if len(pieces) < 2:
        return [], problem
    found: list[Path] = []
    for piece in pieces:
        path, wrong = addable(piece, folder)
        if path is None:
            # Blanks that nothing quotes may as well belong to one name.
            return [], wrong if found else problem
        found.append(path)
    return list(dict.fromkeys(found)), ""


def _pieces(text: str) -> list[str]:
    """The paths of a line, each as it was typed but for quotes and backslashes."""
    try:
        return shlex.split(text, posix=os.sep == "/")
    except ValueError:  # a quote that does not end
        return [text]


def knowledge_bases(folder: Path) -> list[FoundFile]:
    """The `*.localrag` files of a folder, the one that changed last first.

    Raises `OSError` if the folder cannot be read.
    """
    found = []
    for path in folder.iterdir():
        if path.suffix == SUFFIX and not path.name.startswith(".") and path.is_file():
            facts = path.stat()
            found.append(FoundFile(path, facts.st_size, facts.st_mtime))
    return sorted(found, key=lambda item: (-item.modified, item.path.name))


def chosen_file(text: str, folder: Path) -> tuple[Path | None, bool]:
    """What a name on the opening screen means: (path, whether it is to be created).

    A file that exists is opened, with or without its suffix typed; any other name is a new file, which gets
    the suffix.
    """
    path = typed_path(text, folder)
    if path is None:
        return None, False
    with_suffix = path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)
    for candidate in (path, with_suffix):
        if candidate.is_file():
            return candidate, False
    return with_suffix, True
