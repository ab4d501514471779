"""A prompt to read: what it is for, what is wrong with it, and its text with what is filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from localrag.plain import plain, plain_lines
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.tui.prompt_facts import PromptFacts

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class PromptView(VerticalScroll):
    """The prompt that is chosen in the list."""

    HELP = """
    A prompt: the words with which localrag tells the model what to do. Words in `{braces}` that are set off
    are **filled in** each time, for instance with a passage or your question. What the prompt is for and what
    it is given stands in the first lines of its file, which the model does not see.

    **e** opens your own copy in your editor, **t** edits it here, **d** shows how yours differs from the
    built-in one, **r** removes yours, so that the built-in one is used again.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
    ]

    shown = ""
    """Name of the prompt that is shown."""

    def compose(self) -> ComposeResult:
        """What is known of it above its text."""
        yield Static("", id="prompt-facts", markup=False)
        yield Static("", id="prompt-remarks", markup=False)
        yield Static("", id="prompt-text", markup=False)

    def on_mount(self) -> None:
        """Nothing is chosen yet."""
        self.border_title = "Prompt"

    def show(self, facts: PromptFacts) -> None:
        """Show a prompt, from its top unless it is shown already."""
        again, self.shown = self.shown == facts.name, facts.name
        self.border_title = Content(facts.name)
        self.query_one("#prompt-facts", Static).update(_facts(facts))
        found = self.query_one("#prompt-remarks", Static)
        found.update(_remarks(facts))
        found.display = bool(facts.remarks)
        self.query_one("#prompt-text", Static).update(marked(facts))
        if not again:
            self.scroll_home(animate=False)


def marked(facts: PromptFacts) -> Text:
    """The text for the model, in which what is filled in stands out; of a damaged file the whole of it."""
    body = Text("\n".join(plain_lines(facts.text).split("\n")[facts.body - 1 :]).rstrip())
    for match in _PLACEHOLDER.finditer(body.plain):
        if match.group(1) in facts.inputs:
            body.stylize("bold reverse", match.start(), match.end())
    return body


def _facts(facts: PromptFacts) -> Text:
    text = Text()
    if facts.description:
        text.append(f"{plain(facts.description)}\n", style="bold")
    whose = "Yours" if facts.own else "Built in"
    text.append(f"{whose}: {plain(str(facts.path))}\n")
    if facts.tokens:
        filled = ", ".join(facts.inputs) or "nothing"
        text.append(f"About {count(facts.tokens, 'token')} of text. Filled in: {filled}.\n")
    return text


def _remarks(facts: PromptFacts) -> Text:
    text = Text()
    for remark in facts.remarks:
        kind = "Error" if remark.error else "Warning"
        style = "bold red" if remark.error else "yellow"
        text.append(f"{kind}", style=style).append(f" in line {remark.line}: {plain(remark.text)}.\n")
    if facts.errors:
        text.append("It cannot be used like this: whatever needs it will say so.\n")
    return text
