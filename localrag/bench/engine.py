"""How fast and how well-formed chunks are read: passages of an open set through extraction, without a file.

Efficiency is (new prompt tokens + output tokens) ÷ seconds ÷ the plain prefill rate of the same run: a batch
can at best be written as fast as text is read.
"""

from __future__ import annotations

import contextlib
import re
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from localrag.bench.data import DataPassage
from localrag.documents import language, tokens
from localrag.engine.client import WorkerModel
from localrag.engine.programs import FreeText
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.extraction.extractor import Extractor
from localrag.settings import ExtractionSettings
from localrag.store.rows import ChunkRow

_RECORD = re.compile(r"\((?:entity|relationship)<\|>[^\n]*\)##\n")
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
    """Prompt tokens that were not in the shared prefix."""
    output_tokens: int
    """Tokens written, forced ones included."""
    records_per_passage: float
    """Entities and relations stored."""
    entities_per_passage: float
    """Entities stored."""
    relations_per_passage: float
    """Relations stored."""
    forced_share: float
    """Forced ÷ written tokens."""
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
    chunks = [_chunk(number, text) for number, text in enumerate(texts)]
    results: dict[int, Generation] = {}
    began = time.monotonic()
    with contextlib.closing(model.run(extractor.request(chunk) for chunk in chunks)) as events:
        for index, event in events:
            if cancel is not None and cancel.is_set():
                return None
            if isinstance(event, Generation):
                results[index] = event
                if progress is not None:
                    progress(len(results), len(chunks))
    return _row(model, extractor, chunks, results, time.monotonic() - began, rate)


def _row(
    model: WorkerModel,
    extractor: Extractor,
    chunks: Sequence[ChunkRow],
    results: Mapping[int, Generation],
    seconds: float,
    rate: float,
) -> EngineRow:
    written = malformed = entities = relations = unknown = 0
    for index, generation in results.items():
        reading, rejects = extractor.read(chunks[index], generation)
        entities += len(reading.entities)
        relations += len(reading.relations)
        unknown += sum(1 for reject in rejects if reject.kind == "relation")
        for segment in generation.segments:
            if segment.name != "complete":
                written += 1
                malformed += _RECORD.fullmatch(segment.text) is None
    new_prompt = sum(g.prompt_tokens - g.shared_tokens for g in results.values())
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
        output_tokens=output,
        records_per_passage=round((entities + relations) / count, 2),
        entities_per_passage=round(entities / count, 2),
        relations_per_passage=round(relations / count, 2),
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
        words = " ".join(f"{word}{number}" for word in ("harbour", "letter", "island", "ferry") * 40)
        text = f"{number} {words}"
        request = GenerationRequest(
            "bench", (Message("user", (Piece(text[: _PREFILL_TOKENS * 3]),)),), FreeText(), max_tokens=1
        )
        generation = next(event for event in model.stream(request) if isinstance(event, Generation))
        rates.append((generation.prompt_tokens - generation.shared_tokens) / (generation.milliseconds / 1000))
    return statistics.median(rates)


def as_json(rows: Sequence[EngineRow]) -> dict[str, Any]:
    """The rows as the documented JSON."""
    return {"rows": [asdict(row) for row in rows]}


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
