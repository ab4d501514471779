"""What the rest of localrag says to an engine and hears from it: requests, events, results.

Everything here is plain data that survives a trip through JSON, because the engine's work is done in
another process. Constraints are described by the programs of `programs.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from localrag.engine.programs import Program

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "cancelled", "error"]
TextKind = Literal["query", "passage"]

INTERACTIVE = 10
"""Priority of work that a person waits for; it goes before `BACKGROUND`."""

BACKGROUND = 0
"""Priority of indexing."""


@dataclass(frozen=True)
class Piece:
    """A part of a message."""

    text: str
    """Plain text. It is tokenised with special tokens off, so it cannot become a control token."""

    shared: bool = False
    """True for text that is the same in many requests (instructions, examples). All shared pieces must
    come before the first piece that is not; their KV cache is computed once."""


@dataclass(frozen=True)
class Message:
    """One turn of a chat."""

    role: Role
    """Who speaks; a template without a system role gets it joined to the first user turn."""

    pieces: tuple[Piece, ...]
    """The content, in order, joined without anything between."""

    @property
    def text(self) -> str:
        """The content as one string."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class GenerationRequest:
    """One call of the language model."""

    task: str
    """What it is for (`extraction`, `answer`, ...); kept with the result."""

    messages: tuple[Message, ...]
    """The chat; rendered with the model's own template by the engine."""

    program: Program
    """What may be written."""

    max_tokens: int
    """Upper bound of new tokens, forced ones included; at least 1."""

    temperature: float = 0.0
    """0 is greedy; above it the seed decides."""

    seed: int = 0
    """Seed of the sampler when temperature is above 0."""

    priority: int = BACKGROUND
    """Higher goes first."""

    stream: bool = False
    """Whether `TextEvent`s are sent while it is written."""


@dataclass(frozen=True)
class Segment:
    """A stretch of output written under one grammar."""

    name: str
    """The name that the program gave it, such as `entity` or `body`."""

    text: str
    """What was written."""


@dataclass(frozen=True)
class Generation:
    """The result of one request."""

    text: str
    """All that was written, well-formed UTF-8."""

    segments: tuple[Segment, ...]
    """The same, cut where the grammar changed. An unfinished last segment is not among them."""

    finish: FinishReason
    """`stop`: the program ended; `length`: the token budget ended it; else cancelled or error."""

    prompt_tokens: int
    """Tokens of the whole prompt."""

    shared_tokens: int
    """How many of these came from the shared prefix's cache."""

    output_tokens: int
    """Tokens written, forced ones included."""

    forced_tokens: int
    """How many of these were not sampled because nothing else was possible."""

    milliseconds: int
    """Wall time from admission to the last token."""

    model: str
    """Fingerprint of the model."""

    prompt_hash: str
    """sha256 of the rendered prompt's token ids, as hexadecimal text."""

    error: str = ""
    """Why it failed, if `finish` is `error`."""

    rolled_back_tokens: int = 0
    """Tokens that were written and taken back because they repeated what was there; in no other count."""

    weighed_tokens: int = 0
    """Tokens that were read to see what the model thinks of them, and taken back; in no other count."""

    deaths: int = 0
    """Deaths of the engine that it was given up after; 0 unless it is to blame for them."""

    probabilities: tuple[float, ...] = ()
    """Of each option of a decision, in their order; together 1."""

    mass: float = 0.0
    """Probability that the model gave to all options of a decision together, before it was shared out."""

    closed: bool = False
    """Whether JSON was closed because the token budget ended: it fits its schema but is not complete."""

    judged: Mapping[str, Any] = field(default_factory=dict)
    """What was weighed, where `WeighedRecords.explain` asks for it: `names` with rows (place, numbers of
    `NameWeights`), `listed` places, `pairs` with rows (two places in the list, numbers of `PairWeights`)."""

    @property
    def failure(self) -> str:
        """Why it failed, in words, where `finish` is `error`."""
        return self.error or "The engine gave no reason."


@dataclass(frozen=True)
class Decision:
    """How likely each of several options is, read from the model's scores."""

    options: tuple[str, ...]
    """What could be answered."""

    probabilities: tuple[float, ...]
    """One for each option; they sum to 1."""

    mass: float
    """The probability of all options together, among everything that could be written. A small one says
    that the prompt does not lead to any of them."""

    @property
    def best(self) -> str:
        """The likeliest option; the first of equal ones."""
        return self.options[self.probabilities.index(max(self.probabilities))]

    def of(self, option: str) -> float:
        """The probability of an option. Raises `ValueError` for one that was none."""
        return self.probabilities[self.options.index(option)]


@dataclass(frozen=True)
class TextEvent:
    """A piece of streamed output."""

    segment: str
    """Name of the segment that it belongs to."""

    text: str
    """Well-formed text; pieces joined give the segment's text."""


@dataclass(frozen=True)
class ProgressEvent:
    """How the engine is doing, sent a few times a second while it works."""

    phase: Literal["prefill", "decode", "idle"]
    """`prefill` while no job has begun to write."""

    running: int
    """Jobs in the batch."""

    waiting: int
    """Jobs in the queue."""

    prefill_rate: float
    """Prompt tokens read per second, over the last seconds."""

    decode_rate: float
    """Tokens written per second over all jobs, over the last seconds."""

    prompt_done: int = 0
    """Prompt tokens read so far of the job with the highest priority."""

    prompt_total: int = 0
    """Its prompt tokens in all."""

    urgent: bool = False
    """Whether a job runs that a person waits for, so that background jobs stand still."""


Event = TextEvent | ProgressEvent | Generation


@dataclass(frozen=True)
class ModelDescription:
    """What the engine knows about the loaded model."""

    name: str
    """From the file's metadata, or the file's name."""

    fingerprint: str
    """Stable identity of the file: `sha256:` and the hash of its size, header and tensor directory."""

    architecture: str
    """For example `qwen2`."""

    parameters: int
    """Number of weights."""

    context_length: int
    """Tokens that the model was trained for."""

    n_ctx: int
    """Tokens that one sequence can hold in the running engine."""

    sequences: int
    """Sequences decoded together."""

    threads: int
    """Threads in use."""

    memory_mb: int = 0
    """Resident memory of the worker after loading, in MiB."""

    batch: int = 0
    """Most tokens in one step."""

    kv_type: str = ""
    """Type of the cache's numbers."""

    flash_attention: str = ""
    """`auto`, `on` or `off`, as the context was asked for."""

    notes: tuple[str, ...] = ()
    """What a person should know of how the model runs: settings that were adjusted, a borrowed template."""

    decides: bool = True
    """Whether it can be asked for the probabilities of options."""


@dataclass(frozen=True)
class EmbeddingSpace:
    """Identity of the vectors that an embedder makes; vectors of two spaces are never mixed."""

    fingerprint: str
    """Fingerprint of the model file, pooling, prefixes and limit together."""

    model: str
    """Name of the model, for people."""

    dimension: int
    """Length of a vector."""

    pooling: str
    """`mean`, `cls` or `last`."""

    query_prefix: str = ""
    """Put before a question."""

    passage_prefix: str = ""
    """Put before a text that is searched."""

    limit: int = 512
    """Tokens after which a text is cut, end tokens kept."""


class LanguageModel(Protocol):
    """A language model that writes under constraints. Safe to call from several threads."""

    def describe(self) -> ModelDescription:
        """What is loaded; starts the engine if it is not running."""

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """Run one request; the last event is its `Generation`. Closing the iterator cancels it."""

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """Run many requests together; yields (index, event) as they come, each index's `Generation` last.

        Requests are drawn from the iterable as places become free, so it may be long. `ProgressEvent`s
        come with index -1. Closing the iterator cancels what runs.
        """

    def decide(
        self, messages: Sequence[Message], options: Sequence[str], *, priority: int = INTERACTIVE
    ) -> Decision:
        """How likely each option is as the answer's beginning; nothing is written.

        For many decisions at once put `decisions.request`s among those of `run`. Raises `EngineError` where
        the model cannot be asked for probabilities.
        """

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens off."""

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """Tokens of the whole prompt as the model's template renders it."""

    def close(self) -> None:
        """Stop the worker. May be called twice."""


class Embedder(Protocol):
    """A model that turns texts into unit vectors. Safe to call from several threads."""

    @property
    def space(self) -> EmbeddingSpace:
        """Identity of the vectors; starts the engine if it is not running."""

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension).

        Raises `EngineError` if a text is empty or its vector would be NaN or zero.
        """

    def close(self) -> None:
        """Stop the worker. May be called twice."""


@runtime_checkable
class Pausable(Protocol):
    """An engine whose background work can stand still in place."""

    def pause_background(self) -> None:
        """Let background work stand still; questions are answered. Does not wait."""

    def resume_background(self) -> None:
        """Let it go on."""
