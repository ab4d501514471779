"""How likely candidates are to be names: order, overlaps, what the types ask for, and the shipped tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.extraction.candidates import Candidate, find_candidates, folded
from localrag.extraction.chances import OVERLAPS, Sighting, chances, overlaps
from localrag.extraction.han_words import FOREIGN, units
from localrag.extraction.lexicon import chinese_words, english_words, weights
from localrag.extraction.tokens import runs, tokenise
from localrag.extraction.wanted import Wanted, wanted
from localrag.graph.names import fold
from tests.examples import examples

TERMS = ("person", "method")
PLACES = ("person", "location")


def found(text: str, types: tuple[str, ...] = ()) -> dict[str, Candidate]:
    return {candidate.text: candidate for candidate in find_candidates(text, 800, types)}


@pytest.mark.parametrize(
    ("text", "name", "scrap"),
    [
        ("The bridge was drawn by Marta Lind of Halden University.", "Marta Lind", "Lind"),
        ("The bridge was drawn by Marta Lind of Halden University.", "Halden University", "Halden"),
        ("The bridge was drawn by Marta Lind of Halden University.", "Marta Lind", "bridge"),
        ("They spoke with President Ole Brandt about it.", "Ole Brandt", "President"),
        ("He met Ann Bell and Tom Rusk there.", "Tom Rusk", "Ann Bell and Tom Rusk"),
        ("The Department of Roads and Rivers paid for it.", "Department of Roads and Rivers", "Rivers"),
        ("林小川后来在临江大学教书。", "临江大学", "大学教书"),
        ("公司买下了《长河之歌》的版权。", "长河之歌", "版权"),
        ("他常常提起玛丽亚·贝尔的画。", "玛丽亚·贝尔", "画"),
    ],
)
def test_a_name_is_likelier_than_a_scrap_of_it(text: str, name: str, scrap: str) -> None:
    offered = found(text)
    assert offered[name].chance > (offered[scrap].chance if scrap in offered else 0.0)


@pytest.mark.parametrize("text", ["Ole Brandt met Ida in Rome.", "陈玉兰在青石镇开办了临江茶馆。", "x y z"])
def test_chances_are_between_zero_and_one(text: str) -> None:
    assert all(0.0 <= candidate.chance <= 1.0 for candidate in find_candidates(text))


def test_the_likeliest_stay_when_there_are_too_many() -> None:
    text = "The old bridge near the big river was drawn by Marta Lind of Halden University."
    few, all_ = find_candidates(text, 3), find_candidates(text)
    left_out = {item.text for item in all_} - {item.text for item in few}
    assert min(item.chance for item in few) >= max(item.chance for item in all_ if item.text in left_out)


def test_terms_count_if_a_type_can_hold_them() -> None:
    text = "She used signal processing and speech recognition, two kinds of machine learning."
    term = "speech recognition"
    assert found(text, TERMS)[term].chance > found(text, PLACES)[term].chance


@pytest.mark.parametrize(
    ("text", "date"), [("It was built in 1931 by hand.", "1931"), ("他于1931年来到这里。", "1931年")]
)
def test_dates_count_if_a_type_can_hold_them(text: str, date: str) -> None:
    assert found(text, ("person", "date"))[date].chance > found(text, PLACES)[date].chance


def test_numbers_are_offered_only_where_they_count() -> None:
    text = "It lasted seven weeks and cost 340 lives."
    assert {"seven weeks", "340"} <= found(text, ("person", "number")).keys()
    assert not {"seven", "340"} & found(text, PLACES).keys()


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((), Wanted(terms=True, dates=True, numbers=False)),
        (PLACES, Wanted(terms=False, dates=False, numbers=False)),
        (("Chemical Compound", "date"), Wanted(terms=True, dates=True, numbers=False)),
        (("point_in_time",), Wanted(terms=False, dates=True, numbers=False)),
        (("人物", "时间", "数量"), Wanted(terms=False, dates=True, numbers=True)),
        (("enumerator", "timesheet"), Wanted(terms=False, dates=False, numbers=False)),
    ],
)
def test_what_types_ask_for(types: tuple[str, ...], expected: Wanted) -> None:
    assert wanted(types) == expected


def test_kinds_say_what_the_form_says() -> None:
    text = "On April 14, 1952 Ida paid $3 million for “Tales of the Weir” and a tied arch."
    kinds = {name: candidate.kind for name, candidate in found(text).items()}
    expected = {
        "April 14, 1952": "date",
        "$3 million": "amount",
        "Tales of the Weir": "quoted",
        "Ida": "name",
    }
    assert {name: kinds[name] for name in expected} == expected
    assert kinds["tied arch"] == "run"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("He played at the Oslo 2014 Winter Games.", "2014 Winter Games"),
        ("They danced to New Mexico music all night.", "New Mexico music"),
        ("She sang Judy at Orchard Hall twice.", "Judy at Orchard Hall"),
        ("约翰-洛克伍德-吉卜林来了。", "约翰-洛克伍德-吉卜林"),
    ],
)
def test_names_that_were_missed_once_are_offered(text: str, name: str) -> None:
    assert name in found(text)


def sighting(start: int, end: int) -> Sighting:
    return Sighting(start, end, ())


def test_overlaps_tell_what_holds_lies_in_and_crosses() -> None:
    places = {"outer": [sighting(0, 9)], "inner": [sighting(2, 5)], "cross": [sighting(4, 12)]}
    own = {"outer": 2.0, "inner": 1.0, "cross": -1.0}
    numbers = {name: dict(zip(OVERLAPS, row, strict=True)) for name, row in overlaps(places, own).items()}
    assert numbers["inner"]["holds+"] == 1.0
    assert numbers["outer"]["empty"] == 0.0
    assert numbers["outer"]["alone"] == 1.0
    assert numbers["cross"]["crossed+"] == 3.0
    assert numbers["inner"]["crossed"] == pytest.approx(1 / (1 + 2.718281828))


def test_a_place_that_stands_alone_counts_more_than_one_inside_another_name() -> None:
    own = {"long": 3.0, "short": 1.0}
    inside = {"long": [sighting(0, 9)], "short": [sighting(0, 3)]}
    also_alone = {"long": [sighting(0, 9)], "short": [sighting(0, 3), sighting(20, 23)]}
    language = dict.fromkeys(own, "words")
    assert chances(also_alone, own, language)["short"] > chances(inside, own, language)["short"]


def test_an_unlikely_candidate_has_no_say() -> None:
    places = {"name": [sighting(0, 9)], "scrap": [sighting(0, 3)]}
    alone = overlaps({"name": places["name"]}, {"name": 1.0})["name"]
    assert overlaps(places, {"name": 1.0, "scrap": -6.0})["name"] == alone


_WORDS = "the The cars boxes flies US is news as glasses 1930s x-y U.S. Theses gas 中国 lens é Ⅳ"
_NAME = st.lists(st.sampled_from(sorted(set(_WORDS.split(" ")))), min_size=1, max_size=4)


@settings(max_examples=examples(300), deadline=None)
@given(_NAME, st.sampled_from([" ", "", "-"]))
def test_the_quick_key_is_the_folded_key(words: list[str], between: str) -> None:
    name = between.join(words)
    assert folded(name) == fold(name)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="天地中国阿贝尔·-A1的了 ", max_size=30))
def test_units_cover_their_run_in_order(text: str) -> None:
    for run in runs(tokenise(text)):
        found_units = units(text, run)
        assert "".join(unit.text for unit in found_units) == "".join(token.text for token in run)
        assert all(text[unit.start : unit.end] == unit.text for unit in found_units)


def test_a_joined_foreign_name_is_one_unit() -> None:
    text = "画家玛丽亚·贝尔来了"
    (run,) = runs(tokenise(text))
    assert [unit.text for unit in units(text, run) if unit.kind == FOREIGN] == ["玛丽亚·贝尔"]


@pytest.mark.parametrize("table", ["words", "han"])
def test_the_shipped_weights_are_whole(table: str) -> None:
    assert {"bias", "over bias", *(f"over {name}" for name in OVERLAPS)} <= weights(table).keys()
    assert len(weights(table)) > 1000


def test_the_shipped_words_have_classes() -> None:
    assert english_words()["quickly"][0] == "R"
    assert english_words()["bridge"][0] == "N"
    assert chinese_words()["大学"][0] == "n"
    assert all(len(kind) == 2 and kind[1].isdigit() for kind in set(chinese_words().values()))
