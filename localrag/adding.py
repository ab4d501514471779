"""Brings files and folders into the knowledge base and follows them from then on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localrag.documents import reading
from localrag.documents.discovery import display_name, path_on_disk
from localrag.documents.patterns import Patterns, Rules
from localrag.errors import DocumentError, UsageError
from localrag.folders.run import Options, run
from localrag.folders.scan import Scan, innermost, scan, text_of, within
from localrag.folders.types import Outcome, SyncEvent, SyncReport
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.followed_rows import RootRow
from localrag.syncing import PatternChange, require_writable

__all__ = ["AddEvent", "AddReport", "Outcome", "add"]

AddEvent = SyncEvent
"""One file is done."""


@dataclass(frozen=True)
class AddReport:
    """What `add` did."""

    added: int
    """New documents."""

    changed: int
    """Documents whose text was replaced."""

    unchanged: int
    """Files that the knowledge base held already, with the same content."""

    failed: tuple[tuple[str, str], ...]
    """Path and reason of each file that could not be read; they are stored with this state."""

    skipped: tuple[tuple[str, str], ...]
    """Path and reason of each file that was passed over."""

    chunks: int
    """Chunks stored by this run."""

    cancelled: bool = False
    """Whether it was stopped before the last file."""

    copied: tuple[tuple[str, str], ...] = ()
    """Files with the content of a document, noted as further places of it, and that document's path."""

    moved: tuple[tuple[str, str], ...] = ()
    """Documents whose file was found in another place, and the place before."""

    notes: tuple[str, ...] = ()
    """What a person should know, in sentences."""


@dataclass
class _Named:
    """What a person named, sorted."""

    roots: list[RootRow]
    """Folders to look through."""

    new: list[RootRow]
    """Those among them that are followed from now on, or with other patterns."""

    scopes: list[str]
    """Full paths that are to be compared with all that lies in them."""

    files: list[Path]
    """Files outside of followed folders."""


def add(
    store: Store,
    paths: Sequence[Path],
    settings: ChunkingSettings,
    on_event: Callable[[AddEvent], None] | None = None,
    cancel: threading.Event | None = None,
    patterns: PatternChange | None = None,
) -> AddReport:
    """Bring in files and folders, each file in one transaction.

    Folders are followed from then on, with `patterns` if they are given; a file that is named is followed
    alone. A file that is in with the same content is left alone, one that changed replaces what it said, one
    with the content of another document becomes a further place of it. A file that cannot be read is stored
    as a failed document, unless an earlier version of it is in, which is kept; the others go on. Nothing is
    deleted because it is not there.

    Raises `KnowledgeBaseReadOnly`; `DocumentError` for a path that does not exist; `UsageError` if nothing
    among the paths can be read; `DiskFull` and `KnowledgeBaseBusy`, with the files before kept.
    """
    require_writable(store)
    named = _sorted(store, paths, patterns or PatternChange())
    found = scan(named.roots, [], named.files, store.path)
    scopes = [*named.scopes, *(text_of(path) for path in named.files)]

    def wanted(full: str) -> bool:
        return any(within(full, scope) for scope in scopes)

    if not any(wanted(full) for full in found.files):
        raise _nothing_readable(paths, found, wanted)
    for row in named.new:
        store.roots.put(row)
    return as_addition(
        run(store, settings, found, wanted, Options(retry=True, delete=False), on_event, cancel)
    )


def _sorted(store: Store, paths: Sequence[Path], patterns: PatternChange) -> _Named:
    known = {row.path: row for row in store.roots.list()}
    named = _Named([], [], [], [])
    if patterns and not any(path.is_dir() for path in paths):
        raise UsageError("Patterns belong to folders, and no folder is named.", "Name a folder.")
    for path in paths:
        absolute = Path(os.path.abspath(path))
        if not _is_there(absolute):
            raise DocumentError(f"There is no file or folder {display_name(str(path))!r}.", "Check the path.")
        text = text_of(absolute)
        row = known.get(text) or _around(absolute, known)
        if absolute.is_dir() and (row is None or patterns):
            row = patterns.of(known.get(text) or RootRow(text))
            known[text] = row
            named.new.append(row)
        if row is None:
            named.files.append(absolute)
            continue
        named.scopes.append(text)
    reached = {innermost(scope, known) for scope in named.scopes}
    # Also those that lie in a folder that was named: they are parts of it with patterns of their own.
    named.roots = [
        row
        for text, row in known.items()
        if text in reached or any(within(text, scope) for scope in named.scopes)
    ]
    return named


def _is_there(path: Path) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True  # told as a file that cannot be read
    return True


def _around(path: Path, known: dict[str, RootRow]) -> RootRow | None:
    """The followed folder that takes an entry, or None if it lies in none or is left out there."""
    text = innermost(text_of(path), known)
    if text is None:
        return None
    row, root = known[text], path_on_disk(text)
    rules = Rules(root, Patterns(row.include, row.exclude, row.gitignore))
    parts = path.relative_to(root).parts
    for depth, name in enumerate(parts):
        relative = "/".join(parts[: depth + 1])
        rules.enter("/".join(parts[:depth]))
        folder = depth + 1 < len(parts) or path.is_dir()
        if name.startswith(".") or (root / relative).is_symlink() or rules.hides(relative, folder=folder):
            return None
    return row


def _nothing_readable(paths: Sequence[Path], found: Scan, wanted: Callable[[str], bool]) -> UsageError:
    named = ", ".join(display_name(str(path)) for path in paths[:3]) or "what was named"
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    others = sum(wanted(text_of(file.path)) for file in found.others)
    besides = f" Files of other kinds: {others}." if others else ""
    formats = ", ".join(sorted(reading.MEDIA_TYPES))
    return UsageError(
        f"There is no file that localrag can read in {named}{more}.{besides}", f"It reads {formats}."
    )


def as_addition(report: SyncReport) -> AddReport:
    """The same as an addition, for whoever only wants to know what came in."""
    return AddReport(
        added=len(report.added),
        changed=len(report.changed),
        unchanged=report.unchanged,
        failed=report.failed,
        skipped=report.skipped,
        chunks=report.chunks,
        cancelled=report.cancelled,
        copied=report.copied,
        moved=report.moved,
        notes=report.notes,
    )
