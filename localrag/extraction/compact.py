"""The compact profile: names with types, then pairs with a few words, one short line each.

Reading costs time by the token written, and descriptions are most of what the other profiles write. Here a
chunk's bounds also depend on its length, so that chunks which are read together end together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from localrag.engine.lean import parse_lean
from localrag.engine.programs import LeanRecords
from localrag.engine.types import Generation
from localrag.extraction.types import MAX_HAN_TYPE, MAX_TYPE_CHARS, MAX_TYPE_WORDS
from localrag.extraction.wire import EntityRecord, Records, RelationRecord
from localrag.sections import ExtractionSettings
from localrag.store.rows import Reject

NAMES = 60
"""Most names that are offered: with few to choose from, most of a name's tokens are forced."""

_LISTS = 2
_LEAST_ENTITIES = 4
_TOKENS_PER_ENTITY = 18
_ENTITY_TOKENS = 12
_RELATION_TOKENS = 24


def compact_program(
    names: Sequence[str],
    types: Sequence[str],
    tokens: int,
    settings: ExtractionSettings,
    language: str,
    relation_types: Sequence[str] = (),
) -> LeanRecords:
    """The program for a chunk of about `tokens` tokens; `names` and `types` are distinct.

    Without types, and without types of relations, the model finds words of its own.
    """
    entities = min(settings.max_entities, _LEAST_ENTITIES + tokens // _TOKENS_PER_ENTITY, max(len(names), 1))
    relations = min(settings.max_relations, entities)
    chinese = language == "zh"
    return LeanRecords(
        names=tuple(names),
        types=tuple(types),
        type_words=1 if chinese else MAX_TYPE_WORDS,
        type_chars=MAX_HAN_TYPE if chinese else MAX_TYPE_CHARS,
        phrases=tuple(relation_types),
        max_entities=entities,
        max_relations=relations,
        # Chinese has no blanks between words: one run of characters is the phrase.
        phrase_words=1 if chinese else 6,
        word_chars=16 if chinese else 24,
        loose=True,
    )


def budget(program: LeanRecords, settings: ExtractionSettings) -> int:
    """Tokens that the program may write."""
    lines = program.max_entities * _ENTITY_TOKENS + program.max_relations * _RELATION_TOKENS
    return min(settings.max_tokens, lines + 8)


def parse_compact(generation: Generation, relation_types: Collection[str] = ()) -> Records:
    """The records of a generation, in the form that all profiles share.

    A phrase is the description, or, where relations have types of a list, the keywords.
    """
    entities: list[EntityRecord] = []
    relations: list[RelationRecord] = []
    rejects: list[Reject] = []
    for segment in generation.segments:
        try:
            named, joined = parse_lean([(segment.name, segment.text)])
        except ValueError as error:
            rejects.append(Reject("record", segment.text.strip(), str(error)))
            continue
        entities.extend(EntityRecord(e.name, e.type, "") for e in named)
        for found in joined:
            words = (found.phrase, "") if relation_types else ("", found.phrase)
            relations.append(RelationRecord(found.source, found.target, *words))
    written = sum(len(segment.text) for segment in generation.segments)
    tail = generation.text[written:].strip()
    if tail:
        rejects.append(Reject("record", tail, "the record was cut off"))
    complete = sum(segment.name == "end" for segment in generation.segments) == _LISTS
    return Records(tuple(entities), tuple(relations), tuple(rejects), complete)
