"""Lists of what an answer rests on, and of what was found for it before the model has read it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from localrag.plain import plain, plain_lines
from localrag.tui.words import count

if TYPE_CHECKING:
    from localrag.answering.types import Citation
    from localrag.retrieval.types import EntityHit, Passage, Retrieved

MOST_PASSAGES = 8
"""Passages that are listed before the model has read them."""

MOST_ENTITIES = 8
"""Entities that are."""

_LONGEST = 200
_HEADINGS = re.compile(r"\A(?:\s*#[^\n]*\n)+(?=.)", re.DOTALL)


class SourceList(OptionList):
    """A list of sources; subclasses say what they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "select", "Read", key_display="enter", id="sources.open", tooltip="Show the passage"
        ),
        Binding("y,c", "copy", "Copy", id="sources.copy", show=False, tooltip="Copy the passage"),
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "first", "First", show=False),
        Binding("G", "last", "Last", show=False),
    ]

    def text_of(self, place: int) -> str:
        """The text of a source."""
        raise NotImplementedError

    def action_copy(self) -> None:
        """Copy the text of the chosen source."""
        if self.highlighted is None:
            return
        text = plain_lines(self.text_of(self.highlighted))
        if text:
            self.app.copy_to_clipboard(text)
            self.notify("The passage was copied.")
        else:
            self.notify("There is no text to copy.", severity="warning")


class CitationList(SourceList):
    """The sources of one answer."""

    HELP = """
    What the answer rests on; the numbers are those in the answer. **enter** shows the passage, **y** copies
    it.
    """

    @dataclass
    class Opened(Message):
        """A source is to be shown."""

        place: int
        """Which of the answer's citations."""

    def __init__(self, citations: Sequence[Citation], gone: Collection[int] = ()) -> None:
        """`gone` are places of citations whose text is not there any more."""
        lines = [citation_line(item, gone=place in gone) for place, item in enumerate(citations)]
        super().__init__(*(Option(line) for line in lines), classes="citations")
        self._citations = list(citations)
        self.border_title = "Sources"

    def text_of(self, place: int) -> str:
        """The cited passage."""
        return self._citations[place].text

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(event.option_index))


class FoundList(SourceList):
    """What was found, while the model still reads it."""

    HELP = """
    The passages and entities that were found for the question. The model reads them now; you can read them
    too: **enter** shows a passage in its document, or what is known of an entity.
    """

    @dataclass
    class Opened(Message):
        """Something that was found is to be shown."""

        item: Passage | EntityHit
        """What."""

        question: str
        """The question that it was found for, as it was searched."""

    def __init__(self, found: Retrieved) -> None:
        super().__init__(classes="citations found")
        self._items: list[Passage | EntityHit] = []
        self._question = ""
        self.show(found)

    def show(self, found: Retrieved) -> None:
        """Show what was found, in place of what an earlier search has."""
        held, self._question = self.highlighted, found.question
        passages, entities = found.passages[:MOST_PASSAGES], found.entities[:MOST_ENTITIES]
        self._items = [*passages, *entities]
        lines = [passage_line(item) for item in passages] + [entity_line(item) for item in entities]
        self.set_options([Option(line) for line in lines])
        if self.option_count:
            self.highlighted = min(held or 0, self.option_count - 1)
        words = [count(len(found.passages), "passage")]
        if found.entities:
            words.append(count(len(found.entities), "entity", "entities"))
        self.border_title = f"Found: {', '.join(words)}"

    def text_of(self, place: int) -> str:
        """The passage, or the description of the entity."""
        item = self._items[place]
        return getattr(item, "text", "") or getattr(item, "description", "")

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Opened(self._items[event.option_index], self._question))


def citation_line(citation: Citation, *, gone: bool = False) -> Content:
    """A source in one line: its number, label, and where it stands."""
    label = plain(citation.label) or "a source"
    document = plain(citation.document)
    line = f"{citation.number}  {label}"
    if document and document not in label:
        line += f" · {document}"
    if citation.page is not None:
        line += f" · page {citation.page}"
    if gone:
        line += " · gone or changed since"
    return Content(line)


def passage_line(passage: Passage) -> Content:
    """A passage in one line: where it stands, and its first words."""
    place = plain(f"{passage.base}: {passage.document}" if passage.base else passage.document)
    if passage.page is not None:
        place += f" · page {passage.page}"
    words = plain(_HEADINGS.sub("", passage.text)[:_LONGEST])
    return Content(f"{place}: {words}")


def entity_line(entity: EntityHit) -> Content:
    """An entity in one line: name, type, and what is said of it."""
    kind = f" ({plain(entity.type)})" if entity.type else ""
    said = f": {plain(entity.description[:_LONGEST])}" if entity.description else ""
    return Content(f"◆ {plain(entity.name)}{kind}{said}")
