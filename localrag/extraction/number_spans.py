"""Numbers in text with blanks between words, for type lists that have amounts among their types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from localrag.extraction.word_spans import Span

_SCORE = 3.0
_COUNTS = re.compile(
    r"(?<![\w.,-])(\d[\d,.]*(?<![.,])|(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|one|[a-z]{3,5}teen"
    r"|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundreds?|thousands?|dozens?)\b)(?![\w%])"
    r"(?:[ -]([a-z]+)\b(?:[ -]([a-z]+)\b)?)?",
    re.IGNORECASE,
)


def number_spans(text: str) -> Iterator[Span]:
    """Numbers, written in digits or as a word, alone and with what they count."""
    for match in _COUNTS.finditer(text):
        yield Span(match.start(), match.end(1), _SCORE, False, "amount")
        for group in (2, 3):
            if match.group(group):
                yield Span(match.start(), match.end(group), _SCORE, False, "amount")
