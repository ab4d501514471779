"""Brings files into the knowledge base: found, read, cut into chunks and stored, one transaction a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from localrag.documents import chunking, language, reading
from localrag.documents.discovery import FoundFile, Skipped, discover, display_name
from localrag.documents.reading import Document
from localrag.errors import DocumentError, KnowledgeBaseReadOnly, UsageError
from localrag.settings import ChunkingSettings
from localrag.store.database import Store
from localrag.store.rows import DocumentRow, NewChunk, NewDocument

Outcome = Literal["added", "changed", "unchanged", "failed", "skipped"]


@dataclass(frozen=True)
class AddEvent:
    """One file is done."""

    path: str
    """The file, as it is or would be stored."""

    outcome: Outcome
    """What became of it."""

    reason: str
    """Why it failed or was skipped; else empty."""

    done: int
    """Files done, this one included."""

    total: int
    """Files in all."""


@dataclass(frozen=True)
class AddReport:
    """What `add` did."""

    added: int
    """New documents."""

    changed: int
    """Documents whose text was replaced."""

    unchanged: int
    """Files that the knowledge base held already, with the same content."""

    failed: tuple[tuple[str, str], ...]
    """Path and reason of each file that could not be read; they are stored with this state."""

    skipped: tuple[tuple[str, str], ...]
    """Path and reason of each file that was passed over, such as one with the content of another."""

    chunks: int
    """Chunks stored by this run."""

    cancelled: bool = False
    """Whether it was stopped before the last file."""


_EVIDENCE = 40
"""Letters below which a chunk that looks English is taken to be in its document's language."""


def add(
    store: Store,
    paths: Sequence[Path],
    settings: ChunkingSettings,
    on_event: Callable[[AddEvent], None] | None = None,
    cancel: threading.Event | None = None,
) -> AddReport:
    """Bring in files and folders, each file in one transaction.

    A file that is in with the same content is left alone, one that changed replaces what it said, one with
    the content of another document is passed over. A file that cannot be read is stored as a failed document,
    unless an earlier version of it is in, which is kept; the others go on.

    Raises `KnowledgeBaseReadOnly`; `DocumentError` for a path that does not exist; `UsageError` if nothing
    among the paths can be read; `DiskFull` and `KnowledgeBaseBusy`, with the files before kept.
    """
    if store.read_only:
        raise KnowledgeBaseReadOnly(
            f"{store.path} can be asked but not changed.", "Open it where it can be written."
        )
    found = discover(paths)
    files = [file for file in found.files if _is_readable(file.path)]
    if not files:
        raise _nothing_readable(paths, len(found.files))
    addition = _Addition(store, settings)
    done = 0
    for file in files:
        if cancel is not None and cancel.is_set():
            break
        outcome, reason = addition.take(file)
        done += 1
        if on_event is not None:
            on_event(AddEvent(file.relative, outcome, reason, done, len(files)))
    return addition.report((*_passed_over(found.skipped), *_foreign(found.files)), done < len(files))


def _is_readable(path: Path) -> bool:
    return Path(path.name.strip()).suffix.lower() in reading.MEDIA_TYPES


def _nothing_readable(paths: Sequence[Path], others: int) -> UsageError:
    named = ", ".join(display_name(str(path)) for path in paths[:3]) or "what was named"
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    besides = f" Files of other kinds: {others}." if others else ""
    formats = ", ".join(sorted(reading.MEDIA_TYPES))
    return UsageError(
        f"There is no file that localrag can read in {named}{more}.{besides}", f"It reads {formats}."
    )


def _passed_over(skipped: Sequence[Skipped]) -> Iterator[tuple[str, str]]:
    return ((display_name(str(item.path)), item.reason) for item in skipped)


def _foreign(files: Sequence[FoundFile]) -> Iterator[tuple[str, str]]:
    """Files of other formats; in a folder they are no fault."""
    reason = "not a format that localrag reads yet"
    return ((file.relative, reason) for file in files if not _is_readable(file.path))


class _Addition:
    """One call of `add`."""

    def __init__(self, store: Store, settings: ChunkingSettings) -> None:
        self._store = store
        self._settings = settings
        # By full path, so that a file is known again whether its folder or one around it was named.
        self._known = {_full(row.root, row.path): row for row in store.documents.list()}
        self._counts: dict[Outcome, int] = {}
        self._failed: list[tuple[str, str]] = []
        self._skipped: list[tuple[str, str]] = []
        self._chunks = 0

    def report(self, passed_over: Sequence[tuple[str, str]], cancelled: bool) -> AddReport:
        return AddReport(
            added=self._counts.get("added", 0),
            changed=self._counts.get("changed", 0),
            unchanged=self._counts.get("unchanged", 0),
            failed=tuple(self._failed),
            skipped=(*self._skipped, *passed_over),
            chunks=self._chunks,
            cancelled=cancelled,
        )

    def take(self, file: FoundFile) -> tuple[Outcome, str]:
        """Bring in one file."""
        document: Document | DocumentError
        try:
            document = reading.read(file.path)
        except DocumentError as error:
            document = error
        with self._store.transaction():
            # Looked up once more where it is new: another program may have added it meanwhile.
            known = self._known.get(_full(_root(file), file.relative)) or self._store.documents.by_path(
                _root(file), file.relative
            )
            if isinstance(document, DocumentError):
                outcome, reason = self._fail(file, known, document.message)
            else:
                outcome, reason = self._store_document(file, known, document)
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        if outcome == "failed":
            self._failed.append((file.relative, reason))
        elif outcome == "skipped":
            self._skipped.append((file.relative, reason))
        return outcome, reason

    def _fail(self, file: FoundFile, known: DocumentRow | None, reason: str) -> tuple[Outcome, str]:
        if known is None:
            self._store.documents.add(_failed_document(file, reason), [])
        elif known.status == "failed":
            self._store.documents.set_status(known.id, "failed", reason)
        else:
            reason = f"{reason} What it said before is kept."
        return "failed", reason

    def _store_document(
        self, file: FoundFile, known: DocumentRow | None, document: Document
    ) -> tuple[Outcome, str]:
        if known is not None and known.sha256 == document.sha256:
            return "unchanged", ""
        twin = self._store.documents.by_hash(document.sha256)
        # Empty files are all alike and no copies of each other.
        if twin is not None and document.text.strip():
            if known is not None:
                self._store.documents.delete(known.id)
            return "skipped", f"same content as {twin.path}"
        chunks = self._cut(document)
        new = _new_document(file, document, bool(chunks))
        self._chunks += len(chunks)
        if known is None:
            self._store.documents.add(new, chunks)
            return "added", ""
        self._store.documents.replace(known.id, new, chunks)
        return ("added" if known.status == "failed" else "changed"), ""

    def _cut(self, document: Document) -> list[NewChunk]:
        spans = chunking.chunk(document.text, document.headings, self._settings.size, self._settings.overlap)
        return [
            NewChunk(
                start=span.start,
                end=span.end,
                heading=span.heading,
                page=None,
                tokens=span.tokens,
                language=_language(document.text[span.start : span.end], document.language),
                text=document.text[span.start : span.end],
            )
            for span in spans
        ]


def _full(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}"


def _root(file: FoundFile) -> str:
    return display_name(file.root.as_posix())


def _new_document(file: FoundFile, document: Document, has_chunks: bool) -> NewDocument:
    return NewDocument(
        path=file.relative,
        root=_root(file),
        sha256=document.sha256,
        size=document.size,
        mtime=document.mtime,
        media_type=document.media_type,
        title=document.title,
        language=document.language,
        text=document.text,
        status="waiting" if has_chunks else "indexed",
        reason="" if has_chunks else "There is nothing in it.",
    )


def _failed_document(file: FoundFile, reason: str) -> NewDocument:
    return NewDocument(
        path=file.relative,
        root=_root(file),
        sha256="",
        size=0,
        mtime=0.0,
        media_type="",
        title=file.relative.rsplit("/", 1)[-1],
        language="",
        text="",
        status="failed",
        reason=reason,
    )


def _language(text: str, of_document: str) -> str:
    """The language of a chunk; a table of numbers shows none and has its document's."""
    found = language.detect(text)
    letters = sum(1 for char in text if char.isalpha())
    return of_document if found == language.DEFAULT and letters < _EVIDENCE else found
