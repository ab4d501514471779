"""Tries once more what failed: passages are read again by the next index run, files at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from localrag.adding import AddEvent, AddReport, add
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.rows import DocumentRow
from localrag.store.sqlite import read_only_error

_GONE = "The file is not there any more."


@dataclass(frozen=True)
class RetryReport:
    """What `retry` did."""

    passages: int
    """Passages that wait to be read again."""

    documents: int
    """Documents that they belong to."""

    left_out: int
    """Passages that stay left out, because they made the engine die and were not asked for."""

    files: AddReport | None
    """What became of the files that could not be read before; None if there were none."""

    missing: tuple[tuple[str, str], ...]
    """Path and reason of each failed document whose file is gone."""


def retry(
    store: Store,
    settings: ChunkingSettings,
    document_ids: Collection[int] | None = None,
    *,
    everything: bool = False,
    on_event: Callable[[AddEvent], None] | None = None,
    cancel: threading.Event | None = None,
) -> RetryReport:
    """Let failed passages be read again as if they had never been tried, and read failed files again.

    Of these documents, or of all. Passages over which the engine died are among them only if their document
    is named or with `everything`.

    Raises `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy`, `DiskFull`.
    """
    if store.read_only:
        raise read_only_error(store.path)
    retried = store.failures.retry(document_ids, left_out=everything or document_ids is not None)
    failed = [row for row in store.documents.list("failed") if document_ids is None or row.id in document_ids]
    there, missing = _parted(failed)
    for row in missing:
        store.documents.note_failure(row.id, _GONE)
    report = add(store, [_file(row) for row in there], settings, on_event, cancel) if there else None
    return RetryReport(
        passages=retried.passages,
        documents=retried.documents,
        left_out=retried.left_out,
        files=report,
        missing=tuple((row.path, _GONE) for row in missing),
    )


def _parted(rows: Sequence[DocumentRow]) -> tuple[list[DocumentRow], list[DocumentRow]]:
    """Documents whose file is there, and those whose file is gone."""
    there = [row for row in rows if _file(row).is_file()]
    return there, [row for row in rows if row not in there]


def _file(row: DocumentRow) -> Path:
    return Path(row.root) / row.path
