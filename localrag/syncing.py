"""Brings the knowledge base in line with the folders and files that it follows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localrag.documents.patterns import Patterns
from localrag.errors import NothingIndexed, UsageError
from localrag.folders.run import Options, run
from localrag.folders.scan import scan, text_of, within
from localrag.folders.types import SyncEvent, SyncReport
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.followed_rows import Place, RootRow
from localrag.store.sqlite import read_only_error

__all__ = ["Options", "PatternChange", "SyncEvent", "SyncReport", "require_writable", "sync", "unfollow"]


@dataclass(frozen=True)
class PatternChange:
    """What a person wants to change of a folder's patterns; None leaves them as they are."""

    include: tuple[str, ...] | None = None
    """Patterns of the files that are taken; an empty tuple takes all."""

    exclude: tuple[str, ...] | None = None
    """Patterns of what is left out."""

    gitignore: bool | None = None
    """Whether `.gitignore` files are respected."""

    def __bool__(self) -> bool:
        """Whether anything is to be changed."""
        return (self.include, self.exclude, self.gitignore) != (None, None, None)

    def of(self, row: RootRow) -> RootRow:
        """A folder with the changed patterns. Raises `UsageError` for a pattern that cannot be used."""
        changed = replace(
            row,
            include=row.include if self.include is None else self.include,
            exclude=row.exclude if self.exclude is None else self.exclude,
            gitignore=row.gitignore if self.gitignore is None else self.gitignore,
        )
        Patterns(changed.include, changed.exclude, changed.gitignore)
        return changed


def sync(
    store: Store,
    settings: ChunkingSettings,
    paths: Sequence[Path] = (),
    *,
    patterns: PatternChange | None = None,
    options: Options | None = None,
    on_event: Callable[[SyncEvent], None] | None = None,
    cancel: threading.Event | None = None,
) -> SyncReport:
    """Find what is new, changed, moved and gone in what is followed, and bring the knowledge base in line.

    With `paths` only what lies there is compared; a file that went from there to another followed folder is
    still found. `patterns` are kept with the folders. A document whose folder is missing, empty or cannot be
    looked into is never deleted unless `options` say so, nor one whose file is still there.

    Raises `KnowledgeBaseReadOnly` unless it is a dry run; `NothingIndexed` if nothing is followed;
    `UsageError` for a path that is not followed or a pattern that cannot be used; `DiskFull` and
    `KnowledgeBaseBusy`, with what was done before kept.
    """
    options = options or Options()
    if not options.dry_run:
        require_writable(store)
    places = [place for found in store.documents.all_places().values() for place in found]
    roots = store.roots.list()
    if not roots and not places:
        raise NothingIndexed("Nothing is followed yet.", "Put a folder in: localrag add FOLDER")
    scopes = [_scope(path, roots, places) for path in paths]
    if patterns:
        roots = _changed(roots, scopes, patterns)
        if not options.dry_run:
            for row in roots:
                store.roots.put(row)

    def wanted(full: str) -> bool:
        return not scopes or any(within(full, scope) for scope in scopes)

    followed = {row.path for row in roots}
    singles = [place for place in places if place.root not in followed]
    found = scan(roots, singles, [], store.path)
    report = run(store, settings, found, wanted, options, on_event, cancel)
    if not (report.cancelled or options.dry_run):
        with store.transaction():
            for row in roots:
                if wanted(row.path) and row.path not in found.missing:
                    store.roots.note_sync(row.path)
    return report


def unfollow(store: Store, *paths: Path) -> None:
    """Follow folders no more. Their documents stay and are looked at one by one from then on.

    Raises `KnowledgeBaseReadOnly`; `UsageError` if one of the folders is not followed, and then all stay so.
    """
    require_writable(store)
    with store.transaction():
        for path in paths:
            text = text_of(Path(os.path.abspath(path)))
            if not store.roots.remove(text):
                raise _not_followed(text, store.roots.list())


def require_writable(store: Store) -> None:
    """Raise `KnowledgeBaseReadOnly` if nothing can be stored."""
    if store.read_only:
        raise read_only_error(store.path)


def _scope(path: Path, roots: Sequence[RootRow], places: Sequence[Place]) -> str:
    """A named path as it is stored, if it is followed."""
    text = text_of(Path(os.path.abspath(path)))
    if not (
        any(within(text, row.path) for row in roots) or any(within(place.full, text) for place in places)
    ):
        raise _not_followed(text, roots)
    return text


def _not_followed(text: str, roots: Sequence[RootRow]) -> UsageError:
    followed = ", ".join(row.path for row in roots[:3]) + (" and others" if len(roots) > 3 else "")
    hint = f"Followed are: {followed}." if followed else "Put it in: localrag add FOLDER"
    return UsageError(f"{text} is not followed.", hint)


def _changed(roots: Sequence[RootRow], scopes: Sequence[str], patterns: PatternChange) -> list[RootRow]:
    """The folders with the changed patterns where they were named, or everywhere."""
    known = {row.path for row in roots}
    for scope in scopes:
        if scope not in known:
            raise UsageError(
                f"{scope} has no patterns of its own.",
                "Patterns belong to a folder that was added; name one of those.",
            )
    return [patterns.of(row) if not scopes or row.path in scopes else row for row in roots]
