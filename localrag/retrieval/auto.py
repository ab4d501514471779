"""Mode `auto`: takes a mode by the kind of question, without a model, and says why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.extraction.candidates import find_candidates
from localrag.retrieval.question_words import is_small_talk

_LOOKED_AT = 2_000

_CONNECTED = re.compile(
    r"\bhave to do with\b|\b(?:path|connection|relation|relationship|link|tie)s? between\b"
    r"|\bhow (?:is|are|was|were|did|do|does)\b.*(?<!-)\b(?:connect(?:ed)?|relat(?:ed|e)|link(?:ed)?|tied)\b",
    re.IGNORECASE | re.DOTALL,
)
_CONNECTED_IN_HAN = re.compile(
    "[和与與跟同及、].*(?:什么|什麼|何种|何種|怎样|怎樣|如何|有没有|有沒有|是否).*"
    "(?:关系|關係|联系|聯繫|关联|關聯|相关|相關|渊源|淵源|交集|认识|認識)|之间.*(?:关系|联系|关联)|之間.*(?:關係|聯繫|關聯)",
    re.DOTALL,
)
_THEMES = re.compile(
    r"\b(?:(?:main|major|key|central|overall|common|recurring|general|top) (?:themes?|topics?|ideas?|trends?|"
    r"points?|arguments?|subjects?|issues?|findings?)|themes?|overview|summar(?:y|ise|ize)|"
    r"what (?:is|are) (?:this|these|the|all(?: the)?) (?:\w+ )?(?:about|collection|corpus)|"
    r"(?:documents?|texts?|collection|corpus|files?|knowledge base) (?:is |are )?about|"
    r"in general|as a whole)\b",
    re.IGNORECASE,
)
_THEMES_IN_HAN = re.compile(
    "主题|主題|主旨|概述|概括|概况|概況|总结|總結|综述|綜述|总体|總體|整体|整體|大意|主要内容|主要內容|"
    "讲了什么|講了什麼|趋势|趨勢"
)
_CODE = re.compile(r"(?=[\w./#:+-]*\d)(?=[\w./#:+-]*[^\W\d_])\w+(?:[-./#:+_]\w+)+")
_QUOTED = re.compile('["“「『][^"“”「」『』]+["”」』]')


@dataclass(frozen=True)
class Choice:
    """A mode and the reason for it."""

    mode: str
    """The mode."""

    why: str
    """As part of a sentence."""


def choose(question: str, names: Sequence[str]) -> Choice:
    """The mode for a question; `names` are the known entities that it names.

    `mix` serves all questions, so another mode is taken only where a question clearly asks for what that mode
    is made for.
    """
    text = question[:_LOOKED_AT].strip()
    if not names and is_small_talk(text):
        return Choice("bypass", "it asks nothing that a text could answer")
    if (_CONNECTED.search(text) or _CONNECTED_IN_HAN.search(text)) and max(len(names), _forms(text)) > 1:
        return Choice("path", "it asks how things are connected")
    if not names and (_CODE.fullmatch(text) or _QUOTED.fullmatch(text)):
        return Choice("naive", "it is nothing but words to look for")
    if not names and (_THEMES.search(text) or _THEMES_IN_HAN.search(text)) and not _forms(text):
        return Choice("global", "it asks about the whole rather than about single things")
    return Choice("mix", "it asks for facts, which all searches together find best")


def _forms(text: str) -> int:
    """How many things of the question have the form of a name, a date or a title, known or not."""
    return sum(candidate.strong for candidate in find_candidates(text))
