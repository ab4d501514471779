"""A watch notices real changes of real files, gathers bursts, and does not mind what is not to be taken."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import watchfiles

from localrag import watching
from localrag.store.database import Store
from localrag.watching import Targets, Watch, targets
from tests.folders_helpers import place, put_in, read_all, run, text, write

PATIENCE = 30.0
LOOK = 0.5


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sends no notices is looked at more often than usual, so that tests need not wait."""
    monkeypatch.setattr(watching, "LOOK", LOOK)


@pytest.fixture(params=["notices", "in turns"])
def followed(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Path, Watch]]:
    """A knowledge base of a folder with two files, and a watch over it that has begun."""
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "sub/b.txt": text(2)})
        put_in(store, folder)
        with Watch(targets(store), poll=request.param == "in turns") as watch:
            yield store, folder, watch


def noticed(watch: Watch, seconds: float = PATIENCE) -> bool:
    found = watch.wait(threading.Event(), seconds)
    watch.take()
    return found


def test_every_kind_of_change_is_noticed(followed: tuple[Store, Path, Watch]) -> None:
    _, folder, watch = followed
    for change in (
        lambda: write(folder, {"sub/new.txt": text(3)}),
        lambda: write(folder, {"a.txt": text(4, 5)}),
        lambda: (folder / "a.txt").rename(folder / "sub/moved.txt"),
        lambda: (folder / "sub/b.txt").unlink(),
        lambda: write(folder, {"deep/er/c.txt": text(6)}),
        lambda: write(folder, {"deep/er/d.txt": text(7)}),
        lambda: write(folder, {".gitignore": "x"}),
    ):
        change()
        assert noticed(watch)


def test_what_is_not_taken_is_not_noticed(followed: tuple[Store, Path, Watch]) -> None:
    store, folder, watch = followed
    write(folder, {".hidden.txt": "x", ".git/index": "x", "other.localrag-wal": "x"})
    read_all(store)
    run(store)
    assert not noticed(watch, 2.5)
    write(folder, {"c.txt": text(3)})
    assert noticed(watch)


def test_its_own_writing_in_the_folder_is_not_noticed() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder.parent)
        with Watch(targets(store)) as watch:
            write(folder, {"a.txt": text(2)})
            assert noticed(watch)
            run(store)
            read_all(store)
            assert not noticed(watch, 2.0)


def test_a_burst_is_one_change() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        with Watch(targets(store)) as watch:
            for number in range(500):
                write(folder, {f"many/{number}.txt": text(1000 + number)})
            rounds = 0
            while noticed(watch, 3.0):
                rounds += 1
                added = len(run(store).added)
            assert (rounds, added) == (1, 500)


def test_a_folder_that_goes_and_comes_back_is_noticed() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        with Watch(targets(store)) as watch:
            away = folder.with_name("away")
            folder.rename(away)
            assert noticed(watch)
            assert run(store).deleted == ()
            noticed(watch, 2.0)
            assert not noticed(watch, 2.0)
            shutil.copytree(away, folder)
            assert noticed(watch)
            noticed(watch, 2.0)
            write(folder, {"b.txt": text(2)})
            assert noticed(watch)


def test_single_files_and_further_folders_are_noticed() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2), "sub/c.txt": text(3)})
        put_in(store, folder / "a.txt")
        with Watch(targets(store)) as watch:
            write(folder, {"b.txt": text(9)})
            assert not noticed(watch, 2.0)
            write(folder, {"x": text(4)})
            (folder / "x").replace(folder / "a.txt")
            assert noticed(watch)
            put_in(store, folder / "sub")
            watch.aim(targets(store))
            noticed(watch)
            write(folder, {"sub/d.txt": text(5)})
            assert noticed(watch)


def test_without_notices_files_are_looked_at_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a system has no watches left."""
    real = watchfiles.watch

    def refuse(*paths: object, force_polling: bool | None = None, **options: object) -> object:
        if not force_polling:
            raise OSError(28, "No space left on device")
        return real(*paths, force_polling=True, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(watching, "watch", refuse)
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        with Watch(targets(store)) as watch:
            assert noticed(watch)
            assert "in turns" in watch.note
            noticed(watch, 3.0)
            write(folder, {"b.txt": text(2)})
            assert noticed(watch)


def test_it_ends_at_once(tmp_path: Path) -> None:
    begin = time.monotonic()
    with Watch(Targets((tmp_path,), (), tmp_path / "k.localrag")):
        begin = time.monotonic()
    assert time.monotonic() - begin < PATIENCE / 3
