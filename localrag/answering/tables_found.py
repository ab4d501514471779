"""What was found for a question that a table answers, before it is put into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from localrag.answering.tables_types import TableRow
from localrag.retrieval.types import Coverage


@dataclass(frozen=True)
class Found:
    """A complete list, or a count, as data."""

    title: str
    """Name of the sentence that says what it is; see tables_written.py."""

    values: Mapping[str, str | int]
    """What is filled into that sentence, beside `n`, the number of rows."""

    columns: tuple[str, ...]
    """Columns of the rows."""

    rows: tuple[TableRow, ...]
    """All rows, in order."""

    coverage: Coverage
    """How much of what counts the model has read."""

    total: int | None = None
    """What was counted, where that is not the number of rows."""

    notes: tuple[tuple[str, Mapping[str, str | int]], ...] = ()
    """Names of sentences that say how it was found, each with what is filled in."""

    rests_on_reading: bool = True
    """Whether passages that the model has not read could add to it."""

    provisional: bool = False
    """Whether names are told by their form alone."""

    limit: int | None = None
    """How many rows the text shows at most, where the question says so."""

    details: Mapping[str, str] = field(default_factory=dict)
    """For programs: how the question was understood."""
