"""A context of the native library that makes one result of each whole text, for vectors and for ranking."""

from __future__ import annotations

from collections.abc import Sequence

import llama_cpp as lib

from localrag.engine.llama import Model, last_log
from localrag.errors import EngineError

TOKENS_PER_CALL = 512
"""Most tokens of a call, and so of a text: attention is computed over the whole call, and the native library
reserves vocabulary-sized scores for every token of the largest one."""

TEXTS_PER_CALL = 16
"""Most texts of a call."""


class PoolingContext:
    """A context that pools. Used by one thread."""

    def __init__(self, model: Model, *, threads: int, pooling: int | None = None) -> None:
        """`pooling` is the native number of a pooling; None takes the one that the model's file names.

        Raises `EngineError` if memory is short.
        """
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = TOKENS_PER_CALL
        params.n_seq_max = TEXTS_PER_CALL
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.kv_unified = True
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_AUTO
        if pooling is not None:
            params.pooling_type = pooling
        self._context = lib.llama_init_from_model(model.handle, params)
        if not self._context:
            raise EngineError(
                f"There is no memory for the embedding context ({last_log() or 'no reason given'})."
            )
        self.native_pooling = int(lib.llama_pooling_type(self._context))
        """How it pools, as the native library counts."""
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(TOKENS_PER_CALL, 0, 1)

    def run(self, texts: Sequence[Sequence[int]]) -> None:
        """Compute the texts of one call, which has at most the bounds above. Raises `EngineError`."""
        batch = self._batch
        place = 0
        for sequence, tokens in enumerate(texts):
            for position, token in enumerate(tokens):
                batch.token[place] = token
                batch.pos[place] = position
                batch.n_seq_id[place] = 1
                batch.seq_id[place][0] = sequence
                batch.logits[place] = True
                place += 1
        batch.n_tokens = place
        if self._memory:
            lib.llama_memory_clear(self._memory, True)
        code = int(lib.llama_decode(self._context, batch))
        if code != 0:
            raise EngineError(
                f"Vectors could not be computed (code {code}: {last_log() or 'no reason given'})."
            )

    def result(self, sequence: int, size: int) -> list[float]:
        """The numbers of a text of the last call. Raises `EngineError` if there are none."""
        pointer = lib.llama_get_embeddings_seq(self._context, sequence)
        if not pointer:
            raise EngineError("The model gave no vector for a text.")
        return list(pointer[:size])

    def close(self) -> None:
        """Free batch and context."""
        if self._context:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            self._context = None


def packed(order: Sequence[int], tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Indices grouped into calls that stay within tokens and texts."""
    calls: list[list[int]] = []
    size = 0
    for index in order:
        length = len(tokens[index])
        if not calls or size + length > TOKENS_PER_CALL or len(calls[-1]) == TEXTS_PER_CALL:
            calls.append([])
            size = 0
        calls[-1].append(index)
        size += length
    return calls
