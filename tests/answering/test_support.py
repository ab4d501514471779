"""Which sources an answer rests on, told by its words."""

from __future__ import annotations

from localrag.answering.support import resting_on, words_of
from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage, RelationHit


def source(number: int, text: str) -> Source:
    return Source(number, Passage(number, number, f"{number}.md", None, "", 0, len(text), text, 1.0, ()))


BRIDGE = source(
    1, "The Halden Bridge crosses the Orla. Tomas Berg repaired it with steel from the Kvern Works."
)
MILL = source(2, "The old mill stands above the Orla. Marta Lind bought it in 1934.")
TEA = source(3, "2005年，陈玉兰把茶馆交给了她的徒弟林小川。")
KNOWN = Source(4, EntityHit(1, "Ida Lind", "person", "Ida Lind made a museum of the workshop.", 1.0, (9,)))
ALL = (BRIDGE, MILL, TEA, KNOWN)


def test_the_source_whose_words_it_has_whatever_was_listed() -> None:
    assert resting_on("Tomas Berg repaired it with steel.", ALL, [2, 3]) == [1]
    assert resting_on("茶馆由徒弟林小川经营。", ALL, [1]) == [3]
    assert resting_on("Ida Lind made a museum.", ALL, []) == [4]


def test_several_sources_where_one_does_not_explain_all() -> None:
    body = (
        "Tomas Berg repaired the bridge with steel from the Kvern Works; Marta Lind bought the mill in 1934."
    )
    assert resting_on(body, ALL, []) == [1, 2]


def test_a_passage_goes_before_a_relation_that_explains_hardly_more() -> None:
    kin = Source(9, RelationHit(1, "Tomas Berg", "Halden Bridge", "repair", "He repaired it.", 1.0, (1,)))
    body = "Tomas Berg repaired the Halden Bridge."
    assert resting_on(body, (BRIDGE, kin), []) == [1]
    assert resting_on(body, (MILL, kin), []) == [9]


def test_a_listed_source_that_says_the_same_is_kept() -> None:
    copy = source(5, "Tomas Berg repaired the bridge with steel, the newspaper wrote.")
    body = "Tomas Berg repaired it with steel."
    assert resting_on(body, (*ALL, copy), []) == [1]
    assert resting_on(body, (*ALL, copy), [5, 2]) == [1, 5]


def test_where_words_tell_nothing_the_models_list_counts() -> None:
    assert resting_on("Die Brücke wurde instand gesetzt.", ALL, [2, 99]) == [2]
    assert resting_on("", ALL, [3]) == [3]
    assert resting_on("Yes.", ALL, []) == []


def test_words_that_all_sources_have_say_little() -> None:
    same = "The committee of Halden met in the hall of Halden and spoke of the harbour of Halden."
    left, right = source(1, f"{same} The cost is 410 crowns."), source(2, f"{same} The eels came back.")
    body = "The committee of Halden met and spoke: the eels came back."
    assert resting_on(body, (left, right), [1]) == [2]
    assert resting_on("The eels came back.", (left, right), [1]) == [2]


def test_words() -> None:
    assert words_of("The Orla, 1934 and 陈玉兰!") == {"orla", "1934", "陈玉", "玉兰"}
