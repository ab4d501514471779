"""What is said in a notification when files were added or an index run has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrag.plain import plain
from localrag.tui.syncing import in_words
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.adding import AddReport
    from localrag.tui.app import LocalragApp
    from localrag.tui.messages import AddEnded, IndexEnded


def tell_of_addition(app: LocalragApp, message: AddEnded) -> None:
    """Say what came in, or why nothing did."""
    report = message.report
    if message.fault is not None:
        app.show_fault(message.fault)
    elif report is not None:
        words = addition_words(report) if message.synced is None else in_words(message.synced)
        if report.failed or (message.synced is None and not report.added + report.changed):
            app.notify(words, severity="warning", markup=False)
        else:
            app.notify(words, markup=False)


def addition_words(report: AddReport) -> str:
    """What came in, in a line, and the first thing that did not in a second."""
    words = [f"{count(report.added + report.changed, 'document')} added"]
    if report.unchanged:
        words.append(f"{report.unchanged:,} unchanged")
    kinds = (
        (report.moved, "moved"),
        (report.copied, "with the content of others"),
        (report.skipped, "skipped"),
        (report.failed, "failed"),
    )
    words += [f"{len(found):,} {word}" for found, word in kinds if found]
    first = next(iter((*report.failed, *report.skipped)), None)
    more = f"\n{plain(first[0])}: {plain(first[1])}" if first else ""
    return f"{', '.join(words)}.{more}"


def tell_of_index_run(app: LocalragApp, message: IndexEnded) -> None:
    """Say what was read, or why nothing was; not where the place of reading says it better."""
    if getattr(app.screen, "PLACE", "") == "index":
        return
    report = message.report
    if message.fault is not None:
        app.show_fault(message.fault)
    elif report is None or report.cancelled:
        app.notify("Indexing was stopped. What was read is kept.", markup=False)
    else:
        words = f"{count(report.read, 'chunk')} read." if report.read else "Nothing was left to read."
        if report.failed:
            words += f" {count(report.failed, 'chunk')} could not be read; another run tries them again."
        app.notify(words, title="Indexing is done", markup=False)
