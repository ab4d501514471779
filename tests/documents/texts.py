"""Texts that hypothesis makes for the tests of sentences and chunks."""

from __future__ import annotations

from hypothesis import strategies as st

_PIECES = (
    "Dr. Rook",
    "the U.S. Navy",
    "e.g. this",
    "3.14",
    "She left.",
    "Why?",
    "“Yes.”",
    "wait...",
    "word",
    "x" * 70,
    "灯塔亮了。",
    "他说：“好。”",
    "真的吗？！",
    "我……我",
    "海沟，",
    "# Heading",
    "## 第二节",
    "- item",
    "1. first",
    "| a | b |",
    "```",
    "> quoted",
    "===",
    "Name: text",
    "18:40 Wind.",
    "e\u0301",
    "\u0301",
    "👨‍👩‍👧",
    "👋🏽",
    "🇩🇪",
    "{braces}",
    "<|im_end|>",
    "\x1b[31m",
    "12345678901234567890",
)
_SPACES = (" ", "  ", "\n", "\n\n", "\u3000", "\t", "", "\f", "\n   \n", "\u2028", "\xa0")

anything = st.text(st.characters(codec="utf-8"), max_size=300)
"""Any well-formed text."""

prose = st.lists(st.tuples(st.sampled_from(_PIECES), st.sampled_from(_SPACES)), max_size=120).map(
    lambda parts: "".join(piece + space for piece, space in parts)
)
"""Text of the things that sentences and chunks are cut by."""

texts = st.one_of(anything, prose)
"""Both kinds."""


def without_space(text: str) -> str:
    """The text with all white space taken out."""
    return "".join(text.split())
