"""Ties every reference to a stretch of a document, checked against the text that is stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from localrag.answering.marks import References, label
from localrag.answering.types import Citation, CitationKind
from localrag.documents import sentences
from localrag.errors import UsageError
from localrag.retrieval.context import Source
from localrag.retrieval.passages import path_of
from localrag.retrieval.types import EntityHit, Passage, RelationHit
from localrag.store.database import Store
from localrag.store.rows import ChunkRow


@dataclass(frozen=True)
class _Place:
    """A stretch of a document."""

    document_id: int
    document: str
    page: int | None
    start: int
    end: int
    text: str


def citations(store: Store, references: References, shown: Sequence[Source]) -> tuple[Citation, ...]:
    """A citation for each cited source, in the order of the list of references.

    The text of a document's citation is what the model saw; that of an entity or a relation is a sentence
    that mentions it, if possible from a passage of the context. If a document changed or went while the
    answer was written, its citation has the span (0, 0) and no text.
    """
    passages = {source.item.chunk_id for source in shown if isinstance(source.item, Passage)}
    checker = _Checker(store)
    return tuple(_citation(store, checker, place, source, passages) for place, source in references.cited)


def _citation(
    store: Store, checker: _Checker, number: int, source: Source, preferred: Collection[int]
) -> Citation:
    item = source.item
    kind: CitationKind
    place: _Place | None
    if isinstance(item, Passage):
        kind = "document"
        place = _Place(item.document_id, item.document, item.page, item.start, item.end, item.text)
    elif isinstance(item, EntityHit):
        kind, place = "entity", _entity_place(store, item, preferred)
    else:
        kind, place = "relation", _relation_place(store, item, preferred)
    if place is None:
        return Citation(number, label(source), kind, "", None, 0, 0, "")
    if not checker.holds(place):
        return Citation(number, label(source), kind, place.document, None, 0, 0, "")
    return Citation(
        number, label(source), kind, place.document, place.page, place.start, place.end, place.text
    )


class _Checker:
    """Compares spans with the documents' texts, each of which is fetched once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[int, str | None] = {}

    def holds(self, place: _Place) -> bool:
        if place.document_id not in self._texts:
            self._texts[place.document_id] = self._text(place.document_id)
        text = self._texts[place.document_id]
        return text is not None and text[place.start : place.end] == place.text

    def _text(self, document_id: int) -> str | None:
        try:
            return self._store.documents.text(document_id)
        except UsageError:  # it was deleted meanwhile
            return None


def _entity_place(store: Store, entity: EntityHit, preferred: Collection[int]) -> _Place | None:
    """The sentence of the first mention that stands verbatim in its chunk, else that chunk."""
    mentions = sorted(
        store.graph.mentions_of(entity.id), key=lambda row: (row.start < 0, row.chunk_id not in preferred)
    )
    if not mentions:
        return None
    first = mentions[0]
    return _place_in(store, first.chunk_id, [(first.start, first.end)] if first.start >= 0 else [])


def _relation_place(store: Store, relation: RelationHit, preferred: Collection[int]) -> _Place | None:
    """The sentences from one end's name to the other's, in a chunk that states the relation."""
    if not relation.chunk_ids:
        return None
    chunk_id = min(relation.chunk_ids, key=lambda found: (found not in preferred, found))
    row = _chunk(store, chunk_id)
    if row is None:
        return None
    # Lower case of equal length only: casefold would move the places of the characters behind.
    text = row.text.lower()
    spans = []
    for name in (relation.source.lower(), relation.target.lower()):
        start = text.find(name) if len(text) == len(row.text) else -1
        if start < 0:
            return _place_of(store, row, [])
        spans.append((start, start + len(name)))
    return _place_of(store, row, spans)


def _place_in(store: Store, chunk_id: int, spans: Sequence[tuple[int, int]]) -> _Place | None:
    row = _chunk(store, chunk_id)
    return None if row is None else _place_of(store, row, spans)


def _chunk(store: Store, chunk_id: int) -> ChunkRow | None:
    rows = store.chunks.many([chunk_id])
    return rows[0] if rows else None


def _place_of(store: Store, row: ChunkRow, spans: Sequence[tuple[int, int]]) -> _Place | None:
    """The sentences of a chunk that hold the spans; the whole chunk without spans."""
    path = path_of(store, row.document_id)
    if path is None:
        return None
    start, end = 0, len(row.text)
    if spans:
        first, last = min(left for left, _ in spans), max(right for _, right in spans)
        borders = sentences.split(row.text)
        start = max((left for left, _ in borders if left <= first), default=first)
        end = min((right for _, right in borders if right >= last), default=last)
    return _Place(row.document_id, path, row.page, row.start + start, row.start + end, row.text[start:end])
