"""Characters: what a person takes for the same is made the same, and which of them make up words.

Depends on nothing but the text, since a row of the full-text tables is removed by making its terms again.
"""

from __future__ import annotations

import re
import unicodedata

CJK = (
    "\u3005-\u3007\u3031-\u3035\u303b-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\uf900-\ufaff\u1100-\u11ff\ua960-\ua97f"
    "\uac00-\ud7ff\U00016fe0-\U00018cff\U0001aff0-\U0001b2ff\U00020000-\U0003ffff"
)
"""Han, Kana, Hangul, Bopomofo, Yi and Tangut: a character says as much as a syllable or a word elsewhere."""

BLANKLESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17dc-\u17e9"
    "\u1950-\u19df\u1a20-\u1a9f\ua980-\ua9c0\ua9cf-\ua9d9\ua9e0-\ua9fe\uaa60-\uaa7f\uaa80-\uaadd"
)
"""Thai, Lao, Burmese, Khmer and their kin: letters, with no blanks between words."""

MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u08e1"
    "\u08e3-\u0963\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83"
    "\u0cbc-\u0d4d\u0d57-\u0d63\u0d81-\u0df3\u0f18\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbc\u0fc6"
    "\u135d-\u135f\u1712-\u1734\u1752-\u1773\u180b-\u180d\u180f\u18a9\u1920-\u193b\u1a17-\u1a1b\u1ab0-\u1b44"
    "\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2\u1cd4-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f-\u2dff"
    "\u302a-\u302f\u3099\u309a\ua66f-\ua672\ua674-\ua67d\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1"
    "\ua8ff-\ua92d\ua947-\ua953\uaaeb-\uaaef\uaaf5\uaaf6\uabe3-\uabea\uabec\uabed\ufb1e\ufe20-\ufe2f"
    "\U000101fd-\U0001037a\U00010a01-\U00010a3f\U00010d24-\U00010eac\U00010f46-\U00010f50\U00011000-\U00011046"
    "\U00011070-\U000110ba\U00011100-\U00011134\U00011145-\U00011173\U00011180-\U000111c0\U0001122c-\U00011237"
    "\U000112df-\U00011446\U0001145e-\U000114c3\U000115af-\U000115c0\U000115dc-\U00011640\U000116ab-\U000116b7"
    "\U0001171d-\U0001172b\U0001182c-\U0001183a\U00011930-\U00011943\U0001e8d0-\U0001e94a"
)
"""Vowel signs and accents, with the letters between them; `\\w` has only the letters."""

LETTER = f"(?:[^\\W\\d_]|[{MARKS}])"
"""A letter or a mark, as a regular expression."""

WORD = re.compile(f"(?:[^\\W_]|[{MARKS}])+")
"""A run of letters, digits and marks."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0730-\u074a\u07eb-\u07f3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0"
    "\ufe20-\ufe2f\u02bb\u02be\u02bf]"
)
# Letters that no decomposition leads to the letter that people type for them.
_TYPED = {
    "đ": "d", "ð": "d", "ł": "l", "ø": "o", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th",
    "ʼ": "'",
}  # fmt: skip
_ZEROS = (
    "\u0660\u06f0\u07c0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0de6\u0e50\u0ed0\u0f20"
    "\u1040\u1090\u17e0\u1810\u1946\u19d0\u1a80\u1a90\u1b50\u1bb0\u1c40\u1c50\ua620\ua8d0\ua900\ua9d0"
    "\ua9f0\uaa50\uabf0"
)
_TYPED |= {chr(ord(zero) + value): str(value) for zero in _ZEROS for value in range(10)}
_TYPABLE = re.compile(f"[{''.join(_TYPED)}]")


def plain_form(text: str) -> str:
    """NFKC without what nobody sees: soft hyphens, joiners, marks of direction, variation selectors."""
    return text if text.isascii() else _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def fold(text: str) -> str:
    """Text in which what people take for the same is the same: width, case, accents, vowel points, digits."""
    return folded(plain_form(text))


def folded(text: str) -> str:
    """`fold` of a text that is in its plain form already."""
    if text.isascii():
        return text.lower()
    text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return _TYPABLE.sub(lambda match: _TYPED[match.group()], unicodedata.normalize("NFC", text))
