"""The first screen without a knowledge base: choose one opened lately or lying here, name or create one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from localrag.plain import plain
from localrag.tui.messages import PathChecked, WentWrong, call, send
from localrag.tui.paths import SUFFIX, chosen_file, knowledge_bases
from localrag.tui.recent import KnownFile, forget, known_files
from localrag.tui.screens.dialogs import Confirm, Reader
from localrag.tui.screens.mending import MEND, is_damaged, mend
from localrag.tui.screens.place import STYLES
from localrag.tui.widgets.keys import KeyLine
from localrag.tui.widgets.lines import Column, LineList, Row, Toned
from localrag.tui.widgets.path_input import PathInput
from localrag.tui.words import Fault, duration, size
from localrag.tui.work import Lane

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

_NOW = 10.0
"""Seconds that count as just now."""
_WELCOME = """\
Nothing is set up yet. The guided start checks this machine, brings the models that fit it, and makes a \
knowledge base of a folder of yours. Press enter. It can be left at any moment and taken up again."""


class OpeningScreen(Screen[None]):
    """Lists the knowledge bases that are known, and takes a path."""

    HELP = """
    A knowledge base is one file that holds your documents' text and what was found in it. The list has those
    that were opened lately and those of the current folder; **enter** opens the one at the cursor, **delete**
    takes it from the list and leaves the file alone.

    Or type a path, or drag a file into the terminal: a file that exists is opened, any other name is created.
    **tab** completes a name.
    """

    CSS_PATH = STYLES / "opening.tcss"
    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", id="opening.back", show=False, tooltip="From the path to the list"),
        Binding("slash", "name", "Path", id="opening.name", show=False, tooltip="Go to the line for a path"),
        Binding(
            "f5,ctrl+r",
            "look_again",
            "Look again",
            id="opening.refresh",
            show=False,
            tooltip="Look anew which knowledge bases there are",
        ),
        Binding(
            "delete,x",
            "forget",
            "Forget",
            id="opening.forget",
            tooltip="Take this one from the list; the file stays",
        ),
        Binding("y", "copy", "Copy", id="opening.copy", show=False, tooltip="Copy the path of the file"),
        Binding("f2", "app.guided_start", "Guided start", id="opening.guide", tooltip="Set up step by step"),
    ]

    @dataclass
    class Chosen(Message):
        """A knowledge base is to be opened or created."""

        path: Path
        """Its file."""

        create: bool
        """Whether it does not exist yet."""

    def __init__(
        self, files: Lane[None], folder: Path, fault: Fault | None = None, failed: Path | None = None
    ) -> None:
        """`fault` is why the file `failed` could not be opened."""
        super().__init__()
        self._files = files
        self._folder = folder
        self._fault = fault
        self._failed = failed
        self._known: list[KnownFile] = []

    def compose(self) -> ComposeResult:
        """A list and a line to type in."""
        with Vertical(id="opening"):
            yield Static("localrag", classes="title", markup=False)
            yield Static("Ask your own documents, on your own machine.", classes="lead", markup=False)
            with Vertical(id="trouble"):
                yield Static("", id="problem", markup=False)
                yield Button("Try to mend it", id="mend", compact=True)
            with Vertical(id="new-here"):
                yield Static(_WELCOME, markup=False)
                yield Button("Guided start", id="guide", variant="primary", compact=True)
            yield Static("", id="list-title", markup=False)
            yield LineList(
                [
                    Column("name", "Name", share=3, sorts=False),
                    Column("documents", "Documents", 9, right=True, room=58, sorts=False),
                    Column("size", "Size", 7, right=True, sorts=False),
                    Column("when", "Opened", 14, sorts=False),
                    Column("folder", "Folder", share=4, cut="start", room=70, sorts=False),
                ],
                id="files",
            )
            yield Static("Create a new one, or open another file", id="name-title", markup=False)
            yield PathInput(
                self._files,
                self._folder,
                fits=lambda path: path.suffix == SUFFIX,
                placeholder="notes",
                id="name",
            )
            yield Static("", id="offered", markup=False)
            with Horizontal(id="opening-buttons"):
                yield Button("Open or create", id="open", compact=True)
                yield Button("Guided start", id="guide-too", compact=True)
        yield KeyLine()

    def on_mount(self) -> None:
        """Look into the folder."""
        self._show_problem(self._fault)
        self.query_one("#list-title", Static).update(f"Looking into {plain(str(self._folder))}")
        self.query_one("#new-here").display = False
        self._offer(())
        self.lines.display = False
        self.query_one(Input).focus()
        self.action_look_again()
        if self._fault is not None and self._failed is not None:
            self._look_at_failed(self._failed)

    @property
    def lines(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    # What is shown

    def action_look_again(self) -> None:
        """See what is known and what lies in the folder, in a thread."""
        engines = self.app.engines

        def job(_: None) -> None:
            trouble: Fault | None = None
            try:
                here = [found.path.absolute() for found in knowledge_bases(self._folder)]
            except OSError as error:
                here = []
                trouble = Fault(f"{plain(str(self._folder))} cannot be read: {error.strerror or error}.")
            known = known_files(here)
            new_here = not known and not engines.get().has_model()
            call(self, lambda: self._listed(known, new_here=new_here, trouble=trouble))

        self._files.submit(job, self._tell_fault)

    def _listed(self, known: list[KnownFile], *, new_here: bool, trouble: Fault | None) -> None:
        self._known = known
        now = time.time()
        self.lines.show(
            len(known), lambda index: self._cells(known[index], now), key=lambda index: known[index].path
        )
        self.lines.display = bool(known)
        folder = plain(str(self._folder))
        words = f"Opened lately, and in {folder}" if known else f"There is no knowledge base in {folder} yet."
        self.query_one("#list-title", Static).update(words)
        self.query_one("#new-here").display = new_here
        self.query_one("#guide-too").display = not new_here
        if trouble is not None:
            self._show_problem(trouble)
        if self.query_one(Input).value or not self.is_current:
            return
        if new_here:
            self.query_one("#guide").focus()
        elif known and not self.lines.has_focus:
            self.lines.focus()
        elif not known:
            self.query_one(Input).focus()

    def _cells(self, known: KnownFile, now: float) -> Row:
        here = known.path.parent == self._folder.absolute()
        home = str(Path.home())
        folder = str(known.path.parent)
        folder = f"~{folder.removeprefix(home)}" if folder.startswith(home) else folder
        if known.opened is None:
            when = Toned("not yet", "faint")
        else:
            ago = now - known.opened
            when = Toned(f"{duration(ago)} ago" if ago >= _NOW else "just now", "")
        return [
            Toned(known.path.name, "faint" if known.gone else ""),
            "" if known.documents is None else f"{known.documents:,}",
            Toned("gone", "bad") if known.size is None else size(known.size),
            when,
            "this folder" if here else folder,
        ]

    def _tell_fault(self, fault: Fault) -> None:
        """Called in the thread."""
        send(self, WentWrong(fault))

    @on(WentWrong)
    def _went_wrong(self, message: WentWrong) -> None:
        message.stop()
        self._show_problem(message.fault)

    def _show_problem(self, fault: Fault | None) -> None:
        self.query_one("#trouble").display = fault is not None
        self.query_one("#mend").display = False
        self.query_one("#problem", Static).update(Content(fault.text) if fault else "")

    # Choosing

    @property
    def _chosen_file(self) -> KnownFile | None:
        index = self.lines.cursor
        return self._known[index] if index < len(self._known) else None

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        known = self._known[event.index]
        if known.gone:
            # It may have come back: a stick that was put in again.
            self._check(str(known.path), create=False)
        else:
            self.post_message(self.Chosen(known.path, create=False))

    @on(Input.Changed)
    def _changed(self) -> None:
        self._offer(())
        if self.query_one(Input).value:
            self._show_problem(None)

    @on(PathInput.Offered)
    def _offered(self, event: PathInput.Offered) -> None:
        event.stop()
        self._offer(event.names)

    def _offer(self, names: tuple[str, ...]) -> None:
        offered = self.query_one("#offered", Static)
        offered.update(Content("  ".join(names) or "tab completes, enter opens a file or creates a new one"))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._check(event.value)

    def _check(self, text: str, *, create: bool = True) -> None:
        """Look at a path in a thread; with `create` a name that is not there yet may be made."""

        def job(_: None) -> None:
            path, new = chosen_file(text, self._folder)
            problem = "" if path else "Type a name."
            if path is not None and new and not create:
                problem = f"{path} is not there any more. delete takes it from the list."
                path = None
            elif path is not None and new and not path.parent.is_dir():
                problem = f"There is no folder {path.parent}."
                path = None
            send(self, PathChecked(path, problem, new))

        self._files.submit(job, self._tell_fault)

    @on(PathChecked)
    def _checked(self, message: PathChecked) -> None:
        message.stop()
        if message.path is None:
            self._show_problem(Fault(plain(message.problem)))
        else:
            self.post_message(self.Chosen(message.path, message.create))

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "open":
            self._check(self.query_one(Input).value)
        elif event.button.id == "mend":
            self._ask_to_mend()
        else:
            self.app.action_guided_start()

    # Keys

    def action_back(self) -> None:
        """From the path to the list."""
        if self.lines.display:
            self.lines.focus()

    def action_name(self) -> None:
        """Go to the line for a path."""
        self.query_one(Input).focus()

    def action_forget(self) -> None:
        """Take the file at the cursor from the list; the file itself stays."""
        known = self._chosen_file
        if known is None:
            return
        if known.opened is None:
            self.notify("It is listed because it lies in this folder; it was not opened yet.", markup=False)
            return

        def job(_: None) -> None:
            forget(known.path)

        self._files.submit(job, self._tell_fault)
        self.action_look_again()
        if not known.gone:
            self.notify(f"{plain(known.path.name)} was taken from the list. The file stays.", markup=False)

    def action_copy(self) -> None:
        """Copy the path of the file at the cursor."""
        known = self._chosen_file
        if known is not None:
            self.app.copy_to_clipboard(str(known.path))
            self.notify("The path was copied.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is about the list works where the list has the focus."""
        return self.lines.has_focus if action in ("forget", "copy") and self.is_mounted else True

    # A file that cannot be opened

    def _look_at_failed(self, path: Path) -> None:
        """Offer to mend the file if it is a damaged one of ours, not if it is foreign, newer or in use."""

        def job(_: None) -> None:
            damaged = is_damaged(path)
            call(self, lambda: self._offer_to_mend(damaged))

        self._files.submit(job, self._tell_fault)

    def _offer_to_mend(self, damaged: bool) -> None:
        self.query_one("#mend").display = damaged

    def _ask_to_mend(self) -> None:
        path = self._failed
        if path is None:
            return

        def done(title: str, words: str) -> None:
            self.action_look_again()
            self.app.push_screen(Reader(title, "", words))

        def begin(sure: bool | None) -> None:
            if sure:
                self._show_problem(Fault(f"Mending {plain(path.name)}. This can take a while."))
                mend(self, path, done, self._show_problem)

        self.app.push_screen(Confirm(MEND, "Mend it", "Leave it"), begin)
