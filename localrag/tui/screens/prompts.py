"""The place of prompts: what the model is told, to read, to change, to check and to put back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widget import Widget
from textual.widgets import Input

from localrag.plain import TYPEABLE
from localrag.tui import editors
from localrag.tui.disk import on_disk
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.cells import Row, Toned
from localrag.tui.widgets.lines import Column, LineList
from localrag.tui.widgets.prompt_view import PromptView
from localrag.tui.words import count

if TYPE_CHECKING:
    from pathlib import Path

    from localrag.tui.prompt_facts import AllPrompts, PromptFacts

COLUMNS = (
    Column("name", "Prompt", 24, sorts=False),
    Column("home", "Set", 11, sorts=False),
    Column("state", "Whose", sorts=False, share=2),
    Column("about", "What for", room=72, sorts=False, share=5),
)


class PromptList(LineList):
    """The list of prompts."""

    HELP = """
    Every prompt: the words with which localrag tells the model what to do. The **set** is a way of reading
    texts (`lightrag`, `graphrag`, `compact`) and a language. **Built in** prompts come with localrag; one
    that is **yours** takes its place.

    **enter** goes to the text, **e** opens your own copy in your editor, **t** edits it here, **d** shows
    how yours differs, **r** puts the built-in one back, **/** searches.
    """


class PromptsScreen(PlaceScreen):
    """A list of all prompts, and the one that is chosen."""

    PLACE = "prompts"
    CSS_PATH = STYLES / "prompts.tcss"
    AUTO_FOCUS = "#prompt-list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit", id="prompts.edit", tooltip="Open your own copy in your editor"),
        Binding("t", "edit_here", "Edit here", show=False, id="prompts.edit_here", tooltip="Edit it here"),
        Binding("d", "difference", "Compare", id="prompts.compare", tooltip="Compare yours and the built-in"),
        Binding("r,delete", "reset", "Put back", id="prompts.reset", tooltip="Use the built-in one again"),
        Binding("c", "check", "Check all", id="prompts.check", tooltip="Look for mistakes in all prompts"),
        Binding("y", "copy", "Copy", show=False, id="prompts.copy", tooltip="Copy the prompt's text"),
        Binding("slash", "search", "Search", id="prompts.search", tooltip="Search names and texts"),
        Binding("escape", "back", "Back", show=False, id="prompts.back", tooltip="Go back to the list"),
    ]

    _all: AllPrompts | None = None
    _shown: tuple[PromptFacts, ...] = ()

    def compose_body(self) -> Iterable[Widget]:
        """The search box and the list, and the prompt beside or below it."""
        with Container(id="prompts"):
            with Vertical(id="prompt-choice"):
                yield Input(placeholder="Search prompts", id="prompt-search", restrict=TYPEABLE, compact=True)
                yield PromptList(COLUMNS, empty="Reading the prompts", id="prompt-list")
            yield PromptView(id="prompt-view")

    def on_mount(self) -> None:
        """Read the prompts at once: no open file is needed for them."""
        self.query_one("#prompt-choice").border_title = "Prompts"
        self._read()

    def renew(self) -> None:
        """Nothing in the file changes a prompt."""

    def _read(self, name: str = "") -> None:
        """Read all prompts anew; the cursor goes to `name`."""
        settings = self.app.settings

        def job() -> AllPrompts:
            from localrag.tui.prompt_facts import all_prompts

            return all_prompts(settings)

        on_disk(self.app, self, job, lambda found: self._show(found, name))

    def _show(self, found: AllPrompts, name: str = "") -> None:
        self._all = found
        own = sum(facts.own for facts in found.prompts)
        title = f"Prompts ({len(found.prompts)}, {own} yours)" if own else f"Prompts ({len(found.prompts)})"
        self.query_one("#prompt-choice").border_title = title
        self._fill(name)

    def _fill(self, name: str = "") -> None:
        if self._all is None:
            return
        words = self.query_one(Input).value.lower().split()
        found = [
            facts
            for facts in self._all.prompts
            if all(word in f"{facts.name} {facts.text} {facts.state}".lower() for word in words)
        ]
        # Those that are called so come before those whose text says so.
        self._shown = tuple(sorted(found, key=lambda facts: not all(word in facts.name for word in words)))
        names = [facts.name for facts in self._shown]
        lines = self.query_one(PromptList)
        lines.say_empty("No prompt has these words." if words else "There are no prompts.")
        lines.show(
            len(names),
            lambda index: _row(self._shown[index]),
            key=names.__getitem__,
            cursor=names.index(name) if name in names else 0 if words else None,
        )

    @property
    def _chosen(self) -> PromptFacts | None:
        cursor = self.query_one(PromptList).cursor
        return self._shown[cursor] if cursor < len(self._shown) else None

    # What a person does

    @on(LineList.Highlighted, "#prompt-list")
    def _highlighted(self) -> None:
        view, chosen = self.query_one(PromptView), self._chosen
        view.display = chosen is not None
        if chosen is not None:
            view.show(chosen)

    @on(LineList.Opened, "#prompt-list")
    def _opened(self) -> None:
        self.query_one(PromptView).focus()

    @on(Input.Changed, "#prompt-search")
    def _searched(self) -> None:
        self._fill()

    @on(Input.Submitted, "#prompt-search")
    def _search_ended(self) -> None:
        self.query_one(PromptList).focus()

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """Forget the search if the cursor is there; go to the list."""
        box = self.query_one(Input)
        if box.has_focus:
            box.value = ""
        self.query_one(PromptList).focus()

    def action_copy(self) -> None:
        """Copy the file's text."""
        if self._chosen is not None:
            self.app.copy_to_clipboard(self._chosen.text)
            self.notify("The prompt was copied.", markup=False)

    def action_edit(self) -> None:
        """Open the person's own copy in the editor; without one, in a box of our own."""
        chosen = self._chosen
        if chosen is None:
            return
        if editors.chosen_editor() is None or self.app.is_web:
            self.action_edit_here()
            return
        settings, name = self.app.settings, chosen.name

        def job() -> tuple[Path, bool]:
            from localrag.tui.prompt_facts import own_copy

            return own_copy(settings, name)

        on_disk(self.app, self, job, lambda made: self._edit_file(name, made[0], chosen.body))

    def _edit_file(self, name: str, path: Path, line: int) -> None:
        fault = editors.edit(self.app, path, line, wait=True)
        if fault is not None:
            self.app.show_fault(fault)
        self._edited(name)

    def action_edit_here(self) -> None:
        """Edit the prompt in a box of our own."""
        from localrag.tui.screens.prompt_editor import PromptEditor

        chosen = self._chosen
        if chosen is not None:
            name = chosen.name
            editor = PromptEditor(chosen, self.app.settings)
            self.app.push_screen(editor, lambda saved: self._edited(name) if saved else None)

    def _edited(self, name: str) -> None:
        """Say what is wrong now; a copy that says what the built-in one says goes away again."""
        settings = self.app.settings

        def job() -> tuple[PromptFacts, bool]:
            from localrag.tui.prompt_facts import drop_unchanged, one_prompt

            dropped = drop_unchanged(settings, name)
            return one_prompt(settings, name), dropped

        def tell(result: tuple[PromptFacts, bool]) -> None:
            facts, dropped = result
            self._read(name)
            if dropped or not facts.own:
                words = "It is the same as the built-in prompt, which stays in use."
            elif facts.errors:
                words = f"Kept, but it has {count(facts.errors, 'error')} and cannot be used like this."
            elif facts.remarks:
                warnings = count(len(facts.remarks), "warning")
                words = f"Kept, with {warnings}. It is used from the next question on."
            else:
                words = "Kept. It is used from the next question or index run on."
            self.notify(words, severity="warning" if facts.errors else "information", markup=False)

        on_disk(self.app, self, job, tell)

    def action_reset(self) -> None:
        """Ask, then remove the person's own copy."""
        chosen = self._chosen
        if chosen is None:
            return
        if not chosen.own:
            self.notify("This prompt is the built-in one already.", markup=False)
            return
        name = chosen.name
        question = f"Remove your own {chosen.part}? The built-in prompt is used again. Your file is deleted."
        self.app.push_screen(
            Confirm(question, "Remove mine", "Keep it"),
            lambda sure: self._reset(name) if sure else None,
        )

    def _reset(self, name: str) -> None:
        settings = self.app.settings

        def job() -> bool:
            from localrag.tui.prompt_facts import reset

            return reset(settings, name)

        def tell(removed: bool) -> None:
            self._read(name)
            if removed:
                self.notify("Your copy was removed; the built-in prompt is in use.", markup=False)

        on_disk(self.app, self, job, tell)

    def action_difference(self) -> None:
        """Show how the person's own prompt differs from the built-in one."""
        chosen = self._chosen
        if chosen is None:
            return
        if not chosen.own:
            self.notify("This is the built-in prompt. e makes a copy of your own.", markup=False)
            return
        settings, name = self.app.settings, chosen.name

        def job() -> str:
            from localrag.tui.prompt_facts import difference

            return difference(settings, name)

        def show(lines: str) -> None:
            place = "- stands in the built-in prompt only, + in yours only"
            self.app.push_screen(Reader(name, place, lines or "Both say the same."))

        on_disk(self.app, self, job, show)

    def action_check(self) -> None:
        """Read all prompts anew and list everything that is wrong with them."""
        settings = self.app.settings

        def job() -> AllPrompts:
            from localrag.tui.prompt_facts import all_prompts

            return all_prompts(settings)

        def show(found: AllPrompts) -> None:
            chosen = self._chosen
            self._show(found, chosen.name if chosen is not None else "")
            self.app.push_screen(Reader("All prompts, checked", str(found.folder), check_words(found)))

        on_disk(self.app, self, job, show)


def check_words(found: AllPrompts) -> str:
    """Everything that is wrong with the prompts, or that nothing is."""
    lines = []
    for facts in found.prompts:
        for remark in facts.remarks:
            kind = "error" if remark.error else "warning"
            lines.append(f"{facts.name}, line {remark.line}: {kind}: {remark.text}.")
    lines += [
        f"{name} in your folder is used by nothing: no prompt has this name." for name in found.strangers
    ]
    return "\n".join(lines) or f"No mistakes in {count(len(found.prompts), 'prompt')}."


def _row(facts: PromptFacts) -> Row:
    state = Toned(facts.state, "bad" if facts.errors else "strong") if facts.own else facts.state
    about = facts.description or "damaged: see below"
    return (facts.part, facts.home, state, Toned(about, "faint"))
