"""The text of an answer: Markdown in which the marks of sources can be clicked, and nothing else."""

from __future__ import annotations

import re
from functools import partial

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from textual.widgets import Markdown

_MARK = re.compile(r"\[(\d{1,3})\]")
_ADDRESS = "source:"


class AnswerText(Markdown):
    """Shows what a model wrote."""

    ALLOW_SELECT = True

    def __init__(self, text: str = "") -> None:
        super().__init__(text or None, classes="answer", parser_factory=answer_markdown, open_links=False)


def harmless_markdown() -> MarkdownIt:
    """A parser under which a model's text can make emphasis, lists, tables and code, and nothing to click.

    Links and pictures are shown as they were written, so their address can be seen; HTML is text.
    """
    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(
        ["link", "image", "autolink", "linkify", "reference", "html_block", "html_inline"], ignoreInvalid=True
    )


def answer_markdown() -> MarkdownIt:
    """`harmless_markdown` in which `[2]` leads to the second source."""
    parser = harmless_markdown()
    parser.inline.ruler.before("emphasis", "source", _source)
    return parser


def source_of(address: str) -> int | None:
    """The number of the source that an address of `answer_markdown` names; None for any other."""
    number = address.removeprefix(_ADDRESS)
    return int(number) if address.startswith(_ADDRESS) and number.isdecimal() else None


def _source(state: StateInline, silent: bool) -> bool:
    """The rule for a mark."""
    match = _MARK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        push = partial(state.push, tag="a")
        push("link_open", nesting=1).attrs = {"href": f"{_ADDRESS}{match[1]}"}
        state.push("text", "", 0).content = match[0]
        push("link_close", nesting=-1)
    state.pos = match.end()
    return True
