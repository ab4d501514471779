"""Mentions and relations as sentences of documents: what stands around a name, and where."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.documents.sentences import split
from localrag.looking.types import Mention, Place, ToldRelation
from localrag.store.database import Store
from localrag.store.graph_places import SaidAt
from localrag.store.graph_rows import RelationRow

_AROUND = 600
"""Characters before and behind a name within which its sentence is sought."""

_LONGEST = 400
"""Characters of a sentence that are shown."""


def mentions(store: Store, entity_id: int, limit: int, offset: int = 0) -> list[Mention]:
    """The sentences that mention an entity, by document and place, each once."""
    found: dict[tuple[int, int, str], Mention] = {}
    for said in store.browse.places.mentions(entity_id, limit, offset):
        mention = in_sentence(said)
        found.setdefault(
            (said.document_id, mention.place.start - mention.marked[0], mention.sentence), mention
        )
    return list(found.values())


def told(store: Store, rows: Sequence[RelationRow], each: int) -> list[ToldRelation]:
    """Relations with the first passages that state them, at most `each`."""
    return [
        ToldRelation(row, tuple(map(_stated, store.browse.places.relation_mentions(row.id, each))))
        for row in rows
    ]


def in_sentence(said: SaidAt) -> Mention:
    """A mention with the sentence around it; without a known place it is sought by its name."""
    start, end = _name_in(said)
    if start < 0:
        cut = _sentence(said.text, 0, 0)
        begin = said.begin + cut[0]
        place = Place(said.document_id, said.document, said.page, begin, said.begin + cut[1])
        return Mention(place, said.heading, _line(said.text[slice(*cut)]), (0, 0), said.name)
    first, last = _sentence(said.text, start, end)
    # A sentence that is too long is cut around the name.
    first = max(first, start - _LONGEST // 2)
    last = min(last, max(end, first + _LONGEST))
    before, name = _line(said.text[first:start], end=True), _line(said.text[start:end])
    sentence = f"{before}{name}{_line(said.text[end:last], begin=True)}"
    place = Place(said.document_id, said.document, said.page, said.begin + start, said.begin + end)
    return Mention(place, said.heading, sentence, (len(before), len(before) + len(name)), said.name)


def _name_in(said: SaidAt) -> tuple[int, int]:
    if 0 <= said.start < said.end <= len(said.text):
        return said.start, said.end
    name = said.name
    start = said.text.find(name) if name else -1
    if start < 0 and name:
        lower = said.text.lower()
        # Lower case may be of another length in some scripts; then places would not fit.
        start = lower.find(name.lower()) if len(lower) == len(said.text) else -1
    return (start, start + len(name)) if start >= 0 else (-1, -1)


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence in which a stretch begins, as a stretch of the text."""
    begin = max(0, start - _AROUND)
    window = text[begin : end + _AROUND]
    spans = [(begin + first, begin + last) for first, last in split(window)]
    for first, last in spans:
        if first <= start < last:
            return first, max(last, end)
    return spans[0] if spans and not start and not end else (start, end)


def _stated(said: SaidAt) -> Place:
    known = 0 <= said.start < said.end <= len(said.text)
    start, end = (said.start, said.end) if known else (0, len(said.text))
    return Place(said.document_id, said.document, said.page, said.begin + start, said.begin + end)


def _line(text: str, *, begin: bool = False, end: bool = False) -> str:
    """A text in one line; a blank at its begin or end stays where it is asked for."""
    line = " ".join(text.split())
    if begin and text[:1].isspace() and line:
        line = f" {line}"
    if end and text[-1:].isspace() and line:
        line = f"{line} "
    return line
