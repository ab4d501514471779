"""Puts a table into words: a sentence that counts, the first rows, what it rests on, and the references.

All of it is ours: names out of documents are shown as they are, and are no markup. No model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from localrag.answering.originals import Originals
from localrag.answering.request import heading
from localrag.answering.tables_found import Found
from localrag.answering.tables_kinds import is_plural, plural_forms
from localrag.answering.tables_phrases import COLUMNS, CONCEPTS, PHRASES
from localrag.answering.tables_types import Cell, TableAnswer, TableRow
from localrag.answering.types import Citation
from localrag.documents import sentences
from localrag.plain import plain
from localrag.store.aggregates import TextPlace
from localrag.store.database import Store

SHOWN = 60
"""Most rows in the text; `TableAnswer.rows` has all."""

LONGEST_CELL = 300
"""Characters of a cell in the text."""

Tongue = Literal["en", "zh"]

_MARKUP = re.compile(r"([\\`*_<>\[\]|#])")
_LISTED = frozenset(
    {("name", "passages"), ("document", "passages"), ("tag", "documents"), ("type", "entities")}
)
"""Tables of a name and a number, which are shown as lists."""


def written(store: Store, found: Found, language: str, shown: int = SHOWN) -> TableAnswer:
    """The answer in the question's language, English or Chinese."""
    tongue: Tongue = "zh" if language == "zh" else "en"
    rows = found.rows[: min(shown, found.limit or shown)]
    citing = _Citing(store)
    marks = [citing.mark(row) for row in rows]
    if found.columns[0] == "document":
        # The rows are the documents; a list of references would say all of it again.
        marks = [""] * len(rows)
    parts = [_title(found, tongue, escaped=True), _body(found, rows, marks, tongue)]
    left = len(found.rows) - len(rows)
    if left and found.limit is None:
        parts.append(_filled(tongue, "more", {"n": left}))
    if note := _notes(found, tongue, escaped=True):
        parts.append(note)
    markdown = "\n\n".join(part for part in parts if part)
    if any(marks):
        lines = "\n".join(f"- [DC] {_shown(label)}" for label in citing.labels)
        markdown += f"{heading(tongue)}{lines}\n"
    return TableAnswer(
        title=_title(found, tongue, escaped=False),
        columns=found.columns,
        rows=found.rows,
        total=len(found.rows) if found.total is None else found.total,
        coverage=found.coverage,
        language=tongue,
        note=_notes(found, tongue, escaped=False),
        citations=tuple(citing.citations),
        markdown=markdown,
        provisional=found.provisional,
        headings={column: COLUMNS[tongue][column] for column in found.columns},
    )


class _Citing:
    """Gives documents their numbers, and makes citations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._originals = Originals(store)
        self._numbers: dict[str, int] = {}
        self.citations: list[Citation] = []
        """One for each row that has a place."""

    @property
    def labels(self) -> list[str]:
        """The documents in the order of their numbers."""
        return list(self._numbers)

    def mark(self, row: TableRow) -> str:
        """The mark of a row's document."""
        if row.place is None:
            return ""
        place = row.place
        name = plain(place.document)
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        start, end, text = self._sentence(place)
        self.citations.append(
            Citation(
                number=number,
                label=f"[DC] {name}",
                kind="document",
                document=place.document,
                page=place.page,
                start=start,
                end=end,
                text=text,
                heading=place.heading,
                state=self._originals.state(place.document_id),
            )
        )
        return f"[{number}]"

    def _sentence(self, place: TextPlace) -> tuple[int, int, str]:
        """The sentence around a place, so that a person can see what is said there."""
        chunks = self._store.chunks.many([place.chunk_id])
        if not chunks:
            return 0, 0, ""
        chunk = chunks[0]
        left, right = place.start - chunk.start, place.end - chunk.start
        borders = sentences.split(chunk.text)
        start = max((begin for begin, _ in borders if begin <= left), default=left)
        end = min((stop for _, stop in borders if stop >= right), default=right)
        return chunk.start + start, chunk.start + end, chunk.text[start:end]


def _body(found: Found, rows: tuple[TableRow, ...], marks: list[str], tongue: Tongue) -> str:
    if found.columns in _LISTED:
        unit = found.columns[1]
        return "\n".join(
            f"- {_shown(row.cells[0])}{_counted(int(row.cells[1]), unit, tongue)}{_mark(mark)}"
            for row, mark in zip(rows, marks, strict=True)
        )
    names = [COLUMNS[tongue][column] for column in found.columns]
    lines = [f"| {' | '.join(names)} |", f"|{'|'.join(' --- ' for _ in names)}|"]
    for row, mark in zip(rows, marks, strict=True):
        cells = [_shown(cell) for cell in row.cells]
        cells[0] += _mark(mark)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _mark(mark: str) -> str:
    return f" {mark}" if mark else ""


def _counted(number: int, unit: str, tongue: Tongue) -> str:
    return _filled(tongue, {"documents": "documents_of"}.get(unit, unit), {"n": number})


def _title(found: Found, tongue: Tongue, *, escaped: bool) -> str:
    """The sentence that counts; as Markdown if `escaped`."""
    values: dict[str, str | int] = {"n": len(found.rows)}
    for name, value in found.values.items():
        value = _kind_word(str(value), tongue) if name == "kind" else value
        values[name] = _shown(value) if escaped else value
    title = _filled(tongue, found.title, values)
    return title[:1].upper() + title[1:]


def _kind_word(kind: str, tongue: Tongue) -> str:
    """The word for several of what is counted."""
    if kind.startswith("concept:"):
        return CONCEPTS[tongue].get(kind.removeprefix("concept:"), CONCEPTS[tongue]["name"])
    if tongue == "en" and not is_plural(kind):
        return {"person": "people"}.get(kind, plural_forms(kind)[-1])
    return kind


def _notes(found: Found, tongue: Tongue, *, escaped: bool) -> str:
    """How it was found and what it rests on, in sentences; as Markdown if `escaped`."""
    notes = []
    for name, values in found.notes:
        given = {key: _shown(value) for key, value in values.items()} if escaped else values
        notes.append(_filled(tongue, name, given))
    return (" " if tongue == "en" else "").join(notes + _coverage(found, tongue))


def _coverage(found: Found, tongue: Tongue) -> list[str]:
    read, total = found.coverage.read, found.coverage.total
    if found.provisional:
        return [_filled(tongue, "provisional", {"total": total})]
    if found.rests_on_reading and read < total:
        return [_filled(tongue, "partly_read", {"read": read, "total": total})]
    return []


def _filled(tongue: Tongue, name: str, values: Mapping[str, str | int]) -> str:
    """One of our sentences with its values, which are put in once and are no templates themselves."""
    phrase = PHRASES[tongue][name]
    return re.sub(
        r"\{(\w+)\}",
        lambda match: f"{value:,}" if isinstance(value := values[match.group(1)], int) else str(value),
        phrase,
    )


def _shown(cell: Cell) -> str:
    """A cell as Markdown that shows it as it is: no link, no markup, one line."""
    if isinstance(cell, int):
        return f"{cell:,}"
    text = plain(cell)
    text = text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"
    return _MARKUP.sub(r"\\\1", text)
