"""Record text: what is written is read back, and nothing that is read can break the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.extraction.spans import writable
from localrag.extraction.wire import (
    EntityRecord,
    Form,
    RelationRecord,
    format_records,
    parse,
)
from localrag.graph.names import fold

FIELD = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["C", "Z"]), st.sampled_from("ab cde()中文“,;:'\"|#<>")
    ),
    max_size=20,
).filter(lambda text: text == "" or writable(text))
NAME = FIELD.filter(lambda text: bool(text) and bool(fold(text)))
FORMS: list[Form] = ["lightrag", "graphrag"]


@st.composite
def records(draw: st.DrawFn, form: Form) -> tuple[list[EntityRecord], list[RelationRecord]]:
    names = draw(st.lists(NAME, max_size=5, unique_by=fold))
    entities = [EntityRecord(name, draw(FIELD), draw(FIELD)) for name in names]
    ordered = [(a, b) for a in names for b in names if a != b]
    pairs = ordered if form == "graphrag" else [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=4, unique=True)) if pairs else []
    relations = []
    for left, right in chosen:
        turned = form == "lightrag" and draw(st.booleans())
        source, target = (right, left) if turned else (left, right)
        if form == "graphrag":
            relations.append(RelationRecord(source, target, "", draw(FIELD), float(draw(st.integers(1, 10)))))
        else:
            relations.append(RelationRecord(source, target, draw(FIELD), draw(FIELD)))
    return entities, relations


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_what_is_written_is_read_back(form: Form, data: st.DataObject) -> None:
    entities, relations = data.draw(records(form))
    read = parse(format_records(entities, relations, form=form), form=form)
    assert list(read.entities) == entities
    assert list(read.relations) == relations
    assert read.rejects == ()
    assert read.complete


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "(",
                ")",
                "##",
                "<|>",
                "<|",
                "|>",
                "<|COMPLETE|>",
                "\n",
                "entity",
                "relationship",
                '"entity"',
                "A",
                "B",
                "7",
                " ",
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=40,
).map("".join)


@pytest.mark.parametrize("form", FORMS)
@given(text=HOSTILE)
def test_reading_never_fails_and_keeps_its_promises(form: Form, text: str) -> None:
    read = parse(text, form=form)
    keys = [fold(entity.name) for entity in read.entities]
    assert len(set(keys)) == len(keys)
    ends = [(fold(r.source), fold(r.target)) for r in read.relations]
    pairs = set(ends) if form == "graphrag" else {frozenset(pair) for pair in ends}
    assert len(pairs) == len(ends)
    assert all(len(set(pair)) == 2 and set(pair) <= set(keys) for pair in ends)
    assert read.parsed == len(read.entities) + len(read.relations) + len(read.rejects)
    assert all(reject.reason for reject in read.rejects)


@given(
    st.lists(
        st.sampled_from(
            ["(entity<|>A<|>t<|>d)", "(entity<|>B<|>t)", "(relationship<|>A<|>B<|>k<|>d)", "(x)", "word"]
        )
    )
)
def test_every_record_is_returned_or_rejected(lines: list[str]) -> None:
    assert parse("".join(f"{line}##\n" for line in lines)).parsed == len(lines)


def reasons(text: str, form: Form = "lightrag") -> list[tuple[str, str]]:
    return [(reject.kind, reject.reason) for reject in parse(text, form=form).rejects]


A = "(entity<|>A<|>person<|>first)##"
B = "(entity<|>B<|>person<|>second)##"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("(entity<|>A<|>person)##", "entity", "2 fields instead of 3"),
        ("(entity<|>A<|>person<|>a<|>b)##", "entity", "4 fields instead of 3"),
        ("(relationship<|>A<|>B<|>d)##", "relation", "3 fields instead of 4"),
        ("(thing<|>A<|>person<|>a)##", "unknown", "neither"),
        ("I found nothing.", "unknown", "cut off"),
        ("I found nothing.<|COMPLETE|>", "unknown", "neither"),
        ("(entity<|> <|>person<|>a)##", "entity", "name is empty"),
        (A + "(entity<|>the a<|>person<|>again)##", "entity", "written before"),
        (A + "(relationship<|>A<|>C<|>k<|>d)##", "relation", "'C' is not one of the entities"),
        (A + "(relationship<|>A<|>a<|>k<|>d)##", "relation", "to itself"),
        (A + "(entity<|>B<|>pers", "entity", "cut off"),
        (A + "(entity<|>B<|>person<|>a (b)", "entity", "cut off"),
        (A + "<|COMPLETE|>and more", "unknown", "behind the completion mark"),
    ],
)
def test_a_bad_record_is_rejected_with_its_reason(text: str, kind: str, reason: str) -> None:
    (found,) = reasons(text)
    assert found[0] == kind
    assert reason in found[1]


def test_a_pair_counts_once_whatever_its_direction() -> None:
    text = A + B + "(relationship<|>A<|>B<|>k<|>d)##(relationship<|>B<|>A<|>k<|>e)##"
    assert [r.description for r in parse(text).relations] == ["d"]
    assert reasons(text) == [("relation", "this pair was written before")]


def test_a_relation_may_come_before_its_entities_and_takes_their_spelling() -> None:
    read = parse("(relationship<|>the A<|>b<|>k<|>d)##" + A + B)
    assert [(r.source, r.target) for r in read.relations] == [("A", "B")]


def test_the_last_record_needs_no_delimiter_if_it_is_closed() -> None:
    assert [e.name for e in parse(A + "(entity<|>B<|>person<|>of (some) note)").entities] == ["A", "B"]


def test_records_that_a_line_break_parts_are_told_apart() -> None:
    read = parse("(entity<|>A<|>t<|>d)\n(entity<|>B<|>t<|>e)\n\n(relationship<|>A<|>B<|>k<|>d)")
    assert (len(read.entities), len(read.relations), read.rejects) == (2, 1, ())


def test_tags_are_read_with_and_without_quotes() -> None:
    text = '("entity"<|>A<|>T<|>d)##(entity<|>B<|>T<|>e)##("relationship"<|>A<|>B<|>why<|>7)##<|COMPLETE|>'
    (relation,) = parse(text, form="graphrag").relations
    assert (relation.description, relation.strength) == ("why", 7.0)


@pytest.mark.parametrize("strength", ["", "high", "0", "11", "-1", "inf", "nan", "1e1", "٧", "1_0"])
def test_a_strength_is_a_number_from_1_to_10(strength: str) -> None:
    text = A + B + f"(relationship<|>A<|>B<|>d<|>{strength})##"
    assert reasons(text, "graphrag") == [("relation", "its strength is not a number from 1 to 10")]


def test_known_names_may_be_ends_and_are_not_written_again() -> None:
    read = parse(A + "(relationship<|>A<|>Old<|>k<|>d)##(entity<|>Old<|>t<|>d)##", known=["Old"])
    assert [(r.source, r.target) for r in read.relations] == [("A", "Old")]
    assert [reject.reason for reject in read.rejects] == ["this entity was written before"]


@pytest.mark.parametrize(
    "text", ["a|b", "a<b", "C#", "a\nb", "a)b", "a(b", " a", "a\x00", "((a))", "\ud800", "\u202e"]
)
def test_what_cannot_be_read_back_is_not_written(text: str) -> None:
    with pytest.raises(ValueError, match="cannot stand"):
        format_records([EntityRecord(text, "t", "d")], [])
    with pytest.raises(ValueError, match="cannot stand"):
        format_records([EntityRecord("A", "t", text)], [])


def test_an_empty_name_is_not_written_and_a_strength_is_not_left_out() -> None:
    with pytest.raises(ValueError, match="cannot stand"):
        format_records([EntityRecord("", "t", "d")], [])
    with pytest.raises(ValueError, match="strength"):
        format_records([], [RelationRecord("A", "B", "", "d")], form="graphrag")
