"""Drivers: the grammar that follows what was written. Here a careful writer plays the model."""

from __future__ import annotations

from typing import Literal

import pytest

from localrag.engine.constraints import CitedDriver, driver_for
from localrag.engine.programs import Choice, CitedText, Field, Record, Records
from localrag.engine.records import RecordsDriver
from localrag.engine.remote_check import fits
from localrag.errors import ConstraintError

NAMES = ("Mira Holt", "mira holt", "Sele", "the Sele Ferry", "C# Club", "Two\nLines", "a<b")


def program(**changes: object) -> Records:
    values: dict[str, object] = {
        "kinds": (
            Record(
                "entity",
                (
                    Field("name", "new", NAMES),
                    Field("type", "choice", ("person", "Other")),
                    Field("description", "text", max_chars=50),
                ),
                3,
            ),
            Record(
                "relationship",
                (Field("source", "used"), Field("target", "used"), Field("keywords", "text", max_chars=20)),
                4,
            ),
        ),
        **changes,
    }
    return Records(**values)  # type: ignore[arg-type]


def test_names_are_offered_once_whatever_their_case() -> None:
    driver = RecordsDriver(program())
    first = driver.first().lark
    assert '"Mira Holt"' in first
    assert '"mira holt"' not in first
    step = driver.following("(entity<|>Mira Holt<|>person<|>Keeper)##\n")
    assert step is not None
    assert '"Mira Holt"' not in step.lark


def test_names_that_hold_delimiters_or_line_breaks_are_never_offered() -> None:
    first = RecordsDriver(program()).first().lark
    for name in ("C# Club", "Two", "a<b"):
        assert name not in first


def test_no_relation_is_offered_before_two_names_are_known() -> None:
    driver = RecordsDriver(program())
    assert "(relationship" not in driver.first().lark
    step = driver.following("(entity<|>Sele<|>Other<|>Town)##\n")
    assert step is not None
    assert "(relationship" not in step.lark
    step = driver.following("(entity<|>Mira Holt<|>person<|>Keeper)##\n")
    assert step is not None
    assert "(relationship<|>" in step.lark


def test_a_pair_is_written_once_in_either_direction() -> None:
    driver = RecordsDriver(program())
    driver.first()
    for name in ("Sele", "Mira Holt", "the Sele Ferry"):
        driver.following(f"(entity<|>{name}<|>Other<|>x)##\n")
    half = driver.following("(relationship<|>Sele<|>")
    assert half is not None
    assert half.joins
    assert '"Mira Holt" | "the Sele Ferry"' in half.lark
    driver.following("Mira Holt<|>lives in)##\n")
    half = driver.following("(relationship<|>Mira Holt<|>")
    assert half is not None
    assert '"Sele"' not in half.lark
    assert '"the Sele Ferry"' in half.lark


def test_entities_cannot_return_after_relations_began() -> None:
    driver = RecordsDriver(program())
    driver.first()
    for name in ("Sele", "Mira Holt"):
        driver.following(f"(entity<|>{name}<|>Other<|>x)##\n")
    driver.following("(relationship<|>Sele<|>")
    step = driver.following("Mira Holt<|>home)##\n")
    assert step is not None
    assert "(entity" not in step.lark


def test_the_most_records_of_a_kind_are_kept() -> None:
    driver = RecordsDriver(program())
    driver.first()
    step = None
    for name in ("Sele", "Mira Holt", "the Sele Ferry"):
        step = driver.following(f"(entity<|>{name}<|>Other<|>x)##\n")
    assert step is not None
    assert "(entity" not in step.lark


def test_names_that_are_taken_count_as_written() -> None:
    driver = RecordsDriver(program(taken=("Sele", "Mira Holt"), taken_pairs=(("Mira Holt", "Sele"),)))
    first = driver.first().lark
    assert '"Sele"' not in first
    assert "(relationship" not in first


def test_names_in_capitals_are_known_by_what_they_stand_for() -> None:
    kinds = (
        Record("entity", (Field("name", "new", ("Sele", "Holt", "Pier"), upper=True),), 3),
        Record("relationship", (Field("a", "used", upper=True), Field("b", "used", upper=True)), 2),
    )
    driver = RecordsDriver(Records(kinds, quoted_tags=True))
    assert '"(\\"entity\\"<|>"' in driver.first().lark
    driver.following('("entity"<|>SELE)##\n')
    driver.following('("entity"<|>HOLT)##\n')
    half = driver.following('("relationship"<|>SELE<|>')
    assert half is not None
    assert '"HOLT"' in half.lark
    assert '"SELE"' not in half.lark


def test_names_that_look_the_same_in_capitals_are_offered_once() -> None:
    names = ("Straße", "STRASSE", "strasse", "\u0131", "i", "iPhone店")
    kinds = (Record("entity", (Field("name", "new", names, upper=True),), 6),)
    driver = RecordsDriver(Records(kinds))
    first = driver.first().lark
    assert first.count('"STRASSE"') == first.count('"I"') == 1
    assert '"iPhone店"' in first
    step = driver.following("(entity<|>I)##\n")
    assert step is not None
    assert '"I"' not in step.lark


def test_a_directed_pair_is_written_once_in_each_direction() -> None:
    driver = RecordsDriver(program(directed=True))
    driver.first()
    for name in ("Sele", "Mira Holt"):
        driver.following(f"(entity<|>{name}<|>Other<|>x)##\n")
    driver.following("(relationship<|>Sele<|>")
    step = driver.following("Mira Holt<|>home)##\n")
    assert step is not None
    assert 'F1X0: "Mira Holt"\n' in step.lark
    half = driver.following("(relationship<|>Mira Holt<|>")
    assert half is not None
    assert 'G0: "Sele"\n' in half.lark
    step = driver.following("Sele<|>of)##\n")
    assert step is not None
    assert "(relationship" not in step.lark


def test_no_field_holds_the_first_character_of_a_delimiter_and_every_other_one_is_allowed() -> None:
    marks = {"tuple_delimiter": "<SEP>", "record_delimiter": "~~", "completion_delimiter": "^END"}
    step = RecordsDriver(program(**marks)).first()
    assert fits(step, "(entity<SEP>Sele<SEP>Other<SEP>SEP and END/PES)~~\n")
    for text in ("a~b", "a^b", "a<b"):
        assert not fits(step, f"(entity<SEP>Sele<SEP>Other<SEP>{text})~~\n")


@pytest.mark.parametrize("begins", [("part of (it): ", "A/B [x]: "), ()])
@pytest.mark.parametrize("form", ["text", "pattern"])
def test_a_text_may_have_to_begin_in_a_certain_way(
    begins: tuple[str, ...], form: Literal["text", "pattern"]
) -> None:
    kinds = (Record("note", (Field("said", form, begins, 20, "[a-z ]{1,9}|x"),), 2),)
    step = RecordsDriver(Records(kinds)).first()
    for begin in begins:
        assert fits(step, f"(note<|>{begin}fine)##\n")
    assert fits(step, "(note<|>fine)##\n") == (not begins)


@pytest.mark.parametrize(
    "changes",
    [
        {"tuple_delimiter": ""},
        {"record_delimiter": "\n"},
        {"tuple_delimiter": " | "},
        {"completion_delimiter": "(end)"},
        {"kinds": (Record("link", (Field("a", "used"),), 1),)},
    ],
)
def test_programs_without_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConstraintError):
        driver_for(program(**changes))


def test_choices_must_differ() -> None:
    with pytest.raises(ConstraintError):
        driver_for(Choice(("yes", "yes")))


def test_an_answer_that_cites_needs_no_list_of_sources() -> None:
    driver = CitedDriver(CitedText(sources=3))
    driver.first()
    assert driver.following("The lamp was lit at six [2].") is None


def test_an_answer_without_citation_must_name_its_sources() -> None:
    driver = CitedDriver(CitedText(sources=2, heading="\n\n### References\n"))
    step = driver.following("The lamp was lit at six.")
    assert step is not None
    assert step.name == "sources"
    assert '"1" | "2"' in step.lark
    assert driver.following("\n\n### References\n[1]") is None


def test_a_refusal_has_no_sources() -> None:
    driver = CitedDriver(CitedText(sources=2))
    assert driver.following("I cannot say. [no-context]") is None
