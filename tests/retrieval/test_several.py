"""One question to several knowledge bases: found together, named, never mixed up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.bases import Bases, open_bases
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Embedder
from localrag.engines import Engines
from localrag.errors import UsageError
from localrag.kb import KnowledgeBase
from localrag.retrieval.search import NOTHING_WITHIN, Tools
from localrag.retrieval.several import Base, SeveralRetriever
from localrag.retrieval.types import MODES, RetrievalOptions, Retrieved
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.filters import Filter
from tests.conftest import DESCRIBED, TEXTS, reader

OTHER = {
    "harbour.md": "# Harbour\n\nThe harbour of Veldt was dredged by Bo Renner in 1902. Halden is far away.",
    "library.txt": TEXTS["library.txt"],
    "pears.txt": "Pears are grown in the garden of the mill.",
}


def write_other(folder: Path, embedder: Embedder) -> Path:
    """A second knowledge base with some texts of its own, and one that the library has too."""
    texts = folder / "texts"
    texts.mkdir()
    for name, text in OTHER.items():
        (texts / name).write_text(text)
    path = folder / "other.localrag"
    with KnowledgeBase.create(
        path, settings=DESCRIBED, engines=Engines(DESCRIBED, reader(), embedder)
    ) as made:
        made.add([texts])
        for _ in made.index():
            pass
    return path


@pytest.fixture(scope="session")
def other_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_other(tmp_path_factory.mktemp("other"), ScriptedEmbedder())


@pytest.fixture
def bases(store: Store, other_file: Path, tmp_path: Path) -> Iterator[Bases]:
    copy = Path(shutil.copyfile(other_file, tmp_path / "other.localrag"))
    with open_bases(store, [copy]) as opened:
        yield opened


def ask(
    bases: Bases,
    question: str,
    options: RetrievalOptions | str = "mix",
    *,
    model: ScriptedModel | None = None,
) -> Retrieved:
    parts = [Base(name, bases.store(name), ScriptedEmbedder()) for name in bases.names]
    tools = Tools(model=(lambda: model) if model else None)
    return SeveralRetriever(parts, RetrievalSettings(), tools).retrieve(question, options)


def places(found: Retrieved) -> list[tuple[str, str]]:
    return [(passage.base, passage.document) for passage in found.passages]


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "bypass"])
@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Who dredged the harbour of Veldt?", ("other", "harbour.md")),
        ("Who repaired the Halden Bridge after the flood?", ("", "bridge.md")),
    ],
)
def test_the_one_that_holds_the_answer_comes_first(
    bases: Bases, mode: str, question: str, place: tuple[str, str]
) -> None:
    found = ask(bases, question, mode)
    assert places(found)[0] == place
    for passage in found.passages:
        store = bases.store(passage.base)
        assert store.documents.text(passage.document_id)[passage.start : passage.end] == passage.text
        assert store.documents.get(passage.document_id).path == passage.document


def test_entities_and_relations_are_of_the_file_they_name(bases: Bases) -> None:
    found = ask(bases, "What of Marta Lind, Jon Aas and Bo Renner?", "hybrid")
    assert {hit.base for hit in found.entities} == {"", "other"}
    for hit in found.entities:
        assert bases.store(hit.base).graph.entity(hit.id).name == hit.name
        assert hit.chunk_ids
    for line in found.relations:
        row = bases.store(line.base).graph.relation(line.id)
        assert (row.source, row.target) == (line.source, line.target)


def test_a_document_that_both_have_is_shown_once(bases: Bases) -> None:
    found = ask(bases, "When may the letters by the poet Jon Aas be read?", "naive")
    assert [document for _, document in places(found)].count("library.txt") == 1
    assert places(found)[0] == ("", "library.txt")


def test_the_trace_tells_files_apart(bases: Bases) -> None:
    found = ask(bases, "Who dredged the harbour of Veldt, and who repaired the bridge?")
    candidates = found.trace.candidates["chunk"]
    assert len({(item.base, item.id) for item in candidates}) == len(candidates)
    chosen = sorted((item.chosen, item.base, item.id) for item in candidates if item.chosen)
    assert [(base, row_id) for _, base, row_id in chosen] == [
        (passage.base, passage.chunk_id) for passage in found.passages
    ]


def test_coverage_is_that_of_all(bases: Bases) -> None:
    found = ask(bases, "Halden")
    totals = [bases.store(name).chunks.count().total for name in bases.names]
    assert found.coverage.total == sum(totals)


def test_a_filter_by_documents_leaves_the_others_out(bases: Bases) -> None:
    options = RetrievalOptions(mode="mix", filter=Filter(documents=(1,)))
    found = ask(bases, "The harbour of Veldt and the bridge of Halden", options)
    assert {(passage.base, passage.document_id) for passage in found.passages} == {("", 1)}
    assert not any(hit.base for hit in found.entities)
    assert not any(line.base for line in found.relations)
    assert NOTHING_WITHIN not in found.notes


def test_a_filter_by_media_type_holds_in_all(bases: Bases) -> None:
    options = RetrievalOptions(mode="naive", filter=Filter(media_types=("text/plain",)))
    found = ask(bases, "Halden, the mill and the harbour", options)
    assert all(document.endswith(".txt") for _, document in places(found))
    assert {base for base, _ in places(found)} == {"", "other"}


def test_auto_chooses_once_for_all_and_the_model_is_asked_once(bases: Bases) -> None:
    found = ask(bases, "How are Marta Lind and the Halden Bridge connected?", "auto")
    assert (found.asked, found.mode) == ("auto", "path")
    said = json.dumps({"high_level_keywords": ["repair"], "low_level_keywords": ["bridge"]})
    model = ScriptedModel(lambda request: said)
    found = ask(bases, "Which repair of a bridge was there?", "local", model=model)
    assert len(model.calls) == 1
    assert found.keywords.by == "model"


def test_what_only_one_says_carries_its_name(store: Store, tmp_path: Path) -> None:
    path = write_other(tmp_path, ScriptedEmbedder(32, "small"))
    with open_bases(store, [path]) as bases:
        found = ask(bases, "Who dredged the harbour of Veldt?")
    assert places(found)[0] == ("other", "harbour.md")
    (note,) = found.notes
    assert note.startswith("other: Only words and names were searched: the vectors were made by small")


def test_each_file_is_asked_with_the_model_of_its_vectors(store: Store, tmp_path: Path) -> None:
    small = ScriptedEmbedder(32, "small")
    path = write_other(tmp_path, small)
    before = small.calls
    with open_bases(store, [path]) as bases:
        parts = [Base("", store, ScriptedEmbedder()), Base("other", bases.store("other"), small)]
        found = SeveralRetriever(parts, RetrievalSettings()).retrieve("Who dredged the harbour of Veldt?")
    assert places(found)[0] == ("other", "harbour.md")
    assert found.notes == ()
    assert "vector" in found.passages[0].sources
    assert small.calls > before


def test_limits_hold_over_all(bases: Bases) -> None:
    options = RetrievalOptions(mode="mix", passages=2, entities=1, relations=1)
    found = ask(bases, "Halden Bridge, Marta Lind, harbour of Veldt, letters, mill", options)
    assert (len(found.passages), len(found.entities), len(found.relations)) <= (2, 1, 1)
    assert len(found.passages) == 2


def test_one_alone_is_searched_as_ever(store: Store) -> None:
    with open_bases(store, []) as bases:
        assert bases.names == ("",)
        found = ask(bases, "Who repaired the Halden Bridge?")
    assert {passage.base for passage in found.passages} == {""}


def test_an_unknown_mode_is_refused_before_anything_is_searched(bases: Bases) -> None:
    with pytest.raises(UsageError, match="no mode 'guess'"):
        ask(bases, "Halden", "guess")
