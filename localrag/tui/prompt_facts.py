"""What the place for prompts shows and does on the disk: each prompt with text, owner and faults.

Everything here reads or writes files, so it is called in a thread.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localrag.documents.tokens import estimate
from localrag.errors import PromptError
from localrag.prompts.checking import Remark, Room, remarks
from localrag.prompts.contracts import contract
from localrag.prompts.files import Prompt, examine, load
from localrag.prompts.personal import PromptFolder, read
from localrag.settings import Settings, prompts_dir

_USUAL_CONTEXT = 4096
"""Tokens of context that a prompt is measured against where the settings leave the choice to localrag."""


@dataclass(frozen=True)
class PromptFacts:
    """One prompt as it is used."""

    name: str
    """`family/language/name`."""

    path: Path
    """The file that is used."""

    own: bool
    """Whether it is the person's."""

    text: str
    """The whole file."""

    body: int
    """Line, from 1, at which the text for the model begins; 1 if that cannot be told."""

    description: str
    """What it is for; empty if the file is damaged."""

    inputs: tuple[str, ...]
    """Names of what is filled in."""

    tokens: int
    """Estimated tokens of the text for the model, before anything is filled in."""

    remarks: tuple[Remark, ...]
    """What is wrong or unwise, errors first."""

    @property
    def part(self) -> str:
        """Its name without family and language."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def home(self) -> str:
        """Its family and language."""
        return self.name.rsplit("/", 1)[0]

    @property
    def errors(self) -> int:
        """How many things make it unusable."""
        return sum(remark.error for remark in self.remarks)

    @property
    def state(self) -> str:
        """Whose it is and how it stands, in a word or two."""
        whose = "yours" if self.own else "built in"
        return f"{whose}, faulty" if self.errors else whose


@dataclass(frozen=True)
class AllPrompts:
    """Every prompt, and the folder of the person's own."""

    folder: Path
    """Where the person's own lie, whether or not it exists."""

    prompts: tuple[PromptFacts, ...]
    """Family by family."""

    strangers: tuple[str, ...]
    """Files in the folder that no part of localrag uses."""


def all_prompts(settings: Settings) -> AllPrompts:
    """Read and check all prompts."""
    folder = PromptFolder(prompts_dir(settings))
    room = _room(settings)
    return AllPrompts(
        folder.path, tuple(_facts(folder, name, room) for name in folder.names()), folder.strangers()
    )


def one_prompt(settings: Settings, name: str) -> PromptFacts:
    """Read and check one prompt."""
    return _facts(PromptFolder(prompts_dir(settings)), name, _room(settings))


def own_copy(settings: Settings, name: str) -> tuple[Path, bool]:
    """The person's own file of a prompt, made if there is none; whether it is new. Raises `PromptError`."""
    return PromptFolder(prompts_dir(settings)).copy(name)


def drop_unchanged(settings: Settings, name: str) -> bool:
    """Remove the person's own file if it says what the built-in one says; whether it was removed."""
    folder = PromptFolder(prompts_dir(settings))
    own, shipped = folder.entry(name), folder.entry(name, shipped=True)
    if own.own and own.path.is_file() and read(own) == read(shipped):
        return folder.reset(name)
    return False


def reset(settings: Settings, name: str) -> bool:
    """Remove the person's own file; False if there was none."""
    return PromptFolder(prompts_dir(settings)).reset(name)


def check_text(settings: Settings, name: str, text: str) -> tuple[Remark, ...]:
    """What would be wrong with a prompt of this text; nothing is written."""
    folder = PromptFolder(prompts_dir(settings))
    family, language, part = folder.entry(name).name.split("/")

    def beside(other: str) -> Prompt | None:
        try:
            return load(family, language, other, folder.path)
        except PromptError:
            # It has remarks of its own.
            return None

    return remarks(text.encode(), language, part, contract(family, part), beside, _room(settings))


def save(settings: Settings, name: str, text: str) -> None:
    """Write the person's own file, whole at any moment. Raises `PromptError`."""
    path, _ = own_copy(settings, name)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(temporary, path.resolve())
    except OSError as error:
        raise PromptError(f"{path} cannot be written: {error.strerror or error}.") from error


def difference(settings: Settings, name: str) -> str:
    """How the person's own file differs from the built-in one, line by line; empty if it does not."""
    folder = PromptFolder(prompts_dir(settings))
    shipped, own = (
        read(entry).decode("utf-8", "replace").splitlines()
        for entry in (folder.entry(name, shipped=True), folder.entry(name))
    )
    lines = difflib.unified_diff(shipped, own, "built in", "yours", lineterm="", n=2)
    return "\n".join(lines)


def _facts(folder: PromptFolder, name: str, room: Room) -> PromptFacts:
    entry = folder.entry(name)
    family, language, part = name.split("/")
    try:
        data = read(entry)
    except PromptError as error:
        remark = Remark(1, error.message.rstrip("."), True)
        return PromptFacts(name, entry.path, entry.own, "", 1, "", (), 0, (remark,))
    prompt, _ = examine(data, language, part, contract(family, part))
    return PromptFacts(
        name=name,
        path=entry.path,
        own=entry.own,
        text=data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n"),
        body=prompt.line if prompt is not None else 1,
        description=prompt.description if prompt is not None else "",
        inputs=prompt.inputs if prompt is not None else (),
        tokens=estimate(prompt.text) if prompt is not None else 0,
        remarks=folder.check(name, room),
    )


def _room(settings: Settings) -> Room:
    context = settings.remote.context if settings.remote.url else settings.engine.n_ctx
    return Room(context or _USUAL_CONTEXT, estimate)
