"""Entity types: the setting's list plus Other, in the words of the prompt's language, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from localrag.errors import SettingsError
from localrag.extraction.spans import one_line, writable

OTHER = "Other"
"""The type of what fits no type of the list, as it is stored."""

_MAX_TYPE = 40
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
    """Words for the prompt and the grammar, Other last, all different."""

    canonical: Mapping[str, str]
    """From the folded word, in either language, to the type as the setting writes it."""

    def store(self, word: str) -> str:
        """The type to store for a word that a model wrote; `Other` for one that is not in the list."""
        return self.canonical.get(one_line(word).casefold(), OTHER)


def type_words(types: Sequence[str], language: str) -> TypeWords:
    """The words for a list of types; with `zh` in Chinese where there is a word for it.

    Raises `SettingsError` for a type that cannot stand in a record.
    """
    shown: dict[str, str] = {}
    canonical: dict[str, str] = {}
    for given in types:
        name = one_line(given)
        if not writable(name) or len(name) > _MAX_TYPE:
            raise SettingsError(
                f"The entity type {given!r} cannot be used.",
                f"Write one line of at most {_MAX_TYPE} characters without < > | # and single parentheses.",
            )
        if name.casefold() in canonical or name.casefold() == OTHER.casefold():
            continue
        word = _word(name, language)
        if word in shown:
            # Two names of one thing, such as place and location: both are stored as the first.
            canonical[name.casefold()] = shown[word]
            continue
        shown[word] = name
        canonical[name.casefold()] = canonical[word.casefold()] = name
    other = _word(OTHER, language)
    for word in (OTHER, other):
        canonical.setdefault(word.casefold(), OTHER)
    return TypeWords((*(word for word in shown if word != other), other), canonical)


def _word(name: str, language: str) -> str:
    return _CHINESE.get(name.casefold(), name) if language == "zh" else name
