"""With a filter nothing from outside of it is ever shown: no passage, no name, no description, in no mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.curating.tags import TagDesk
from localrag.engine.scripted import ScriptedEmbedder
from localrag.graph.names import fold
from localrag.kb import KnowledgeBase
from localrag.retrieval.search import NOTHING_WITHIN, Retriever
from localrag.retrieval.types import MODES, EntityHit, RelationHit, RetrievalOptions, Retrieved
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.examples import examples
from tests.store.helpers import generation

QUESTIONS = (
    "How are Marta Lind and the Halden Bridge connected?",
    "Who is Marta Lind of the mill, and what of Tomas Berg?",
    "What are the main themes?",
    "陈玉兰和林小川是什么关系？",
    "letters by the poet of Halden, and a flood",
)
LARGE = RetrievalSettings(passages=50, entities=50, relations=50)


def ask(store: Store, wanted: Filter, question: str, mode: str, *, vectors: bool = True) -> Retrieved:
    embedder = ScriptedEmbedder() if vectors else None
    return Retriever(store, embedder, LARGE).retrieve(question, RetrievalOptions(mode=mode, filter=wanted))


def assert_within(store: Store, found: Retrieved, documents: set[int]) -> None:
    """All that is shown is said by these documents."""
    chunks = {row.id for document in documents for row in store.chunks.of_document(document)}
    assert {passage.document_id for passage in found.passages} <= documents
    hits: list[EntityHit | RelationHit] = [*found.entities, *found.relations]
    for hit in hits:
        assert hit.chunk_ids
        assert set(hit.chunk_ids) <= chunks
    for entity in found.entities:
        said = [row for row in store.graph.mentions_of(entity.id) if row.chunk_id in chunks]
        assert entity.name in {row.name for row in said}
        assert entity.type in {row.type for row in said}
        assert _made_of(entity.description, [row.description for row in said])
    for relation in found.relations:
        ends = {row.name for hit in found.entities for row in store.graph.mentions_of(hit.id)}
        texts = [store.chunks.get(chunk).text for chunk in relation.chunk_ids]
        assert relation.source in ends or any(relation.source in text for text in texts)
    for kind, candidates in found.trace.candidates.items():
        if kind == "chunk":
            assert {item.id for item in candidates} <= chunks


def _made_of(description: str, parts: list[str]) -> bool:
    for part in sorted(parts, key=len, reverse=True):
        description = description.replace(part, "")
    return not description.strip(" ;")


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kept=st.sets(st.integers(1, 4), max_size=4),
    question=st.sampled_from(QUESTIONS),
    mode=st.sampled_from([mode for mode in MODES if mode != "bypass"]),
    vectors=st.booleans(),
)
def test_nothing_from_outside_appears(
    store: Store, kept: set[int], question: str, mode: str, vectors: bool
) -> None:
    ids = {row.id for row in store.documents.list()}
    assert ids == {1, 2, 3, 4}
    # No list is no filter, so a filter that nothing passes names a document that is not there.
    found = ask(store, Filter(documents=tuple(kept) or (99,)), question, mode, vectors=vectors)
    assert_within(store, found, kept)
    if not kept:
        assert found.empty
        assert NOTHING_WITHIN in found.notes


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "bypass"])
@pytest.mark.parametrize("kept", [(1,), (2, 3), (4,)])
def test_nothing_from_outside_appears_before_anything_is_read(
    empty_kb: KnowledgeBase, library: Path, mode: str, kept: tuple[int, ...]
) -> None:
    empty_kb.add([library])
    with Store.open(empty_kb.path) as store:
        for question in QUESTIONS:
            found = ask(store, Filter(documents=kept), question, mode, vectors=False)
            assert_within(store, found, set(kept))


@pytest.fixture
def twofold(empty_kb: KnowledgeBase, tmp_path: Path) -> Iterator[Store]:
    """Two documents that speak of one ferry, each with a name, a type and words of its own for it."""
    folder = tmp_path / "twofold"
    (folder / "open").mkdir(parents=True)
    (folder / "open" / "a.md").write_text("The ferry Gull sails at noon with Ada Quill.")
    (folder / "b.txt").write_text("The Gull smuggled glass for Ada Quill. The Gull was seized.")
    empty_kb.add([folder])
    with Store.open(empty_kb.path) as store:
        for row in store.documents.list():
            (chunk,) = store.chunks.of_document(row.id)
            hidden = row.path.endswith("b.txt")
            name, kind = ("THE GULL", "smuggler") if hidden else ("Gull", "ferry")
            said, words = ("It smuggled glass.", "crime") if hidden else ("It sails at noon.", "travel")
            reading = Reading(
                (
                    EntityMention(name, fold("Gull"), kind, said),
                    EntityMention("Ada Quill", fold("Ada Quill"), "person", f"She knows: {said}"),
                ),
                (RelationMention(fold("Gull"), fold("Ada Quill"), words, said),),
            )
            store.graph.record(chunk.id, reading, generation())
        yield store


@pytest.mark.parametrize("mode", ["local", "global", "hybrid", "mix", "path"])
def test_an_entity_is_told_as_the_allowed_documents_tell_it(twofold: Store, mode: str) -> None:
    question = "How is the Gull connected with Ada Quill, by travel or by crime?"
    shown = {row.path: row.id for row in twofold.documents.list()}
    for path, name, kind, said, words in (
        ("open/a.md", "Gull", "ferry", "It sails at noon.", "travel"),
        ("b.txt", "THE GULL", "smuggler", "It smuggled glass.", "crime"),
    ):
        document = next(row for place, row in shown.items() if place.endswith(path))
        found = ask(twofold, Filter(documents=(document,)), question, mode)
        gull = next(entity for entity in found.entities if fold(entity.name) == fold("Gull"))
        assert (gull.name, gull.type, gull.description) == (name, kind, said)
        (relation,) = found.relations
        assert (relation.source, relation.keywords, relation.description) == (name, words, said)
    everything = ask(twofold, Filter(), question, mode)
    gull = next(entity for entity in everything.entities if fold(entity.name) == fold("Gull"))
    assert "noon" in gull.description
    assert "glass" in gull.description


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (Filter(media_types=("text/markdown",)), ("a.md",)),
        (Filter(media_types=("text/plain",)), ("b.txt",)),
        (Filter(tags=("Secret",)), ("b.txt",)),
    ],
)
def test_every_filter_of_documents_holds_for_the_graph_too(
    twofold: Store, wanted: Filter, kept: tuple[str, ...]
) -> None:
    hidden = next(row.id for row in twofold.documents.list() if row.path.endswith("b.txt"))
    TagDesk(twofold).add("secret", [f"#{hidden}"])
    ids = {row.id for row in twofold.documents.list() if row.path.endswith(kept)}
    for mode in ("mix", "local", "global", "hybrid", "path", "naive"):
        found = ask(twofold, wanted, "The Gull and Ada Quill", mode)
        assert {passage.document_id for passage in found.passages} == ids
        assert_within(twofold, found, ids)


def test_a_filter_by_type_holds_for_entities_and_leaves_passages(store: Store) -> None:
    found = ask(store, Filter(entity_types=("work",)), "Marta Lind and the Halden Bridge", "mix")
    assert {entity.type for entity in found.entities} == {"work"}
    assert all("Halden Bridge" in (relation.source, relation.target) for relation in found.relations)
    assert found.passages
