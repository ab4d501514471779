"""What speaks for a passage is weighed together: a second one is found over the first, a filter holds, and
what cannot be known yet does no harm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.kb import KnowledgeBase
from localrag.retrieval.query import Query
from localrag.retrieval.ranking import LEAST_SHARE, WEIGHTS, Ranking, rank_passages
from localrag.retrieval.signals import NAMES, Signals, as_matrix
from localrag.store.database import Store
from localrag.store.filters import Ids
from tests.store.helpers import SPACE, embed_missing, vector

FILMS = {
    "tide.md": (
        "# The Tide Clock\n\nThe Tide Clock is a film that was directed by Ingrid Voss. "
        "Its music is one of the first works of a young Jon Hale."
    ),
    "voss.md": "# Ingrid Voss\n\nIngrid Voss was born above the fish market of Karsund.",
    "hale.md": "# Jon Hale\n\nJon Hale was born in the old mill of Tarn.",
    "tide2.md": "# The Tide Clock 2\n\nThe Tide Clock 2 is a game that nobody plays.",
    "gull.md": "# The Gull\n\nThe Gull is a film. It was directed by Piet Moen.",
    "moen.md": "# Piet Moen\n\nPiet Moen was born in a lighthouse.",
}
QUESTION = "Where was the director of The Tide Clock born?"


@pytest.fixture
def films(empty_kb: KnowledgeBase, tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "films"
    folder.mkdir()
    for name, text in FILMS.items():
        (folder / name).write_text(text)
    empty_kb.add([folder])
    with Store.open(empty_kb.path) as store:
        yield store


def names(store: Store, ranking: Ranking) -> list[str]:
    rows = [store.chunks.get(item.id) for item in ranking.chunks]
    return [store.documents.get(row.document_id).path for row in rows]


def signals_of(store: Store, ranking: Ranking, path: str) -> Signals:
    (row,) = (row for row in store.documents.list() if row.path == path)
    (chunk,) = store.chunks.of_document(row.id)
    return ranking.signals[chunk.id]


def ids_of(store: Store, paths: Sequence[str]) -> Ids:
    wanted = [row.id for row in store.documents.list() if row.path in paths]
    return Ids([chunk.id for document in wanted for chunk in store.chunks.of_document(document)])


def test_the_subject_of_a_name_that_the_question_describes_comes_second(films: Store) -> None:
    ranking = rank_passages(films, Query(QUESTION), limit=20)
    assert names(films, ranking)[:2] == ["tide.md", "voss.md"]
    voss, hale = (signals_of(films, ranking, path) for path in ("voss.md", "hale.md"))
    assert voss.subject > 0
    assert voss.described > hale.described


def test_a_namesake_is_told_from_what_was_asked_for(films: Store) -> None:
    ranking = rank_passages(films, Query(QUESTION), limit=20)
    assert signals_of(films, ranking, "tide.md").asked == 1.0
    namesake = signals_of(films, ranking, "tide2.md")
    assert namesake.asked == 0.0
    assert namesake.lookalike == pytest.approx(0.5)


def test_scores_are_shares_of_the_best_and_few_passages_go_on(films: Store) -> None:
    ranking = rank_passages(films, Query(QUESTION), limit=20)
    scores = [item.score for item in ranking.chunks]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)
    assert ranking.passing == sum(1 for score in scores if score >= LEAST_SHARE)
    assert 2 <= ranking.passing < len(FILMS)
    assert set(ranking.rankings) == {"fulltext", "vector", "graph", "walk"}
    assert "walk" in ranking.chunks[1].sources


@settings(max_examples=30, deadline=None)
@given(st.sets(st.sampled_from(sorted(FILMS))))
def test_nothing_outside_of_a_filter_is_found_or_gone_through(allowed: set[str]) -> None:
    films = _shared()
    ids = ids_of(films, sorted(allowed))
    ranking = rank_passages(films, Query(QUESTION), limit=20, ids=ids)
    found = {item.id for item in ranking.chunks} | set(ranking.signals)
    found |= {hit.id for hits in ranking.rankings.values() for hit in hits}
    assert found <= set(ids)
    if "tide.md" not in allowed:
        # Nothing leads to those whom it names, since it is outside.
        (voss,) = ids_of(films, ["voss.md"])
        assert voss not in found or ranking.signals[voss].subject == 0.0


_STORES: list[Store] = []


def _shared() -> Store:
    assert _STORES
    return _STORES[0]


@pytest.fixture(autouse=True)
def _share(request: pytest.FixtureRequest) -> Iterator[None]:
    """The property takes no fixture of a function's own, so it gets the films by this way."""
    if "filter" in request.node.name:
        _STORES.append(request.getfixturevalue("films"))
    yield
    _STORES.clear()


def test_vectors_count_without_what_all_texts_have_in_common(films: Store) -> None:
    embed_missing(films)
    space = films.vectors.active_space()
    assert space is not None
    text = FILMS["moen.md"]
    common = np.full(SPACE.dimension, 0.2, dtype=np.float32)
    ranking = rank_passages(films, Query("什么", vector(text), space.id, common), limit=20)
    shares = {path: signals_of(films, ranking, path).vector for path in FILMS}
    assert max(shares.values()) == pytest.approx(1.0)
    assert all(0 <= share <= 1 for share in shares.values())


def test_a_passage_without_a_vector_is_not_placed_behind(films: Store) -> None:
    by_words = rank_passages(films, Query(QUESTION), limit=20)
    space = films.vectors.ensure_space(SPACE)
    (first,) = ids_of(films, ["tide.md"])
    others = [chunk for chunk in ids_of(films, list(FILMS)) if chunk != first]
    films.vectors.put(space, "chunk", others, np.stack([vector(str(n)) for n in others]))
    query = Query(QUESTION, vector(QUESTION), space, np.zeros(SPACE.dimension, dtype=np.float32))
    ranking = rank_passages(films, query, limit=20)
    assert "tide.md" in names(films, ranking)[: ranking.passing]
    assert signals_of(films, ranking, "tide.md").vector == signals_of(films, by_words, "tide.md").vector > 0.5


def test_the_same_question_gives_the_same_ranking(films: Store) -> None:
    first = rank_passages(films, Query(QUESTION), limit=20)
    assert rank_passages(films, Query(QUESTION), limit=20) == first
    with Store.open(films.path, read_only=True) as other:
        assert rank_passages(other, Query(QUESTION), limit=20) == first


def test_a_deleted_document_leads_nowhere(films: Store) -> None:
    (row,) = (row for row in films.documents.list() if row.path == "tide.md")
    films.documents.delete(row.id)
    ranking = rank_passages(films, Query(QUESTION), limit=20)
    assert "tide.md" not in names(films, ranking)
    assert all(item.subject == 0 for item in ranking.signals.values())


@pytest.mark.parametrize(
    "question", ["", "?", "zzz", "\ud800", "'); DROP TABLE chunks; --", "{x} %s " * 3_000]
)
def test_any_question_is_taken(films: Store, question: str, tmp_path: Path) -> None:
    rank_passages(films, Query(question), limit=20)
    with Store.create(tmp_path / "empty.localrag") as empty:
        ranking = rank_passages(empty, Query(question), limit=20)
        assert (ranking.chunks, ranking.passing) == ((), 0)


def test_signals_and_weights_have_one_order() -> None:
    assert as_matrix([WEIGHTS]).tolist() == [[getattr(WEIGHTS, name) for name in NAMES]]
    assert as_matrix([]).shape == (0, len(NAMES))
