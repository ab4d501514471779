"""What kinds of things people ask for, in words, and which types of entities these are.

Types are whatever a person or a model has chosen, in English or Chinese, in full or short. A word means the
types that say the same; else a wider type, which is then said; else, for "attorneys", what the texts call so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from localrag.extraction.plain_types import plain_word

Match = Literal["type", "wider", "words", "names"]
"""By a type that says the same; by a wider type; by what texts call it; any name at all."""


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Kind:
    """What is asked for."""

    word: str
    """As it was asked for, in small letters."""

    match: Match
    """How it is found."""

    types: tuple[str, ...] = ()
    """Types of entities as they are stored."""

    concept: str = ""
    """What these types are, such as `person`; empty where we have no word for it."""

    role: str = ""
    """What the texts call it, one of them; in English without its plural ending."""


_NARROWER: Mapping[str, str] = {
    "person": "",
    "organization": "company firm business corporation agency institution university school bank club party "
    "team government ministry institute association foundation union authority court hospital charity "
    "公司 企业 银行 大学 学校 机关 协会 基金会 医院 法院 集团 部门 政党 球队",
    "location": "city town village country state region river mountain island street district province "
    "county continent lake capital 城市 国家 省份 地区 城镇 村庄 河流 山脉 岛屿 街道 州 县 首都",
    "event": "meeting battle war conference election festival accident 会议 战争 战役 选举 事故 节日",
    "work": "book novel film movie song album painting play poem article 书 书籍 小说 电影 歌曲 专辑 画作 诗",
    "product": "device vehicle car drug medicine 设备 车辆 药品",
    "concept": "",
    "date": "",
    "technology": "programming language algorithm software 软件 算法",
    "disease": "",
    "animal": "",
    "method": "",
    "law": "",
}
"""Kinds that a wider one holds, by the wider one."""

_SAME: Mapping[str, str] = {
    "person": "person people individual human person's 人 人物 人名 人士 个人 人员 人物名",
    "organization": "organization organisation org institution 组织 机构 组织机构 团体 单位",
    "location": "location place geo gpe loc 地点 地方 地名 位置 地理 场所",
    "event": "event 事件 活动",
    "work": "work 作品",
    "product": "product 产品",
    "concept": "concept 概念",
    "date": "date 日期",
    "technology": "technology 技术",
    "disease": "disease illness 疾病",
    "animal": "animal creature 动物",
    "method": "method 方法",
    "law": "law 法律",
    "company": "company firm corporation business 公司 企业",
    "city": "city 城市",
    "country": "country 国家",
    "name": "name entity 名字 名称 实体",
}
"""Words that say the same, by the first of them."""

_PLURALS = {"people": "person", "men": "man", "women": "woman", "children": "child", "persons": "person"}
_VAGUE = words(
    "thing one item point reason step way word time day week month year page chapter section sentence "
    "paragraph line detail fact example question answer topic theme issue idea part number kind sort type "
    "problem advantage disadvantage benefit feature difference similarity cause effect result goal task rule "
    "requirement condition change mention passage chunk character letter member other who what which "
    "东西 原因 步骤 方法 问题 情况 内容 事情 部分 数量 条件 优点 缺点 特点 区别 章 章节 页 段落 句子 例子 次 "
    "次数 钱 时间 年 月 天 种 类 字 岁 米 公里 吨 元 倍"
)
"""Words for what is no named thing, or for parts of texts: no list of names answers these."""

_HAN = re.compile(r"[\u3400-\u9fff]")
_CONCEPTS = {word: concept for concept, words in _SAME.items() for word in words.split()}
_WIDER = {word: concept for concept, words in _NARROWER.items() for word in words.split()}


def kind_of(asked: str, types: Collection[str]) -> Kind | None:
    """What a word or two mean in a knowledge base with these types of entities; None for what is no kind of
    named things.

    Whether the texts call anything so is not looked at.
    """
    word = " ".join(asked.casefold().split())
    single = singular(word)
    if not single or single in _VAGUE:
        return None
    concept = _CONCEPTS.get(single, single)
    if concept == "name":
        return Kind(word, "names", tuple(types), "name")
    same = _types_of(types, {concept, single})
    if same:
        return Kind(word, "type", same, concept)
    wider = _WIDER.get(single) or _WIDER.get(concept, "")
    if wider and (held := _types_of(types, {wider})):
        return Kind(word, "wider", held, wider)
    if concept in _NARROWER or wider:
        # No such type: the texts' own words for single ones would be few of all.
        return Kind(word, "type", (), wider or concept)
    return Kind(word, "words", (), "", single)


def singular(phrase: str) -> str:
    """A word or two without the plural ending of the last; a rough rule, for comparing."""
    if not phrase or _HAN.search(phrase):
        return phrase.removesuffix("们")
    head, _, last = phrase.rpartition(" ")
    if last in _PLURALS:
        last = _PLURALS[last]
    elif last.endswith("ies") and len(last) > 4:
        last = f"{last[:-3]}y"
    elif last.endswith(("sses", "xes", "ches", "shes", "zzes")):
        last = last[:-2]
    elif last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3:
        last = last[:-1]
    elif last.endswith("men") and len(last) > 4:
        last = f"{last[:-3]}man"
    return f"{head} {last}".strip()


def plural_forms(single: str) -> tuple[str, ...]:
    """The forms in which a text may have a word."""
    if _HAN.search(single):
        return (single,)
    head, _, last = single.rpartition(" ")
    if last.endswith("y") and last[-2:-1] not in "aeiou":
        forms = [f"{last[:-1]}ies"]
    elif last.endswith("man"):
        forms = [f"{last[:-3]}men"]
    elif last.endswith(("s", "x", "ch", "sh", "z")):
        forms = [f"{last}es"]
    else:
        forms = [f"{last}s"]
    return (single, *(f"{head} {form}".strip() for form in forms))


def is_plural(phrase: str) -> bool:
    """Whether a phrase means several; Chinese does not tell."""
    return bool(_HAN.search(phrase)) or singular(phrase) != phrase


def _types_of(types: Iterable[str], concepts: Collection[str]) -> tuple[str, ...]:
    """The types that mean one of these, or something that one of these holds."""
    narrower = {word for concept in concepts for word in _NARROWER.get(concept, "").split()}
    found = []
    for name in types:
        word = singular(plain_word(name).casefold())
        concept = _CONCEPTS.get(word, word)
        if {word, concept} & {*concepts, *narrower}:
            found.append(name)
    return tuple(found)
