"""Questions that compare two named things, taken apart into one question for each, by their form.

"Are Halden and Varde in the same county" asks where each of them is; whether that is the same needs no model.
Known are, in English and Chinese: whether two have the same of something, whether both are something, and
which of them was earlier or later.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from localrag.graph.names import fold

Kind = Literal["same", "both", "earlier", "later"]

_LOOKED_AT = 400
_WORD = r"[A-Z0-9À-Þ][\w.'’&-]*(?: \([^()]{1,30}\))?"
_NAME = (
    r"(?:[\"“][^\"”]{2,80}[\"”]|(?:the )?"
    rf"{_WORD}(?:(?: (?:of|the|de|von|van|in|on|for|a|an|to|with|&|da|la|le|du|al))* {_WORD})*)"
)
_PAIR = rf"(?P<first>{_NAME}),? and (?P<second>{_NAME}),?"
_KIND_OF = r"(?:both )?(?:the )?(?:(?:[a-z]+ )?[a-z]+s,? )?"
_BE = r"(?P<be>[Aa]re|[Ww]ere)"
_SAME = re.compile(
    rf"\W*{_BE} {_KIND_OF}{_PAIR} (?:both )?(?:[a-z]+s )?"
    r"(?P<how>(?:located |situated |found |based |born |set )?in|from|of) the same (?P<what>[a-z]+)\W*"
)
_HAVE = re.compile(
    rf"\W*(?:Do|Did) {_KIND_OF}{_PAIR} (?:both )?(?:have|share) the same (?P<what>[a-z ]+?)\W*"
)
_BOTH = re.compile(rf"\W*{_BE} {_KIND_OF}{_PAIR} (?:both )?(?P<what>[A-Za-z][^?,]{{2,80}}?)\W*")
_RELATED = re.compile(r"\b(?:same|each other|together|related|similar|different|alike|in common|other)\b")
_ORDER = re.compile(
    rf"\W*(?P<head>(?:Who|Which|What)\b[^?,]{{3,80}}?),? (?:out of |between )?(?P<first>{_NAME}),? (?:or|and)"
    rf" (?P<second>{_NAME})\W*"
)
_EARLIER = re.compile(r"\b(?:first|earlier|older|oldest|before)\b")
_LATER = re.compile(r"\b(?:later|last|younger|youngest|newer|newest|latest|more recent(?:ly)?)\b")
_VERB = re.compile(
    r"\b(?:born|died|published|founded|released|formed|established|built|opened|created|started|launched)\b"
)
_ROLE = re.compile(r"\b(?:director|author|composer|performer|writer|singer|founder|producer|painter)\b")
_OBJECT = re.compile(r" (?:the|a|an|his|her|their|[\"“A-Z])")
_CAME_OUT = re.compile(r"\bc[ao]me out\b|\bfilm|\bmovie|\balbum|\bsong")
_YEAR = re.compile(r"(?<![\d.,])(?:1\d{3}|20\d{2})(?![\d.,]*\d)|(?<![\d.,])[3-9]\d{2}(?= (?:AD|CE|BC)\b)")
_YES_NO = re.compile(r"\W*(yes|no|是|不是|否|没有)(?![\w])", re.IGNORECASE)
_PREPOSITION = re.compile(r"(?:in|from|of|by|at|on|located|situated|based|born|made|part|members?|still)\b")

_FEW = 3
_BEHIND = re.compile(r"\b(?:in|from|of)\b(?: the)?")
_WIDE = re.compile("[\u3400-\u9fff]")

_CHINESE_NAME = r"(?:《[^》]{1,40}》|[“「『][^”」』]{1,40}[”」』]|[\u4e00-\u9fffA-Za-z·]{2,12}?)"
_CHINESE_SAME = re.compile(
    rf"\W*(?P<first>{_CHINESE_NAME})[和与跟](?P<second>{_CHINESE_NAME})(?:是否|是不是)?都?(?P<how>位于|在|来自|属于|出生于|出生在)"
    r"同一?个?(?P<what>国家|省|省份|城市|市|县|地区|大学|学校|公司|州|洲)[的里内]?[吗嗎]?\W*"
)
_CHINESE_ORDER = re.compile(
    rf"\W*(?P<first>{_CHINESE_NAME})[和与跟](?P<second>{_CHINESE_NAME})[，,]?(?:哪个|哪一个|谁|哪家|哪座|哪部|哪本)"
    r"(?:更|比较|先)?(?P<when>早|晚|先|后)?(?P<verb>成立|出版|出生|建成|上映|发布|创办|开业|去世)(?P<late>得)?(?P<end>早|晚|更早|更晚)?\W*"
)


@dataclass(frozen=True)
class Comparison:
    """Two questions, and how their answers are compared."""

    kind: Kind
    """What is compared."""

    items: tuple[str, str]
    """The two things, as the question writes them."""

    questions: tuple[str, str]
    """What is asked of each."""

    language: str
    """`en` or `zh`."""


def comparison(question: str, language: str) -> Comparison | None:
    """How a question is taken apart; None if it compares nothing, or not in a form that is known."""
    if len(question) > _LOOKED_AT:
        return None
    if language == "zh":
        return _chinese_same(question) or _chinese_order(question)
    return _same(question) or _order(question) or _both(question)


def verdict(asked: Comparison, answers: tuple[str, str]) -> str:
    """What the two answers come to: yes or no, or one of the things; empty if they cannot be compared."""
    if asked.kind in ("earlier", "later"):
        first, second = (_YEAR.search(answer) for answer in answers)
        if first is None or second is None or first.group() == second.group():
            return ""
        firstly = int(first.group()) < int(second.group())
        return asked.items[0] if firstly == (asked.kind == "earlier") else asked.items[1]
    yes, no = ("是", "不是") if asked.language == "zh" else ("Yes", "No")
    if asked.kind == "same":
        one, other = (_place(answer) for answer in answers)
        if not one or not other:
            return ""
        return yes if _within(one, other) or _within(other, one) else no
    said = [_YES_NO.match(answer) for answer in answers]
    meant = [match is not None and match.group(1).casefold() in ("yes", "是") for match in said]
    if any(match is not None and not positive for match, positive in zip(said, meant, strict=True)):
        return no
    return yes if all(meant) else ""


def _place(answer: str) -> str:
    """What a short answer names, folded; of a sentence what stands behind its last preposition."""
    text = answer.strip().rstrip(".。")
    if len(text.split()) > _FEW:
        text = _BEHIND.split(text)[-1]
    return fold(text) if re.search(r"\w", text) else ""


def _within(one: str, other: str) -> bool:
    """Whether one name stands in another: as whole words, or in scripts without blanks anywhere."""
    return one in other if _WIDE.search(one) else f" {one} " in f" {other} "


def _same(question: str) -> Comparison | None:
    if (match := _SAME.fullmatch(question)) is not None:
        how, what = match["how"], match["what"]
        if how in ("from", "of"):
            ask = "From which {what} is {item}?" if how == "from" else "Of which {what} is {item}?"
        else:
            done = how.removesuffix("in").strip()
            ask = "In which {what} is {item}" + (f" {done}?" if done else "?")
        return _comparison("same", match, lambda item: ask.format(what=what, item=item))
    if (match := _HAVE.fullmatch(question)) is not None:
        what = match["what"]
        return _comparison("same", match, lambda item: f"What {what} does {item} have?")
    return None


def _both(question: str) -> Comparison | None:
    match = _BOTH.fullmatch(question)
    if match is None or _RELATED.search(match["what"]):
        return None
    what = match["what"]
    if what.endswith("s") and not _PREPOSITION.match(what):
        article = "an" if what[0].casefold() in "aeiou" else "a"
        what = f"{article} {what[:-3] + 'y' if what.endswith('ies') else what[:-1]}"
    be = "Was" if match["be"].casefold() == "were" else "Is"
    return _comparison("both", match, lambda item: f"{be} {item} {what}?")


def _order(question: str) -> Comparison | None:
    match = _ORDER.fullmatch(question)
    if match is None:
        return None
    head = match["head"]
    earlier, later = _EARLIER.search(head), _LATER.search(head)
    if (earlier is None) == (later is None):
        return None
    verb, role = _VERB.search(head), _ROLE.search(head)
    if verb is not None:
        if _OBJECT.match(head[verb.end() :]):
            return None
        done = verb.group()
    elif head.startswith("Who") or role is not None:
        done = "born"
    else:
        done = "released" if _CAME_OUT.search(head) else "founded"
    of = f"the {role.group()} of " if role is not None else ""
    ask = "When did {item} die?" if done == "died" else "When was {item} " + done + "?"
    return _comparison("earlier" if earlier else "later", match, lambda item: ask.format(item=of + item))


def _chinese_same(question: str) -> Comparison | None:
    match = _CHINESE_SAME.fullmatch(question)
    if match is None:
        return None
    how, what = match["how"], match["what"]
    return _comparison("same", match, lambda item: f"{item}{how}哪个{what}？", "zh")


def _chinese_order(question: str) -> Comparison | None:
    match = _CHINESE_ORDER.fullmatch(question)
    when = "".join(filter(None, (match["when"], match["end"]))) if match is not None else ""
    if match is None or not when:
        return None
    kind: Kind = "later" if when[-1] in "晚后" else "earlier"
    return _comparison(kind, match, lambda item: f"{item}是什么时候{match['verb']}的？", "zh")


def _comparison(
    kind: Kind, match: re.Match[str], ask: Callable[[str], str], language: str = "en"
) -> Comparison:
    items = (match["first"].strip(" ,"), match["second"].strip(" ,"))
    return Comparison(kind, items, (ask(items[0]), ask(items[1])), language)
