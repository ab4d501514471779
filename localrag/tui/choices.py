"""What a person chooses about questions: how they are searched and answered, what they are narrowed to."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

from localrag.plain import plain

if TYPE_CHECKING:  # these modules bring NumPy, which the first paint does not wait for
    from localrag.answering.options import AskOptions, Style
    from localrag.kb import KnowledgeBase
    from localrag.store.filters import Filter

MODES = {
    "auto": "chosen by the kind of question",
    "mix": "passages, entities and relations",
    "naive": "passages only",
    "local": "entities and what they touch",
    "global": "relations, for themes",
    "hybrid": "entities and relations",
    "path": "what connects the things that are named",
    "drift": "from themes down to single things",
    "communities": "themes of the whole corpus",
    "bypass": "the model alone, without your documents",
}
"""How a question can be searched, in words."""

STYLES = {
    "strict": "from your documents alone",
    "flexible": "general knowledge may be added, marked as such",
}
"""What answers may rest on, in words."""

FORMS = ("short", "sentences", "list", "table", "report")
"""Names of forms that an answer can have; other words do as well."""

_SHOWN = 24
"""Characters of a wish that a chip shows."""


@dataclass(frozen=True)
class Choices:
    """What was chosen; what is empty is as the settings say, or narrows nothing."""

    mode: str = "auto"
    """One of `MODES`."""

    style: str = ""
    """One of `STYLES`."""

    response_type: str = ""
    """The form of the answer: one of `FORMS`, or other words."""

    user_prompt: str = ""
    """Further wishes, in words."""

    documents: tuple[str, ...] = ()
    """Paths of documents, folders with a slash at their end, or patterns."""

    folder: str = ""
    """A folder."""

    tags: tuple[str, ...] = ()
    """Tags of documents."""

    since: str = ""
    """First day on which files were changed: 2024-05-31, 2024-05, 2024."""

    until: str = ""
    """Last such day."""

    types: tuple[str, ...] = ()
    """Types of entities."""

    @property
    def narrowing(self) -> str:
        """What is searched, in words; empty where nothing narrows it."""
        parts = [*self.documents, *([f"in {self.folder}"] if self.folder else [])]
        parts += [f"#{tag}" for tag in self.tags]
        if self.since or self.until:
            parts.append(f"{self.since or '…'} to {self.until or '…'}")
        parts += [f"type {kind}" for kind in self.types]
        return plain(", ".join(parts))

    def filter(self, kb: KnowledgeBase) -> Filter:
        """The filter for the library. Raises `UsageError` for what is not in the knowledge base."""
        return kb.filter(
            documents=self.documents,
            folder=self.folder,
            tags=self.tags,
            since=self.since,
            until=self.until,
            types=self.types,
        )

    def options(self, kb: KnowledgeBase) -> AskOptions:
        """The options for the library. Raises as `filter`."""
        from localrag.answering.options import AskOptions

        styles: dict[str, Style] = {"strict": "strict", "flexible": "flexible"}
        return AskOptions(
            mode=self.mode,
            style=styles.get(self.style),
            response_type=self.response_type or None,
            user_prompt=self.user_prompt,
            filter=self.filter(kb),
        )


def choices_of(kb: KnowledgeBase, options: AskOptions) -> Choices:
    """What was chosen when a question was asked with these options."""
    wanted = options.filter
    paths = {row.id: row.path for row in kb.status().documents} if wanted.documents else {}
    return Choices(
        mode=options.mode if options.mode in MODES else "auto",
        style=options.style or "",
        response_type=options.response_type or "",
        user_prompt=options.user_prompt,
        documents=tuple(paths[number] for number in wanted.documents if number in paths),
        folder=wanted.folder,
        tags=wanted.tags,
        since=_day(wanted.modified_from),
        until=_day(wanted.modified_until),
        types=wanted.entity_types,
    )


@dataclass(frozen=True)
class Chip:
    """One choice in the line above the question."""

    field: str
    """The field of the dialog that changes it."""

    words: str
    """What is chosen."""

    chosen: bool
    """Whether it is not as usual."""


def chips(choices: Choices, style: str, response_type: str) -> list[Chip]:
    """What is chosen, in words; `style` and `response_type` are those of the settings."""
    usual = Choices()
    form = choices.response_type or response_type
    found = [
        Chip("mode", f"mode {choices.mode}", choices.mode != usual.mode),
        Chip("style", choices.style or style, bool(choices.style)),
        Chip("response_type", _short(form), bool(choices.response_type)),
    ]
    if choices.user_prompt:
        found.append(Chip("user_prompt", f"wish: {_short(choices.user_prompt)}", True))
    narrowing = choices.narrowing
    found.append(Chip("documents", f"only {narrowing}" if narrowing else "all documents", bool(narrowing)))
    return found


def listed(text: str) -> tuple[str, ...]:
    """Items that a person typed, parted by commas; one that holds a comma stands in quotes."""
    rows = list(csv.reader([text], skipinitialspace=True))
    return tuple(item.strip() for item in (rows[0] if rows else []) if item.strip())


def joined(items: Iterable[str]) -> str:
    """Undo `listed`."""
    return ", ".join('"' + item.replace('"', '""') + '"' if _needs_quotes(item) else item for item in items)


def differing(one: Choices, other: Choices) -> set[str]:
    """The names of the fields in which two choices differ."""
    return {item.name for item in fields(one) if getattr(one, item.name) != getattr(other, item.name)}


def _needs_quotes(item: str) -> bool:
    return "," in item or item.startswith('"')


def _short(text: str) -> str:
    text = plain(text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1].rstrip() + "…"


def _day(moment: datetime | None) -> str:
    return moment.astimezone().date().isoformat() if moment is not None else ""
