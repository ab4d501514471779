"""A document is found by every name that a person can know it by, in every command alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.curating.finding import Finder
from localrag.errors import UsageError
from localrag.finding import choose, document_named
from localrag.kb import KnowledgeBase
from localrag.store.database import Store

LookUp = Callable[[Store, str], int]

LOOK_UPS: list[LookUp] = [
    lambda store, name: document_named(store, name).id,
    lambda store, name: Finder(store).document(name).id,
    lambda store, name: choose(store, [name])[0].id,
]


@pytest.fixture
def added(empty_kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """Three files."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "c.md"):
        (folder / name).write_text(f"This is {name}.", encoding="utf-8")
    empty_kb.add([folder])
    return empty_kb


def ids(kb: KnowledgeBase) -> dict[str, int]:
    return {row.path: row.id for row in kb.status().documents}


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_all_names_of_a_document(
    added: KnowledgeBase, tmp_path: Path, look_up: LookUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ids(added)["b.txt"]
    monkeypatch.chdir(tmp_path)
    full = (tmp_path / "texts" / "b.txt").as_posix()
    for name in ("b.txt", full, f"#{wanted}", str(wanted), "texts/b.txt", "./texts/../texts/b.txt"):
        assert look_up(added._store, name) == wanted
    for name in ("", "B.TXT", "#0", "#99", "c.txt", "texts"):
        with pytest.raises(UsageError, match="There is no document “"):
            look_up(added._store, name)


@pytest.mark.skipif(sys.platform == "win32", reason="not here: such names")
@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_a_name_as_lists_show_it(added: KnowledgeBase, tmp_path: Path, look_up: LookUp) -> None:
    odd = {"nl\nname.txt": "nl name.txt", "bell\x07.txt": "bell.txt", "red\x1b[31m.txt": "red.txt"}
    for name in odd:
        (tmp_path / "texts" / name).write_text(f"This is {name!r}.", encoding="utf-8")
    added.add([tmp_path / "texts"])
    for name, shown in odd.items():
        assert look_up(added._store, shown) == look_up(added._store, name) == ids(added)[name]
    (tmp_path / "texts" / "nl\r\nname.txt").write_text("This is one more.", encoding="utf-8")
    added.add([tmp_path / "texts"])
    with pytest.raises(UsageError, match="Several documents") as error:
        look_up(added._store, "nl name.txt")
    several = sorted(number for name, number in ids(added).items() if name.startswith("nl"))
    assert f"(#{several[0]} or #{several[1]})" in error.value.hint
    assert "\n" not in error.value.hint
    # A file that is really called so is meant by it alone.
    (tmp_path / "texts" / "nl name.txt").write_text("This is the plain one.", encoding="utf-8")
    added.add([tmp_path / "texts"])
    assert look_up(added._store, "nl name.txt") == ids(added)["nl name.txt"]


def test_commands_that_look_documents_up_take_numbers_too(added: KnowledgeBase) -> None:
    number = ids(added)["b.txt"]
    assert added.retry([f"#{number}"]).passages == 0
    added.tags.add("kept", [f"#{number}"])
    added.delete(f"#{number}")
    assert "b.txt" not in ids(added)
