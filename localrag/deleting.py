"""Takes documents out of the knowledge base, and says beforehand or afterwards what goes with them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from localrag.errors import UsageError
from localrag.finding import from_here
from localrag.store.database import Store
from localrag.store.report_rows import Footprint
from localrag.store.rows import DocumentRow
from localrag.store.sqlite import read_only_error

_ID = re.compile(r"#?([1-9][0-9]{0,17})")


@dataclass(frozen=True)
class Deleted:
    """What was deleted, or would be."""

    documents: tuple[DocumentRow, ...]
    """The documents, by root and path."""

    places: dict[int, tuple[str, ...]]
    """For each document, by id, where files with its content lie: the first place and all others."""

    gone: Footprint
    """All that goes with them. Summaries, reports and answers that rested on them count here too: what needs
    no model stands in their place."""

    dry_run: bool
    """Whether it was only tried, and nothing has changed."""


def delete(store: Store, names: Sequence[str | int], *, dry_run: bool = False) -> Deleted:
    """Delete the documents that `names` mean, see `choose`, in one transaction; no model is needed.

    With `dry_run` all is done and taken back again, so that the numbers are exact. Raises `UsageError` if a
    name means nothing or too much, `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy`, `DiskFull`.
    """
    if store.read_only:
        raise read_only_error(store.path)
    rows = choose(store, names)
    ids = [row.id for row in rows]
    places = {
        document_id: tuple(place.full for place in found)
        for document_id, found in store.documents.all_places(ids).items()
    }
    gone = Footprint()
    try:
        with store.transaction():
            before = store.origins.footprint()
            for document_id in ids:
                store.documents.delete(document_id)
            gone = before.without(store.origins.footprint())
            if dry_run:
                raise _TakenBack
    except _TakenBack:
        pass
    return Deleted(tuple(rows), places, gone, dry_run)


def choose(store: Store, names: Iterable[str | int]) -> list[DocumentRow]:
    """The documents that are named, by root and path.

    A name is a document's path, alone or behind its root, or that of a further place of it; else its id, such
    as 12 or #12; else a path from the folder that the person is in; else a folder, with all that lies under
    it, if it ends in a slash; else a pattern such as *.log, whose * stands for slashes too. A pattern is
    never taken for the name of a file that is there.
    Raises `UsageError` for a name that means nothing, or a path that several documents have.
    """
    rows = store.documents.list()
    by_id = {row.id: row for row in rows}
    places = [
        (document_id, name)
        for document_id, found in store.documents.all_places().items()
        for place in found
        for name in (place.path, place.full)
    ]
    chosen: set[int] = set()
    for name in names:
        chosen |= {name} & by_id.keys() if isinstance(name, int) else _meant(name, places, by_id)
        if isinstance(name, int) and name not in by_id:
            raise _unknown(f"#{name}")
    return [row for row in rows if row.id in chosen]


def _meant(name: str, places: Sequence[tuple[int, str]], by_id: dict[int, DocumentRow]) -> set[int]:
    """Ids of the documents that one name means."""
    exact = {document_id for document_id, path in places if path == name}
    if len(exact) > 1:
        full = sorted(path for document_id, path in places if document_id in exact and path.endswith(name))
        shown = ", ".join(path for path in full if path != name)
        raise UsageError(f"Several documents are named {name!r}.", f"Name one in full: {shown}.")
    if exact:
        return exact
    number = _ID.fullmatch(name)
    if number and int(number[1]) in by_id:
        return {int(number[1])}
    here = from_here(name)
    found = {document_id for document_id, path in places if path == here and not name.endswith("/")}
    if not found and name.endswith("/"):
        found = _below(name, places) or _below(f"{here.rstrip('/')}/", places)
    elif not found and any(char in name for char in "*?["):
        found = _like(name, places) or _like(_pattern_from_here(name), places)
    if not found:
        folder = f"{name}/" if name and not name.endswith("/") else ""
        below = folder and (_below(folder, places) or _below(f"{here}/", places))
        raise _unknown(name, folder if below else "")
    return found


def _below(folder: str, places: Sequence[tuple[int, str]]) -> set[int]:
    """Ids of the documents in a folder, whose path ends in a slash."""
    return {document_id for document_id, path in places if path.startswith(folder)}


def _like(pattern: str, places: Sequence[tuple[int, str]]) -> set[int]:
    """Ids of the documents whose path is like a pattern."""
    return {document_id for document_id, path in places if fnmatchcase(path, pattern)}


def _pattern_from_here(pattern: str) -> str:
    """A pattern seen from the folder that the person is in, whose own name is no pattern."""
    return os.path.normpath(os.path.join(glob.escape(from_here(".")), pattern))


def _unknown(name: str, folder: str = "") -> UsageError:
    """The error for a name that means nothing; `folder` is the one that may have been meant."""
    hint = f"For all in the folder: {folder}. See localrag status --all." if folder else ""
    return UsageError(
        f"There is no document {name!r} in the knowledge base.", hint or "See localrag status --all."
    )


class _TakenBack(Exception):
    """Undoes a trial."""
