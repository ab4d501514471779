"""A document as it is read on the screen: its text made harmless, its passages, and searching in it.

Made in a working thread; nothing here touches a widget.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from localrag.tui.wrapping import as_shown

if TYPE_CHECKING:
    from localrag.library import Finding, Opening, PassagePlace

Span = tuple[int, int]


@dataclass(frozen=True)
class Reading:
    """A document whose text is ready to be shown."""

    opening: Opening
    """As it is stored."""

    text: str
    """As it is shown: places in it are not those of the stored text."""

    spans: tuple[Span, ...]
    """Where the passages are in the shown text, in their order."""

    @property
    def starts(self) -> list[int]:
        """Where passages begin."""
        return [start for start, _ in self.spans]

    @property
    def failed(self) -> list[int]:
        """Where passages begin that could not be read."""
        pairs = zip(self.spans, self.opening.passages, strict=True)
        return [span[0] for span, passage in pairs if passage.state == "failed"]

    def with_passages(self, passages: Sequence[PassagePlace]) -> Reading | None:
        """The same with newer states of the passages; None if it was cut anew meanwhile."""
        if [(at.id, at.start, at.end) for at in passages] != [
            (at.id, at.start, at.end) for at in self.opening.passages
        ]:
            return None
        return replace(self, opening=replace(self.opening, passages=tuple(passages)))

    def shown(self, passage: int, spans: Sequence[Span]) -> list[Span]:
        """Where places of a passage's stored text are in the shown text."""
        stored = self.opening.passages[passage]
        text = self.opening.text[stored.start : stored.end]
        _, moved = as_shown(text, {place for span in spans for place in span})
        start, end = self.spans[passage]
        return [
            (min(start + moved[left], end), min(start + moved[right], end))
            for left, right in spans
            if left in moved and right in moved
        ]

    def line_of(self, passage: int) -> int:
        """The line of the file's text in which a passage begins, from 1."""
        stored = self.opening.passages[passage]
        return self.opening.text.count("\n", 0, stored.start) + 1


def prepare(opening: Opening) -> Reading:
    """Make a document ready to be shown."""
    places = [place for passage in opening.passages for place in (passage.start, passage.end)]
    text, moved = as_shown(opening.text, places)
    return Reading(opening, text, tuple((moved[at.start], moved[at.end]) for at in opening.passages))


def all_spans(findings: Sequence[Finding]) -> list[Span]:
    """The places of all that was found."""
    return [span for finding in findings for span in finding.spans]


def find(text: str, words: str, most: int = 10_000) -> list[Span]:
    """Where words stand in a text, whatever their case; blanks stand for any white space."""
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return []
    found = []
    for match in re.finditer(r"\s+".join(parts), text, re.IGNORECASE):
        found.append(match.span())
        if len(found) >= most:
            break
    return found
