"""Generated texts, vectors and questions for the measure of the store: the same for the same seed.

Words follow Zipf's law in English and Chinese: real function words first, then made-up ones. Vectors lie as
those of real models do: in about 2,000 clusters within a narrow cone, with a few strong directions and many
weak ones. A cluster is a topic, and a text has words of its topic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localrag.store.function_words import CHINESE, ENGLISH
from localrag.store.rows import NewChunk, NewDocument

CHARACTERS = 800
"""About how long a text is."""

PER_DOCUMENT = 50
"""Texts of a document; a document is in one language, and every second one in Chinese."""

FOLDERS = 100
"""Folders that the documents are dealt out to, so that one of them holds 1 %."""

CLUSTERS = 2_000
"""Topics."""

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int64]

_WORDS = 60_000
_TOPIC_WORDS = 40
_TOPIC_SHARE = 0.12
_SIGNS = {"en": (" ", ". "), "zh": ("", "。")}
_SENTENCE = 14
_SYLLABLES = [
    first + second for first in "bcdfghklmnprstvw" for second in ("a", "e", "i", "o", "u", "an", "er")
]
_CONE = 1.6
"""Length of what all vectors share, against a spread of about 1: a mean cosine near 0.7."""


@dataclass(frozen=True)
class Batch:
    """A document with the vectors of its chunks."""

    document: NewDocument
    """The document."""

    chunks: list[NewChunk]
    """Its chunks."""

    vectors: Matrix
    """One row for each chunk."""


@dataclass(frozen=True)
class Question:
    """A question with its vector."""

    text: str
    """Eight words."""

    vector: Matrix
    """Of the same space."""


class Data:
    """All that is generated from one seed."""

    def __init__(self, dimension: int, seed: int = 4) -> None:
        self._dimension = dimension
        self._seed = seed

    def batches(self, chunks: int) -> Iterator[Batch]:
        """Documents with `chunks` chunks in all; a larger set begins with the smaller one."""
        for number in range(-(-chunks // PER_DOCUMENT)):
            yield self._batch(number, min(PER_DOCUMENT, chunks - number * PER_DOCUMENT))

    def questions(self, count: int, chunks: int) -> list[Question]:
        """Questions near to texts of a set of that size. Words of a topic, common ones and rare ones are
        mixed; every second question is in Chinese, whose words have two characters."""
        random = np.random.default_rng([self._seed, 2, chunks])
        found = []
        for number in range(count):
            language = ("en", "zh")[number % 2]
            words = self._words[language]
            cluster = int(random.integers(CLUSTERS))
            skipped = self._function_words[language]
            picked = [
                *random.choice(self._topics[language][cluster], 3, replace=False),
                *(skipped + random.integers(0, 300, 3)),
                *(skipped + random.integers(300, 20_000, 2)),
            ]
            random.shuffle(picked)
            vector = self._vectors(random, np.array([cluster]))[0]
            found.append(Question(" ".join(words[int(word)] for word in picked), vector))
        return found

    def _batch(self, number: int, size: int) -> Batch:
        random = np.random.default_rng([self._seed, 1, number])
        language = ("en", "zh")[number % 2]
        clusters = random.integers(0, CLUSTERS, size)
        texts = [self._text(random, language, int(cluster)) for cluster in clusters]
        chunks, start = [], 0
        for text in texts:
            chunks.append(
                NewChunk(start, start + len(text), "", None, max(1, len(text) // 4), language, text)
            )
            start += len(text) + 2
        whole = "\n\n".join(texts)
        path = f"part-{number % FOLDERS:02d}/text-{number:06d}.txt"
        size_ = len(whole.encode())
        document = NewDocument(
            path=path,
            root="generated",
            sha256=hashlib.sha256(path.encode()).hexdigest(),
            size=size_,
            mtime=1_700_000_000.0 + number,
            media_type="text/plain",
            title=path,
            language=language,
            text=whole,
        )
        return Batch(document, chunks, self._vectors(random, clusters))

    def _text(self, random: np.random.Generator, language: str, cluster: int) -> str:
        words = self._words[language]
        count = 142 if language == "en" else 440
        numbers = np.searchsorted(self._cumulative, random.random(count))
        topical = random.random(count) < _TOPIC_SHARE
        numbers[topical] = random.choice(self._topics[language][cluster], int(topical.sum()))
        between, end = _SIGNS[language]
        parts = [words[int(index)] for index in numbers]
        sentences = [between.join(parts[i : i + _SENTENCE]) for i in range(0, count, _SENTENCE)]
        return (end.join(sentences) + end.strip())[: CHARACTERS + 80]

    def _vectors(self, random: np.random.Generator, clusters: Numbers) -> Matrix:
        """Unit vectors of these clusters."""
        spread = random.normal(size=(len(clusters), self._dimension)) * self._scale
        rows = self._centre + 0.8 * self._centres[clusters] + 0.6 * spread
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows, dtype=np.float32)

    @cached_property
    def _scale(self) -> NDArray[np.float64]:
        scale = (np.arange(self._dimension) + 4.0) ** -0.6
        return np.asarray(scale / np.linalg.norm(scale))

    @cached_property
    def _centre(self) -> NDArray[np.float64]:
        direction = np.random.default_rng([self._seed, 3]).normal(size=self._dimension)
        return np.asarray(_CONE * direction / np.linalg.norm(direction))

    @cached_property
    def _centres(self) -> NDArray[np.float64]:
        random = np.random.default_rng([self._seed, 4])
        return np.asarray(random.normal(size=(CLUSTERS, self._dimension)) * self._scale)

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """Shares of the words by rank, summed up."""
        shares = 1.0 / (np.arange(_WORDS) + 2.7) ** 1.05
        return np.asarray(np.cumsum(shares / shares.sum()))

    @cached_property
    def _function_words(self) -> dict[str, int]:
        return {"en": len(ENGLISH), "zh": len(CHINESE)}

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """Distinct words of each language by rank, frequent ones shorter in English."""
        random = np.random.default_rng([self._seed, 5])
        english = dict.fromkeys(sorted(ENGLISH))
        parts = random.integers(0, len(_SYLLABLES), (3 * _WORDS, 4)).tolist()
        for lengthened, (first, *rest) in zip(random.integers(0, 2, len(parts)).tolist(), parts, strict=True):
            if len(english) == _WORDS:
                break
            syllables = [first, *rest[: 1 + lengthened + (len(english) > 2_000)]]
            english["".join(_SYLLABLES[syllable] for syllable in syllables)] = None
        signs = [chr(0x4E00 + 5 * number) for number in range(3_500)]
        chinese = dict.fromkeys(sorted(CHINESE))
        ranks = np.searchsorted(self._cumulative, random.random((4 * _WORDS, 2)) * self._cumulative[3_499])
        for one, two in ranks.tolist():
            if len(chinese) == _WORDS:
                break
            chinese[signs[one] + signs[two]] = None
        while len(chinese) < _WORDS:
            one, two = random.integers(0, len(signs), 2).tolist()
            chinese[signs[one] + signs[two]] = None
        return {"en": list(english)[:_WORDS], "zh": list(chinese)[:_WORDS]}

    @cached_property
    def _topics(self) -> dict[str, Numbers]:
        """Ranks of each topic's words, one row a topic."""
        random = np.random.default_rng([self._seed, 6])
        return {name: random.integers(500, _WORDS, (CLUSTERS, _TOPIC_WORDS)) for name in ("en", "zh")}
