"""Sets of questions are known by their files, and two of them as one set in two languages by their ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localrag.bench.retrieval_data import crossings, find_sets, load_set, load_sets
from localrag.errors import UsageError

PASSAGES: list[dict[str, Any]] = [
    {
        "id": "p1",
        "title": "The Tide Clock",
        "text": "The Tide Clock is a film that Ingrid Voss made.",
        "tier": "S",
    },
    {"id": "p2", "title": "Ingrid Voss", "text": "Ingrid Voss was born in Karsund.", "tier": "S"},
    {"id": "p3", "title": "Ingrid Voss", "text": "Ingrid Voss was born in Karsund.", "tier": "M"},
    {"id": "p4", "title": "", "text": "The mill stands above the river.", "tier": "M"},
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "Where was the maker of The Tide Clock born?",
        "supporting_ids": ["p1", "p3"],
        "hops": 3,
    },
    {
        "id": "q2",
        "question": "Where does the mill stand?",
        "supporting_ids": ["p4"],
        "tier": "M",
        "multihop": False,
    },
    {"id": "q3", "question": "Who is the king of nowhere?", "supporting_ids": [], "tier": "M"},
    {"id": "q4", "question": "What is missing?", "supporting_ids": ["p9"], "tier": "M"},
]
CHINESE_PASSAGES = [
    {"id": "p1", "title": "潮汐钟", "text": "《潮汐钟》是英格丽德·沃斯在冬天拍摄的一部电影。"},
    {"id": "p2", "title": "英格丽德·沃斯", "text": "英格丽德·沃斯出生在卡尔松的鱼市楼上。"},
    {"id": "p4", "title": "", "text": "磨坊在河的上方，年代很久远了。"},
]
CHINESE_QUESTIONS = [
    {"id": "q1", "question": "《潮汐钟》的导演在哪里出生？", "supporting_ids": ["p1", "p2"]},
    {"id": "q2", "question": "磨坊在哪里？", "supporting_ids": ["p4"]},
]


def write(folder: Path, name: str, passages: list[dict[str, Any]], questions: list[dict[str, Any]]) -> Path:
    own = folder / name
    own.mkdir(parents=True)
    for file, rows in (("corpus.jsonl", passages), ("questions.jsonl", questions)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (own / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_set_is_a_folder_with_both_files(tmp_path: Path) -> None:
    write(tmp_path, "b", PASSAGES, QUESTIONS)
    write(tmp_path, "a", PASSAGES, QUESTIONS)
    (tmp_path / "b" / "corpus.jsonl").unlink()
    assert find_sets(tmp_path) == ["a"]
    (tmp_path / "a" / "questions.jsonl").unlink()
    with pytest.raises(UsageError, match="no set"):
        find_sets(tmp_path)


def test_questions_without_passages_are_left_out_and_a_text_counts_once(tmp_path: Path) -> None:
    data = load_set(write(tmp_path, "tide", PASSAGES, QUESTIONS), "tide", "M")
    assert [passage.id for passage in data.passages] == ["p1", "p2", "p4"]
    assert [(question.id, question.gold) for question in data.questions] == [
        ("q1", ("p1", "p2")),
        ("q2", ("p4",)),
    ]
    assert [question.many_hops for question in data.questions] == [True, False]
    assert data.language == "en"
    assert len(load_set(tmp_path, "tide", "M", 1).questions) == 1


def test_tiers_are_nested_and_a_set_without_them_is_whole(tmp_path: Path) -> None:
    write(tmp_path, "tide", PASSAGES, [{**row, "tier": row.get("tier", "S")} for row in QUESTIONS])
    write(tmp_path, "chao", CHINESE_PASSAGES, CHINESE_QUESTIONS)
    small = load_set(tmp_path, "tide", "S")
    assert [passage.id for passage in small.passages] == ["p1", "p2"]
    assert [question.id for question in small.questions] == []
    assert len(load_set(tmp_path, "chao", "XS").passages) == 3
    with pytest.raises(UsageError, match="tier XS"):
        load_set(tmp_path, "tide", "XS")
    # Asked for by name it is an error; among all it is left out.
    assert [data.name for data in load_sets(tmp_path, (), "XS")] == ["chao"]
    with pytest.raises(UsageError, match="tier XS"):
        load_sets(tmp_path, ("tide",), "XS")


def test_sets_with_the_same_ids_in_two_languages_are_asked_crosswise(tmp_path: Path) -> None:
    write(
        tmp_path,
        "tide-en",
        PASSAGES[:2] + PASSAGES[3:],
        [{**QUESTIONS[0], "supporting_ids": ["p1", "p2"]}, QUESTIONS[1]],
    )
    write(tmp_path, "tide-zh", CHINESE_PASSAGES, CHINESE_QUESTIONS)
    write(tmp_path, "other", CHINESE_PASSAGES[2:], [{**CHINESE_QUESTIONS[1], "id": "another"}])
    # The same questions, but about other passages.
    write(
        tmp_path,
        "elsewhere-zh",
        [{**row, "id": f"x{row['id']}"} for row in CHINESE_PASSAGES],
        [
            {**row, "supporting_ids": [f"x{place}" for place in row["supporting_ids"]]}
            for row in CHINESE_QUESTIONS
        ],
    )
    pairs = crossings(load_sets(tmp_path, (), "M"))
    assert [(pair.name, pair.asks.name, pair.holds.name) for pair in pairs] == [
        ("tide-en-zh", "tide-en", "tide-zh"),
        ("tide-zh-en", "tide-zh", "tide-en"),
    ]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "p1"}', '{"id": 1, "text": "x"}'])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    write(tmp_path, "tide", PASSAGES, QUESTIONS)
    path = tmp_path / "tide" / "corpus.jsonl"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UsageError, match="Line 5"):
        load_set(tmp_path, "tide", "M")
