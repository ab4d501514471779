"""Notices that something changed in what is followed; what it was is found out by comparing.

A thread of its own listens to the system's notices, which come in bursts and are gathered until it is quiet
again. Where the system gives none (some network drives, or when it runs out of watches) files are looked at
in turns. Single files, and folders that come and go, are looked at every few seconds in any case.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

from watchfiles import Change, watch

from localrag.documents.discovery import is_knowledge_base, path_on_disk
from localrag.documents.patterns import GIT_FILE, OWN_FILE
from localrag.store.database import Store

QUIET = 0.5
"""Seconds without a notice after which a burst is over."""

LONGEST = 15.0
"""Seconds after which a burst that does not end is taken as it is."""

LOOK = 2.0
"""Seconds between two looks at single files and at the folders themselves."""


@dataclass(frozen=True)
class Targets:
    """What is watched."""

    folders: tuple[Path, ...]
    """Folders with all that lies in them."""

    files: tuple[Path, ...]
    """Files outside of them."""

    own: Path
    """The knowledge base's file, whose changes do not count."""


def targets(store: Store) -> Targets:
    """What a knowledge base follows."""
    folders = [row.path for row in store.roots.list()]
    files = {
        place.full
        for found in store.documents.all_places().values()
        for place in found
        if place.root not in folders
    }
    return Targets(
        tuple(path_on_disk(text) for text in folders),
        tuple(path_on_disk(text) for text in sorted(files)),
        Path(os.path.abspath(store.path)),
    )


class Watch:
    """Watches until it is closed. Used as a context manager; its methods may be called from any thread."""

    def __init__(self, aims: Targets, *, poll: bool = False) -> None:
        """`poll` looks at all files in turns instead of waiting for the system's notices."""
        self._aims = aims
        self._poll = poll
        self._note = ""
        self._lock = threading.Lock()
        self._first = self._last = 0.0  # times of the first and the last notice that was not taken yet
        self._news = threading.Event()
        self._closed = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="localrag-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        # What changes from here on is seen; a system that is slow to answer does not hold up the start.
        self._ready.wait(5.0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._thread.join(5.0)

    @property
    def note(self) -> str:
        """What a person should know of how it watches, in a sentence; mostly empty."""
        return self._note

    def aim(self, aims: Targets) -> None:
        """Watch other things from now on; costs nothing if they are the same."""
        if aims != self._aims:
            self._aims = aims

    def changed(self) -> bool:
        """Whether something changed since the last `take` and it is quiet again."""
        with self._lock:
            if not self._news.is_set():
                return False
            now = time.monotonic()
            return now - self._last >= QUIET or now - self._first >= LONGEST

    def take(self) -> None:
        """Forget the changes so far; to be called before comparing."""
        with self._lock:
            self._news.clear()

    def wait(self, cancel: threading.Event, seconds: float) -> bool:
        """Wait until something changed, at most so many seconds or until `cancel` is set; as `changed`."""
        end = time.monotonic() + seconds
        while not cancel.is_set() and time.monotonic() < end:
            if self.changed():
                return True
            cancel.wait(0.1)
        return self.changed()

    def _notice(self) -> None:
        with self._lock:
            now = time.monotonic()
            if not self._news.is_set():
                self._first = now
            self._last = now
            self._news.set()

    def _listen(self) -> None:
        state: object = _state(self._aims)
        while not self._closed.is_set():
            aims = self._aims
            folders = [folder for folder in aims.folders if folder.is_dir()]
            if folders:
                state = self._follow(aims, folders, state)
            else:
                self._ready.set()
                self._closed.wait(LOOK)
            state = self._look(state)

    def _follow(self, aims: Targets, folders: list[Path], state: object) -> object:
        """Listen until something else is to be watched; returns what the last look saw."""
        looked = time.monotonic()
        try:
            for changes in watch(
                *folders,
                watch_filter=_Filter(aims),
                step=100,
                debounce=1_000,
                stop_event=self._closed,
                rust_timeout=500,
                yield_on_timeout=True,
                raise_interrupt=False,
                force_polling=True if self._poll else None,
                poll_delay_ms=1_000,
                ignore_permission_denied=True,
            ):
                self._ready.set()
                if changes:
                    self._notice()
                if aims is not self._aims:
                    return state
                if time.monotonic() - looked < LOOK:
                    continue
                looked = time.monotonic()
                seen = self._look(state)
                if seen != state:
                    return seen
        except FileNotFoundError:
            self._closed.wait(LOOK)  # a folder went away meanwhile
        except (OSError, RuntimeError) as error:
            if not self._poll:
                self._note = (
                    f"The system cannot tell of changes here ({error}); files are looked at in turns instead."
                )
                self._poll = True
                self._notice()
            self._closed.wait(LOOK)
        return state

    def _look(self, state: object) -> object:
        """Look at what sends no notices."""
        seen = _state(self._aims)
        if seen != state:
            self._notice()
        return seen


class _Filter:
    """Which notices count: none of hidden files, of knowledge bases, and of the one that is at work."""

    def __init__(self, aims: Targets) -> None:
        self._folders = aims.folders
        self._own = str(aims.own)

    def __call__(self, change: Change, path: str) -> bool:
        if path == self._own or path.startswith(f"{self._own}-"):
            return False
        if change == Change.modified and os.path.isdir(path):
            # Something in it came or went, which has a notice of its own.
            return False
        below = next(
            (PurePath(path).relative_to(f) for f in self._folders if _lies_in(path, f)), PurePath(path)
        )
        *folders, name = below.parts or ("",)
        if any(folder.startswith(".") for folder in folders) or is_knowledge_base(name):
            return False
        return not name.startswith(".") or name in (GIT_FILE, OWN_FILE)


def _lies_in(path: str, folder: Path) -> bool:
    return PurePath(path).is_relative_to(folder)


def _state(aims: Targets) -> tuple[object, ...]:
    return (aims.folders, aims.files, *_stats(aims.folders, times=False), *_stats(aims.files, times=True))


def _stats(paths: Iterable[Path], *, times: bool) -> Iterable[tuple[float, ...]]:
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            yield ()
            continue
        place = (status.st_dev, status.st_ino)
        yield (*place, status.st_size, status.st_mtime_ns) if times else place
