"""Names found without a model: what is offered, what is not, and the promises of every offer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.extraction.candidates import Candidate, find_candidates
from localrag.extraction.spans import MAX_NAME, clean, locate, one_line, writable
from localrag.graph.names import fold
from tests.examples import examples

ENGLISH = (
    "In 1931 Marta Lind of the Royal Society of Granite built the Halden Bridge. Yesterday Lind's daughter "
    "Ida flew to New York. Rivers froze in the winter of 1947, and rivers rarely do. “The Long Span” is a "
    "film by J. R. Moe about C++ and ORA-01555; it cost $3 million on April 14, 1952. Dr. Berg said that the "
    "bridge uses a tied arch. The tied arch was new. Moe works for AT&T in the U.S. and reads Node.js code."
)
CHINESE = (
    "1988年3月5日，陈玉兰在青石镇开办了临江茶馆。她的徒弟林小川写过《茶与江》一书，用的是 GPT-4 模型。"
    "后来，阿尔伯特·爱因斯坦的肖像挂在临江茶馆里。北京天下图数据技术有限公司买下了“老银杏”牌子。"
)


def names(text: str, limit: int = 800) -> set[str]:
    return {candidate.text for candidate in find_candidates(text, limit)}


def strong(text: str) -> set[str]:
    return {candidate.text for candidate in find_candidates(text) if candidate.strong}


@pytest.mark.parametrize(
    "name",
    [
        "Marta Lind",
        "Lind",
        "Royal Society of Granite",
        "Royal Society",
        "Halden Bridge",
        "Ida",
        "New York",
        "The Long Span",
        "J. R. Moe",
        "C++",
        "ORA-01555",
        "April 14, 1952",
        "1931",
        "1947",
        "Dr. Berg",
        "AT&T",
        "U.S.",
        "Node.js",
        "tied arch",
        "daughter",
        "winter of 1947",
        "$3 million",
    ],
)
def test_english_names_are_offered(name: str) -> None:
    assert fold(name) in {fold(offered) for offered in names(ENGLISH)}


@pytest.mark.parametrize(
    "name", ["Marta Lind", "Halden Bridge", "New York", "C++", "ORA-01555", "The Long Span", "1931"]
)
def test_names_by_their_form_are_strong(name: str) -> None:
    assert fold(name) in {fold(offered) for offered in strong(ENGLISH)}


@pytest.mark.parametrize(
    "name", ["In", "The", "Yesterday", "it", "it cost", "the winter", "said that", "of the Royal", "and"]
)
def test_function_words_are_no_names_and_no_ends_of_names(name: str) -> None:
    assert name not in names(ENGLISH)


def test_a_common_word_that_begins_a_sentence_is_not_known_by_its_capital() -> None:
    assert "Rivers" not in strong(ENGLISH)
    assert "Yesterday Lind" not in strong(ENGLISH)


def test_no_name_crosses_punctuation_or_an_empty_line() -> None:
    offered = names("The tall Oak, Elm and Ash. Fir trees\n\nPine Wood grows; Yew stands.")
    assert not any(mark in name for name in offered for mark in ".;\n")
    assert "trees Pine" not in offered
    assert {"Oak", "Elm", "Ash", "Pine Wood", "Yew"} <= offered


@pytest.mark.parametrize(
    "name",
    [
        "陈玉兰",
        "青石镇",
        "临江茶馆",
        "林小川",
        "茶与江",
        "GPT-4",
        "1988年3月5日",
        "阿尔伯特·爱因斯坦",
        "老银杏",
    ],
)
def test_chinese_names_are_offered(name: str) -> None:
    assert name in names(CHINESE)


def test_a_long_name_of_a_company_is_offered_whole() -> None:
    assert "北京天下图数据技术有限公司" in names(CHINESE)


@pytest.mark.parametrize("name", ["茶与江", "1988年3月5日", "阿尔伯特·爱因斯坦", "老银杏"])
def test_chinese_names_by_their_form_are_strong(name: str) -> None:
    assert name in strong(CHINESE)


def test_chinese_runs_do_not_begin_or_end_with_particles_or_cross_punctuation() -> None:
    for name in names(CHINESE) - strong(CHINESE):
        assert name[0] not in "的了在是和与及"
        assert name[-1] not in "的了在是和与及"
        assert not any(mark in name for mark in "，。《》“”")


def test_a_name_over_a_line_break_is_offered_with_a_blank() -> None:
    text = "They saw the Halden\n  Bridge there."
    (found,) = [candidate for candidate in find_candidates(text) if candidate.text == "Halden Bridge"]
    assert text[found.start : found.end] == "Halden\n  Bridge"


def test_control_characters_part_words_as_blanks_do() -> None:
    assert "Halden Bridge" in names("They saw the Halden\x0cBridge there.")


@pytest.mark.parametrize(
    "text", ["He uses C# and F#.", "The <|COMPLETE|> mark", "A ## B", "x<y|z", "(((", "Ann)))", "\x00\x01"]
)
def test_nothing_is_offered_that_a_record_cannot_hold(text: str) -> None:
    assert all(writable(name) for name in names(text))
    assert "C#" not in names(text)
    assert "C" not in names(text)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "...", "the of and", "的了在", "\ud800", "（）"])
def test_text_without_names_offers_none(text: str) -> None:
    assert find_candidates(text) == ()


def test_spellings_of_one_name_are_offered_once() -> None:
    found = names("Electrons move. An electron moves. The ELECTRON moves, electrons move.")
    assert len([name for name in found if fold(name) == "electron"]) == 1


def test_the_best_stay_when_there_are_too_many() -> None:
    many = " ".join(f"red thing{i} moves slowly past Mount Kelo{i}." for i in range(300))
    found = find_candidates(many, 200)
    assert len(found) == 200
    assert all(candidate.strong for candidate in found)
    assert find_candidates(ENGLISH, 0) == ()


def test_they_come_in_order_of_appearance() -> None:
    found = find_candidates(ENGLISH)
    assert [candidate.start for candidate in found] == sorted(candidate.start for candidate in found)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, ENGLISH + CHINESE])
def test_the_same_text_offers_the_same(text: str) -> None:
    assert find_candidates(text) == find_candidates(text)


def check(text: str, found: tuple[Candidate, ...]) -> None:
    keys = [fold(candidate.text) for candidate in found]
    assert len(set(keys)) == len(keys)
    for candidate in found:
        assert writable(candidate.text)
        assert len(candidate.text) <= MAX_NAME
        assert one_line(clean(text)[candidate.start : candidate.end]) == candidate.text
        assert locate(text, candidate.text) != (-1, -1)


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        CHINESE,
        "東京は日本の首都です。東京タワーがあります。",
        "Москва — столица России.",
        "서울은 한국의 수도이다.",
    ],
)
def test_every_offer_is_a_span_of_the_text(text: str) -> None:
    found = find_candidates(text)
    assert found
    check(text, found)


_PIECES = st.one_of(
    st.sampled_from(
        ["Ada", "Lovelace", "the", "of", "'s", " ", "\n", "\n\n", ".", ",", "(", ")", "<|>", "##"]
    ),
    st.sampled_from(
        ["“", "”", "《", "》", "中", "国", "的", "·", "-", "&", "1931", "%", "$", "年", "U.S.", "C++"]
    ),
    st.sampled_from(["\x0c", "\u200d", "é", "и"]),
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.one_of(_PIECES, st.characters()), max_size=40).map("".join))
def test_no_text_breaks_the_promises(text: str) -> None:
    found = find_candidates(text, 50)
    assert len(found) <= 50
    check(text, found)


@pytest.mark.parametrize(
    "unit", ["a", "A ", "a.", "中", "(", "“", "1,", "'s", "A-", "·", "U.S. ", "《", "A of ", "A and "]
)
def test_no_run_of_one_character_takes_long(unit: str) -> None:
    began = time.perf_counter()
    find_candidates(unit * (1600 // len(unit)))
    assert time.perf_counter() - began < 3
