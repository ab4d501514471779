"""One chunk's claims: what is asked, and what an answer means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.claim_program import MAX_SENTENCES, ClaimRecords, ClaimSentence
from localrag.errors import PromptError, SettingsError
from localrag.extraction.claim_sentences import numbered_sentences
from localrag.extraction.claims import ClaimReader
from localrag.graph.names import fold
from localrag.sections import ClaimSettings, ExtractionSettings
from localrag.store.report_rows import ClaimName
from localrag.store.rows import ChunkRow
from tests.examples import examples
from tests.extraction.support import chunk, generation, thrown

TEXT = (
    "Norvell Shipping was fined by the Maritime Board in June 2014. Karin Voss denies it. "
    "The Maritime Board closed its inquiry on 3 May 2017."
)
HAN = "2019年3月，青河市环保局对华远化工处以罚款。赵立民否认公司有过错。"


def names(*given: str) -> list[ClaimName]:
    """Names as `name/type`."""
    parts = [text.partition("/") for text in given]
    return [ClaimName(fold(name), name, kind or "person", fold(name)) for name, _, kind in parts]


NAMES = names("Norvell Shipping/organization", "Maritime Board/organization", "Karin Voss/person")
HAN_NAMES = names("青河市环保局/organization", "华远化工/organization", "赵立民/person")


def reader(**changes: Any) -> ClaimReader:
    return ClaimReader(replace(ClaimSettings(), **changes), ExtractionSettings())


def program_of(made: ClaimReader, source: ChunkRow, given: list[ClaimName]) -> ClaimRecords:
    program = made.request(source, given).program
    assert isinstance(program, ClaimRecords)
    return program


def written(*records: str) -> str:
    return "".join(f"({record})##\n" for record in records) + "<|COMPLETE|>"


def test_the_prompt_holds_what_was_asked_for_and_shares_all_but_the_chunk() -> None:
    made = reader(entity_specs=("organization",), description="fines and {braces}", types=("fine", "Inquiry"))
    request = made.request(chunk(TEXT), NAMES)
    system, user = request.messages
    assert all(piece.shared for piece in system.pieces)
    for part in ("organization", "fines and {braces}", "FINE, INQUIRY", "(SUBJECT<|>OBJECT<|>TYPE"):
        assert part in system.text
    assert "NORVELL SHIPPING, MARITIME BOARD" in user.text
    assert "KARIN VOSS" not in user.text
    assert "\n2 Karin Voss denies it.\n3 The Maritime Board" in user.text
    assert not any(piece.shared and "Norvell" in piece.text for piece in user.pieces)
    other = made.request(chunk("Another text. With more."), names("Other/organization"))
    assert other.messages[0] == system


def test_the_program_offers_what_the_chunk_holds_and_nothing_else() -> None:
    program = program_of(reader(entity_specs=("person",)), chunk(TEXT), NAMES)
    assert program.subjects == ("KARIN VOSS",)
    assert program.objects == ("NORVELL SHIPPING", "MARITIME BOARD", "KARIN VOSS")
    assert program.sentences == (
        ClaimSentence(("NORVELL SHIPPING", "MARITIME BOARD"), (("2014-06-01", "2014-06-30"),)),
        # "denies it", "its inquiry": of whom the text spoke before.
        ClaimSentence(program.objects),
        ClaimSentence(program.objects, (("2017-05-03", "2017-05-03"),)),
    )
    assert not program.free_dates
    assert program_of(reader(dates="free"), chunk(TEXT), NAMES).free_dates
    chinese = program_of(reader(), chunk(HAN, "zh"), HAN_NAMES)
    assert chinese.subjects == ("青河市环保局", "华远化工", "赵立民")
    assert "一-龥" in chinese.type_pattern


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ((), ["Norvell Shipping", "Maritime Board", "Karin Voss"]),
        (("Organization",), ["Norvell Shipping", "Maritime Board"]),
        (("karin voss",), ["Karin Voss"]),
        (("the Maritime Board", "person"), ["Maritime Board", "Karin Voss"]),
        (("place",), []),
    ],
)
def test_claims_are_about_those_that_were_specified(specs: tuple[str, ...], expected: list[str]) -> None:
    assert [name.name for name in reader(entity_specs=specs).subjects(NAMES)] == expected


def test_a_merged_entity_is_meant_by_its_own_name() -> None:
    merged = [replace(NAMES[2], entity_key=fold("Karin Voss-Lind"))]
    assert reader(entity_specs=("Karin Voss-Lind",)).subjects(merged) == tuple(merged)


def test_what_was_written_becomes_claims_with_quotes_as_spans() -> None:
    text = written(
        "NORVELL SHIPPING<|>MARITIME BOARD<|>FINE<|>TRUE<|>2014-06-01T00:00:00<|>2014-06-30T00:00:00<|>"
        "Norvell Shipping was fined.<|>1",
        "KARIN VOSS<|>NONE<|>DENIAL<|>FALSE<|>NONE<|>NONE<|>Karin Voss denies it.<|>2, 3",
    )
    read = reader().read(chunk(TEXT), NAMES, generation(text))
    assert not read.rejects
    assert (read.swapped, read.undated) == (0, 0)
    fine, denial = read.claims
    assert (fine.subject_key, fine.object_key) == (fold("Norvell Shipping"), fold("Maritime Board"))
    assert (fine.start_date, fine.end_date) == ("2014-06-01", "2014-06-30")
    assert [TEXT[slice(*span)] for span in denial.quotes] == [
        "Karin Voss denies it.",
        "The Maritime Board closed its inquiry on 3 May 2017.",
    ]
    assert (denial.object_key, denial.start_date) == ("", "")


def test_a_date_that_no_quoted_sentence_names_is_taken_off_and_counted() -> None:
    text = written(
        "KARIN VOSS<|>NONE<|>DENIAL<|>FALSE<|>2014-06-01T00:00:00<|>2014-06-30T00:00:00<|>She denies.<|>2"
    )
    read = reader().read(chunk(TEXT), NAMES, generation(text))
    assert (read.claims[0].start_date, read.claims[0].end_date, read.undated) == ("", "", 1)
    read = reader(dates="free").read(chunk(TEXT), NAMES, generation(text))
    assert (read.claims[0].start_date, read.undated) == ("2014-06-01", 0)


def test_what_says_the_same_is_kept_once_with_the_quotes_of_both() -> None:
    first = "KARIN VOSS<|>NONE<|>DENIAL<|>FALSE<|>NONE<|>NONE<|>She denies it.<|>"
    read = reader().read(chunk(TEXT), NAMES, generation(written(f"{first}2", f"{first}3", f"{first}2")))
    (claim,) = read.claims
    assert len(claim.quotes) == 2
    assert [reject.reason for reject in read.rejects] == ["this claim was written before"] * 2


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("NOBODY<|>NONE<|>FINE<|>TRUE<|>NONE<|>NONE<|>x<|>1", "its subject is none"),
        ("KARIN VOSS<|>NOBODY<|>FINE<|>TRUE<|>NONE<|>NONE<|>x<|>1", "its object is not"),
        ("KARIN VOSS<|>KARIN VOSS<|>FINE<|>TRUE<|>NONE<|>NONE<|>x<|>1", "about one entity twice"),
        ("KARIN VOSS<|>NONE<|>FINE<|>TRUE<|>NONE<|>NONE<|>x<|>1, 9", "does not have"),
        ("KARIN VOSS<|>NONE<|>FINE<|>TRUE<|>NONE<|>NONE<|>x<|>1", "speaks of its subject"),
        ("KARIN VOSS<|>NONE<|>FINE<|>TRUE<|>NONE<|>NONE<|>NONE<|>2", "says nothing"),
        ("KARIN VOSS<|>NONE<|>OTHER<|>TRUE<|>NONE<|>NONE<|>x<|>1", "its type is not in the list"),
    ],
)
def test_what_breaks_a_promise_is_a_reject(record: str, reason: str) -> None:
    read = reader(types=("fine",)).read(chunk(TEXT), NAMES, generation(written(record)))
    assert not read.claims
    (reject,) = read.rejects
    assert reason in reject.reason


FOUR = (
    "Jack Dorn was tried. Jack Dorn hid the lamp. Jack Dorn paid no fine. Jack Dorn left Bergen in 1942. "
    "Holmes saw it in 1950."
)
FOUR_NAMES = names("Jack Dorn/person", "Holmes/person")


def test_no_date_outlives_the_quote_that_names_it() -> None:
    # The same words four times: three sentences are quoted, and the fourth is the one with the year.
    record = "JACK DORN<|>NONE<|>TRIAL<|>TRUE<|>{}<|>{}<|>He was tried.<|>{}"
    undated = [record.format("NONE", "NONE", number) for number in (1, 2, 3)]
    dated = record.format("1942-01-01T00:00:00", "1942-12-31T00:00:00", 4)
    read = reader().read(chunk(FOUR), FOUR_NAMES, generation(written(*undated, dated)))
    (claim,) = read.claims
    assert len(claim.quotes) == 3
    assert not any("1942" in FOUR[slice(*quote)] for quote in claim.quotes)
    assert (claim.start_date, claim.end_date) == ("", "")
    read = reader().read(chunk(FOUR), FOUR_NAMES, generation(written(dated, *undated)))
    (claim,) = read.claims
    assert any("1942" in FOUR[slice(*quote)] for quote in claim.quotes)
    assert claim.start_date == "1942-01-01"
    # An engine without a grammar may quote more than are kept.
    many = record.format("1942-01-01T00:00:00", "1942-12-31T00:00:00", "1, 2, 3, 4")
    (claim,) = reader().read(chunk(FOUR), FOUR_NAMES, generation(written(many))).claims
    assert (len(claim.quotes), claim.start_date) == (3, "")


DATED = st.lists(
    st.sampled_from(
        ["Ada Holm left in 1942.", "Ada Holm paid.", "Ada Holm sang on 3 May 1950.", "Bruno sat in 1942.",
         "She denied it in 2001.", "艾达在2016年被捕。", "There was rain."]
    ),
    min_size=1, max_size=8, unique=True,
)  # fmt: skip


@given(DATED, st.data())
@settings(max_examples=examples(150), deadline=None)
def test_whatever_is_written_every_date_is_named_by_a_stored_quote(
    given: list[str], data: st.DataObject
) -> None:
    text = " ".join(given)
    times = ["NONE<|>NONE", "1942-01-01T00:00:00<|>1942-12-31T00:00:00", "2016-01-01T00:00:00<|>2016-12-31",
             "2001-01-01<|>2001-12-31", "1950-05-03<|>1950-05-03"]  # fmt: skip
    record = st.builds(
        "{}<|>NONE<|>DEED<|>TRUE<|>{}<|>{}<|>{}".format,
        st.sampled_from(["ADA HOLM", "BRUNO KELL", "艾达"]),
        st.sampled_from(times),
        st.sampled_from(["So it was.", "It was so."]),
        st.lists(st.integers(1, 9), min_size=1, max_size=4).map(lambda found: ", ".join(map(str, found))),
    )
    records = data.draw(st.lists(record, max_size=8))
    who = names("Ada Holm", "Bruno Kell", "艾达")
    for claim in reader().read(chunk(text), who, generation(written(*records))).claims:
        quotes = " ".join(text[slice(*quote)] for quote in claim.quotes)
        assert claim.start_date[:4] in quotes
        assert len(claim.quotes) <= 3


def test_a_chinese_date_is_that_of_its_sentence() -> None:
    text = "那年冬天很冷。2016年，王小明因涉嫌盗窃被逮捕。周敏否认了指控。"
    given = names("王小明/人物", "周敏/人物")
    program = program_of(reader(), chunk(text, "zh"), given)
    assert program.sentences == (
        ClaimSentence(()),
        ClaimSentence(("王小明",), (("2016-01-01", "2016-12-31"),)),
        ClaimSentence(("周敏",)),
    )


def test_names_stand_in_a_claim_as_the_file_writes_them() -> None:
    text = "Marta Lind of the NASA archive met Krause Werke in 1920."
    said = "MARTA LIND'S friends, the NASA, and KRAUSE WERKE met on 1920-01-01T00:00:00, said ACME."
    record = f"MARTA LIND<|>NONE<|>MEETING<|>TRUE<|>NONE<|>NONE<|>{said}<|>1"
    given = names("Marta Lind/person", "Krause Werke/organization")
    (claim,) = reader().read(chunk(text), given, generation(written(record))).claims
    assert claim.description == (
        "Marta Lind'S friends, the NASA, and Krause Werke met on 1920-01-01, said ACME."
    )


def test_a_claim_about_a_day_that_there_is_not_is_a_reject_unless_the_text_says_so() -> None:
    record = "KARIN VOSS<|>NONE<|>DENIAL<|>FALSE<|>NONE<|>NONE<|>She denied it on {}.<|>1"
    given = names("Karin Voss/person")
    for day in ("1999-02-31", "31 June 1999", "30 February", "1999年2月31日"):
        text = "Karin Voss denied it."
        read = reader().read(chunk(text), given, generation(written(record.format(day))))
        assert [reject.reason for reject in read.rejects] == [
            "it names a day that the calendar does not have"
        ]
        text = f"Karin Voss denied it on {day}."
        read = reader().read(chunk(text), given, generation(written(record.format(day))))
        assert len(read.claims) == 1
    read = reader().read(
        chunk("Karin Voss denied it."), given, generation(written(record.format("29 February")))
    )
    assert len(read.claims) == 1


def test_one_entity_with_two_names_is_not_claimed_of_itself() -> None:
    text = "Marta Lind, called M. Lind, met Karl Bauer."
    given = names("Marta Lind", "M. Lind", "Karl Bauer")
    given[1] = replace(given[1], entity_key=given[0].entity_key)
    program = program_of(reader(), chunk(text), given)
    assert program.alike == (("MARTA LIND", "M. LIND"),)
    record = "MARTA LIND<|>M. LIND<|>MEETING<|>TRUE<|>NONE<|>NONE<|>x<|>1"
    (reject,) = reader().read(chunk(text), given, generation(written(record))).rejects
    assert reject.reason == "it is about one entity twice"


@pytest.mark.parametrize("dates", ["text", "free"])
@pytest.mark.parametrize(("text", "code", "given"), [(TEXT, "en", NAMES), (HAN, "zh", HAN_NAMES)])
def test_under_the_grammar_nothing_is_unusable(
    dates: str, text: str, code: str, given: list[ClaimName]
) -> None:
    made = reader(dates=dates, max_description=12)
    source = chunk(text, code)
    found = 0
    for seed in range(examples(15)):
        read = made.read(source, given, thrown(made.request(source, given).program, seed, 40))
        # A claim that says the same as another is the one thing that the grammar cannot see.
        assert all(reject.reason == "this claim was written before" for reject in read.rejects)
        assert read.swapped == 0
        spans = numbered_sentences(text)
        for claim in read.claims:
            assert all(quote in spans for quote in claim.quotes)
            assert claim.subject_key != claim.object_key
            assert {claim.subject_key, claim.object_key} - {""} <= {name.key for name in given}
        found += len(read.claims)
    assert found


HOSTILE = st.lists(
    st.sampled_from(
        ["<|>", "##", "<|COMPLETE|>", "<|im_end|>", "(", ")", "{input_text}", "\n", ". ", "。", "NONE", "a",
         "李", "\x00", "in 2015", "30 February 2020", "🙂", "%s", "']; DROP"]
    ),
    min_size=1,
    max_size=30,
).map("".join)  # fmt: skip


@given(
    HOSTILE,
    st.lists(HOSTILE, min_size=1, max_size=3, unique=True),
    st.sampled_from(["en", "zh"]),
    st.integers(0, 9),
)
@settings(max_examples=examples(60), deadline=None)
def test_texts_and_names_full_of_delimiters_are_harmless(
    text: str, given_names: list[str], code: str, seed: int
) -> None:
    made = reader(max_description=6, max_claims=2)
    given = [ClaimName(fold(name) or "x", name, "person", "x") for name in given_names]
    source = chunk(text, code)
    read = made.read(source, given, thrown(made.request(source, given).program, seed, 12))
    assert all(reject.reason == "this claim was written before" for reject in read.rejects)
    for claim in read.claims:
        assert all(0 <= start < end <= len(text) for start, end in claim.quotes)


@given(st.integers(0, 130))
@settings(max_examples=examples(30), deadline=None)
def test_sentences_are_never_more_than_the_grammar_takes(count: int) -> None:
    text = " ".join(f"This is sentence {number}." for number in range(count))
    spans = numbered_sentences(text)
    assert len(spans) <= MAX_SENTENCES
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")


def test_the_task_tells_specifications_apart_and_nothing_else() -> None:
    usual = reader().task
    assert reader(max_claims=3, max_tokens=99).task == usual
    others: list[dict[str, Any]] = [
        {"entity_specs": ("a",)},
        {"description": "x"},
        {"types": ("a",)},
        {"dates": "free"},
    ]
    assert len({usual, *(reader(**changes).task for changes in others)}) == 5


@pytest.mark.parametrize(
    "changes",
    [{"description": " "}, {"types": ("a<b",)}, {"types": ("fine", "true")}, {"types": ("x" * 41,)}],
)
def test_settings_without_meaning_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        reader(**changes)


def test_a_persons_prompt_is_used_and_a_broken_one_is_an_error(tmp_path: Path) -> None:
    own = tmp_path / "graphrag" / "en" / "claim_user.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\ndescription: d\ninputs: input_text\n---\nMine {not_an_input} {}: {input_text}\n")
    made = ClaimReader(ClaimSettings(), ExtractionSettings(), tmp_path)
    assert "Mine {not_an_input} {}: 1 Norvell" in made.request(chunk(TEXT), NAMES).messages[1].text
    own.write_text("---\ndescription: d\n---\nMine\n")
    with pytest.raises(PromptError, match="line 1"):
        ClaimReader(ClaimSettings(), ExtractionSettings(), tmp_path)
