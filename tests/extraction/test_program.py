"""The constraint that is built for a chunk."""

from __future__ import annotations

import re

import pytest

from localrag.engine.programs import Records, from_dict, to_dict
from localrag.extraction.program import MAX_KEYWORDS, Limits, Shape, records_program
from localrag.extraction.wire import Form, parse
from tests.extraction.support import thrown

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


@pytest.mark.parametrize("bound", [1, 3, 6, 7, 13, 20, 40, 200])
def test_keywords_are_no_longer_than_their_bound(bound: int) -> None:
    for language in ("en", "zh"):
        limits = Limits(entities=3, relations=3, description=100, keywords=bound)
        program = records_program(["A", "B"], ["t"], limits, Shape(language=language))
        field = program.kinds[1].fields[2]
        assert field.max_chars == bound
        if language == "zh":
            assert re.fullmatch(field.pattern, "字" * min(bound, 6))
            longest = "、".join(["字" * 6] * 3)
            fitting = [
                size for size in range(1, len(longest) + 1) if re.fullmatch(field.pattern, longest[:size])
            ]
            assert max(fitting) <= bound


@pytest.mark.parametrize("listed", [(), ("made", "part of")])
@pytest.mark.parametrize("form", ["lightrag", "graphrag"])
def test_another_script_is_begun_with_a_latin_letter(form: Form, listed: tuple[str, ...]) -> None:
    shape = Shape(form=form, relation_types=listed, latin=True)
    program = records_program(["陈玉兰", "青石镇"], ["t"], Limits(3, 3, 100), shape)
    texts = [field for kind in program.kinds for field in kind.fields if field.form == "text"]
    assert texts
    assert all(value[-1].isascii() and value[-1].isalpha() for field in texts for value in field.values)
    assert all(field.values for field in texts)
    # The grammar can be written by, and keeps to it.
    written = thrown(program, 3).text
    reader = parse(written, form=form, names={name: name for name in ("陈玉兰", "青石镇")})
    assert all(entity.description[:1].isascii() for entity in reader.entities)
    assert {entity.name for entity in reader.entities} <= {"陈玉兰", "青石镇"}
