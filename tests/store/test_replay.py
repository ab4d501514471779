"""Decisions hold whenever they are made and leave no trace when taken back: over random sequences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import resolution
from localrag.store.curation_rows import Decision
from tests.store.curation import PATHS, Said, decisions, plans, read, readings, record, view
from tests.store.helpers import quick_store, session_of

Plans = list[tuple[Said, Said]]
INDICES = st.integers(0, len(PATHS) - 1)


def check_undoing(
    plan: Plans, made: list[Decision], order: list[int], again: tuple[int, Said], gone: int
) -> None:
    """Decisions between readings and deletions, then all taken back, are as if they had not been made."""
    views = []
    for decided in (made, []):
        with quick_store() as store:
            waiting = list(decided)
            ids = {}
            for number in range(len(PATHS)):
                ids[number] = read(store, number, plan[number])
                if waiting:
                    store.decisions.add(waiting.pop())
            document, said = again
            record(store, store.chunks.of_document(ids[document])[0].id, said)
            if waiting:
                store.decisions.add(waiting.pop())
            store.documents.delete(ids[gone])
            for decision in waiting:
                store.decisions.add(decision)
            assert view(store)["in order"] == []
            rows = store.decisions.list()
            for place in order:
                active = [row.id for row in rows if not row.undone_at]
                if active:
                    store.decisions.undo(active[place % len(active)])
                    rows = store.decisions.list()
            while any(not row.undone_at for row in store.decisions.list()):
                store.decisions.undo()
            views.append(view(store))
    assert views[0] == views[1]
    assert views[0]["in order"] == []


def check_replay(plan: Plans, made: list[Decision], early: int, undone: int) -> None:
    """Decided before or after a document is read, and taken back before or after, the file is the same."""
    views = []
    for late in (0, 1):
        with quick_store() as store:
            read(store, 0, plan[0])
            for number, decision in enumerate(made):
                if not late and number == early:
                    read(store, 1, plan[1])
                store.decisions.add(decision)
            if not late and undone < len(made):
                store.decisions.undo(undone + 1)
            if late or early >= len(made):
                read(store, 1, plan[1])
            if late and undone < len(made):
                store.decisions.undo(undone + 1)
            views.append(view(store))
    assert views[0] == views[1]
    assert views[0]["in order"] == []


def check_deletion(plan: Plans, made: list[Decision], gone: int) -> None:
    """With decisions too, a deleted document leaves what would be there without it, and may come back."""
    with quick_store() as store:
        ids = [read(store, number, plan[number]) for number in range(len(PATHS))]
        for decision in made:
            store.decisions.add(decision)
        whole = view(store)
        store.documents.delete(ids[gone])
        both = view(store)
        read(store, gone, plan[gone])
        # Texts are joined in the order of their documents: all is as before only if the last one came back.
        whole = whole if gone == len(PATHS) - 1 else view(store)
        assert view(store) == whole
        moved = resolution.reassign(session_of(store))
        assert (moved.mentions, moved.relation_mentions) == (0, 0)
        assert view(store) == whole
        assert whole["in order"] == []
    with quick_store() as store:
        for number in range(len(PATHS)):
            if number != gone:
                read(store, number, plan[number])
        for decision in made:
            store.decisions.add(decision)
        assert view(store) == both


@settings(max_examples=12, deadline=None)
@given(plans, decisions, st.lists(st.integers(0, 9), max_size=4), st.tuples(INDICES, readings()), INDICES)
def test_all_taken_back_is_as_if_nothing_had_been_decided(
    plan: Plans, made: list[Decision], order: list[int], again: tuple[int, Said], gone: int
) -> None:
    check_undoing(plan, made, order, again, gone)


@settings(max_examples=12, deadline=None)
@given(plans, decisions, st.integers(0, 6), st.integers(0, 6))
def test_it_does_not_matter_whether_a_decision_or_a_document_comes_first(
    plan: Plans, made: list[Decision], early: int, undone: int
) -> None:
    check_replay(plan, made, early, undone)


@settings(max_examples=12, deadline=None)
@given(plans, decisions, INDICES)
def test_decisions_survive_the_deletion_of_documents_and_their_return(
    plan: Plans, made: list[Decision], gone: int
) -> None:
    check_deletion(plan, made, gone)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=300, deadline=None)
@given(
    plans,
    decisions,
    st.lists(st.integers(0, 9), max_size=4),
    st.tuples(INDICES, readings()),
    INDICES,
    st.integers(0, 6),
    st.integers(0, 6),
)
def test_all_of_it_over_many_sequences(
    plan: Plans,
    made: list[Decision],
    order: list[int],
    again: tuple[int, Said],
    gone: int,
    early: int,
    undone: int,
) -> None:
    check_undoing(plan, made, order, again, gone)
    check_replay(plan, made, early, undone)
    check_deletion(plan, made, gone)
