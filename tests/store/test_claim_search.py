"""Claims as a person looks through them: by time, by kind, where they disagree, and what is left to read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.claim_rows import ClaimQuery, ClaimTest, PlacedClaim
from localrag.store.curation_rows import DeleteEntity, MergeEntities
from localrag.store.filters import Filter
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport
from localrag.store.rows import GenerationRow
from tests.examples import examples
from tests.store.helpers import add_lines, entity, generation, logical_rows, quick_store, reading, relation

LINES = ("Ada took the money of Bruno.", "Ada is at home.", "Kell wrote to Bruno.")


def call(task: str = "claims/a", parameters: str = "{}") -> GenerationRow:
    return GenerationRow(task, "", "model", parameters, 1, 1, 1, "stop", "said")


def claim(**changes: Any) -> NewClaim:
    values: dict[str, Any] = {
        "subject_key": "ada",
        "object_key": "bruno",
        "type": "THEFT",
        "status": "TRUE",
        "description": "She took money.",
        "quotes": ((0, 8),),
    }
    return NewClaim(**(values | changes))


def read(store: Store, *lines: str) -> list[int]:
    """Store a document of these lines, in each of which Ada, Bruno and Kell were read."""
    chunks = add_lines(store, *lines)
    people = [entity(name) for name in ("Ada", "Bruno", "Kell")]
    for chunk in chunks:
        store.graph.record(chunk, reading(people, [relation("Ada", "Bruno")]), generation())
    return chunks


def put(store: Store, chunk: int, *claims: NewClaim, task: str = "claims/a") -> None:
    assert store.claims.record(chunk, claims, call(task))


def entity_id(store: Store, key: str) -> int:
    (row,) = store.graph.find_by_keys([key])
    return row.id


def starts(rows: list[PlacedClaim]) -> list[str]:
    return [row.claim.start_date for row in rows]


def test_what_is_left_to_read(store: Store) -> None:
    first, second, third = read(store, *LINES)
    (nameless,) = add_lines(store, "Nobody.")
    store.graph.record(nameless, reading([]), generation())
    (unread,) = add_lines(store, "Ada again.")
    assert store.claim_search.unread("claims/a") == [first, second, third]
    put(store, second)
    assert store.claim_search.unread("claims/a") == [first, third]
    assert store.claim_search.unread("claims/b") == [first, second, third]
    assert store.claim_search.unread("claims/a", again=True) == [first, second, third]
    assert store.claim_search.unread("claims/a", [third, second, unread]) == [third]
    # Read again, its claims are to be read again too.
    store.graph.record(second, reading([entity("Ada")]), generation())
    assert second in store.claim_search.unread("claims/a")


def test_names_are_those_of_the_passage_with_their_entities_of_now(store: Store) -> None:
    (chunk,) = read(store, LINES[0])
    store.decisions.add(MergeEntities(("kell",), ("Kell",), "bruno", "Bruno"))
    found = store.claim_search.names(chunk)
    assert [(name.key, name.entity_key) for name in found] == [
        ("ada", "ada"), ("bruno", "bruno"), ("kell", "bruno")
    ]  # fmt: skip
    store.decisions.add(DeleteEntity("ada", "Ada"))
    assert [name.key for name in store.claim_search.names(chunk)] == ["bruno", "kell"]


def test_a_timeline_is_in_the_order_of_time_and_the_undated_come_last(store: Store) -> None:
    first, second, _ = read(store, *LINES)
    put(
        store,
        first,
        claim(),
        claim(start_date="2020-01-01", type="A"),
        claim(end_date="2019-05-01", type="B"),
    )
    put(
        store,
        second,
        claim(start_date="2018-01-01", end_date="2018-12-31"),
        claim(start_date="2018-01-01", end_date="2018-03-01", type="C"),
        claim(subject_key="kell", object_key="", start_date="2000-01-01"),
    )
    rows = store.claim_search.find(ClaimQuery(entity_id=entity_id(store, "ada")), 10)
    assert [row.claim.type for row in rows] == ["C", "THEFT", "B", "A", "THEFT"]
    assert starts(rows) == ["2018-01-01", "2018-01-01", "", "2020-01-01", ""]
    # The object of a claim is concerned too.
    assert len(store.claim_search.find(ClaimQuery(entity_id=entity_id(store, "bruno")), 10)) == 5
    assert len(store.claim_search.find(ClaimQuery(), 2)) == 2
    text = store.documents.text(rows[0].document_id)
    assert [text[slice(*span)] for span in rows[0].spans] == [*rows[0].claim.quotes]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("", "", ["2014", "2016", "open", "undated"]),
        ("2015-01-01", "", ["2016", "open"]),
        ("", "2015-12-31", ["2014"]),
        ("2016-06-01", "2016-06-30", ["2016"]),
        ("2030-01-01", "", ["open"]),
        ("2015-01-01", "2015-12-31", []),
    ],
)
def test_a_time_finds_what_was_in_it(store: Store, since: str, until: str, expected: list[str]) -> None:
    (chunk,) = read(store, LINES[0])
    put(
        store,
        chunk,
        claim(description="2014", type="A", start_date="2014-01-01", end_date="2014-12-31"),
        claim(description="2016", type="B", start_date="2016-01-01", end_date="2016-12-31"),
        claim(description="open", type="C", start_date="2018-01-01"),
        claim(description="undated", type="D"),
    )
    rows = store.claim_search.find(ClaimQuery(since=since, until=until), 10)
    assert [row.claim.description for row in rows] == expected


def test_types_statuses_and_documents_narrow_a_list(store: Store) -> None:
    (first,) = read(store, LINES[0])
    (second,) = read(store, LINES[1])
    put(store, first, claim(type="THEFT"), claim(type="FRAUD", status="SUSPECTED", quotes=((1, 3),)))
    put(store, second, claim(type="FRAUD", status="FALSE"))
    find = store.claim_search.find
    assert len(find(ClaimQuery(ClaimTest(("fraud",))), 9)) == 2
    assert len(find(ClaimQuery(ClaimTest(("fraud", "Theft"), ("true", "FALSE"))), 9)) == 2
    assert [row.document_id for row in find(ClaimQuery(documents=(2,)), 9)] == [2]
    assert [(row.id, row.claims) for row in store.claim_search.documents(ClaimTest(), 9)] == [(1, 2), (2, 1)]
    assert [row.id for row in store.claim_search.documents(ClaimTest(statuses=("false",)), 9)] == [2]
    assert [(row.name, row.claims) for row in store.claim_search.entities(ClaimTest(), 9)] == [("Ada", 3)]
    assert store.claim_search.documents(ClaimTest(("none",)), 9) == []


def test_contradictions_are_pairs_of_one_type_that_do_not_agree(store: Store) -> None:
    first, second, third = read(store, *LINES)
    said = {"start_date": "2014-01-01", "end_date": "2014-12-31"}
    put(store, first, claim(**said), claim(type="LETTER"), claim(object_key="", type="HOME"))
    put(
        store,
        second,
        claim(status="SUSPECTED", **said),
        claim(type="LETTER", object_key="kell", status="FALSE"),
        claim(object_key="", type="HOME"),
    )
    late = claim(start_date="2014-06-01", quotes=((9, 12),))
    put(store, third, claim(status="FALSE", start_date="2016-01-01"), late)
    found = store.claim_search.contradictions()
    told = [(row.first.claim.status, row.second.claim.status, row.differs) for row in found]
    assert told == [
        ("TRUE", "FALSE", ("status", "dates")),
        ("FALSE", "TRUE", ("status",)),
        ("TRUE", "SUSPECTED", ("status",)),
        ("SUSPECTED", "FALSE", ("status", "dates")),
        ("SUSPECTED", "TRUE", ("status",)),
    ]
    assert {row.first.claim.type for row in found} == {"THEFT"}
    assert store.claim_search.contradictions(entity_id(store, "kell")) == []
    assert len(store.claim_search.contradictions(entity_id(store, "bruno"))) == 5
    assert len(store.claim_search.contradictions(limit=1)) == 1


def test_the_same_words_do_not_contradict_themselves(store: Store) -> None:
    (chunk,) = read(store, LINES[0])
    put(store, chunk, claim())
    put(store, chunk, claim(status="FALSE"), task="claims/b")
    assert store.claim_search.contradictions() == []
    put(store, chunk, claim(status="FALSE", quotes=((9, 12),)), task="claims/b")
    assert len(store.claim_search.contradictions()) == 1


def test_merged_entities_are_one_and_deleted_ones_none(store: Store) -> None:
    first, second, _ = read(store, *LINES)
    put(store, first, claim())
    put(store, second, claim(object_key="kell", status="FALSE"))
    assert store.claim_search.contradictions() == []
    store.decisions.add(MergeEntities(("kell",), ("Kell",), "bruno", "Bruno"))
    assert len(store.claim_search.contradictions()) == 1
    assert len(store.claim_search.find(ClaimQuery(entity_id=entity_id(store, "bruno")), 9)) == 2
    store.decisions.add(DeleteEntity("bruno", "Bruno"))
    assert store.claim_search.contradictions() == []


def test_sets_are_told_apart_and_can_be_dropped(store: Store) -> None:
    first, second, _ = read(store, *LINES)
    before = logical_rows(store)
    assert store.claims.record(first, [claim()], call("claims/a", '{"about": "a"}'))
    assert store.claims.record(second, [], call("claims/a", '{"about": "a"}'))
    assert store.claims.record(first, [claim(type="B"), claim(type="C")], call("claims/b"))
    found = store.claim_search.sets("claims/")
    assert [(row.task, row.parameters, row.passages, row.claims) for row in found] == [
        ("claims/a", '{"about": "a"}', 2, 1),
        ("claims/b", "{}", 1, 2),
    ]
    assert store.claim_search.stored(first, "claims/b") == 2
    assert store.claim_search.drop("claims/b") == 2
    assert store.claim_search.drop("claims/b") == 0
    assert store.claim_search.drop("claims/a") == 1
    assert store.claim_search.sets("claims/") == []
    assert logical_rows(store) == before


def test_a_report_that_rests_on_a_dropped_claim_goes_with_it(store: Store) -> None:
    first, *_ = read(store, *LINES)
    put(store, first, claim())
    (one,) = store.reports.put_communities([NewCommunity(0, (1, 2, 3))])
    finding = Finding("Theft", "She took it.", (("claim", 1),))
    store.reports.put(one or 0, NewReport("Thieves", "About them.", (finding,)), call("report"), [first])
    assert store.reports.get(one or 0).made_from == "model"
    store.claim_search.drop("claims/a")
    assert store.reports.get(one or 0).made_from == "facts"


STATUS = st.sampled_from(["TRUE", "FALSE", "SUSPECTED"])
PERSON = st.sampled_from(["ada", "bruno", "kell"])


@given(
    st.lists(st.tuples(st.integers(0, 3), PERSON, st.sampled_from(["A", "B"]), STATUS), max_size=8),
    st.lists(st.sampled_from(["a", "B"]), max_size=1),
    st.lists(STATUS, max_size=2),
)
@settings(max_examples=examples(60), deadline=None)
def test_filters_by_claims_are_what_going_through_all_of_them_finds(
    said: list[tuple[int, str, str, str]], types: list[str], statuses: list[str]
) -> None:
    with quick_store() as store:
        chunks = [chunk for number in range(2) for chunk in read(store, f"One {number}.", f"Two {number}.")]
        for place, chunk in enumerate(chunks):
            mine = [row for row in said if row[0] == place]
            put(
                store,
                chunk,
                *(
                    claim(
                        subject_key=who,
                        object_key="",
                        type=kind,
                        status=status,
                        quotes=((number, number + 1),),
                    )
                    for number, (_, who, kind, status) in enumerate(mine)
                ),
            )
        test = ClaimTest(tuple(types), tuple(statuses))
        kinds = {kind.upper() for kind in types} or {"A", "B"}
        hits = [
            row for row in said if row[2] in kinds and row[3] in (statuses or ("TRUE", "FALSE", "SUSPECTED"))
        ]
        documents = {place // 2 for place, *_ in hits}
        people = {entity_id(store, key) for key in ("ada", "bruno", "kell")}
        meant = {entity_id(store, row[1]) for row in hits}
        pair = {entity_id(store, "ada"), entity_id(store, "bruno")}
        for wanted, expected in (
            (Filter(claims=test), {0: True}),
            (Filter(without_claims=test), {0: False}),
        ):
            keep = expected[0]
            passing = store.filters.ids(wanted, "chunk")
            assert passing is not None
            assert set(passing) == {c for n, c in enumerate(chunks) if (n // 2 in documents) == keep}
            entities = store.filters.ids(wanted, "entity")
            assert entities is not None
            assert set(entities) == {row for row in people if (row in meant) == keep}
            relations = store.filters.ids(wanted, "relation")
            assert relations is not None
            assert bool(len(relations)) == (bool(pair & meant) == keep)


def test_a_filter_by_claims_goes_with_others(store: Store) -> None:
    (first,) = read(store, LINES[0])
    read(store, LINES[1])
    put(store, first, claim(status="FALSE"))
    wanted = Filter(documents=(2,), without_claims=ClaimTest(statuses=("FALSE",)))
    found = store.filters.ids(wanted, "chunk")
    assert found is not None
    assert len(found) == 1
    entities = store.filters.ids(wanted, "entity")
    assert entities is not None
    assert entity_id(store, "ada") not in entities
    assert store.filters.ids(Filter(documents=(2,), claims=ClaimTest()), "chunk") is not None
    assert list(store.filters.ids(Filter(documents=(2,), claims=ClaimTest()), "chunk") or [0]) == [0]
