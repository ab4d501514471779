"""The dialog in which one setting is changed; what is wrong is said at once, in a sentence."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from localrag.errors import SettingsError
from localrag.plain import TYPEABLE, plain
from localrag.settings import Settings, check_value
from localrag.settings_schema import Setting, in_words, value_of
from localrag.settings_writing import Value
from localrag.tui.screens.dialogs import Dialog
from localrag.tui.widgets.lines import Column, LineList
from localrag.tui.widgets.settings import origin_word, origin_words, takes


class SettingDialog(Dialog[Value]):
    """Closes with the new value, or without one if nothing is to change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="setting.leave", tooltip="Change nothing"),
    ]

    def __init__(self, setting: Setting, settings: Settings) -> None:
        super().__init__()
        self._setting = setting
        self._settings = settings
        self._words = {"yes or no": ("yes", "no"), "word": setting.allowed}.get(setting.kind, ())

    def compose(self) -> ComposeResult:
        """What it means, the value, and what is wrong with it."""
        name = self._setting.name
        with Vertical(classes="dialog", id="setting-dialog") as box:
            box.border_title = Content(name)
            yield Static(self._setting.help, markup=False)
            yield Static(f"It takes {takes(self._setting)}.", classes="place", markup=False)
            if origin_word(self._settings, name) in ("variable", "flag"):
                yield Static(f"The value is {origin_words(self._settings, name)}.", markup=False)
            if self._words:
                box.border_subtitle = "enter chooses, esc leaves"
                yield LineList([Column("word", "")], header=False, id="setting-words-list")
            else:
                yield Input(
                    in_words(value_of(self._settings, name)),
                    id="setting-value",
                    restrict=TYPEABLE,
                    compact=True,
                )
                yield Static("", id="problem", markup=False)
                with Horizontal(classes="buttons"):
                    yield Button("Keep", id="keep", variant="primary", compact=True)
                    yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The cursor stands on the value."""
        if self._words:
            value = in_words(value_of(self._settings, self._setting.name))
            lines = self.query_one(LineList)
            lines.styles.height = len(self._words)
            default = in_words(self._setting.default)
            rows = [(f"{word}  (default)" if word == default else word,) for word in self._words]
            lines.show_rows(rows, cursor=self._words.index(value) if value in self._words else 0)
            lines.focus()
        else:
            self.query_one("#problem").display = False
            self.query_one(Input).focus()

    @on(LineList.Opened)
    def _chosen(self, event: LineList.Opened) -> None:
        event.stop()
        self._take(self._words[event.index])

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._say(self._check(event.value)[1])

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._take(event.value)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "keep":
            self._take(self.query_one(Input).value)
        else:
            self.close_with(None)

    def _check(self, text: str) -> tuple[Settings | None, str]:
        """The settings with this value, or what is wrong with it."""
        try:
            return check_value(self._settings, self._setting.name, text), ""
        except SettingsError as error:
            return None, f"“{plain(text)}” does not do. {plain(error.hint)}"

    def _take(self, text: str) -> None:
        settings, problem = self._check(text)
        if settings is None:
            self._say(problem)
            return
        self.close_with(value_of(settings, self._setting.name))

    def _say(self, words: str) -> None:
        problem = self.query_one("#problem", Static)
        problem.update(words)
        problem.display = bool(words)

    def action_leave(self) -> None:
        """Change nothing."""
        self.close_with(None)
