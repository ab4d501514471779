"""What the active decisions make of a name or a relation as it was read: pure, and replayed in their order.

A mention starts as its folded name. Each decision in turn may move it to another entity or to none; what
moved is from then on met by the decisions about the entity that it moved to. So decisions may come before or
after what they are about, and taking one back is replaying the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localrag.store.curation_rows import (
    AddAlias,
    Decision,
    DeleteEntity,
    DeleteRelation,
    DocumentRef,
    EditEntity,
    EditRelation,
    KeepApart,
    MergeEntities,
    MergeRelations,
    Pair,
    RemoveAlias,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    Sight,
    SplitEntity,
    SplitRelation,
    Where,
)
from localrag.store.decision_keys import concerned

_UNSEEN = Sight()


@dataclass(frozen=True)
class Alias:
    """A name that a decision gave to an entity."""

    decision_id: int
    """The decision."""

    key: str
    """The name, folded."""

    name: str
    """The name as it was written."""

    entity: str
    """Key of the entity that it leads to now; empty if that was deleted."""


@dataclass(frozen=True)
class Words:
    """A person's own words for a relation; empty where there are none."""

    keywords: str = ""
    """Keywords."""

    description: str = ""
    """Description."""


@dataclass(frozen=True)
class _Step:
    order: int
    where: Where | None
    to: str | None


@dataclass(frozen=True)
class _PairStep:
    order: int
    where: Where | None
    to: Pair | None


class Resolution:
    """Where mentions belong by a list of decisions, and what else was decided of entities and relations."""

    def __init__(self, decisions: Sequence[tuple[int, Decision]] = ()) -> None:
        """`decisions` with their ids, the active ones in their order."""
        self._steps: dict[str, list[_Step]] = {}
        self._pair_steps: dict[Pair, list[_PairStep]] = {}
        self._names: dict[str, str] = {}
        self._fallbacks: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._descriptions: dict[str, str] = {}
        self._words: dict[Pair, Words] = {}
        self._given: list[tuple[int, int, str, str, str]] = []
        self._alias_orders: set[int] = set()
        self._denied: set[tuple[str, str]] = set()
        self._apart: dict[str, set[str]] = {}
        self._ways = _Ways()
        self.documents: dict[DocumentRef, set[str]] = {}
        """Documents that conditions name, with the keys of the entities that these conditions are about."""
        self.pair_targets: set[str] = set()
        """Keys of entities that relations were moved to; these may come and go without the relations."""
        self.settled: set[str] = set()
        """Keys that a person decided something about; automatic merges leave them where they are."""
        for order, (decision_id, decision) in enumerate(decisions):
            self._take(order, decision_id, decision)
        self.aliases: tuple[Alias, ...] = tuple(
            Alias(decision_id, key, name, self._walk(entity, _UNSEEN, order) or "")
            for order, decision_id, key, name, entity in self._given
        )
        """The names that decisions gave."""
        self.empty = not any(
            (self._steps, self._pair_steps, self._names, self._types, self._descriptions, self._words)
        ) and not (self._fallbacks or self._denied)
        """Whether everything stays as it was read."""

    def entity_key(self, key: str, sight: Sight = _UNSEEN) -> str | None:
        """Key of the entity that a mention belongs to; None if a person deleted it."""
        return self._walk(key, sight, -1) if self._steps else key

    def pair(self, source: tuple[str, Sight], target: tuple[str, Sight], sight: Sight) -> Pair | None:
        """The relation that a mention belongs to; None if it was deleted, or an end, or both ends are one.

        `source` and `target` are the keys as they were read, each with how the passage speaks of it; `sight`
        is how it speaks of the relation.
        """
        (first, first_sight), (second, second_sight) = source, target
        order = -1
        while True:
            one = self._next(first, first_sight, order)
            two = self._next(second, second_sight, order)
            both = self._next_pair((first, second), sight, order)
            orders = [step.order for step in (one, two, both) if step is not None]
            if not orders:
                return (first, second) if first != second else None
            order = min(orders)
            if both is not None and both.order == order:
                if both.to is None:
                    return None
                seen = {second: second_sight, first: first_sight}
                first, second = both.to
                first_sight, second_sight = seen.get(first, _bare(sight)), seen.get(second, _bare(sight))
                continue
            ends = [first, second]
            for place, step in enumerate((one, two)):
                if step is not None and step.order == order:
                    if step.to is None:
                        return None
                    ends[place] = step.to
            first, second = ends

    @property
    def moves_relations(self) -> bool:
        """Whether ends of relations have to be looked at one by one."""
        return bool(self._steps or self._pair_steps)

    def name(self, key: str) -> str:
        """The name that a person gave to an entity; empty if none did."""
        return self._names.get(key, "")

    def fallback(self, key: str) -> str:
        """The name of an entity where no passage writes it so; empty if no decision made the entity."""
        return self._fallbacks.get(key, "")

    def type(self, key: str) -> str:
        """The type that a person gave to an entity; empty if none did."""
        return self._types.get(key, "")

    def description(self, key: str) -> str:
        """A person's own description of an entity; empty if there is none."""
        return self._descriptions.get(key, "")

    def words(self, pair: Pair) -> Words:
        """A person's own words for a relation."""
        return self._words.get(pair, Words())

    def kept_from(self, key: str) -> frozenset[str]:
        """Keys that a person keeps apart from one."""
        return frozenset(self._apart.get(key, ()))

    def denies(self, key: str, alias: str) -> bool:
        """Whether a person said that a name does not mean an entity."""
        return (key, alias) in self._denied

    def leading_to(self, keys: Iterable[str]) -> set[str]:
        """These keys, and all whose mentions decisions may move to one of them."""
        return self._ways.leading_to(keys)

    def leading_from(self, keys: Iterable[str]) -> set[str]:
        """These keys, and all that decisions may move their mentions or words to."""
        return self._ways.leading_from(keys)

    def _walk(self, key: str, sight: Sight, after: int) -> str | None:
        order = after
        while step := self._next(key, sight, order):
            if step.to is None:
                return None
            key, order = step.to, step.order
        return key

    def _next(self, key: str, sight: Sight, after: int) -> _Step | None:
        for step in self._steps.get(key, ()):
            if step.order > after and (step.where is None or step.where.fits(sight)):
                return step
        return None

    def _next_pair(self, pair: Pair, sight: Sight, after: int) -> _PairStep | None:
        for step in self._pair_steps.get(pair, ()):
            if step.order > after and (step.where is None or step.where.fits(sight)):
                return step
        return None

    def _take(self, order: int, decision_id: int, decision: Decision) -> None:
        """Add one decision; those before it are there already."""
        if not isinstance(decision, KeepApart):
            self.settled.update(concerned(decision))
        match decision:
            case KeepApart((one, other)):
                self._apart.setdefault(one, set()).add(other)
                self._apart.setdefault(other, set()).add(one)
            case MergeEntities(keys, names, into, name):
                self._fallbacks[into] = name
                for key, alias in zip(keys, names, strict=True):
                    self._move(order, key, into)
                    self._given.append((order, decision_id, key, alias, into))
                    self._carry(key, into)
            case SplitEntity(key, into, name, where):
                self._move(order, key, into, where)
                self._fallbacks[into] = name
            case RenameEntity(key, name, alias, was):
                self._names[key] = name
                if alias != key:
                    self._move(order, alias, key)
                    self._given.append((order, decision_id, alias, name, key))
                if was and was != name:
                    self._given.append((order, decision_id, key, was, key))
            case RetypeEntity(key, kind):
                self._types[key] = kind
            case EditEntity(key, description):
                if description:
                    self._descriptions[key] = description
                else:
                    self._descriptions.pop(key, None)
            case DeleteEntity(key):
                self._move(order, key, None)
                self._carry(key, None)
            case AddAlias(key, alias, name, entity):
                self._move(order, alias, key)
                self._fallbacks[key] = entity
                self._alias_orders.add(order)
                self._carry(alias, key)
                self._given.append((order, decision_id, alias, name, key))
                self._denied.discard((key, alias))
            case RemoveAlias(key, alias):
                self._remove_alias(key, alias)
            case _:
                self._take_relation(order, decision)

    def _take_relation(self, order: int, decision: Decision) -> None:
        match decision:
            case MergeRelations(pairs, into):
                for pair in pairs:
                    self._move_pair(order, pair, into)
            case ReverseRelation(pair):
                self._move_pair(order, pair, (pair[1], pair[0]))
            case SplitRelation(pair, into, where):
                self._move_pair(order, pair, into, where)
            case EditRelation(pair, keywords, description):
                before = self.words(pair)
                words = Words(
                    before.keywords if keywords is None else keywords,
                    before.description if description is None else description,
                )
                self._words[pair] = words
                if words == Words():
                    del self._words[pair]
            case DeleteRelation(pair):
                self._pair_steps.setdefault(pair, []).append(_PairStep(order, None, None))
                self._words.pop(pair, None)
            case _:
                pass  # Tags concern documents alone; see tags.py.

    def _move(self, order: int, key: str, to: str | None, where: Where | None = None) -> None:
        self._steps.setdefault(key, []).append(_Step(order, where, to))
        if to is not None:
            self._ways.add(key, to)
        for document in where.documents if where is not None else ():
            self.documents.setdefault(document, set()).add(key)

    def _move_pair(self, order: int, pair: Pair, to: Pair, where: Where | None = None) -> None:
        self._pair_steps.setdefault(pair, []).append(_PairStep(order, where, to))
        self.pair_targets.update(to)
        for end in pair:
            self._ways.add(end, to[0])
            self._ways.add(end, to[1])
        for document in where.documents if where is not None else ():
            self.documents.setdefault(document, set()).update(pair)
        words = self._words.get(pair)
        if where is None and words is not None:
            del self._words[pair]
            self._words.setdefault(to, words)

    def _carry(self, key: str, into: str | None) -> None:
        """A person's words go along with an entity that becomes part of another, unless that has its own."""
        self._names.pop(key, None)
        self._types.pop(key, None)
        description = self._descriptions.pop(key, "")
        if description and into is not None:
            self._descriptions.setdefault(into, description)
        for pair in [pair for pair in self._words if key in pair]:
            words = self._words.pop(pair)
            if into is not None:
                source, target = (into if end == key else end for end in pair)
                if source != target:
                    self._words.setdefault((source, target), words)

    def _remove_alias(self, key: str, alias: str) -> None:
        """Take back aliases that lead to the entity, as if they had not been added."""
        self._denied.add((key, alias))
        added = [
            given
            for given in self._given
            if given[2] == alias and self._walk(given[4], _UNSEEN, given[0]) == key
        ]
        # Aliases that come from merging or renaming go when that is taken back.
        orders = {given[0] for given in added if given[0] in self._alias_orders}
        self._given = [given for given in self._given if given[0] not in orders]
        self._steps[alias] = [step for step in self._steps.get(alias, ()) if step.order not in orders]


class _Ways:
    """Which keys decisions lead from and to. Ways stay even where a later decision closes them, so that what
    follows them finds too much rather than too little."""

    def __init__(self) -> None:
        self._from: dict[str, set[str]] = {}
        self._to: dict[str, set[str]] = {}

    def add(self, source: str, target: str) -> None:
        """One leads to the other."""
        self._to.setdefault(source, set()).add(target)
        self._from.setdefault(target, set()).add(source)

    def leading_to(self, keys: Iterable[str]) -> set[str]:
        """These, and all that lead to one of them."""
        return _closure(self._from, keys)

    def leading_from(self, keys: Iterable[str]) -> set[str]:
        """These, and all that one of them leads to."""
        return _closure(self._to, keys)


def _closure(ways: dict[str, set[str]], keys: Iterable[str]) -> set[str]:
    found = set(keys)
    waiting = list(found)
    while waiting:
        further = ways.get(waiting.pop(), set()) - found
        found |= further
        waiting += further
    return found


def _bare(sight: Sight) -> Sight:
    """A sight of the same document that says no name and no type."""
    return Sight(place=sight.place)
