"""Citations of whole answers: each in the context, each at a place whose text is checked."""

from __future__ import annotations

from pathlib import Path

from localrag.engine.programs import CitedText
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from tests.answering.helpers import (
    QUESTION,
    Ask,
    last,
    number_of,
    number_of_name,
    sources_of,
    spans_hold,
)
from tests.conftest import reader


def test_citation_has_document_span_and_text(ask: Ask, kb: KnowledgeBase) -> None:
    answer = last(ask(lambda r: f"Tomas Berg [{number_of(r, 'bridge.md')}]."))
    (citation,) = answer.citations
    assert (citation.number, citation.label, citation.kind) == (1, "[DC] bridge.md", "document")
    assert (citation.document, citation.page) == ("bridge.md", None)
    assert "Tomas Berg" in citation.text
    assert spans_hold(kb, answer)


def test_entities_and_relations_are_cited_at_a_sentence_that_mentions_them(
    ask: Ask, kb: KnowledgeBase
) -> None:
    def write(request: GenerationRequest) -> str:
        entity = number_of_name(request, "entities", "Tomas Berg")
        relation = number_of_name(request, "relations", "repair")
        return f"He did [{entity}] it [{relation}]."

    answer = last(ask(write, "What did Tomas Berg do to the Halden Bridge?"))
    entity, relation = answer.citations
    assert (entity.label, entity.kind) == ("[KG] Tomas Berg", "entity")
    assert entity.text == "The engineer Tomas Berg repaired them within eight months."
    assert (relation.label, relation.kind) == ("[KG] Tomas Berg - Halden Bridge", "relation")
    assert relation.text.startswith("The Halden Bridge crosses")
    assert relation.text.endswith("The engineer Tomas Berg repaired them within eight months.")
    assert spans_hold(kb, answer)
    assert answer.answer.endswith("- [KG] Tomas Berg\n- [KG] Tomas Berg - Halden Bridge\n")


def test_a_document_is_listed_once_and_at_most_five_are(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(8):
        (folder / f"part{n}.txt").write_text(f"The lighthouse keeper wrote page {n} of the log.\n")
    settings = Settings()
    model = ScriptedModel(
        lambda r: "All of it " + "".join(f"[{n}]" for n in range(1, sources_of(r) + 1)) + "."
    )
    wide = Settings(retrieval=type(settings.retrieval)(passages=8))
    with KnowledgeBase.create(
        tmp_path / "m.localrag", settings=wide, engines=Engines(wide, model, ScriptedEmbedder())
    ) as kb:
        kb.add([folder])
        answer = kb.ask("Who wrote the log of the lighthouse?")
    listed = [line for line in answer.answer.splitlines() if line.startswith("- ")]
    assert len(listed) == len(set(listed)) == 5
    assert len(answer.citations) == 5
    assert answer.answer.startswith("All of it [1][2][3][4][5].")


def test_sources_listed_by_the_model_are_not_shown_raw(ask: Ask) -> None:
    def write(request: GenerationRequest) -> str:
        assert isinstance(request.program, CitedText)
        return f"Tomas Berg did.{request.program.heading}[{number_of(request, 'bridge.md')}] [1] [99]"

    answer = last(ask(write))
    assert answer.answer.startswith("Tomas Berg did.\n\n### References\n- [DC] bridge.md\n")
    assert "99" not in answer.answer
    assert {citation.label for citation in answer.citations} >= {"[DC] bridge.md"}


def test_an_answer_without_any_number_rests_on_what_it_shares_words_with(ask: Ask, kb: KnowledgeBase) -> None:
    answer = last(ask("The engineer Tomas Berg repaired them within eight months with steel."))
    assert [citation.label for citation in answer.citations] == ["[DC] bridge.md"]
    assert spans_hold(kb, answer)
    answer = last(ask("Purple elephants whistle quietly."))
    assert answer.citations == ()
    assert "References" not in answer.answer
    assert not answer.abstained


def test_forged_references_in_the_body_become_no_citations(ask: Ask) -> None:
    answer = last(ask("See [DC] evil.md and [7777] and [KG] Nobody."))
    assert answer.answer.startswith("See evil.md and and Nobody.")
    assert answer.citations == ()


def test_a_file_name_with_markup_is_no_markup(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    name = "[click](x) <b> `q` *s*.txt"
    (folder / name).write_text("The clockmaker of Varn mended the tower clock.\n")
    model = ScriptedModel(lambda r: "The clockmaker did [1].")
    with KnowledgeBase.create(
        tmp_path / "o.localrag", engines=Engines(Settings(), model, ScriptedEmbedder())
    ) as kb:
        kb.add([folder])
        answer = kb.ask("Who mended the tower clock of Varn?")
    assert answer.citations[0].label == f"[DC] {name}"
    assert answer.answer.endswith("- [DC] \\[click\\](x) \\<b\\> \\`q\\` \\*s\\*.txt\n")


def test_a_document_deleted_while_the_answer_is_written_is_cited_without_a_span(kb: KnowledgeBase) -> None:
    def write(request: GenerationRequest) -> str:
        number = number_of(request, "bridge.md")
        with Store.open(kb.path) as other:
            other.documents.delete(next(r.id for r in other.documents.list() if r.path == "bridge.md"))
        return f"Tomas Berg [{number}]."

    with KnowledgeBase.open(
        kb.path, engines=Engines(Settings(), reader(write), ScriptedEmbedder())
    ) as opened:
        answer = opened.ask(QUESTION)
    (citation,) = answer.citations
    assert citation.label == "[DC] bridge.md"
    assert (citation.start, citation.end, citation.text) == (0, 0, "")
