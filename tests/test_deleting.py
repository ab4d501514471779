"""Deleting documents: which ones are meant, what is said to go, and that nothing of them stays."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.errors import KnowledgeBaseReadOnly, UsageError
from localrag.finding import choose
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.report_rows import Footprint, NewClaim, NewCommunity, NewReport
from localrag.store.rows import GenerationRow
from tests.conftest import TEXTS, reader, write_library
from tests.store.logical import logical_rows
from tests.store.secrets import found_in

PAIRS = [pair for count in (1, 2, 4) for pair in itertools.combinations(sorted(TEXTS), count)]


def index_all(kb: KnowledgeBase) -> None:
    for _ in kb.index():
        pass


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with Store.open(path) as store:
        assert store.check() == []
        return logical_rows(store)


def make(path: Path, folder: Path, gone: Iterable[str], engines: Engines) -> None:
    """Index a folder, then delete documents of it and run the index again."""
    with KnowledgeBase.create(path, engines=engines) as kb:
        kb.add([folder])
        index_all(kb)
        for name in gone:
            kb.delete(name)
        index_all(kb)


@pytest.mark.parametrize("gone", PAIRS, ids="-".join)
def test_an_index_of_both_without_the_one_is_an_index_of_the_other(
    tmp_path: Path, gone: tuple[str, ...]
) -> None:
    """From files to rows, with everything that an index run does."""
    folder = write_library(tmp_path / "library")
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    make(tmp_path / "both.localrag", folder, gone, engines)
    for name in gone:
        (folder / name).unlink()
    (folder / "other.txt").touch()
    make(tmp_path / "alone.localrag", folder, ["other.txt"], engines)
    both, alone = rows_of(tmp_path / "both.localrag"), rows_of(tmp_path / "alone.localrag")
    assert {table for table in both if both[table] != alone[table]} == set()


def test_an_answer_goes_with_the_documents_that_it_was_written_from(tmp_path: Path) -> None:
    folder = write_library(tmp_path / "library")
    engines = Engines(Settings(), reader("Rhubarbine did [1]."), ScriptedEmbedder())
    path = tmp_path / "kb" / "notes.localrag"
    path.parent.mkdir()
    words = {"rhubarbine": "answer", "kvern": "text"}
    with KnowledgeBase.create(path, engines=engines) as kb:
        kb.add([folder])
        index_all(kb)
        kb.ask("Who repaired the Halden Bridge?", mode="naive")
    with Store.open(path) as store:
        (call,) = store._session.column("SELECT id FROM generations WHERE task = 'answer'")
        sources = store._session.column(
            "SELECT DISTINCT d.path FROM generation_sources s JOIN chunks c ON c.id = s.chunk_id "
            "JOIN documents d ON d.id = c.document_id WHERE s.generation_id = ?",
            [call],
        )
        assert "bridge.md" in sources
    assert len(found_in(path.parent, words)) > 1
    with KnowledgeBase.open(path, engines=engines) as kb:
        kb.delete("bridge.md")
    assert found_in(path.parent, words) == []


class TestChoose:
    """Which documents a name means."""

    @pytest.fixture
    def full(self, empty_kb: KnowledgeBase, tmp_path: Path) -> tuple[Store, Path]:
        texts = {
            "drafts/one.md": "one",
            "drafts/deep/two.md": "two",
            "note.txt": "note",
            "[odd]*.txt": "odd",
            "more/note.txt": "more",
            "copy.txt": "note",
        }
        for name, text in texts.items():
            (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "docs" / name).write_text(f"The text is {text}.")
        empty_kb.add([tmp_path / "docs"])
        return empty_kb._store, tmp_path / "docs"

    def test_names(self, full: tuple[Store, Path]) -> None:
        store, docs = full
        ids = {row.path: row.id for row in store.documents.list()}
        note = next(row.path for row in store.documents.list() if row.path in ("note.txt", "copy.txt"))

        def paths(*names: str | int) -> list[str]:
            return [row.path for row in choose(store, names)]

        assert paths("note.txt") == paths("copy.txt") == [note]
        assert paths((docs / "more/note.txt").as_posix()) == ["more/note.txt"]
        assert paths(ids["drafts/one.md"]) == ["drafts/one.md"]
        assert paths(f"#{ids['drafts/one.md']}") == ["drafts/one.md"]
        assert paths("drafts/") == ["drafts/deep/two.md", "drafts/one.md"]
        assert paths("*.md", "drafts/one.md") == ["drafts/deep/two.md", "drafts/one.md"]
        assert paths("drafts/o?e.md") == ["drafts/one.md"]
        assert paths("[odd]*.txt") == ["[odd]*.txt"]

    @pytest.mark.parametrize(
        "name", ["other.txt", "drafts", "x/", "*.pdf", "#99", "99", "", "'; --", "9" * 40]
    )
    def test_a_name_that_means_nothing(self, full: tuple[Store, Path], name: str) -> None:
        with pytest.raises(UsageError, match="There is no document") as error:
            choose(full[0], ["note.txt", name])
        assert "status" in error.value.hint

    def test_names_are_also_seen_from_the_present_folder(
        self, full: tuple[Store, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, docs = full

        def paths(*names: str) -> list[str]:
            return [row.path for row in choose(store, names)]

        monkeypatch.chdir(docs.parent)
        assert paths("docs/more/note.txt") == paths("./docs/drafts/../more/note.txt") == ["more/note.txt"]
        assert paths("docs/drafts/") == paths("./docs/drafts/") == ["drafts/deep/two.md", "drafts/one.md"]
        assert paths("docs/drafts/*") == ["drafts/deep/two.md", "drafts/one.md"]
        assert len(paths("./")) == len(store.documents.list())
        for name, folder in (("docs/drafts", "docs/drafts/"), ("drafts", "drafts/")):
            with pytest.raises(UsageError) as error:
                paths(name)
            assert f"For all in the folder: {folder}." in error.value.hint
        monkeypatch.chdir(docs / "drafts")
        assert paths("one.md") == ["drafts/one.md"]
        assert paths("../more/*.txt") == ["more/note.txt"]
        with pytest.raises(UsageError, match="There is no document"):
            paths("")

    def test_a_deleted_folder_to_stand_in_is_no_obstacle(
        self, full: tuple[Store, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "left").mkdir()
        monkeypatch.chdir(tmp_path / "left")
        (tmp_path / "left").rmdir()
        assert [row.path for row in choose(full[0], ["drafts/one.md"])] == ["drafts/one.md"]
        with pytest.raises(UsageError, match="There is no document"):
            choose(full[0], ["nothing*"])

    def test_a_name_that_means_several(self, empty_kb: KnowledgeBase, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "note.txt").write_text(f"This is note {name}.")
        empty_kb.add([tmp_path / "one", tmp_path / "two"])
        with pytest.raises(UsageError, match="Several documents") as error:
            empty_kb.delete_documents(["note.txt"])
        assert (tmp_path / "two").as_posix() in error.value.hint


def enrich(kb: KnowledgeBase) -> None:
    """Claims, summaries, a report, a kept answer and a citation about the bridge."""
    store = kb._store

    def call(task: str) -> GenerationRow:
        return GenerationRow(task, "", "m", "{}", 1, 1, 1, "stop", task)

    marta, bridge = store.graph.find_by_keys(["marta lind", "halden bridge"])
    place = store.graph.entity_chunks(bridge.id)[0]
    claim = NewClaim("marta lind", "WORK", "TRUE", "She built it.", ((0, 5),))
    assert store.claims.record(place, [claim], call("claims"))
    store.summaries.put("entity", marta.id, "An engineer.", call("summary"))
    (community,) = store.reports.put_communities([NewCommunity(0, (marta.id, bridge.id))])
    assert community is not None
    store.reports.put(community, NewReport("x", "y"), call("report"), store.reports.chunks_of(community))
    answer = store.journal.add_generation(call("answer"), [place])
    store.answers.put("k", "?", "x", revision=store.revision(), generation_id=answer)


def test_a_trial_says_exactly_what_goes_and_changes_nothing(kb: KnowledgeBase) -> None:
    enrich(kb)
    before, revision = logical_rows(kb._store), kb.status().revision
    counted = kb._store.origins.footprint()
    trial = kb.delete_documents(["bridge.md", "#1"], dry_run=True)
    assert logical_rows(kb._store) == before
    assert kb.status().revision == revision
    assert [row.path for row in trial.documents] == ["bridge.md"]
    assert trial.dry_run
    done = kb.delete_documents(["bridge.md"])
    assert done.gone == trial.gone
    assert kb._store.origins.footprint() == counted.without(done.gone)
    gone = done.gone
    assert (gone.documents, gone.claims, gone.summaries, gone.reports, gone.answers) == (1, 1, 1, 1, 1)
    assert (gone.passages, gone.relations) == (1, 2)
    assert gone.entities == 3, "Marta Lind is in another document too"
    assert kb._store.check() == []
    with pytest.raises(UsageError):
        kb.delete_documents(["bridge.md"])


def test_all_or_nothing(kb: KnowledgeBase) -> None:
    with pytest.raises(UsageError):
        kb.delete_documents(["bridge.md", "nothing.md"])
    assert len(kb.status().documents) == 4
    assert kb.delete_documents(["*"]).gone.documents == 4
    assert kb._store.origins.footprint() == Footprint()


def test_a_file_that_is_read_only_refuses_even_a_trial(kb: KnowledgeBase) -> None:
    with (
        KnowledgeBase.open(kb.path, read_only=True) as opened,
        pytest.raises(KnowledgeBaseReadOnly),
    ):
        opened.delete_documents(["bridge.md"], dry_run=True)
