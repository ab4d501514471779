"""Entities that may be the same: what is known of both, to be confirmed or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Static

from localrag.plain import plain
from localrag.tui.screens.dialogs import Confirm
from localrag.tui.screens.entity_deciding import decide, last_decision, refuse, take_back
from localrag.tui.screens.place import STYLES
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.lines import Cell, Column, LineList

if TYPE_CHECKING:
    from localrag.curating import EntityView, LogEntry, Suggestion
    from localrag.kb import KnowledgeBase
    from localrag.looking import Mention
    from localrag.tui.session import Session
    from localrag.tui.words import Fault

_MOST = 300
_MENTIONS = 3
_RELATIONS = 6


_HELP = """
Pairs of entities that may be the same but are not surely. Below stands what is known of both.

**y** says that they are the same: the left one becomes part of the right one. **n** says that they are
not: they are never suggested again. **u** takes the last decision back. **escape** closes the list.
"""


@dataclass(frozen=True)
class Side:
    """What is known of one of the two."""

    view: EntityView
    """Its description, other names, relations and documents."""

    mentions: tuple[Mention, ...]
    """Some sentences that mention it."""


class _Pairs(LineList):
    """The list, explained as a part of what it stands in."""

    HELP = _HELP


class SuggestionsScreen(Screen[None]):
    """The pairs, the likeliest first, with both sides of the one at the cursor."""

    CSS_PATH = STYLES / "graph.tcss"
    HELP = _HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "judge(True)", "Same", id="merges.same", tooltip="They are the same: make them one"),
        Binding("n", "judge(False)", "Different", id="merges.different", tooltip="They are not the same"),
        Binding("u", "undo", "Undo", id="merges.undo", tooltip="Take the last decision back"),
        Binding("escape,q,backspace", "close", "Close", id="merges.close", tooltip="Close the list"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._items: Sequence[Suggestion] = ()
        self._judging = False
        self.BINDING_GROUP_TITLE = "Merges"

    def compose(self) -> ComposeResult:
        """The list above, both sides below."""
        with Vertical(id="merges") as box:
            box.border_title = Content("May be the same")
            yield _Pairs(
                [
                    Column("name", "Name", sorts=False),
                    Column("into", "May be", sorts=False),
                    Column("score", "Likely", 6, right=True, sorts=False),
                    Column("why", "Because", share=2, room=70, sorts=False),
                ],
                empty="Looking.",
            )
            yield Static("", id="why", markup=False)
            with Horizontal(id="sides"):
                for side in ("left", "right"):
                    with VerticalScroll(id=f"{side}-side", can_focus=False):
                        yield Static("", id=f"{side}-facts", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Same (y)", id="same", variant="primary", compact=True, disabled=True)
                yield Button("Different (n)", id="different", compact=True, disabled=True)
        yield KeyLine()

    def on_mount(self) -> None:
        """Look for pairs."""
        self.query_one(LineList).focus()
        self._read()

    def action_close(self) -> None:
        """Close."""
        if self.is_current:
            self.dismiss(None)

    def action_judge(self, same: bool) -> None:
        """Say that the two at the cursor are the same, or that they are not."""
        item = self._item
        if item is None or self._judging:
            return
        self._judging = True

        def done() -> None:
            self._judging = False
            self._read()

        decide(self, self._session, lambda kb: kb.entities.judge_pair(item.keys, same=same), done, done)

    def action_undo(self) -> None:
        """Take the last decision back, once it was said which that is."""

        def ask(entry: LogEntry | None) -> None:
            if entry is None:
                self.notify("Nothing was decided that could be taken back.", markup=False)
                return

            def answered(sure: bool | None) -> None:
                if sure:
                    take_back(self, self._session, entry.id, self._read)

            question = f"Take this back?\n\n{plain(entry.sentence)}"
            self.app.push_screen(Confirm(question, "Take it back", "Cancel"), answered)

        self._session.look(self, last_decision, ask, self._failed, key="graph.change")

    @property
    def _item(self) -> Suggestion | None:
        cursor = self.query_one(LineList).cursor
        return self._items[cursor] if cursor < len(self._items) else None

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_judge(event.button.id == "same")
        self.query_one(LineList).focus()

    @on(LineList.Highlighted)
    def _highlighted(self) -> None:
        item = self._item
        for button in self.query(Button):
            button.disabled = item is None
        self.query_one("#why", Static).update(
            f"Because: {'; '.join(map(plain, item.evidence))}." if item is not None else ""
        )
        if item is None:
            self._show_sides(None)
            return
        keys = item.keys
        self._session.look(
            self, lambda kb: _sides(kb, keys), self._show_sides, self._failed, key="graph.sides"
        )

    def _read(self) -> None:
        self._session.look(
            self, lambda kb: kb.entities.suggestions(_MOST), self._show, self._failed, key="graph.suggested"
        )

    def _show(self, items: Sequence[Suggestion]) -> None:
        self._items = items
        rows: list[list[Cell]] = [
            [item.name, item.into, f"{item.score:.0%}", "; ".join(item.evidence)] for item in items
        ]
        lines = self.query_one(LineList)
        lines.say_empty(
            "Nothing is suggested: no two entities look like one that are not merged already.\n"
            "Two that you know to be one can be merged in the graph: mark both with space, and press c."
        )
        lines.show_rows(rows)
        shown = f" (the likeliest {len(items):,})" if len(items) == _MOST else f" ({len(items):,})"
        box = self.query_one("#merges")
        box.set_class(not items, "-none")
        box.border_title = Content(f"May be the same{shown if items else ''}")

    def _show_sides(self, sides: tuple[Side, Side] | None) -> None:
        for name, side in zip(("left", "right"), sides or (None, None), strict=True):
            words = side_words(side) if side is not None else ""
            self.query_one(f"#{name}-facts", Static).update(words)
            self.query_one(f"#{name}-side", VerticalScroll).scroll_home(animate=False)

    def _failed(self, fault: Fault) -> None:
        self._show_sides(None)
        refuse(self, fault)


def side_words(side: Side) -> str:
    """What is known of one of the two, in lines."""
    row, view = side.view.entity, side.view
    lines = [f"{plain(row.name)}", f"{plain(row.type)}, {row.mentions:,} passages"]
    if description := plain(row.summary or " ".join(row.descriptions)):
        lines.append(description)
    if aliases := list(dict.fromkeys(plain(alias.name) for alias in view.aliases)):
        lines.append(f"Also called: {', '.join(aliases[:8])}")
    lines.append(f"In: {', '.join(plain(item.text) for item in view.variants.documents[:4])}")
    for relation in view.relations[:_RELATIONS]:
        said = f" ({plain(relation.keywords)})" if relation.keywords else ""
        out = relation.source_id == row.id
        lines.append(f"{'→' if out else '←'} {plain(relation.target if out else relation.source)}{said}")
    lines += [f"“{plain(mention.sentence)}”" for mention in side.mentions]
    return "\n".join(lines)


def _sides(kb: KnowledgeBase, keys: tuple[str, str]) -> tuple[Side, Side]:
    one, other = kb.entities.sides(keys)
    found = [Side(view, tuple(kb.graph.mentions(view.entity.id, _MENTIONS))) for view in (one, other)]
    return found[0], found[1]
