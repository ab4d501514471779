"""Fills in what a record needs and the model need not write: descriptions and evidence from the text."""

from __future__ import annotations

from dataclasses import replace

from localrag.extraction.describing import Describer, Span
from localrag.store.rows import EntityMention, Reading, RelationMention

APART = " … "
"""Between what the text says of two names that no clause holds together."""


def filled(
    reading: Reading, before: Reading, text: str, language: str, most: int, *, describe: bool
) -> Reading:
    """The reading with the place in `text` that speaks of both ends of each relation, where there is one.

    With `describe`, entities and relations without a description get stretches of the text, together at most
    `most` characters each: that which says most of a name, the clause that holds both ends of a relation, or
    what is said of either where none does. `before` is what earlier passes found; relations may have ends
    there.
    """
    describer = Describer(text, language, most)
    spans = {entity.key: (entity.start, entity.end) for entity in (*before.entities, *reading.entities)}
    entities = reading.entities
    relations = tuple(_placed(relation, describer, spans) for relation in reading.relations)
    if describe:
        entities = tuple(_described(entity, describer) for entity in entities)
        half = Describer(text, language, max((most - len(APART)) // 2, 1))
        relations = tuple(_told(relation, describer, half, spans) for relation in relations)
    return Reading(entities, relations)


def _described(entity: EntityMention, describer: Describer) -> EntityMention:
    if entity.description:
        return entity
    return replace(entity, description=describer.of(entity.start, entity.end))


def _placed(relation: RelationMention, describer: Describer, spans: dict[str, Span]) -> RelationMention:
    start, end = describer.span_of_pair(spans[relation.source_key], spans[relation.target_key])
    return replace(relation, start=start, end=end)


def _told(
    relation: RelationMention, describer: Describer, half: Describer, spans: dict[str, Span]
) -> RelationMention:
    """The relation with what the text says of its ends, where it has no words of its own."""
    if relation.description:
        return relation
    ends = spans[relation.source_key], spans[relation.target_key]
    told = describer.of_pair(*ends)
    if not told:
        told = APART.join(dict.fromkeys(filter(None, (half.of(*end) for end in ends))))
    return replace(relation, description=told)
