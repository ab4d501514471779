"""Conversations of the file, read and written in a working thread: as turns, and as a Markdown file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrag.errors import UsageError
from localrag.plain import plain
from localrag.tui.choices import Choices, choices_of
from localrag.tui.turns import TurnRecord, facts

if TYPE_CHECKING:  # these modules bring NumPy, which the first paint does not wait for
    from localrag.answering.types import Citation
    from localrag.kb import KnowledgeBase
    from localrag.store.talk_rows import CitationRow, MessageRow

_LONGEST_NAME = 60
_NO_NAME = re.compile(r"[^\w\- ]+")


@dataclass(frozen=True)
class Talk:
    """A conversation that was read from the file."""

    id: int
    """Its id."""

    title: str
    """A name for people."""

    records: tuple[TurnRecord, ...]
    """Its turns, the oldest first."""

    choices: Choices
    """How its last question was asked."""


def read_talk(kb: KnowledgeBase, conversation: int) -> Talk:
    """A conversation with its turns. Raises `UsageError` if it is not there."""
    from localrag.answering.options import from_json

    row, messages = kb.sessions.get(conversation), kb.sessions.messages(conversation)
    asked = [message for message in messages if message.role == "user"]
    options = asked[-1].details.get("options", {}) if asked else {}
    choices = choices_of(kb, from_json(options))
    return Talk(row.id, row.title, tuple(records_of(messages)), choices)


def records_of(messages: Sequence[MessageRow]) -> list[TurnRecord]:
    """Messages as turns. Each answer belongs to the question before it."""
    records: list[TurnRecord] = []
    answers = 0
    for message in messages:
        if message.role == "user":
            number = -len(records) - 1
            records.append(
                TurnRecord(
                    number,
                    message.text,
                    state="lost",
                    rewritten=str(message.details.get("rewritten") or ""),
                    conversation=message.session_id,
                    message=message.id,
                )
            )
            continue
        answers += 1
        if records:
            _answer(records[-1], message, answers)
    return records


def _answer(record: TurnRecord, message: MessageRow, place: int) -> None:
    """Add a stored answer to its question."""
    record.text, record.state, record.place = message.text, message.state, place
    record.citations = tuple(_citation(row) for row in message.citations)
    record.gone = frozenset(at for at, row in enumerate(message.citations) if row.gone)
    details = message.details
    if message.state == "whole" and details:
        coverage: dict[str, Any] = details.get("coverage") or {}
        record.facts = facts(
            str(details.get("mode", "")),
            "",
            (int(coverage.get("read", 0)), int(coverage.get("total", 0))),
            float((details.get("seconds") or {}).get("total", 0.0)),
            str(details.get("model", "")),
        )
    if details.get("kept"):
        record.note("This answer was kept from an earlier question.")


def _citation(row: CitationRow) -> Citation:
    from localrag.answering.types import Citation

    return Citation(
        number=row.number,
        label=row.label or f"[{row.kind}]",
        kind=row.kind,
        document=row.document,
        page=row.page,
        start=row.start,
        end=row.end,
        text=row.text,
        state="gone" if row.gone else "unknown",
    )


def file_name(title: str) -> str:
    """A name for the file that a conversation is written to."""
    words = " ".join(_NO_NAME.sub(" ", plain(title)).split())[:_LONGEST_NAME].strip()
    return f"{words.replace(' ', '-').lower() or 'conversation'}.md"


def write_markdown(path: Path, text: str, *, replace: bool) -> Path:
    """Write a file that only its owner can read.

    Raises `UsageError` if it is there and may not be replaced, or cannot be written.
    """
    flags = os.O_CREAT | os.O_WRONLY | (os.O_TRUNC if replace else os.O_EXCL)
    try:
        descriptor = os.open(path, flags, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{plain(str(path))} is there already.", THERE_ALREADY) from None
    except OSError as error:
        said = error.strerror or str(error)
        raise UsageError(f"{plain(str(path))} cannot be written: {said}.", "Choose another name.") from error
    return path


THERE_ALREADY = "Press enter again to replace it, or choose another name."
"""What to do where a file is there; see `write_markdown`."""
