"""Cuts a chunk's text into words, single Chinese or Japanese characters, and breaks.

A break is whatever no name runs across: punctuation, an empty line, white space between two characters.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from localrag.extraction.words import ABBREVIATIONS
from localrag.graph.names import CJK

# Letters, digits, and the marks that belong to letters in Hebrew, Arabic and the scripts of South Asia.
_LETTER = (
    rf"(?:(?![{CJK}])[^\W_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u200c\u200d])"
)
_TOKEN = re.compile(
    rf"""
    (?P<address>(?:https?://|www\.)[^\s<>"']+|[\w.+-]+@[\w-]+\.[\w.-]+)
    |(?P<word>
        (?:[A-Za-z]\.){{2,}}(?![A-Za-z])                              # U.S.
        |(?:{ABBREVIATIONS})\.(?!\w)                                  # Jr.
        |[A-Z]\.(?=\s+[A-Z])                                          # J. Smith
        |[A-Z]{{1,5}}(?:[/&][A-Z]{{1,5}})+(?![a-z])                   # TCP/IP, AT&T
        |['’]s(?!\w)                                                  # the end of a possessive
        |{_LETTER}+(?:(?:['’](?!s(?!\w))|[-_]|\.(?=[a-z0-9])|(?<=\d)[,:](?=\d)){_LETTER}+)*(?:\+\+?|\#(?!\#))?
        |&
    )
    |(?P<han>[{CJK}])
    |(?P<dot>(?<=[{CJK}])[·・•‧－-](?=[{CJK}A-Z])|(?<=[A-Z])[·・•‧－-](?=[{CJK}]))
    |(?P<space>\s+)
    |(?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)

Kind = Literal["word", "han", "dot", "break"]
_NAME_KINDS: dict[str | None, Kind] = {"word": "word", "han": "han", "dot": "dot"}
_OPENERS = frozenset('.!?:;。！？：；"“”‘*-•–—…')


class Token(NamedTuple):
    """A word, a character, or a break."""

    kind: Kind
    """`dot` is the point between the parts of a foreign name in Chinese."""

    text: str
    """As it stands in the chunk."""

    start: int
    """Place of its first character."""

    end: int
    """Place behind its last character."""

    opens: bool = False
    """Whether a sentence, a line after an empty one, or a quotation begins with it."""


def tokenise(text: str) -> list[Token]:
    """The text's tokens in order, without white space."""
    tokens: list[Token] = []
    opens = True
    blank = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        piece = match.group()
        start, end = match.span()
        if kind == "space":
            blank = True
            if piece.count("\n") > 1:
                tokens.append(Token("break", "\n", start, end))
                opens = True
            continue
        if kind == "han" and blank and tokens and tokens[-1].kind == "han":
            tokens.append(Token("break", " ", start, start))
        blank = False
        if kind in _NAME_KINDS:
            tokens.append(Token(_NAME_KINDS[kind], piece, start, end, opens))
            opens = False
        else:
            tokens.append(Token("break", piece, start, end))
            opens = opens or piece in _OPENERS
    return tokens


def runs(tokens: list[Token]) -> list[list[Token]]:
    """The tokens between breaks, no run empty."""
    result: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "break":
            result.append([])
        else:
            result[-1].append(token)
    return [run for run in result if run]
