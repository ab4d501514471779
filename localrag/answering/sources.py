"""The desk of sources: a cited passage within its document, with what a person needs to judge it.

The document's text and file are looked at anew: a citation may be older than they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from localrag.answering.originals import Originals, OriginalState
from localrag.answering.shared import Span, name_spans, sentences_on, shared_spans
from localrag.documents.chunking import path_at
from localrag.documents.discovery import path_on_disk
from localrag.documents.reading import markdown_headings
from localrag.store.database import Store

if TYPE_CHECKING:
    from localrag.answering.types import Answer, Citation

LINED = frozenset(("text/plain", "text/markdown"))
"""Media types whose stored text has the lines of the file."""


@dataclass(frozen=True)
class Part:
    """A passage as the document was cut into passages for reading."""

    id: int
    """Its chunk."""

    start: int
    """First character in the document's text."""

    end: int
    """Behind its last character."""

    heading: str
    """Headings that it stands under, joined by ` › `."""

    page: int | None
    """Page, where the document has pages."""


@dataclass(frozen=True)
class Held:
    """A sentence of the answer that rests on a source, and what came of comparing the two."""

    text: str
    """The sentence without marks."""

    verdict: str = ""
    """`supported`, `partly`, `not` or `unchecked`; empty where it was not kept."""

    missing: tuple[str, ...] = ()
    """Names, numbers, times and quotations of it that do not occur in what it cites."""


@dataclass(frozen=True)
class SourceView:
    """A stretch of a document within it."""

    document: str
    """Path of the document as it is stored."""

    text: str
    """The document's whole text; the passage alone if the document is gone or was changed."""

    span: Span
    """The stretch within `text`."""

    document_id: int | None = None
    """The document; None if it is gone, or lies in another knowledge base."""

    title: str = ""
    """The document's name for people."""

    media_type: str = ""
    """For example `text/markdown`; empty if unknown."""

    tags: tuple[str, ...] = ()
    """Its tags."""

    marks: tuple[Span, ...] = ()
    """What is marked in the stretch: what it shares with the answer, or names; places within `text`."""

    held: tuple[Held, ...] = ()
    """The sentences of the answer that rest on it."""

    parts: tuple[Part, ...] = ()
    """The document's passages in order."""

    heading: str = ""
    """Headings that the stretch stands under."""

    page: int | None = None
    """Its page."""

    state: OriginalState = "unknown"
    """What has become of the file."""

    file: str = ""
    """Full path of the file, as it is written on disk; empty if unknown."""

    line: int | None = None
    """Line of the file at which the stretch begins, from 1; None where the file has no such lines."""

    note: str = ""
    """What the person should know, in a sentence: why only the passage is shown."""


class SourceDesk:
    """Looks up passages of one knowledge base within their documents."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cited(self, citation: Citation, question: str = "", answer: Answer | str | None = None) -> SourceView:
        """The passage that a citation names.

        With an answer, or the Markdown of one, what its sentences share with the passage is marked; without
        it what the question shares.
        """
        held = _held(citation, answer)
        said = [item.text for item in held] or [question]
        names = _names_of(citation)
        bare = _passage_alone(citation)
        found = None if citation.base else self._document_of(citation)
        if found is None:
            view = replace(bare, note=bare.note or _why_alone(citation))
        else:
            view = self._view(found[0], (found[1], found[1] + len(citation.text)))
        start, end = view.span
        passage = view.text[start:end]
        marks = _moved((*shared_spans(said, passage), *name_spans(names, passage)), start)
        return replace(
            view,
            held=held,
            marks=tuple(sorted(set(marks))),
            heading=citation.heading or view.heading,
            page=citation.page if citation.page is not None else view.page,
        )

    def span(self, document_id: int, start: int, end: int, words: Sequence[str] = ()) -> SourceView:
        """A stretch of a document, with words marked in it. Raises `UsageError` if the document is gone."""
        view = self._view(document_id, (start, end))
        start, end = view.span
        return replace(view, marks=_moved(name_spans(words, view.text[start:end]), start))

    def part(self, chunk_id: int, span: Span | None = None, statements: Sequence[str] = ()) -> SourceView:
        """A chunk, or a stretch of the document in it, with what it shares with statements marked.

        Raises `UsageError` if it is gone.
        """
        row = self._store.chunks.get(chunk_id)
        view = self._view(row.document_id, span or (row.start, row.end))
        start, end = view.span
        return replace(view, marks=_moved(shared_spans(statements, view.text[start:end]), start))

    def _document_of(self, citation: Citation) -> tuple[int, int] | None:
        """The document that holds a cited passage now, and where; None if there is none.

        Several documents may have the path, and a changed one may hold the passage at another place.
        """
        ids = self._store.documents.ids_of_path(citation.document) if citation.text else []
        texts = {document_id: self._store.documents.text(document_id) for document_id in ids}
        for document_id, text in texts.items():
            if text[citation.start : citation.end] == citation.text:
                return document_id, citation.start
        for document_id, text in texts.items():
            place = text.find(citation.text)
            if place >= 0:
                return document_id, place
        return None

    def _view(self, document_id: int, span: Span) -> SourceView:
        row = self._store.documents.get(document_id)
        text = self._store.documents.text(document_id)
        start = min(max(span[0], 0), len(text))
        end = min(max(span[1], start), len(text))
        parts = tuple(
            Part(chunk.id, chunk.start, chunk.end, chunk.heading, chunk.page)
            for chunk in self._store.chunks.of_document(document_id)
        )
        here = next((part for part in reversed(parts) if part.start <= start), None)
        places = self._store.documents.places(document_id)
        files = [path_on_disk(place.full) for place in places]
        file = next((path for path in files if os.path.isfile(path)), files[0] if files else None)
        return SourceView(
            document=row.path,
            text=text,
            span=(start, end),
            document_id=document_id,
            title=row.title,
            media_type=row.media_type,
            tags=tuple(self._store.tags.of_document(document_id)),
            parts=parts,
            heading=_heading(text, start, row.media_type) or (here.heading if here else ""),
            page=here.page if here else None,
            state=Originals(self._store).state(document_id),
            file=str(file) if file is not None else "",
            line=text.count("\n", 0, start) + 1 if row.media_type in LINED else None,
        )


def _heading(text: str, place: int, media_type: str) -> str:
    """The headings that a place of a Markdown text stands under; a chunk knows those of its start."""
    return path_at(list(markdown_headings(text)), place) if media_type == "text/markdown" else ""


def _held(citation: Citation, answer: Answer | str | None) -> tuple[Held, ...]:
    """The sentences of an answer that rest on a citation."""
    if answer is None:
        return ()
    if isinstance(answer, str):
        return tuple(Held(text) for text in sentences_on(answer, citation.number))
    found = [check for check in answer.checks if citation.number in check.references]
    if found:
        return tuple(Held(check.text, check.verdict, check.missing) for check in found)
    return tuple(Held(text) for text in sentences_on(answer.answer, citation.number))


def _names_of(citation: Citation) -> tuple[str, ...]:
    """What a citation of the graph is about, by its label: `[KG] name` or `[KG] name - name`."""
    if citation.kind == "document":
        return ()
    name = citation.label.partition("] ")[2].removesuffix(f" ({citation.base})")
    return tuple(name.split(" - ")) if citation.kind == "relation" else (name,)


def _passage_alone(citation: Citation) -> SourceView:
    """What the citation itself says of its passage."""
    return SourceView(
        document=citation.document,
        text=citation.text,
        span=(0, len(citation.text)),
        state=citation.state,
    )


def _why_alone(citation: Citation) -> str:
    """Why a citation's passage is not shown within its document."""
    if citation.base:
        return f"The document lies in the knowledge base {citation.base}; open that to see more of it."
    if not citation.text:
        return "The passage is gone: its document was deleted or changed since the answer was written."
    return "The document was deleted or changed since; this is the passage as the answer cites it."


def _moved(spans: Sequence[Span], by: int) -> tuple[Span, ...]:
    return tuple((start + by, end + by) for start, end in spans)


def line_in(text: str, passage: str, line: int) -> int:
    """The line of a file's text at which a passage begins: at `line` if it is there, else where it is found.

    A file may have changed since its text was stored; where the passage is not in it any more, `line` stays.
    """
    lines = text.splitlines()
    first = next((part.strip() for part in passage.splitlines() if part.strip()), "")
    if not first or (line <= len(lines) and first in lines[line - 1]):
        return line
    near = [place for place, found in enumerate(lines, start=1) if first in found]
    return min(near, key=lambda place: abs(place - line), default=min(line, max(len(lines), 1)))
