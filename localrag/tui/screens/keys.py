"""The key map: every action with its keys by place, to look up and to change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input, Static

from localrag.plain import TYPEABLE, plain
from localrag.tui import keymap
from localrag.tui.disk import on_disk
from localrag.tui.keymap import Action
from localrag.tui.preferences import change_setting
from localrag.tui.screens.dialogs import Confirm, Dialog
from localrag.tui.widgets.cells import Row, Toned
from localrag.tui.widgets.lines import Column, LineList
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

COLUMNS = (
    Column("does", "What it does", share=3, sorts=False),
    Column("keys", "Keys", share=2, sorts=False),
    Column("id", "Name", share=2, room=96, sorts=False),
)

_NOT_TAKEN = frozenset({"escape", "enter", "space", "tab", "shift+tab"})
"""Keys that work the dialog; they can be given in the settings file."""


class KeyList(LineList):
    """All actions under the names of their places."""

    HELP = """
    Every action with its keys, by the place where it works. **enter** gives an action another key, **d**
    goes back to its usual keys, **D** does so for all, **/** searches.

    Your own keys are kept in the settings file under `[tui.keys]`, by the action's name. Letters work where
    the cursor is in a list, not where you type.
    """


class KeysScreen(Dialog[None]):
    """The list of all actions."""

    app: LocalragApp
    AUTO_FOCUS = "#key-list"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", id="keys.leave", tooltip="Go back to the settings"),
        Binding("d,delete", "default", "Usual keys", id="keys.default", tooltip="Give this its usual keys"),
        Binding("D", "default_all", "All usual", id="keys.default_all", tooltip="Drop all keys of your own"),
        Binding("slash", "search", "Search", id="keys.search", tooltip="Search actions, keys and names"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._actions: tuple[Action, ...] = ()
        self._items: tuple[Action | str, ...] = ()

    def compose(self) -> ComposeResult:
        """The search box, the list, and what is wrong."""
        with Vertical(classes="dialog", id="keys") as box:
            box.border_title = "Keys"
            box.border_subtitle = "enter changes, d usual keys, / searches, esc leaves"
            yield Input(placeholder="Search actions", id="key-search", restrict=TYPEABLE, compact=True)
            yield KeyList(COLUMNS, id="key-list", empty="Collecting the keys")
            yield Static("", id="key-troubles", markup=False)

    def on_mount(self) -> None:
        """Collect all actions in a thread, since that imports every place."""
        self.query_one("#key-troubles").display = False
        on_disk(self.app, self, keymap.catalogue, self._collected)

    def _collected(self, actions: tuple[Action, ...]) -> None:
        self._actions = actions
        self.query_one(KeyList).say_empty("No action has these words.")
        self._fill()

    @property
    def _own(self) -> Mapping[str, str]:
        return self.app.settings.tui.keys

    def _fill(self) -> None:
        words = self.query_one(Input).value.lower().split()
        items: list[Action | str] = []
        group = ""
        for action in self._actions:
            if not all(word in self._text(action) for word in words):
                continue
            if action.group != group:
                group = action.group
                items.append(group)
            items.append(action)
        self._items = tuple(items)
        keys = [item if isinstance(item, str) else item.id for item in items]
        lines = self.query_one(KeyList)
        lines.show(len(keys), lambda index: self._row(self._items[index]), key=keys.__getitem__)
        if items and isinstance(items[lines.cursor], str):
            lines.move_to(lines.cursor + 1)
        self._show_troubles()

    def _text(self, action: Action) -> str:
        keys = " ".join(keymap.shown(key) for key in keymap.keys_now(action, self._own))
        mine = "yours" if self._own.get(action.id) else ""
        return f"{action.group} {action.id} {action.does} {keys} {mine}".lower()

    def _row(self, item: Action | str) -> Row:
        if isinstance(item, str):
            return (Toned(item, "strong"), "", "")
        mine = bool(self._own.get(item.id))
        keys = in_words(keymap.keys_now(item, self._own))
        return (
            f"  {item.does}",
            Toned(f"{keys} (yours)", "strong") if mine else keys,
            Toned(item.id, "faint"),
        )

    def _show_troubles(self) -> None:
        found = keymap.troubles(self._actions, self._own) if self._actions else []
        box = self.query_one("#key-troubles", Static)
        box.update("\n".join(plain(text) for text in found[:3]))
        box.display = bool(found)

    @property
    def _chosen(self) -> Action | None:
        cursor = self.query_one(KeyList).cursor
        item = self._items[cursor] if cursor < len(self._items) else None
        return item if isinstance(item, Action) else None

    # What a person does

    @on(Input.Changed, "#key-search")
    def _searched(self) -> None:
        self._fill()

    @on(Input.Submitted, "#key-search")
    def _search_ended(self) -> None:
        self.query_one(KeyList).focus()

    @on(LineList.Opened, "#key-list")
    def _change(self) -> None:
        action = self._chosen
        if action is not None:
            self.app.push_screen(KeyDialog(action, self._actions, self._own), partial(self._keep, action))

    def _keep(self, action: Action, keys: str | None) -> None:
        if keys is not None:
            usual = tuple(keymap.normal(keys)) == action.keys
            self._write({**self._own, action.id: "" if usual else keys})

    def _write(self, own: Mapping[str, str]) -> None:
        kept = {name: keys for name, keys in own.items() if keys}
        change_setting(self.app, self, "tui.keys", kept or None, lambda _: self._fill())

    def action_default(self) -> None:
        """Give the action its usual keys."""
        action = self._chosen
        if action is not None and self._own.get(action.id):
            self._write({**self._own, action.id: ""})
        elif action is not None:
            self.notify("It has its usual keys already.", markup=False)

    def action_default_all(self) -> None:
        """Ask, then drop all keys of the person's own."""
        if not self._own:
            self.notify("Every action has its usual keys.", markup=False)
            return
        question = (
            f"Give all actions their usual keys? {count(len(self._own), 'change')} of yours will be lost."
        )
        self.app.push_screen(
            Confirm(question, "Usual keys", "Keep mine"), lambda sure: self._write({}) if sure else None
        )

    def action_search(self) -> None:
        """Go to the search box."""
        self.query_one(Input).focus()

    def action_leave(self) -> None:
        """From the search box to the list; from there back to the settings."""
        box = self.query_one(Input)
        if box.has_focus:
            box.value = ""
            self.query_one(KeyList).focus()
        else:
            self.close_with(None)


class KeyDialog(Dialog[str]):
    """Waits for a key; closes with all keys of the action, parted by commas."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", show=False),
    ]

    def __init__(self, action: Action, actions: tuple[Action, ...], own: Mapping[str, str]) -> None:
        super().__init__()
        self._action = action
        self._actions = actions
        self._own = own
        self._key = ""

    def compose(self) -> ComposeResult:
        """What the key is for, the key that was pressed, and what else has it."""
        with Vertical(classes="dialog small", id="key-dialog") as box:
            box.border_title = Content(self._action.id)
            yield Static(self._action.does, classes="title", markup=False)
            yield Static(
                f"Now: {in_words(keymap.keys_now(self._action, self._own))}", classes="place", markup=False
            )
            yield Static("Press the key that it should have. Escape leaves.", id="key-pressed", markup=False)
            yield Static("", id="problem", markup=False)
            with Horizontal(classes="buttons"):
                for name, title in (("use", "Use it"), ("both", "Use it too"), ("cancel", "Cancel")):
                    button = Button(title, id=name, compact=True)
                    button.can_focus = False  # so that every key comes here
                    yield button

    def on_mount(self) -> None:
        """Nothing was pressed yet."""
        self.set_focus(None)
        self.query_one("#problem").display = False
        for name in ("#use", "#both"):
            self.query_one(name).disabled = True

    def on_key(self, event: events.Key) -> None:
        """Take the key; once there is one, enter and space say what becomes of it."""
        if event.key == "escape":
            return
        event.stop()
        event.prevent_default()
        if event.key in ("enter", "space") and self._key:
            self._take(too=event.key == "space")
        elif event.key in _NOT_TAKEN:
            self._say(
                f"{keymap.shown(event.key)} works these lists. It can only be given in the settings file."
            )
        else:
            self._press(event.key)

    def _press(self, key: str) -> None:
        self._key = key
        words = "enter uses it instead of the keys above, space uses it too."
        self.query_one("#key-pressed", Static).update(f"Pressed: {keymap.shown(key)}\n{words}")
        for name in ("#use", "#both"):
            self.query_one(name).disabled = False
        own = {**self._own, self._action.id: key}
        found = [
            clash.second if clash.first == self._action else clash.first
            for clash in keymap.clashes(self._actions, own)
            if clash.key == key and self._action in (clash.first, clash.second)
        ]
        others = ", ".join(f"“{other.does}” ({other.group})" for other in found)
        if found:
            self._say(f"This key already does: {others}. Only one of them would have it.")
        else:
            lists = key in _list_keys() and not self._action.id.startswith("lines.")
            self._say("In lists this key moves the cursor or marks, and that goes first." if lists else "")

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "cancel":
            self.close_with(None)
        else:
            self._take(too=event.button.id == "both")

    def _take(self, *, too: bool) -> None:
        before = keymap.keys_now(self._action, self._own) if too else ()
        self.close_with(",".join(dict.fromkeys((*before, self._key))))

    def _say(self, words: str) -> None:
        problem = self.query_one("#problem", Static)
        problem.update(words)
        problem.display = bool(words)

    def action_leave(self) -> None:
        """Change nothing."""
        self.close_with(None)


def _list_keys() -> set[str]:
    """The keys that work in every list."""
    bindings = (item for item in LineList.BINDINGS if isinstance(item, Binding))
    return {key for item in bindings for key in keymap.normal(item.key)}


def in_words(keys: tuple[str, ...]) -> str:
    """Keys as a person reads them."""
    return ", ".join(keymap.shown(key) for key in keys)
