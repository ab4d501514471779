"""Recognises questions that ask to list, count or compare all of something, without a model.

Precision comes first: a question is taken only if a form accounts for all of its words. Whether what it names
is known at all is looked at later; here it is only text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from localrag.answering.tables_forms import Act, Form, Link, Things, chinese_forms, english_forms

LONGEST = 300
"""Characters of the longest question that is looked at."""


@dataclass(frozen=True)
class Asked:
    """What a question asks for, in its own words."""

    act: Act
    """What is to be done."""

    things: Things
    """With what."""

    kind: str = ""
    """Kind of entities, such as `people`; empty for any, or where it is no matter of entities."""

    link: Link = ""
    """What narrows it."""

    name: str = ""
    """Name of what it is narrowed to, or of what is counted."""

    other: str = ""
    """The second one of a comparison."""

    verb: str = ""
    """The verb, in small letters, with a preposition behind it."""

    limit: int | None = None
    """How many are wanted at most; None if the question does not say."""

    status: str = ""
    """Status of claims, in small letters."""

    when: str = ""
    """`in`, `since` or `before`, for a date or year."""

    mentioned: bool = False
    """Whether the question says that it is about what texts mention."""


def asked_of(question: str, language: str) -> Iterator[Asked]:
    """The ways in which a question can be read as one for a table, the likeliest first; mostly none."""
    text = " ".join(question.split())
    if not text or len(text) > LONGEST:
        return
    text = _TRAILING.sub("", text)
    if language == "zh":
        text = _POLITE_HAN.sub("", re.sub(r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", "", text))
    else:
        text = _POLITE.sub("", text)
    for form in chinese_forms() if language == "zh" else english_forms():
        match = form.pattern.fullmatch(text)
        if match is not None:
            yield _asked(form, match)


_TRAILING = re.compile(r"[\s?.!？。！…]+(?:please)?\s*\Z|,? please[\s.!?]*\Z", re.IGNORECASE)
_POLITE = re.compile(
    r"\A(?:(?:please|hi|hello|hey|ok|okay|so|and|now)[,!]? |(?:can|could|would|will) you (?:please )?"
    r"|i(?: would|'d|’d) like (?:you )?to |i want (?:you )?to |i need (?:you )?to |let me )+",
    re.IGNORECASE,
)
_POLITE_HAN = re.compile(
    "\\A(?:请问|請問|请|請|麻烦|麻煩|你好|您好|你|您|能否|能不能|可以|帮我|幫我|给我|給我|我想知道|我想|"
    "[，, ])+"
)
_QUOTES = "\"'“”‘’「」『』《》«»"
_NUMBERS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twenty": 20,
    "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "二十": 20,
}  # fmt: skip


def _asked(form: Form, match: re.Match[str]) -> Asked:
    given = {name: value or "" for name, value in match.groupdict().items()}
    return Asked(
        act=form.act,
        things=form.things,
        kind=given.get("kind", ""),
        link=form.link,
        name=_bare(given.get("name", "")),
        other=_bare(given.get("other", "")),
        verb=given.get("verb", "").lower(),
        limit=_number(given.get("limit", "")),
        status=given.get("status", "").lower(),
        when=given.get("when", "").lower(),
        mentioned=bool(given.get("said")),
    )


def _bare(name: str) -> str:
    """A name without quotation marks around it."""
    return name.strip().strip(_QUOTES).strip()


def _number(text: str) -> int | None:
    if not text:
        return None
    return int(text) if text.isdecimal() else _NUMBERS.get(text.lower())
