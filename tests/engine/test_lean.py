"""Lean records: what may be written line by line, and how it is read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.engine.lean import LeanDriver, LeanEntity, LeanRelation, parse_lean
from localrag.engine.names import NameBook, overlaps
from localrag.engine.programs import Field, LeanRecords, Record, Records
from localrag.engine.records import RecordsDriver
from localrag.engine.remote_check import fits
from localrag.errors import ConstraintError
from tests.engine.desk import Desk, chance, scripted

NAMES = (
    "Martin",
    "Martin Luther",
    "Martin Luther King Jr.",
    "END",
    "Sele",
    "北京",
    "北京大学",
    "a|b",
    "x -> y",
)
TYPES = ("person", "place")


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


@pytest.mark.parametrize("seed", range(40))
def test_every_line_is_well_formed(desk: Desk, seed: int) -> None:
    program = LeanRecords(NAMES, TYPES, max_entities=5, max_relations=6, loose=bool(seed % 2))
    result = desk.run(program, chance(seed), max_tokens=900, temperature=1.0, seed=seed)
    assert not result["error"]
    entities, relations = parse_lean(result["segments"])
    names = [entity.name for entity in entities]
    assert len(set(names)) == len(names) <= 5
    assert set(names) <= set(NAMES[:7])
    assert all(entity.type in TYPES for entity in entities)
    pairs = [frozenset((relation.source, relation.target)) for relation in relations]
    assert len(set(pairs)) == len(pairs) <= 6
    for relation in relations:
        assert relation.source != relation.target
        assert {relation.source, relation.target} <= set(names)
        assert 1 <= len(relation.phrase.split(" ")) <= 8
        assert not set(relation.phrase) & set("|<>#\n")
    if result["finish"] == "stop":
        assert [kind for kind, _ in result["segments"]].count("end") == 2
        assert "".join(text for _, text in result["segments"]) == result["text"]
    if seed % 2:
        assert not any(overlaps(a.casefold(), b.casefold()) for a in names for b in names if a != b)


@pytest.mark.parametrize("name", NAMES[:7])
def test_a_name_that_begins_like_others_can_end_anywhere(desk: Desk, name: str) -> None:
    """The lexer takes the longest match, so a blank behind a name could belong to a longer one."""
    other = "Sele" if name != "Sele" else "Martin"
    script = f"{name} | place\n{other} | person\nEND\n{name} -> {other} | near the old ferry\nEND"
    result = desk.run(LeanRecords(NAMES, TYPES), scripted(script))
    assert result["text"] == script
    assert parse_lean(result["segments"]) == (
        [LeanEntity(name, "place"), LeanEntity(other, "person")],
        [LeanRelation(name, other, "near the old ferry")],
    )


def test_an_empty_list_ends_both(desk: Desk) -> None:
    result = desk.run(LeanRecords(("a|b",), TYPES), chance(1))
    assert result["text"] == "END\nEND"
    assert parse_lean(result["segments"]) == ([], [])


def test_names_that_are_taken_can_be_joined() -> None:
    driver = LeanDriver(
        LeanRecords(("Sele",), TYPES, taken=("Kell", "Holt"), taken_pairs=(("Kell", "Holt"),))
    )
    assert '"Sele | "' in driver.first().lark
    step = driver.following("Sele | place\n")
    assert step is not None
    assert step.lark == 'start: "END\\n"\n'
    step = driver.following("END\n")
    assert step is not None
    assert '"Kell ->"' in step.lark
    step = driver.following("Kell ->")
    assert step is not None
    assert '" Sele | "' in step.lark
    assert '" Holt | "' not in step.lark


@pytest.mark.parametrize(
    "changes",
    [
        {"types": ("",)},
        {"types": ("a\nb",)},
        {"phrases": ("a\nb",)},
        {"type_words": 0},
        {"phrase_words": 0},
        {"word_chars": 0},
        {"taken": ("a|b",)},
    ],
)
def test_programs_without_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConstraintError):
        LeanDriver(LeanRecords(**{"names": NAMES, "types": TYPES, **changes}))  # type: ignore[arg-type]


@pytest.mark.parametrize("segment", [("entity", "Sele\n"), ("relationship", "a | b\n"), ("body", "x")])
def test_other_lines_are_refused(segment: tuple[str, str]) -> None:
    with pytest.raises(ValueError):
        parse_lean([segment])


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ("sele", "the sele ferry", True),
        ("sele", "seleburg", False),
        ("sele", "old seleburg of sele", True),
        ("北京", "北京大学", True),
        ("abc", "abc", True),
        ("holt", "mira", False),
        ("king", "king's college", True),
    ],
)
def test_names_overlap_in_whole_words(left: str, right: str, found: bool) -> None:
    assert overlaps(left, right) is found
    assert overlaps(right, left) is found


def test_loose_names_withdraw_what_they_hold() -> None:
    book = NameBook()
    values = ("Martin", "Martin Luther", "Sele")
    book.add("Martin Luther")
    assert book.free(values) == ["Martin", "Sele"]
    assert book.free(values, loose=True) == ["Sele"]


def test_loose_fields_of_delimited_records() -> None:
    field = Field("name", "new", ("Martin", "Martin Luther", "Sele"), loose=True)
    driver = RecordsDriver(Records((Record("entity", (field,), 3),)))
    driver.first()
    step = driver.following("(entity<|>Martin)##\n")
    assert step is not None
    assert '"Martin Luther"' not in step.lark
    assert '"Sele"' in step.lark


@pytest.mark.parametrize("phrases", [(), ("part of", "made by")])
def test_phrases_of_a_list_are_the_only_ones_and_may_come_again(phrases: tuple[str, ...]) -> None:
    driver = LeanDriver(LeanRecords(("Sele", "Holt"), ("a",), phrases=phrases))
    driver.first()
    for line in ("Sele | a\n", "Holt | a\n", "END\n"):
        driver.following(line)
    step = driver.following("Sele ->")
    assert step is not None
    assert fits(step, " Holt | part of\n")
    assert fits(step, " Holt | near\n") == (not phrases)
    # A phrase that is nobody's own is not compared with those before it.
    assert bool(driver.prose(" Holt | part of\n")[1]) == (not phrases)


def test_without_types_an_entity_has_a_few_words_of_its_own() -> None:
    step = LeanDriver(LeanRecords(("Sele",), (), type_words=2, type_chars=6)).first()
    assert fits(step, "Sele | small town\n")
    for line in ("Sele | a b c\n", "Sele | village\n", "Sele | \n", "Sele | a|b\n"):
        assert not fits(step, line)
