"""The constraint that is built for a chunk."""

from __future__ import annotations

import re

import pytest

from localrag.engine.programs import Records, from_dict, to_dict
from localrag.extraction.program import MAX_KEYWORDS, Limits, Shape, records_program

LIMITS = Limits(entities=12, relations=10, description=100)


def program(names: list[str], limits: Limits = LIMITS, language: str = "en") -> Records:
    return records_program(names, ["person", "Other"], limits, Shape(language=language))


def test_entities_come_before_relations_between_them() -> None:
    built = program(["A", "B", "C", "D", "E"])
    entity, relation = built.kinds
    assert (entity.tag, relation.tag) == ("entity", "relationship")
    assert [field.name for field in entity.fields] == ["name", "type", "description"]
    assert [field.name for field in relation.fields] == ["source", "target", "keywords", "description"]
    assert [field.form for field in relation.fields[:2]] == ["used", "used"]
    assert entity.fields[0].values == ("A", "B", "C", "D", "E")
    assert entity.fields[1].values == ("person", "Other")
    assert (built.tuple_delimiter, built.record_delimiter, built.completion_delimiter) == (
        "<|>",
        "##",
        "<|COMPLETE|>",
    )


@pytest.mark.parametrize(("count", "maxima"), [(0, []), (1, [1]), (2, [2, 1]), (4, [4, 6]), (30, [12, 10])])
def test_no_more_records_than_names_and_pairs(count: int, maxima: list[int]) -> None:
    assert [kind.maximum for kind in program([f"N{i}" for i in range(count)]).kinds] == maxima


def test_limits_of_none_leave_the_records_out() -> None:
    assert [kind.tag for kind in program(["A", "B"], Limits(12, 0, 100)).kinds] == ["entity"]
    assert program(["A", "B"], Limits(0, 10, 100)).kinds == ()


def test_fields_are_bounded() -> None:
    entity, relation = program(["A", "B"]).kinds
    assert entity.fields[2].max_chars == 100
    assert [field.max_chars for field in relation.fields[2:]] == [MAX_KEYWORDS, 100]


def test_it_survives_the_trip_to_the_worker() -> None:
    for language in ("en", "zh"):
        built = program(["A", "B"], language=language)
        assert from_dict(to_dict(built)) == built


def chinese(number: int) -> re.Pattern[str]:
    return re.compile(program(["A", "B"], language="zh").kinds[1].fields[number].pattern)


@pytest.mark.parametrize("text", ["创办", "创办、经营", "a、b、c"])
def test_chinese_keywords_are_a_few_short_words(text: str) -> None:
    assert chinese(2).fullmatch(text)


@pytest.mark.parametrize(
    "text", ["", "创办，经营", "创办、", "一二三四五六七", "a、b、c、d", "a<b", "a)b", "好。"]
)
def test_chinese_keywords_are_no_sentence(text: str) -> None:
    assert not chinese(2).fullmatch(text)


@pytest.mark.parametrize("text", ["茶馆开在青石镇。", "茶馆(临江)开在青石镇", "茶馆，院子，树！"])
def test_a_chinese_description_is_one_sentence(text: str) -> None:
    assert chinese(3).fullmatch(text)


@pytest.mark.parametrize("text", ["", "一。二。", "a|b", "(a", "a)", "一\n二", "字" * 101])
def test_a_chinese_description_is_no_more_than_that(text: str) -> None:
    assert not chinese(3).fullmatch(text)
