"""Searches for common words in large knowledge bases: bounded, and nearly what ranking every row gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.bench.store_data import Data
from localrag.store import Store, rarity
from localrag.store.terms import fold, terms_of
from tests.examples import examples
from tests.store.helpers import add_lines, quick_store, session_of


def lines(store: Store) -> list[int]:
    """200 chunks: `river` in all, `bridge` in every second, `flood` in every tenth, `granite` in two."""
    return add_lines(
        store,
        *(
            " ".join(
                [
                    f"n{number} river",
                    *(["bridge"] * (number % 2 == 0)),
                    *(["flood"] * (number % 10 == 0)),
                    *(["granite"] * (number in (60, 131))),
                ]
            )
            for number in range(200)
        ),
    )


def parted(store: Store, question: str, least: int, budget: int) -> rarity.Split:
    """The terms of a question, parted."""
    return rarity.split(session_of(store), "chunk_words", terms_of(question).words, least, budget)


def test_all_terms_lead_where_they_fit(store: Store) -> None:
    lines(store)
    found = parted(store, "river bridge", 1, 400)
    assert (found.leading, dict(found.common)) == (('"river"', '"bridge"'), {})


def test_the_rarest_lead_and_the_rest_is_weighed(store: Store) -> None:
    lines(store)
    found = parted(store, "river bridge flood granite", 1, 30)
    assert found.leading == ('"granite"', '"flood"')
    assert found.common["bridge"] == pytest.approx(1e-6, abs=0.01)
    assert found.common.keys() == {"bridge", "river"}
    assert parted(store, "river bridge", 1, 30).leading == ('"bridge"',)
    assert parted(store, "river granite bridge", 50, 10).leading == ('"granite"', '"bridge"')


def test_counts_of_common_terms_are_estimated_from_their_beginning(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines(store)
    monkeypatch.setattr(rarity, "_SAMPLE", 5)
    found = parted(store, "bridge flood granite", 1, 2)
    assert found.leading == ('"granite"',)
    # 5 of the first 41 chunks.
    assert found.common["flood"] == pytest.approx(2.0, abs=0.2)


def test_a_search_over_the_budget_finds_the_rare_ones_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = lines(store)
    monkeypatch.setattr(rarity, "BUDGET", 30)
    hits = store.fulltext.search("river bridge granite flood", 22)
    assert [hit.id for hit in hits[:2]] == [ids[60], ids[131]]
    assert {hit.id for hit in hits[2:]} == {*ids[::10]} - {ids[60]}
    # A common word decides between what the rare ones choose; the other chunk is the shorter one.
    monkeypatch.setattr(rarity, "BUDGET", 3)
    assert [hit.id for hit in store.fulltext.search("granite", 2)] == [ids[131], ids[60]]
    assert [hit.id for hit in store.fulltext.search("granite flood", 2)] == [ids[60], ids[131]]
    assert [hit.id for hit in store.fulltext.search("granite bridge", 5, [ids[131], ids[3]])] == [ids[131]]
    assert len(store.fulltext.search("river", 500)) == 200


def test_words_count_whole_and_two_characters_anywhere() -> None:
    text = fold("The bridge, bridges; BRIDGE. Abridge 大桥和大桥 c++")
    weigh = {"bridge": 1.0}
    once = rarity.added({"ab": 1.0, "the": 1.0}, text)
    assert rarity.added(weigh, text) == pytest.approx(2 * 2.2 / 3.2)
    assert once == pytest.approx(1.0)
    assert rarity.added({"大桥": 3.0}, text) == pytest.approx(3 * 2 * 2.2 / 3.2)
    assert rarity.added({"none": 1.0}, text) == 0.0


def test_generated_texts_are_found_as_if_every_row_was_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Data(8)
    # Half of what the questions' terms need here.
    monkeypatch.setattr(rarity, "BUDGET", 150)
    shares, common = [], 0
    with quick_store() as store:
        for batch in data.batches(1500):
            store.documents.add(batch.document, batch.chunks)
        for question in data.questions(30, 1500):
            terms = terms_of(question.text).words
            common += bool(rarity.split(session_of(store), "chunk_words", terms, 20, 150).common)
            wanted = [hit.id for hit in store.fulltext.search(question.text, 20, whole=True)]
            found = {hit.id for hit in store.fulltext.search(question.text, 20)}
            shares.append(len(found.intersection(wanted)) / len(wanted))
    assert common >= 10
    assert sum(shares) / len(shares) > 0.9


WORDS = st.sampled_from(
    ["river", "Bridge", "ORA-01555", "C++", "大桥", "桥", "2024", '"', "AND", "ไทย", "a.b"]
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=8),
    st.one_of(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=40)),
    st.sampled_from([0, 1, 3, 10]),
)
def test_whatever_the_budget_nothing_fails_and_nothing_wrong_is_found(
    texts: list[str], question: str, budget: int
) -> None:
    with quick_store() as store, pytest.MonkeyPatch.context() as patched:
        add_lines(store, *texts)
        every = {hit.id: hit for hit in store.fulltext.search(question, 50, whole=True)}
        patched.setattr(rarity, "BUDGET", budget)
        hits = store.fulltext.search(question, 50)
        assert {hit.id for hit in hits} <= every.keys()
        assert bool(hits) == bool(every)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        # So few rows are always filled up with those of common words.
        assert {hit.id for hit in hits} == every.keys()
