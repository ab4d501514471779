"""A question is answered over shared names before anything is read, and over the read graph afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localrag.curating.entities import EntityDesk
from localrag.graph.names import fold
from localrag.kb import KnowledgeBase
from localrag.retrieval.search import Retriever
from localrag.retrieval.zero import unread_share
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.rows import ChunkRow, EntityMention, Reading
from tests.store.helpers import generation, session_of

TEXTS = {
    "The Tide Clock.md": "# The Tide Clock\n\nThe Tide Clock is a film that Ingrid Voss made in winter.",
    "Ingrid Voss.md": "# Ingrid Voss\n\nIngrid Voss was born above the fish market of Karsund.",
    **{
        f"Film {n}.md": f"# Film {n}\n\nFilm {n} is a film. The director of film {n} was born in a town, "
        f"and the town where the director of the film was born is town {n}."
        for n in range(30)
    },
}
QUESTION = "In which town was the director of The Tide Clock born?"


@pytest.fixture
def films(empty_kb: KnowledgeBase, tmp_path: Path) -> Iterator[Store]:
    """Films, of which one is linked to its answer by a name that the question does not hold."""
    folder = tmp_path / "films"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    empty_kb.add([folder])
    with Store.open(empty_kb.path) as store:
        yield store


def passages(store: Store, question: str = QUESTION, mode: str = "mix") -> list[str]:
    settings = RetrievalSettings(passages=3)
    return [hit.document for hit in Retriever(store, None, settings).retrieve(question, mode).passages]


def test_the_second_passage_is_found_over_a_name_that_it_shares_with_the_first(films: Store) -> None:
    assert "Ingrid Voss.md" not in passages(films, mode="naive")
    assert passages(films)[:2] == ["The Tide Clock.md", "Ingrid Voss.md"]
    found = Retriever(films, None, RetrievalSettings()).retrieve(QUESTION)
    assert (found.entities, found.relations) == ((), ())
    assert "walk" in next(hit for hit in found.passages if hit.document == "Ingrid Voss.md").sources


def test_what_the_model_read_and_names_by_form_are_walked_together(films: Store) -> None:
    first = chunk_of(films, "The Tide Clock.md")
    with films.transaction():
        # As if no name had been seen in the first passage; the second is known by its title.
        session_of(films).run("DELETE FROM zero_places WHERE chunk_id = ? AND kind < 8", [first.id])
        session_of(films).touch()
    assert "Ingrid Voss.md" not in passages(films)
    films.graph.record(first.id, reading_of("The Tide Clock", "Ingrid Voss"), generation())
    assert passages(films)[:2] == ["The Tide Clock.md", "Ingrid Voss.md"]


def test_a_name_that_a_person_took_out_of_the_graph_leads_nowhere(films: Store) -> None:
    films.graph.record(
        chunk_of(films, "The Tide Clock.md").id, reading_of("The Tide Clock", "Ingrid Voss"), generation()
    )
    films.graph.record(chunk_of(films, "Ingrid Voss.md").id, reading_of("Ingrid Voss"), generation())
    assert "Ingrid Voss.md" in passages(films)
    EntityDesk(films).delete("Ingrid Voss")
    assert "Ingrid Voss.md" not in passages(films)


def test_the_unread_share_falls_while_the_model_reads(films: Store, tmp_path: Path) -> None:
    assert unread_share(films) == 1.0
    for row in films.chunks.pending():
        films.graph.record(row.id, Reading(), generation())
    assert unread_share(films) == 0.0
    with Store.create(tmp_path / "empty.localrag") as empty:
        assert unread_share(empty) == 0.0


def test_a_file_whose_names_were_not_found_yet_is_searched_as_before(films: Store) -> None:
    with films.transaction():
        for table in ("zero_places", "zero_names", "zero_documents"):
            session_of(films).run(f"DELETE FROM {table}")
    assert set(passages(films)) == set(passages(films, mode="naive"))


def chunk_of(store: Store, name: str) -> ChunkRow:
    (row,) = (row for row in store.documents.list() if row.path == name)
    (chunk,) = store.chunks.of_document(row.id)
    return chunk


def reading_of(*names: str) -> Reading:
    return Reading(tuple(EntityMention(name, fold(name), "Thing", "") for name in names))
