"""How long a person waits for the engine: first words cold and warm, idle and beside indexing, and a stop.

Every time is the median of a few tries with prompts that differ, so nothing but the fixed part is known.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localrag.answering.budgeting import UNMEASURED
from localrag.answering.request import prepare
from localrag.engine.client import WorkerModel
from localrag.engine.measuring import find_stored
from localrag.engine.options import EngineOptions
from localrag.engine.programs import FreeText
from localrag.engine.types import INTERACTIVE, GenerationRequest, Message, Piece, TextEvent
from localrag.retrieval.types import Coverage, Passage, Retrieved
from localrag.settings import Settings

_TRIES = 3
_FIXED_WORDS = 400
_OWN_WORDS = 30
_PATIENCE = 120.0
_SETTLE = 4.0
_PASSAGES = 40
_ASKED = "What did the keeper write into the book?"


@dataclass(frozen=True)
class Latency:
    """Seconds."""

    first_word_new_prefix: float
    """From the loaded model to the first word, the fixed part of the prompt not known."""

    first_word_kept_prefix: float
    """The same in a new process, the fixed part kept on disk."""

    first_word_idle: float
    """With the fixed part in the cache and nothing else running."""

    first_word_busy: float
    """The same while passages are read in the background."""

    stop_reading: float
    """From a stop while a prompt is read until its place is free."""

    stop_writing: float
    """From a stop while words are written until its place is free."""

    first_word_answer: float
    """To the first word of an answer from documents, as the settings are, the instructions in the cache."""

    answer_tokens: int
    """Tokens of such an answer's prompt."""

    answer_read_tokens: int
    """How many of these are read anew."""

    prompt_tokens: int
    """Tokens of the question's prompt."""

    fixed_tokens: int
    """How many of these are the fixed part."""

    def as_json(self) -> dict[str, Any]:
        """For the bench's JSON."""
        return {key: round(value, 3) for key, value in asdict(self).items()}


def measure(path: Path, options: EngineOptions, background: Sequence[GenerationRequest]) -> Latency:
    """Take all times for a model; `background` is the reading that a question has to pass.

    Kept prefixes of other runs do not count: the fixed part is new at every call.
    """
    fixed = _words("rule", _FIXED_WORDS, time.time_ns() % 1_000_000)
    loaded = []
    for _ in range(2):
        model = WorkerModel(path, options)
        try:
            model.describe()
            loaded.append(_first_word(model, _question(fixed, 0)))
        finally:
            model.close()
    model = WorkerModel(path, options)
    try:
        model.describe()
        _first_word(model, _question(fixed, 1))
        prompt = model.count_prompt(_question(fixed, 2).messages)
        own = model.count([_words("passage", _OWN_WORDS, 2)])[0]
        idle = _median(lambda number: _first_word(model, _question(fixed, 10 + number)))
        with _reading(model, background):
            busy = _median(lambda number: _first_word(model, _question(fixed, 20 + number)))
        reading = _median(lambda number: _stop(model, _long(number), wait=False))
        writing = _median(lambda number: _stop(model, _question(fixed, 30 + number), wait=True))
        answers = _Answers(model, path, options)
        answers.first_word(0)
        answer = _median(lambda number: answers.first_word(1 + number))
    finally:
        model.close()
    return Latency(
        *(loaded[0], loaded[1], idle, busy, reading, writing, answer),
        *(answers.tokens, answers.read, prompt, prompt - own),
    )


class _Answers:
    """Questions to documents, as a person asks them: the context is as long as the settings make it here."""

    def __init__(self, model: WorkerModel, path: Path, options: EngineOptions) -> None:
        self._model = model
        tuning = find_stored(path, options)
        self._rate = tuning.read_rate if tuning is not None and tuning.read_rate else UNMEASURED
        self.tokens = self.read = 0
        """Tokens of the last prompt, and those that were read anew."""

    def first_word(self, number: int) -> float:
        """Seconds to the first word of an answer; every number has documents of its own."""
        passages = tuple(
            Passage(n, n, f"{n}.txt", None, "", 0, len(text), text, 1.0, ("fulltext",))
            for n in range(1, _PASSAGES + 1)
            for text in [_prose(100 * number + n)]
        )
        found = Retrieved(_ASKED, "naive", passages, (), (), Coverage(1, 1))
        made = prepare(found, "en", Settings(), self._model, rate=self._rate)
        self.tokens = made.trace.used["prompt"]
        pieces = [piece.text for message in made.request.messages for piece in message.pieces if piece.shared]
        self.read = self.tokens - sum(self._model.count(pieces))
        return _first_word(self._model, made.request)


def _question(fixed: str, number: int) -> GenerationRequest:
    own = _words("passage", _OWN_WORDS, number)
    messages = (
        Message("system", (Piece(fixed, shared=True),)),
        Message("user", (Piece(f"{number} {own}"),)),
    )
    return GenerationRequest("bench", messages, FreeText(), max_tokens=200, priority=INTERACTIVE, stream=True)


def _long(number: int) -> GenerationRequest:
    return _question(_words("unread", _FIXED_WORDS, number + time.time_ns() % 1_000_000), number)


def _prose(seed: int) -> str:
    return " ".join(
        f"The keeper wrote {_words('entry', 12, seed + n)} into book {seed + n}." for n in range(8)
    )


def _words(stem: str, count: int, seed: int) -> str:
    return " ".join(f"{stem} {(seed + 7 * i) % 1000}" for i in range(count // 2))


def _first_word(model: WorkerModel, request: GenerationRequest) -> float:
    began = time.monotonic()
    with contextlib.closing(model.stream(request)) as events:
        for event in events:
            if isinstance(event, TextEvent):
                break
    seconds = time.monotonic() - began
    _until_free(model)
    return seconds


def _stop(model: WorkerModel, request: GenerationRequest, *, wait: bool) -> float:
    """Stop a request while it is read, or with `wait` once it writes."""
    with contextlib.closing(model.stream(request)) as events:
        for event in events:
            if isinstance(event, TextEvent) or (not wait and model.stats()["jobs"]):
                break
        began = time.monotonic()
    _until_free(model)
    return time.monotonic() - began


def _until_free(model: WorkerModel) -> None:
    """Wait until no job that a person waits for is left."""
    end = time.monotonic() + _PATIENCE
    while model.stats()["urgent"] and time.monotonic() < end:
        time.sleep(0.002)


def _median(measure_once: Callable[[int], float]) -> float:
    return statistics.median(measure_once(number) for number in range(_TRIES))


@contextlib.contextmanager
def _reading(model: WorkerModel, requests: Sequence[GenerationRequest]) -> Any:
    """Background reading, well under way, for as long as the block lasts."""
    stop = threading.Event()

    def read() -> None:
        with contextlib.closing(model.run(iter(requests))) as events:
            for _ in events:
                if stop.is_set():
                    return

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    time.sleep(_SETTLE)
    try:
        yield
    finally:
        stop.set()
        thread.join(_PATIENCE)
