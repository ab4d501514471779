"""The graph without a model is there as soon as the text is in, and follows it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from localrag.errors import Cancelled
from localrag.extraction import zero_names
from localrag.kb import KnowledgeBase
from localrag.naming import ensure_named, name_due
from localrag.store.database import Store
from localrag.store.zero_rows import ZeroName
from tests.indexing.helpers import run
from tests.store.logical import logical_rows

TABLES = ("zero_names", "zero_places", "zero_documents")


def zero_rows(path: Path) -> dict[str, object]:
    with Store.open(path) as store:
        assert store.check() == []
        return {table: logical_rows(store)[table] for table in TABLES}


def test_names_are_there_when_the_text_is(empty_kb: KnowledgeBase, library: Path) -> None:
    empty_kb.add([library])
    with Store.open(empty_kb.path) as store:
        keys = ["marta lind", "halden bridge", "临江茶馆"]
        assert {node.key for node in store.zero.nodes(keys)} == set(keys)
        assert store.zero.counts().waiting == 0
        assert store.zero.chunks_for(["marta lind"], 5)


def test_a_changed_document_has_the_names_of_a_new_one(
    empty_kb: KnowledgeBase, library: Path, tmp_path: Path
) -> None:
    long = "\n\n".join(f"Marta Lind wrote letter {n} to Tomas Berg in Halden. " * 12 for n in range(12))
    (library / "letters.md").write_text(f"# Letters of Marta Lind\n\n{long}")
    empty_kb.add([library])
    (library / "letters.md").write_text(f"# Letters of Ida Lind\n\n{long}\n\nOlga Ness kept them.")
    (library / "mill.txt").rename(library / "watermill.txt")
    empty_kb.sync()
    with Store.open(empty_kb.path) as store:
        name_due(store)
    with KnowledgeBase.create(tmp_path / "fresh.localrag") as fresh:
        fresh.add([library])
    assert zero_rows(empty_kb.path) == zero_rows(tmp_path / "fresh.localrag")


def test_a_deletion_leaves_the_names_of_what_is_left(
    empty_kb: KnowledgeBase, library: Path, tmp_path: Path
) -> None:
    empty_kb.add([library])
    empty_kb.delete("bridge.md")
    (library / "bridge.md").unlink()
    with KnowledgeBase.create(tmp_path / "fresh.localrag") as fresh:
        fresh.add([library])
    assert zero_rows(empty_kb.path) == zero_rows(tmp_path / "fresh.localrag")


def test_chunks_that_stay_are_not_looked_through_again(
    empty_kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    parts = [f"Marta Lind wrote letter {n}. " * 40 for n in range(6)]
    file.write_text("\n\n".join(parts))
    empty_kb.add([file])
    looked: list[str] = []
    real = zero_names.chunk_names

    def noted(text: str) -> tuple[ZeroName, ...]:
        looked.append(text)
        return real(text)

    monkeypatch.setattr("localrag.naming.chunk_names", noted)
    file.write_text("\n\n".join([*parts, "Olga Ness kept them."]))
    empty_kb.sync()
    assert 1 <= len(looked) <= 3
    assert "Olga Ness" in looked[-1]


def test_index_finds_the_names_that_lack(waiting: KnowledgeBase) -> None:
    before = zero_rows(waiting.path)
    with Store.open(waiting.path) as store, store.transaction():
        for table in ("zero_places", "zero_names", "zero_documents"):
            store._session.run(f"DELETE FROM {table}")
    run(waiting)
    assert zero_rows(waiting.path) == before


def test_names_by_other_rules_are_found_anew(waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    before = zero_rows(waiting.path)
    with Store.open(waiting.path) as store:
        with store.transaction():
            store._session.run("UPDATE zero_documents SET rules = rules + 1")
            store._session.run("DELETE FROM zero_places WHERE chunk_id % 2 = 0")
        assert name_due(store) == 4
        assert name_due(store) == 0
    assert zero_rows(waiting.path) == before


def test_a_document_that_another_program_changes_meanwhile_remains_due(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(waiting.path) as store, Store.open(waiting.path) as other:
        first, *_ = store.documents.list()
        with other.transaction():
            other._session.run("UPDATE zero_documents SET rules = -rules")
        real = zero_names.title_names

        def meanwhile(title: str) -> object:
            other.documents.delete(first.id)
            return real(title)

        monkeypatch.setattr("localrag.naming.title_names", meanwhile)
        ensure_named(store, first.id)
    assert zero_rows(waiting.path)["zero_documents"]
    with Store.open(waiting.path) as store:
        assert len(store.documents.list()) == 3
        assert store.zero.due(zero_names.RULES) == [row.id for row in store.documents.list()]


def test_finding_names_can_be_stopped(waiting: KnowledgeBase) -> None:
    cancel = threading.Event()
    cancel.set()
    with Store.open(waiting.path) as store:
        with store.transaction():
            store._session.run("DELETE FROM zero_documents")
        with pytest.raises(Cancelled):
            name_due(store, cancel)


@pytest.fixture
def waiting(empty_kb: KnowledgeBase, library: Path) -> KnowledgeBase:
    """The library, added and not read."""
    empty_kb.add([library])
    return empty_kb
