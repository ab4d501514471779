"""Joins another knowledge base into this one: its documents with what was read in them, vectors, decisions
and conversations.

The same content is stored once, and a passage that only one of the two files had read takes that reading. A
file that was joined already changes nothing. Nothing of this file is lost; of the other one stay behind what
can be made again without it: communities and reports, kept answers, and vectors of another model.
"""

from __future__ import annotations

import threading
from pathlib import Path

from localrag.errors import Cancelled
from localrag.store import decision_log, merges, merges_upkeep, tags
from localrag.store.documents import Documents
from localrag.store.file_rows import MergeReport
from localrag.store.fulltext import FullText
from localrag.store.merge_calls import CallMerger
from localrag.store.merge_decisions import join_decisions
from localrag.store.merge_documents import DocumentMerger
from localrag.store.merge_summaries import join_summaries
from localrag.store.merge_talk import join_talk
from localrag.store.merge_vectors import join_vectors
from localrag.store.resolution import reassign
from localrag.store.row_copies import RowCopier
from localrag.store.session import Session, listed
from localrag.store.upkeep import settle_document
from localrag.store.vectors import Vectors


class _Undo(Exception):
    """Ends a transaction whose changes are not wanted."""


def merge(
    target: Session,
    source: Session,
    documents: Documents,
    fulltext: FullText,
    vectors: Vectors,
    *,
    dry: bool = False,
    cancel: threading.Event | None = None,
) -> MergeReport:
    """Join the file behind `source` into that behind `target`, in one transaction of each.

    `documents`, `fulltext` and `vectors` are those of the target. With `dry` all is done and taken back.
    Raises `Cancelled` once `cancel` is set, with nothing changed.
    """
    report: MergeReport | None = None
    # One view of the source, whoever writes to it meanwhile.
    source.database.conn.execute("BEGIN")
    try:
        with target.transaction():
            report = _Merge(target, source, documents, fulltext, vectors, cancel).run(dry)
            if dry:
                raise _Undo
    except _Undo:
        pass
    finally:
        if source.database.conn.in_transaction:
            source.database.conn.execute("ROLLBACK")
    assert report is not None
    return report


class _Merge:
    """One file joined into another, within the transactions of both."""

    def __init__(
        self,
        target: Session,
        source: Session,
        documents: Documents,
        fulltext: FullText,
        vectors: Vectors,
        cancel: threading.Event | None,
    ) -> None:
        self._vectors = vectors
        self._target = target
        self._source = source
        self._rows = RowCopier(source, target)
        self._documents = DocumentMerger(self._rows, documents, fulltext, _name(source.path))
        self._cancel = cancel

    def run(self, dry: bool) -> MergeReport:
        """Do it all; the order matters: what points to a row comes after it."""
        docs = self._documents
        for document_id in self._source.column("SELECT id FROM documents ORDER BY id"):
            self._look_at_cancel()
            docs.take(document_id)
        docs.take_roots()
        docs.take_readings()
        decisions = join_decisions(self._rows, docs.moves)
        if decisions:
            decision_log.changed(self._target)
        self._look_at_cancel()
        if docs.readings or decisions:
            reassign(self._target)
        if docs.readings and merges.is_on(self._target):
            chunks = [listed(docs.readings.values())]
            within = "id IN (SELECT value FROM json_each(?))"
            ids = self._target.column(f"SELECT DISTINCT document_id FROM chunks WHERE {within}", chunks)
            merges.mark(self._target, ids)
            merges_upkeep.bring_up(self._target)
        self._retag(everywhere=decisions > 0)
        for document_id in docs.read_more:
            settle_document(self._target, document_id)
        self._look_at_cancel()
        calls = CallMerger(self._rows, docs.chunks)
        summaries = join_summaries(self._rows, calls, docs.chunks)
        vectors, notes = join_vectors(self._rows, self._vectors, docs.chunks)
        conversations = join_talk(self._rows, docs, calls)
        if docs.added or docs.places or docs.taken or docs.readings or decisions or summaries or vectors:
            self._target.touch()
        return MergeReport(
            source=self._source.path,
            added=tuple(docs.added),
            known=docs.known,
            places=docs.places,
            taken=tuple(docs.taken),
            renamed=tuple(docs.renamed),
            passages=docs.passages,
            readings=len(docs.readings),
            summaries=summaries,
            vectors=vectors,
            decisions=decisions,
            conversations=conversations,
            notes=tuple(notes),
            dry=dry,
        )

    def _retag(self, *, everywhere: bool) -> None:
        """Give documents the tags that the decisions of both files give them."""
        if not self._target.value("SELECT 1 FROM decisions LIMIT 1"):
            return
        changed = self._documents.changed
        ids = self._target.column("SELECT id FROM documents ORDER BY id") if everywhere else sorted(changed)
        for document_id in ids:
            tags.replay(self._target, document_id)

    def _look_at_cancel(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled("Stopped.", "Nothing of this file was joined in.")


def _name(path: Path) -> str:
    """A file's name without its ending, for what is named after it."""
    return path.name.removesuffix(".localrag") or path.name
