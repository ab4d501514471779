"""Questions of open sets with the right answers, and which sets and tiers are asked by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localrag.bench.retrieval_data import QUESTIONS, QuestionSet, find_sets, load_set, read_rows
from localrag.errors import UsageError

_SMALL = "S"
_WHOLE = "M"
_UNANSWERABLE = "null"
_HOPS = ("hops", "level")
"""Fields of sets whose questions need several passages; such sets are few questions and are asked whole."""


@dataclass(frozen=True)
class AnswerQuestion:
    """One question of a set."""

    id: str
    """The set's own id."""

    text: str
    """What is asked."""

    answers: tuple[str, ...]
    """Each of them is right; empty if the passages hold no answer."""

    gold: tuple[str, ...]
    """Ids of the passages that are all needed."""

    many_hops: bool
    """Whether the passages must be found one over the other."""

    @property
    def answerable(self) -> bool:
        """Whether the passages hold an answer."""
        return bool(self.answers)


@dataclass(frozen=True)
class AnswerSet:
    """Passages, and questions about them with their answers."""

    passages: QuestionSet
    """The passages."""

    questions: tuple[AnswerQuestion, ...]
    """What is asked."""

    tier: str
    """The tier that both are of."""

    @property
    def name(self) -> str:
        """Name of the set's folder."""
        return self.passages.name

    @property
    def chinese(self) -> bool:
        """Whether answers are compared by characters."""
        return self.passages.language == "zh"


def load_answer_sets(
    folder: Path, names: Sequence[str], tier: str | None = None, limit: int = 0
) -> list[AnswerSet]:
    """The sets of these names, or those that are asked by default, with at most `limit` questions of each.

    Asked by default are sets that have a small run, passages that answer, and answers; of those whose
    questions have the same fields, in the same language, the one with the fewest passages. Without a `tier`
    a set whose questions name hops or a level is asked whole, another one in its small run; one without
    tiers is whole anyway. A `limit` takes questions evenly spread over the set. Raises `UsageError` as
    `load_set` does, and if there is nothing to ask.
    """
    if names:
        found = [_load(folder, name, tier) for name in dict.fromkeys(names)]
    else:
        found = _by_default(folder, tier)
    asked = [replace(data, questions=spread(data.questions, limit)) for data in found if data.questions]
    if not asked:
        raise UsageError("None of the sets has questions with answers.", "Name others with --set.")
    return asked


def spread(questions: Sequence[AnswerQuestion], limit: int) -> tuple[AnswerQuestion, ...]:
    """`limit` of the questions, evenly spread over their order; all if `limit` is 0."""
    count = len(questions)
    if not limit or count <= limit:
        return tuple(questions)
    return tuple(questions[(2 * i + 1) * count // (2 * limit)] for i in range(limit))


def _by_default(folder: Path, tier: str | None) -> list[AnswerSet]:
    """One set of each kind."""
    kinds: dict[tuple[str, ...], AnswerSet] = {}
    for name in find_sets(folder):
        rows = read_rows(folder / name / QUESTIONS, _WHOLE, ("id", "question"))
        if not any(row.get("tier") and row.get("answers") and row.get("supporting_ids") for row in rows):
            continue
        data = _load(folder, name, tier)
        kind = (data.passages.language, *sorted(set[str]().union(*rows)))
        known = kinds.get(kind)
        if known is None or len(data.passages.passages) < len(known.passages.passages):
            kinds[kind] = data
    return sorted(kinds.values(), key=lambda data: data.name)


def _load(folder: Path, name: str, tier: str | None) -> AnswerSet:
    if name not in find_sets(folder):
        raise UsageError(
            f"There is no set {name!r} in {folder}.", f"There are: {', '.join(find_sets(folder))}."
        )
    path = folder / name / QUESTIONS
    chosen = tier or _tier_of(read_rows(path, _WHOLE, ("id", "question")))
    data = load_set(folder, name, chosen)
    known = {question.id: question for question in data.questions}
    questions = []
    for row in read_rows(path, chosen, ("id", "question")):
        answers = _answers(path, row)
        if _is_unanswerable(row):
            questions.append(AnswerQuestion(row["id"], row["question"], (), (), False))
        elif answers and row["id"] in known:
            found = known[row["id"]]
            questions.append(AnswerQuestion(found.id, found.text, answers, found.gold, found.many_hops))
    return AnswerSet(data, tuple(questions), chosen)


def _tier_of(rows: Sequence[Mapping[str, Any]]) -> str:
    if any(field in row for row in rows for field in _HOPS):
        return _WHOLE
    return _SMALL if any("tier" in row for row in rows) else _WHOLE


def _is_unanswerable(row: Mapping[str, Any]) -> bool:
    """Whether the set says that its passages hold no answer. That none are named may have other reasons."""
    return not row.get("supporting_ids") and str(row.get("type", "")).casefold() == _UNANSWERABLE


def _answers(path: Path, row: Mapping[str, Any]) -> tuple[str, ...]:
    answers = row.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(answer, str) for answer in answers):
        raise UsageError(f"Question {row['id']!r} of {path} needs its answers as a list of texts.")
    return tuple(answer for answer in answers if answer.strip())
