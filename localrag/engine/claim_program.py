"""What a model may write about claims, as plain data; `claims.py` turns it into grammars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

NONE = "NONE"
"""Stands for an object or a date that there is none of."""

STATUSES = ("TRUE", "FALSE", "SUSPECTED")
"""Whether a text says that it is so, that it is not, or leaves it open."""

RESERVED = (*STATUSES, NONE)
"""What is no type of a claim, since another field means something by it."""

MAX_SENTENCES = 40
"""Most numbered sentences, so that the grammar stays small."""


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-"
_LONGEST_WORD = 16


def _beginning_otherwise(words: tuple[str, ...]) -> str:
    """A regular expression for words of capitals, of two letters or more, that begin with none of some.

    Written out letter by letter, since grammars of servers have no word for "but not".
    """
    ways = []
    for begin in sorted({word[:length] for word in words for length in range(len(word))}):
        if len(begin) > 1:
            ways.append(begin)
        known = {word[len(begin)] for word in words if word.startswith(begin)}
        others = "".join(letter for letter in _LETTERS if letter not in known and (begin or letter != "-"))
        least = 0 if begin else 1
        ways.append(f"{begin}[{others}][A-Z-]{{{least},{_LONGEST_WORD - len(begin) - 1}}}")
    return "|".join(ways)


OWN_TYPE = f"({_beginning_otherwise(RESERVED)})( [A-Z][A-Z-]{{0,15}}){{0,2}}"
"""A type in the model's own words: one to three, in capitals, of which the first begins with none of
`RESERVED`; a small model that is kept from writing NONE alone writes NONEUNKNOWN."""


@dataclass(frozen=True)
class ClaimSentence:
    """What a claim can say that rests on one sentence."""

    names: tuple[str, ...]
    """Whom the sentence speaks of, as subjects and objects are written."""

    periods: tuple[tuple[str, str], ...] = ()
    """The times that it names: first and last day, either may be empty."""


@dataclass(frozen=True)
class ClaimRecords:
    """Claims as records, then the completion mark:

        1 (SUBJECT<|>OBJECT<|>TYPE<|>TRUE<|>2018-03-01T00:00:00<|>2018-03-31T00:00:00<|>description<|>1, 2)##

    The sentence comes first: who a claim is about and when it was are then what that sentence says, and the
    quotes begin with it. Each record is one segment named `claim`, the mark is a segment `complete`. No two
    claims agree in subject, object, type, status and sentence, and no claim is about one entity twice.
    """

    subjects: tuple[str, ...]
    """Whom a claim can be about, in capitals where the script has them; distinct."""

    objects: tuple[str, ...]
    """Whom it can concern beside NONE."""

    sentences: tuple[ClaimSentence, ...]
    """What can be quoted, numbered from 1; at most `MAX_SENTENCES`."""

    alike: tuple[tuple[str, ...], ...] = ()
    """Groups of names that are one entity."""

    types: tuple[str, ...] = ()
    """What a claim can be; empty for words of the model's own."""

    type_pattern: str = OWN_TYPE
    """A regular expression for these words."""

    free_dates: bool = False
    """Whether the model can write any day that the calendar has, the last not before the first, in place of
    the periods of the sentence."""

    description_chars: int = 200
    """Most characters of the description."""

    description_pattern: str = ""
    """A regular expression for it in place of any line of text."""

    maximum: int = 8
    """Most claims."""

    max_quotes: int = 3
    """Most sentences that one claim quotes."""

    tuple_delimiter: str = "<|>"
    """Between fields."""

    record_delimiter: str = "##"
    """Behind each record."""

    completion_delimiter: str = "<|COMPLETE|>"
    """Behind the last."""

    kind: Literal["claims"] = "claims"


def claim_records(data: dict[str, Any]) -> ClaimRecords:
    """The program in JSON-ready data."""
    lists = {key: tuple(data[key]) for key in ("subjects", "objects", "types")}
    sentences = tuple(
        ClaimSentence(tuple(item["names"]), tuple((pair[0], pair[1]) for pair in item["periods"]))
        for item in data["sentences"]
    )
    alike = tuple(tuple(group) for group in data["alike"])
    return ClaimRecords(**{**data, **lists, "sentences": sentences, "alike": alike})
