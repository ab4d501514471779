"""Ways between the things of a question: over relations of the read graph, or over names passages share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from localrag.graph.names import fold
from localrag.kb import KnowledgeBase
from localrag.retrieval.search import Retriever
from localrag.retrieval.types import RetrievalOptions, Retrieved
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import generation

CHAIN = {
    "one.txt": "Ada Quill taught Bo Renner in Veldt.",
    "two.txt": "Bo Renner later hired Cy Talbot as a clerk.",
    "three.txt": "Cy Talbot married Di Umber in spring.",
    "four.txt": "Di Umber owned the ferry Gull.",
    "hub.txt": "Ada Quill, Cy Talbot, Di Umber and Ed Voss were at the fair.",
    "far.txt": "Ed Voss grew pears.",
}
PAIRS = {
    "one.txt": [("Ada Quill", "Bo Renner", "teaching")],
    "two.txt": [("Bo Renner", "Cy Talbot", "employment")],
    "three.txt": [("Cy Talbot", "Di Umber", "marriage")],
    "four.txt": [("Di Umber", "Gull", "ownership")],
}


@pytest.fixture
def unread(empty_kb: KnowledgeBase, tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "chain"
    folder.mkdir()
    for name, text in CHAIN.items():
        (folder / name).write_text(text)
    empty_kb.add([folder])
    with Store.open(empty_kb.path) as store:
        yield store


@pytest.fixture
def chain(unread: Store) -> Store:
    read(unread, PAIRS)
    return unread


def read(store: Store, pairs: dict[str, list[tuple[str, str, str]]]) -> None:
    """Record these relations, and nothing for the other documents."""
    for row in store.documents.list():
        (chunk,) = store.chunks.of_document(row.id)
        said = pairs.get(row.path, [])
        names = dict.fromkeys(name for source, target, _ in said for name in (source, target))
        reading = Reading(
            tuple(EntityMention(name, fold(name), "person", f"{name} is told of.") for name in names),
            tuple(RelationMention(fold(a), fold(b), words, f"{a}: {words}: {b}.") for a, b, words in said),
        )
        store.graph.record(chunk.id, reading, generation())


def ask(store: Store, question: str, **options: object) -> Retrieved:
    wanted = RetrievalOptions(mode="path", **options)  # type: ignore[arg-type]
    return Retriever(store, None, RetrievalSettings(passages=8)).retrieve(question, wanted)


def steps(found: Retrieved) -> list[str]:
    return [relation.keywords for relation in found.relations]


def documents(found: Retrieved) -> Sequence[str]:
    return [passage.document for passage in found.passages]


def test_a_way_of_three_relations_is_found_with_all_its_passages(chain: Store) -> None:
    found = ask(chain, "How is Ada Quill connected with Di Umber?")
    assert steps(found) == ["teaching", "employment", "marriage"]
    assert [entity.name for entity in found.entities] == ["Ada Quill", "Bo Renner", "Cy Talbot", "Di Umber"]
    assert {"one.txt", "two.txt", "three.txt"} <= set(documents(found))
    assert all(
        "path" in p.sources for p in found.passages if p.document in ("one.txt", "two.txt", "three.txt")
    )
    assert found.mode == "path"


def test_the_direction_of_relations_does_not_matter(chain: Store) -> None:
    assert set(steps(ask(chain, "From Di Umber to Ada Quill"))) == {"teaching", "employment", "marriage"}


def test_the_limits_of_a_way_do_not_cut_it(chain: Store) -> None:
    found = ask(chain, "How is Ada Quill connected with Di Umber?", relations=1, entities=1)
    assert len(found.relations) == 3
    assert len(found.entities) == 4


def test_from_one_name_ways_of_two_relations_lead_outwards(chain: Store) -> None:
    found = ask(chain, "What of Ada Quill?")
    assert steps(found) == ["teaching", "employment"]
    assert {"one.txt", "two.txt"} <= set(documents(found))


def test_of_equal_ways_the_one_that_fits_the_question_comes_first(unread: Store) -> None:
    both = {
        "one.txt": [("Ada Quill", "Bo Renner", "teaching")],
        "two.txt": [("Bo Renner", "Di Umber", "employment")],
        "three.txt": [("Ada Quill", "Cy Talbot", "rivalry")],
        "four.txt": [("Cy Talbot", "Di Umber", "marriage")],
    }
    read(unread, both)
    found = ask(unread, "By which rivalry and marriage are Ada Quill and Di Umber connected?")
    assert steps(found)[:2] == ["rivalry", "marriage"]
    found = ask(unread, "By which teaching and employment are Ada Quill and Di Umber connected?")
    assert steps(found)[:2] == ["teaching", "employment"]


def test_longer_ways_than_four_relations_are_not_followed(unread: Store) -> None:
    long = {
        "one.txt": [("Ada Quill", "B", "r1"), ("B", "C", "r2"), ("C", "D", "r3")],
        "two.txt": [("D", "E", "r4"), ("E", "Di Umber", "r5")],
    }
    read(unread, long)
    found = ask(unread, "How is Ada Quill connected with Di Umber?")
    assert found.relations == ()
    assert documents(found)


def test_names_that_passages_share_serve_before_anything_is_read(unread: Store) -> None:
    found = ask(unread, "How is Ada Quill connected with the ferry Gull?")
    assert found.relations == ()
    assert {"hub.txt", "four.txt"} <= {p.document for p in found.passages if "path" in p.sources}
    assert any("passages that share names" in note for note in found.notes)
    assert found.mode == "path"


def test_what_is_not_connected_is_told_and_mix_answers(chain: Store) -> None:
    found = ask(chain, "What grows in the garden of pears?")
    assert found.mode == "mix"
    assert found.asked == "path"
    assert found.notes[-1].endswith("mode mix answered.")
    assert documents(found)[0] == "far.txt"


def test_a_way_never_leaves_the_filter(chain: Store) -> None:
    ids = {row.path: row.id for row in chain.documents.list()}
    kept = tuple(ids[name] for name in ("one.txt", "three.txt", "hub.txt"))
    found = ask(chain, "How is Ada Quill connected with Di Umber?", filter=Filter(documents=kept))
    assert "employment" not in steps(found)
    assert {passage.document_id for passage in found.passages} <= set(kept)
