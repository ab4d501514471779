"""Text that may stand in a record, and where a name stands in its chunk.

A record's fields are parted by delimiters that the format does not escape, so some characters can stand in
no field at all; the same rules are used for offering names, for writing and for reading records.
"""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 80
"""Most characters of a name."""

FORBIDDEN = frozenset("<>|#")
"""Characters that can stand in no field, because delimiters are made of them."""

# Names of letters, digits and Chinese characters, with single signs between them: most names, told at once.
_PLAIN = re.compile(r"[0-9A-Za-z\u4e00-\u9fff]+(?:[ '.,&-][0-9A-Za-z\u4e00-\u9fff]+)*")
_JOINERS = frozenset("\u200c\u200d")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as the model sees it: control characters but newline and tab become blanks.

    Lone surrogates become U+FFFD. The length stays the same, so places in both texts are the same too.
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


def one_line(text: str) -> str:
    """The text with every run of white space, line breaks among it, as one blank."""
    return " ".join(text.split())


def balanced(text: str) -> bool:
    """Whether every parenthesis has its partner and none stands inside another.

    One level is all that the grammars can count.
    """
    open_ = False
    for char in text:
        if char == "(" and not open_:
            open_ = True
        elif char == ")" and open_:
            open_ = False
        elif char in "()":
            return False
    return not open_


def writable(text: str) -> bool:
    """Whether the text can be a field: not empty, one line, no delimiter character, parentheses in pairs."""
    if _PLAIN.fullmatch(text):
        return True
    return bool(text) and text == one_line(text) and balanced(text) and all(map(_printable, text))


def _printable(char: str) -> bool:
    if char in FORBIDDEN or char == "\ufffd":
        return False
    return not unicodedata.category(char).startswith("C") or char in _JOINERS


def locate(text: str, name: str) -> tuple[int, int]:
    """Where the name stands in the text, as start and end; (-1, -1) if it does not.

    A blank in the name matches any white space. A place where the name is a word of its own goes before
    one inside a longer word, the same case before another, an earlier place before a later one.
    """
    parts = name.split()
    if not parts:
        return -1, -1
    pattern = r"\s+".join(map(re.escape, parts))
    source = clean(text)
    whole = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    for expression, flags in ((whole, 0), (pattern, 0), (whole, re.IGNORECASE), (pattern, re.IGNORECASE)):
        found = re.search(expression, source, flags)
        if found:
            return found.span()
    return -1, -1
