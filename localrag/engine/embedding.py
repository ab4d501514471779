"""Embedding in the worker: texts cut to the model's limit, packed by length, pooled, normalised, checked."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

import llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from localrag.engine.llama import Model
from localrag.engine.pooling import TOKENS_PER_CALL, PoolingContext, packed
from localrag.errors import EngineError, ModelInvalid

_POOLINGS = {1: "mean", 2: "cls", 3: "last"}


class EmbeddingContext:
    """Makes vectors. Used by one thread."""

    def __init__(self, model: Model, *, threads: int, limit: int) -> None:
        """`limit` is the most tokens of a text, cut further to what the model can hold.

        Raises `ModelInvalid` if the model does not pool, `EngineError` if memory is short.
        """
        self._model = model
        self.limit = min(limit, model.context_length or limit, TOKENS_PER_CALL)
        self._context = PoolingContext(model, threads=threads)
        if self._context.native_pooling not in _POOLINGS:
            self._context.close()
            raise ModelInvalid(
                "This model makes no vectors for whole texts (its file names no pooling).",
                "Choose an embedding model: localrag models recommend",
            )
        self.pooling = _POOLINGS[self._context.native_pooling]

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
        for call in packed(sorted(range(len(texts)), key=lambda i: len(tokens[i])), tokens):
            self._context.run([tokens[index] for index in call])
            on_step()
            for sequence, index in enumerate(call):
                result[index] = self._vector(sequence)
        return result

    def _vector(self, sequence: int) -> NDArray[np.float32]:
        vector = np.array(self._context.result(sequence, self._model.dimension), dtype=np.float32)
        norm = float(np.linalg.norm(vector))
        if not np.isfinite(norm) or norm < 1e-9:
            raise EngineError("A text's vector is not a number or has no length.")
        return np.asarray(vector / norm, dtype=np.float32)

    def close(self) -> None:
        """Free the context."""
        self._context.close()
