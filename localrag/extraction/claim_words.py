"""The words of a claim: names as the text writes them, and no day that the calendar does not have.

Records show names in capitals, and small models carry capitals and moments from there into their sentences.
"""

from __future__ import annotations

import re

from localrag.extraction.dates import no_days

_CAPITALS = re.compile(r"(?<!\w)[^\W\d_a-z][^\W_a-z]+(?!\w)")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?", re.ASCII)


def as_written(description: str, text: str) -> str:
    """The description with words in capitals, and moments, as the text or a person would write them.

    A word in capitals that the text has in other letters only is written as there; one that it has in
    capitals too, or not at all, stays.
    """

    def word(match: re.Match[str]) -> str:
        return _writing(match[0], text)

    return _CAPITALS.sub(word, _MOMENT.sub(r"\1", description))


def impossible_days(description: str, quoted: str) -> list[str]:
    """Days that the description names, the calendar does not have, and the quoted words do not name."""
    return [day for day in no_days(description) if day not in quoted]


def _writing(word: str, text: str) -> str:
    if word != word.upper() or word == word.lower():
        return word
    pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
    if re.search(pattern, text):
        return word
    found = re.search(pattern, text, re.IGNORECASE)
    return found[0] if found else word
