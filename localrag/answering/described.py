"""Finds what a question only describes: a person, place or thing that has to be looked up before the rest.

"When did the cinema open in the city where the museum is" asks of a city that it does not name. The phrase
is found by its form, so nothing is invented: it is a part of the question, and it speaks of something that
the question does name. What is asked for itself is left alone: "who is the mother of Ada Lund" is one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LEAST_REST = 1
"""Words that a question must have beside the phrase, other than those below; else it asks for just that."""

_EMPTY = frozenset(
    [
        *("who", "whom", "whose", "what", "which", "where", "when", "why", "how"),
        *("is", "are", "was", "were", "be", "been", "do", "does", "did", "has", "have", "had"),
        *("the", "a", "an", "of", "in", "on", "at", "to", "for", "from", "by", "with", "and", "or"),
        *("name", "tell", "me", "please", "called", "located", "it", "its", "there"),
    ]
)
_EMPTY_CHINESE = re.compile(
    r"谁|誰|什么|什麼|哪里|哪裡|哪裏|哪儿|何处|何處|何地|名字|姓名|请问|請問|[的是在叫于於位呢吗嗎？?。，,\s]"
)
_PRONOUN = re.compile(r"(?:[他她它其]|他们|她们|它们|自己|我|你)\Z")
_LONGEST = 120
_LOOKED_AT = 600
"""Characters of a question; in a longer one no phrase is looked for."""

_WORD = r"[A-Z0-9À-Þ][\w.'’&-]*(?: \([^()]{1,30}\))?"
_NAME = (
    r"(?:[\"“][^\"”]{2,80}[\"”]|"
    rf"{_WORD}(?:(?: (?:of|the|and|de|von|van|und|in|on|for|a|an|to|with|&|da|la|le|du|al|ap))*,? {_WORD})*)"
)
_PEOPLE = (
    "author|performer|composer|producer|director|writer|singer|creator|founder|spouse|wife|husband|mother|"
    "father|sister|brother|son|daughter|child|owner|screenwriter|designer|architect|painter|artist|lyricist|"
    "star|builder|inventor|discoverer|leader|president|editor|translator|teacher|successor|predecessor"
)
_THINGS = (
    "birthplace|place of birth|place of death|city of birth|country of birth|birth country|"
    "country of citizenship|alma mater|home ?town|employer|team|band|record label|label|publisher|developer|"
    "manufacturer|headquarters|capital|country|state|city|county|province|region|continent|network|"
    "university|school|company"
)
_KINDS = (
    "city|country|state|county|continent|region|town|village|area|province|district|place|island|river|"
    "company|team|band|club|university|school|network|association|organi[sz]ation|studio|label|nation|"
    "colony|party|municipality|department|territory|league|museum|church|group|firm|newspaper|journal|person"
)
_OF = r"(?:of|behind) (?:(?:the )?(?:song|film|movie|book|novel|album|band|show|single|magazine|play) )?"
_BE = (
    r"(?:is|was|are|were)(?: (?:located|found|born|situated|from|based|in|a part|part|published|formed|"
    r"founded|educated|held|stationed|buried|set))?(?: (?:in|of|at))?"
)
_VERBS = "died|lives|lived|works|worked|plays|played|studied|attended|belongs to|comes from|came from|grew up"

# Not a part of a longer word or name, nor one that is named right behind: "his wife Ida".
_NO_MORE = r"(?!-| (?:cent(?:er|re)|hall|council|limits|government|code|song|members?)\b| (?:['’\"“]|[A-Z]))"
_GOES_ON = r"(?! (?:a|an|the|not|most|one|[a-z]+ly|considered|said|thought|believed|supposed)\b)"

_ENGLISH = (
    re.compile(rf"(?:\b[Tt]he )?{_NAME}['’]s? (?:[a-z]+ )??(?P<role>{_PEOPLE}|{_THINGS})\b{_NO_MORE}"),
    re.compile(rf"\b[Tt]he (?:[a-z]+ )?(?P<role>{_PEOPLE}|{_THINGS}) {_OF}(?:the )?{_NAME}"),
    re.compile(
        rf"\b[Tt]he (?P<role>{_KINDS}) (?:(?:where|in which|on which|that|which|from which|to which|of which)"
        rf" )?(?:the )?{_NAME}(?:['’]s? [a-z ]+?)? (?:{_BE}|{_VERBS}){_GOES_ON}(?= |\?|,|$)"
    ),
    re.compile(
        rf"\b[Tt]he (?P<role>{_KINDS}) (?:containing|including|publishing|bordering|"
        rf"(?:that|which|who) (?:published|publishes|contains|produced|made|owns|built|formed|founded|"
        rf"released|recorded|wrote|directed)) (?:the )?{_NAME}"
    ),
)
_ASKS = re.compile(r"(?i)\W*(?:who|what|which) (?:is|are|was|were) ")
_AND_NO_MORE = re.compile(
    r"(?i)\s*(?:\W*$|,|when|during|in|at|on|as|before|after|while|since|until|by)\b|\W*$"
)
_TWICE = re.compile(r"\bthe [a-z]+ and $")
"""Two words for one thing: the capital and the largest city of a country."""
_PERSON = re.compile(rf"(?:{_PEOPLE}|person)\Z")

_CHINESE_PEOPLE = (
    "作者|导演|编剧|主演|演唱者|作曲者|作词者|父亲|母亲|妻子|丈夫|儿子|女儿|兄弟|哥哥|弟弟|姐姐|妹妹|老师|创始人|"
    "创办者|创办人|发明者|发明人|设计者|设计师|建筑师|译者|主编|校长|董事长|总经理|队长|主人|继承人"
)
_CHINESE_PLACES = "出生地|故乡|家乡|首都|省会|总部所在地|所在地|所在城市|所在省份|所在国家|祖国"
_CHINESE_THINGS = "母校|所属公司|出版社|母公司|代表作"
_CHINESE = re.compile(
    r"(?:《[^》]{1,40}》|[“「『\"][^”」』\"]{1,40}[”」』\"]|(?:(?<=[，。？、在与和由从被])|^)(?P<bare>[\u4e00-\u9fff·A-Za-z]{2,12}?))"
    rf"的(?P<role>{_CHINESE_PEOPLE}|{_CHINESE_PLACES}|{_CHINESE_THINGS})"
)


@dataclass(frozen=True)
class Described:
    """A phrase of a question that describes something without naming it."""

    start: int
    """First character in the question."""

    end: int
    """Behind the last one."""

    question: str
    """What is asked to have it named."""


def described(question: str, language: str) -> Described | None:
    """The smallest phrase that has to be looked up first; None if there is none.

    `language` is that of the question; phrases are known in English and Chinese.
    """
    if len(question) > _LOOKED_AT:
        return None
    if language == "zh":
        return min(_chinese(question), key=_length, default=None)
    return min(_english(question), key=_length, default=None)


def _length(found: Described) -> int:
    return found.end - found.start


def _english(question: str) -> Iterator[Described]:
    for pattern in _ENGLISH:
        for match in pattern.finditer(question):
            if _ASKS.fullmatch(question[: match.start()]) and _AND_NO_MORE.match(question[match.end() :]):
                continue
            if _TWICE.search(question[: match.start()]):
                continue
            rest = question[: match.start()] + " " + question[match.end() :]
            words = re.findall(r"[^\W\d_]{2,}|\d{3,}", rest.casefold())
            if len(match.group()) <= _LONGEST and sum(word not in _EMPTY for word in words) >= _LEAST_REST:
                asks = "Who" if _PERSON.search(match["role"]) else "What"
                yield Described(match.start(), match.end(), f"{asks} is {match.group()}?")


def _chinese(question: str) -> Iterator[Described]:
    for match in _CHINESE.finditer(question):
        rest = question[: match.start()] + question[match.end() :]
        if _PRONOUN.search(match["bare"] or ""):
            # "他的妻子" names nobody.
            continue
        if len(_EMPTY_CHINESE.sub("", rest)) >= _LEAST_REST:
            role = match["role"]
            asks = "什么"
            if re.fullmatch(_CHINESE_PEOPLE, role):
                asks = "谁"
            elif re.fullmatch(_CHINESE_PLACES, role):
                asks = "哪里"
            yield Described(match.start(), match.end(), f"{match.group()}是{asks}？")
