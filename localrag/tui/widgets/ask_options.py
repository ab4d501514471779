"""The line above the question that says how it will be asked; a click, or its key, changes it."""

from __future__ import annotations

from textual.content import Content, Span
from textual.style import Style
from textual.widgets import Static

from localrag.tui.choices import Choices, chips

_BETWEEN = " · "


class OptionsLine(Static):
    """What is chosen for the next questions, in one line."""

    HELP = """
    How the next question is asked: mode, what answers may rest on, their form, your wishes, and what is
    searched. **ctrl+o**, or a click, changes it.
    """

    ALLOW_SELECT = False

    def __init__(self, style: str, response_type: str) -> None:
        """What the settings say of answers."""
        super().__init__("", id="options-line", markup=False)
        self._style = style
        self._response_type = response_type

    def show(self, choices: Choices) -> None:
        """Say what is chosen; what is not as usual stands out, and can be clicked."""
        text = "ctrl+o "
        spans: list[Span] = []
        for chip in chips(choices, self._style, self._response_type):
            text += "" if text.endswith(" ") and not spans else _BETWEEN
            start = len(text)
            # What differs is told by its brackets too, for screens without colour.
            text += f"[{chip.words}]" if chip.chosen else chip.words
            spans.append(
                Span(start, len(text), Style.from_meta({"@click": f"screen.options('{chip.field}')"}))
            )
            if chip.chosen:
                spans.append(Span(start, len(text), "bold"))
        self.update(Content(text, spans=spans))
