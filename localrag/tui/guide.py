"""The steps of the guided start: which there are, and which of them are done, told from what is there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from localrag.tui.words import count, duration, size

if TYPE_CHECKING:
    from localrag.indexing import Estimate


@dataclass(frozen=True)
class Step:
    """One step."""

    name: str
    """Its identifier."""

    title: str
    """What it is called in the list."""

    about: str
    """What it is for, in a sentence or two."""


STEPS = (
    Step("machine", "This machine", "What localrag needs of this machine. Warnings are no obstacle."),
    Step(
        "models",
        "Models",
        "Two models are needed: one that reads and answers, one that makes vectors for search. All of them "
        "run on this machine; nothing you add or ask leaves it.",
    ),
    Step(
        "file",
        "Knowledge base",
        "A knowledge base is one file that holds your documents' text and what was found in it. It can be "
        "copied and carried like any other file.",
    ),
    Step(
        "documents",
        "Documents",
        "Name a folder of yours, or a file. Your files are only read, never changed, and the folder is "
        "followed from then on.",
    ),
    Step(
        "reading",
        "First reading",
        "The model reads every passage and notes who and what is in it. You can ask meanwhile, stop at any "
        "moment, and go on later: nothing that was read is lost.",
    ),
    Step("question", "First question", "Ask something that your documents answer."),
)
"""In their order."""


@dataclass(frozen=True)
class Standing:
    """What is there already; every step is told from this."""

    checked: bool = False
    """Whether the machine was checked in this run and nothing failed."""

    models: bool = False
    """Whether a model for every job is here."""

    answers: bool = False
    """Whether there is a model that reads and answers, whatever else is missing."""

    file: bool = False
    """Whether a knowledge base is open."""

    documents: int = 0
    """Documents in it."""

    read: int = 0
    """Chunks that were read."""

    total: int = 0
    """Chunks in all."""

    asked: bool = False
    """Whether a question was asked in this run."""

    def done(self, step: str) -> bool:
        """Whether a step is done."""
        return {
            "machine": self.checked,
            "models": self.models,
            "file": self.file,
            "documents": self.documents > 0,
            "reading": 0 < self.total <= self.read,
            "question": self.asked,
        }[step]

    def begun(self, step: str) -> bool:
        """Whether a step is done in part."""
        return step == "reading" and 0 < self.read < self.total


def first_open(standing: Standing) -> str:
    """The step to go on with. Checking the machine is done by itself once models are there."""
    for step in STEPS:
        if step.name == "machine" and standing.models:
            continue
        if not standing.done(step.name):
            return step.name
    return STEPS[-1].name


def state_word(standing: Standing, step: str) -> str:
    """The state of a step in a word."""
    if standing.done(step):
        return "done"
    return "in part" if standing.begun(step) else "open"


@dataclass(frozen=True)
class FolderCount:
    """What a folder holds for a knowledge base."""

    path: Path
    """The folder or file."""

    readable: int
    """Files of formats that localrag reads."""

    size: int
    """Bytes of those."""

    others: int
    """Files of other formats."""

    skipped: int
    """Entries that are passed over, such as hidden ones."""

    @property
    def words(self) -> str:
        """It in a sentence."""
        if not self.readable:
            return "Nothing in it is of a format that localrag reads (text and Markdown)."
        more = [count(self.others, "file") + " of other formats" if self.others else ""]
        more.append(f"{self.skipped:,} hidden or left out" if self.skipped else "")
        left = " and ".join(part for part in more if part)
        files = f"{count(self.readable, 'file')} of {size(self.size)} would be added"
        return f"{files}; {left} would not." if left else f"{files}."


def count_folder(path: Path) -> FolderCount:
    """Look through a folder, opening no file in it; for a working thread. Raises `DocumentError`."""
    from localrag.documents.discovery import discover
    from localrag.documents.patterns import Patterns, Rules
    from localrag.folders.scan import is_readable

    path = path.absolute()
    rules = {path: Rules(path, Patterns())} if path.is_dir() else {}
    found = discover([path], rules)
    readable = [file for file in found.files if is_readable(file.path)]
    return FolderCount(
        path,
        len(readable),
        sum(file.size for file in readable),
        len(found.files) - len(readable),
        len(found.skipped),
    )


def estimate_words(estimate: Estimate) -> str:
    """What the first reading will take, in a sentence or two."""
    if not estimate.chunks:
        return "Everything has been read."
    ahead = f"{count(estimate.chunks, 'passage')} still to read."
    if estimate.seconds is None:
        return (
            f"{ahead} How long that takes is not known yet: this machine is measured first, which takes "
            "about 20 seconds, and then the time left is shown."
        )
    return f"{ahead} On this machine that takes about {duration(estimate.seconds)}."
