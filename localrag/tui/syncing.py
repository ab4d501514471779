"""What a comparison with the followed folders found, in words and as rows of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrag.tui.widgets.cells import Row, Toned
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.kb import SyncReport


def changes(report: SyncReport) -> int:
    """How much would be done, beside trying in vain what fails."""
    return sum(
        map(len, (report.added, report.changed, report.moved, report.copied, report.deleted)),
    )


def in_words(report: SyncReport) -> str:
    """What was done, in a sentence."""
    kinds = (
        (len(report.added), "new"),
        (len(report.changed), "changed"),
        (len(report.moved), "moved"),
        (len(report.copied), "further copies"),
        (len(report.deleted), "deleted"),
        (len(report.failed), "failed"),
        (len(report.kept), "kept although their file is gone"),
    )
    words = ", ".join(f"{number:,} {word}" for number, word in kinds if number)
    rest = f"{count(report.unchanged, 'file')} unchanged"
    stopped = "Stopped before the end. " if report.cancelled else ""
    return f"{stopped}{words}; {rest}." if words else f"{stopped}Nothing has changed; {rest}."


def as_rows(report: SyncReport) -> list[Row]:
    """What would be done with each document, what takes most away first, and why where that is known."""
    rows: list[Row] = [(Toned("delete", "bad"), path, "its file is gone") for path in report.deleted]
    rows += [(Toned("new", "good"), path, "") for path in report.added]
    rows += [(Toned("changed", "busy"), path, "read anew where it differs") for path in report.changed]
    rows += [("moved", path, f"was {before}") for path, before in report.moved]
    rows += [("copy", path, f"same as {first}") for path, first in report.copied]
    rows += [(Toned("fails", "bad"), path, reason) for path, reason in report.failed]
    rows += [("kept", path, reason) for path, reason in (*report.kept, *report.closed)]
    rows += [("hidden", path, reason) for path, reason in report.hidden]
    rows += [(Toned("skipped", "faint"), path, reason) for path, reason in report.skipped]
    return rows
