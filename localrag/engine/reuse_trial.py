"""An experiment: the cache of passages is kept and shifted into place instead of being read again.

A passage that is read behind the fixed part alone gives cells that know nothing of the passages before it.
Put together they stand where a prompt would have them, so a question can be read at once; what is lost is the
attention between passages. Run by `localrag bench reuse`, in this process; nothing else uses it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localrag.engine.llama import Context, Entry, Model
from localrag.errors import EngineError

_FIXED, _SCRATCH, _PROMPT = 0, 1, 2
_BATCH = 256


@dataclass(frozen=True)
class Answered:
    """One question answered in one way."""

    text: str
    """What was written, greedily, up to the model's own end or the bound."""

    first_seconds: float
    """From the question to the scores of the first word."""


class ReuseTrial:
    """Answers questions over passages, either reading them or putting kept cells together."""

    def __init__(self, model: Model, *, n_ctx: int, threads: int) -> None:
        self._model = model
        self._context = Context(model, n_ctx=n_ctx, sequences=3, threads=threads, batch=_BATCH)
        self._kept: dict[tuple[int, ...], bytes] = {}
        self._fixed: tuple[int, ...] = ()

    def fix(self, tokens: Sequence[int]) -> None:
        """Read the fixed part, which both ways share."""
        self._context.remove(_FIXED)
        self._kept.clear()
        self._fixed = tuple(tokens)
        self._read(_FIXED, self._fixed, 0, asks=False)

    def keep(self, passage: Sequence[int]) -> int:
        """Read a passage behind the fixed part and keep its cells; returns their bytes."""
        start = len(self._fixed)
        self._context.remove(_SCRATCH)
        self._context.copy(_FIXED, _SCRATCH, start)
        self._read(_SCRATCH, passage, start, asks=False)
        self._context.remove(_SCRATCH, 0, start)
        self._kept[tuple(passage)] = self._context.state(_SCRATCH)
        self._context.remove(_SCRATCH)
        return len(self._kept[tuple(passage)])

    def by_reading(self, passages: Sequence[Sequence[int]], question: Sequence[int], most: int) -> Answered:
        """Read passages and question, as every prompt is read."""
        self._begin()
        began = time.monotonic()
        tokens = [token for passage in passages for token in passage] + list(question)
        index = self._read(_PROMPT, tokens, len(self._fixed), asks=True)
        first = time.monotonic() - began
        return Answered(self._write(len(self._fixed) + len(tokens), index, most), first)

    def by_shifting(self, passages: Sequence[Sequence[int]], question: Sequence[int], most: int) -> Answered:
        """Put the kept cells of the passages in a row, and read the question only.

        Raises `EngineError` if a passage was not kept or its cells cannot be put back.
        """
        self._begin()
        began = time.monotonic()
        start = place = len(self._fixed)
        for passage in passages:
            state = self._kept.get(tuple(passage))
            if state is None or not self._context.restore(_SCRATCH, state):
                raise EngineError("A passage's cells are not there.")
            if place > start:
                self._context.shift(_SCRATCH, start, start + len(passage), place - start)
            self._context.copy(_SCRATCH, _PROMPT, place + len(passage), start=place)
            self._context.remove(_SCRATCH)
            place += len(passage)
        index = self._read(_PROMPT, question, place, asks=True)
        first = time.monotonic() - began
        return Answered(self._write(place + len(question), index, most), first)

    def close(self) -> None:
        """Free the context."""
        self._context.close()

    def _begin(self) -> None:
        self._context.remove(_PROMPT)
        self._context.copy(_FIXED, _PROMPT, len(self._fixed))

    def _read(self, sequence: int, tokens: Sequence[int], past: int, *, asks: bool) -> int:
        """Decode tokens; the index of the last one's scores in its batch."""
        index = -1
        for begin in range(0, len(tokens), _BATCH):
            part = tokens[begin : begin + _BATCH]
            last = begin + len(part) == len(tokens)
            entries = [
                Entry(token, past + begin + i, sequence, asks and last and i == len(part) - 1)
                for i, token in enumerate(part)
            ]
            if self._context.decode(entries):
                raise EngineError("The trial's context is full.")
            index = len(part) - 1
        return index

    def _write(self, past: int, index: int, most: int) -> str:
        written = b""
        for number in range(most):
            token = int(np.argmax(self._context.logits(index)))
            if token in self._model.ends:
                break
            written += self._model.token_bytes(token)
            if self._context.decode([Entry(token, past + number, _PROMPT, True)]):
                raise EngineError("The trial's context is full.")
            index = 0
        return written.decode("utf-8", "replace").strip()
