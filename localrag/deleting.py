"""Takes documents out of the knowledge base, and says beforehand or afterwards what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.finding import choose
from localrag.store.database import Store
from localrag.store.report_rows import Footprint
from localrag.store.rows import DocumentRow
from localrag.store.sqlite import read_only_error


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
    """Delete the documents that `names` mean, see `finding.choose`, in one transaction; no model is needed.

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


class _TakenBack(Exception):
    """Undoes a trial."""
