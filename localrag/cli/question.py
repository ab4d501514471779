"""The words of a question, as they are given behind a command or through stdin."""

from __future__ import annotations

import sys

from localrag.errors import UsageError


def question_from(words: tuple[str, ...]) -> str:
    """The question; `-` alone reads it from stdin. Raises `UsageError` for an empty one."""
    if words == ("-",):
        # Bytes, so that a text in another encoding than the terminal's does no harm.
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    text = " ".join(words)
    if not text.strip():
        raise UsageError("The question is empty.", 'Write it behind the command: localrag ask "Who is Anna?"')
    return text


def shortened(text: str, most: int = 100) -> str:
    """The beginning of a text on one line, cut between words where it has blanks."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    cut = line[:most]
    return f"{cut[: cut.rindex(' ')] if ' ' in cut[most // 2 :] else cut}…"
