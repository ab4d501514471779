"""Builds the constraint of a chunk's extraction: which records, with which names and types, how long.

Small models do not end a field by themselves where the next thing could be one more sentence, above all in
Chinese. So a Chinese record has at most three keywords of six characters and one sentence of description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localrag.engine.programs import Field, Record, Records
from localrag.extraction.wire import ENTITY, RELATION, Delimiters

MAX_KEYWORDS = 40
"""Most characters of a relation's keywords."""

_EXCLUDED = r"<>|#()\x00-\x1f\x7f-\x9f"
_KEYWORD_ZH = rf"[^ ,;:.!?，；：、。！？{_EXCLUDED}]{{1,6}}"
_KEYWORDS_ZH = f"{_KEYWORD_ZH}(、{_KEYWORD_ZH}){{0,2}}"
_SENTENCE_ZH = rf"[^ 。！？{_EXCLUDED}]([^。！？{_EXCLUDED}]|\([^。！？{_EXCLUDED}]{{0,40}}\))"


@dataclass(frozen=True)
class Limits:
    """Bounds of one chunk's records."""

    entities: int
    """Most entities."""

    relations: int
    """Most relations."""

    description: int
    """Most characters of a description."""


def records_program(
    names: Sequence[str], types: Sequence[str], limits: Limits, delimiters: Delimiters, language: str = "en"
) -> Records:
    """The program that writes entities out of `names`, then relations between those that were written.

    `names` and `types` are distinct and can stand in a record; `language` is the prompt's. Without a name
    nothing but the completion mark can be written; with one, or with no room for relations, there are
    entities only.
    """
    kinds: list[Record] = []
    description = _description(limits.description, language)
    entities = min(limits.entities, len(names))
    if entities > 0:
        new = Field("name", "new", values=tuple(names))
        kinds.append(
            Record(ENTITY, (new, Field("type", "choice", values=tuple(types)), description), entities)
        )
    relations = min(limits.relations, entities * (entities - 1) // 2)
    if relations > 0:
        ends = (Field("source", "used"), Field("target", "used"))
        kinds.append(Record(RELATION, (*ends, _keywords(language), description), relations))
    return Records(
        tuple(kinds),
        tuple_delimiter=delimiters.fields,
        record_delimiter=delimiters.records,
        completion_delimiter=delimiters.completion,
    )


def _keywords(language: str) -> Field:
    if language == "zh":
        return Field("keywords", "pattern", max_chars=MAX_KEYWORDS, pattern=_KEYWORDS_ZH)
    return Field("keywords", "text", max_chars=MAX_KEYWORDS)


def _description(bound: int, language: str) -> Field:
    if language == "zh":
        pattern = f"{_SENTENCE_ZH}{{0,{max(bound - 2, 0)}}}[。！？]?"
        return Field("description", "pattern", max_chars=bound, pattern=pattern)
    return Field("description", "text", max_chars=bound)
