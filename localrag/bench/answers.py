"""The measure of answers: questions of open sets, answered by a model that reads nothing, plain chunks, the
passages that the set names, or what the product finds; each compared with the set's own answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from localrag.bench.answers_asking import How, Outcome
from localrag.bench.answers_data import AnswerQuestion, AnswerSet
from localrag.bench.answers_figures import Item, closed, difference, figures, rounded
from localrag.bench.answers_run import Pace, answer_all, run_folder
from localrag.bench.answers_scores import WRONG, plain, score
from localrag.bench.claim_checks import claim_sets, measure_claims
from localrag.bench.retrieval_build import Builder
from localrag.engines import Engines
from localrag.settings import Settings

_COMPARED = (("localrag", "chunks"), ("localrag", "gold"), ("gold", "chunks"), ("localrag", "none"))
_SCORES = ("em", "f1", "contains")


@dataclass(frozen=True)
class Row:
    """One set, answered in one way."""

    data: AnswerSet
    """The set."""

    control: str
    """The way."""

    items: tuple[Item, ...]
    """One for each question."""

    def figures(self, *, many_hops: bool = False) -> dict[str, Any]:
        """What is told of it; of all questions, or of those that take many hops. Empty without any."""
        chosen = [item for item in self.items if item.question.many_hops or not many_hops]
        return figures(chosen) if chosen else {}


@dataclass(frozen=True)
class Asked:
    """What is measured."""

    sets: Sequence[AnswerSet]
    """The sets."""

    ways: Sequence[How]
    """How each is asked."""

    graph: bool = False
    """Whether the model reads the passages before the product is asked."""


def measure(
    asked: Asked, settings: Settings, engines: Engines, pace: Pace, dump: TextIO | None = None
) -> list[Row]:
    """Ask every set in every way; knowledge bases and answers are kept in the cache, and gone on with.

    `dump` gets one line of JSON for each question and way, set by set. Raises `Cancelled`, and what adding,
    reading and the models raise.
    """
    builder = Builder(settings, engines, pace.on_step, pace.stop)
    folder = run_folder(settings, engines, engines.embedder.space.fingerprint)
    rows = []
    for data in asked.sets:
        path = builder.plain(data.passages)
        for how in asked.ways:
            reading = asked.graph and how.control == "localrag"
            own = builder.read(data.passages) if reading else path
            outcomes = answer_all(own, data, how, engines, folder, pace)
            rows.append(Row(data, how.control, tuple(map(_item, _pairs(data, outcomes)))))
            _write(dump, rows[-1])
    return rows


def split(folder: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of sets of questions and of sets of claims; without any, none and all."""
    claims = claim_sets(folder)
    return [name for name in names if name not in claims], [
        name for name in claims if name in names or not names
    ]


def measure_checks(
    folder: Path, names: Sequence[str], dump: TextIO | None = None
) -> dict[str, dict[str, float]]:
    """How well the check of citations tells supported claims from others, by set; no model is asked.

    Raises `UsageError` if a line of a set is not what it should be.
    """
    found = {name: measure_claims(folder / name) for name in names}
    if dump is not None:
        for name, checks in found.items():
            for line in checks.lines():
                dump.write(json.dumps({"set": name, **json.loads(line)}, ensure_ascii=False) + "\n")
    return {name: checks.figures() for name, checks in found.items()}


def _pairs(
    data: AnswerSet, outcomes: Iterable[Outcome]
) -> Iterator[tuple[AnswerSet, AnswerQuestion, Outcome]]:
    for question, outcome in zip(data.questions, outcomes, strict=True):
        yield data, question, outcome


def _item(pair: tuple[AnswerSet, AnswerQuestion, Outcome]) -> Item:
    data, question, outcome = pair
    said = "" if outcome.refused or outcome.error else plain(outcome.answer)
    found = score(said, question.answers, chinese=data.chinese) if said else WRONG
    texts = {passage.id: f"{passage.title}\n{passage.text}" for passage in data.passages.passages}
    cited = "\n".join(texts[place] for place in outcome.cited)
    return Item(question, outcome, said, found, cited, data.chinese)


def as_json(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures for programs: `answers`, `many_hops` by set and way, `differences`, `closed` by set."""
    data: dict[str, dict[str, Any]] = {"answers": {}, "many_hops": {}, "differences": {}, "closed": {}}
    for row in rows:
        data["answers"].setdefault(row.data.name, {})[row.control] = row.figures()
        if hops := row.figures(many_hops=True):
            data["many_hops"].setdefault(row.data.name, {})[row.control] = hops
    for name in dict.fromkeys(row.data.name for row in rows):
        ways = {row.control: row for row in rows if row.data.name == name}
        data["differences"][name] = _differences(ways)
        if {"localrag", "chunks", "gold"} <= ways.keys():
            data["closed"][name] = {
                what: closed(*(values(ways[way], what) for way in ("localrag", "chunks", "gold")))
                for what in _SCORES
            }
    return data


def values(row: Row, what: str) -> list[float]:
    """One score of each question that has an answer."""
    return [getattr(item.score, what) for item in row.items if item.question.answerable]


def _differences(ways: dict[str, Row]) -> dict[str, Any]:
    return {
        f"{one}-{other}": {
            what: difference(values(ways[one], what), values(ways[other], what)) for what in _SCORES
        }
        for one, other in _COMPARED
        if one in ways and other in ways
    }


def _write(dump: TextIO | None, row: Row) -> None:
    if dump is None:
        return
    for item in row.items:
        line = {
            "set": row.data.name,
            "control": row.control,
            "question": item.question.text,
            "answers": item.question.answers,
            "gold": item.question.gold,
            "said": item.said,
            "em": item.score.em,
            "f1": rounded(item.score.f1),
            "contains": item.score.contains,
            "answer_in_cited": item.answer_in_cited,
            **item.outcome.to_json(),
        }
        dump.write(json.dumps(line, ensure_ascii=False) + "\n")
    dump.flush()
