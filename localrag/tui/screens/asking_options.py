"""The dialog in which a person chooses how questions are asked, and what they are narrowed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Select, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui.choices import FORMS, MODES, STYLES, Choices, joined, listed
from localrag.tui.screens.dialogs import Dialog

if TYPE_CHECKING:
    from localrag.filtering import Known
    from localrag.tui.session import Session
    from localrag.tui.words import Fault

_FIELDS = (
    ("response_type", "Form", "a few sentences; or: short, list, table, report, your own words"),
    ("user_prompt", "Wishes", "further wishes for the answer, such as: name the year of each event"),
    ("documents", "Documents", "paths, folder/ or patterns such as *.md, parted by commas"),
    ("folder", "Folder", "only documents in this folder"),
    ("tags", "Tags", "only documents with one of these tags"),
    ("since", "From", "2024, 2024-05 or 2024-05-31: files changed then or later"),
    ("until", "Until", "files changed until the end of that year, month or day"),
    ("types", "Types", "only entities of these types, such as PERSON"),
)
_LISTS = ("documents", "tags", "types")
_SHOWN = 12
"""Suggestions that are named below the fields."""


class OptionsDialog(Dialog[Choices]):
    """Asks how questions are to be asked; the result is checked against the file before it closes."""

    HELP = """
    These choices hold for the questions of this conversation. What is left empty is as the settings say, or
    narrows nothing. While you type, the names that are in the knowledge base are shown below; **right** takes
    the one that is suggested.
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="options.cancel"),
        Binding("ctrl+o,ctrl+s", "use", "Use", id="options.use", priority=True, tooltip="Use these choices"),
    ]

    def __init__(self, session: Session, choices: Choices, field: str = "") -> None:
        """`field` is the one to begin with."""
        super().__init__()
        self._session = session
        self._choices = choices
        self._field = field or "mode"
        self._known: dict[str, Sequence[str]] = {"response_type": FORMS}

    def compose(self) -> ComposeResult:
        """A line for each choice."""
        usual = self._session.settings.answering.style
        choices = self._choices
        with Vertical(classes="dialog options") as box:
            box.border_title = "How questions are asked"
            box.border_subtitle = "ctrl+o uses them, esc cancels"
            with VerticalScroll(can_focus=False):
                modes = [(f"{name}: {about}", name) for name, about in MODES.items()]
                yield from _row("Mode", _select("mode", modes, choices.mode))
                styles = [(f"as in the settings ({usual})", "")]
                styles += [(f"{name}: {about}", name) for name, about in STYLES.items()]
                yield from _row("Answers", _select("style", styles, choices.style))
                for name, title, placeholder in _FIELDS:
                    yield from _row(title, self._input(name, placeholder))
            yield Static("", id="option-hint", markup=False)
            yield Static("", id="option-problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Use", id="use", variant="primary", compact=True)
                yield Button("As usual", id="usual", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """Begin with the field that was asked for, and look what there is to choose from."""
        self.query_one("#option-problem").display = False
        self.query_one(f"#option-{self._field}").focus()
        self._session.look(self, lambda kb: kb.filterable(), self._take_known, key="options.known")

    def _input(self, name: str, placeholder: str) -> Input:
        value = getattr(self._choices, name)
        return Input(
            joined(value) if name in _LISTS else value,
            placeholder=placeholder,
            restrict=TYPEABLE,
            compact=True,
            id=f"option-{name}",
            suggester=_Names(lambda: self._known.get(name, ()), many=name in _LISTS),
        )

    def _take_known(self, known: Known) -> None:
        self._known |= {
            "documents": known.documents,
            "folder": known.folders,
            "tags": known.tags,
            "types": known.types,
        }
        self._hint(self.focused)

    @on(events.DescendantFocus)
    def _focused(self, event: events.DescendantFocus) -> None:
        self._hint(event.widget)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        self._hint(event.input)

    def _hint(self, widget: Widget | None) -> None:
        """Name what could be written into a field."""
        words = ""
        if isinstance(widget, Input) and widget.id:
            name = widget.id.removeprefix("option-")
            typed = _last(widget.value) if name in _LISTS else widget.value
            known = self._known.get(name, ())
            near = [item for item in known if typed.casefold() in item.casefold()]
            more = f" and {len(near) - _SHOWN:,} more" if len(near) > _SHOWN else ""
            if near:
                words = f"There are: {plain(', '.join(near[:_SHOWN]))}{more}"
            elif known and typed:
                words = "Nothing in the knowledge base is called so."
            elif name in ("tags", "types"):
                words = "There are none yet."
        self.query_one("#option-hint", Static).update(words)

    # Ending it

    def action_use(self) -> None:
        """Check the choices, and close with them if they can be used."""
        choices = self._chosen()
        self._session.look(
            self, choices.filter, lambda _: self.close_with(choices), self._refuse, key="options.check"
        )

    def _refuse(self, fault: Fault) -> None:
        problem = self.query_one("#option-problem", Static)
        problem.update(fault.text)
        problem.display = True

    def action_cancel(self) -> None:
        """Close; nothing changes."""
        self.close_with(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_use()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "use":
            self.action_use()
        else:
            self.close_with(Choices() if event.button.id == "usual" else None)

    def _chosen(self) -> Choices:
        def typed(name: str) -> str:
            return self.query_one(f"#option-{name}", Input).value.strip()

        return Choices(
            mode=str(self.query_one("#option-mode", Select).value),
            style=str(self.query_one("#option-style", Select).value),
            response_type=typed("response_type"),
            user_prompt=typed("user_prompt"),
            documents=listed(typed("documents")),
            folder=typed("folder"),
            tags=listed(typed("tags")),
            since=typed("since"),
            until=typed("until"),
            types=listed(typed("types")),
        )


class _Names(Suggester):
    """Completes what is typed by a name that is there; of a list, its last item."""

    def __init__(self, names: Callable[[], Iterable[str]], *, many: bool) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names
        self._many = many

    async def get_suggestion(self, value: str) -> str | None:
        """The whole text with the completed item at its end."""
        item = _last(value) if self._many else value
        if not item:
            return None
        head = value[: len(value) - len(item)]
        wanted = item.casefold()
        found = next((name for name in self._names() if name.casefold().startswith(wanted)), None)
        return None if found is None else head + item + found[len(item) :]


def _last(text: str) -> str:
    """The item that is being typed at the end of a list."""
    return text.rsplit(",", 1)[-1].lstrip(' "')


def _row(title: str, widget: Widget) -> Iterable[Widget]:
    with Horizontal(classes="option"):
        yield Label(title)
        yield widget


def _select(name: str, choices: list[tuple[str, str]], value: str) -> Select[str]:
    return Select(choices, value=value, allow_blank=False, compact=True, id=f"option-{name}")
