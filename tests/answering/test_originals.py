"""Whether the files that an answer cites are still as they were read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from localrag.answering.originals import Originals, refreshed, told
from localrag.answering.types import Citation
from localrag.documents import reading
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import reader

TEXT = "Tomas Berg repaired the bridge of Halden in 1931.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "bridge.txt").write_text(TEXT)
    (folder / "mill.txt").write_text("Marta Lind bought the mill.\n")
    return folder


@pytest.fixture
def path(tmp_path: Path, folder: Path) -> Path:
    path = tmp_path / "k.localrag"
    with KnowledgeBase.create(
        path, engines=Engines(Settings(), reader("Tomas Berg."), ScriptedEmbedder())
    ) as kb:
        kb.add([folder])
    return path


def state(path: Path, name: str = "bridge.txt") -> str:
    with Store.open(path, read_only=True) as store:
        (found,) = (row.id for row in store.documents.list() if row.path == name)
        return Originals(store).state(found)


def test_a_file_as_it_was_is_not_even_opened(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "fingerprint", lambda path: pytest.fail("was read"))
    assert state(path) == "same"


def test_a_touched_file_is_the_same_and_a_changed_one_is_not(path: Path, folder: Path) -> None:
    file = folder / "bridge.txt"
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert state(path) == "same"
    file.write_text(TEXT.replace("1931", "1932"))
    assert state(path) == "changed"
    file.write_text(TEXT + "More.\n")
    assert state(path) == "changed"


def test_a_file_that_went_and_a_folder_that_is_not_there(path: Path, folder: Path) -> None:
    (folder / "bridge.txt").unlink()
    assert state(path) == "gone"
    assert state(path, "mill.txt") == "same"
    (folder / "bridge.txt").mkdir()
    assert state(path) == "gone"
    shutil.rmtree(folder)
    # As on another machine: nothing can be said.
    assert state(path) == "unknown"


def test_one_of_two_copies_is_enough(tmp_path: Path, folder: Path) -> None:
    (folder / "copy.txt").write_text(TEXT)
    path = tmp_path / "two.localrag"
    with KnowledgeBase.create(path) as kb:
        kb.add([folder])
    with Store.open(path, read_only=True) as store:
        (document,) = (row for row in store.documents.list() if len(store.documents.places(row.id)) == 2)
    (folder / document.path).unlink()
    assert state(path, document.path) == "same"
    for name in ("bridge.txt", "copy.txt"):
        (folder / name).write_text("Other.\n")
    assert state(path, document.path) == "changed"


def test_a_document_that_is_not_in_the_file_any_more(path: Path) -> None:
    with Store.open(path) as store:
        assert Originals(store).state(4711) == "gone"


def test_an_answer_says_what_became_of_its_files(path: Path, folder: Path) -> None:
    engines = Engines(Settings(), reader("Tomas Berg repaired the bridge of Halden."), ScriptedEmbedder())
    with KnowledgeBase.open(path, engines=engines) as kb:
        answer = kb.ask("Who repaired the bridge of Halden?")
        assert [citation.state for citation in answer.citations] == ["same"]
        assert not [note for note in answer.notes if "bridge.txt" in note]
        (folder / "bridge.txt").write_text("Rewritten.\n")
        # The answer is kept, and what it says of the file is not.
        again = kb.ask("Who repaired the bridge of Halden?")
    assert [citation.state for citation in again.citations] == ["changed"]
    assert "“bridge.txt” has changed since it was read; localrag sync brings it up to date." in again.notes


def test_notes_name_each_file_once() -> None:
    def cited(document: str, state: str, base: str = "") -> Citation:
        return Citation(1, "", "document", document, None, 0, 0, "", base=base, state=state)  # type: ignore[arg-type]

    notes = told(
        [cited("a\n.txt", "gone"), cited("a\n.txt", "gone"), cited("b.txt", "same"), cited("c", "unknown")]
    )
    assert len(notes) == 1
    assert "\n" not in notes[0]
    assert notes[0].endswith("is not there any more; the answer rests on what was read.")


def test_a_citation_of_another_knowledge_base_is_left_as_it_is(path: Path) -> None:
    other = Citation(1, "", "document", "bridge.txt", None, 0, 0, "", base="b", state="changed")
    own = Citation(1, "", "document", "bridge.txt", None, 0, 0, "", state="changed")
    with Store.open(path) as store:
        assert [citation.state for citation in refreshed(store, [other, own])] == ["changed", "same"]
