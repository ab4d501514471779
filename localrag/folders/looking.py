"""From a scan to files with their content as far as it must be known; size and time tell most of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from localrag.documents import reading
from localrag.documents.discovery import FoundFile, path_on_disk
from localrag.errors import DocumentError
from localrag.folders.scan import Scan, text_of
from localrag.folders.types import Absent, Known, Seen
from localrag.store.followed_rows import Place


@dataclass
class Look:
    """What was seen."""

    seen: dict[str, Seen] = field(default_factory=dict)
    """Files whose content is known as far as needed, by full path, in the order of the scan."""

    absent: dict[str, Absent] = field(default_factory=dict)
    """Places of documents where no file was taken."""

    unreadable: dict[str, tuple[Seen, str]] = field(default_factory=dict)
    """Files that could not be read, with the reason."""

    cancelled: bool = False
    """Whether it was stopped before the end."""


def look(
    documents: Sequence[Known],
    scan: Scan,
    wanted: Callable[[str], bool],
    *,
    check: bool = False,
    retry: bool = False,
    cancel: threading.Event | None = None,
) -> Look:
    """See what has become of the places of `documents` and what else there is.

    A file with the size and time that were noted counts as unchanged, unless `check` asks for its content,
    or `retry` for those that could not be read.
    Files are only read where that can tell something: a touched one, a possible copy, a possible new place.
    `wanted` says of a full path whether it is to be compared; others only count as places of what is known.
    """
    result = Look()
    known = {place.full: (document, place) for document in documents for place in document.places}
    for full, (document, place) in known.items():
        if full not in scan.files:
            absence = scan.absence(place)
            if absence is not None:
                result.absent[full] = absence
            else:
                result.seen[full] = _unseen(document, place)
    open_: dict[str, Seen] = {}
    for full, file in scan.files.items():
        seen = _seen(full, file, known[full][1] if full in known else None, wanted(full))
        trusted = full in known and not check and (known[full][0].sha256 or not retry)
        if full in known and (not seen.wanted or (trusted and _as_noted(known[full][1], file))):
            seen = replace(_unseen(*known[full]), disk=file.path, wanted=seen.wanted)
        else:
            open_[full] = seen
        result.seen[full] = seen
    _read(result, open_, known, cancel)
    return result


def _read(
    result: Look,
    open_: dict[str, Seen],
    known: dict[str, tuple[Known, Place]],
    cancel: threading.Event | None,
) -> None:
    """Find out the content of the files in `open_` where it can be one that is known."""
    sizes = Counter(seen.size for seen in open_.values() if seen.wanted)
    stored = {place.size for _, place in known.values()}
    lost = {place.size for full, (_, place) in known.items() if full in result.absent}
    for full, seen in open_.items():
        if cancel is not None and cancel.is_set():
            result.cancelled = True
            return
        if not seen.wanted:
            if seen.size not in lost:
                del result.seen[full]
                continue
        elif not _tells(seen, known.get(full), sizes, stored):
            continue
        try:
            print_ = reading.fingerprint(seen.disk)
        except DocumentError as error:
            del result.seen[full]
            if seen.wanted:
                result.unreadable[full] = (seen, error.message)
            if full in known:
                result.absent[full] = Absent("closed", error.message)
            continue
        content = seen.content if print_.blank else print_.sha256
        document = known[full][0] if full in known else None
        result.seen[full] = replace(
            seen,
            size=print_.size,
            mtime=print_.mtime,
            content=content,
            same=document is not None and document.sha256 == print_.sha256,
        )


def _tells(seen: Seen, known: tuple[Known, Place] | None, sizes: Counter[int], stored: set[int]) -> bool:
    """Whether the content of a file could be one that is known; if not, it need not be read for that."""
    if known is not None and known[1].size == seen.size:
        return True
    return seen.size > 0 and (seen.size in stored or sizes[seen.size] > 1)


def _unseen(document: Known, place: Place) -> Seen:
    """A file that is there and was not looked for: taken to be as it was."""
    content = document.content or _alone(place.full)
    disk = path_on_disk(place.full)
    return Seen(place.root, place.path, place.size, place.mtime, content, disk, wanted=False, same=True)


def _seen(full: str, file: FoundFile, place: Place | None, wanted: bool) -> Seen:
    root, path = (place.root, place.path) if place is not None else (text_of(file.root), file.relative)
    return Seen(root, path, file.size, file.mtime, _alone(full), file.path, wanted=wanted)


def _alone(full: str) -> str:
    """A content that no other file has."""
    return f"only {full}"


def _as_noted(place: Place, file: FoundFile) -> bool:
    return (place.size, place.mtime) == (file.size, file.mtime)
