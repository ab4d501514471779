"""What all desks share: making and taking back decisions, and saying them in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.plain import plain, quoted
from localrag.store.curation_rows import (
    AddAlias,
    AddTag,
    Change,
    Decision,
    DeleteEntity,
    DeleteRelation,
    EditEntity,
    EditRelation,
    KeepApart,
    MergeEntities,
    MergeRelations,
    Pair,
    RelationDecision,
    RemoveAlias,
    RemoveTag,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
    Where,
)
from localrag.store.database import Store
from localrag.store.decision_keys import concerned

NAME_LENGTH = 200
"""Characters that a name, a type or a tag may have when a person types it."""

TEXT_LENGTH = 10_000
"""Characters that a description may have when a person types it."""

shown = quoted
"""A name within a sentence: in quotes, harmless and short."""

_NUMBER = re.compile(r"#[0-9]+")


@dataclass(frozen=True)
class Decided:
    """A decision that was made or taken back."""

    id: int
    """The decision, for `undo`."""

    kind: str
    """For example `entity.merge`."""

    sentence: str
    """What was decided, in words."""

    mentions: int
    """Mentions of entities that belong to another entity now, or to none."""

    relation_mentions: int
    """Mentions of relations that belong to another relation now, or to none."""


@dataclass(frozen=True)
class LogEntry:
    """A decision in the log."""

    id: int
    """The decision, for `undo`."""

    kind: str
    """For example `entity.merge`."""

    made_at: str
    """When, UTC, ISO 8601."""

    undone_at: str
    """When it was taken back; empty while it holds."""

    sentence: str
    """What was decided, in words."""


class Desk:
    """Decisions of some kinds."""

    kinds: Collection[str]
    """Which ones."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def undo(self, decision_id: int | None = None) -> Decided:
        """Take back a decision of any kind by its id, or the last one of these kinds that holds.

        Raises `UsageError` if there is none or it was taken back before, `KnowledgeBaseReadOnly`.
        """
        row, change = self._store.decisions.undo(decision_id, self.kinds)
        return self._decided(row.decision, change)

    def log(self) -> list[LogEntry]:
        """The decisions of these kinds in the order in which they were made, undone ones too."""
        rows = self._store.decisions.list(self.kinds)
        names = self._names(row.decision for row in rows)
        return [
            LogEntry(row.id, row.decision.kind, row.made_at, row.undone_at, sentence(row.decision, names))
            for row in rows
        ]

    def _decide(self, decision: Decision) -> Decided:
        # Told with the names of before: afterwards they may be others.
        said = sentence(decision, self._names([decision]))
        return replace(self._decided(decision, self._store.decisions.add(decision)), sentence=said)

    def _decided(self, decision: Decision, change: Change) -> Decided:
        said = sentence(decision, self._names([decision]))
        return Decided(change.id, decision.kind, said, change.mentions, change.relation_mentions)

    def _names(self, decisions: Iterable[Decision]) -> dict[str, str]:
        """The names of entities that decisions are about, by key; those that are gone are left out."""
        keys = {key for decision in decisions for key in concerned(decision)}
        return {key: row.name for key, row in self._store.graph.find_named(keys) if row.key == key}


def typed_name(text: str, what: str) -> tuple[str, str]:
    """A name that a person typed, and its folded key. Raises `UsageError` if it can be none."""
    name = typed_line(text, what)
    key = fold(name)
    if not key:
        raise UsageError(f"The {what} holds nothing that could be a name.")
    if _NUMBER.fullmatch(name):
        raise UsageError(f"{shown(name)} means the entity with that number.", "Take another name.")
    return name, key


def typed_line(text: str, what: str) -> str:
    """A short text that a person typed, with single blanks. Raises `UsageError` if it can be none."""
    line = " ".join(text.split())
    if not line:
        raise UsageError(f"The {what} is empty.")
    if plain(line) != line:
        raise UsageError(f"The {what} holds control characters.")
    if len(line) > NAME_LENGTH:
        raise UsageError(f"The {what} has {len(line):,} characters; at most {NAME_LENGTH} are possible.")
    return line


def typed_text(text: str, what: str) -> str:
    """A longer text that a person typed; may be empty. Raises `UsageError` if it is too long or unfit."""
    if len(text) > TEXT_LENGTH:
        raise UsageError(f"The {what} has {len(text):,} characters; at most {TEXT_LENGTH:,} are possible.")
    if plain(text, lines=True) != text.replace("\r\n", "\n"):
        raise UsageError(f"The {what} holds control characters.")
    return text.strip()


def sentence(decision: Decision, names: Mapping[str, str]) -> str:
    """A decision in words; `names` are those of entities by key, as far as they are there."""

    def called(key: str) -> str:
        return shown(names.get(key, key))

    match decision:
        case MergeEntities(_, merged, _, name):
            return f"Merge {', '.join(map(shown, merged))} into {shown(name)}."
        case SplitEntity(key, _, name, where):
            return f"Split {shown(name)} off {called(key)}: {_condition(where)}."
        case RenameEntity(_, name, _, was):
            return f"Rename {shown(was)} to {shown(name)}."
        case RetypeEntity(key, kind):
            return f"Give {called(key)} the type {shown(kind)}."
        case EditEntity(key, description):
            return f"Describe {called(key)} {_as(description)}."
        case DeleteEntity(_, name):
            return f"Delete {shown(name)}."
        case KeepApart(_, (one, other)):
            return f"Keep {shown(one)} and {shown(other)} apart."
        case AddAlias(_, _, name, entity):
            return f"Let {shown(name)} mean {shown(entity)}."
        case RemoveAlias(key, _, name):
            return f"Let {shown(name)} not mean {called(key)}."
        case AddTag(document, tag):
            return f"Tag {shown(document.path)} with {shown(tag)}."
        case RemoveTag(document, tag):
            return f"Take the tag {shown(tag)} off {shown(document.path)}."
        case _:
            return _relation_sentence(decision, lambda pair: f"{called(pair[0])} → {called(pair[1])}")


def _relation_sentence(decision: RelationDecision, arrow_of: Callable[[Pair], str]) -> str:
    match decision:
        case MergeRelations(pairs, into):
            return f"Merge {', '.join(map(arrow_of, pairs))} into {arrow_of(into)}."
        case ReverseRelation(pair):
            return f"Turn {arrow_of(pair)} round."
        case SplitRelation(pair, into, where):
            return f"Split {arrow_of(into)} off {arrow_of(pair)}: {_condition(where)}."
        case EditRelation(pair, keywords, description):
            said = [_as(text) for text in (keywords, description) if text is not None]
            return f"Describe {arrow_of(pair)} {' and '.join(said)}."
        case DeleteRelation(pair):
            return f"Delete {arrow_of(pair)}."


def arrow(pair: Pair) -> str:
    """A relation by the names of its ends."""
    return f"{shown(pair[0])} → {shown(pair[1])}"


def _as(text: str) -> str:
    return f"as {shown(text)}" if text else "as the texts do"


def _condition(where: Where) -> str:
    parts = [
        f"{label} {' or '.join(map(shown, texts))}"
        for label, texts in (
            ("named", where.names),
            ("of the type", where.types),
            ("with the keyword", where.keywords),
            ("in", tuple(document.path for document in where.documents)),
        )
        if texts
    ]
    return "mentions " + " and ".join(parts)
