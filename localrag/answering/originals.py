"""Says whether the files that an answer cites are still as they were read: looked at, not read where size and
time tell enough.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from localrag.documents import reading
from localrag.documents.discovery import path_on_disk
from localrag.errors import DocumentError, UsageError
from localrag.plain import quoted
from localrag.store.database import Store
from localrag.store.followed_rows import Place

if TYPE_CHECKING:
    from localrag.answering.types import Citation

OriginalState = Literal["same", "changed", "gone", "unknown"]
"""`unknown` where nothing can be said: its folder is not there, as on another machine, or is closed to us."""

LARGEST = 64 * 2**20
"""Bytes up to which a file with another time is read, to see whether it was only touched."""

_ORDER: tuple[OriginalState, ...] = ("same", "changed", "gone", "unknown")


class Originals:
    """The files of one knowledge base, each looked at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: dict[int, OriginalState] = {}

    def state(self, document_id: int) -> OriginalState:
        """What has become of a document's file; of several that held the same, the best is told."""
        if document_id not in self._states:
            self._states[document_id] = self._look(document_id)
        return self._states[document_id]

    def _look(self, document_id: int) -> OriginalState:
        try:
            sha256 = self._store.documents.get(document_id).sha256
            places = self._store.documents.places(document_id)
        except UsageError:  # it was deleted meanwhile
            return "gone"
        return min((_state(place, sha256) for place in places), key=_ORDER.index, default="unknown")


def _state(place: Place, sha256: str) -> OriginalState:
    """What has become of one place, compared as `sync` does."""
    path = path_on_disk(place.full)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "gone" if os.path.isdir(path_on_disk(place.root)) else "unknown"
    except (OSError, ValueError):
        return "unknown"
    if not stat.S_ISREG(status.st_mode):
        return "gone"
    if (status.st_size, status.st_mtime) == (place.size, place.mtime):
        return "same"
    if status.st_size != place.size or status.st_size > LARGEST:
        return "changed"
    try:
        return "same" if reading.fingerprint(path).sha256 == sha256 else "changed"
    except DocumentError:
        return "unknown"


def refreshed(store: Store, citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Citations of an answer that was kept, with what has become of their files meanwhile.

    Those of other knowledge bases stay as they are.
    """
    originals = Originals(store)
    ids: dict[str, list[int]] = {}
    for row in store.documents.list():
        ids.setdefault(row.path, []).append(row.id)
    return tuple(
        citation
        if citation.base or len(found := ids.get(citation.document, [])) != 1
        else replace(citation, state=originals.state(found[0]))
        for citation in citations
    )


def told(citations: Sequence[Citation]) -> tuple[str, ...]:
    """Sentences about the cited files that are not as they were read; nothing if all are."""
    notes = {}
    for citation in citations:
        name = quoted(citation.document)
        if citation.state == "changed":
            notes[name] = f"{name} has changed since it was read; localrag sync brings it up to date."
        elif citation.state == "gone":
            notes[name] = f"{name} is not there any more; the answer rests on what was read."
    return tuple(notes.values())
