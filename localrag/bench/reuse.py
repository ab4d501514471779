"""The experiment on kept passages: is putting cached cells together as good as reading, and how much faster?

Questions of an open set over the passages that the set names for them; answers are compared with the set's
own by whether they contain it, and by the overlap of words (F1, as SQuAD's measure has it).
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localrag.bench.data import passages
from localrag.engine.gguf import inspect
from localrag.engine.llama import Model
from localrag.engine.machine import physical_cores
from localrag.engine.reuse_trial import Answered, ReuseTrial
from localrag.engine.template import ChatTemplate
from localrag.engine.types import Message, Piece
from localrag.errors import ModelInvalid, UsageError

_RULE = "Answer the question from the passages with a few words, no sentence."
_MOST_WRITTEN = 24
_CONTEXT = 8192
_WORD = re.compile(r"\w+")
_DULL = {"a", "an", "the"}


@dataclass(frozen=True)
class Way:
    """One way of bringing passages before the model."""

    first_seconds: float
    """Median time to the scores of the first word."""

    contains: float
    """Share of the answers that contain one of the set's."""

    f1: float
    """Mean overlap of words with the best of the set's answers."""


@dataclass(frozen=True)
class ReuseResult:
    """Both ways over the same questions."""

    questions: int
    """How many."""

    passages_each: int
    """Passages before each question."""

    reading: Way
    """Passages are read again."""

    shifting: Way
    """Kept cells are put in a row."""

    same_answers: float
    """Share of questions with the same answer both ways."""

    kept_bytes_per_passage: int
    """Size of a passage's kept cells."""

    def as_json(self) -> dict[str, Any]:
        """For output."""
        return asdict(self)


def measure(path: Path, data: Path, set_name: str, tier: str, limit: int, each: int) -> ReuseResult:
    """Answer `limit` questions over `each` passages, the supporting ones among them, both ways.

    Raises `UsageError` if the set has no questions of the tier.
    """
    texts = {p.id: f"{p.title}: {p.text}\n" for p in passages(data, set_name, "M")}
    questions = _questions(data / set_name / "questions.jsonl", tier)[:limit]
    model = Model(path)
    trial = ReuseTrial(model, n_ctx=_CONTEXT, threads=physical_cores())
    fixed, end = _frame(model, path)
    trial.fix(fixed)
    read: list[Answered] = []
    shifted: list[Answered] = []
    sizes: list[int] = []
    try:
        for row in questions:
            chosen = [model.tokenize(text, special=False) for text in _before(row, each, texts)]
            question = model.tokenize(f"\nQuestion: {row['question']}", special=False) + end
            sizes += [trial.keep(passage) for passage in chosen]
            read.append(trial.by_reading(chosen, question, _MOST_WRITTEN))
            shifted.append(trial.by_shifting(chosen, question, _MOST_WRITTEN))
    finally:
        trial.close()
        model.close()
    answers = [[str(a) for a in row["answers"]] for row in questions]
    return ReuseResult(
        questions=len(questions),
        passages_each=each,
        reading=_way(read, answers),
        shifting=_way(shifted, answers),
        same_answers=round(
            sum(a.text == b.text for a, b in zip(read, shifted, strict=True)) / len(questions), 3
        ),
        kept_bytes_per_passage=int(statistics.mean(sizes)),
    )


def _frame(model: Model, path: Path) -> tuple[list[int], list[int]]:
    """The tokens before the passages and those behind the question."""
    template = inspect(path).chat_template
    if not template:
        raise ModelInvalid(f"{path.name} has no chat template.")
    marker = "Passages:\n"
    rendered = ChatTemplate(template, model.bos, model.eos).render(
        [
            Message("system", (Piece(_RULE, shared=True),)),
            Message("user", (Piece(marker, shared=True), Piece("?"))),
        ],
        lambda text, special: model.tokenize(text, special=special),
    )
    return list(rendered.shared), list(rendered.own[1:])


def _questions(path: Path, tier: str) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
    allowed = {"XS": {"XS"}, "S": {"XS", "S"}}.get(tier.upper(), {"XS", "S", "M"})
    found = [row for row in rows if row.get("tier") in allowed and row.get("answers")]
    if not found:
        raise UsageError(f"{path} has no questions of tier {tier}.")
    return found


def _before(row: dict[str, Any], each: int, texts: dict[str, str]) -> list[str]:
    """The supporting passages, filled up with others of the question, in the set's order."""
    wanted = list(dict.fromkeys([*row.get("supporting_ids", []), *row.get("context_ids", [])]))[:each]
    ordered = [one for one in row.get("context_ids", wanted) if one in wanted] or wanted
    return [texts[one] for one in ordered if one in texts]


def _way(answered: Sequence[Answered], answers: Sequence[Sequence[str]]) -> Way:
    pairs = list(zip(answered, answers, strict=True))
    contains = [any(_plain(a) in _plain(one.text) for a in right) for one, right in pairs]
    overlaps = [max(_f1(one.text, a) for a in right) for one, right in pairs]
    return Way(
        first_seconds=round(statistics.median(one.first_seconds for one in answered), 3),
        contains=round(sum(contains) / len(contains), 3),
        f1=round(statistics.mean(overlaps), 3),
    )


def _tokens(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _DULL]


def _plain(text: str) -> str:
    return f" {' '.join(_tokens(text))} "


def _f1(found: str, right: str) -> float:
    a, b = _tokens(found), _tokens(right)
    same = sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b)) if same else 0.0
