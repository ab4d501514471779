"""Help for what has the focus: what it is for, and the keys that work there."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown, Static

from localrag.tui.screens.dialogs import Dialog

_GENERAL = (
    ("tab, shift+tab", "Go to the next or the last part of the screen"),
    ("ctrl+c", "Copy what was selected with the mouse"),
)


def help_of(widget: Widget | None) -> str:
    """The help text of a widget, or of the nearest one around it that has some."""
    for node in widget.ancestors_with_self if widget is not None else ():
        if isinstance(node, Widget) and node.HELP:
            return cleandoc(node.HELP)
    return ""


def keys_of(screen: Screen[Any]) -> list[tuple[str, str]]:
    """The keys that work on a screen now and have a name of ours: (keys, what they do)."""
    found: dict[str, tuple[list[str], str]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id and active.enabled:
            keys, _ = found.setdefault(binding.id, ([], binding.tooltip or binding.description))
            keys.append(_name(binding.key))
    ordered = sorted(found.items(), key=lambda item: _rank(item[0]))
    return [(", ".join(keys), does) for _, (keys, does) in ordered] + list(_GENERAL)


def _rank(name: str) -> int:
    """What the place does comes first, then what works everywhere, then how to get to other places."""
    return 2 if name.startswith("go.") else 1 if name.startswith("app.") else 0


def _name(key: str) -> str:
    return {"question_mark": "?", "slash": "/"}.get(key, key)


class HelpScreen(Dialog[None]):
    """Closes with escape, f1, q or a click beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,f1,question_mark", "close", "Close"),
        Binding("j", "scroll(1)", show=False),
        Binding("k", "scroll(-1)", show=False),
    ]

    def __init__(self, text: str, keys: list[tuple[str, str]]) -> None:
        super().__init__()
        self._text = text
        self._keys = keys

    def compose(self) -> ComposeResult:
        """Text, then keys."""
        table = Table.grid(padding=(0, 2))
        for keys, does in self._keys:
            table.add_row(Text(keys, style="bold"), Text(does))
        with VerticalScroll(classes="dialog reader") as box:
            box.border_title = "Help"
            box.border_subtitle = "esc closes"
            if self._text:
                yield Markdown(self._text, open_links=False)
            yield Static(table)

    def on_mount(self) -> None:
        """The arrows scroll at once."""
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        """Close."""
        self.close_with(None)

    def action_scroll(self, lines: int) -> None:
        """Scroll by some lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)
