"""Makes a typed question fit for searching and for the prompt."""

from __future__ import annotations

import unicodedata

from localrag.errors import UsageError

LONGEST = 20_000
"""Most characters of a question."""


def clean_question(question: str) -> str:
    """The question without control characters and blanks around it, well-formed.

    Line breaks and tabs stay, lone surrogates become U+FFFD, other control and format characters a blank
    or nothing. Raises `UsageError` if nothing is left or it is longer than `LONGEST`.
    """
    if len(question) > LONGEST:
        raise UsageError(
            f"The question has {len(question):,} characters; at most {LONGEST:,} can be asked.",
            "Shorten it, or put the text into a file and add that.",
        )
    text = "".join(_visible(char) for char in question.replace("\r\n", "\n")).strip()
    if not any(char.isalnum() or unicodedata.category(char)[0] == "S" for char in text):
        raise UsageError("The question is empty.", 'Write it in words, such as: localrag ask "Who is Anna?"')
    return text


def _visible(char: str) -> str:
    if char in "\n\t":
        return char
    category = unicodedata.category(char)
    if category == "Cs":
        return "\ufffd"
    # Zero-width joiners shape words of some scripts; marks that turn the direction of text do not.
    if category == "Cf":
        return char if char in "\u200c\u200d" else ""
    return " " if category == "Cc" else char
