"""Asks which mentions of an entity mean another one, and says how many that are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.lines import Cell, Column, LineList

if TYPE_CHECKING:
    from localrag.curating import Decided, EntityView
    from localrag.kb import KnowledgeBase
    from localrag.tui.session import Session
    from localrag.tui.words import Fault

Condition = tuple[str, str]

_KINDS = (("name", "written as"), ("type", "of the type"), ("document", "in"))


@dataclass(frozen=True)
class SplitRequest:
    """Which mentions go, and to whom."""

    into: str
    """Name of the entity that they mean; it may be new."""

    names: tuple[str, ...]
    """Mentions that are written so."""

    types: tuple[str, ...]
    """Mentions of these types."""

    documents: tuple[str, ...]
    """Mentions in these documents."""

    def split(self, kb: KnowledgeBase, name: str) -> Decided:
        """Do it."""
        return kb.entities.split(
            name, self.into, names=self.names, types=self.types, documents=self.documents
        )

    def count(self, kb: KnowledgeBase, name: str) -> tuple[int, int]:
        """How many mentions would go, and how many there are."""
        return kb.entities.would_go(name, names=self.names, types=self.types, documents=self.documents)


class SplitDialog(Dialog[SplitRequest]):
    """Names, types and documents of the mentions to choose from, and the name of the part that goes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close", show=False)]

    def __init__(self, session: Session, view: EntityView) -> None:
        super().__init__()
        self._session = session
        self._view = view
        self._going: tuple[int, int] = (0, 0)
        variants = view.variants
        lists = (variants.names, variants.types, variants.documents)
        self._choices: list[tuple[Condition, str, int]] = [
            ((kind, item.text), f"{words} {plain(item.text)}", item.mentions)
            for (kind, words), items in zip(_KINDS, lists, strict=True)
            for item in items
        ]

    def compose(self) -> ComposeResult:
        """The choices, the new name, what would come of it."""
        with Vertical(classes="dialog split") as box:
            box.border_title = Content(f"Split {plain(self._view.entity.name)}")
            yield Static(
                "Which mentions mean someone or something else? space marks. Of one kind, one has to fit; "
                "of several kinds, all.",
                classes="place",
                markup=False,
            )
            yield LineList(
                [Column("what", "Mentions"), Column("count", "", 7, right=True)], multiple=True, header=False
            )
            yield Input(
                placeholder="What they mean: a new name, or that of another entity",
                id="into",
                restrict=TYPEABLE,
            )
            yield Static("No mention is chosen.", id="going", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Split", id="yes", variant="primary", compact=True, disabled=True)
                yield Button("Cancel", id="no", compact=True)

    def on_mount(self) -> None:
        """The choices have the keys."""
        lines = self.query_one(LineList)
        rows: list[list[Cell]] = [[words, f"{count:,}×"] for _, words, count in self._choices]
        lines.show_rows(rows)
        lines.focus()

    def action_close(self) -> None:
        """Close without a result."""
        self.close_with(None)

    def _request(self) -> SplitRequest:
        chosen = [self._choices[index][0] for index in self.query_one(LineList).marked]
        names, types, documents = (tuple(text for kind, text in chosen if kind == one) for one, _ in _KINDS)
        return SplitRequest(self.query_one("#into", Input).value.strip(), names, types, documents)

    @on(LineList.Marked)
    def _changed(self) -> None:
        request, name = self._request(), f"#{self._view.entity.id}"
        self._session.look(
            self, lambda kb: request.count(kb, name), self._counted, self._failed, key="graph.split"
        )

    @on(Input.Changed)
    def _typed(self) -> None:
        self._enable()

    def _counted(self, going: tuple[int, int]) -> None:
        self._going = going
        count, total = going
        if not count:
            words = "No mention is like that."
        elif count == total:
            words = f"All {total:,} mentions are like that; nothing would stay. Choose fewer, or rename it."
        else:
            words = f"{count:,} of {total:,} mentions go, {total - count:,} stay."
        self.query_one("#going", Static).update(words)
        self._enable()

    def _failed(self, fault: Fault) -> None:
        self._going = (0, 0)
        self.query_one("#going", Static).update(fault.message)
        self._enable()

    def _enable(self) -> None:
        count, total = self._going
        possible = 0 < count < total and bool(self._request().into)
        self.query_one("#yes", Button).disabled = not possible

    @on(Input.Submitted)
    def _submitted(self) -> None:
        if not self.query_one("#yes", Button).disabled:
            self.close_with(self._request())

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.close_with(self._request() if event.button.id == "yes" else None)
