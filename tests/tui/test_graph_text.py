"""The page of an entity as text, and going back and forward."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from localrag.kb import KnowledgeBase
from localrag.tui.widgets.entity_reading import read_facts
from localrag.tui.widgets.entity_text import EntityFacts, PageText, claim_dates, compose_page, wrapped
from localrag.tui.widgets.entity_visits import Visit, Visits
from tests.tui.graph_library import entity_id, read_library


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> EntityFacts:
    path = read_library(Path(tmp_path_factory.mktemp("facts")))
    with KnowledgeBase.open(path) as kb:
        kb.aliases.add("Marta Lind", "The Builder")
        return read_facts(kb, entity_id(path, "Marta Lind"))


def text_of(page: PageText) -> list[str]:
    return ["".join(text for text, _ in line.pieces).rstrip() for line in page.lines]


@pytest.mark.parametrize("width", [30, 56, 78, 138])
def test_a_page_says_all_and_fits(facts: EntityFacts, width: int) -> None:
    page = compose_page(facts, width)
    lines = text_of(page)
    text = " ".join(" ".join(lines).split())
    assert lines[0] == "Marta Lind"
    for said in ("Also called: The Builder", "designed", "shows drawings of", "it is so, work:", "undated"):
        assert said in text
    assert all(cell_len(line) <= width - 2 for line in lines)
    assert [item.kind for item in page.items] == ["relation"] * 4 + ["claim"] * 2 + ["mention"] * 5
    assert list(page.sections) == ["relations", "claims", "mentions"]
    for entry in range(len(page.items)):
        assert any(line.item == entry for line in page.lines)


def test_relations_know_their_other_end_and_claims_their_words(facts: EntityFacts) -> None:
    page = compose_page(facts, 78)
    bridge = page.items[0]
    assert bridge.other == facts.relations[0].relation.target_id
    assert [spot.document_id for spot in bridge.places] != []
    claim = page.items[4]
    assert claim.words == ("Marta Lind designed the Halden Bridge in 1931.",)
    # Claims stand by time, those without a date last.
    assert [placed.claim.type for placed in facts.claims] == ["WORK", "FINE"]
    marked = [text for line in page.lines for text, tone in line.pieces if tone == "mark"]
    assert set(marked) == {"Marta Lind"}


def test_more_of_what_there_is_can_be_asked_for(tmp_path: Path) -> None:
    path = read_library(tmp_path)
    with KnowledgeBase.open(path, read_only=True) as kb:
        few = read_facts(kb, entity_id(path, "Marta Lind"), relations=1, mentions=2)
    page = compose_page(few, 78)
    kinds = [item.kind for item in page.items]
    assert kinds == ["relation", "more relations", "claim", "claim", "mention", "mention", "more mentions"]
    text = "\n".join(text_of(page))
    assert "3 more: enter shows them" in text


def test_texts_are_wrapped_by_cells() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("", 7) == [""]
    assert wrapped("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    chinese = "陈玉兰画了老磨坊，人人都知道。"
    lines = wrapped(f"so {chinese}", 9)
    assert "".join(lines).replace("so ", "so").replace("so", "") == chinese
    assert all(cell_len(line) <= 9 for line in lines)


def test_dates_of_claims() -> None:
    assert claim_dates("", "") == "undated"
    assert claim_dates("1931-01-01", "1931-12-31") == "1931"
    assert claim_dates("1931-05-02", "1931-05-02") == "1931-05-02"
    assert claim_dates("1931-05-02", "") == "1931-05-02 – …"


def test_going_back_and_forward_is_that_of_a_browser() -> None:
    visits = Visits()
    assert visits.here is None
    assert visits.move(-1) is None
    one, two, three = (Visit("page", number) for number in (1, 2, 3))
    assert visits.go(one) == one
    assert visits.go(two) == two
    visits.keep((4, 9))
    # The same again is no new visit, and keeps its place.
    assert visits.go(two).place == (4, 9)
    assert visits.move(-1) == one
    back = visits.move(1)
    assert back is not None
    assert back.place == (4, 9)
    assert visits.move(1) is None
    assert visits.move(-1) == one
    visits.go(three)
    assert visits.move(1) is None
    assert visits.drop() == one
    assert visits.drop() is None
    assert visits.here is None
