"""The place of settings: every setting with its value and where that comes from, colours, and keys."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.widget import Widget
from textual.widgets import Input

from localrag.plain import TYPEABLE
from localrag.settings import settings_file
from localrag.settings_schema import Setting, in_words
from localrag.tui import editors
from localrag.tui.disk import on_disk
from localrag.tui.preferences import change_setting, read_settings
from localrag.tui.screens.place import STYLES, PlaceScreen
from localrag.tui.widgets.lines import LineList
from localrag.tui.widgets.settings import SettingDetails, SettingList, origin_word

if TYPE_CHECKING:
    from pathlib import Path

    from localrag.settings_writing import Value


class SettingsScreen(PlaceScreen):
    """A searchable list of all settings, and the one that is chosen explained."""

    PLACE = "settings"
    CSS_PATH = STYLES / "settings.tcss"
    AUTO_FOCUS = "#setting-list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d,delete", "default", "Default", id="settings.default", tooltip="Go back to the default"),
        Binding("c", "app.change_theme", "Colours", id="settings.colours", tooltip="Choose the colours"),
        Binding("m", "keys", "Keys", id="settings.keys", tooltip="See and change the keys"),
        Binding(
            "o", "open_file", "File", id="settings.file", tooltip="Open the settings file in your editor"
        ),
        Binding("r", "read", "Read again", show=False, id="settings.read", tooltip="Read the file again"),
        Binding(
            "y", "copy", "Copy", show=False, id="settings.copy", tooltip="Copy the setting and its value"
        ),
        Binding("slash", "search", "Search", id="settings.search", tooltip="Search names and meanings"),
        Binding("escape", "back", "Back", show=False, id="settings.back", tooltip="Go back to the list"),
    ]

    def compose_body(self) -> Iterable[Widget]:
        """The search box and the list, and what the chosen setting means."""
        with Container(id="settings"):
            with Vertical(id="setting-choice"):
                yield Input(
                    placeholder="Search settings", id="setting-search", restrict=TYPEABLE, compact=True
                )
                yield SettingList()
            yield SettingDetails(id="setting-details")

    def on_mount(self) -> None:
        """Show the settings as they are used now."""
        self.query_one("#setting-choice").border_title = "Settings"
        details = self.query_one("#setting-details")
        details.border_title = "What it means"
        details.border_subtitle = "enter changes it"
        self.watch(self.app, "theme", self._theme_changed, init=False)
        self.fill()

    def fill(self) -> None:
        """Show the settings that fit the search."""
        words = self.query_one(Input).value.lower().split()
        self.query_one(SettingList).fill(self.app.settings, words)
        self._explain()

    def renew(self) -> None:
        """Show the settings as they are used now: another place may have changed one."""
        self.fill()

    def _theme_changed(self) -> None:
        # What is kept is told when it is on the disk; until then the list shows what was.
        self.call_later(self.fill)

    def _explain(self) -> None:
        lines = self.query_one(SettingList)
        item = lines.items[lines.cursor] if lines.cursor < len(lines.items) else None
        self.query_one(SettingDetails).show(item, self.app.settings, self.app.setting_troubles)

    @property
    def _chosen(self) -> Setting | None:
        return self.query_one(SettingList).chosen_setting

    # What a person does

    @on(LineList.Highlighted, "#setting-list")
    def _highlighted(self) -> None:
        self._explain()

    @on(Input.Changed, "#setting-search")
    def _searched(self) -> None:
        self.fill()

    @on(Input.Submitted, "#setting-search")
    def _search_ended(self) -> None:
        self.query_one(SettingList).focus()

    @on(LineList.Opened, "#setting-list")
    def _change(self) -> None:
        from localrag.tui.screens.setting import SettingDialog

        setting = self._chosen
        if setting is None:
            return
        if setting.name == "tui.theme":
            self.app.action_change_theme()
        elif setting.kind == "table":
            self.action_keys()
        else:
            dialog = SettingDialog(setting, self.app.settings)
            self.app.push_screen(dialog, partial(self._changed, setting))

    def _changed(self, setting: Setting, value: Value | None) -> None:
        if value is not None:
            change_setting(self.app, self, setting.name, value, partial(self._kept, setting))

    def action_default(self) -> None:
        """Take the setting out of the person's file."""
        setting = self._chosen
        if setting is None:
            return
        origin = origin_word(self.app.settings, setting.name)
        if origin == "default":
            self.notify(f"{setting.name} has its default already.", markup=False)
            return
        change_setting(self.app, self, setting.name, None, partial(self._kept, setting))

    def _kept(self, setting: Setting, at_once: bool) -> None:
        """Say what became of a change."""
        self.fill()
        origin = origin_word(self.app.settings, setting.name)
        if origin in ("variable", "flag"):
            words = f"Kept in your file. The {origin} goes before it as long as it is set."
        elif setting.when == "when idle" and not at_once:
            words = "Kept. Something runs, so it counts at the next start of localrag."
        elif setting.when == "when idle":
            words = "Kept. The model is started anew when it is next needed."
        elif setting.when == "next use":
            words = "Kept. It counts from the next question or index run on."
        else:
            words = "Kept."
        self.notify(words, title=setting.name, markup=False)

    def action_keys(self) -> None:
        """Show all keys, to change them."""
        from localrag.tui.screens.keys import KeysScreen

        self.app.push_screen(KeysScreen(), lambda _: self.fill())

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """Forget the search if the cursor is there; go to the list."""
        box = self.query_one(Input)
        if box.has_focus:
            box.value = ""
        self.query_one(SettingList).focus()

    def action_copy(self) -> None:
        """Copy the setting as a line of words."""
        setting = self._chosen
        if setting is not None:
            from localrag.settings_schema import value_of

            value = in_words(value_of(self.app.settings, setting.name))
            self.app.copy_to_clipboard(f"{setting.name} = {value}")
            self.notify("The setting was copied.", markup=False)

    def action_read(self) -> None:
        """Read the settings file again."""
        read_settings(self.app, self, self._read)

    def _read(self, at_once: bool) -> None:
        self.fill()
        wrong = len(self.app.setting_troubles)
        if wrong:
            self.notify(f"{wrong} of it cannot be used; it is said beside the list.", severity="warning")
        elif at_once:
            self.notify("The settings were read again.", markup=False)
        else:
            self.notify(
                "The settings were read again; those of models count at the next start.", markup=False
            )

    def action_open_file(self) -> None:
        """Open the settings file in the person's editor, and read it when that is closed."""
        file = settings_file()

        def job() -> Path:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            return file

        on_disk(self.app, self, job, self._edit_file)

    def _edit_file(self, file: Path) -> None:
        fault = editors.edit(self.app, file, wait=True)
        if fault is not None:
            self.app.show_fault(fault)
        else:
            self.action_read()
