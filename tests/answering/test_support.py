"""Which sources a statement rests on, told by what can be compared."""

from __future__ import annotations

from localrag.answering.particulars import particulars
from localrag.answering.support import Support
from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage, RelationHit


def source(number: int, text: str, heading: str = "") -> Source:
    return Source(number, Passage(number, number, f"{number}.md", None, heading, 0, len(text), text, 1.0, ()))


BRIDGE = source(
    1, "The Halden Bridge crosses the Orla. Tomas Berg repaired it with steel from the Kvern Works."
)
MILL = source(2, "The old mill stands above the Orla. Marta Lind bought it in 1934.")
TEA = source(3, "2005年，陈玉兰把茶馆交给了她的徒弟林小川。")
KNOWN = Source(4, EntityHit(1, "Ida Lind", "person", "Ida Lind made a museum of the workshop.", 1.0, (9,)))
ALL = (BRIDGE, MILL, TEA, KNOWN)


def resting(
    statement: str, sources: tuple[Source, ...], voted: tuple[int, ...] = (), question: str = ""
) -> list[int]:
    return Support(question, sources).resting_on(particulars(statement), voted)


def test_the_source_that_says_it_whatever_the_model_named() -> None:
    assert resting("Tomas Berg repaired it with steel.", ALL, (2, 3)) == [1]
    assert resting("茶馆由徒弟林小川经营。", ALL, (1,)) == [3]
    assert resting("Ida Lind made a museum.", ALL) == [4]


def test_several_sources_where_one_does_not_explain_all() -> None:
    statement = "Tomas Berg repaired the bridge with Kvern steel; Marta Lind bought the mill in 1934."
    assert sorted(resting(statement, ALL)) == [1, 2]


def test_a_number_or_a_date_tells_in_whatever_form() -> None:
    left = source(1, "The tower has 1,500 steps and was finished in May 1931.")
    right = source(2, "The tower has 900 steps and was finished in May 1932.")
    assert resting("It has 1500 steps.", (left, right)) == [1]
    assert resting("它有九百级台阶。", (left, right)) == [2]
    assert resting("It was finished in 1932.", (left, right)) == [2]


def test_a_passage_goes_before_a_relation_that_explains_hardly_more() -> None:
    kin = Source(9, RelationHit(1, "Tomas Berg", "Halden Bridge", "repair", "He repaired it.", 1.0, (1,)))
    statement = "Tomas Berg repaired the Halden Bridge."
    assert resting(statement, (BRIDGE, kin)) == [1]
    assert resting(statement, (MILL, kin)) == [9]


def test_a_source_that_the_model_names_and_that_says_the_same_is_kept() -> None:
    copy = source(5, "Tomas Berg repaired the bridge with steel, the newspaper wrote.")
    statement = "Tomas Berg repaired it with steel."
    assert resting(statement, (*ALL, copy)) == [1]
    assert resting(statement, (*ALL, copy), (5, 2)) == [1, 5]


def test_where_nothing_can_be_compared_the_models_word_counts() -> None:
    assert resting("Die Brücke wurde instand gesetzt.", ALL, (2, 99)) == [2]
    assert resting("这座桥修好了。", (BRIDGE, MILL), (1,)) == [1]
    assert resting("Die Brücke wurde instand gesetzt.", ALL) == []
    assert resting("", ALL, (3,)) == [3]


def test_a_short_answer_rests_on_the_chain_from_the_question_too() -> None:
    song = source(1, "The Reed Song was written by Karl Voss after a feast in Laven.", "The Reed Song")
    laven = source(2, "Laven is a village in the Orst district on the island of Hol.", "Laven")
    other = source(3, "Kahl is a village of fishermen on the mainland.", "Kahl")
    question = "Who wrote a song after a feast in the Orst district on the island of Hol?"
    assert resting("Karl Voss", (other, laven, song), (), question) == [1, 2]
    # Without the question only the answer itself can be seen.
    assert resting("Karl Voss", (other, laven, song)) == [1]


def test_of_two_that_say_the_same_the_one_that_the_answers_source_names() -> None:
    song = source(1, "The Reed Song was written by Karl Voss after a feast in Laven.", "The Reed Song")
    other = source(2, "It is a village in the Orst district on the island of Hol.", "Kahl")
    laven = source(3, "It is a village in the Orst district on the island of Hol.", "Laven")
    question = "Who wrote a song in the Orst district on the island of Hol?"
    assert resting("Karl Voss", (song, other, laven), (), question) == [1, 3]


def test_a_bare_yes_rests_on_what_was_asked_about() -> None:
    ada = source(1, "Ada Brandt was a Norwegian painter.", "Ada Brandt")
    leo = source(2, "Leo Falk was a Norwegian sculptor.", "Leo Falk")
    sea = source(3, "Herring is caught in spring.", "Herring")
    assert sorted(
        resting("Yes.", (sea, ada, leo), (), "Were Ada Brandt and Leo Falk of one nationality?")
    ) == [1, 2]


def test_what_is_cited_of_the_question_is_not_cited_again() -> None:
    ada = source(1, "Ada Brandt was a painter from Molde.", "Ada Brandt")
    molde = source(2, "Molde has a harbour and a school.", "Molde")
    support = Support("What is the harbour of the town of Ada Brandt?", (ada, molde))
    first = support.resting_on(particulars("Molde has it."))
    assert sorted(first) == [1, 2]
    support.settle(first)
    assert support.resting_on(particulars("There is a school.")) == [2]


def test_words_that_all_sources_have_say_little() -> None:
    same = "The committee of Halden met in the hall of Halden and spoke of the harbour of Halden."
    left, right = source(1, f"{same} The cost is 410 crowns."), source(2, f"{same} The eels came back.")
    assert resting("The committee of Halden met and spoke: the eels came back.", (left, right)) == [2]
    assert resting("The eels came back.", (left, right), (1,)) == [2]
    rare = source(2, "In spring eels came back to it.")
    statement = "The committee of Halden met: eels came back."
    assert resting(statement, (left, rare, source(3, same)))[0] == 2
