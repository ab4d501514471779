"""Decisions about other names of entities."""

from __future__ import annotations

from localrag.curating.deciding import Decided, Desk, shown, typed_name
from localrag.curating.entities import require_free
from localrag.curating.finding import Finder
from localrag.errors import UsageError
from localrag.graph.names import fold
from localrag.store.curation_rows import AddAlias, AliasRow, RemoveAlias
from localrag.store.database import Store
from localrag.store.decisions import ALIAS_KINDS


class AliasDesk(Desk):
    """Lists aliases and decides about them. Raises as `EntityDesk` does."""

    kinds = ALIAS_KINDS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._find = Finder(store)

    def list(self, entity: str = "", limit: int | None = None) -> list[AliasRow]:
        """Aliases of all entities or of one."""
        owner = self._find.entity(entity).id if entity else None
        return self._store.aliases.list(owner, limit)

    def add(self, entity: str, alias: str) -> Decided:
        """Let another name mean an entity, in questions and in all that is read later."""
        row = self._find.entity(entity)
        name, key = typed_name(alias, "alias")
        given = [known for known in self._store.aliases.find(key) if known.entity_id == row.id]
        if key == row.key or any(known.decision_id is not None for known in given):
            raise UsageError(f"{shown(name)} means {shown(row.name)} already.")
        require_free(self._store, row, name, key)
        return self._decide(AddAlias(row.key, key, name, row.name))

    def remove(self, entity: str, alias: str) -> Decided:
        """Let a name not mean an entity: one that was added, or that a passage gave."""
        row = self._find.entity(entity)
        key = fold(alias[:10_000])
        found = [known for known in self._store.aliases.find(key) if known.entity_id == row.id]
        if not found:
            raise UsageError(
                f"{shown(alias)} is no alias of {shown(row.name)}.", "See `localrag aliases list NAME`."
            )
        kinds = {entry.id: entry.decision.kind for entry in self._store.decisions.list()}
        for known in found:
            if known.decision_id is not None and kinds[known.decision_id] != AddAlias.kind:
                raise UsageError(
                    f"{shown(alias)} became an alias by decision {known.decision_id}.",
                    f"Take that back: localrag aliases undo {known.decision_id}.",
                )
        return self._decide(RemoveAlias(row.key, key, found[0].name))
