"""What a run will take, before it begins: calls, tokens, and time at the speed that was measured.

What earlier readings of the same model in this file took is the best measure. Without them, what a model
writes is taken from a table (`costs.py`), and the speed from the measurement of this machine; if there is
none, the time is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from localrag.documents import tokens as text_tokens
from localrag.engine.tuned import Tuning
from localrag.engine.types import GenerationRequest
from localrag.engines import instructions
from localrag.extraction.claims import ClaimReader
from localrag.extraction.extractor import QUESTION, TASK, Extractor
from localrag.indexing import costs
from localrag.store.database import Store
from localrag.store.reading_rows import ReadingsTaken
from localrag.store.rows import WaitingChunk

Basis = Literal["readings", "machine", "unknown"]
"""Where the time comes from: readings in this file, the measurement of this machine, or nowhere."""

LEAST_READ = 8
"""Readings from which more can be learned than from a table."""

_PROGRAMS = {"compact": ("weighed", "lean"), "lightrag": ("records",), "graphrag": ("records",)}
"""What calls of a profile are written by: readings by another say nothing."""

_MOST_GLEANED = 1.05
"""Calls for each chunk from which on earlier readings have looked for more."""

_LOOKED_AT = 50
"""About so many documents are looked at for their languages."""


@dataclass(frozen=True)
class Estimate:
    """What reading the chunks that wait will take."""

    chunks: int
    """Chunks that wait to be read."""

    chunk_tokens: int
    """Estimated tokens of their texts."""

    calls: int
    """Calls of the model, those for second looks and claims too."""

    prompt_tokens: int
    """Tokens of prompts that are read anew. What all calls share is in it once, unless earlier readings tell
    what a call takes: then it is kept from them."""

    written_tokens: int
    """Tokens that the model will write."""

    seconds: float | None
    """Time of all that; None if the speed is not known."""

    basis: Basis
    """Where it comes from."""

    claim_chunks: int = 0
    """Chunks whose claims will be read."""

    seconds_a_token: float | None = None
    """Seconds of reading for a token of a chunk, claims not counted; None if the speed is not known."""

    cost_of_a_token: float | None = None
    """Tokens read anew and written for a token of a chunk, claims not counted; None if none is to be read."""

    @property
    def tokens(self) -> int:
        """Tokens read anew and written."""
        return self.prompt_tokens + self.written_tokens


@dataclass(frozen=True)
class _Share:
    """What one kind of work takes."""

    calls: float = 0.0
    """Calls of the model."""

    read: float = 0.0
    """Tokens read anew."""

    written: float = 0.0
    """Tokens written."""

    seconds: float | None = 0.0
    """Time; None if the speed is not known."""

    basis: Basis = "unknown"
    """Where it comes from."""


class Estimator:
    """Says what a run with some settings takes, with the model that has a fingerprint on this machine.

    Nothing is changed, and no model is asked.
    """

    def __init__(
        self,
        store: Store,
        extractor: Extractor,
        claims: ClaimReader | None,
        fingerprint: str,
        measured: Tuning | None,
    ) -> None:
        """`claims` is None if none are read. Without a fingerprint the model of the last reading counts."""
        self._store = store
        self._extractor = extractor
        self._claims = claims
        self._fingerprint = fingerprint
        self._measured = measured

    def estimate(self) -> Estimate:
        """What the reading of all that waits takes now, and of the claims that follow."""
        waiting = [row for rows in self._store.chunks.waiting() for row in rows]
        tokens = sum(row.tokens for row in waiting)
        reading = self._reading(waiting, tokens) if waiting else _Share()
        unread = self._store.claim_search.unread(self._claims.task) if self._claims is not None else []
        claim_chunks = len(unread) + len(waiting) if self._claims is not None else 0
        claims = (
            self._claiming(claim_chunks, tokens + self._store.chunks.tokens_of(unread))
            if claim_chunks
            else _Share()
        )
        shared = self._shared(waiting, reading, claims)
        parts = (reading, claims, shared)
        total = [part.seconds for part in parts if part.seconds is not None]
        return Estimate(
            chunks=len(waiting),
            chunk_tokens=tokens,
            calls=round(reading.calls + claims.calls),
            prompt_tokens=round(sum(part.read for part in parts)),
            written_tokens=round(sum(part.written for part in parts)),
            seconds=sum(total) if len(total) == len(parts) and (waiting or claim_chunks) else None,
            basis=(reading if waiting else claims).basis,
            claim_chunks=claim_chunks,
            seconds_a_token=reading.seconds / tokens if reading.seconds and tokens else None,
            cost_of_a_token=(reading.read + reading.written) / tokens if tokens else None,
        )

    def _reading(self, waiting: list[WaitingChunk], tokens: int) -> _Share:
        """The passes over the chunks, and the looks for what they left out."""
        profile = self._extractor.profile
        cost, more = costs.READING[profile], costs.GLEANING[profile]
        gleans = self._extractor.settings.gleaning != "off"
        taken = self._store.chunks.taken((TASK, QUESTION), self._fingerprint, _PROGRAMS[profile])
        if _enough(taken) and (taken.calls / taken.chunks > _MOST_GLEANED) == gleans:
            return _by_readings(taken, len(waiting), tokens)
        calls = len(waiting) * (1 + (costs.GLEANING_CALLS if gleans else 0))
        read, written = cost.tokens(len(waiting), tokens)
        if profile == "compact" and not self._extractor.settings.entity_types:
            written += costs.OPEN_TYPES.tokens(len(waiting), tokens)[1]
        if gleans:
            more_read, more_written = more.tokens(len(waiting), tokens)
            read, written = read + more_read, written + more_written
        return self._by_table(calls, len(waiting), read, written, costs.EFFICIENCY[profile])

    def _claiming(self, chunks: int, tokens: int) -> _Share:
        """The claims of the chunks."""
        assert self._claims is not None
        taken = self._store.chunks.taken((self._claims.task,), self._fingerprint)
        if _enough(taken):
            return _by_readings(taken, chunks, tokens)
        read, written = costs.CLAIMS.tokens(chunks, tokens)
        return self._by_table(chunks, chunks, read, written, costs.CLAIMS_EFFICIENCY)

    def _by_table(self, calls: float, chunks: int, read: float, written: float, efficiency: float) -> _Share:
        seconds = costs.seconds(self._measured, chunks, read, written, efficiency)
        return _Share(calls, read, written, seconds, "unknown" if seconds is None else "machine")

    def _shared(self, waiting: list[WaitingChunk], reading: _Share, claims: _Share) -> _Share:
        """What all calls have in common, which is read once for each language; nothing where it was kept."""
        requests: dict[str, GenerationRequest] = {}
        of_each = list({row.document_id: row.id for row in waiting}.values())
        rows = self._store.chunks.many(of_each[:: max(len(of_each) // _LOOKED_AT, 1)])
        for row in rows:
            if row.language not in requests:
                requests[row.language] = self._extractor.request(row)
            if self._claims is not None and f"claims {row.language}" not in requests:
                requests[f"claims {row.language}"] = self._claims.request(row, ())
        counted = {
            instructions(request)
            for name, request in requests.items()
            if (claims if name.startswith("claims ") else reading).basis != "readings"
        }
        read = sum(text_tokens.estimate(text) for text in counted)
        return _Share(0, read, 0, costs.seconds(self._measured, 1, read, 0, 1.0) if read else 0.0)


def _enough(taken: ReadingsTaken) -> bool:
    return taken.chunks >= LEAST_READ and taken.chunk_tokens > 0


def _by_readings(taken: ReadingsTaken, chunks: int, tokens: int) -> _Share:
    """What chunks take by what others have taken."""
    share = tokens / taken.chunk_tokens
    return _Share(
        chunks * taken.calls / taken.chunks,
        share * taken.prompt_tokens,
        share * taken.written_tokens,
        share * taken.seconds if taken.seconds else None,
        "readings" if taken.seconds else "unknown",
    )
