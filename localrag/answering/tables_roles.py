"""Finds whom or what the texts themselves call so: "attorney Ann Hill", "Ann Hill, an attorney", 律师张三.

A word counts only where it stands for the name by grammar: right before it, behind it in apposition, or
behind "is a". A sentence that merely holds both does not count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from localrag.answering.tables_kinds import plural_forms
from localrag.documents import sentences
from localrag.store.aggregates import NamedPassage, TextPlace

_HAN = re.compile(r"[\u3400-\u9fff]")
_FIRST, _LAST = 0xE000, 0xF8FF
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_NAME = "[\ue000-\uf8ff]"
"""A name, each of which is put as one private character before patterns are looked for."""

_NO_ADJECTIVE = (
    r"(?!(?:of|to|for|with|by|from|against|at|in|on|whose|who|that|which|and|or|as|not|no|than|like|said|says|"
    r"asked|told|met|hired|between|about|into|over|under|near|but|nor)\b)"
)
_BETWEEN = rf"(?:(?:{_NO_ADJECTIVE}[^\W\d_][^\W_]*(?:['’-][^\W_]+)*) ){{0,3}}?"
_ARTICLE = r"(?:an?|the|one of the|our|their|his|her|its)"
_IS = (
    r"(?:is|was|are|were|became|remains|remained|has been|had been|works as|worked as|served as|serves as|"
    r"practised as|practiced as)"
)
_HAN_AND = "(?:、|和|与|與|及|以及|，)"
_HAN_IS = "(?:曾|曾经|也|都|均|又|现)?(?:是|为|為|系|任|担任|擔任|当|當|做|成为|成為)(?:了|过|過)?"
_HAN_ONE = "(?:[一两二三几]?[名位个個])?"
_HAN_BETWEEN = "(?:(?![不没沒和与與])[\u3400-\u9fff\ue000-\uf8ff]){0,8}?"
_HAN_PRAISE = "(?:(?:著名|资深|資深|知名|前|首席|执业|執業|年轻|年輕|老|女|男|高级|高級)的?){0,2}"


@dataclass(frozen=True)
class Called:
    """That a passage calls an entity so."""

    entity_id: int
    """The entity."""

    place: TextPlace
    """The sentence that does."""


def called(passages: Iterable[NamedPassage], role: str) -> Iterator[Called]:
    """Each entity that a passage calls by this word, with the first place; `role` is its plain form."""
    han = bool(_HAN.search(role))
    patterns = _han_patterns(role) if han else _patterns(role)
    noted = _noted_pattern(role, han=han)
    known: set[int] = set()
    for passage in passages:
        masked = _Masked(passage, role)
        for pattern in patterns if masked.names else ():
            for match in pattern.finditer(masked.text):
                found = _PRIVATE.findall(match.group("names"))
                if not han and match.group().casefold().endswith(role):
                    # One attorney: the name that stands nearest.
                    found = found[-1:]
                new = {entity for char in found for entity in masked.names[char]} - known
                if new:
                    known |= new
                    place = masked.sentence(match.start(), match.end())
                    yield from (Called(entity_id, place) for entity_id in sorted(new))
        for entity_id, name, _, description in passage.names:
            bare = description.strip().removeprefix(name).lstrip(" ,")
            if entity_id not in known and role in bare.casefold() and noted.match(bare):
                known.add(entity_id)
                yield Called(entity_id, passage.place)


class _Masked:
    """A passage in which every name is one character."""

    def __init__(self, passage: NamedPassage, role: str) -> None:
        self._passage = passage
        spelt: dict[str, set[int]] = {}
        for entity_id, name, _, _ in passage.names:
            if name and name.casefold() != role:
                spelt.setdefault(name, set()).add(entity_id)
        self.names: dict[str, set[int]] = {}
        """The entities of each character that stands for a name."""
        text = _PRIVATE.sub(" ", passage.text)
        spans: list[tuple[int, int, str]] = []
        taken = bytearray(len(text))
        longest = sorted(spelt, key=lambda name: (-len(name), name))[: _LAST - _FIRST]
        for place, name in enumerate(longest):
            start = text.find(name)
            while start >= 0:
                end = start + len(name)
                if not any(taken[start:end]) and _stands_alone(text, start, end):
                    taken[start:end] = b"\x01" * len(name)
                    spans.append((start, end, chr(_FIRST + place)))
                    self.names[chr(_FIRST + place)] = spelt[name]
                start = text.find(name, start + 1)
        spans.sort()
        pieces: list[str] = []
        self._starts: list[int] = []
        self._origins: list[int] = []
        length = behind = 0
        for start, end, char in spans:
            self._note(length, behind)
            pieces += [text[behind:start], char]
            length += start - behind
            self._note(length, start)
            length, behind = length + 1, end
        self._note(length, behind)
        pieces.append(text[behind:])
        self.text = "".join(pieces)
        """The text with the names as single characters."""
        self._borders: Sequence[tuple[int, int]] = ()

    def sentence(self, start: int, end: int) -> TextPlace:
        """The sentences that hold a stretch of the masked text."""
        self._borders = self._borders or sentences.split(self._passage.text)
        left, right = self._origin(start), self._origin(end)
        left = max((first for first, _ in self._borders if first <= left), default=left)
        right = min((last for _, last in self._borders if last >= right), default=right)
        place = self._passage.place
        return replace(place, start=place.start + left, end=place.start + right)

    def _note(self, masked: int, origin: int) -> None:
        self._starts.append(masked)
        self._origins.append(origin)

    def _origin(self, place: int) -> int:
        """Where a place of the masked text is in the passage."""
        nearest = bisect_right(self._starts, place) - 1
        return self._origins[nearest] + place - self._starts[nearest]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a name is not a part of a longer word; Chinese has no blanks between words."""
    before, after = text[start - 1 : start], text[end : end + 1]
    first, last = text[start], text[end - 1]
    return not (before.isalnum() and first.isascii()) and not (after.isalnum() and last.isascii())


def _patterns(role: str) -> list[re.Pattern[str]]:
    forms = [re.escape(form) for form in plural_forms(role)]
    word = f"(?i:\\b(?:{'|'.join(forms)}))"
    several = f"(?i:\\b(?:{'|'.join(forms[1:])}))"
    many = f"(?P<names>{_NAME}(?:(?:, and |, or |, | and | & |; ){_NAME})*)"
    # What follows the word: no other name, and nothing that is the attorney's.
    end = rf"(?![\w-]|['’]s?\b| {_NAME})"
    behind = r"(?=[.;,)\n]|\Z| (?:at|in|of|from|with|for)\b)"
    patterns = [
        rf"(?i:\b{forms[0]}) (?P<names>{_NAME})",
        rf"{several}(?: |: ?|, (?:namely|including) |, |\s*\n[-*• ]*){many}",
        rf"{many}(?: \(|, |,? [–—-] ?){_ARTICLE} {_BETWEEN}{word}{end}",
        rf"{many} {_IS} (?:(?:both|all) )?(?:{_ARTICLE} )?{_BETWEEN}{word}{end}",
        rf"(?P<names>{_NAME})(?: \(|, |: ?| [–—-] ){word}{behind}",
    ]
    return [re.compile(pattern) for pattern in patterns]


def _han_patterns(role: str) -> list[re.Pattern[str]]:
    word = re.escape(role)
    many = f"(?P<names>{_NAME}(?:{_HAN_AND}{_NAME})*)"
    # What follows the word: nothing that is the role's, and no other name.
    end = f"(?!的|们|們|事务|事務|{_NAME})"
    patterns = [
        f"{word}(?:们|們)?(?:有|包括|是|：|:)?{many}",
        f"{many}{word}{end}",
        f"{many}{_HAN_IS}{_HAN_ONE}{_HAN_BETWEEN}{word}{end}",
        f"{many}(?:，|,|（|\\(|——|：){_HAN_ONE}{_HAN_PRAISE}{word}{end}",
    ]
    return [re.compile(pattern) for pattern in patterns]


def _noted_pattern(role: str, *, han: bool) -> re.Pattern[str]:
    """What was noted of a name by a model: "An attorney who …"."""
    word = re.escape(role)
    if han:
        return re.compile(f"(?:是|为)?{_HAN_ONE}{_HAN_BETWEEN}{word}(?:[，。,；]|\\Z)")
    return re.compile(
        rf"(?i:(?:{_IS} )?{_ARTICLE} {_BETWEEN}{word})(?=[.,;]|\Z| (?:who|at|in|of|from|with|for)\b)"
    )
