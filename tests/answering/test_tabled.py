"""Questions for tables on their way: no model is asked, none has to be there, and the table is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.answering.options import AskOptions
from localrag.answering.tabled import MODE, table_for
from localrag.answering.types import Answer, AnswerText
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store import Store
from localrag.store.filters import Filter
from tests.answering.tables_corpus import PEOPLE, sixty
from tests.conftest import reader
from tests.store.helpers import new_store

QUESTION = "List all people mentioned in the documents."


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A knowledge base of sixty people."""
    path = tmp_path / "letters.localrag"
    with new_store(path) as store:
        sixty(store)
    return path


def asked(path: Path, question: str = QUESTION, *, says: str = "", **options: object) -> Answer:
    """The answer of a knowledge base whose model says this; without, the model must not be asked."""

    def answer(request: object) -> str:
        assert says, "the model was asked"
        return says

    engines = Engines(Settings(), reader(answer), ScriptedEmbedder())
    with KnowledgeBase.open(path, engines=engines) as kb:
        events = list(kb.stream(question, options=AskOptions(**options)))  # type: ignore[arg-type]
    last = events[-1]
    assert isinstance(last, Answer)
    assert "".join(event.text for event in events if isinstance(event, AnswerText)) == last.answer
    return last


def test_the_answer_is_the_whole_table(letters: Path) -> None:
    answer = asked(letters)
    assert (answer.mode, answer.model, answer.abstained) == (MODE, "", False)
    assert answer.table is not None
    assert sorted(str(row.cells[0]) for row in answer.table.rows) == sorted(PEOPLE)
    data = answer.to_json()["table"]
    assert (data["total"], len(data["rows"]), data["columns"]) == (60, 60, ["name", "passages"])
    assert set(data["rows"][0]["source"]) == {"document", "page", "start", "end"}
    assert len(answer.citations) == 60
    assert answer.explanation is not None
    assert "list" in answer.explanation.why


def test_it_is_the_same_in_a_file_that_cannot_be_written(letters: Path) -> None:
    with KnowledgeBase.open(letters, read_only=True, engines=Engines(Settings())) as kb:
        answer = kb.ask(QUESTION)
    assert answer.table is not None
    assert answer.table.total == 60


def test_it_is_stored_in_a_conversation(letters: Path) -> None:
    answer = asked(letters, session="new")
    assert answer.session is not None
    with Store.open(letters, read_only=True) as store:
        question, said = store.talk.messages(answer.session)
    assert question.text == QUESTION
    assert said.text == answer.answer
    assert said.details["mode"] == MODE
    assert len(said.citations) == 60


def test_a_filter_of_the_question_holds(letters: Path) -> None:
    answer = asked(letters, filter=Filter(folder="letters/box1.txt"))
    assert answer.table is not None
    assert answer.table.total == 6


def test_who_chooses_a_mode_gets_it(letters: Path) -> None:
    assert asked(letters, mode="naive", says="Nobody.").table is None
    with Store.open(letters, read_only=True) as store:
        assert table_for(store, QUESTION, AskOptions()) is not None
        assert table_for(store, QUESTION, AskOptions(user_prompt="in verse")) is None
        assert table_for(store, QUESTION, AskOptions(bases=(letters,))) is None
        assert table_for(store, "Who is Ada Ahlers?", AskOptions()) is None


def test_a_deleted_document_is_in_no_table(letters: Path) -> None:
    with Store.open(letters) as store:
        for row in store.documents.list():
            if row.path != "letters/box4.txt":
                store.documents.delete(row.id)
    answer = asked(letters)
    assert answer.table is not None
    assert answer.table.total == 6
    assert {row.place.document for row in answer.table.rows if row.place} == {"letters/box4.txt"}
