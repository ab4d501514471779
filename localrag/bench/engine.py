"""How fast and how well-formed chunks are read: passages of an open set through extraction, without a file.

Efficiency is (new prompt tokens + output tokens) ÷ seconds ÷ the plain prefill rate of the same run: a batch
can at best be written as fast as text is read. Tokens of the shared prefix and those that were taken back
do not count.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from localrag.bench.comparison import Comparison, compare, spread
from localrag.bench.data import DataPassage
from localrag.bench.latency import Latency
from localrag.documents import language, tokens
from localrag.engine.client import WorkerModel
from localrag.engine.programs import FreeText
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.extraction.extractor import Extractor
from localrag.sections import ExtractionSettings
from localrag.store.rows import ChunkRow

_FORMS = {
    "lightrag": re.compile(r"\((?:entity|relationship)<\|>[^\n]*\)##\n"),
    "graphrag": re.compile(r"\(\"(?:entity|relationship)\"<\|>[^\n]*\)##\n"),
    # A relation may say nothing itself.
    "compact": re.compile(r"[^|\n]+ \| [^|\n]+\n|[^|\n]+ -> [^|\n]+ \| [^|\n]*\n"),
}
_MARKS = ("complete", "end")
_SPENT = ("choosing", "reading", "writing", "written", "writing_steps")
_COMPARED = 10
_PREFILL_TOKENS = 512
_MIB = 1024 * 1024


@dataclass(frozen=True)
class EngineRow:
    """One measured profile."""

    profile: str
    """Extraction profile."""
    passages: int
    """Texts read."""
    prefill_tok_s: float
    """Plain prefill rate: about 512 new tokens, one sequence, median of five."""
    decode_tok_s: float
    """Tokens written per second over the whole run."""
    efficiency: float
    """Share of the limit that was reached."""
    seconds_per_passage: float
    """Wall time ÷ passages."""
    new_prompt_tokens: int
    """Prompt tokens that were not in the shared prefix, those among them that were only weighed included."""
    weighed_tokens: int
    """How many of these were read to see what the model thinks of them, and taken back."""
    output_tokens: int
    """Tokens written, forced ones included."""
    records_per_passage: float
    """Entities and relations stored."""
    entities_per_passage: float
    """Entities stored."""
    relations_per_passage: float
    """Relations stored."""
    distinct_records_per_passage: float
    """Records stored that differ from each other in more than case."""
    grammar_share: float
    """Share of the time that went into constraints: compiling, checking, masking, choosing."""
    reading_share: float
    """Share of the time in steps that read prompts."""
    writing_share: float
    """Share of the time in steps that wrote."""
    tokens_per_step: float
    """Tokens in a step that wrote, on average."""
    forced_share: float
    """Forced ÷ written tokens."""
    rolled_back_tokens: int
    """Tokens that were written and taken back; they count nowhere else."""
    peak_rss_mb: int
    """Resident memory of the worker after the run."""
    parent_rss_mb: int
    """Resident memory of this process."""
    well_formed_share: float
    """Records that have the documented form ÷ records written."""
    unknown_ends: int
    """Relations whose end is no entity of the passage."""
    truncated_share: float
    """Passages that their budget ended."""


def measure(
    model: WorkerModel,
    texts: Sequence[DataPassage],
    settings: ExtractionSettings,
    progress: Callable[[int, int], None] | None = None,
    cancel: threading.Event | None = None,
) -> EngineRow | None:
    """Read all texts in one batch and count; None if `cancel` was set meanwhile.

    `progress` is told how many passages of how many are done.
    """
    rate = prefill_rate(model)
    extractor = Extractor(settings)
    chunks = longest_first([_chunk(number, text) for number, text in enumerate(texts)])
    results: dict[int, Generation] = {}
    before = model.stats()
    began = time.monotonic()
    with contextlib.closing(model.run(extractor.request(chunk) for chunk in chunks)) as events:
        for index, event in events:
            if cancel is not None and cancel.is_set():
                return None
            if isinstance(event, Generation):
                results[index] = event
                if progress is not None:
                    progress(len(results), len(chunks))
    seconds = time.monotonic() - began
    spent = {key: value - before[key] for key, value in model.stats().items() if key in _SPENT}
    return _row(model, extractor, chunks, results, seconds, rate, spent)


def _row(
    model: WorkerModel,
    extractor: Extractor,
    chunks: Sequence[ChunkRow],
    results: Mapping[int, Generation],
    seconds: float,
    rate: float,
    spent: Mapping[str, float],
) -> EngineRow:
    written = malformed = entities = relations = unknown = distinct = 0
    form = _FORMS[extractor.profile]
    for index, generation in results.items():
        reading, rejects = extractor.read(chunks[index], generation)
        entities += len(reading.entities)
        relations += len(reading.relations)
        distinct += len({entity.key for entity in reading.entities})
        distinct += len({frozenset((r.source_key, r.target_key)) for r in reading.relations})
        unknown += sum(1 for reject in rejects if reject.kind == "relation")
        for segment in generation.segments:
            if segment.name not in _MARKS:
                written += 1
                malformed += form.fullmatch(segment.text) is None
    weighed = sum(g.weighed_tokens for g in results.values())
    new_prompt = weighed + sum(g.prompt_tokens - g.shared_tokens for g in results.values())
    output = sum(g.output_tokens for g in results.values())
    count = len(chunks)
    return EngineRow(
        profile=extractor.profile,
        passages=count,
        prefill_tok_s=round(rate, 1),
        decode_tok_s=round(output / seconds, 1),
        efficiency=round((new_prompt + output) / seconds / rate, 3),
        seconds_per_passage=round(seconds / count, 2),
        new_prompt_tokens=new_prompt,
        weighed_tokens=weighed,
        output_tokens=output,
        records_per_passage=round((entities + relations) / count, 2),
        entities_per_passage=round(entities / count, 2),
        relations_per_passage=round(relations / count, 2),
        distinct_records_per_passage=round(distinct / count, 2),
        grammar_share=round(spent["choosing"] / seconds, 4),
        reading_share=round(spent["reading"] / seconds, 4),
        writing_share=round(spent["writing"] / seconds, 4),
        tokens_per_step=round(spent["written"] / max(spent["writing_steps"], 1), 1),
        rolled_back_tokens=sum(g.rolled_back_tokens for g in results.values()),
        forced_share=round(sum(g.forced_tokens for g in results.values()) / max(output, 1), 3),
        peak_rss_mb=model.memory_mb(),
        parent_rss_mb=psutil.Process().memory_info().rss // _MIB,
        well_formed_share=round(1 - malformed / max(written, 1), 4),
        unknown_ends=unknown,
        truncated_share=round(sum(g.finish == "length" for g in results.values()) / count, 3),
    )


def prefill_rate(model: WorkerModel) -> float:
    """Tokens per second at which new text is read by one sequence; median of five."""
    rates = []
    for number in range(5):
        request = _plain_prompt(model, number)
        generation = next(event for event in model.stream(request) if isinstance(event, Generation))
        rates.append((generation.prompt_tokens - generation.shared_tokens) / (generation.milliseconds / 1000))
    return statistics.median(rates)


def _plain_prompt(model: WorkerModel, number: int) -> GenerationRequest:
    """A prompt of at most `_PREFILL_TOKENS` new tokens, and nearly that many."""
    words = [f"{word}{number}" for word in ("harbour", "letter", "island", "ferry") * _PREFILL_TOKENS]
    messages = (Message("user", (Piece(f"{number}"),)),)
    low, high = 0, _PREFILL_TOKENS
    while low < high:
        middle = (low + high + 1) // 2
        messages = (Message("user", (Piece(" ".join([str(number), *words[:middle]])),)),)
        if model.count_prompt(messages) <= _PREFILL_TOKENS:
            low = middle
        else:
            high = middle - 1
    messages = (Message("user", (Piece(" ".join([str(number), *words[:low]])),)),)
    return GenerationRequest("bench", messages, FreeText(), max_tokens=1)


def bench_settings(settings: ExtractionSettings, profile: str) -> ExtractionSettings:
    """The settings with another profile."""
    return replace(settings, profile=profile)


def high_level(
    path: Path, texts: Sequence[DataPassage], settings: ExtractionSettings, threads: int
) -> Comparison:
    """Ten of the passages, of all lengths, through the binding's high-level class."""
    return compare(path, spread(compact_requests(texts, settings), _COMPARED), threads)


def compact_requests(texts: Sequence[DataPassage], settings: ExtractionSettings) -> list[GenerationRequest]:
    """What the first row asks the model."""
    extractor = Extractor(bench_settings(settings, "compact"))
    chunks = longest_first([_chunk(number, text) for number, text in enumerate(texts)])
    return [extractor.request(chunk) for chunk in chunks]


def longest_first(chunks: Sequence[ChunkRow]) -> list[ChunkRow]:
    """Chunks by falling length: the short ones fill what the long ones leave, so the batch stays full."""
    return sorted(chunks, key=lambda chunk: -chunk.tokens)


def as_json(
    rows: Sequence[EngineRow], comparison: Comparison | None = None, waits: Latency | None = None
) -> dict[str, Any]:
    """The rows as the documented JSON; a comparison's numbers and the waiting times are at the top."""
    top = {} if comparison is None else comparison.as_json(rows[0].seconds_per_passage)
    if waits is not None:
        top["latency"] = waits.as_json()
    return {**top, "rows": [asdict(row) for row in rows]}


def _chunk(number: int, text: DataPassage) -> ChunkRow:
    return ChunkRow(
        id=number,
        document_id=number,
        ordinal=0,
        start=0,
        end=len(text.text),
        heading="",
        page=None,
        tokens=tokens.estimate(text.text),
        language=language.detect(text.text),
        state="pending",
        attempts=0,
        error="",
        text=text.text,
    )
