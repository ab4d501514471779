"""Mends a damaged knowledge base for a screen, and says in words what was done and what was lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message_pump import MessagePump

from localrag.plain import plain
from localrag.tui.messages import call
from localrag.tui.words import Fault
from localrag.tui.work import plain_lane

if TYPE_CHECKING:
    from localrag.store.file_rows import RepairReport

MEND = """\
Mend this file? If anything is wrong with it, it is kept as it was beside the mended one. What cannot be \
saved is listed; nothing is made up."""


def is_damaged(path: Path) -> bool:
    """Whether a file is one of ours that cannot be opened because something is wrong in it; for a thread."""
    from localrag import errors
    from localrag.filing import describe

    others = (
        errors.KnowledgeBaseNotFound,
        errors.KnowledgeBaseReadOnly,
        errors.KnowledgeBaseBusy,
        errors.NewerFormat,
        errors.NotAKnowledgeBase,
    )
    try:
        describe(path)
    except others:
        return False
    except errors.KnowledgeBaseError:
        return True
    return False


def mend(
    target: MessagePump,
    path: Path,
    done: Callable[[str, str], object],
    failed: Callable[[Fault], object],
) -> None:
    """Mend a file that no session has open, in a thread; `done` gets a title and what was done, in words."""

    def job(_: None) -> None:
        from localrag.filing import repair

        title, words = mended_words(repair(path))
        call(target, lambda: done(title, words))

    # A lane of its own: a large file takes minutes, and paths are typed meanwhile.
    lane = plain_lane("mend")
    lane.submit(job, lambda fault: call(target, lambda: failed(fault)))
    lane.submit(lambda _: lane.close(), lambda fault: None)


def mended_words(report: RepairReport) -> tuple[str, str]:
    """A title, and what was done, lost and left."""
    name = plain(report.path.name)
    if report.left:
        title = f"{name} is not all right yet"
    elif report.salvaged:
        title = f"What can be read is in {name}"
    else:
        title = f"{name} is in order"
    parts = []
    for heading, sentences in (("Done", report.done), ("Lost", report.lost), ("Still wrong", report.left)):
        if sentences:
            parts.append("\n".join([heading, *(f"  {plain(sentence)}" for sentence in sentences)]))
    return title, "\n\n".join(parts) or "Nothing was wrong with it, and nothing was changed."
