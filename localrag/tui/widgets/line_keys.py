"""The keys that every list has."""

from __future__ import annotations

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("enter", "open", "Open", show=False, id="lines.open", tooltip="Open the row at the cursor"),
    Binding("up,k", "move(-1)", "Up", show=False),
    Binding("down,j", "move(1)", "Down", show=False),
    Binding("pageup", "page(-1)", "Page up", show=False),
    Binding("pagedown", "page(1)", "Page down", show=False),
    Binding("home,g", "first", "First", show=False, id="lines.first", tooltip="Go to the first row"),
    Binding("end,G", "last", "Last", show=False, id="lines.last", tooltip="Go to the last row"),
    Binding("space", "mark", "Mark", show=False, id="lines.mark", tooltip="Choose this row too, or not"),
    Binding("shift+up,K", "mark_and_move(-1)", "Mark upwards", show=False),
    Binding("shift+down,J", "mark_and_move(1)", "Mark downwards", show=False),
    Binding(
        "asterisk,ctrl+a",
        "mark_all",
        "Mark all",
        show=False,
        id="lines.mark_all",
        tooltip="Choose all rows of the list",
    ),
    Binding(
        "escape",
        "unmark",
        "Unmark",
        show=False,
        id="lines.unmark",
        tooltip="Choose no row but that at the cursor",
    ),
]
