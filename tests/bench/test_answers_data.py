"""Which questions are asked, of which sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localrag.bench.answers_data import load_answer_sets, spread
from localrag.errors import UsageError
from tests.bench.questions import PASSAGES, QUESTIONS, tiered, write_questions

CHINESE = [{"id": "z", "title": "茶馆", "text": "陈玉兰把茶馆交给了林小川。", "tier": "S"}]
ASKED = [
    {
        "id": "z1",
        "question": "茶馆交给了谁？",
        "answers": ["林小川"],
        "supporting_ids": ["z"],
        "tier": "S",
    }
]


def without(rows: list[dict[str, Any]], *fields: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in fields} for row in rows]


def test_a_set_is_asked_in_its_small_run(tmp_path: Path) -> None:
    write_questions(tmp_path, "own", passages=tiered(PASSAGES))
    [data] = load_answer_sets(tmp_path, ["own"])
    assert (data.tier, data.chinese) == ("S", False)
    assert [question.id for question in data.questions] == ["q-who", "q-born", "q-colour"]
    [whole] = load_answer_sets(tmp_path, ["own"], "M")
    assert [question.id for question in whole.questions] == ["q-who", "q-born", "q-sunday", "q-colour"]


@pytest.mark.parametrize(("field", "value"), [("hops", 2), ("level", "hard")])
def test_questions_of_many_hops_are_asked_whole(tmp_path: Path, field: str, value: object) -> None:
    rows = [{**row, field: value} for row in QUESTIONS]
    write_questions(tmp_path, "own", rows, tiered(PASSAGES))
    [data] = load_answer_sets(tmp_path, ["own"])
    assert (data.tier, len(data.questions)) == ("M", 4)


def test_what_has_no_answer_is_told_from_what_names_no_passage(tmp_path: Path) -> None:
    lost = {"id": "lost", "question": "Who?", "answers": ["Ada"], "supporting_ids": [], "type": "Single"}
    write_questions(tmp_path, "own", [*QUESTIONS, lost], tiered(PASSAGES))
    [data] = load_answer_sets(tmp_path, ["own"], "M")
    assert {q.id: q.answerable for q in data.questions} == {
        "q-who": True,
        "q-born": True,
        "q-sunday": True,
        "q-colour": False,
    }


def test_by_default_one_set_of_each_kind_the_smallest(tmp_path: Path) -> None:
    rows = without(QUESTIONS[:3], "type")
    write_questions(tmp_path, "big", rows, tiered([*PASSAGES, {"id": "x", "title": "", "text": "More."}]))
    write_questions(tmp_path, "small", rows, tiered(PASSAGES))
    write_questions(tmp_path, "zh", ASKED, CHINESE)
    write_questions(tmp_path, "without-small-run", without(rows, "tier"))
    write_questions(tmp_path, "without-answers", [{**row, "answers": []} for row in rows], tiered(PASSAGES))
    write_questions(tmp_path, "refusing", QUESTIONS, tiered(PASSAGES))
    assert [data.name for data in load_answer_sets(tmp_path, [])] == ["refusing", "small", "zh"]
    [data] = load_answer_sets(tmp_path, ["without-small-run"])
    assert (data.tier, len(data.questions)) == ("M", 3)


def test_few_are_spread_over_all(tmp_path: Path) -> None:
    write_questions(tmp_path, "own", passages=tiered(PASSAGES))
    [data] = load_answer_sets(tmp_path, ["own"], "M", limit=2)
    assert [question.id for question in data.questions] == ["q-born", "q-colour"]
    assert spread(data.questions, 5) == data.questions
    assert spread(data.questions, 0) == data.questions


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    write_questions(tmp_path, "own", [{**QUESTIONS[0], "answers": "Berg"}], tiered(PASSAGES))
    with pytest.raises(UsageError, match=r"'q-who' of .* needs its answers as a list"):
        load_answer_sets(tmp_path, ["own"])
    with pytest.raises(UsageError, match="no set 'other'"):
        load_answer_sets(tmp_path, ["other"])
    write_questions(tmp_path, "own", [{**QUESTIONS[0], "answers": []}], tiered(PASSAGES))
    with pytest.raises(UsageError, match="None of the sets has questions with answers"):
        load_answer_sets(tmp_path, ["own"])
    with pytest.raises(UsageError, match="None of the sets"):
        load_answer_sets(tmp_path, [])
