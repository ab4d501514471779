"""A table that answers a question, and the rows that it is made of."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from localrag.answering.types import Citation
from localrag.retrieval.types import Coverage
from localrag.store.aggregates import TextPlace

Cell = str | int
"""What stands in a column of a row."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


@dataclass(frozen=True)
class TableRow:
    """One row of a table, with the place that names what it is about."""

    cells: tuple[Cell, ...]
    """One for each column."""

    place: TextPlace | None = None
    """Where a document names it; None where no text does, as for a tag."""

    def to_json(self, columns: tuple[str, ...]) -> dict[str, Any]:
        """The row for programs: its cells by column, then the place."""
        cells = dict(zip(columns, self.cells, strict=True))
        if self.place is None:
            return cells
        place = self.place
        return cells | {
            "source": {
                "document": place.document,
                "page": place.page,
                "start": place.start,
                "end": place.end,
            }
        }


@dataclass(frozen=True)
class TableAnswer:
    """An answer that comes from the tables of the knowledge base and not from a model."""

    title: str
    """One line that says what is listed or counted, with the number, in the question's language."""

    columns: tuple[str, ...]
    """Names of the columns for programs, such as `name` and `passages`."""

    rows: tuple[TableRow, ...]
    """All rows, sorted; the text shows the first of them."""

    total: int
    """What was counted; for a list the number of rows."""

    coverage: Coverage
    """How much of what counts the model has read."""

    language: str
    """`en` or `zh`: the language of all its words."""

    note: str = ""
    """How it was found and what it rests on, in sentences; empty where nothing has to be said."""

    citations: tuple[Citation, ...] = ()
    """A place for each row that the text shows; those of one document share a number."""

    markdown: str = ""
    """The whole answer as it is shown, with its list of references."""

    provisional: bool = False
    """Whether the model has not read the texts, so that names are told by their form alone."""

    headings: Mapping[str, str] = field(default_factory=dict)
    """What stands above the columns, in the question's language."""

    def to_json(self) -> dict[str, Any]:
        """The table for programs: all rows, each with its place."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [row.to_json(self.columns) for row in self.rows],
            "total": self.total,
            "coverage": {"read": self.coverage.read, "total": self.coverage.total},
            "note": self.note,
            "provisional": self.provisional,
        }

    def to_csv(self) -> str:
        """All rows as CSV, with the place of each behind its columns.

        A cell that a spreadsheet would take for a formula gets an apostrophe before it.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, "source_document", "source_page", "source_start", "source_end"])
        for row in self.rows:
            place: tuple[Cell, ...] = ("", "", "", "")
            if row.place is not None:
                page = "" if row.place.page is None else row.place.page
                place = (row.place.document, page, row.place.start, row.place.end)
            writer.writerow([_safe(cell) for cell in (*row.cells, *place)])
        return text.getvalue()


def _safe(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
