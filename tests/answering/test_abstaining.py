"""When no answer is written: told by the question's words, in every mode that looks for something."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.answering.abstaining import certainty, counts, names, signals, weights
from localrag.answering.types import Answer, Reading
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.retrieval.content_words import content_words
from localrag.retrieval.types import Coverage, Passage, Retrieved
from localrag.sections import AnsweringSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.answering.helpers import QUESTION, Ask, last
from tests.conftest import reader

FOREIGN = "Which zeppelin crashed at Lakehurst in 1937, and who commanded it?"


def found(question: str, *texts: str, mode: str = "mix") -> Retrieved:
    passages = tuple(
        Passage(n, n, f"{n}.txt", None, "", 0, len(text), text, 1.0, ("fulltext",))
        for n, text in enumerate(texts, start=1)
    )
    return Retrieved(question, mode, passages, (), (), Coverage(4, 4))


def sure(kb: KnowledgeBase, retrieved: Retrieved) -> float | None:
    with Store.open(kb.path) as store:
        return certainty(store, retrieved)


def test_words_that_stand_together_make_it_sure(kb: KnowledgeBase) -> None:
    asked = "Who repaired the Halden Bridge in spring?"
    together = sure(kb, found(asked, "Tomas Berg repaired the Halden Bridge in spring.", "It was late."))
    apart = sure(kb, found(asked, "Nothing was repaired.", "The bridge is old.", "Halden is a town."))
    nothing = sure(kb, found(asked, "The library lends books.", "It was late."))
    assert together is not None
    assert apart is not None
    assert nothing is not None
    assert together > 0.9 > apart > nothing < 0.05


def test_two_places_may_hold_the_words_between_them() -> None:
    weight = weights({}, content_words("Halden bridge engineer born"), 10)
    chain = signals(["The Halden bridge is by Berg.", "Berg, an engineer, was born in Oslo."], weight)
    assert chain.pair == pytest.approx(1.0)
    assert chain.sentence == pytest.approx(0.5)
    # Two places of one source are not two sources.
    one = signals(["The Halden bridge is by Berg. No. No. No. Berg, an engineer, was born."], weight)
    assert one.pair == pytest.approx(1.0)
    assert signals([], weight).pair == 0.0


def test_a_word_that_is_nowhere_counts_only_if_it_is_a_name(kb: KnowledgeBase) -> None:
    text = "Tomas Berg repaired the Halden Bridge."
    plain = sure(kb, found("Who repaired the Halden Bridge?", text))
    framed = sure(kb, found("Who, in the aforementioned narrative, repaired the Halden Bridge?", text))
    other = sure(kb, found("Who repaired the Halden Bridge for Xerxes Zorbas?", text))
    assert plain is not None
    assert framed is not None
    assert other is not None
    assert other < framed - 0.1
    assert framed == pytest.approx(plain, abs=0.03)


def test_names_and_numbers_are_told_from_words_by_how_they_are_written() -> None:
    assert names("Did Anna see 12 ships with Bo in Rome?") == content_words("Anna 12 Bo Rome")


def test_stems_have_the_count_of_their_most_frequent_word() -> None:
    assert counts({"repair": 2, "repairs": 5}) == {next(iter(content_words("repair"))): 5}


@pytest.mark.parametrize(
    ("question", "texts", "mode"),
    [
        ("Overview?", ["A text of something."], "mix"),
        ("Summarize the documents", ["A text of something."], "mix"),
        ("哈尔登的桥是谁修好的？", ["Tomas Berg repaired the Halden Bridge.", "It was late."], "mix"),
        ("Wer hat die Brücke von Halden in dem Jahr repariert?", ["Niemand hat sie repariert."], "mix"),
        ("Which zeppelin crashed at Lakehurst?", ["Themes of the town."], "global"),
        ("Which zeppelin crashed at Lakehurst?", [], "mix"),
    ],
)
def test_where_words_cannot_tell_nothing_is_said(
    kb: KnowledgeBase, question: str, texts: list[str], mode: str
) -> None:
    assert sure(kb, found(question, *texts, mode=mode)) is None


def test_a_question_about_something_else_is_refused_before_any_reading(kb: KnowledgeBase) -> None:
    model = reader("The Hindenburg [1].")
    with KnowledgeBase.open(kb.path, engines=Engines(Settings(), model, ScriptedEmbedder())) as opened:
        events = list(opened.stream(FOREIGN, mode="mix"))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.abstained
    assert answer.answer == "Sorry, I cannot answer this question from the documents. [no-context]"
    assert answer.citations == ()
    assert "hardly holds the question's words" in answer.notes[-1]
    assert not [event for event in events if isinstance(event, Reading)]
    assert not [call for call in model.calls if call.task == "answer"]


def test_the_bound_is_a_setting_and_a_flexible_answer_has_none(kb: KnowledgeBase) -> None:
    for answering in (AnsweringSettings(refuse_below=0), AnsweringSettings(style="flexible")):
        settings = Settings(answering=answering)
        engines = Engines(settings, reader("The Hindenburg."), ScriptedEmbedder())
        with KnowledgeBase.open(kb.path, settings=settings, engines=engines) as opened:
            assert not opened.ask(FOREIGN, mode="mix").abstained


def test_a_question_that_the_library_answers_is_not_refused(ask: Ask) -> None:
    assert not last(ask("Tomas Berg did [1].", QUESTION)).abstained


def test_a_file_of_one_word_does_not_fail(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Harbour", "utf-8")
    with KnowledgeBase.create(
        tmp_path / "k.localrag", engines=Engines(Settings(), reader("A harbour [1]."), ScriptedEmbedder())
    ) as kb:
        kb.add([tmp_path / "a.txt"])
        assert not kb.ask("Harbour?", mode="mix").abstained
