"""Finds what a person names: entities by name or number, relations by their ends, documents by path."""

from __future__ import annotations

from localrag.curating.deciding import arrow, shown
from localrag.errors import UsageError
from localrag.finding import document_named
from localrag.graph.names import fold
from localrag.store.curation_rows import DocumentRef, Pair
from localrag.store.database import Store
from localrag.store.graph_rows import EntityRow, RelationRow
from localrag.store.rows import DocumentRow

_LONGEST = 10_000
"""Characters of what is looked for; no name in a text is longer than its passage."""


class Finder:
    """Looks things up by what a person typed."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def entity(self, text: str) -> EntityRow:
        """The entity with this name, alias, or number as `#12`.

        Raises `UsageError` if there is none, naming the nearest, or if several have the alias.
        """
        number = _number(text)
        if number is not None:
            found = self._store.graph.entities([number])
            if found:
                return found[0]
        key = fold(text[:_LONGEST])
        named = self._store.graph.find_named([key])
        if not named:
            raise self._missing(text, key)
        entity = named[0][1]
        if entity.key != key:
            self._require_one(text, key)
        return entity

    def relation(self, source: str, target: str) -> tuple[RelationRow, Pair]:
        """The relation between two entities, with the keys of its ends. Raises `UsageError` if there is
        none."""
        ends = self.entity(source), self.entity(target)
        pair = (ends[0].key, ends[1].key)
        found = self._store.browse.relation_between(pair)
        if found is None:
            names = (ends[0].name, ends[1].name)
            turned = self._store.browse.relation_between((pair[1], pair[0]))
            hint = (
                f"There is one the other way: {arrow((names[1], names[0]))}."
                if turned is not None
                else "See `localrag relations list --entity NAME`."
            )
            raise UsageError(f"There is no relation {arrow(names)}.", hint)
        return self._store.graph.relation(found), pair

    def document(self, text: str) -> DocumentRow:
        """The document with this name, see `localrag.finding`.

        Raises `UsageError` if there is none, or if several have the path.
        """
        return document_named(self._store, text)

    def _require_one(self, text: str, key: str) -> None:
        """Raise `UsageError` if passages give an alias to several entities and no person gave it to one."""
        rows = self._store.aliases.find(key)
        if any(row.decision_id is not None for row in rows):
            return
        meant = {row.entity_id: row.entity for row in rows}
        if not meant:
            # Names that were merged within documents.
            entities = self._store.graph.entities(self._store.merges.meant(key))
            meant = {row.id: row.name for row in entities}
        if len(meant) > 1:
            listed = ", ".join(f"{name} (#{entity_id})" for entity_id, name in list(meant.items())[:5])
            raise UsageError(f"Several entities are called {shown(text)}.", f"Name one of them: {listed}.")

    def _missing(self, text: str, key: str) -> UsageError:
        near = [shown(name) for name in self._store.browse.near(key)] if key else []
        hint = f"Did you mean {' or '.join(near)}?" if near else "See `localrag entities list`."
        if _number(f"#{text}") is not None and self._store.graph.entities([int(text)]):
            hint = f"If you mean its number, write '#{text}', in quotes."
        if self._store.decisions.deletes(key):
            hint = "It was deleted by a decision; see `localrag entities log`."
        return UsageError(f"There is no entity {shown(text)}.", hint)


def reference(row: DocumentRow) -> DocumentRef:
    """A document as decisions name it."""
    return DocumentRef(row.root, row.path, row.sha256 if row.size else "")


def _number(text: str) -> int | None:
    digits = text[1:]
    return (
        int(digits)
        if text[:1] == "#" and digits.isascii() and digits.isdigit() and len(digits) < 19
        else None
    )
