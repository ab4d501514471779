"""Names that may mean the same: suggested, accepted, rejected, kept apart; and why some were merged."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from localrag.curating.deciding import NAME_LENGTH, shown
from localrag.curating.finding import Finder
from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.store.curation_rows import Decision, KeepApart, MergeEntities
from localrag.store.database import Store
from localrag.store.graph_rows import EntityRow
from localrag.store.merges import LinkRow

_ALL = 1_000_000

REASONS = {
    "said": "a text says so",
    "initials": "the initials of the other name",
    "part": "part of the other name",
    "title": "the other name's last part behind a title",
    "middle": "the other name with less of its middle",
    "initial": "the other name with an initial for a part of it",
    "form": "the other name without its legal or administrative form",
    "spelling": "the same letters",
    "contained": "words of the other name",
}
"""How names are related, in words."""


@dataclass(frozen=True)
class Suggestion:
    """Two entities that may be one."""

    number: int
    """Its place in the list, for accepting and rejecting it."""

    name: str
    """The lesser name."""

    into: str
    """The fuller name."""

    score: float
    """How likely it is, from 0 to 1."""

    evidence: tuple[str, ...]
    """What speaks for it, in words."""

    keys: tuple[str, str]
    """The two names, folded."""


@dataclass(frozen=True)
class Merged:
    """A name that was merged into an entity by itself."""

    name: str
    """The name."""

    document: str
    """Path of the document in which it was; empty for everywhere."""

    score: float
    """How sure it is, from 0 to 1."""

    evidence: tuple[str, ...]
    """What speaks for it, in words."""


def suggestions(store: Store, limit: int) -> list[Suggestion]:
    """Pairs that a person may decide about, the likeliest first, numbered from 1."""
    return [_suggestion(store, row, number) for number, row in enumerate(store.merges.likely(limit), 1)]


def merged(store: Store, entity_id: int) -> tuple[Merged, ...]:
    """The names that were merged into an entity by themselves."""
    return tuple(
        Merged(row.name, row.document, row.score, _reasons(row.kind, row.key, row.into, said=row.said))
        for row in store.merges.into(entity_id)
    )


def chosen(store: Store, numbers: Collection[int]) -> list[Suggestion]:
    """The suggestions with these numbers. Raises `UsageError` for a number that there is not."""
    found = {item.number: item for item in suggestions(store, max(numbers, default=0))}
    for number in numbers:
        if number not in found:
            raise UsageError(f"There is no suggestion {number}.", "See `localrag entities suggest`.")
    return [found[number] for number in dict.fromkeys(numbers)]


def about(store: Store, keys: tuple[str, str]) -> Suggestion:
    """The suggestion about these two folded names. Raises `UsageError` if there is none."""
    for number, row in enumerate(store.merges.likely(_ALL), 1):
        if (row.key, row.into) == keys:
            return _suggestion(store, row, number)
    raise UsageError("This is not suggested any more.", "Something was decided or read meanwhile.")


def accepting(store: Store, item: Suggestion) -> MergeEntities:
    """The decision that accepts a suggestion: the entity of the lesser name becomes part of the other."""
    one, other = (entity_of(store, key) for key in item.keys)
    if one.key == other.key:
        raise UsageError(f"{shown(item.name)} and {shown(item.into)} are one already.")
    return MergeEntities((one.key,), (one.name,), other.key, other.name)


def apart(one: tuple[str, str], other: tuple[str, str]) -> KeepApart:
    """The decision that two names, each folded and as written, are never taken for one by themselves."""
    return KeepApart((one[0], other[0]), (one[1], other[1]))


def rejecting(item: Suggestion) -> KeepApart:
    """The decision that rejects a suggestion."""
    return apart((item.keys[0], item.name), (item.keys[1], item.into))


def keeping_apart(store: Store, names: Sequence[str]) -> Decision:
    """The decision that two names that a person typed are kept apart.

    A name that was merged by itself means itself here, not the entity that it went to. Raises `UsageError`
    for a name that is not there, if both are one name, or if a person decided about them before: that both
    mean the same, which only taking that back undoes, or that they are kept apart.
    """
    (one, one_name), (other, other_name) = (_typed(store, name) for name in names)
    if one == other:
        raise UsageError(
            f"{shown(one_name)} and {shown(other_name)} are spellings of one name.",
            "Use `localrag entities split` to part its mentions.",
        )
    names_said = f"{shown(one_name)} and {shown(other_name)}"
    if (row := store.decisions.joining(one, other)) is not None:
        raise UsageError(
            f"{names_said} are one by your decision {row.id}.",
            f"Take it back, and they are two again: localrag entities undo {row.id}",
        )
    if (row := store.decisions.keeping_apart(one, other)) is not None:
        raise UsageError(
            f"{names_said} are kept apart already, by decision {row.id}.",
            f"To let them be merged again: localrag entities undo {row.id}",
        )
    return apart((one, one_name), (other, other_name))


def _typed(store: Store, text: str) -> tuple[str, str]:
    """The folded name and the name that a person means."""
    key = fold(text[: NAME_LENGTH * 10])
    if store.merges.is_name(key):
        return key, store.merges.written(key)
    entity = Finder(store).entity(text)
    return entity.key, entity.name


def entity_of(store: Store, key: str) -> EntityRow:
    """The entity that a folded name means. Raises `UsageError` if there is none."""
    found = store.graph.find_by_keys([key])
    if not found:
        raise UsageError(f"There is no entity {shown(key)} any more.", "See `localrag entities suggest`.")
    return found[0]


def _suggestion(store: Store, row: LinkRow, number: int) -> Suggestion:
    return Suggestion(
        number,
        store.merges.written(row.key),
        store.merges.written(row.into),
        row.score,
        (*_evidence(row), *_likeness(store, row)),
        (row.key, row.into),
    )


def _evidence(row: LinkRow) -> tuple[str, ...]:
    counted = (
        (row.documents, "document takes them for one", "documents take them for one"),
        (row.together, "document holds both", "documents hold both"),
        (row.neighbours, "name is related to both", "names are related to both"),
    )
    return (
        *_reasons(row.kind, row.key, row.into, said=row.said),
        *(f"{count:,} {one if count == 1 else more}" for count, one, more in counted if count),
    )


def _likeness(store: Store, row: LinkRow) -> tuple[str, ...]:
    """How alike what is said of both is, where there are vectors of both."""
    ends = [store.merges.meant(key)[:1] for key in (row.key, row.into)]
    alike = store.merges.similarity(ends[0][0], ends[1][0]) if all(ends) else None
    return () if alike is None else (f"their descriptions are {max(alike, 0):.0%} alike",)


def _reasons(kind: str, key: str, into: str, *, said: bool) -> tuple[str, ...]:
    if kind == "middle" and any(len(word) == 1 for word in set(key.split()) - set(into.split())):
        kind = "initial"
    reason = REASONS.get(kind, kind)
    return (reason,) if kind == "said" or not said else (reason, REASONS["said"])
