"""An `Embedder` at a server that the settings name, over `/v1/embeddings`.

The server's vectors are checked as the worker's are: as many as texts, in their order, of one length, finite,
not zero; and they are made unit vectors here, whatever the server does.
"""

from __future__ import annotations

import hashlib
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.remote_defuse import defuse
from localrag.engine.remote_http import Server
from localrag.engine.remote_waiting import Stop
from localrag.engine.types import EmbeddingSpace, TextKind
from localrag.errors import EngineError, RemoteRefused

_TOGETHER = 32
_LEAST_LENGTH = 1e-9
_MOST_DIMENSIONS = 65_536
_PROBE = "A line of text."


class RemoteEmbedder:
    """An embedding model at a server. Safe to use from several threads; nothing is sent before a call."""

    def __init__(
        self,
        server: Server,
        model: str,
        *,
        dialect: str = "llama-server",
        query_prefix: str = "",
        passage_prefix: str = "",
        limit: int = 512,
    ) -> None:
        """`model` is its name at the server and part of the vectors' identity, so it must be given.

        With the dialect `llama-server`, texts are sent as token ids, control tokens off and cut to `limit`
        tokens with the last one kept; else as text, look-alikes of control tokens defused, never cut.
        """
        self._server = server
        self._model = model
        self._tokens = dialect == "llama-server"
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        self._limit = limit
        self._lock = threading.Lock()
        self._dimension = 0
        self._stops: set[Stop] = set()

    @property
    def space(self) -> EmbeddingSpace:
        """Identity of the vectors: the model's name at the server, its dimension, prefixes and limit.

        A server that puts another model behind the same name is noticed only by another dimension.
        """
        with self._lock:
            known = self._dimension
        dimension = known or self._embed([_PROBE], 0).shape[1]
        with self._lock:
            self._dimension = dimension
        limit = self._limit if self._tokens else 0
        parts = ["remote", self._model, str(dimension), *self._prefixes.values(), str(limit), "nfc"]
        return EmbeddingSpace(
            fingerprint="sha256:" + hashlib.sha256("\0".join(parts).encode()).hexdigest(),
            model=self._model,
            dimension=dimension,
            pooling="remote",
            query_prefix=self._prefixes["query"],
            passage_prefix=self._prefixes["passage"],
            limit=self._limit,
        )

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        if any(not text.strip() for text in texts):
            raise EngineError("An empty text has no vector.")
        dimension = self.space.dimension
        prefix = self._prefixes[kind]
        parts = [
            self._embed([prefix + text for text in group], dimension) for group in _groups(texts, _TOGETHER)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, dimension), dtype=np.float32)

    def close(self) -> None:
        """End the calls that run. May be called twice; a later call connects again."""
        for stop in list(self._stops):
            stop.stop()
        self._server.close()

    def _embed(self, texts: list[str], dimension: int) -> NDArray[np.float32]:
        stop = Stop()
        self._stops.add(stop)
        try:
            clean = [unicodedata.normalize("NFC", text.replace("\0", " ")) for text in texts]
            sent: list[Any] = (
                [self._ids(text, stop) for text in clean] if self._tokens else list(map(defuse, clean))
            )
            body = {"model": self._model, "input": sent, "encoding_format": "float"}
            answer = self._server.call("/v1/embeddings", body, stop)
        finally:
            self._stops.discard(stop)
        return self._vectors(answer, len(texts), dimension)

    def _ids(self, text: str, stop: Stop) -> list[int]:
        body = {"content": text, "add_special": True, "parse_special": False}
        answer = self._server.call("/tokenize", body, stop)
        ids = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(ids, list) or not ids or not all(type(token) is int for token in ids):
            raise RemoteRefused(f"{self._server.address.shown} does not turn text into tokens.")
        return ids if len(ids) <= self._limit else [*ids[: self._limit - 1], ids[-1]]

    def _vectors(self, answer: Any, count: int, dimension: int) -> NDArray[np.float32]:
        where = self._server.address.shown
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or len(data) != count:
            raise RemoteRefused(f"{where} sent another number of vectors than of texts.")
        rows: list[Any] = [None] * count
        for position, item in enumerate(data):
            index = item.get("index", position) if isinstance(item, dict) else None
            if type(index) is not int or not 0 <= index < count or rows[index] is not None:
                raise RemoteRefused(f"{where} sent vectors that cannot be told apart.")
            rows[index] = item.get("embedding")
        try:
            vectors = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            vectors = np.zeros((0, 0))
        if vectors.ndim != 2 or not 0 < vectors.shape[1] <= _MOST_DIMENSIONS:
            raise RemoteRefused(f"{where} sent something that is no vectors of one length.")
        if dimension and vectors.shape[1] != dimension:
            raise RemoteRefused(
                f"{where} now sends vectors of length {vectors.shape[1]} instead of {dimension}.",
                "Another model stands behind the name; make a new knowledge base for it.",
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all() or (norms < _LEAST_LENGTH).any():
            raise EngineError("A text's vector is not a number or has no length.")
        return np.asarray(vectors / norms, dtype=np.float32)


def _groups(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]
