"""The figures of answers: means over questions, and differences between two ways of answering."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import numpy as np

from localrag.answering.checking import UNVERIFIED
from localrag.bench.answers_asking import Outcome
from localrag.bench.answers_data import AnswerQuestion
from localrag.bench.answers_scores import Score, holds, yes_or_no

INTERVAL = 90
"""Percent of the resampled differences that lie within the bounds that are told."""

_SAMPLES = 10_000
_LEAST_GAP = 0.01


@dataclass(frozen=True)
class Item:
    """One question with what came of it."""

    question: AnswerQuestion
    """What was asked."""

    outcome: Outcome
    """What came of it."""

    said: str
    """The bare text of the answer; empty if it was refused or failed."""

    score: Score
    """How it compares with the right answers."""

    cited_text: str
    """The texts of the cited passages."""

    chinese: bool
    """Whether texts are compared by characters."""

    @property
    def precision(self) -> float | None:
        """Share of the cited passages that are needed; None if none is cited."""
        cited = self.outcome.cited
        return len(set(cited) & set(self.question.gold)) / len(cited) if cited else None

    @property
    def recall(self) -> float:
        """Share of the passages that are needed that are cited."""
        gold = set(self.question.gold)
        return len(gold & set(self.outcome.cited)) / len(gold)

    @property
    def marked(self) -> bool:
        """Whether a sentence is marked as being without support."""
        return any(mark in self.outcome.answer for mark in UNVERIFIED.values())

    @property
    def is_named(self) -> bool:
        """Whether the right answer is something that a text can name, and not yes or no."""
        return self.question.answerable and yes_or_no(self.question.answers) is None

    @property
    def answer_in_cited(self) -> bool:
        """Whether a cited passage contains a right answer."""
        return holds(self.cited_text, self.question.answers, chinese=self.chinese)


def figures(items: Sequence[Item]) -> dict[str, Any]:
    """All that is told of some questions in one way.

    EM, F1, contains and what is said of the context are means over the questions that have an answer, a
    refused one counting as wrong. Citations are those of answers to these that were given, and `marked` are
    those with a sentence that is marked as being without support. `refused` is the share of the questions
    without an answer that were refused; where the set has none of these, that of all questions.
    """
    answerable = [item for item in items if item.question.answerable]
    others = [item for item in items if not item.question.answerable]
    given = [item for item in answerable if item.said]
    wrongly, rightly = _share(map(_refused, answerable)), _share(map(_refused, others))
    return {
        "questions": len(items),
        "em": _mean(item.score.em for item in answerable),
        "f1": _mean(item.score.f1 for item in answerable),
        "contains": _mean(item.score.contains for item in answerable),
        "refused": wrongly if rightly is None else rightly,
        "refused_answerable": wrongly,
        "refused_unanswerable": rightly,
        **_citations(given),
        "dangling": sum(item.outcome.dangling for item in items),
        "marked_right": _share(item.marked for item in given if item.score.contains),
        "marked_wrong": _share(item.marked for item in given if not item.score.contains),
        **_context(answerable),
        **_times(items),
        "failed": sum(bool(item.outcome.error) for item in items),
    }


def _refused(item: Item) -> bool:
    return item.outcome.refused


def _citations(given: Sequence[Item]) -> dict[str, Any]:
    """Citations of answers; an answer without any says nothing about their precision."""
    return {
        "citation_precision": _mean(item.precision for item in given if item.precision is not None),
        "citation_recall": _mean(item.recall for item in given),
        "cited": _share(bool(item.outcome.cited) for item in given),
        "answer_in_cited": _share(item.answer_in_cited for item in given if item.is_named),
    }


def _context(answerable: Sequence[Item]) -> dict[str, Any]:
    """What the model got to read."""
    recalls = [
        len(set(item.question.gold) & set(item.outcome.shown)) / len(item.question.gold)
        for item in answerable
    ]
    return {
        "context_recall": _mean(recalls),
        "answer_in_context": _share(item.outcome.answer_shown for item in answerable if item.is_named),
    }


def _times(items: Sequence[Item]) -> dict[str, Any]:
    """What questions took; those that were asked alone tell the time to the first word alone."""
    first = [item.outcome.first_word for item in items if item.outcome.first_word is not None]
    together = [item.outcome for item in items if item.outcome.first_word is None]
    timed = together or [item.outcome for item in items]
    prompts = [item.outcome.prompt_tokens for item in items if item.outcome.prompt_tokens]
    return {
        "seconds": rounded(mean(outcome.seconds for outcome in timed)),
        "processor_seconds": rounded(mean(outcome.processor for outcome in timed)),
        "first_word": rounded(median(first)) if first else None,
        "prompt_tokens": round(mean(prompts)) if prompts else 0,
    }


def difference(one: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """The mean difference of two ways on the same questions, with the bounds of the paired bootstrap.

    The questions are drawn again and again; the draws are the same every time.
    """
    deltas = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    if not len(deltas):
        return {}
    draws = np.random.default_rng(0).integers(0, len(deltas), size=(_SAMPLES, len(deltas)))
    means = deltas[draws].mean(axis=1)
    tail = (100 - INTERVAL) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return {"mean": rounded(deltas.mean()), "low": rounded(low), "high": rounded(high)}


def closed(own: Sequence[float], chunks: Sequence[float], gold: Sequence[float]) -> float | None:
    """The share of the way from plain chunks to the right passages; None if these are no better."""
    if not own:
        return None
    gap = mean(gold) - mean(chunks)
    return rounded((mean(own) - mean(chunks)) / gap) if gap >= _LEAST_GAP else None


def rounded(value: float) -> float:
    """A figure as it is told."""
    return round(float(value), 4)


def _mean(found: Iterable[float]) -> float | None:
    numbers = list(found)
    return rounded(mean(numbers)) if numbers else None


def _share(found: Iterable[bool]) -> float | None:
    return _mean(float(value) for value in found)
