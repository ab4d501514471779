"""The first screen without a knowledge base: choose one of this folder, name another, or create one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from localrag.plain import TYPEABLE, plain
from localrag.tui.messages import FilesListed, PathChecked, WentWrong, send
from localrag.tui.paths import FoundFile, chosen_file, knowledge_bases
from localrag.tui.words import Fault, duration, size
from localrag.tui.work import Lane


class OpeningScreen(Screen[None]):
    """Lists the knowledge bases of the current folder, and takes a name."""

    HELP = """
    A knowledge base is one file that holds your documents' text and what was found in it. Choose one with
    the arrows and **enter**, or type a name: a file that exists is opened, any other name is created.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False),
        Binding("f5,ctrl+r", "look_again", "Look again", id="opening.refresh", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """A knowledge base is to be opened or created."""

        path: Path
        """Its file."""

        create: bool
        """Whether it does not exist yet."""

    def __init__(self, files: Lane[None], folder: Path, fault: Fault | None = None) -> None:
        super().__init__()
        self._files = files
        self._folder = folder
        self._fault = fault
        self._found: list[FoundFile] = []

    def compose(self) -> ComposeResult:
        """A list and a line to type in."""
        with VerticalScroll(id="opening", can_focus=False):
            yield Static("localrag", classes="title", markup=False)
            yield Static("Ask your own documents, on your own machine.", classes="lead", markup=False)
            yield Static("", id="problem", markup=False)
            yield Static("", id="list-title", markup=False)
            yield OptionList(id="files")
            yield Static("Create a new one, or open another file", id="name-title", markup=False)
            yield Input(placeholder="notes", id="name", restrict=TYPEABLE, compact=True)
            yield Static(
                "enter opens a file that exists and creates any other name", classes="keys", markup=False
            )
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Look into the folder."""
        self._show_problem(self._fault)
        self.query_one("#list-title", Static).update(f"Looking into {plain(str(self._folder))}")
        self.query_one(OptionList).display = False
        self.query_one(Input).focus()
        self.action_look_again()

    def action_look_again(self) -> None:
        """List the folder, in a thread."""

        def job(_: None) -> None:
            send(self, FilesListed(knowledge_bases(self._folder)))

        self._files.submit(job, self._tell_fault)

    def _tell_fault(self, fault: Fault) -> None:
        """Called in the thread."""
        send(self, WentWrong(fault))

    def action_back(self) -> None:
        """From the name to the list."""
        files = self.query_one(OptionList)
        if files.display:
            files.focus()

    @on(FilesListed)
    def _listed(self, message: FilesListed) -> None:
        self._found = message.files
        files = self.query_one(OptionList)
        files.clear_options()
        now = time.time()
        files.add_options([Option(_line(found, now)) for found in self._found])
        files.display = bool(self._found)
        folder = plain(str(self._folder))
        words = (
            f"Knowledge bases in {folder}" if self._found else f"There is no knowledge base in {folder} yet."
        )
        self.query_one("#list-title", Static).update(words)
        if self._found and not self.query_one(Input).value:
            files.highlighted = 0
            files.focus()

    @on(WentWrong)
    def _went_wrong(self, message: WentWrong) -> None:
        message.stop()
        self._show_problem(message.fault)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(self._found[event.option_index].path, create=False))

    @on(Input.Changed)
    def _changed(self) -> None:
        if self.query_one(Input).value:
            self._show_problem(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value

        def job(_: None) -> None:
            path, create = chosen_file(text, self._folder)
            send(self, PathChecked(path, "" if path else "Type a name.", create))

        self._files.submit(job, self._tell_fault)

    @on(PathChecked)
    def _checked(self, message: PathChecked) -> None:
        message.stop()
        if message.path is None:
            self._show_problem(Fault(message.problem))
        else:
            self.post_message(self.Chosen(message.path, message.create))

    def _show_problem(self, fault: Fault | None) -> None:
        problem = self.query_one("#problem", Static)
        problem.display = fault is not None
        problem.update(fault.text if fault else "")


def _line(found: FoundFile, now: float) -> Content:
    """A file in one line."""
    ago = duration(max(0.0, now - found.modified))
    return Content(f"{plain(found.path.name)}   {size(found.size)}, changed {ago} ago")
