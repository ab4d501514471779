"""A prompt in a box to write in, for when no editor is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static, TextArea

from localrag.plain import plain
from localrag.tui.disk import on_disk
from localrag.tui.screens.dialogs import Confirm, Dialog
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.prompts.checking import Remark
    from localrag.settings import Settings
    from localrag.tui.app import LocalragApp
    from localrag.tui.prompt_facts import PromptFacts

_MOST_SHOWN = 3


class PromptEditor(Dialog[bool]):
    """Closes with True when the prompt was written; one with errors is written only at the second try."""

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+o", "save", "Save", id="prompt_editor.save", priority=True, tooltip="Keep this"),
        Binding("escape", "leave", "Cancel", id="prompt_editor.leave", tooltip="Leave without saving"),
    ]

    def __init__(self, facts: PromptFacts, settings: Settings) -> None:
        super().__init__()
        self._facts = facts
        self._settings = settings
        self._warned_of = ""
        self._saving = False

    def compose(self) -> ComposeResult:
        """The text, what is wrong with it, and two buttons."""
        with Vertical(classes="dialog", id="prompt-editor") as box:
            box.border_title = Content(self._facts.name)
            box.border_subtitle = "ctrl+s saves, esc leaves"
            yield TextArea(self._facts.text, id="prompt-area", show_line_numbers=True, soft_wrap=True)
            yield Static("", id="problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Save", id="save", variant="primary", compact=True)
                yield Button("Cancel", id="cancel", compact=True)

    def on_mount(self) -> None:
        """The cursor stands in the text."""
        self.query_one("#problem").display = False
        self.query_one(TextArea).focus()

    @property
    def _text(self) -> str:
        return self.query_one(TextArea).text

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "save":
            self.action_save()
        else:
            self.action_leave()

    def action_save(self) -> None:
        """Check the text, and write it unless something is wrong that was not told before."""
        if self._saving:
            return
        self._saving = True
        text, name = self._text, self._facts.name
        sure = text == self._warned_of

        def job() -> tuple[Remark, ...]:
            from localrag.tui import prompt_facts

            found = prompt_facts.check_text(self._settings, name, text)
            if sure or not any(remark.error for remark in found):
                prompt_facts.save(self._settings, name, text)
                prompt_facts.drop_unchanged(self._settings, name)
                return ()
            return tuple(remark for remark in found if remark.error)

        on_disk(self.app, self, job, lambda found: self._checked(text, found), self._failed)

    def _checked(self, text: str, errors: tuple[Remark, ...]) -> None:
        self._saving = False
        if not errors:
            self.close_with(True)
            return
        self._warned_of = text
        lines = [f"Line {remark.line}: {plain(remark.text)}." for remark in errors[:_MOST_SHOWN]]
        if len(errors) > _MOST_SHOWN:
            lines.append(f"And {len(errors) - _MOST_SHOWN} more.")
        self._say(
            "\n".join([*lines, "It could not be used like this. Save once more to keep it all the same."])
        )

    def _failed(self, fault: Fault) -> None:
        self._saving = False
        self._say(fault.text)

    def _say(self, words: str) -> None:
        problem = self.query_one("#problem", Static)
        problem.update(words)
        problem.display = True

    def action_leave(self) -> None:
        """Leave; asks first if something was changed."""
        if self._text == self._facts.text:
            self.close_with(None)
            return
        question = "Drop what you changed in this prompt?"
        self.app.push_screen(Confirm(question, "Drop it", "Go on editing"), self._leave_if)

    def _leave_if(self, sure: bool | None) -> None:
        if sure:
            self.close_with(None)
