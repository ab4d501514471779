"""A person's own prompts: which there are, and how one begins, is checked and goes away again."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from localrag.errors import PromptError, UsageError
from localrag.prompts.checking import Remark, Room, remarks
from localrag.prompts.contracts import contract, families
from localrag.prompts.files import Prompt, load
from localrag.settings import Settings, data_path, prompts_dir

LANGUAGES = ("en", "zh")
"""Languages in which each prompt ships."""


@dataclass(frozen=True)
class Entry:
    """One prompt."""

    name: str
    """`family/language/name`."""

    path: Path
    """The file that is used."""

    own: bool
    """Whether it is the person's."""


class PromptFolder:
    """The person's folder of prompts, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> tuple[str, ...]:
        """All prompts, family by family."""
        return tuple(
            f"{family}/{language}/{name}"
            for family, names in families().items()
            for language in LANGUAGES
            for name in sorted(names)
        )

    def entry(self, name: str, *, shipped: bool = False) -> Entry:
        """The prompt of a name; with `shipped` the one that ships, whatever the person has.

        Raises `UsageError` for a name that no prompt has, with the nearest ones.
        """
        wanted = name.strip().removesuffix(".md")
        if wanted not in self.names():
            near = difflib.get_close_matches(wanted, self.names(), n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else "localrag prompts list shows all."
            raise UsageError(f"There is no prompt {name!r}.", hint)
        own = self.path / f"{wanted}.md"
        if not shipped and os.path.lexists(own):
            return Entry(wanted, own, True)
        return Entry(wanted, data_path("prompts") / f"{wanted}.md", False)

    def prompt(self, name: str) -> Prompt:
        """The prompt, read and checked. Raises as `load` and `entry` do."""
        family, language, part = self.entry(name).name.split("/")
        return load(family, language, part, self.path)

    def strangers(self) -> tuple[str, ...]:
        """Files in the folder that no part of localrag uses, such as one with a misspelt name."""
        known = {f"{name}.md" for name in self.names()}
        found = (path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file())
        return tuple(sorted(name for name in found if name not in known and not _is_scratch(name)))

    def check(self, name: str, room: Room) -> tuple[Remark, ...]:
        """What is wrong with the prompt that is used, errors first. Raises as `entry` does."""
        entry = self.entry(name)
        family, language, part = entry.name.split("/")
        data = read(entry)

        def beside(other: str) -> Prompt | None:
            try:
                return load(family, language, other, self.path)
            except PromptError:
                # It has remarks of its own.
                return None

        return remarks(data, language, part, contract(family, part), beside, room)

    def copy(self, name: str) -> tuple[Path, bool]:
        """The person's file for a prompt, made from the one that ships if there is none; whether it is new.

        Raises `UsageError` as `entry` does, and where the folder is the one that ships; `PromptError` if the
        file cannot be made.
        """
        entry = self.entry(name)
        if entry.own:
            return entry.path, False
        self._refuse_shipped()
        own = self.path / f"{entry.name}.md"
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
            with own.open("xb") as file:
                file.write(read(entry))
        except OSError as error:
            raise PromptError(
                f"{own} cannot be written: {error.strerror or error}.",
                "The setting prompts.directory names another folder.",
            ) from error
        return own, True

    def reset(self, name: str) -> bool:
        """Remove the person's file, so that the one that ships is used again; False if there was none.

        Raises as `copy` does.
        """
        entry = self.entry(name)
        if not entry.own:
            return False
        self._refuse_shipped()
        try:
            entry.path.unlink()
        except OSError as error:
            raise PromptError(f"{entry.path} cannot be removed: {error.strerror or error}.") from error
        for folder in self._folders_of(entry.path):
            if any(folder.iterdir()):
                break
            folder.rmdir()
        return True

    def _folders_of(self, path: Path) -> Iterator[Path]:
        """The folders between the file and the person's folder, innermost first."""
        yield from (path.parent, path.parent.parent)

    def _refuse_shipped(self) -> None:
        if self.path.exists() and self.path.samefile(data_path("prompts")):
            raise UsageError(
                "The folder of your own prompts is the one of the prompts that ship.",
                "Name another one with the setting prompts.directory.",
            )


def own_prompts(settings: Settings) -> Path | None:
    """The person's folder as `load` takes it; None if there is none.

    Raises `PromptError` if the settings name a folder that is not there: what a person asked for is never
    left out in silence.
    """
    path = prompts_dir(settings)
    if path.is_dir():
        return path
    if settings.prompts.directory or os.path.lexists(path):
        raise PromptError(
            f"The folder of your own prompts, {path}, is not there.",
            "Correct the setting prompts.directory, or make the folder.",
        )
    return None


def read(entry: Entry) -> bytes:
    """The bytes of a prompt's file. Raises `PromptError` if they cannot be had."""
    try:
        return entry.path.read_bytes()
    except OSError as error:
        raise PromptError(
            f"The prompt {entry.name} cannot be read: {error.strerror or error}.", f"It lies at {entry.path}."
        ) from error


def _is_scratch(name: str) -> bool:
    """Whether a file is what editors and file managers leave behind."""
    last = name.rsplit("/", 1)[-1]
    return last.startswith(".") or last.endswith(("~", ".bak", ".swp", ".orig"))
