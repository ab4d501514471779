"""Ties every reference to a stretch of a document, checked against the text that is stored.

The stretch is small: of a passage the sentences that say what the answer says, of an entity or a relation a
sentence that mentions it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from localrag.answering.citing import Citing
from localrag.answering.grounds import supporting
from localrag.answering.marks import label
from localrag.answering.originals import Originals
from localrag.answering.particulars import Ground
from localrag.answering.types import Citation, CitationKind
from localrag.documents import sentences
from localrag.documents.chunking import path_at
from localrag.documents.reading import markdown_headings
from localrag.errors import UsageError
from localrag.retrieval.context import Source
from localrag.retrieval.passages import path_of
from localrag.retrieval.types import EntityHit, Passage, RelationHit
from localrag.store.database import Store
from localrag.store.rows import ChunkRow

StoreOf = Callable[[str], Store]
"""The open file of a knowledge base's name; an empty name is the one that was asked."""

_MOST_APART = 2
"""Sentences of one citation are at most so many places apart; what lies further off is not shown."""


@dataclass(frozen=True)
class _Place:
    """A stretch of a document."""

    document_id: int
    document: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str


def citations(
    store: Store, citing: Citing, shown: Sequence[Source], store_of: StoreOf | None = None
) -> tuple[Citation, ...]:
    """A citation for each source that an answer cites, in the order of the list of references.

    `shown` is what the model was shown. An entity's sentence is from one of these passages if possible. If a
    document changed or went while the answer was written, its citation has the span (0, 0) and no text.
    `store_of` opens the other knowledge bases that were searched.
    """
    passages = {(s.item.base, s.item.chunk_id) for s in shown if isinstance(s.item, Passage)}
    finder = _Finder(store_of or (lambda name: store), citing, passages)
    return tuple(finder.citation(place, source) for place, source in citing.references.cited)


def joined(first: Sequence[Citation], further: Sequence[Citation], most: int) -> tuple[Citation, ...]:
    """Citations of an answer and those of its steps behind them, under the numbers of one list.

    The list has at most `most` labels; what finds no room in it is left out.
    """
    numbers = {citation.label: citation.number for citation in first}
    found = list(first)
    places = {(citation.base, citation.document, citation.start, citation.end) for citation in first}
    for citation in further:
        if citation.label not in numbers:
            if len(numbers) >= most:
                continue
            numbers[citation.label] = max(numbers.values(), default=0) + 1
        place = (citation.base, citation.document, citation.start, citation.end)
        if place not in places:
            places.add(place)
            found.append(replace(citation, number=numbers[citation.label]))
    return tuple(sorted(found, key=lambda citation: citation.number))


class _Finder:
    """Finds the places of an answer's sources."""

    def __init__(self, store_of: StoreOf, citing: Citing, shown: Collection[tuple[str, int]]) -> None:
        self._store_of = store_of
        self._citing = citing
        self._shown = shown
        self._bases: dict[str, tuple[_Checker, Originals]] = {}

    def citation(self, number: int, source: Source) -> Citation:
        """The citation of one source, by its place in the list of references."""
        item = source.item
        store = self._store_of(item.base)
        checker, originals = self._bases.setdefault(item.base, (_Checker(store), Originals(store)))
        preferred = {chunk for base, chunk in self._shown if base == item.base}
        kind: CitationKind
        place: _Place | None
        if isinstance(item, Passage):
            kind, place = "document", self._passage_place(source.number, item)
        elif isinstance(item, EntityHit):
            kind, place = "entity", _entity_place(store, item, preferred)
        else:
            kind, place = "relation", _relation_place(store, item, preferred)
        if place is None:
            return Citation(number, label(source), kind, "", None, 0, 0, "", base=item.base)
        state = originals.state(place.document_id)
        heading = checker.heading(place)
        if not checker.holds(place):
            gone = Citation(number, label(source), kind, place.document, None, 0, 0, "")
            return replace(gone, base=item.base, state=state)
        return Citation(
            number,
            label(source),
            kind,
            place.document,
            place.page,
            place.start,
            place.end,
            place.text,
            heading=heading,
            base=item.base,
            state=state,
        )

    def _passage_place(self, number: int, item: Passage) -> _Place:
        """The sentences of a passage that the answer rests on; all of it where they cannot be told."""
        ground = Ground(item.text)
        spans = ground.spans
        chosen: set[int] = set()
        for statement in self._citing.statements(number):
            found = supporting(statement, ground.sentences, self._citing.asked)
            chosen.update(place for place in found if abs(place - found[0]) <= _MOST_APART)
        start, end = (spans[min(chosen)][0], spans[max(chosen)][1]) if chosen else (0, len(item.text))
        text = item.text[start:end]
        start += item.start
        end = start + len(text)
        return _Place(item.document_id, item.document, item.page, item.heading, start, end, text)


class _Checker:
    """Compares spans with the documents' texts, each of which is fetched once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._texts: dict[int, str | None] = {}

    def holds(self, place: _Place) -> bool:
        """Whether a place still has the text that was shown."""
        text = self._text(place.document_id)
        return text is not None and text[place.start : place.end] == place.text

    def heading(self, place: _Place) -> str:
        """The headings above a place: in Markdown those of its first character, else those of its chunk."""
        text = self._text(place.document_id)
        if text is None or self._store.documents.get(place.document_id).media_type != "text/markdown":
            return place.heading
        return path_at(list(markdown_headings(text)), place.start) or place.heading

    def _text(self, document_id: int) -> str | None:
        if document_id not in self._texts:
            self._texts[document_id] = self._fetched(document_id)
        return self._texts[document_id]

    def _fetched(self, document_id: int) -> str | None:
        try:
            return self._store.documents.text(document_id)
        except UsageError:  # it was deleted meanwhile
            return None


def _entity_place(store: Store, entity: EntityHit, preferred: Collection[int]) -> _Place | None:
    """The sentence of the first mention that stands verbatim in its chunk, else that chunk."""
    # Of a search that was narrowed only what passed may be shown.
    allowed = [row for row in store.graph.mentions_of(entity.id) if row.chunk_id in entity.chunk_ids]
    mentions = sorted(allowed, key=lambda row: (row.start < 0, row.chunk_id not in preferred))
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
    text = row.text[start:end]
    return _Place(row.document_id, path, row.page, row.heading, row.start + start, row.start + end, text)
