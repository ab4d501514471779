"""The whole file at a glance: communities in outline, a page for each, and where what they cite is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.errors import UsageError
from localrag.store.database import Store
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport
from localrag.surveying import SurveyDesk
from tests.store.helpers import add_lines, entity, generation, reading, relation


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "s.localrag") as made:
        chunks = add_lines(made, "Ada met Bruno.", "Bruno bakes with Ada.", "Carla sings.")
        for chunk in chunks[:2]:
            said = [entity("Ada", "Builds boats."), entity("Bruno", "Bakes.")]
            made.graph.record(
                chunk, reading(said, [relation("Ada", "Bruno", "Friends.", "bread")]), generation()
            )
        made.graph.record(chunks[2], reading([entity("Carla", "Sings.")]), generation())
        claim = NewClaim("bruno", "FRAUD", "SUSPECTED", "He sold air.", ((0, 5),), start_date="2020")
        made.claims.record(chunks[1], [claim], generation())
        yield made


def divide(store: Store) -> list[int]:
    communities = [NewCommunity(0, (1, 2, 3)), NewCommunity(1, (1, 2), 0), NewCommunity(1, (3,), 0)]
    return [found or 0 for found in store.reports.put_communities(communities)]


def test_the_outline_has_titles_ratings_and_parents(store: Store) -> None:
    assert SurveyDesk(store).communities() == []
    whole, pair, lone = divide(store)
    report = NewReport("The choir", "Carla sings.", (), 6.5, "It is loud.", (("entity", 3),))
    assert store.reports.put(lone, report, generation(), store.reports.chunks_of(lone))
    lines = SurveyDesk(store).communities()
    assert [(line.id, line.level, line.parent_id, line.members, line.title) for line in lines] == [
        (whole, 0, None, 3, "Ada, Bruno, Carla"),
        (lone, 1, whole, 1, "The choir"),
        (pair, 1, whole, 2, "Ada, Bruno"),
    ]
    assert [(line.rating, line.by_model) for line in lines] == [(None, False), (6.5, True), (None, False)]
    for line in lines:
        assert line.title == store.reports.get(line.id).title


def test_a_page_names_what_its_report_cites_and_where_that_is_said(store: Store) -> None:
    _, pair, _ = divide(store)
    findings = (Finding("One", "Because.", (("relation", 1), ("claim", 1))),)
    report = NewReport("Bread", "They bake.", findings, 3.0, "", (("entity", 1),))
    assert store.reports.put(pair, report, generation(), store.reports.chunks_of(pair))
    desk = SurveyDesk(store)
    page = desk.page(pair)
    assert [(member.name, member.mentions) for member in page.members] == [("Ada", 2), ("Bruno", 2)]
    assert page.size == 2
    assert page.cited["relation", 1].label == "Ada → Bruno"
    assert page.cited["relation", 1].entity_id == 1
    assert page.cited["claim", 1].label == "Bruno: FRAUD, SUSPECTED"
    assert page.cited["entity", 1].label == "Ada"
    for kind, row in (("entity", 1), ("relation", 1), ("claim", 1)):
        spot = desk.spot(kind, row)  # type: ignore[arg-type]
        assert spot is not None
        text = store.documents.text(spot.document_id)
        assert text[spot.start : spot.end]
    claim = desk.spot("claim", 1)
    assert claim is not None
    assert store.documents.text(claim.document_id)[claim.start : claim.end] == "Bruno"
    assert desk.spot("claim", 99) is None
    with pytest.raises(UsageError):
        desk.page(99)


def test_the_overview_counts(store: Store) -> None:
    found = SurveyDesk(store).overview()
    assert [(entry.name, entry.relations) for entry in found.connected] == [("Ada", 1), ("Bruno", 1)]
    assert found.entities == 3
    assert sum(count for _, count in found.types) == 3
    assert found.claims == {"SUSPECTED": 1}
