"""Entities that a question names are found without a model, in English and in Chinese."""

from __future__ import annotations

import time

import pytest

from localrag.graph.names import fold
from localrag.retrieval.mentions import named_entities
from localrag.store.database import Store
from localrag.store.rows import EntityMention, GenerationRow, Reading


def names(store: Store, question: str, limit: int = 10) -> list[str]:
    return [row.name for row, _ in named_entities(store, question, limit)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who repaired the Halden Bridge?", {"Halden Bridge"}),
        ("WHO REPAIRED THE HALDEN BRIDGE?", {"Halden Bridge"}),
        ("What did Marta Lind and Ida Lind do in Halden?", {"Marta Lind", "Ida Lind", "Halden"}),
        ("Is “Marta Lind’s” mill old?", {"Marta Lind"}),
        ("陈玉兰把茶馆交给了谁？", {"陈玉兰"}),
        ("林小川和陈玉兰是什么关系", {"林小川", "陈玉兰"}),
        ("Who is 陈玉兰 of 临江茶馆?", {"陈玉兰", "临江茶馆"}),
        ("Nothing that is known", set()),
        ("", set()),
        ("?!。、", set()),
    ],
)
def test_names_in_a_question(store: Store, question: str, expected: set[str]) -> None:
    assert set(names(store, question)) == expected


def test_a_name_inside_a_longer_name_does_not_count(store: Store) -> None:
    assert "Halden" not in names(store, "the Halden Bridge")
    assert set(names(store, "the Halden Bridge and Halden")) == {"Halden Bridge", "Halden"}


def test_long_and_rare_names_come_first(store: Store) -> None:
    # Marta Lind is in two chunks, Ida Lind in one, Halden is one word.
    assert names(store, "Halden, Marta Lind, Ida Lind") == ["Ida Lind", "Marta Lind", "Halden"]
    assert names(store, "Halden, Marta Lind, Ida Lind", limit=1) == ["Ida Lind"]


def test_question_words_are_names_only_in_capitals(store: Store) -> None:
    mentions = tuple(EntityMention(name, fold(name), "concept", "") for name in ("WHO", "Will"))
    generation = GenerationRow("extraction", "", "", "{}", 0, 0, 0, "stop", "")
    store.graph.record(store.chunks.of_document(1)[0].id, Reading(mentions), generation)
    assert names(store, "Will it be known who will?") == []
    assert names(store, "What does the WHO say?") == ["WHO"]
    assert names(store, "What does Will say?") == ["Will"]


def test_foreign_names_whose_parts_a_point_joins_are_found_within_a_sentence(store: Store) -> None:
    mentions = tuple(
        EntityMention(name, fold(name), "人物", "") for name in ("埃达·索恩", "约翰·冯·诺恩", "索恩")
    )
    generation = GenerationRow("extraction", "", "", "{}", 0, 0, 0, "stop", "")
    store.graph.record(store.chunks.of_document(1)[0].id, Reading(mentions), generation)
    assert names(store, "请问埃达·索恩和灯塔是什么关系？") == ["埃达·索恩"]
    assert names(store, "约翰・冯・诺恩在哪里？") == ["约翰·冯·诺恩"]
    assert set(names(store, "埃达·索恩或约翰·冯·诺恩")) == {"埃达·索恩", "约翰·冯·诺恩"}


@pytest.mark.parametrize(
    "text", ["人·" * 10_000, "a b " * 5_000, "火星" * 10_000, "x" * 20_000, "\u0000\ud800 '\"%;--"]
)
def test_long_and_hostile_questions_are_quick(store: Store, text: str) -> None:
    began = time.process_time()
    assert names(store, text[:20_000]) == []
    assert time.process_time() - began < 2
