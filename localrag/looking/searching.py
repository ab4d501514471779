"""Finds entities by name, alias or type in the table of all, fast enough to be done at each key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from localrag.graph.names import fold
from localrag.looking.types import Found, Order
from localrag.store.entity_list import EntityEntry, EntityTable

_LONGEST = 1_000
"""Characters of what is looked for; no name is longer."""

_TELLING = 3
"""Letters from which on the beginning of a type finds its entities."""

_EXACT, _BEGINS, _WORD, _INSIDE, _ALIAS, _TYPE = range(6)
"""How well an entity fits, the best first."""


def search(table: EntityTable, text: str, kind: str, order: Order) -> Found:
    """Entities with `text` in their name, another name or at the beginning of their type, of the type `kind`.

    Those that are called so come first, then those whose name begins so, then the others; each group is
    sorted as `order` says. Without a text all are found.
    """
    entries = _sorted(table, order)
    if kind:
        wanted = kind.casefold()
        entries = [entry for entry in entries if entry.type.casefold() == wanted]
    key = fold(text[:_LONGEST])
    if not key:
        return Found(tuple(entries), {}, len(table.entries))
    raw = text.strip().casefold()
    called = _called(table, key)
    groups: list[list[EntityEntry]] = [[] for _ in range(_TYPE + 1)]
    for entry in entries:
        place = _fit(entry, key, raw, called)
        if place is not None:
            groups[place].append(entry)
    found = tuple(entry for group in groups for entry in group)
    shown = {entry.id: called[entry.id][1] for entry in found if entry.id in called and key not in entry.key}
    return Found(found, shown, len(table.entries))


def types(table: EntityTable) -> list[tuple[str, int]]:
    """The types with the number of their entities, the most frequent first."""
    return sorted(
        Counter(entry.type for entry in table.entries).items(), key=lambda item: (-item[1], item[0])
    )


def _sorted(table: EntityTable, order: Order) -> Sequence[EntityEntry]:
    if order == "name":
        return table.by_name
    return table.by_mentions if order == "mentions" else table.by_relations


def _called(table: EntityTable, key: str) -> dict[int, tuple[bool, str]]:
    """The entities with an alias that fits: whether it is the very name, and the alias."""
    found: dict[int, tuple[bool, str]] = {}
    for alias, name, entity_id in table.aliases:
        if key in alias and (entity_id not in found or alias == key):
            found[entity_id] = (alias == key, name)
    return found


def _fit(entry: EntityEntry, key: str, raw: str, called: Mapping[int, tuple[bool, str]]) -> int | None:
    own = entry.key
    if key in own:
        if own == key:
            return _EXACT
        if own.startswith(key):
            return _BEGINS
        return _WORD if f" {key}" in own else _INSIDE
    if entry.id in called:
        return _EXACT if called[entry.id][0] else _ALIAS
    if raw in entry.name.casefold():
        return _INSIDE
    if len(raw) >= _TELLING and entry.type.casefold().startswith(raw):
        return _TYPE
    return None
