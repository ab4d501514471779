"""The record text of claims, written and read back; and whatever else may come."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.claim_program import STATUSES
from localrag.extraction.claim_wire import ClaimRecord, format_claims, parse_claims
from localrag.extraction.delimiters import USUAL, Delimiters
from localrag.store.report_rows import ClaimStatus
from tests.examples import examples

FINE = (
    "(NORVELL<|>MARITIME BOARD<|>FINE<|>TRUE<|>2014-06-01T00:00:00<|>2014-06-30T00:00:00<|>"
    "Norvell was fined.<|>1, 3)##\n"
)
WORD = st.text("aBé李9.,-/'\"{}%🙂", min_size=1, max_size=6)
PLAIN = st.lists(st.one_of(WORD, WORD.map("({})".format)), min_size=1, max_size=3).map(" ".join)
DAYS = st.lists(st.dates().map(str), min_size=2, max_size=2).map(sorted)


@st.composite
def claims(draw: st.DrawFn) -> ClaimRecord:
    start, end = draw(DAYS)
    return ClaimRecord(
        subject=draw(PLAIN),
        object=draw(st.one_of(st.just(""), PLAIN)),
        type=draw(PLAIN),
        status=draw(st.sampled_from(("TRUE", "FALSE", "SUSPECTED"))),
        start=draw(st.sampled_from(("", start))),
        end=draw(st.sampled_from(("", end))),
        description=draw(PLAIN),
        quotes=tuple(sorted(draw(st.sets(st.integers(1, 40), min_size=1, max_size=3)))),
    )


@given(st.lists(claims(), max_size=4), st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_what_is_written_is_read_back(wanted: list[ClaimRecord], strange: bool) -> None:
    delimiters = Delimiters("^|^", "^;^", "^END^") if strange else USUAL
    read = parse_claims(format_claims(wanted, delimiters), delimiters)
    assert list(read.claims) == wanted
    assert read.complete
    assert not read.rejects
    assert read.swapped == 0


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from([FINE, "<|>", "##", "(", ")", "NONE", "1", "\n"])).map("".join)
    )
)
@settings(max_examples=examples(800), deadline=None)
def test_reading_never_fails_and_loses_nothing(text: str) -> None:
    read = parse_claims(text)
    pieces = [piece for piece in text.partition("<|COMPLETE|>")[0].split("##") if piece.strip()]
    extra = bool(text.partition("<|COMPLETE|>")[2].strip())
    assert len(read.claims) + len(read.rejects) == len(pieces) + extra
    for claim in read.claims:
        assert claim.quotes
        assert claim.subject
        assert not (claim.start and claim.end) or claim.start <= claim.end


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("TRUE", "PERHAPS", "its status is neither"),
        ("2014-06-30T00:00:00", "2014-06-31T00:00:00", "its date is none"),
        ("2014-06-30T00:00:00", "soon", "its date is none"),
        ("1, 3", "the first", "it quotes nothing"),
        ("NORVELL", " ", "it has no subject"),
        ("<|>FINE", "", "it has 7 fields instead of 8"),
    ],
)
def test_a_reject_says_what_is_wrong(old: str, new: str, reason: str) -> None:
    read = parse_claims(FINE.replace(old, new, 1) + "<|COMPLETE|>")
    assert not read.claims
    (reject,) = read.rejects
    assert reason in reject.reason


def test_a_record_that_was_cut_off_is_no_claim() -> None:
    read = parse_claims(FINE + FINE.removesuffix(", 3)##\n"))
    assert len(read.claims) == 1
    assert [reject.reason for reject in read.rejects] == ["it was cut off before its end"]


def test_an_end_before_its_start_is_exchanged_and_counted() -> None:
    turned = FINE.replace("2014-06-01", "2015-06-01")
    read = parse_claims(turned + FINE)
    assert read.swapped == 1
    assert [(claim.start, claim.end) for claim in read.claims] == [
        ("2014-06-30", "2015-06-01"),
        ("2014-06-01", "2014-06-30"),
    ]


def test_times_in_words_are_normalised() -> None:
    words = FINE.replace("2014-06-01T00:00:00", "in 2015").replace("2014-06-30T00:00:00", "March 2016")
    (claim,) = parse_claims(words).claims
    assert (claim.start, claim.end) == ("2015-01-01", "2016-03-31")


def test_a_record_may_stand_behind_the_number_of_its_sentence() -> None:
    (claim,) = parse_claims(FINE).claims
    text = format_claims([claim])
    assert text.startswith("1 (NORVELL<|>")
    assert parse_claims(text).claims == (claim,)
    assert not parse_claims(text).rejects


def test_there_is_one_list_of_statuses() -> None:
    assert get_args(ClaimStatus) == STATUSES


def test_a_field_that_cannot_be_written_is_refused() -> None:
    (claim,) = parse_claims(FINE).claims
    with pytest.raises(ValueError, match="cannot stand"):
        format_claims([ClaimRecord(**{**vars(claim), "description": "a <|> b"})])
