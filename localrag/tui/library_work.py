"""What the library does with chosen documents, and what is said when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.kb import Deleted, KnowledgeBase
    from localrag.retrying import RetryReport
    from localrag.store.shelf_rows import ShelfRow
    from localrag.tui.screens.comparing import SyncRequest
    from localrag.tui.screens.place import PlaceScreen
    from localrag.tui.session import Session


def has_failed(row: ShelfRow) -> bool:
    """Whether something of a document can be tried again."""
    return row.document.status == "failed" or row.document.failed > 0


def waits(row: ShelfRow) -> bool:
    """Whether passages of a document wait to be read."""
    return row.document.read < row.document.chunks


def prefer(session: Session, rows: Sequence[ShelfRow]) -> None:
    """Let documents be read before all others."""
    session.index_run.prefer([row.document.id for row in rows if waits(row)])


def sync(session: Session, request: SyncRequest) -> None:
    """Bring the knowledge base in line with its folders."""
    session.additions.sync(delete=request.delete, then_index=request.then_index)


def delete(screen: PlaceScreen, rows: Sequence[ShelfRow]) -> None:
    """Delete documents, and say so."""
    ids = [row.document.id for row in rows]

    def job(kb: KnowledgeBase) -> Deleted:
        return kb.delete_documents(ids)

    def done(deleted: Deleted) -> None:
        screen.notify(f"{count(len(deleted.documents), 'document')} deleted.", markup=False)

    screen.session.change(screen, job, done)


def retry(screen: PlaceScreen, rows: Sequence[ShelfRow]) -> None:
    """Let what failed be tried again, and say what comes next."""
    if not rows:
        screen.notify("Nothing has failed in what is chosen.", markup=False)
        return
    ids = [row.document.id for row in rows]

    def job(kb: KnowledgeBase) -> RetryReport:
        return kb.retry(ids)

    screen.session.change(screen, job, lambda report: screen.notify(retry_in_words(report), markup=False))


def retry_in_words(report: RetryReport) -> str:
    """What trying again has done."""
    words = []
    if report.passages:
        wait = "waits" if report.passages == 1 else "wait"
        words.append(f"{count(report.passages, 'chunk')} {wait} to be read again; press i to begin.")
    if report.files is not None:
        files = report.files
        came = files.added + files.changed
        words.append(f"{count(came, 'file')} could be read now, {len(files.failed):,} failed again.")
    if report.missing:
        words.append(f"{count(len(report.missing), 'file')} not there any more.")
    return " ".join(words) or "Nothing was left to be tried again."
