"""Finds the names of stored chunks without a model, so that the graph is there as soon as the text is."""

from __future__ import annotations

import threading

from localrag.errors import Cancelled
from localrag.extraction.zero_names import RULES, chunk_names, heading_names, title_names
from localrag.store.database import Store


def ensure_named(store: Store, document_id: int) -> None:
    """Find the names of a document unless that was done since it last changed.

    Chunks that stayed when it changed keep the names that stand in them. They are found before anything is
    locked, and stored in one transaction, unless another program changed the document meanwhile: then it
    remains due. Raises `UsageError` if the document is not there.
    """
    if store.zero.is_named(document_id, RULES):
        return
    document = store.documents.get(document_id)
    chunks = store.chunks.of_document(document_id)
    known = store.zero.named(document_id, RULES)
    inside = {row.id: chunk_names(row.text) for row in chunks if row.id not in known}
    titled = title_names(document.title)
    headings = {heading: heading_names(heading) for heading in {row.heading for row in chunks}}
    above = {row.id: (*titled, *headings[row.heading]) for row in chunks}
    store.zero.put(document_id, RULES, inside, above)


def name_due(store: Store, cancel: threading.Event | None = None, most: int | None = None) -> int:
    """Find the names of all documents that lack them: of a file of an older format, one that was mended, or
    one that a killed program left.

    Nothing is done if more than `most` documents lack them. Each document is one transaction. Returns how
    many were done; raises `Cancelled` when `cancel` is set.
    """
    due = store.zero.due(RULES)
    if most is not None and len(due) > most:
        return 0
    for document_id in due:
        if cancel is not None and cancel.is_set():
            raise Cancelled("Stopped.", "What was done before is kept.")
        ensure_named(store, document_id)
    return len(due)
