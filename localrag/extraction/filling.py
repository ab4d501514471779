"""Fills in what a record needs and the model need not write: descriptions and evidence from the text."""

from __future__ import annotations

from dataclasses import replace

from localrag.extraction.describing import Describer
from localrag.store.rows import EntityMention, Reading, RelationMention


def filled(
    reading: Reading, before: Reading, text: str, language: str, most: int, *, describe: bool
) -> Reading:
    """The reading with the place in `text` that speaks of both ends of each relation, where there is one.

    With `describe`, entities without a description get the stretch of the text that says most of them, at
    most `most` characters. `before` is what earlier passes found; relations may have ends there.
    """
    describer = Describer(text, language, most)
    spans = {entity.key: (entity.start, entity.end) for entity in (*before.entities, *reading.entities)}
    entities = reading.entities
    if describe:
        entities = tuple(_described(entity, describer) for entity in entities)
    relations = tuple(_placed(relation, describer, spans) for relation in reading.relations)
    return Reading(entities, relations)


def _described(entity: EntityMention, describer: Describer) -> EntityMention:
    if entity.description:
        return entity
    return replace(entity, description=describer.of(entity.start, entity.end))


def _placed(
    relation: RelationMention, describer: Describer, spans: dict[str, tuple[int, int]]
) -> RelationMention:
    start, end = describer.span_of_pair(spans[relation.source_key], spans[relation.target_key])
    return replace(relation, start=start, end=end)
