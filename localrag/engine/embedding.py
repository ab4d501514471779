"""Embedding in the worker: texts cut to the model's limit, packed by length, pooled, normalised, checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from localrag.engine.llama import Model, last_log
from localrag.errors import EngineError, ModelInvalid

_TOKENS_PER_CALL = 512
_TEXTS_PER_CALL = 16
_POOLINGS = {1: "mean", 2: "cls", 3: "last"}


class EmbeddingContext:
    """A context that pools. Used by one thread.

    A call holds at most 512 tokens: attention is computed over the whole call, and the native library
    reserves vocabulary-sized scores for every token of the largest one.
    """

    def __init__(self, model: Model, *, threads: int, limit: int) -> None:
        """`limit` is the most tokens of a text, cut further to what the model can hold.

        Raises `ModelInvalid` if the model does not pool, `EngineError` if memory is short.
        """
        self._model = model
        self.limit = min(limit, model.context_length or limit, _TOKENS_PER_CALL)
        params = lib.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = _TOKENS_PER_CALL
        params.n_seq_max = _TEXTS_PER_CALL
        params.n_threads = params.n_threads_batch = threads
        params.embeddings = True
        params.kv_unified = True
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_AUTO
        self._context = lib.llama_init_from_model(model.handle, params)
        if not self._context:
            raise EngineError(
                f"There is no memory for the embedding context ({last_log() or 'no reason given'})."
            )
        pooling = int(lib.llama_pooling_type(self._context))
        if pooling not in _POOLINGS:
            raise ModelInvalid(
                "This model makes no vectors for whole texts (its file names no pooling).",
                "Choose an embedding model: localrag models recommend",
            )
        self.pooling = _POOLINGS[pooling]
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(_TOKENS_PER_CALL, 0, 1)

    def tokenize(self, text: str) -> list[int]:
        """Token ids with the ends that the model wants, cut to the limit with the last token kept.

        Canonical composition (NFC) comes first: the tokeniser's own table maps single code points only.
        """
        clean = unicodedata.normalize("NFC", text.replace("\0", " "))
        ids = self._with_ends(self._model.tokenize(clean, special=False, add_ends=True))
        return ids if len(ids) <= self.limit else [*ids[: self.limit - 1], ids[-1]]

    def _with_ends(self, ids: list[int]) -> list[int]:
        """The ids with the token that the vector is taken from, which some files forget to ask for."""
        vocabulary = self._model.vocabulary
        first, final = lib.llama_vocab_bos(vocabulary), lib.llama_vocab_eos(vocabulary)
        if self.pooling == "cls" and first >= 0 and ids[:1] != [first]:
            return [first, *ids]
        if self.pooling == "last" and final >= 0 and ids[-1:] != [final]:
            return [*ids, final]
        return ids

    def embed(self, texts: Sequence[str], on_step: Callable[[], None] = lambda: None) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension); `on_step` is called after each step of the model.

        Raises `EngineError` for a text without a vector.
        """
        result = np.zeros((len(texts), self._model.dimension), dtype=np.float32)
        if any(not text.strip() for text in texts):
            raise EngineError("An empty text has no vector.")
        tokens = [self.tokenize(text) for text in texts]
        for call in _pack(sorted(range(len(texts)), key=lambda i: len(tokens[i])), tokens):
            self._run(call, tokens)
            on_step()
            for sequence, index in enumerate(call):
                result[index] = self._vector(sequence)
        return result

    def _run(self, call: Sequence[int], tokens: Sequence[Sequence[int]]) -> None:
        batch = self._batch
        place = 0
        for sequence, index in enumerate(call):
            for position, token in enumerate(tokens[index]):
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

    def _vector(self, sequence: int) -> NDArray[np.float32]:
        pointer = lib.llama_get_embeddings_seq(self._context, sequence)
        if not pointer:
            raise EngineError("The model gave no vector for a text.")
        vector = np.ctypeslib.as_array(pointer, shape=(self._model.dimension,)).astype(np.float32)
        norm = float(np.linalg.norm(vector))
        if not np.isfinite(norm) or norm < 1e-9:
            raise EngineError("A text's vector is not a number or has no length.")
        return np.asarray(vector / norm, dtype=np.float32)

    def close(self) -> None:
        """Free batch and context."""
        if self._context:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            self._context = None


def _pack(order: Sequence[int], tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Indices grouped into calls that stay within tokens and texts."""
    calls: list[list[int]] = []
    size = 0
    for index in order:
        length = len(tokens[index])
        if not calls or size + length > _TOKENS_PER_CALL or len(calls[-1]) == _TEXTS_PER_CALL:
            calls.append([])
            size = 0
        calls[-1].append(index)
        size += length
    return calls
