"""Folds a name to the key under which its spellings are one entity.

Two names with the same key are merged without asking, so a rule belongs here only if it is safe for any
name: case, width, punctuation, apostrophes, a leading "the", titles before or behind a person's name, blanks
inside Chinese, the English plural. What needs judgement (abbreviations, parts of a name, "Mrs" before a
surname alone, which is as often the wife as the person herself) is left to `graph/resolution.py`. A leading
"a" stays: it is as often an initial.
"""

from __future__ import annotations

import re
import unicodedata


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERSION = 2
"""Raised when the rules change: a knowledge base whose keys were made by older ones makes them anew."""

CJK = (
    "\u3005-\u3007\u3021-\u3029\u3040-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
"""Characters of scripts that are written without blanks, as the inside of a regular expression's class."""

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u02bb\u2032`", "'"))
_SPACED_ACUTE = re.compile(r" \u0301")
_POSSESSIVE = re.compile(r"(?<=\w)'s$")
_SUFFIX_ALONE = re.compile(r"^\W*s\W*$")
_ABBREVIATION_DOT = re.compile(r"(?<=\b[^\W\d_])\. ?(?=[^\W\d_]\b)|(?<=\.[^\W\d_])\.")
_AMPERSAND = re.compile(r"(?<=\s)&(?=\s)")
_GROUPED_DIGITS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CJK_BLANK = re.compile(rf"(?<=[{CJK}]) | (?=[{CJK}])")
_ARTICLE = re.compile(r"^the (?=.)")
_TITLE = re.compile(
    r"^(?:(?:mr|mister|dr|sir|prof|professor) (?!and |of )(?=\S\S|\S \S)|(?:mrs|ms|mme) (?!and )(?=\S+ \S))"
)
_SURNAMES = (
    "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅郑鄭梁谢謝宋唐许許邓鄧韩韓冯馮曹彭曾萧蕭肖田董"
    "袁潘蒋蔣蔡余杜叶葉程苏蘇魏吕呂丁沈姚卢盧姜崔钟鍾谭譚陆陸汪范廖贾賈韦韋付邹鄒孟熊秦邱尹薛阎閻段雷侯史陶黎"
    "贺賀顾顧毛郝龚龔邵钱錢严嚴温溫戴莫孔汤湯尤施傅欧歐"
)
_COMPOUND_SURNAMES = "欧阳|歐陽|司马|司馬|诸葛|諸葛|上官|令狐|皇甫|慕容|尉迟|公孙|公孫"
_HAN_TITLE = re.compile(
    rf"(?:(?<=^[{_SURNAMES}]\w)|(?<=^[{_SURNAMES}]\w\w)|(?<=^(?:{_COMPOUND_SURNAMES})\w))"
    r"(?:先生|女士|博士|教授|院士|老师|老師|医生|醫生|律师|律師)$"
)
_LAST_WORD = re.compile(r"(?:^|(?<= ))[a-z]{4,}$")
_ENDS_IN_ES = ("sses", "xes", "ches", "shes", "zzes")
_NO_PLURAL_END = ("ss", "us", "is", "os", "as")
_STAGE_NAMES = _words("bean big dre fox no olympia pepper robot seuss strange universe who world")
"""Words behind a title that are no person's name without it."""

_PUNCTUATION_OF_NAMES = frozenset("#%&@*")
_SIGN = frozenset("-\u2212")

_NO_PLURAL = _words(
    """
    adams alps andrews athens banks barnes brooks brussels burns charles cannes chambers cheers collins
    daniels davies dickens edwards eggers ellis evans fields flanders gates griffiths hastings hawkins
    hayes higgins hodges holmes hopkins hughes jacobs james jenkins johns jones keynes leeds lens lewes
    lyons marks mars matthews mercedes meyers michaels mills myers naples news nichols olds owens
    parsons perkins peters phillips powers rhodes richards roberts robbins rogers samuels sanders
    saunders siemens simmons simons sims sounders stephens stevens summers tours wales walters waters
    watkins watts weeks wells wilkins williams woods yates
    """
)
"""Last words that end in s and are no plural, above all surnames that are names without the s too."""


def fold(name: str) -> str:
    """The key of a name.

    The same for any spelling that differs in case, width, compatibility form, punctuation, apostrophes, a
    leading "the", a title such as Mr or 先生, a final 's, a final English plural, or blanks beside Chinese
    and Japanese characters.
    `fold(fold(x)) == fold(x)`, and the key is empty only if the name holds nothing but blanks.
    """
    key = name
    seen: set[str] = set()
    # A step can make room for another one ("the" behind a bracket), so it is repeated until nothing changes.
    while key not in seen:
        seen.add(key)
        key = _step(key)
    return key


def _step(name: str) -> str:
    plain = _compatible(name)
    text = _SPACED_ACUTE.sub("'", plain).translate(_APOSTROPHES)
    text = _POSSESSIVE.sub("", text) if not _SUFFIX_ALONE.match(text) else text
    text = _ABBREVIATION_DOT.sub("", text)
    text = _GROUPED_DIGITS.sub("", text)
    text = _AMPERSAND.sub("and", text)
    if not text.replace(" ", "").isalnum():
        text = "".join(_kept(text, place) for place in range(len(text)))
    text = " ".join(text.split())
    text = _CJK_BLANK.sub("", text)
    text = _ARTICLE.sub("", text)
    text = _HAN_TITLE.sub("", _without_title(text))
    text = _LAST_WORD.sub(lambda match: _singular(match.group()), text)
    # A name of punctuation alone is its own key.
    return text or plain


def _without_title(text: str) -> str:
    bare = _TITLE.sub("", text)
    return text if bare in _STAGE_NAMES else bare


def _compatible(name: str) -> str:
    """NFKC, without case and without characters that are not seen."""
    if name.isascii() and name.isprintable():
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(
        char for char in folded if unicodedata.category(char) not in ("Cf", "Cc") or char.isspace()
    )
    return " ".join((seen or folded).split())


def _kept(text: str, place: int) -> str:
    """The character at `place`, nothing for an apostrophe, a blank for other punctuation."""
    char = text[place]
    if char == "'":
        return ""
    if char in _SIGN and place == 0 and text[1:2].isdigit():
        return "-"
    between_digits = text[place - 1 : place].isdigit() and text[place + 1 : place + 2].isdigit()
    if char in ".:" and between_digits:
        return char
    is_mark = unicodedata.category(char).startswith("P") and char not in _PUNCTUATION_OF_NAMES
    return " " if is_mark or char.isspace() else char


def _singular(word: str) -> str:
    """An English word without its plural ending; a rough rule, since a key need not be a word."""
    if word in _NO_PLURAL or word.endswith(_NO_PLURAL_END) or not word.endswith("s"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(_ENDS_IN_ES) else word[:-1]
