"""Decisions about relations, by the names of their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.curating.deciding import Decided, Desk, arrow, shown, typed_text
from localrag.curating.finding import Finder, reference
from localrag.errors import UsageError
from localrag.store.curation_rows import (
    DeleteRelation,
    EditRelation,
    MergeRelations,
    Pair,
    ReverseRelation,
    SplitRelation,
    Where,
)
from localrag.store.database import Store
from localrag.store.decisions import RELATION_KINDS
from localrag.store.graph_rows import RelationRow


@dataclass(frozen=True)
class RelationView:
    """A relation with the documents that it comes from."""

    relation: RelationRow
    """The relation."""

    documents: tuple[str, ...]
    """Paths of the documents, each once."""


class RelationDesk(Desk):
    """Looks relations up and decides about them.

    A relation is named by the names of its two ends; every method raises `UsageError` for one that is not
    there and, where it decides, `KnowledgeBaseReadOnly`.
    """

    kinds = RELATION_KINDS

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._find = Finder(store)

    def list(self, entity: str = "", limit: int = 50) -> list[RelationRow]:
        """Relations of all or of one entity, those in most passages first."""
        owner = self._find.entity(entity).id if entity else None
        return self._store.graph.relations(self._store.browse.relations(owner, limit))

    def show(self, source: str, target: str) -> RelationView:
        """A relation with where it comes from."""
        row, _ = self._find.relation(source, target)
        chunks = self._store.chunks.many(self._store.graph.relation_chunks(row.id))
        paths = [self._store.documents.get(chunk.document_id).path for chunk in chunks]
        return RelationView(row, tuple(dict.fromkeys(paths)))

    def merge(self, pairs: Sequence[Pair], into: Pair) -> Decided:
        """Make several relations part of another one; that may be one that no text has said so far."""
        target = self._pair(into)
        parts = tuple(dict.fromkeys(self._find.relation(*pair)[1] for pair in pairs))
        if not parts:
            raise UsageError("Nothing was named that could be merged.")
        if target in parts:
            raise UsageError(f"{arrow(into)} cannot be merged into itself.")
        return self._decide(MergeRelations(parts, target))

    def reverse(self, source: str, target: str) -> Decided:
        """Let a relation go the other way; with one that goes that way already it becomes one."""
        return self._decide(ReverseRelation(self._find.relation(source, target)[1]))

    def split(
        self,
        source: str,
        target: str,
        into: Pair,
        *,
        keywords: Sequence[str] = (),
        documents: Sequence[str] = (),
    ) -> Decided:
        """Let some mentions of a relation be about another pair of entities.

        Those go that have one of the `keywords` and lie in one of the `documents`; what is not given is not
        asked for. Raises `UsageError` too if none or all would go.
        """
        row, pair = self._find.relation(source, target)
        wanted = self._pair(into)
        if wanted == pair:
            raise UsageError(f"{arrow(into)} is the relation itself.")
        words = tuple(word.strip() for word in keywords if word.strip())
        where = Where((), (), words, tuple(reference(self._find.document(path)) for path in documents))
        if where == Where():
            raise UsageError("Which mentions should go is not said.", "Say it with --keyword or --document.")
        fits = [where.fits(sight) for sight in self._store.browse.relation_sights(row.id)]
        if not any(fits):
            raise UsageError(
                f"No mention of {arrow((row.source, row.target))} is like that.",
                f"Its keywords: {shown(row.keywords)}.",
            )
        if all(fits):
            raise UsageError(
                f"All mentions of {arrow((row.source, row.target))} are like that; nothing would stay.",
                "Use `localrag relations merge` to move it as a whole, or ask for fewer.",
            )
        return self._decide(SplitRelation(pair, wanted, where))

    def edit(
        self, source: str, target: str, *, keywords: str | None = None, description: str | None = None
    ) -> Decided:
        """Give a relation keywords or a description in place of what was read; an empty text gives that
        back, None leaves it."""
        if keywords is None and description is None:
            raise UsageError("What should be said is missing.", "Say it with --keywords or --description.")
        _, pair = self._find.relation(source, target)
        texts = [
            None if text is None else typed_text(text, what)
            for text, what in ((keywords, "list of keywords"), (description, "description"))
        ]
        return self._decide(EditRelation(pair, *texts))

    def delete(self, source: str, target: str) -> Decided:
        """Let a relation be none, whoever says it now or later."""
        return self._decide(DeleteRelation(self._find.relation(source, target)[1]))

    def _pair(self, names: Pair) -> Pair:
        source, target = self._find.entity(names[0]), self._find.entity(names[1])
        if source.id == target.id:
            raise UsageError("A relation is between two different entities.")
        return source.key, target.key
