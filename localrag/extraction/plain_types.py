"""Plain words for types: what a small model is shown for `Peop`, `ORG`, `musicalartist` or `Work_For`.

People and tools abbreviate types, write words together, or join them by signs. A small model makes nothing of
such a word and turns to Other. It is shown the plain word; what is stored stays the person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from localrag.extraction.lexicon import english_words

_WORDS: Mapping[str, str] = {
    "corp": "company",
    "corporation": "company",
    "dat": "date",
    "doc": "document",
    "evt": "event",
    "fac": "building",
    "facility": "building",
    "geo": "location",
    "gpe": "country or city",
    "ins": "institution",
    "inst": "institution",
    "lang": "language",
    "loc": "location",
    "locs": "location",
    "mon": "money",
    "mny": "money",
    "norp": "nationality or group",
    "num": "number",
    "nums": "number",
    "org": "organization",
    "organizations": "organization",
    "orgs": "organization",
    "peop": "person",
    "people": "person",
    "peoples": "person",
    "per": "person",
    "pers": "person",
    "persons": "person",
    "plc": "place",
    "prod": "product",
    "prof": "profession",
    "prog": "program",
    "qty": "quantity",
    "tech": "technology",
    "tim": "time",
    "tme": "time",
    "uni": "university",
    "univ": "university",
    "veh": "vehicle",
    "wea": "weapon",
    "woa": "work of art",
}
"""What is shown for a type, in small letters on both sides."""

_PARTS: Mapping[str, str] = {
    "lang": "language",
    "org": "organization",
    "loc": "location",
    "tech": "technology",
}
"""Short parts of words that are written together, as they are shown."""

REST = frozenset({"misc", "miscellaneous", "others", "miscellany", "杂项", "其它"})
"""Types for what fits no other: the model's Other stands for them."""

_JOINTS = re.compile(r"_+|(?<=[a-z])(?=[A-Z])")
_LEAST_PART = 3
_RARE = 9


def plain_words(types: Iterable[str]) -> dict[str, str]:
    """For each type the words to show; all different, whatever their case.

    A type whose plain word is taken, or that has none, is shown as it is.
    """
    given = list(dict.fromkeys(types))
    taken = {name.casefold() for name in given}
    shown: dict[str, str] = {}
    for name in given:
        word = plain_word(name)
        if word.casefold() in taken and word.casefold() != name.casefold():
            word = name
        taken.add(word.casefold())
        shown[name] = word
    return shown


def plain_word(name: str) -> str:
    """The words for one type; the type itself where it is plain already."""
    parts = [part.lower() for part in _JOINTS.split(name) if part]
    if len(parts) > 1:
        return " ".join(_WORDS.get(part, part) for part in parts)
    known = _WORDS.get(name.casefold())
    if known is None and name.isupper() and name.lower() in english_words():
        return name.lower()
    return known or _parted(name)


def _parted(name: str) -> str:
    """One word that is two written together, with a blank between them."""
    if not (name.isascii() and name.isalpha() and name.islower()) or name in english_words():
        return name
    cuts = []
    for cut in range(_LEAST_PART, len(name) - _LEAST_PART + 1):
        left, right = name[:cut], name[cut:]
        if left in english_words() and (right in english_words() or right in _PARTS):
            cuts.append((_rank(left) + _rank(right), left, _PARTS.get(right, right)))
    return " ".join(min(cuts)[1:]) if cuts else name


def _rank(word: str) -> int:
    """How rare a word is: the table's digit."""
    return int(english_words().get(word, f"X{_RARE}")[-1])
