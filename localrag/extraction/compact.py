"""The compact profile: names with types, then pairs, one short line each.

Reading costs time by the token, and descriptions are most of what the other profiles write. Here the model
writes nothing: what is listed is judged name by name and pair by pair, by the form of the name, the words
around it and what the model thinks of it (`engine.weighed_program`), and what is told of it comes from the
text (`filling`). The weights are logistic regressions, see `judgement`.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Collection, Iterator, Sequence

from localrag.documents import sentences
from localrag.documents.tokens import estimate
from localrag.engine.lean import parse_lean
from localrag.engine.programs import LeanRecords
from localrag.engine.types import Generation
from localrag.engine.weighed_program import WeighedRecords
from localrag.extraction.candidates import Candidate
from localrag.extraction.judgement import (
    EVEN_PHRASES,
    EVEN_TYPES,
    JUDGEMENTS,
    LEAST_PAIR_OF_MANY,
    MANY,
    NEUTRAL,
    PAIRS_OF_MANY,
    UNLIKELY,
)
from localrag.extraction.types import MAX_HAN_TYPE, MAX_TYPE_CHARS, MAX_TYPE_WORDS
from localrag.extraction.wanted import wanted
from localrag.extraction.wire import EntityRecord, Records, RelationRecord
from localrag.sections import ExtractionSettings
from localrag.store.rows import Reject

NAMES = 80
"""Most names that are offered; the likeliest of a chunk of the usual size are among them."""

MAX_ENTITIES = 40
"""Most entities of a chunk where the settings say nothing."""

MAX_RELATIONS = 40
"""Most relations."""

PAIRS_PER_NAME = 1.25
"""Relations for each entity, at most and on average: what is likelier comes first."""

_LISTS = 2
_LEAST_ENTITIES = 5
_TOKENS_PER_ENTITY = 6
_LINE_TOKENS = 6
"""Of a line beside its names: separators, a type, a line break."""

_PHRASE_TOKENS = 6
"""Of a usual phrase."""

_MAYBE, _MORE = -1.0, 2
"""Log-odds from which on a name is counted on, and how many more are."""

_MARGIN, _LEAST_TOKENS = 1.25, 24
_ENTITY_TOKENS, _RELATION_TOKENS = 12, 24
_WEIGHED_TOKENS = 160
"""Of one line, with the longest names there are."""

_LIKELY = 0.5
"""Chance from which on a name is taken to stand where it stands."""

_LEAST_CHANCE = 1e-6
_NEVER = 100.0

_NEAR = 40
"""Characters between two names within which it counts what they are."""

_ASIDE = re.compile(r"\s*[(（]\s*")
_SIBLINGS = re.compile(
    r"[\s,;、，/&'\"“”‘’《》()（）]*(?:and|or|as well as|和|与|及|以及|或)?[\s,'\"“‘《(（]*", re.IGNORECASE
)
_BOUND = re.compile(
    r"\b(?:of|in|at|from|by|for|with)\b\s*(?:the|a|an)?\s*$|['’]s\s*$|[的在由于]$", re.IGNORECASE
)


def compact_program(
    candidates: Sequence[Candidate],
    types: Sequence[str],
    text: str,
    settings: ExtractionSettings,
    language: str,
    relation_types: Sequence[str] = (),
) -> WeighedRecords:
    """The program for a chunk with this text; `candidates` and `types` are distinct.

    Without types, and without types of relations, the model finds words of its own.
    """
    chinese = language == "zh"
    ask = wanted(settings.entity_types)
    unwanted = {"date"} if not ask.dates else set()
    unwanted |= {"amount"} if not ask.numbers else set()
    candidates = [item for item in candidates if item.kind not in unwanted]
    judgement = JUDGEMENTS[language]
    starts = [start for start, _ in sentences.split(text)]
    long = len(starts) >= MANY
    least = judgement.least_of_many if long else judgement.least_name
    plain = re.sub(r"\s", " ", text)
    found = [[match.span() for match in re.finditer(re.escape(c.text), plain)] for c in candidates]
    entities = min(
        settings.max_entities or MAX_ENTITIES, _LEAST_ENTITIES + estimate(text) // _TOKENS_PER_ENTITY
    )
    relations = MAX_RELATIONS if settings.max_relations < 0 else settings.max_relations
    return WeighedRecords(
        names=tuple(item.text for item in candidates),
        priors=tuple(_log_odds(item.chance) for item in candidates),
        spans=tuple(_places(candidates, found)),
        sentences=tuple(_sentences(starts, places) for places in found),
        links=tuple(_links(text, candidates)),
        types=tuple(types),
        type_words=1 if chinese else MAX_TYPE_WORDS,
        type_chars=MAX_HAN_TYPE if chinese else MAX_TYPE_CHARS,
        phrases=tuple(relation_types),
        # Chinese has no blanks between words: one run of characters is the phrase.
        phrase_words=1 if chinese else 6,
        word_chars=16 if chinese else 24,
        name_weights=judgement.names,
        pair_weights=PAIRS_OF_MANY if long else judgement.pairs,
        least_name=least,
        least_pair=LEAST_PAIR_OF_MANY if long else judgement.least_pair,
        # In a long text no name is weighed: it is listed or it is not.
        sure=least if long else _NEVER,
        unlikely=least if long else UNLIKELY,
        weigh_pairs=judgement.weigh_pairs and not long,
        # What joins two names is told by the text that holds both (`filling`).
        writes_phrases=False,
        even_types=EVEN_TYPES,
        neutral=NEUTRAL[language],
        even_phrases=EVEN_PHRASES,
        max_entities=entities,
        max_relations=relations,
        pairs_per_name=PAIRS_PER_NAME,
    )


def further_program(
    names: Sequence[str],
    types: Sequence[str],
    settings: ExtractionSettings,
    language: str,
    relation_types: Sequence[str] = (),
) -> LeanRecords:
    """The program for a pass behind the first: the model chooses freely among names that were not listed."""
    chinese = language == "zh"
    return LeanRecords(
        names=tuple(names),
        types=tuple(types),
        type_words=1 if chinese else MAX_TYPE_WORDS,
        type_chars=MAX_HAN_TYPE if chinese else MAX_TYPE_CHARS,
        phrases=tuple(relation_types),
        max_entities=min(settings.max_entities or MAX_ENTITIES, max(len(names), 1)),
        max_relations=MAX_RELATIONS if settings.max_relations < 0 else settings.max_relations,
        phrase_words=1 if chinese else 6,
        word_chars=16 if chinese else 24,
        loose=True,
    )


def budget(program: WeighedRecords, settings: ExtractionSettings) -> int:
    """Tokens that the program may write: enough for the names that are likely and a few more.

    What is listed is bounded by it, so nothing is cut off (`engine.weighed`). Where nothing is written, it
    bounds the longest line that is weighed.
    """
    if program.types and not program.writes_phrases:
        return min(settings.max_tokens, _WEIGHED_TOKENS)
    ranked = sorted(range(len(program.names)), key=lambda place: -program.priors[place])
    likely = sum(prior >= _MAYBE for prior in program.priors) + _MORE
    lengths = [estimate(program.names[place]) for place in ranked[: min(likely, program.max_entities)]]
    names = sum(lengths)
    pairs = min(program.max_relations, math.ceil(program.pairs_per_name * len(lengths)))
    ends = 2 * names / max(len(lengths), 1)
    needed = names + _LINE_TOKENS * len(lengths) + pairs * (ends + _LINE_TOKENS + _PHRASE_TOKENS)
    return min(settings.max_tokens, int(_MARGIN * needed) + _LEAST_TOKENS)


def further_budget(program: LeanRecords, settings: ExtractionSettings) -> int:
    """The same for a further pass."""
    lines = program.max_entities * _ENTITY_TOKENS + program.max_relations * _RELATION_TOKENS
    return min(settings.max_tokens, lines + _LEAST_TOKENS)


def _log_odds(chance: float) -> float:
    held = min(max(chance, _LEAST_CHANCE), 1 - _LEAST_CHANCE)
    return math.log(held / (1 - held))


def _places(
    candidates: Sequence[Candidate], found: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[tuple[int, int]]:
    """For each name a place where it stands by itself, if there is one, else its first.

    `found` are all places of each. So a surname that stands alone somewhere does not compete with the full
    name that holds it elsewhere.
    """
    for item, places in zip(candidates, found, strict=True):
        longer = [
            span
            for other, spans in zip(candidates, found, strict=True)
            if len(other.text) > len(item.text) and other.chance >= _LIKELY and item.text in other.text
            for span in spans
        ]
        alone = ((start, end) for start, end in places if not any(a <= start and end <= b for a, b in longer))
        yield next(alone, (item.start, item.end)) if longer else (item.start, item.end)


def _links(text: str, candidates: Sequence[Candidate]) -> Iterator[tuple[int, int, str]]:
    """What stands between two names that are near each other, as `WeighedRecords.links` has it."""
    for left, first in enumerate(candidates):
        for right in range(left + 1, len(candidates)):
            second = candidates[right]
            if second.start - first.end > _NEAR:
                break
            kind = _link(text[first.end : second.start]) if second.start >= first.end else ""
            if kind:
                yield left, right, kind


def _link(between: str) -> str:
    if _ASIDE.fullmatch(between):
        return "aside"
    if _SIBLINGS.fullmatch(between):
        return "siblings"
    return "bound" if _BOUND.search(between) else ""


def _sentences(starts: Sequence[int], places: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The numbers of the sentences, which begin at `starts`, in which a name begins."""
    numbers = (max(bisect.bisect_right(starts, start) - 1, 0) for start, _ in places)
    return tuple(dict.fromkeys(numbers))


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
