"""Communities, reports and summaries: what the model wrote, and the facts where it has not."""

from __future__ import annotations

import pytest

from localrag.errors import SourceGone, UsageError
from localrag.store import Store
from localrag.store.curation_rows import DeleteEntity
from localrag.store.facts import SUMMARISED
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport, SummaryKind
from localrag.store.rows import GenerationRow
from localrag.store.upkeep import text_hash
from tests.store.helpers import (
    add,
    add_lines,
    entity,
    generation,
    logical_rows,
    reading,
    relation,
    session_of,
)

REPORT = NewReport(
    "The boat yard", "Ada builds boats.", (Finding("One", "Because.", (("entity", 1),)),), 7.5, "It matters."
)


def call(output: str) -> GenerationRow:
    return GenerationRow("report", "p", "model", "{}", 1, 1, 1, "stop", output)


def three(store: Store) -> list[int]:
    """Ada and Bruno in two chunks, Carla in a third; returns the chunks."""
    chunks = add_lines(store, "one", "two", "three")
    for chunk in chunks[:2]:
        said = [entity("Ada", f"Builds boats {chunk}."), entity("Bruno", "Bakes.")]
        store.graph.record(
            chunk, reading(said, [relation("Ada", "Bruno", "Friends.", "bread")]), generation()
        )
    store.graph.record(chunks[2], reading([entity("Carla", "Sings.")]), generation())
    claim = NewClaim("bruno", "FRAUD", "SUSPECTED", "He sold air.", ((0, 3),), start_date="2020")
    store.claims.record(chunks[1], [claim], call("claims"))
    return chunks


def divide(store: Store, *members: tuple[int, ...]) -> list[int]:
    found = store.reports.put_communities([NewCommunity(0, ids) for ids in members])
    return [community_id or 0 for community_id in found]


def test_without_a_model_a_report_is_the_facts(store: Store) -> None:
    three(store)
    (one, other) = divide(store, (1, 2), (3,))
    report = store.reports.get(one)
    assert (report.made_from, report.dirty, report.rating, report.made_at) == ("facts", True, None, "")
    assert report.title == "Ada, Bruno"
    assert report.summary == "Ada: Builds boats 1. Builds boats 2.\nBruno: Bakes."
    assert [(item.summary, item.explanation, item.sources) for item in report.findings] == [
        ("Ada → Bruno: bread", "Friends.", (("relation", 1),)),
        ("Bruno: FRAUD, SUSPECTED, 2020", "He sold air.", (("claim", 1),)),
    ]
    assert report.sources == (("entity", 1), ("entity", 2))
    assert [row.title for row in store.reports.all()] == ["Ada, Bruno", "Carla"]
    assert store.reports.dirty() == [one, other]
    assert store.reports.chunks_of(one) == [1, 2]
    assert store.reports.facts(one) == report


def test_facts_have_bounds(store: Store) -> None:
    (chunk,) = add_lines(store, "one")
    names = [f"Name {number:03}" for number in range(300)]
    said = [entity(name, f"{name} " + "word " * 400) for name in names]
    links = [relation(names[0], name, "x" * 5000) for name in names[1:]]
    store.graph.record(chunk, reading(said, links), generation())
    (one,) = divide(store, tuple(range(1, 301)))
    report = store.reports.get(one)
    assert report.title == "Name 000, Name 001, Name 002, Name 003 +296"
    assert len(report.summary) <= SUMMARISED + 600
    assert len(report.findings) == 10
    assert max(len(item.explanation) for item in report.findings) == 500


def test_the_models_report_comes_back(store: Store) -> None:
    chunks = three(store)
    (one, _) = divide(store, (1, 2), (3,))
    assert store.reports.put(one, REPORT, call("raw"), chunks[:2], "hash")
    found = store.reports.get(one)
    assert (found.made_from, found.dirty, found.title, found.rating) == ("model", False, "The boat yard", 7.5)
    assert found.findings == REPORT.findings
    assert found.made_at
    assert store.reports.community(one).input_hash == "hash"
    assert store.reports.dirty() == [2]
    before = logical_rows(store)
    store.reports.put(one, REPORT, call("raw"), chunks[:2], "hash")
    assert logical_rows(store) == before


def test_a_report_that_comes_too_late_is_not_kept(store: Store) -> None:
    chunks = three(store)
    (one, _) = divide(store, (1, 2), (3,))
    late = NewReport("x", "y", sources=(("relation", 99),))
    with pytest.raises(SourceGone):
        store.reports.put(one, late, call("raw"), chunks[:2])
    with pytest.raises(SourceGone):
        store.reports.put(one, REPORT, call("raw"), [*chunks, 99])
    with pytest.raises(ValueError, match="no chunk"):
        store.reports.put(one, REPORT, call("raw"), [])
    assert not store.reports.put(77, REPORT, call("raw"), chunks)
    assert store.reports.get(one).made_from == "facts"
    assert "raw" not in session_of(store).column("SELECT output FROM generations")
    with pytest.raises(UsageError, match="no community 77"):
        store.reports.get(77)


def test_a_new_division_keeps_what_is_the_same(store: Store) -> None:
    chunks = three(store)
    one, other = divide(store, (1, 2), (3,))
    store.reports.put(one, REPORT, call("raw"), chunks[:2])
    store.reports.put(other, NewReport("Carla", "Sings."), call("carla"), chunks[2:])
    again = store.reports.put_communities(
        [
            NewCommunity(0, (1, 2, 3)),
            NewCommunity(1, (2, 1, 99), 0),
            NewCommunity(0, (2, 1)),
            NewCommunity(1, (99,)),
        ]
    )
    assert again[2] == one
    assert again[3] is None
    assert store.reports.get(one).title == "The boat yard"
    whole, part = again[0] or 0, again[1] or 0
    assert store.reports.community(part).parent_id == whole
    assert [row.id for row in store.reports.communities(1)] == [part]
    with pytest.raises(UsageError):
        store.reports.get(other)
    assert "carla" not in session_of(store).column("SELECT output FROM generations")


def test_a_community_that_has_changed_a_little_goes_on(store: Store) -> None:
    chunks = three(store)
    (fresh,) = add_lines(store, "four")
    said = [entity("Carla", "Dances."), entity("Dora", "Paints.")]
    store.graph.record(fresh, reading(said, [relation("Carla", "Dora", "Sisters.")]), generation())
    one, other = divide(store, (1, 2), (3,))
    store.reports.put(one, REPORT, call("raw"), chunks[:2])
    store.reports.put(other, NewReport("Carla", "Sings.", cut=True, language="en"), call("c"), chunks[2:])
    again = store.reports.put_communities([NewCommunity(0, (3, 4)), NewCommunity(1, (1, 2))], "graph 2")
    assert again == [other, one]
    assert store.reports.divided() == "graph 2"
    carla = store.reports.get(other)
    assert (carla.title, carla.dirty, carla.cut, carla.language) == ("Carla", True, True, "en")
    assert store.reports.community(other).members == (3, 4)
    same = store.reports.get(one)
    assert (same.title, same.dirty, same.level) == ("The boat yard", False, 1)
    # One member of three in common is too little.
    assert other not in store.reports.put_communities([NewCommunity(0, (1, 2, 3)), NewCommunity(0, (4,))])[:1]


def test_the_graph_that_is_divided_counts_chunks_and_not_ids(store: Store) -> None:
    three(store)
    divide(store, (1, 2))
    graph = store.divisions.graph()
    assert graph.entity_ids == (1, 2, 3)
    assert graph.edges == ((0, 1, 2.0),)
    assert [found == -1 for found in graph.before] == [False, False, True]
    (fresh,) = add_lines(store, "five")
    back = [relation("Bruno", "Ada", "Neighbours.")]
    store.graph.record(fresh, reading([entity("Ada", ""), entity("Bruno", "")], back), generation())
    assert store.divisions.graph().edges == ((0, 1, 3.0),)
    assert store.divisions.graph().digest != graph.digest


def test_a_report_is_marked_when_something_new_is_read(store: Store) -> None:
    chunks = three(store)
    one, other = divide(store, (1, 2), (3,))
    store.reports.put(one, REPORT, call("raw"), chunks[:2])
    store.reports.put(other, NewReport("Carla", "Sings."), call("carla"), chunks[2:])
    (fresh,) = add_lines(store, "four")
    store.graph.record(fresh, reading([entity("Carla", "Dances.")]), generation())
    assert store.reports.dirty() == [other]
    found = store.reports.get(other)
    assert (found.made_from, found.title, found.dirty) == ("model", "Carla", True)
    store.graph.record(fresh, reading([entity("Bruno", "")]), generation())
    assert store.reports.dirty() == [one, other]


def test_a_claim_that_is_new_marks_the_report(store: Store) -> None:
    chunks = three(store)
    (one, _) = divide(store, (1, 2), (3,))
    store.reports.put(one, REPORT, call("raw"), chunks[:2])
    claim = NewClaim("ada", "FRAUD", "TRUE", "She sold air.", ((0, 3),))
    store.claims.record(chunks[0], [claim], call("claims"))
    assert one in store.reports.dirty()
    assert store.reports.get(one).made_from == "model"


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_summaries_are_kept_until_a_source_goes(store: Store, kind: SummaryKind) -> None:
    ids = [add(store, f"{name}.txt", name) for name in ("a", "b")]
    chunks = [store.chunks.of_document(document_id)[0].id for document_id in ids]

    def record(place: int) -> None:
        said = [entity("Ada", f"Text {place}."), entity("Bruno", "")]
        link = relation("Ada", "Bruno", f"Text {place}.")
        store.graph.record(chunks[place], reading(said, [link]), generation())

    record(0)
    summaries = store.summaries
    assert summaries.dirty(kind) == [1]
    assert summaries.dirty(kind, least=2) == []
    text = store.vectors.texts(kind, [1])[0]
    assert summaries.put(kind, 1, "All of it.", call("raw one"))
    assert summaries.dirty(kind) == []
    assert summaries.get(kind, 1) == "All of it."
    hashes = session_of(store).column("SELECT text_hash FROM entities UNION SELECT text_hash FROM relations")
    now = store.vectors.texts(kind, [1])[0]
    assert "All of it." in now != text
    assert text_hash(now) in hashes
    record(1)
    assert summaries.get(kind, 1) == "All of it."
    assert summaries.dirty(kind, least=2) == [1]
    assert summaries.put(kind, 1, "Both.", call("raw two"), chunks)
    outputs = session_of(store).column("SELECT output FROM generations")
    assert ("raw one" in outputs, "raw two" in outputs) == (False, True)
    store.documents.delete(ids[1])
    assert summaries.get(kind, 1) == ""
    assert summaries.dirty(kind) == [1]
    assert "raw two" not in session_of(store).column("SELECT output FROM generations")
    summaries.settle(kind, 1)
    assert summaries.dirty(kind) == []
    assert not summaries.put(kind, 99, "x", call("y"))
    with pytest.raises(SourceGone):
        summaries.put(kind, 1, "x", call("y"), chunks)


def two_documents(store: Store) -> tuple[int, int]:
    """Ada in one document, Bruno in another; returns the ids of the documents."""
    ids = (add(store, "a.txt", "a"), add(store, "b.txt", "b"))
    for document_id, name in zip(ids, ("Ada", "Bruno"), strict=True):
        (chunk,) = store.chunks.of_document(document_id)
        store.graph.record(chunk.id, reading([entity(name, f"{name} is here.")]), generation())
    return ids


def test_a_community_goes_with_its_last_member(store: Store) -> None:
    first, second = two_documents(store)
    divide(store, (1, 2), (1,), (2,))
    store.documents.delete(first)
    assert [row.members for row in store.reports.communities()] == [(2,), (2,)]
    store.documents.delete(second)
    assert store.reports.communities() == []


def test_a_report_that_cites_what_goes_gives_way_to_the_facts(store: Store) -> None:
    first, _ = two_documents(store)
    (one,) = divide(store, (1, 2))
    report = NewReport("Both", "They are here.", sources=(("entity", 1),))
    store.reports.put(one, report, call("raw"), [2])
    store.documents.delete(first)
    found = store.reports.get(one)
    assert (found.made_from, found.title, found.summary) == ("facts", "Bruno", "Bruno: Bruno is here.")
    assert session_of(store).row("SELECT made_from, dirty, title, summary FROM reports") == (
        "facts",
        1,
        "",
        "",
    )
    assert store.reports.dirty() == [one]
    assert "raw" not in session_of(store).column("SELECT output FROM generations")


def test_a_report_whose_own_sources_stay_is_only_marked(store: Store) -> None:
    first, _ = two_documents(store)
    (one,) = divide(store, (1, 2))
    store.reports.put(one, NewReport("Bruno", "He is here."), call("raw"), [2])
    store.documents.delete(first)
    found = store.reports.get(one)
    assert (found.made_from, found.title, found.dirty) == ("model", "Bruno", True)


@pytest.mark.parametrize("known", [True, False], ids=["sources known", "sources unknown"])
def test_what_does_not_tell_its_sources_is_taken_back(store: Store, known: bool) -> None:
    """As in a file that another program has written."""
    two_documents(store)
    third = add(store, "c.txt", "c")
    (chunk,) = store.chunks.of_document(third)
    said = [entity("Ada", "More."), entity("Bruno", "More.")]
    store.graph.record(chunk.id, reading(said), generation())
    (one,) = divide(store, (1, 2))
    store.reports.put(one, NewReport("Both", "They are here."), call("raw report"), [1, 2])
    store.summaries.put("entity", 1, "She is here.", call("raw summary"), [1])
    if not known:
        with store.transaction():
            session_of(store).run("DELETE FROM generation_sources")
    store.documents.delete(third)
    assert store.reports.get(one).made_from == ("model" if known else "facts")
    assert store.summaries.get("entity", 1) == ("She is here." if known else "")
    outputs = session_of(store).column("SELECT output FROM generations")
    assert ("raw report" in outputs, "raw summary" in outputs) == (known, known)
    assert store.reports.dirty() == [one]


def test_a_summary_and_a_report_go_with_what_a_person_deletes(store: Store) -> None:
    two_documents(store)
    one, _ = divide(store, (1,), (2,))
    store.summaries.put("entity", 1, "She is here.", call("raw summary"))
    store.reports.put(one, NewReport("Ada", "She is here."), call("raw report"), [1])
    store.decisions.add(DeleteEntity("ada", "Ada"))
    outputs = session_of(store).column("SELECT output FROM generations")
    assert ("raw report" in outputs, "raw summary" in outputs) == (False, False)
    assert [row.members for row in store.reports.communities()] == [(2,)]


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_a_summary_goes_with_a_passage_that_does_not_name_its_entity(store: Store, kind: SummaryKind) -> None:
    first, second = add(store, "a.txt", "a"), add(store, "b.txt", "b")
    (chunk,) = store.chunks.of_document(first)
    said = reading([entity("Ada", "A."), entity("Bruno", "B.")], [relation("Ada", "Bruno", "C.")])
    store.graph.record(chunk.id, said, generation())
    before = logical_rows(store)
    store.summaries.put(
        kind, 1, "All of it.", call("raw"), [chunk.id, store.chunks.of_document(second)[0].id]
    )
    store.documents.delete(second)
    after = logical_rows(store)
    for table in ("entities", "relations"):
        assert after[table] == before[table]


def test_a_report_that_cites_a_claim_goes_with_the_claim(store: Store) -> None:
    chunks = three(store)
    (one, _) = divide(store, (1, 2), (3,))
    report = NewReport("x", "y", (Finding("He sold air.", "So it is.", (("claim", 1),)),))
    store.reports.put(one, report, call("raw"), chunks[:1])
    store.graph.record(chunks[1], reading([entity("Bruno", "Bakes.")]), generation())
    assert store.reports.get(one).made_from == "facts"
    assert "raw" not in session_of(store).column("SELECT output FROM generations")
