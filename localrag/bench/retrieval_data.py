"""Open sets of questions with the passages that answer them: found by their files, no set known by name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrag.bench.data import DataPassage
from localrag.documents import language
from localrag.errors import UsageError

CORPUS = "corpus.jsonl"
QUESTIONS = "questions.jsonl"
"""The two files that make a folder such a set."""

_TIERS = {"XS": {"XS"}, "S": {"XS", "S"}}
_MANY_HOPS = 3
_PARALLEL = 0.9
"""Share of the questions that another set must have too for both to be one set in two languages."""


@dataclass(frozen=True)
class DataQuestion:
    """One question of a set."""

    id: str
    """The set's own id."""

    text: str
    """What is asked."""

    gold: tuple[str, ...]
    """Ids of the passages that are all needed."""

    many_hops: bool
    """Whether the set says that the passages must be found one over the other: `multihop`, or three hops and
    more."""


@dataclass(frozen=True)
class QuestionSet:
    """Passages and what is asked of them."""

    name: str
    """Name of its folder."""

    passages: tuple[DataPassage, ...]
    """The passages of the tier, in the file's order."""

    questions: tuple[DataQuestion, ...]
    """The questions of the tier whose passages are known, in the file's order."""

    language: str
    """The language of the passages, such as `en`."""


@dataclass(frozen=True)
class Crossing:
    """The questions of one set, asked of the passages of another one in a different language."""

    name: str
    """The set that asks, a dash, the language of the passages."""

    asks: QuestionSet
    """Whose questions they are."""

    holds: QuestionSet
    """Whose passages are searched."""


def find_sets(folder: Path) -> list[str]:
    """The sets in a folder, by name. Raises `UsageError` if there is none."""
    try:
        found = sorted(path.parent.name for path in folder.glob(f"*/{QUESTIONS}") if path.is_file())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.", "Give another folder.") from error
    found = [name for name in found if (folder / name / CORPUS).is_file()]
    if not found:
        raise UsageError(
            f"There is no set with {CORPUS} and {QUESTIONS} in {folder}.",
            "Give the folder of the sets with --data.",
        )
    return found


def load_set(folder: Path, name: str, tier: str, limit: int = 0) -> QuestionSet:
    """A set's passages and questions of a tier (`XS`, `S` or `M`, nested), at most `limit` questions.

    A `limit` of 0 is all. A set without tiers is whole in each. Questions that name no passage are left out,
    so a set may have none. Raises `UsageError` if there is no such set, a line is not what it should be, or
    the tier has no passage.
    """
    if name not in find_sets(folder):
        raise UsageError(
            f"There is no set {name!r} in {folder}.", f"There are: {', '.join(find_sets(folder))}."
        )
    passages = [_passage(row) for row in read_rows(folder / name / CORPUS, tier, ("id", "text"))]
    if not passages:
        raise UsageError(f"{name} has no passages of tier {tier}.", "Choose another with --tier.")
    # The same text twice is one passage, whichever of its ids a question names.
    distinct: dict[tuple[str, str], DataPassage] = {}
    first = {p.id: distinct.setdefault((p.title.strip(), p.text.strip()), p).id for p in passages}
    passages = list(distinct.values())
    rows = read_rows(folder / name / QUESTIONS, tier, ("id", "question"))
    questions = [question for row in rows if (question := _question(row, first)) is not None]
    spoken = Counter(language.detect(passage.text) for passage in passages)
    return QuestionSet(
        name=name,
        passages=tuple(passages),
        questions=tuple(questions[:limit] if limit else questions),
        language=spoken.most_common(1)[0][0],
    )


def load_sets(folder: Path, names: Sequence[str], tier: str, limit: int = 0) -> list[QuestionSet]:
    """The sets of these names, or all sets with passages of the tier and questions that name some.

    Raises `UsageError` as `load_set` does, and if there is nothing to ask.
    """
    if names:
        sets = [load_set(folder, name, tier, limit) for name in dict.fromkeys(names)]
    else:
        known = find_sets(folder)
        tiered = [name for name in known if read_rows(folder / name / CORPUS, tier, ("id", "text"))]
        sets = [load_set(folder, name, tier, limit) for name in tiered]
    found = [data for data in sets if data.questions]
    if not found:
        raise UsageError(f"No question of tier {tier} names its passages.", "Choose another with --tier.")
    return found


def crossings(sets: Sequence[QuestionSet]) -> list[Crossing]:
    """Each set asked in another one's language: pairs with the same questions and passages by their ids."""
    found = []
    for asks in sets:
        for holds in sets:
            if asks.language != holds.language and _are_parallel(asks, holds):
                name = (
                    asks.name if asks.name.endswith(f"-{asks.language}") else f"{asks.name}-{asks.language}"
                )
                found.append(Crossing(f"{name}-{holds.language}", asks, holds))
    return found


def _are_parallel(one: QuestionSet, other: QuestionSet) -> bool:
    ids = {question.id for question in one.questions}
    common = ids & {question.id for question in other.questions}
    places = {place for question in one.questions for place in question.gold}
    return bool(ids) and len(common) >= _PARALLEL * len(ids) and places <= {p.id for p in other.passages}


def read_rows(path: Path, tier: str, needed: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a tier; of all if the file knows no tiers."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"Line {number} of {path} is not JSON: {error}.") from error
        if not isinstance(row, dict) or any(not isinstance(row.get(key), str) for key in needed):
            raise UsageError(f"Line {number} of {path} needs {' and '.join(needed)} as text.")
        rows.append(row)
    allowed = _TIERS.get(tier.upper())
    if allowed is None or not any("tier" in row for row in rows):
        return rows
    return [row for row in rows if row.get("tier") in allowed]


def _passage(row: Mapping[str, Any]) -> DataPassage:
    return DataPassage(row["id"], str(row.get("title") or ""), row["text"])


def _question(row: Mapping[str, Any], first: Mapping[str, str]) -> DataQuestion | None:
    """The question; None if it names no passage, or one that is not there."""
    gold = [str(place) for place in row.get("supporting_ids") or ()]
    if not gold or not first.keys() >= set(gold):
        return None
    hops = row.get("hops")
    many = bool(row.get("multihop")) or (isinstance(hops, int) and hops >= _MANY_HOPS)
    return DataQuestion(row["id"], row["question"], tuple(dict.fromkeys(first[g] for g in gold)), many)
