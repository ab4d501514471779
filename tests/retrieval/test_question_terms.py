"""Words of a question: rare ones tell more, and inflected forms are the same word."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.retrieval.question_terms import QuestionTerms
from localrag.store.database import Store
from tests.store.helpers import add

TEXTS = [
    "The film was directed by Ingrid Voss.",
    "The film was made in winter.",
    "The director came from Karsund, as did the film.",
    "临江茶馆由陈玉兰开办。",
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "terms.localrag")
    for number, text in enumerate(TEXTS):
        add(store, f"{number}.txt", text)
    return store


def test_rare_words_tell_more_and_words_that_nobody_has_tell_nothing(store: Store) -> None:
    terms = QuestionTerms(store, "Which director of the film was in Karsund with Quux?", len(TEXTS))
    assert terms.weights["karsu"] > terms.weights["film"] > 0
    assert "the" not in terms.weights
    assert terms.weights["quux"] > terms.weights["karsu"]


def test_a_word_may_be_there_in_another_form_and_a_pair_of_characters_may_not(store: Store) -> None:
    terms = QuestionTerms(store, "Who is directing 茶楼?", len(TEXTS))
    assert terms.within(TEXTS[0]) == {"direc"}
    assert set(terms.weights) == {"direc"}


def test_forms_of_a_word_are_one_word_and_parts_of_words_are_none(store: Store) -> None:
    terms = QuestionTerms(store, "Which director made the film?", len(TEXTS))
    assert terms.within("It was DIRECTED long ago.") == {"direc"}
    assert terms.within("A filmstrip, unmade") == set()
    assert terms.within("made: a film") == {"made", "film"}


def test_chinese_is_compared_by_pairs_of_characters(store: Store) -> None:
    terms = QuestionTerms(store, "茶馆是谁开办的？", len(TEXTS))
    assert terms.within(TEXTS[3]) == {"茶馆", "开办"}
    assert terms.share(terms.within("茶馆")) == pytest.approx(0.5)


def test_shares_go_from_nothing_to_all_and_can_be_of_a_part(store: Store) -> None:
    terms = QuestionTerms(store, "Which director made the film?", len(TEXTS))
    assert terms.share(set()) == 0.0
    assert terms.share(terms.weights.keys()) == pytest.approx(1.0)
    assert terms.share({"film"}, {"film"}) == 1.0
    assert terms.share({"film"}, set()) == 0.0


def test_a_name_is_as_rare_as_its_rarest_word(store: Store) -> None:
    terms = QuestionTerms(store, "Who is the director of the film at Karsund?", len(TEXTS))
    assert terms.rarest("the film") == 3
    assert terms.rarest("film karsund") == 1
    assert terms.rarest("something else") == 1


@pytest.mark.parametrize(
    "question", ["", "???", "\ud800", "'); DROP TABLE chunks; --", "C++ ORA-01555 " * 2_000]
)
def test_any_question_is_taken(store: Store, question: str) -> None:
    terms = QuestionTerms(store, question, len(TEXTS))
    assert terms.share(terms.within(question)) <= 1.0
