"""The façade: making, opening, asking, deleting, status, and which file is meant."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from localrag import Answer
from localrag import KnowledgeBase as PublicKnowledgeBase
from localrag.answering.options import AskOptions
from localrag.answering.types import AnswerText, AskEvent, Found
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engines import Engines
from localrag.errors import (
    KnowledgeBaseAmbiguous,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    ModelNotFound,
    NotAKnowledgeBase,
    NothingIndexed,
    UsageError,
)
from localrag.kb import KnowledgeBase, find_knowledge_base
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import TEXTS, reader

QUESTION = "Who repaired the Halden Bridge?"


def test_the_main_job_from_a_folder_to_a_cited_answer(tmp_path: Path, library: Path) -> None:
    engines = Engines(Settings(), reader("Tomas Berg did [1]."), ScriptedEmbedder())
    with KnowledgeBase.create(tmp_path / "notes.localrag", engines=engines) as kb:
        kb.add([library])
        for _ in kb.index():
            pass
        answer = kb.ask(QUESTION)
    assert answer.answer.startswith("Tomas Berg did [1].")
    assert answer.citations
    assert sorted(path.name for path in tmp_path.iterdir()) == ["library", "notes.localrag"]


def test_public_names_are_these() -> None:
    assert PublicKnowledgeBase is KnowledgeBase
    assert Answer.__module__ == "localrag.answering.types"


def test_create_refuses_a_file_that_is_there(empty_kb: KnowledgeBase) -> None:
    with pytest.raises(KnowledgeBaseExists):
        KnowledgeBase.create(empty_kb.path)


def test_create_refuses_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseNotFound):
        KnowledgeBase.create(tmp_path / "no" / "kb.localrag")


def test_open_refuses_what_is_none(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeBaseNotFound):
        KnowledgeBase.open(tmp_path / "no.localrag")
    other = tmp_path / "text.localrag"
    other.write_text("not a knowledge base, but long enough to be looked into " * 20)
    with pytest.raises(NotAKnowledgeBase):
        KnowledgeBase.open(other)
    assert other.read_text().startswith("not a knowledge base")


def test_asking_before_anything_is_in(empty_kb: KnowledgeBase) -> None:
    for ask in (empty_kb.ask, empty_kb.search, lambda q: list(empty_kb.stream(q))):
        with pytest.raises(NothingIndexed) as error:
            ask(QUESTION)
        assert error.value.exit_code == 3
        assert "localrag add" in error.value.hint


def test_asking_where_only_empty_documents_are(empty_kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    empty_kb.add([tmp_path / "empty.txt"])
    with pytest.raises(NothingIndexed, match="no text"):
        empty_kb.ask(QUESTION)


def test_asking_as_soon_as_the_text_is_in(empty_kb: KnowledgeBase, library: Path) -> None:
    empty_kb.add([library])
    answer = empty_kb.ask(QUESTION)
    assert (answer.coverage.read, answer.coverage.total) == (0, 4)
    assert answer.retrieved is not None
    assert answer.retrieved.passages[0].document == "bridge.md"
    assert answer.retrieved.notes


def test_no_language_model_is_an_error_with_a_hint(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str, role: str) -> Path:
        raise ModelNotFound("No model that reads and answers is installed.", "localrag models pull x")

    monkeypatch.setattr("localrag.engines.find_model", nothing)
    with KnowledgeBase.open(kb.path, engines=Engines(Settings())) as opened:
        found = opened.search(QUESTION)
        assert found.passages
        assert "cannot be used" in found.notes[0]
        with pytest.raises(ModelNotFound) as error:
            opened.ask(QUESTION)
        assert error.value.exit_code == 3
        assert error.value.hint


def test_ask_hears_the_same_events_as_the_stream(kb: KnowledgeBase) -> None:
    heard: list[AskEvent] = []
    answer = kb.ask(QUESTION, on_event=heard.append)
    assert heard[-1] is answer
    assert isinstance(heard[0], Found)
    assert "".join(event.text for event in heard if isinstance(event, AnswerText)) == answer.answer
    fresh = AskOptions(fresh=True)
    assert [type(event) for event in kb.stream(QUESTION, options=fresh)] == [type(event) for event in heard]


@pytest.mark.parametrize("mode", ["", "NAIVE", "mix; drop"])
def test_other_modes_are_refused_by_name(kb: KnowledgeBase, mode: str) -> None:
    for ask in (kb.ask, kb.search):
        with pytest.raises(UsageError) as error:
            ask(QUESTION, mode=mode)
        assert "mix, naive" in error.value.hint


def test_status_counts_everything(kb: KnowledgeBase) -> None:
    status = kb.status()
    assert status.path == kb.path
    assert [row.path for row in status.documents] == sorted(TEXTS)
    assert (status.chunks.total, status.chunks.read, status.coverage.share) == (4, 4, 1.0)
    assert status.vectors.model == "scripted"
    assert status.vectors.dimension == 64
    assert status.vectors.chunks == 4
    assert status.size > 0
    assert not status.read_only
    assert status.journal.generations == 4


def test_text_of_a_document(kb: KnowledgeBase) -> None:
    for row in kb.status().documents:
        assert kb.document_text(row.id) == TEXTS[row.path]
    with pytest.raises(UsageError):
        kb.document_text(999)


def test_delete_by_path_and_by_id_takes_what_it_said(kb: KnowledgeBase) -> None:
    kb.delete("bridge.md")
    names = {entity.name for entity in kb.search("Tomas Berg, Marta Lind, Kvern Works").entities}
    assert "Tomas Berg" not in names
    assert "Marta Lind" in names  # the mill tells of her too
    kb.delete(kb.status().documents[0].id)
    assert [row.path for row in kb.status().documents] == ["mill.txt", "茶馆.md"]
    with pytest.raises(UsageError, match=r"bridge\.md"):
        kb.delete("bridge.md")
    with pytest.raises(UsageError):
        kb.delete(999)
    with Store.open(kb.path) as store:
        assert store.check() == []


def test_delete_of_a_path_that_two_folders_have_asks_which(empty_kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(f"This is note {name}.")
    empty_kb.add([tmp_path / "one", tmp_path / "two"])
    with pytest.raises(UsageError, match="Several") as error:
        empty_kb.delete("note.txt")
    assert (tmp_path / "two").as_posix() in error.value.hint
    empty_kb.delete(f"{(tmp_path / 'two').as_posix()}/note.txt")
    assert [empty_kb.document_text(row.id) for row in empty_kb.status().documents] == ["This is note one."]


def test_read_only_can_be_asked_and_nothing_else(kb: KnowledgeBase, library: Path) -> None:
    with KnowledgeBase.open(
        kb.path, engines=Engines(Settings(), reader("It [1]."), ScriptedEmbedder()), read_only=True
    ) as opened:
        assert opened.read_only
        assert opened.status().read_only
        assert opened.ask(QUESTION).citations
        for change in (lambda: opened.add([library]), opened.index, lambda: opened.delete("bridge.md")):
            with pytest.raises(KnowledgeBaseReadOnly) as error:
                change()
            assert error.value.exit_code == 4
            assert error.value.hint
    assert len(kb.status().documents) == 4


def test_a_copy_of_the_file_answers_the_same(kb: KnowledgeBase, tmp_path: Path, engines: Engines) -> None:
    found = kb.search(QUESTION)
    kb.close()
    copy = tmp_path / "elsewhere.localrag"
    shutil.copyfile(kb.path, copy)
    with KnowledgeBase.open(copy, engines=engines) as opened:
        assert opened.search(QUESTION) == found


def test_close_may_be_called_twice_and_closes_only_own_engines(tmp_path: Path, model: ScriptedModel) -> None:
    given = KnowledgeBase.create(tmp_path / "a.localrag", engines=Engines(Settings(), model))
    given.close()
    given.close()
    assert not model.closed
    own = KnowledgeBase.create(tmp_path / "b.localrag")
    own._engines._model = model
    own.close()
    assert model.closed


def test_several_threads_share_one_file_and_one_pair_of_engines(kb: KnowledgeBase, engines: Engines) -> None:
    answers: list[Answer] = []

    def work() -> None:
        with KnowledgeBase.open(kb.path, engines=engines) as own:
            answers.extend(own.ask(QUESTION) for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == 9
    assert len({answer.answer for answer in answers}) == 1


def test_asking_while_another_thread_indexes(empty_kb: KnowledgeBase, library: Path) -> None:
    empty_kb.add([library])
    engines = Engines(Settings(), reader("Tomas Berg [1].", delay=0.02), ScriptedEmbedder())

    def work() -> None:
        with KnowledgeBase.open(empty_kb.path, engines=engines) as own:
            for _ in own.index():
                pass

    thread = threading.Thread(target=work)
    thread.start()
    with KnowledgeBase.open(empty_kb.path, engines=engines) as asking:
        shares = [asking.ask(QUESTION).coverage.read for _ in range(5)]
    thread.join(30)
    assert shares == sorted(shares)
    assert empty_kb.status().coverage.share == 1.0


class TestFindKnowledgeBase:
    """Which file is meant."""

    def test_the_named_one(self, tmp_path: Path) -> None:
        (tmp_path / "a.localrag").touch()
        assert find_knowledge_base(tmp_path, tmp_path / "a.localrag") == tmp_path / "a.localrag"
        with pytest.raises(KnowledgeBaseNotFound, match=r"no\.localrag") as error:
            find_knowledge_base(tmp_path, tmp_path / "no.localrag")
        assert "localrag init" in error.value.hint

    def test_the_only_one(self, tmp_path: Path) -> None:
        (tmp_path / "a.localrag").touch()
        for name in ("a.localrag-wal", "a.localrag-shm", "b.txt"):
            (tmp_path / name).touch()
        (tmp_path / "folder.localrag").mkdir()
        assert find_knowledge_base(tmp_path, None) == tmp_path / "a.localrag"

    def test_none_says_what_to_type(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseNotFound) as error:
            find_knowledge_base(tmp_path, None)
        assert "localrag init NAME.localrag" in error.value.hint
        assert error.value.exit_code == 3

    def test_several_are_listed(self, tmp_path: Path) -> None:
        for name in ("b.localrag", "a.localrag"):
            (tmp_path / name).touch()
        with pytest.raises(KnowledgeBaseAmbiguous, match=r"a\.localrag, b\.localrag") as error:
            find_knowledge_base(tmp_path, None)
        assert "--kb" in error.value.hint
        assert error.value.exit_code == 2

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(KnowledgeBaseNotFound, match="cannot be looked through"):
            find_knowledge_base(tmp_path / "no", None)

    @pytest.mark.skipif(os.name != "posix", reason="not here: names with such characters")
    def test_names_that_are_no_text_are_shown_as_text(self, tmp_path: Path) -> None:
        bad = os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff.localrag")
        Path(bad).touch()
        (tmp_path / "a.localrag").touch()
        with pytest.raises(KnowledgeBaseAmbiguous) as error:
            find_knowledge_base(tmp_path, None)
        error.value.message.encode("utf-8")
