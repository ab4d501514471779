"""Steps: what may be written next, and the small pieces of grammar text that all drivers share.

Grammars are in llguidance's Lark dialect (https://github.com/guidance-ai/llguidance). Its lexer takes the
longest match, so no field's alphabet holds the first character of what closes the field; where it must,
as with names that hold blanks before a separator that begins with one, the closer is part of the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Step:
    """What may be written next."""

    name: str
    """Name of the segment; empty if the text decides it."""

    lark: str = ""
    """Grammar, unless `schema` is given."""

    schema: str = ""
    """JSON schema as JSON text."""

    joins: bool = False
    """Whether the text belongs to the segment before."""

    watch: Literal["", "text", "record"] = ""
    """How repetitions are looked for: `text` ends a running text where it begins to repeat itself, `record`
    shortens a record that does, or takes it back, and takes back those that repeat others. Empty where the
    grammar leaves no room for them."""

    opener: str = ""
    """What stands before a text field of a record."""

    closers: tuple[str, ...] = ()
    """What may stand behind a text field of a record."""


class Driver(Protocol):
    """Goes through the segments of one output."""

    def first(self) -> Step:
        """The first step."""

    def following(self, text: str) -> Step | None:
        """The step after one whose text was `text`; None ends the output."""

    def segment_name(self, step: Step, text: str) -> str:
        """The name of the segment that `step` wrote as `text`."""

    def prose(self, text: str) -> tuple[str, str]:
        """The kind and the free text of the record that the step which wrote `text` has finished; empty
        where it finished none."""

    def skip(self, text: str) -> Step | None:
        """The step after a record that is taken back; `text` is what its last step has written. No more of
        its kind are written."""


class PlainSegments:
    """What drivers without records have in common."""

    def segment_name(self, step: Step, text: str) -> str:
        """As the step says."""
        return step.name

    def prose(self, text: str) -> tuple[str, str]:
        """There are no records."""
        return "", ""

    def skip(self, text: str) -> Step | None:
        """There are no records to take back."""
        return None


def literal(text: str) -> str:
    """A Lark string literal for any text."""
    # JSON leaves the delete character as it is, and the reader of grammars refuses it.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def alternatives(texts: Sequence[str]) -> str:
    """A Lark alternation of literals."""
    return " | ".join(literal(text) for text in texts)


def inside_set(chars: str) -> str:
    """Characters as they stand between the brackets of a regular expression."""
    return "".join(f"\\{char}" if char in "\\[]^-/" else char for char in chars)


def any_of(texts: Sequence[str]) -> str:
    """A regular expression for one of some texts; empty for none."""
    escaped = [
        "".join(f"\\{char}" if char in "\\[](){}^$.*+?|/-" else char for char in text) for text in texts
    ]
    return f"({'|'.join(escaped)})" if escaped else ""
