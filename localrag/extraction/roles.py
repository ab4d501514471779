"""Parts capitalised words where an office stands between a body and a person: Navy Capt. Ann Hill."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.extraction.tokens import Token
from localrag.extraction.words import OFFICE_TITLES, OFFICES, SHORT_OFFICES

_BEHIND_OFFICES = frozenset(["general", "designate", "elect"])


def without_offices(words: Sequence[Token]) -> list[list[Token]]:
    """The capitalised words before an office and those behind it, the office left out.

    A title that people often count to the name, such as President, stays with what follows. Words without an
    office come back as they are; so does an office with nothing before it and one word behind: Judge Dredd.
    """
    parts: list[list[Token]] = [[]]
    place = 0
    while place < len(words):
        end = _office_end(words, place)
        if end > place:
            parts.append([])
            place = end
            continue
        if place and _word(words[place]) in OFFICE_TITLES and _is_name(words, place + 1) and parts[-1]:
            parts.append([])
        parts[-1].append(words[place])
        place += 1
    found = [part for part in parts if part]
    return found if len(found) > 1 or (len(found) == 1 and len(found[0]) < len(words)) else [list(words)]


def _office_end(words: Sequence[Token], place: int) -> int:
    """Where an office that begins here ends; the same place if none does, or if it is part of a name."""
    end = place
    while end < len(words) and _is_office(words[end]):
        end += 1
    while end > place and end < len(words) and _word(words[end]) in _BEHIND_OFFICES:
        end += 1
    if end == place or not _is_name(words, end):
        return place
    abbreviated = any(_word(word) in SHORT_OFFICES and word.text.endswith(".") for word in words[place:end])
    # An office in full before one word may be a name of another kind: Director Street, Captain America.
    return end if abbreviated or _is_name(words, end + 1) else place


def _is_office(word: Token) -> bool:
    name = _word(word)
    return name in OFFICES or (name in SHORT_OFFICES and word.text.endswith("."))


def _is_name(words: Sequence[Token], place: int) -> bool:
    return place < len(words) and words[place].text[:1].isupper()


def _word(token: Token) -> str:
    return token.text.lower().rstrip(".")
