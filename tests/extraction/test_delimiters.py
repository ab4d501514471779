"""Delimiters: which are refused and why, and that text which is full of them does no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.errors import SettingsError
from localrag.extraction.delimiters import MAX_DELIMITER, USUAL, Delimiters
from localrag.extraction.extractor import Extractor
from localrag.extraction.wire import EntityRecord, RelationRecord, format_records, parse
from localrag.sections import ExtractionSettings


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" ", "blank"),
        ("< >", "blank"),
        ("<|>\n", "line break"),
        ("<\t>", "blank"),
        ("\u3000|", "blank"),
        ("<\x07>", "control character"),
        ("<\u202e>", "control character"),
        ("<\u200b>", "control character"),
        ("<(>", "parenthesis"),
        (")", "parenthesis"),
        ("SEP", "letters"),
        ("分隔", "letters"),
        ("123", "letters or digits"),
        ("x|y", "begins with 'x'"),
        (",", "begins with ','"),
        ('"|', "begins with"),
        ("。", "begins with '。'"),
        ("#" * (MAX_DELIMITER + 1), "longer than 20"),
        ("<|im_end|>", "control token"),
        ("</s>", "control token"),
    ],
)
def test_what_is_no_delimiter_is_refused_with_the_reason(text: str, reason: str) -> None:
    for name in ("tuple_delimiter", "record_delimiter", "completion_delimiter"):
        settings = ExtractionSettings(**{name: text})  # type: ignore[arg-type]
        with pytest.raises(SettingsError) as caught:
            Extractor(settings)
        assert f"extraction.{name} cannot be" in caught.value.message
        assert reason in caught.value.message
        assert caught.value.hint


@pytest.mark.parametrize(
    ("fields", "records", "completion", "reason"),
    [
        ("##", "##", "<E>", "are the same"),
        ("<|>", "##", "<|>", "are the same"),
        ("#", "##", "<E>", "contains"),
        ("<|>", "#", "#END", "contains"),
        ("<|>", "##", "<E>##", "contains"),
        ("<|>", "<|>|", "<E>", "contains"),
        # Two of the first with nothing between would read as the second.
        ("|~|", "||", "<END>", "where two"),
    ],
)
def test_delimiters_that_cannot_be_told_apart_are_refused(
    fields: str, records: str, completion: str, reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        Delimiters(fields, records, completion)


USABLE = [
    USUAL,
    Delimiters("<SEP>", "<REC>", "<END>"),
    Delimiters("||", "@@", "{END}"),
    Delimiters("~", "^", "="),
    Delimiters("[]", "\\", "/done"),
    Delimiters("⟦f⟧", "⟦r⟧", "⟦end⟧"),
]


@pytest.mark.parametrize("delimiters", USABLE, ids=lambda d: d.fields)
def test_records_survive_with_any_usable_delimiters(delimiters: Delimiters) -> None:
    entities = [EntityRecord("A", "t", "d"), EntityRecord("B", "", "")]
    relations = [RelationRecord("A", "B", "", "e (f)")]
    read = parse(format_records(entities, relations, delimiters), delimiters)
    assert (list(read.entities), list(read.relations), read.rejects, read.complete) == (
        entities,
        relations,
        (),
        True,
    )


MARKS = st.text(st.sampled_from("<>|#@~^=+[]{}/\\x1⟦"), max_size=5)


@given(MARKS, MARKS, MARKS)
def test_whatever_is_not_refused_parts_records(fields: str, records: str, completion: str) -> None:
    try:
        delimiters = Delimiters(fields, records, completion)
    except SettingsError:
        return
    entities = [EntityRecord("a b", "", ""), EntityRecord("c", "t", "d")]
    relations = [RelationRecord("a b", "c", "", "")]
    read = parse(format_records(entities, relations, delimiters), delimiters)
    assert (list(read.entities), list(read.relations), read.complete) == (entities, relations, True)
