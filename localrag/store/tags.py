"""Tags of documents. They are decisions of a person, and come back when a document is added again."""

from __future__ import annotations

from localrag.store import decision_log
from localrag.store.assignment import place
from localrag.store.curation_rows import DocumentRef, TagRow
from localrag.store.resolution import reassign
from localrag.store.session import Session
from localrag.store.tag_replay import folded

__all__ = ["Tags", "documents_of", "folded", "replay"]


class Tags:
    """Lists tags. `Decisions.add` gives and takes them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of_document(self, document_id: int) -> list[str]:
        """The tags of a document as they were typed, by name."""
        return self._session.column("SELECT name FROM tags WHERE document_id = ? ORDER BY tag", [document_id])

    def list(self) -> list[TagRow]:
        """All tags with their documents, by name."""
        names: dict[str, str] = {}
        documents: dict[str, list[int]] = {}
        for tag, name, document_id in self._session.rows(
            "SELECT tag, name, document_id FROM tags ORDER BY tag, name, document_id"
        ):
            names.setdefault(tag, name)
            documents.setdefault(tag, []).append(document_id)
        return [TagRow(tag, names[tag], tuple(sorted(ids))) for tag, ids in documents.items()]


def replay(session: Session, document_id: int) -> bool:
    """Give a document the tags that were decided for it; returns whether they changed.

    To be called within a transaction after a document was stored, changed, moved, or got another place.
    Mentions follow that a decision parts by their document.
    """
    lies = place(session, document_id)
    wanted = {tag: (name, by) for tag, (name, by) in decision_log.tag_steps(session).of(lies).items()}
    present = {
        tag: (name, by)
        for tag, name, by in session.rows(
            "SELECT tag, name, decision_id FROM tags WHERE document_id = ?", [document_id]
        )
    }
    if wanted != present:
        session.run("DELETE FROM tags WHERE document_id = ?", [document_id])
        session.run_many(
            "INSERT INTO tags (document_id, tag, name, decision_id) VALUES (?, ?, ?, ?)",
            [(document_id, tag, *row) for tag, row in wanted.items()],
        )
        session.touch()
    resolution = decision_log.resolution(session)
    parted = [keys for named, keys in resolution.documents.items() if lies.is_named_by(named)]
    if parted:
        reassign(session, resolution.leading_to(key for keys in parted for key in keys))
    return wanted != present


def documents_of(session: Session, document: DocumentRef) -> list[int]:
    """Ids of the stored documents that a decision means: by place, or by content."""
    return session.column(
        "SELECT id FROM documents WHERE root = ?1 AND path = ?2 UNION "
        "SELECT document_id FROM copies WHERE root = ?1 AND path = ?2 UNION "
        "SELECT id FROM documents WHERE sha256 = ?3 AND ?3 <> '' AND size > 0",
        [document.root, document.path, document.sha256],
    )
