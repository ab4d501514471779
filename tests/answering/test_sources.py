"""A cited passage within its document: found where it is now, with what can be told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from localrag.answering.checking import SentenceCheck
from localrag.answering.sources import line_in
from localrag.answering.types import Answer, Citation
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.errors import UsageError
from localrag.kb import KnowledgeBase
from localrag.retrieval.types import Coverage
from localrag.settings import Settings
from tests.conftest import reader

CITED = "Tomas Berg repaired the bridge in 1931."
TEXT = f"# Halden\n\nA town by the sea.\n\n## The bridge\n\n{CITED} It was opened in May.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "bridge.md").write_text(TEXT)
    return folder


@pytest.fixture
def kb(tmp_path: Path, folder: Path) -> Iterator[KnowledgeBase]:
    engines = Engines(Settings(), reader("Tomas Berg."), ScriptedEmbedder())
    with KnowledgeBase.create(tmp_path / "k.localrag", engines=engines) as kb:
        kb.add([folder])
        yield kb


def citation(text: str = CITED, start: int | None = None) -> Citation:
    at = TEXT.index(CITED) if start is None else start
    return Citation(1, "[DC] bridge.md", "document", "bridge.md", None, at, at + len(text), text)


def test_the_passage_is_shown_within_its_document_with_what_the_answer_shares(
    kb: KnowledgeBase, folder: Path
) -> None:
    kb.tags.add("towns", ["bridge.md"])
    answer = "Tomas Berg repaired it [1]. In 1931 [2].\n\n### References\n- [1] [DC] bridge.md"
    view = kb.sources.cited(citation(), "Who?", answer)
    assert view.text == TEXT
    assert TEXT[slice(*view.span)] == CITED
    assert [TEXT[slice(*mark)] for mark in view.marks] == ["Tomas", "Berg", "repaired"]
    assert [held.text for held in view.held] == ["Tomas Berg repaired it."]
    assert (view.tags, view.state, view.note) == (("towns",), "same", "")
    assert (view.file, view.line) == (str(folder / "bridge.md"), 7)
    assert [TEXT[part.start : part.end] for part in view.parts] != []
    assert any(part.start <= view.span[0] < part.end for part in view.parts)


def test_checks_of_the_answer_go_before_marks_in_its_text_and_the_question_is_all_there_is_without(
    kb: KnowledgeBase,
) -> None:
    checks = (
        SentenceCheck("It was in 1931 in Oslo.", (1,), "partly", ("Oslo",)),
        SentenceCheck("Other.", (2,), "not"),
    )
    answer = Answer("Who?", "", False, "mix", "", Coverage(1, 1), (), "en", checks=checks)
    view = kb.sources.cited(citation(), "Who?", answer)
    assert [(held.text, held.verdict, held.missing) for held in view.held] == [
        ("It was in 1931 in Oslo.", "partly", ("Oslo",))
    ]
    assert [TEXT[slice(*mark)] for mark in view.marks] == ["1931"]
    view = kb.sources.cited(citation(), "Which bridge?")
    assert ([TEXT[slice(*mark)] for mark in view.marks], view.held) == (["bridge"], ())


def test_the_name_that_an_entity_is_cited_by_is_marked(kb: KnowledgeBase) -> None:
    cited = replace(citation(), kind="entity", label="[KG] Tomas Berg")
    assert [TEXT[slice(*mark)] for mark in kb.sources.cited(cited).marks] == ["Tomas Berg"]
    cited = replace(citation(), kind="relation", label="[KG] Tomas Berg - bridge")
    assert [TEXT[slice(*mark)] for mark in kb.sources.cited(cited).marks] == ["Tomas Berg", "bridge"]


def test_a_passage_that_moved_is_found_and_one_that_went_is_shown_as_it_was_cited(
    kb: KnowledgeBase, folder: Path
) -> None:
    moved = kb.sources.cited(citation(start=0))
    assert TEXT[slice(*moved.span)] == CITED
    assert moved.document_id is not None
    gone = kb.sources.cited(citation("Tomas Berg sold the bridge."))
    assert (gone.text, gone.document_id) == ("Tomas Berg sold the bridge.", None)
    assert "deleted or changed" in gone.note
    assert "gone" in kb.sources.cited(citation("")).note
    elsewhere = kb.sources.cited(replace(citation(), base="other"))
    assert (elsewhere.text, elsewhere.document_id) == (CITED, None)
    assert "knowledge base other" in elsewhere.note
    (folder / "bridge.md").write_text("Other.")
    assert kb.sources.cited(citation()).state == "changed"
    (folder / "bridge.md").unlink()
    view = kb.sources.cited(citation())
    assert (view.state, view.text) == ("gone", TEXT)


def test_of_two_documents_with_one_path_the_one_that_holds_the_passage_is_shown(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "bridge.md").write_text("Nothing is cited here.\n")
    kb.add([other])
    assert kb.sources.cited(citation()).text == TEXT
    assert len(kb.sources.cited(citation("Nothing is cited", 0)).text) == 23


def test_a_stretch_a_chunk_and_what_is_not_there(kb: KnowledgeBase) -> None:
    document_id = kb.sources.cited(citation()).document_id
    assert document_id is not None
    view = kb.sources.span(document_id, 0, 10**9, ["halden", "town"])
    assert view.span == (0, len(TEXT))
    assert [TEXT[slice(*mark)] for mark in view.marks] == ["Halden", "town"]
    chunk = view.parts[-1]
    part = kb.sources.part(chunk.id, statements=["Tomas Berg."])
    assert part.span == (chunk.start, chunk.end)
    assert [TEXT[slice(*mark)] for mark in part.marks] == ["Tomas", "Berg"]
    assert kb.sources.part(chunk.id, (2, 8)).span == (2, 8)
    with pytest.raises(UsageError):
        kb.sources.span(999, 0, 1)
    with pytest.raises(UsageError):
        kb.sources.part(999)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("a\nb\nTomas\n", 3, 3),
        ("new\na\nb\nTomas\n", 3, 4),
        ("Tomas\n\n\n\n\nTomas\n", 5, 6),
        ("short", 9, 1),
        ("", 4, 1),
    ],
)
def test_the_line_of_a_passage_is_looked_for_in_a_file_that_changed(text: str, line: int, found: int) -> None:
    assert line_in(text, "\nTomas\nBerg", line) == found
