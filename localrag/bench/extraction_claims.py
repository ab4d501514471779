"""Reads the claims of passages whose entities were read, and counts them; there is no open gold for them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localrag.bench.extraction_run import Passage, in_loop
from localrag.engine.types import Generation, LanguageModel
from localrag.extraction.claims import ClaimReader, ClaimReading
from localrag.stopping import stoppable
from localrag.store.report_rows import ClaimName, Span
from localrag.store.rows import ChunkRow


@dataclass(frozen=True)
class ClaimCounts:
    """What came of the claims of some passages."""

    calls: int
    """Calls of the model: a chunk without entities that claims can be about has none."""

    claims: int
    """Claims that would be stored."""

    quotes: int
    """Quotes of these claims."""

    verbatim: int
    """Quotes that stand in the passage as they are."""

    rejects: int
    """Records that were written and left out."""

    failed: int
    """Calls that failed or wrote nothing."""

    cut: int
    """Calls that their bound of tokens ended."""

    runaway: int
    """Calls that their bound ended in the middle of a loop."""

    seconds: float
    """Wall time."""

    output_tokens: int
    """Tokens written."""

    def as_json(self) -> dict[str, Any]:
        """As in the JSON, with `quotes_verbatim`: the share, null where there are no quotes."""
        return {
            "calls": self.calls,
            "claims": self.claims,
            "quotes": self.quotes,
            "verbatim": self.verbatim,
            "quotes_verbatim": round(self.verbatim / self.quotes, 4) if self.quotes else None,
            "rejects": self.rejects,
            "failed": self.failed,
            "cut": self.cut,
            "runaway": self.runaway,
            "seconds": round(self.seconds, 2),
            "output_tokens": self.output_tokens,
        }


def read_claims(
    model: LanguageModel,
    passages: Sequence[Passage],
    reader: ClaimReader,
    cancel: threading.Event | None = None,
) -> ClaimCounts:
    """Read the claims of all passages in one batch.

    Raises `Cancelled` if `cancel` is set meanwhile, and what the engine raises.
    """
    work: list[tuple[ChunkRow, tuple[ClaimName, ...]]] = []
    for passage in passages:
        for chunk, entities in passage.chunks:
            names = tuple(ClaimName(e.key, e.name, e.type, e.key) for e in entities)
            if reader.subjects(names):
                work.append((chunk, names))
    results: dict[int, Generation] = {}
    began = time.monotonic()
    requests = (reader.request(chunk, names) for chunk, names in work)
    with contextlib.closing(stoppable(model.run(requests), cancel)) as events:
        for index, event in events:
            if isinstance(event, Generation):
                results[index] = event
    seconds = time.monotonic() - began
    made = [results[number] for number in range(len(work))]
    read = [reader.read(*pair, result) for pair, result in zip(work, made, strict=True)]
    quotes = [
        (chunk.text, span)
        for (chunk, _), reading in zip(work, read, strict=True)
        for claim in reading.claims
        for span in claim.quotes
    ]
    return ClaimCounts(
        calls=len(work),
        claims=sum(len(reading.claims) for reading in read),
        quotes=len(quotes),
        verbatim=sum(is_verbatim(text, span) for text, span in quotes),
        rejects=_rejects(read),
        failed=sum(result.finish == "error" or not result.text.strip() for result in made),
        cut=sum(result.finish == "length" for result in made),
        runaway=sum(result.finish == "length" and in_loop(result.text) for result in made),
        seconds=seconds,
        output_tokens=sum(result.output_tokens for result in made),
    )


def is_verbatim(text: str, span: Span) -> bool:
    """Whether a quote is a stretch of the text, with words in it."""
    start, end = span
    return 0 <= start < end <= len(text) and any(char.isalnum() for char in text[start:end])


def _rejects(read: Sequence[ClaimReading]) -> int:
    return sum(len(reading.rejects) for reading in read)
