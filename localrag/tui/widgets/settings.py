"""The list of settings, and what is known of the one that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from localrag.plain import plain
from localrag.settings import Settings
from localrag.settings_schema import Setting, SettingSection, in_words, schema, value_of
from localrag.tui.widgets.cells import Row, Tone, Toned
from localrag.tui.widgets.lines import Column, LineList

COLUMNS = (
    Column("name", "Setting", share=3, sorts=False),
    Column("value", "Value", share=3, sorts=False),
    Column("from", "From", 8, sorts=False),
)

WHEN = {
    "now": "A change counts at once.",
    "next use": "A change counts from the next question or index run on; what runs ends as it began.",
    "when idle": "A change counts as soon as nothing runs; the model is then started anew. Else it counts at "
    "the next start of localrag.",
}

Item = Setting | SettingSection


class SettingList(LineList):
    """All settings under the names of their sections."""

    HELP = """
    Every setting with its value and **where the value comes from**: the `default`, your settings `file`, a
    `variable` of the environment, or a `flag` of the command line; each goes before those named earlier.

    **enter** changes the setting in your file, **d** goes back to the default, **/** searches names and
    meanings, **c** chooses colours, **m** changes keys, **o** opens the file in your editor.
    """

    def __init__(self) -> None:
        super().__init__(COLUMNS, id="setting-list", empty="No setting has these words.")
        self.items: tuple[Item, ...] = ()
        self._settings = Settings()

    def fill(self, settings: Settings, words: Sequence[str]) -> None:
        """Show the settings that have all these words in their name, meaning or value."""
        self._settings = settings
        self.items = tuple(found(settings, words))
        names = [item.name for item in self.items]
        self.show(len(names), lambda index: self._cells(self.items[index]), key=names.__getitem__)
        if words or self.chosen_setting is None:
            first = next((place for place, item in enumerate(self.items) if isinstance(item, Setting)), 0)
            self.move_to(first)

    @property
    def chosen_setting(self) -> Setting | None:
        """The setting at the cursor; None on the name of a section."""
        item = self.items[self.cursor] if self.cursor < len(self.items) else None
        return item if isinstance(item, Setting) else None

    def _cells(self, item: Item) -> Row:
        if isinstance(item, SettingSection):
            return (Toned(item.name, "strong"), Toned(item.help, "faint"), "")
        value = plain(in_words(value_of(self._settings, item.name))) or "(empty)"
        origin = origin_word(self._settings, item.name)
        tone: Tone = "" if origin == "default" else "strong"
        return (f"  {item.name.partition('.')[2]}", Toned(value, tone), Toned(origin, "faint"))


class SettingDetails(VerticalScroll):
    """What the chosen setting means, what it may be, and where its value comes from."""

    HELP = SettingList.HELP
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static("", id="setting-words", markup=False)

    def show(self, item: Item | None, settings: Settings, troubles: Sequence[str]) -> None:
        """Describe a setting or a section."""
        text = Text()
        for trouble in troubles:
            text.append("Cannot be used: ", style="bold red").append(f"{plain(trouble)}\n")
        if isinstance(item, Setting):
            text.append_text(describe(item, settings))
        elif item is not None:
            text.append(f"{item.name}\n", style="bold").append(item.help)
        self.query_one("#setting-words", Static).update(text)
        self.scroll_home(animate=False)


def found(settings: Settings, words: Sequence[str]) -> list[Item]:
    """The sections and settings that have all the words."""
    items: list[Item] = []
    for section in schema():
        fitting = [setting for setting in section.settings if _fits(setting, settings, words)]
        if fitting:
            items += [section, *fitting]
    return items


def describe(setting: Setting, settings: Settings) -> Text:
    """Everything about a setting in a few lines."""
    text = Text()
    text.append(f"{setting.name}\n", style="bold")
    text.append(f"{setting.help}\n")
    value = plain(in_words(value_of(settings, setting.name))) or "(empty)"
    text.append("Value: ").append(value, style="bold").append(f", {origin_words(settings, setting.name)}\n")
    text.append(f"Default: {in_words(setting.default) or '(empty)'}\n")
    text.append(f"It takes {takes(setting)}.\n")
    text.append(WHEN[setting.when])
    return text


def takes(setting: Setting) -> str:
    """What a setting may be, in words."""
    if setting.kind == "number":
        return f"a whole number{f': {setting.bounds}' if setting.bounds else ''}"
    return {
        "yes or no": "yes or no",
        "word": f"one of {', '.join(setting.allowed)}",
        "text": "text",
        "list": "words parted by commas",
        "table": "names of actions with their keys; m changes them",
    }[setting.kind]


def origin_word(settings: Settings, name: str) -> str:
    """Where a value comes from, in one word."""
    origin = settings.origin(name)
    if origin in ("default", "flag"):
        return origin
    return "variable" if origin.startswith("variable ") else "file"


def origin_words(settings: Settings, name: str) -> str:
    """Where a value comes from, and what that means for a change."""
    origin, word = plain(settings.origin(name)), origin_word(settings, name)
    if word == "default":
        return "which is the default"
    if word == "file":
        return f"from your file {origin}"
    if word == "variable":
        return f"from the {origin}, which goes before your file as long as it is set"
    return "from a flag of the command line, which goes before your file in this run"


def _fits(setting: Setting, settings: Settings, words: Sequence[str]) -> bool:
    value = in_words(value_of(settings, setting.name))
    text = f"{setting.name} {setting.help} {value} {origin_word(settings, setting.name)}".lower()
    return all(word in text for word in words)
