"""How two folded names may mean the same: initials, part of a person's name, legal form, spelling.

Nothing here knows a document. `features` are what two names that may be related share, so that nobody has to
compare all names with all; `relation` says how two of them are related, if at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from localrag.graph.names import CJK, fold

Kind = Literal["said", "initials", "part", "title", "middle", "form", "spelling", "contained"]
"""`said`: a text says it; `initials`: UN, United Nations; `part`: Holmes, Sherlock Holmes; `title`: Mrs Lind,
Marta Lind; `middle`: John Doe, John T. Doe; `form`: 阿里巴巴, 阿里巴巴集团; `spelling`: the same letters;
`contained`: words of a longer name."""

_GROUPS = {
    "person": "person per people human character persons 人 人物 人名 角色 人员",
    "organization": "organization organisation org company corporation institution agency team 组织 机构 "
    "公司 企业 组织机构 团体 組織 機構",
    "place": "place location loc geo gpe city country region state town village fac 地点 地名 位置 地区 "
    "国家 城市 地理位置 地點 國家",
    "time": "time date year number num quantity 时间 日期 数字 年份 時間",
    "": "other misc miscellaneous unknown concept thing entity object 其他 其它 概念 事物 未知",
}
_GROUP_OF = {word: group for group, words in _GROUPS.items() for word in words.split()}

_SMALL = frozenset(
    [
        "of",
        "the",
        "and",
        "for",
        "in",
        "on",
        "at",
        "to",
        "de",
        "la",
        "le",
        "du",
        "des",
        "der",
        "die",
        "und",
        "von",
        "van",
        "y",
        "e",
    ]
)
_GENERATION = frozenset(["jr", "sr", "ii", "iii", "iv", "junior", "senior"])
_HONOURS = frozenset(["phd", "md", "esq", "cbe", "mbe", "obe", "kbe", "mc", "qc", "kc", "mp", "frs"])
_TITLES = frozenset(
    [
        "mrs",
        "ms",
        "miss",
        "mme",
        "madame",
        "lady",
        "lord",
        "sir",
        "king",
        "queen",
        "prince",
        "princess",
        "saint",
        "st",
    ]
)
_FORMS = frozenset(
    [
        "inc",
        "incorporated",
        "corp",
        "corporation",
        "co",
        "company",
        "ltd",
        "limited",
        "llc",
        "llp",
        "plc",
        "gmbh",
        "ag",
        "sa",
        "nv",
        "bv",
        "oy",
        "ab",
        "spa",
        "kg",
        "pty",
        "group",
        "holding",
    ]
)
_HAN_FORM = re.compile(
    r"(?:股份有限公司|有限责任公司|控股集团|集团公司|有限公司|集团|公司|股份|控股|股份有限公司|集團公司|集團|有限責任公司)$"
)
_HAN_PLACE = re.compile(r"(?:自治区|自治區|特别行政区|市|省|县|縣|区|區|镇|鎮|乡|鄉|州|国|國)$")
_HAN = re.compile(rf"[{CJK}]+")
_BLANK = re.compile(r"[\W_]+")
_LONGEST_INITIALS = 6
_SHARED_LETTERS = 8


@dataclass(frozen=True)
class Profile:
    """What is known of a folded name, within a document or within all."""

    key: str
    """The folded name."""

    names: frozenset[str]
    """How it is written."""

    types: frozenset[str]
    """The types that it was given, as read."""

    @cached_property
    def groups(self) -> frozenset[str]:
        """Its types as groups: `person`, `organization`, `place`, `time`, or the type itself; without those
        that say nothing."""
        return groups_of(self.types)

    @cached_property
    def shouted(self) -> bool:
        """Whether it is somewhere written in capitals alone, as initials are."""
        return any(name.isupper() for name in self.names)


def groups_of(types: Iterable[str]) -> frozenset[str]:
    """Types as groups; see `Profile.groups`."""
    folded = (kind.strip().casefold() for kind in types)
    return frozenset(group for kind in folded if (group := _GROUP_OF.get(kind, kind)))


@dataclass(frozen=True)
class Relation:
    """How a lesser name is related to a fuller one."""

    kind: Kind
    """In which way."""

    lesser: str
    """Key of the name that is only part of, or short for, the other."""

    fuller: str
    """Key of the other one."""


def agree(one: Profile, other: Profile) -> bool | None:
    """Whether two names have a group of types in common; None where one has none that says anything."""
    if not one.groups or not other.groups:
        return None
    return bool(one.groups & other.groups)


@lru_cache(maxsize=65_536)
def features(key: str, *, person: bool, shouted: bool) -> frozenset[str]:
    """What related names have in common, each a short text; for a name that is a person's or not."""
    words = key.split()
    if not words:
        return frozenset()
    found = {f"c:{_squeezed(_core(key))}", f"w:{words[-1]}", f"w:{_folded(words[0])}"}
    if _is_initials(key, shouted=shouted):
        found.add(f"i:{key}")
    found.update(f"i:{initials}" for initials in _initials(words))
    found.add(f"w:{_bare(words)[-1]}")
    if person and _HAN.fullmatch(key):
        found.add(f"s:{key}")
        found.update(f"s:{part}" for part in _han_parts(key))
    return frozenset(found)


def relation(one: Profile, other: Profile) -> Relation | None:
    """How two names are related, the surest way first; None if in no way that is known.

    Types are looked at only where a way is for persons, organisations or places alone.
    """
    if one.key == other.key or _numbers(one.key) != _numbers(other.key):
        return None
    lesser, fuller = sorted((one, other), key=lambda item: (len(item.key), item.key))
    short, long = lesser.key.split(), fuller.key.split()
    groups = lesser.groups | fuller.groups
    kind: Kind | None = None
    if len(long) > 1 and _is_initials(lesser.key, shouted=lesser.shouted) and lesser.key in _initials(long):
        kind = "initials"
    elif _squeezed(lesser.key) == _squeezed(fuller.key) or (
        "time" in groups and sorted(short) == sorted(long)
    ):
        kind = "spelling"
    elif _squeezed(_core(lesser.key)) == _squeezed(_core(fuller.key)) and _same_form(lesser, fuller):
        kind = "form"
    elif "person" in fuller.groups and ("person" in lesser.groups or not lesser.groups):
        kind = _person_relation(short, long)
    elif len(short) > 1 and _holds(long, short) and groups - {"person", "time"}:
        kind = "contained"
    return None if kind is None else Relation(kind, lesser.key, fuller.key)


def compatible(one: str, other: str) -> bool:
    """Whether two names of persons may be one person's: the same, or one with less of the middle."""
    return one == other or _middle(one.split(), other.split()) or _middle(other.split(), one.split())


def _person_relation(short: list[str], long: list[str]) -> Kind | None:
    if len(long) == 1 and len(short) == 1:
        return "part" if short[0] in _han_parts(long[0]) else None
    bare = _bare(long)
    if short[0] in _TITLES and len(short) == 2 and len(bare) > 1:
        return "title" if bare[-1] == short[-1] and bare[0] not in _TITLES else None
    initial = len(short[0]) == 1 and short[0].isascii()
    # A last or first name, or a last name of several words.
    ends = bare[-len(short) :] == short or short in ([bare[0]], [_folded(bare[0])])
    if ends and len(short) < len(bare) and bare[0] not in _TITLES and not initial:
        return "part"
    return "middle" if _middle(short, long) else None


def _bare(words: list[str]) -> list[str]:
    """The words of a person's name without what stands behind it."""
    end = len(words)
    while end > 1 and words[end - 1] in _GENERATION | _HONOURS:
        end -= 1
    return words[:end]


def _middle(short: list[str], long: list[str]) -> bool:
    """Whether a name of two or more words is another with less of its middle, or with initials for names."""
    if len(short) < 2 or len(long) < 2 or short[-1] != long[-1]:
        return False
    if 1 < len(short[0]) <= 3 and short[0] == "".join(word[0] for word in long[:-1]):
        return True
    if not _same_or_initial(short[0], long[0]):
        return False
    waiting = iter(long[1:-1])
    return all(any(_same_or_initial(word, given) for given in waiting) for word in short[1:-1])


def _same_or_initial(one: str, other: str) -> bool:
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])


def _same_form(lesser: Profile, fuller: Profile) -> bool:
    """Whether two names whose core is the same may differ in what was taken off: by their types."""
    wanted = "place" if _HAN_PLACE.search(fuller.key) or _HAN_PLACE.search(lesser.key) else "organization"
    if _HAN_FORM.search(fuller.key) or not _HAN.fullmatch(fuller.key):
        wanted = "organization"
    elif lesser.key != _core(lesser.key):
        # A province and a city of the same name.
        return False
    return wanted in fuller.groups and (wanted in lesser.groups or not lesser.groups)


@lru_cache(maxsize=65_536)
def _core(key: str) -> str:
    """A name without its legal or administrative form; as it is if less than two letters would stay."""
    if _HAN.fullmatch(key):
        core = _HAN_FORM.sub("", key)
        core = _HAN_PLACE.sub("", core) if core == key else core
        return core if len(core) > 1 else key
    words = key.split()
    while len(words) > 1 and (words[-1] in _FORMS or (words[-1] in _SMALL and len(words) > 2)):
        words.pop()
    # Its last word is another one now.
    return fold(" ".join(words))


@lru_cache(maxsize=65_536)
def _squeezed(key: str) -> str:
    """Letters and digits alone, without accents."""
    parts = unicodedata.normalize("NFD", key)
    bare = "".join(char for char in parts if not unicodedata.combining(char))
    return _BLANK.sub("", bare) or key


def _is_initials(key: str, *, shouted: bool) -> bool:
    return shouted and key.isascii() and key.isalpha() and 2 <= len(key) <= _LONGEST_INITIALS


def _initials(words: list[str]) -> set[str]:
    """The initials of a name of several words, with and without its small words."""
    if len(words) < 2:
        return set()
    ways = (words, [word for word in words if word not in _SMALL])
    return {found for way in ways if 2 <= len(found := "".join(word[0] for word in way)) <= _LONGEST_INITIALS}


def _han_parts(key: str) -> set[str]:
    """The parts that stand for a person's whole Chinese name: the given name, or an end of a foreign name."""
    if not _HAN.fullmatch(key) or len(key) < 3:
        return set()
    if len(key) < 5:
        return {key[cut:] for cut in (1, 2) if len(key) - cut > 1}
    return {key[-size:] for size in range(2, min(len(key), 7))}


@lru_cache(maxsize=65_536)
def _folded(word: str) -> str:
    return fold(word)


@lru_cache(maxsize=65_536)
def _numbers(key: str) -> list[str]:
    return sorted(re.findall(r"\d+", key))


def _holds(long: list[str], short: list[str]) -> bool:
    """Whether the words of a shorter name begin or end a longer one."""
    return long[: len(short)] == short or long[-len(short) :] == short
