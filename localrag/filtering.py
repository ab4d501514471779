"""Makes a filter of what a person typed: documents, folders, tags, types, media, days.

What is not in the knowledge base is an error and no empty result: a filter by a tag that was mistyped would
otherwise hide everything without a word.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from localrag.documents.reading import MEDIA_TYPES
from localrag.errors import UsageError
from localrag.finding import choose, from_here
from localrag.plain import quoted
from localrag.store.claim_rows import ClaimTest
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.tag_replay import folded


@dataclass(frozen=True)
class Known:
    """What a knowledge base can be filtered by, for a person to choose from."""

    documents: tuple[str, ...]
    """Paths of documents."""

    folders: tuple[str, ...]
    """Folders in which documents lie, as they are written in their paths."""

    tags: tuple[str, ...]
    """Tags of documents."""

    types: tuple[str, ...]
    """Types of entities."""


def known(store: Store) -> Known:
    """What there is to filter by, each in the order of the alphabet."""
    paths = [row.path for row in store.documents.list()]
    folders = {path[:end] for path in paths for end, char in enumerate(path) if char == "/" and end}
    return Known(
        documents=tuple(sorted(paths)),
        folders=tuple(sorted(folders)),
        tags=tuple(sorted(row.name for row in store.tags.list())),
        types=tuple(sorted(kind for kind in store.claim_search.entity_types() if kind)),
    )


_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_FORM = "A day is written 2024-05-31, a month 2024-05, a year 2024."


def filter_from(
    store: Store,
    *,
    documents: Sequence[str | int] = (),
    folder: str = "",
    tags: Sequence[str] = (),
    entity_types: Sequence[str] = (),
    media: Sequence[str] = (),
    modified_from: str = "",
    modified_until: str = "",
    added_from: str = "",
    added_until: str = "",
    claims: ClaimTest | None = None,
    without_claims: ClaimTest | None = None,
) -> Filter:
    """The filter that is meant; nothing given filters nothing.

    `documents` are names, ids, folders with a slash at their end, or patterns; `media` are media types or
    endings such as `md`. Days, months, years or full times; an end holds to the end of its day, month or
    year. Raises `UsageError` for whatever is not there or cannot be read, with a hint.
    """
    return Filter(
        documents=tuple(row.id for row in choose(store, documents)) if documents else (),
        folder=_folder(store, folder),
        tags=tuple(_tag(store, tag) for tag in tags),
        entity_types=tuple(_type(store, name) for name in entity_types),
        media_types=tuple(_media(store, name) for name in media),
        claims=claims,
        without_claims=without_claims,
        **_times(modified_from, modified_until, "modified"),
        **_times(added_from, added_until, "added"),
    )


def _folder(store: Store, folder: str) -> str:
    """The folder as it is stored, or seen from where the person is."""
    if not folder:
        return ""
    for name in (folder, from_here(folder)):
        ids = store.filters.ids(Filter(folder=name), "chunk")
        if ids:
            return name
    raise UsageError(
        f"No document with text lies in {quoted(folder)}.",
        "localrag status --all shows the documents with their paths.",
    )


def _tag(store: Store, tag: str) -> str:
    known = {row.tag: row.name for row in store.tags.list()}
    if folded(tag) in known:
        return tag
    hint = _nearest(tag, known.values()) or "localrag tag list shows all tags."
    raise UsageError(f"No document has the tag {quoted(tag)}.", hint)


def _type(store: Store, name: str) -> str:
    known = [kind for kind in store.claim_search.entity_types() if kind]
    if name.casefold() in {kind.casefold() for kind in known}:
        return name
    if not known:
        raise UsageError("No entity has a type yet: nothing was read.", "Let the model read: localrag index")
    raise UsageError(
        f"No entity is of the type {quoted(name)}.", _nearest(name, known) or f"Types: {_some(known)}."
    )


def _media(store: Store, name: str) -> str:
    wanted = name.strip().lower()
    wanted = MEDIA_TYPES.get(f".{wanted.removeprefix('.')}", wanted)
    known = sorted({row.media_type for row in store.documents.list()})
    if wanted in known:
        return wanted
    raise UsageError(
        f"No document is of the kind {quoted(name)}.",
        f"There are: {_some(known)}." if known else "There are no documents yet.",
    )


def _times(earliest: str, latest: str, what: str) -> dict[str, datetime]:
    """The two bounds of a filter by time, by their names in the filter."""
    found: dict[str, datetime] = {}
    if earliest:
        found[f"{what}_from"] = _moment(earliest)[0]
    if latest:
        found[f"{what}_until"] = _moment(latest)[1]
    if len(found) == 2 and found[f"{what}_from"] > found[f"{what}_until"]:
        raise UsageError(
            f"{quoted(earliest)} is later than {quoted(latest)}.", "Name the earlier time first."
        )
    return found


def _moment(text: str) -> tuple[datetime, datetime]:
    """First and last moment of a day, a month, a year or of a single moment, in this machine's time."""
    match = _DAY.fullmatch(text.strip())
    try:
        if match is None:
            exact = datetime.fromisoformat(text.strip())
            exact = exact if exact.tzinfo else exact.astimezone()
            return exact, exact
        year, month, day = (int(part) if part else 0 for part in match.groups())
        begin = datetime(year, month or 1, day or 1)
        if day:
            behind = begin + timedelta(days=1)
        elif month:
            behind = datetime(year + month // 12, month % 12 + 1, 1)
        else:
            behind = datetime(year + 1, 1, 1)
        return begin.astimezone(), behind.astimezone() - timedelta(microseconds=1)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{quoted(text)} is no day.", _FORM) from None


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.casefold(), {item.casefold() for item in known}, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(map(quoted, near))}?" if near else ""


def _some(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
