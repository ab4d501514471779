"""Decisions about entities, by their names."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.curating import suggesting
from localrag.curating.deciding import Decided, Desk, shown, typed_line, typed_name, typed_text
from localrag.curating.finding import Finder, reference
from localrag.curating.suggesting import Merged, Suggestion
from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.plain import plain
from localrag.store.browse import Variants
from localrag.store.curation_rows import (
    AliasRow,
    DeleteEntity,
    EditEntity,
    MergeEntities,
    RenameEntity,
    RetypeEntity,
    SplitEntity,
    Where,
)
from localrag.store.database import Store
from localrag.store.decisions import ENTITY_KINDS
from localrag.store.graph_rows import EntityRow, RelationRow

_RELATIONS = 20


@dataclass(frozen=True)
class EntityView:
    """An entity with all that a person may want to know of it before deciding."""

    entity: EntityRow
    """The entity."""

    aliases: tuple[AliasRow, ...]
    """Its other names."""

    variants: Variants
    """The names, types and documents of its mentions."""

    relations: tuple[RelationRow, ...]
    """The heaviest of its relations."""

    merged: tuple[Merged, ...] = ()
    """The names that were merged into it by themselves, with what spoke for it."""


class EntityDesk(Desk):
    """Looks entities up and decides about them.

    Entities are named by name, alias or `#number`; every method raises `UsageError` for one that is not there
    and, where it decides, `KnowledgeBaseReadOnly`.
    """

    kinds = ENTITY_KINDS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._find = Finder(store)

    def list(self, search: str = "", type: str = "", limit: int = 50) -> list[EntityRow]:  # noqa: A002
        """Entities, those in most passages first: with `search` in the name or an alias, of a type."""
        text = search[:1_000]
        ids = self._store.browse.entities(text=text, key=fold(text) if text else "", kind=type, limit=limit)
        return self._store.graph.entities(ids)

    def show(self, name: str) -> EntityView:
        """An entity with its aliases, relations, and of what it is put together."""
        row = self._find.entity(name)
        return EntityView(
            row,
            tuple(self._store.aliases.list(row.id)),
            self._store.browse.variants(row.id),
            tuple(self._store.graph.relations_of([row.id], _RELATIONS)),
            suggesting.merged(self._store, row.id),
        )

    def suggestions(self, limit: int = 50) -> Sequence[Suggestion]:
        """Pairs of entities that may be one but are not surely, the likeliest first."""
        return suggesting.suggestions(self._store, limit)

    def judge(self, accept: Sequence[int] = (), reject: Sequence[int] = ()) -> Sequence[Decided]:
        """Accept and reject suggestions by their numbers in the list as it is now; all or none.

        What is accepted is merged, what is rejected is neither suggested nor merged any more.
        """
        if both := set(accept) & set(reject):
            raise UsageError(f"Suggestion {min(both)} cannot be accepted and rejected.")
        with self._store.transaction():
            items = {item.number: item for item in suggesting.chosen(self._store, [*accept, *reject])}
            made = [self._decide(suggesting.rejecting(items[number])) for number in dict.fromkeys(reject)]
            for number in dict.fromkeys(accept):
                made.append(self._decide(suggesting.accepting(self._store, items[number])))
        return made

    def judge_pair(self, keys: tuple[str, str], *, same: bool) -> Decided:
        """Accept or reject the suggestion about two folded names, wherever it stands in the list by now.

        Raises `UsageError` if nothing of the kind is suggested any more.
        """
        with self._store.transaction():
            item = suggesting.about(self._store, keys)
            return self._decide(
                suggesting.accepting(self._store, item) if same else suggesting.rejecting(item)
            )

    def sides(self, keys: tuple[str, str]) -> tuple[EntityView, EntityView]:
        """The two entities of a suggestion. Raises `UsageError` if one is gone."""
        one, other = (suggesting.entity_of(self._store, key) for key in keys)
        return self.show(f"#{one.id}"), self.show(f"#{other.id}")

    def keep_apart(self, one: str, other: str) -> Decided:
        """Never take two names for one without being told so; takes back an automatic merge of them."""
        return self._decide(suggesting.keeping_apart(self._store, (one, other)))

    def merge(self, names: Sequence[str], into: str) -> Decided:
        """Make several entities part of another one, whose name, type and description stay.

        Their names become its aliases. Relations among them disappear until it is taken back.
        """
        target = self._find.entity(into)
        parts = {row.key: row.name for row in map(self._find.entity, names)}
        if not parts:
            raise UsageError("Nothing was named that could be merged.")
        if target.key in parts:
            raise UsageError(f"{shown(target.name)} cannot be merged into itself.")
        return self._decide(MergeEntities(tuple(parts), tuple(parts.values()), target.key, target.name))

    def split(
        self,
        name: str,
        into: str,
        *,
        names: Sequence[str] = (),
        types: Sequence[str] = (),
        documents: Sequence[str] = (),
    ) -> Decided:
        """Let some mentions of an entity mean another one, which may be there already.

        Those go that have one of the `names` as written, one of the `types` and lie in one of the
        `documents`; what is not given is not asked for. Raises `UsageError` too if none or all would go.
        """
        row = self._find.entity(name)
        new, key = typed_name(into, "new name")
        there = self._store.graph.find_named([key])
        if there:
            key, new = there[0][1].key, there[0][1].name
        if key == row.key:
            raise UsageError(
                f"{shown(into)} means {shown(row.name)} itself.", "Give the part that goes a name of its own."
            )
        where, sights = self._would_go(row, names, types, documents)
        if where == Where():
            raise UsageError(
                "Which mentions should go is not said.", "Say it with --name, --type or --document."
            )
        if not any(sights):
            raise UsageError(f"No mention of {shown(row.name)} is like that.", self._parts(row))
        if all(sights):
            raise UsageError(
                f"All mentions of {shown(row.name)} are like that; nothing would stay.",
                "Use `localrag entities rename` to give it another name, or ask for fewer.",
            )
        return self._decide(SplitEntity(row.key, key, new, where))

    def would_go(
        self,
        name: str,
        *,
        names: Sequence[str] = (),
        types: Sequence[str] = (),
        documents: Sequence[str] = (),
    ) -> tuple[int, int]:
        """How many mentions a split would take, and how many there are; nothing is decided."""
        where, sights = self._would_go(self._find.entity(name), names, types, documents)
        return (0 if where == Where() else sum(sights)), len(sights)

    def rename(self, name: str, to: str) -> Decided:
        """Show an entity under another name, which means it from now on; the old one stays an alias."""
        row = self._find.entity(name)
        new, key = typed_name(to, "new name")
        if new == row.name:
            raise UsageError(f"{shown(new)} is its name already.")
        require_free(self._store, row, new, key)
        return self._decide(RenameEntity(row.key, new, key, row.name))

    def retype(self, name: str, type: str) -> Decided:  # noqa: A002
        """Give an entity another type, whatever its mentions say."""
        row = self._find.entity(name)
        return self._decide(RetypeEntity(row.key, typed_line(type, "type")))

    def edit(self, name: str, description: str) -> Decided:
        """Describe an entity in place of what was read; an empty text gives that back."""
        row = self._find.entity(name)
        return self._decide(EditEntity(row.key, typed_text(description, "description")))

    def delete(self, name: str) -> Decided:
        """Let an entity be none, whoever mentions it now or later; the texts stay as they are."""
        row = self._find.entity(name)
        return self._decide(DeleteEntity(row.key, row.name))

    def _would_go(
        self, row: EntityRow, names: Sequence[str], types: Sequence[str], documents: Sequence[str]
    ) -> tuple[Where, Sequence[bool]]:
        """The condition of a split, and for each mention whether it fits."""
        found = tuple(reference(self._find.document(path)) for path in documents)
        where = Where(tuple(names), tuple(types), (), found)
        return where, [where.fits(sight) for sight in self._store.browse.sights(row.id)]

    def _parts(self, row: EntityRow) -> str:
        variants = self._store.browse.variants(row.id)
        lists = (("Names", variants.names), ("types", variants.types), ("documents", variants.documents))
        return "; ".join(
            f"{label}: {', '.join(shown(item.text) for item in items[:5])}" for label, items in lists
        )


def require_free(store: Store, row: EntityRow, name: str, key: str) -> None:
    """Raise `UsageError` if a name means another entity than this one, by its own name or by a decision."""
    for _, other in store.graph.find_named([key]):
        decided = any(alias.decision_id is not None for alias in store.aliases.find(key))
        if other.id != row.id and (other.key == key or decided):
            taken = (
                f"There is an entity {shown(other.name)} already."
                if other.key == key
                else f"{shown(name)} means {shown(other.name)} already."
            )
            one, into = (shlex.quote(plain(entity.name)) for entity in (row, other))
            raise UsageError(
                taken, f"If both are the same, merge them: localrag entities merge {one} --into {into}"
            )
