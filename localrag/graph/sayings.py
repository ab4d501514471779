"""Finds where a text says that two of its names are one: `美联储（Federal Reserve）`, `X, known as Y`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from localrag.graph.names import CJK

_OPEN, _CLOSE = r"[(（\[［]", r"[)）\]］,，;；、/]"
_QUOTES = "\"'“”‘’「」『』《》«»"
_ADVERB = r"(?:also|better|commonly|formerly|previously|originally|often|sometimes|usually|now|later|widely)"
_CUE = (
    rf"(?:(?:who|which|that) )?(?:(?:is|was|are|were) )?(?:{_ADVERB} )?"
    r"(?:known as|referred to as|abbreviated (?:as|to)|"
    r"a\.?k\.?a\.?|abbr\.?|or simply|or just|short for)|"
    rf"(?:(?:is|was|are|were) (?:{_ADVERB} )?|{_ADVERB} )"
    r"(?:called|nicknamed|named|renamed|rebranded)(?: as| to)?"
)
_HAN_CUE = (
    r"(?:以下|下文)?(?:简称|簡稱|全称|全稱)(?:为|為|作|是)?|"
    r"(?:又|亦|也|或|旧|舊|原|俗|别|別|通|古|后|後|曾|英文|中文)"
    r"(?:称作|稱作|称为|稱為|称|稱|名叫|名为|名為|名|叫做|叫作|叫)(?:为|為|作|是)?|"
    r"名叫|叫做|叫作|被称为|被稱為|改名为|改名為"
)
_SAID = re.compile(
    rf"\s*(?P<bracket>{_OPEN}(?:[a-z]+[:：])?)?\s*[,，]?\s*(?P<cue>{_CUE}|{_HAN_CUE})?[:：]?\s*"
    rf"(?:the )?[{_QUOTES}]?",
    re.IGNORECASE,
)
_END = re.compile(rf"[{_QUOTES}]?\s*{_CLOSE}")
_LATIN, _HAN = re.compile(r"[A-Za-z]"), re.compile(rf"[{CJK}]")


@dataclass(frozen=True)
class Saying:
    """A place in a text that says that two names are one."""

    name: str
    """The first name as written."""

    other: str
    """The second one."""

    plain: bool
    """Whether the text says it in words or in two scripts; else one only stands in brackets behind the other,
    which may mean anything and counts only for initials."""


def sayings(text: str, names: Collection[str]) -> Iterator[Saying]:
    """Where a text says that two of these names, as written in it, are one."""
    ordered = sorted({name for name in names if name.strip()}, key=len, reverse=True)
    if len(ordered) < 2:
        return
    any_name = re.compile("|".join(map(_whole, ordered)))
    for found in any_name.finditer(text):
        link = _SAID.match(text, found.end())
        if link is None or not (link["bracket"] or link["cue"]):
            continue
        other = any_name.match(text, link.end())
        if other is None or other.group() == found.group():
            continue
        if link["cue"]:
            yield Saying(found.group(), other.group(), plain=True)
        elif _END.match(text, other.end()):
            yield Saying(found.group(), other.group(), plain=_two_scripts(found.group(), other.group()))


def _whole(name: str) -> str:
    """A pattern that finds a name where it is not part of a longer word."""
    before = r"(?<![A-Za-z0-9])" if name[0].isascii() and name[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""
    return f"{before}{re.escape(name)}{after}"


def _two_scripts(one: str, other: str) -> bool:
    return any(
        _HAN.search(first) and not _HAN.search(second) and _LATIN.search(second)
        for first, second in ((one, other), (other, one))
    )
