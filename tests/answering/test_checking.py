"""A statement held against the text that it cites."""

from __future__ import annotations

import pytest

from localrag.answering.checking import SentenceCheck, check
from localrag.answering.grounds import supporting
from localrag.answering.particulars import Ground, particulars

BRIDGE = Ground(
    "The Halden Bridge crosses the Orla near the mill. In the spring of 1931 ice broke two of its piers. "
    "The engineer Tomas Berg repaired them within eight months, and it cost 1,500 crowns. "
    "“We never rest,” he told the United Harbour Board on 12 March 1932."
)
TEA = Ground("2005年3月，陈玉兰把茶馆交给了她的徒弟林小川，茶馆有1,500张椅子。")


@pytest.mark.parametrize(
    "statement",
    [
        "Tomas Berg repaired the piers of the Halden Bridge.",
        "The bridge over the Orla was repaired by Berg, Tomas, the engineer.",
        "The repair of the piers cost 1500 crowns.",
        "The repair of the piers cost 1.5k crowns.",
        "The ice broke its piers in 1931.",
        "He told the Board on 1932-03-12 that “we never rest”.",
        "He told the UHB in March 1932.",
        "HALDEN BRIDGE, repaired by TOMAS BERG",
        "- **Tomas Berg** repaired two piers.",
        "1. Tomas Berg repaired them.",
    ],
)
def test_supported(statement: str) -> None:
    found = check(particulars(statement), BRIDGE)
    assert (found.verdict, found.missing) == ("supported", ())


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("Marta Lind repaired the piers of the Halden Bridge.", ("Marta Lind",)),
        ("Tobias Bergson repaired the piers of the Halden Bridge.", ("Tobias Bergson",)),
        ("The engineer Tomas Berg repaired the piers for 1,600 crowns.", ("1,600",)),
        ("The ice broke the piers of the Halden Bridge in 1932 or 1933.", ("1933",)),
        ("He told the United Harbour Board on 13 March 1932.", ("13 March 1932",)),
        ("The engineer told the Board: “We always rest”, and repaired the piers.", ("We always rest",)),
    ],
)
def test_what_does_not_occur_is_told(statement: str, missing: tuple[str, ...]) -> None:
    found = check(particulars(statement), BRIDGE)
    assert (found.verdict, found.missing) == ("partly", missing)


def test_a_day_is_not_supported_by_its_month_and_a_year_by_its_day_is() -> None:
    text = Ground("The bridge opened in March 1932.")
    assert check(particulars("The bridge opened on 12 March 1932."), text).missing == ("12 March 1932",)
    assert check(particulars("The bridge opened in 1932."), text).verdict == "supported"


def test_not_supported_where_little_is_the_same() -> None:
    assert check(particulars("Herring is caught from boats in autumn storms."), BRIDGE).verdict == "not"
    assert check(particulars("Leo Falk wrote operas in Vienna in 1890."), BRIDGE).verdict == "not"
    # Name and year occur, and nothing that is said of them.
    other = "In 1931 Tomas Berg painted seventeen quiet landscapes, lilies, horses, cathedrals, gulls"
    assert check(particulars(f"{other} around Vienna."), BRIDGE).verdict == "not"


def test_a_name_of_the_question_may_be_cut_short_in_the_text() -> None:
    text = Ground("The Halden crossing: Tomas Berg repaired the old bridge with steel.")
    statement = particulars("Tomas Berg repaired the Halden Bridge Works with steel.")
    assert check(statement, text, ["Halden Bridge Works"]).verdict == "supported"
    assert check(particulars("Tomas Berg repaired the Orla Dam with steel."), text, ["Orla Dam"]).missing == (
        "Orla Dam",
    )


def test_chinese_by_characters_dates_and_numbers() -> None:
    assert check(particulars("茶馆由陈玉兰交给徒弟林小川。"), TEA).verdict == "supported"
    assert check(particulars("陈玉兰在二〇〇五年把茶馆交给了林小川。"), TEA).verdict == "supported"
    assert check(particulars("陈玉兰在2006年把茶馆交给了林小川。"), TEA).missing == ("2006年",)
    assert check(particulars("她的茶馆有1500张椅子。"), TEA).verdict == "supported"
    assert check(particulars("渔船秋天出海捕鱼。"), TEA).verdict == "not"


def test_a_chinese_person_who_does_not_occur_is_told() -> None:
    assert check(particulars("王建国把茶馆交给了徒弟林小川。"), TEA).missing == ("王建国",)
    assert check(particulars("陈玉兰的徒弟名叫李明。"), TEA).missing == ("李明",)
    # Words that begin as surnames do are no names, and a character that follows a name is no part of it.
    assert check(particulars("他许多朋友很高兴，马上在周围方便地庆祝。"), TEA).missing == ()
    assert TEA.has_name("陈玉在")
    assert not TEA.has_name("陈小在")


def test_across_scripts_only_what_can_be_compared_counts() -> None:
    assert check(particulars("Tomas Berg在1931年修好了它。"), BRIDGE).verdict == "supported"
    assert check(particulars("Marta Lind在1931年修好了它。"), BRIDGE).missing == ("Marta Lind",)
    assert check(particulars("修理在1950年完成。"), BRIDGE).verdict == "not"
    assert check(particulars("工程师修好了桥墩。"), BRIDGE).verdict == "unchecked"
    assert check(particulars("The tea house has 1500 chairs since 2005."), TEA).verdict == "supported"


def test_the_reader_is_told_of_what_is_missing_and_not_of_paraphrase() -> None:
    assert SentenceCheck("x", (1,), "not").doubtful
    assert SentenceCheck("x", (1,), "partly", ("1935",)).doubtful
    assert not SentenceCheck("x", (1,), "supported").doubtful
    assert not SentenceCheck("x", (), "unchecked").doubtful
    assert SentenceCheck("x", (1, 2), "partly", ("1935",)).to_json() == {
        "text": "x",
        "references": [1, 2],
        "verdict": "partly",
        "missing": ["1935"],
    }


def test_the_sentences_that_support_a_statement_are_few() -> None:
    told = supporting(particulars("Tomas Berg repaired it for 1500 crowns."), BRIDGE.sentences)
    assert [BRIDGE.sentences[place].text[:12] for place in told] == ["The engineer"]
    # A word that stands elsewhere too is no reason for a further sentence.
    told = supporting(
        particulars("Tomas Berg repaired them in eight months, and it cost 1,500 crowns, near here."),
        BRIDGE.sentences,
    )
    assert told == [2]
    both = supporting(particulars("Tomas Berg repaired the piers that ice broke in 1931."), BRIDGE.sentences)
    assert sorted(both) == [1, 2]
    assert supporting(particulars("Herring and cod."), BRIDGE.sentences) == []


def test_a_short_answer_is_found_with_the_question() -> None:
    text = Ground("Berg was born in Molde. Berg repaired the bridge. Berg died in Molde.")
    asked = particulars("Who repaired the bridge?")
    assert supporting(particulars("Berg"), text.sentences, asked) == [1]


def test_long_and_odd_statements_are_compared_in_time() -> None:
    for statement in ("(" * 5_000, "9" * 5_000, "a " * 5_000, "“" * 3_000, "[1]" * 2_000, "A.B." * 2_000):
        check(particulars(statement), BRIDGE)
        check(particulars("Tomas Berg repaired it."), Ground(statement))
