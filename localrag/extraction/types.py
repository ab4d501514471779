"""Types of entities and relations: the settings' lists, in words of the prompt's language, and back again.

Entities have a type of the list or Other; without a list, one to three words of the model's own. Relations
have words of the model's own; with a list, one of its types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localrag.engine.names import capitals
from localrag.errors import SettingsError
from localrag.extraction.plain_types import REST, plain_words
from localrag.extraction.spans import one_line, writable

OTHER = "Other"
"""The type of what fits no type of the list, as it is stored."""

MAX_TYPE_WORDS = 3
"""Most words of a type of the model's own."""

MAX_TYPE_CHARS = 20
"""Most characters of such a word."""

MAX_HAN_TYPE = 6
"""Most characters of a type of the model's own in Chinese."""

OWN_TYPES = {"en": "any type that fits, in one to three words", "zh": "任何合适的类型（二到六个字）"}
"""What stands in a prompt in place of the list, by the prompt's language."""

_MAX_TYPE = 40
_MAX_RELATION_WORDS = 4
_NOT_IN_RELATION_TYPES = re.compile(r"[,;:，；：、]")
_CHINESE = {
    "other": "其他",
    "animal": "动物",
    "artifact": "器物",
    "building": "建筑",
    "chemical": "化学物质",
    "city": "城市",
    "company": "公司",
    "concept": "概念",
    "content": "内容",
    "country": "国家",
    "creature": "生物",
    "data": "数据",
    "date": "日期",
    "disease": "疾病",
    "drug": "药物",
    "equipment": "设备",
    "event": "事件",
    "field": "领域",
    "geo": "地理",
    "group": "群体",
    "language": "语言",
    "law": "法律",
    "location": "地点",
    "method": "方法",
    "money": "金额",
    "naturalobject": "自然物",
    "number": "数字",
    "organisation": "组织",
    "organization": "组织",
    "person": "人物",
    "place": "地点",
    "plant": "植物",
    "product": "产品",
    "role": "职位",
    "technology": "技术",
    "time": "时间",
    "work": "作品",
}


@dataclass(frozen=True)
class TypeWords:
    """The types of one prompt language."""

    shown: tuple[str, ...]
    """Words for the prompt and the grammar, Other last, all different; empty if types are the model's own."""

    canonical: Mapping[str, str]
    """From the folded word, in either language, to the type as the setting writes it."""

    def store(self, word: str) -> str:
        """The type to store for a word that a model wrote.

        `Other` for one that is not in the list. Without a list, the word in small letters; `Other` for one
        that is no type: empty, or longer than a type may be.
        """
        plain = one_line(word)
        if self.shown:
            return self.canonical.get(plain.casefold(), OTHER)
        is_type = writable(plain) and len(plain) <= MAX_TYPE_WORDS * (MAX_TYPE_CHARS + 1)
        plain = plain.lower() if is_type and plain.count(" ") < MAX_TYPE_WORDS else OTHER
        return self.canonical.get(plain.casefold(), plain)


def type_words(types: Sequence[str], language: str, *, upper: bool = False) -> TypeWords:
    """The words for a list of types; with `zh` in Chinese where there is a word for it.

    Short and joined words are shown plainly (`plain_types`). A type for the rest, such as `misc`, stands for
    Other: what fits no other type is stored under its name. With `upper` the words are shown in capitals. An
    empty list leaves the types to the model. Raises `SettingsError` for a type that cannot stand in a record.
    """
    shown: dict[str, str] = {}
    canonical: dict[str, str] = {}
    names = [_checked(given, "entity") for given in types]
    plain = plain_words(names)
    rest = next((name for name in names if name.casefold() in REST), OTHER)
    for name in names:
        if name.casefold() in canonical or name.casefold() in (OTHER.casefold(), rest.casefold()):
            continue
        word = _word(name, plain[name], language)
        if word in shown:
            # Two names of one thing, such as place and location: both are stored as the first.
            canonical[name.casefold()] = shown[word]
            continue
        shown[word] = name
        canonical[name.casefold()] = canonical[word.casefold()] = name
        canonical.setdefault(capitals(word).casefold(), name)
    other = _word(OTHER, OTHER, language)
    for word in (OTHER, other, rest):
        canonical.setdefault(word.casefold(), rest)
    if not types:
        return TypeWords((), canonical)
    words = (*(word for word in shown if word != other), other)
    return TypeWords(tuple(dict.fromkeys(capitals(word) if upper else word for word in words)), canonical)


def relation_words(types: Sequence[str]) -> dict[str, str]:
    """For each word that is shown for one of these relation types, the type; plain words, all different."""
    shown: dict[str, str] = {}
    for name, word in plain_words(types).items():
        # "of" and its like tell direction; a type of more words than a relation may have stays as it is.
        fits = word.count(" ") < _MAX_RELATION_WORDS
        shown.setdefault(word if fits else name, name)
    return shown


def relation_types(types: Sequence[str]) -> tuple[str, ...]:
    """The types of the setting's list, each once whatever its case.

    Raises `SettingsError` for a type that cannot stand in a record or among keywords.
    """
    found: dict[str, str] = {}
    for given in types:
        name = _checked(given, "relation")
        if _NOT_IN_RELATION_TYPES.search(name) or name.count(" ") >= _MAX_RELATION_WORDS:
            raise SettingsError(
                f"The relation type {given!r} cannot be used.",
                f"Write at most {_MAX_RELATION_WORDS} words without commas, colons and semicolons.",
            )
        found.setdefault(name.casefold(), name)
    return tuple(found.values())


def own_type_pattern(language: str, excluded: str = "") -> str:
    """A regular expression for a type of the model's own; `excluded` are more characters, escaped."""
    if language == "zh":
        return f"[一-龥]{{2,{MAX_HAN_TYPE}}}"
    word = rf"[^\x00-\x20<>|#(),;:.!?\/\x7f-\xa0{excluded}]{{1,{MAX_TYPE_CHARS}}}"
    return f"{word}( {word}){{0,{MAX_TYPE_WORDS - 1}}}"


def _checked(given: str, kind: str) -> str:
    name = one_line(given)
    if not writable(name) or len(name) > _MAX_TYPE:
        raise SettingsError(
            f"The {kind} type {given!r} cannot be used.",
            f"Write one line of at most {_MAX_TYPE} characters without < > | # and single parentheses.",
        )
    return name


def _word(name: str, plain: str, language: str) -> str:
    """The word to show for a type: a plain one, in the prompt's language where there is one."""
    if language == "zh":
        return _CHINESE.get(name.casefold()) or _CHINESE.get(plain.casefold()) or plain
    return plain
