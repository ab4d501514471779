"""Completes a path that is being typed, from what lies on the disk; for a working thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path

from localrag.tui.paths import typed_path

MOST_LOOKED_AT = 5000
"""Entries of a folder that are looked at; no one completes a name among more."""
MOST_NAMED = 12
"""Candidates that are named."""


@dataclass(frozen=True)
class Completion:
    """What a text can be completed to."""

    text: str
    """The text as far as it is certain now; as it was if nothing more is."""

    names: tuple[str, ...]
    """What it could go on with, folders with a slash; empty if nothing fits."""


def complete(text: str, folder: Path, fits: Callable[[Path], bool] = lambda path: True) -> Completion:
    """Complete the last name of a typed path; `fits` says which files count, folders always do.

    A folder that cannot be read has no candidates.
    """
    head, slash, stem = text.rpartition("/")
    if text in ("~", "..", "."):
        return Completion(f"{text}/", ())
    start = typed_path(head + slash, folder) if slash else folder
    if start is None:
        return Completion(text, ())
    names = _names(start, stem, fits)
    if not names:
        return Completion(text, ())
    # Of names that are sorted, the first and the last have the least in common.
    pairs = zip(names[0], names[-1], strict=False)
    common = "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return Completion(
        head + slash + (common if len(common) >= len(stem) else stem), tuple(names[:MOST_NAMED])
    )


def _names(start: Path, stem: str, fits: Callable[[Path], bool]) -> list[str]:
    """Names that begin as typed; without any, those that do when small and large letters are one."""
    try:
        with os.scandir(start) as entries:
            found = [
                entry.name + ("/" if entry.is_dir() else "")
                for entry in islice(entries, MOST_LOOKED_AT)
                if (stem.startswith(".") or not entry.name.startswith("."))
                and (entry.is_dir() or fits(Path(entry.path)))
            ]
    except OSError:
        return []
    exact = [name for name in found if name.startswith(stem)]
    return sorted(exact or [name for name in found if name.casefold().startswith(stem.casefold())])
