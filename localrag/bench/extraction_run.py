"""Lets a model read the passages of a set as an index run reads them, and tells what came of each.

Passages are cut and read by the product's own parts: chunks, requests, gleaning, what is stored and what is
rejected. Only the file is missing.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import psutil

from localrag.bench.extraction_data import GoldItem, GoldSet, offered
from localrag.bench.extraction_scores import Cost, FoundEntity, FoundItem, FoundRelation
from localrag.documents import language
from localrag.documents.chunking import chunk
from localrag.engine.client import WorkerModel
from localrag.engine.repetition import loop_within
from localrag.engine.types import Generation, GenerationRequest
from localrag.errors import Cancelled
from localrag.extraction.extractor import Extractor
from localrag.extraction.gleaning import Call, ReadingJob
from localrag.sections import ChunkingSettings, ExtractionSettings
from localrag.store.rows import ChunkRow, EntityMention, Reject, RelationMention

Progress = Callable[[int], None]
"""Told how many passages are done."""

_WRITTEN_BEFORE = 3
_NOT_IN_TEXT = "the name is not in the text"
_NO_ENTITY = re.compile(r"is not one of the entities|an end is not in the text")
_CUT_OFF = re.compile(r"was cut off")
_READABLE = re.compile(
    r"written before|joins an entity to itself|is a pronoun|its type is not in the list|not in the text"
)
"""Why records are left out that could be read."""


@dataclass(frozen=True)
class Passage:
    """One passage that was read."""

    item: GoldItem
    """What is marked in it."""

    found: FoundItem
    """What was extracted, in the form that is scored."""

    entities: tuple[EntityMention, ...]
    """The entities as they would be stored."""

    relations: tuple[RelationMention, ...]
    """The relations as they would be stored."""

    rejects: tuple[Reject, ...]
    """What would be noted as rejected."""

    failure: str
    """Why nothing could be read; empty if it was read."""

    entity_types: tuple[str, ...]
    """The types of entities that the model was given."""

    relation_types: tuple[str, ...]
    """The types of relations that it was given; empty if it found words of its own."""

    chunks: tuple[tuple[ChunkRow, tuple[EntityMention, ...]], ...] = ()
    """Its chunks, each with the entities that were read in it."""


@dataclass(frozen=True)
class Run:
    """A set that was read once."""

    passages: tuple[Passage, ...]
    """In the set's order."""

    seconds: float
    """Wall time, the model's start not counted."""

    cpu_seconds: float
    """Processor time of the model's process and this one."""


def read_set(
    model: WorkerModel,
    gold: GoldSet,
    settings: ExtractionSettings,
    chunking: ChunkingSettings,
    *,
    schema: bool,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Run:
    """Read all passages of a set in one batch.

    With `schema` the model is given the set's types of entities and relations in place of the settings' own.
    Raises `Cancelled` if `cancel` is set meanwhile, and what the engine raises.
    """
    model.describe()
    jobs, given = _jobs(gold, settings, chunking, schema=schema)
    order = sorted((job for of_item in jobs for job in of_item), key=lambda job: -job.chunk.tokens)
    # What a passage still waits for; it is done when nothing is left.
    open_chunks = {job.chunk.id: job.chunk.document_id for job in order}
    ready = []
    for job in order:
        request = job.request()
        if request is None:
            del open_chunks[job.chunk.id]
        else:
            ready.append((job, request))
    began, spent = time.monotonic(), _cpu(model)

    def finished(job: ReadingJob) -> None:
        del open_chunks[job.chunk.id]
        if progress is not None:
            progress(len(gold.items) - len(set(open_chunks.values())))

    _run(model, ready, finished, cancel)
    seconds, cpu = time.monotonic() - began, _cpu(model) - spent
    shown = {word.casefold(): name for name, word in gold.schema.shown.items()} if schema else {}
    passages = tuple(
        _passage(item, of_item, types, shown)
        for item, of_item, types in zip(gold.items, jobs, given, strict=True)
    )
    return Run(passages, seconds, cpu)


def _run(
    model: WorkerModel,
    ready: Sequence[tuple[ReadingJob, GenerationRequest]],
    finished: Callable[[ReadingJob], None],
    cancel: threading.Event | None,
) -> None:
    """Let the engine work on all jobs together; each one's next call goes before jobs that have not begun."""
    waiting = deque(ready)
    drawn: list[ReadingJob] = []

    def draw() -> Iterator[GenerationRequest]:
        while waiting:
            job, request = waiting.popleft()
            drawn.append(job)
            yield request

    while waiting:
        # A job's next call that comes when nothing is left to draw is run by the next round.
        drawn.clear()
        with contextlib.closing(model.run(draw())) as events:
            for index, event in events:
                if cancel is not None and cancel.is_set():
                    raise Cancelled("The measure was stopped.")
                if isinstance(event, Generation):
                    following = drawn[index].take(event)
                    if following is None:
                        finished(drawn[index])
                    else:
                        waiting.appendleft((drawn[index], following))


def _jobs(
    gold: GoldSet, settings: ExtractionSettings, chunking: ChunkingSettings, *, schema: bool
) -> tuple[list[list[ReadingJob]], list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """The jobs of each passage, and the types that its model is given."""
    extractors: dict[tuple[tuple[str, ...], tuple[str, ...]], Extractor] = {}
    jobs: list[list[ReadingJob]] = []
    given = []
    number = 0
    for place, item in enumerate(gold.items):
        types = (settings.entity_types, settings.relation_types)
        if schema:
            names = offered(gold, item)
            entities, relations = (tuple(gold.schema.shown[name] for name in list_) for list_ in names)
            types = (entities, relations)
        if types not in extractors:
            own = replace(settings, entity_types=types[0], relation_types=types[1])
            extractors[types] = Extractor(own)
        rows = _chunks(item.text, place, number, chunking)
        number += len(rows)
        jobs.append([ReadingJob(extractors[types], row) for row in rows])
        given.append(types)
    return jobs, given


def _chunks(text: str, place: int, first: int, chunking: ChunkingSettings) -> list[ChunkRow]:
    return [
        ChunkRow(
            id=first + number,
            document_id=place,
            ordinal=number,
            start=span.start,
            end=span.end,
            heading=span.heading,
            page=None,
            tokens=span.tokens,
            language=language.detect(text[span.start : span.end]),
            state="pending",
            attempts=0,
            error="",
            text=text[span.start : span.end],
        )
        for number, span in enumerate(chunk(text, (), chunking.size, chunking.overlap))
    ]


def _passage(
    item: GoldItem,
    jobs: Sequence[ReadingJob],
    types: tuple[tuple[str, ...], tuple[str, ...]],
    shown: Mapping[str, str],
) -> Passage:
    """What came of a passage: its chunks' readings together, as the graph puts them together by key."""
    entities = [entity for job in jobs for entity in job.reading.entities]
    relations = [relation for job in jobs for relation in job.reading.relations]
    rejects = [reject for job in jobs for reject in job.rejects]
    by_key: dict[str, list[EntityMention]] = {}
    for entity in entities:
        by_key.setdefault(entity.key, []).append(entity)
    cost = Cost()
    for job in jobs:
        for call in job.calls:
            cost += cost_of(call)
    found = FoundItem(
        item.id,
        tuple(
            FoundEntity(key, frozenset(e.name for e in same), _name(same[0].type, shown))
            for key, same in by_key.items()
        ),
        tuple(FoundRelation(r.source_key, r.target_key, _name(r.keywords, shown)) for r in relations),
        cost,
    )
    failure = "; ".join(job.failure for job in jobs if job.failure)
    chunks = tuple((job.chunk, job.reading.entities) for job in jobs)
    return Passage(item, found, tuple(entities), tuple(relations), tuple(rejects), failure, *types, chunks)


def _name(word: str, shown: Mapping[str, str]) -> str:
    """A type as the schema writes it."""
    return shown.get(word.casefold(), word)


def cost_of(call: Call) -> Cost:
    """What one call took, and how it went wrong."""
    made = call.generation
    written = call.kind == "pass"
    cut = written and made.finish == "length"
    return Cost(
        calls=1,
        unusable=int(is_unusable(call)),
        cut=int(cut),
        runaway=int(cut and in_loop(made.text)),
        looped=int(made.rolled_back_tokens > 0),
        invented=sum(r.kind == "entity" and r.reason == _NOT_IN_TEXT for r in call.rejects),
        orphans=sum(r.kind == "relation" and bool(_NO_ENTITY.search(r.reason)) for r in call.rejects),
        prompt_tokens=made.prompt_tokens - made.shared_tokens + made.weighed_tokens,
        shared_tokens=made.shared_tokens,
        output_tokens=made.output_tokens,
    )


def is_unusable(call: Call) -> bool:
    """Whether a call failed, wrote nothing, or wrote something that is no record.

    A record that the bound of tokens cut is none of these, nor is one that could be read and is left out for
    what it says.
    """
    if call.generation.finish in ("error", "cancelled"):
        return True
    if call.kind == "question":
        return not call.generation.probabilities
    if not call.generation.text.strip():
        return True
    known = (_CUT_OFF, _READABLE, _NO_ENTITY)
    return any(not any(pattern.search(reject.reason) for pattern in known) for reject in call.rejects)


def in_loop(text: str) -> bool:
    """Whether a text ends repeating itself: within its last stretch, or line by line."""
    if loop_within(text) is not None:
        return True
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # The last line may be cut: the one before tells.
    return any(lines.count(line) >= _WRITTEN_BEFORE for line in lines[-2:])


def _cpu(model: WorkerModel) -> float:
    """Processor seconds of this process and the model's so far."""
    total = time.process_time()
    if model.pid is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = psutil.Process(model.pid).cpu_times()
            total += times.user + times.system
    return total
