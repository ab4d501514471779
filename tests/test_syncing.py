"""The knowledge base follows its folders: every kind of change is found, and what was read stays read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from localrag.documents import reading
from localrag.engine.scripted import ScriptedModel
from localrag.errors import KnowledgeBaseReadOnly, NothingIndexed, UsageError
from localrag.kb import KnowledgeBase
from localrag.store.database import Store
from localrag.syncing import PatternChange, unfollow
from tests.folders_helpers import (
    CHUNKING,
    ids,
    mentions,
    place,
    places,
    put_in,
    read_all,
    run,
    text,
    texts,
    write,
)

LONG = text(*range(60))


def test_new_changed_and_deleted_files_are_found() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1, 2), "b.txt": text(3), "sub/c.md": text(4)})
        put_in(store, folder)
        assert run(store).unchanged == 3
        write(folder, {"a.txt": text(1, 9), "d.txt": text(5)})
        (folder / "b.txt").unlink()
        report = run(store)
        assert (report.added, report.changed, report.deleted) == (("d.txt",), ("a.txt",), ("b.txt",))
        assert report.unchanged == 1
        assert texts(store) == {"a.txt": text(1, 9), "d.txt": text(5), "sub/c.md": text(4)}
        assert run(store).unchanged == 3
        assert store.check() == []


def test_a_sync_without_changes_changes_nothing() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2), "empty.txt": "", "bad.txt": "\0\1\2" * 100})
        put_in(store, folder)
        revision = store.revision()
        report = run(store)
        assert (report.unchanged, [path for path, _ in report.failed]) == (3, ["bad.txt"])
        assert store.revision() == revision
        assert store.documents.attempts(ids(store)["bad.txt"]) == 1


def test_files_are_told_by_size_and_time_and_only_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2), "c.txt": text(3)})
        put_in(store, folder)
        looked: list[str] = []
        fingerprint = reading.fingerprint

        def note(path: Path) -> Any:
            looked.append(path.name)
            return fingerprint(path)

        monkeypatch.setattr(reading, "fingerprint", note)
        run(store)
        assert looked == []
        os.utime(folder / "b.txt", ns=(10**18, 10**18 + 7))  # back in time
        write(folder, {"c.txt": text(4, 5)})
        assert run(store).changed == ("c.txt",)
        assert looked == ["b.txt"]
        assert run(store).unchanged == 3
        assert looked == ["b.txt"]
        run(store, check=True)
        assert sorted(looked[1:]) == ["a.txt", "b.txt", "c.txt"]


def test_a_touched_file_keeps_everything_and_the_revision() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG})
        put_in(store, folder)
        read_all(store)
        before, revision = mentions(store), store.revision()
        os.utime(folder / "a.txt")
        assert run(store).unchanged == 1
        assert (mentions(store), store.revision()) == (before, revision)
        row = store.documents.list()[0]
        assert row.mtime == pytest.approx((folder / "a.txt").stat().st_mtime, abs=0.6)


def test_the_same_size_and_time_need_check() -> None:
    """Nothing short of reading can tell; `check` reads."""
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        times = (folder / "a.txt").stat().st_mtime_ns
        write(folder, {"a.txt": text(2)})
        os.utime(folder / "a.txt", ns=(times, times))
        assert run(store).unchanged == 1
        assert run(store, check=True).changed == ("a.txt",)
        assert texts(store) == {"a.txt": text(2)}


def test_a_coarse_clock_hides_no_change() -> None:
    """Where times are whole seconds, a file just changed is looked at once more."""
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        now = int((folder / "a.txt").stat().st_mtime)
        os.utime(folder / "a.txt", (now, now))
        put_in(store, folder)
        write(folder, {"a.txt": text(2)})
        os.utime(folder / "a.txt", (now, now))
        assert run(store).changed == ("a.txt",)


def test_only_the_changed_part_of_a_file_is_to_be_read_again() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG})
        put_in(store, folder)
        read_all(store)
        before = mentions(store)
        assert len(before) > 15
        write(folder, {"a.txt": "One new sentence stands at the very top. " + LONG})
        report = run(store)
        assert 1 <= report.chunks <= 3
        assert len(store.chunks.pending()) == report.chunks
        after = mentions(store)
        assert len(set(before) & set(after)) >= len(before) - 3
        assert all(before[chunk] == after[chunk] for chunk in after)
        assert [row.status for row in store.documents.list()] == ["waiting"]
        # Back again: nothing that is known needs to be read but what had gone.
        read_all(store)
        write(folder, {"a.txt": LONG})
        assert run(store).chunks <= 3
        assert store.check() == []


def test_a_moved_file_keeps_all_work() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG, "b.txt": text(1)})
        put_in(store, folder)
        read_all(store)
        before, known = mentions(store), ids(store)
        (folder / "deep").mkdir()
        (folder / "a.txt").rename(folder / "deep/renamed.txt")
        report = run(store)
        assert report.moved == (("deep/renamed.txt", "a.txt"),)
        assert (report.added, report.deleted, report.chunks) == ((), (), 0)
        assert ids(store) == {"deep/renamed.txt": known["a.txt"], "b.txt": known["b.txt"]}
        assert mentions(store) == before
        assert store.documents.get(known["a.txt"]).title == "renamed"
        assert store.documents.get(known["a.txt"]).status == "indexed"


def test_files_that_swap_names_swap_places() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1, 2), "b.txt": text(3, 4, 5), "c.txt": text(6)})
        put_in(store, folder)
        read_all(store)
        known, before = ids(store), mentions(store)
        (folder / "a.txt").rename(folder / "x")
        (folder / "b.txt").rename(folder / "a.txt")
        (folder / "c.txt").rename(folder / "b.txt")
        (folder / "x").rename(folder / "c.txt")
        report = run(store)
        assert {new for new, _ in report.moved} == {"a.txt", "b.txt", "c.txt"}
        assert ids(store) == {"a.txt": known["b.txt"], "b.txt": known["c.txt"], "c.txt": known["a.txt"]}
        assert mentions(store) == before
        assert texts(store)["c.txt"] == text(1, 2)


def test_rotated_logs_move_on() -> None:
    with place() as (store, folder):
        write(folder, {"log.txt": text(3), "log.1.txt": text(2), "log.2.txt": text(1)})
        put_in(store, folder)
        known = ids(store)
        (folder / "log.1.txt").replace(folder / "log.2.txt")
        (folder / "log.txt").replace(folder / "log.1.txt")
        write(folder, {"log.txt": text(4)})
        report = run(store)
        assert dict(report.moved) == {"log.1.txt": "log.txt", "log.2.txt": "log.1.txt"}
        assert report.added == ("log.txt",)
        assert ids(store)["log.2.txt"] == known["log.1.txt"]
        assert texts(store) == {"log.txt": text(4), "log.1.txt": text(3), "log.2.txt": text(2)}


def test_a_file_that_gets_a_name_of_another_format_is_read_by_that() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": f"# Harbour\n\n{text(1)}\n"})
        put_in(store, folder)
        read_all(store)
        (folder / "a.txt").rename(folder / "a.md")
        assert run(store).moved == (("a.md", "a.txt"),)
        (row,) = store.documents.list()
        assert (row.media_type, row.title) == ("text/markdown", "Harbour")
        assert {chunk.heading for chunk in store.chunks.of_document(row.id)} == {"Harbour"}
        assert run(store).unchanged == 1
        (folder / "a.md").rename(folder / "b.txt")
        run(store)
        (row,) = store.documents.list()
        assert (row.media_type, row.title) == ("text/plain", "b")
        assert {chunk.heading for chunk in store.chunks.of_document(row.id)} == {""}
        assert store.check() == []


def test_a_file_moved_to_another_folder_that_is_followed(tmp_path: Path) -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG, "b.txt": text(1)})
        write(tmp_path, {"other/c.txt": text(2)})
        put_in(store, folder, tmp_path / "other")
        known = ids(store)
        (folder / "a.txt").rename(tmp_path / "other/a.txt")
        # Named is only the folder that it left.
        report = run(store, folder)
        assert report.moved == ((f"{tmp_path}/other/a.txt", f"{folder}/a.txt"),)
        assert ids(store)["a.txt"] == known["a.txt"]
        assert store.documents.get(known["a.txt"]).root == str(tmp_path / "other")


def test_a_file_moved_and_changed_keeps_what_is_the_same() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG, "b.txt": text(1)})
        put_in(store, folder)
        read_all(store)
        known, before = ids(store), mentions(store)
        (folder / "a.txt").unlink()
        write(folder, {"new.txt": "It begins otherwise now. " + LONG, "c.txt": text(*range(100, 160))})
        dry = run(store, dry_run=True)
        report = run(store)
        for each in (dry, report):
            assert each.moved == (("new.txt", "a.txt"),)
            assert each.changed == ("new.txt",)
            assert each.added == ("c.txt",)
            assert each.deleted == ()
        assert ids(store)["new.txt"] == known["a.txt"]
        assert len(set(mentions(store)) & set(before)) >= len(before) - 3


def test_a_copy_is_a_second_place_and_takes_over() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG, "b.txt": text(1)})
        put_in(store, folder)
        read_all(store)
        known, before = ids(store), mentions(store)
        write(folder, {"copy.txt": LONG})
        assert run(store).copied == (("copy.txt", "a.txt"),)
        assert len(store.documents.list()) == 2
        assert frozenset((f"{folder}/a.txt", f"{folder}/copy.txt")) in places(store)
        assert run(store).unchanged == 3
        (folder / "a.txt").unlink()
        report = run(store)
        assert (report.moved, report.deleted) == ((("copy.txt", "a.txt"),), ())
        assert ids(store)["copy.txt"] == known["a.txt"]
        assert mentions(store) == before
        # Another copy that changes becomes its own document, and the rest stays.
        write(folder, {"third.txt": LONG})
        run(store)
        write(folder, {"third.txt": text(7)})
        assert run(store).added == ("third.txt",)
        assert places(store) == {
            frozenset((f"{folder}/{name}",)) for name in ("copy.txt", "b.txt", "third.txt")
        }
        assert mentions(store) == before


def test_the_first_place_changes_while_a_copy_stays() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": LONG, "b.txt": LONG})
        put_in(store, folder)
        read_all(store)
        before = mentions(store)
        write(folder, {"a.txt": text(1)})
        report = run(store)
        assert report.added == ("a.txt",)
        assert mentions(store) == before
        assert texts(store) == {"a.txt": text(1), "b.txt": LONG}


def test_copies_that_go_different_ways() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(1), "c.txt": text(2), "d.txt": text(1)})
        put_in(store, folder)
        known = ids(store)
        write(folder, {"a.txt": text(3), "b.txt": text(2), "d.txt": text(4)})
        report = run(store)
        assert (report.changed, report.added, report.copied) == (
            ("a.txt",),
            ("d.txt",),
            (("b.txt", "c.txt"),),
        )
        assert texts(store) == {"a.txt": text(3), "c.txt": text(2), "d.txt": text(4)}
        assert (ids(store)["a.txt"], ids(store)["c.txt"]) == (known["a.txt"], known["c.txt"])
        assert frozenset((f"{folder}/b.txt", f"{folder}/c.txt")) in places(store)
        assert store.check() == []


def test_a_copy_that_is_left_out_now_stays_a_place() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "drafts/a.txt": text(1)})
        put_in(store, folder)
        report = run(store, patterns=PatternChange(exclude=("drafts/",)))
        assert report.unchanged == 1
        assert places(store) == {frozenset((f"{folder}/a.txt", f"{folder}/drafts/a.txt"))}
        run(store, delete_hidden=True)
        assert places(store) == {frozenset((f"{folder}/a.txt",))}


def test_a_file_overwritten_by_another_known_one() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1, 2, 3), "b.txt": text(4, 5, 6), "c.txt": text(7)})
        put_in(store, folder)
        known = ids(store)
        (folder / "b.txt").replace(folder / "a.txt")
        report = run(store)
        assert report.moved == (("a.txt", "b.txt"),)
        assert ids(store) == {"a.txt": known["b.txt"], "c.txt": known["c.txt"]}
        assert store.check() == []


@pytest.mark.parametrize("how", ["missing", "empty", "without documents"])
def test_a_folder_that_is_gone_or_empty_deletes_nothing_unless_told(how: str) -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        for name in ("a.txt", "b.txt"):
            (folder / name).unlink()
        if how == "missing":
            folder.rmdir()
        elif how == "without documents":
            write(folder, {".mounted": "", "picture.png": ""})
        report = run(store)
        assert report.deleted == ()
        assert [path for path, _ in report.kept] == ["a.txt", "b.txt"]
        assert str(folder) in report.kept[0][1]
        assert len(texts(store)) == 2
        dry = run(store, delete_missing=True, dry_run=True)
        assert dry.deleted == ("a.txt", "b.txt")
        assert len(texts(store)) == 2
        assert run(store, delete_missing=True).deleted == ("a.txt", "b.txt")
        assert texts(store) == {}


def test_more_than_half_of_many_at_once_is_not_believed() -> None:
    with place() as (store, folder):
        write(folder, {f"{number:02}.txt": text(number) for number in range(12)})
        put_in(store, folder)
        for number in range(7):
            (folder / f"{number:02}.txt").unlink()
        report = run(store)
        assert (len(report.kept), report.deleted) == (7, ())
        assert "7 of the 12 documents" in report.kept[0][1]
        # Half is believed.
        write(folder, {"00.txt": text(0)})
        assert len(run(store).deleted) == 6
        assert len(texts(store)) == 6


def test_another_drive_in_the_place_of_a_folder_deletes_nothing() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2), "c.txt": text(3)})
        put_in(store, folder)
        for name in ("a.txt", "b.txt", "c.txt"):
            (folder / name).unlink()
        write(folder, {"other.txt": text(9)})
        report = run(store)
        assert (report.added, report.deleted) == (("other.txt",), ())
        assert [path for path, _ in report.kept] == ["a.txt", "b.txt", "c.txt"]
        assert len(texts(store)) == 4
        # The right one is back: nothing has to be read again.
        (folder / "other.txt").unlink()
        write(folder, {"a.txt": text(1), "b.txt": text(2), "c.txt": text(3)})
        report = run(store)
        assert (report.unchanged, report.added, report.deleted) == (3, (), ("other.txt",))


def test_all_documents_may_go_when_that_is_said_and_the_only_one_always() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        (folder / "a.txt").unlink()
        write(folder, {"b.txt": text(2), "c.txt": text(3)})
        assert run(store).deleted == ("a.txt",)
        for name in ("b.txt", "c.txt"):
            (folder / name).unlink()
        write(folder, {"d.txt": text(4)})
        assert run(store).deleted == ()
        assert run(store, delete_missing=True).deleted == ("b.txt", "c.txt")


def test_moving_many_at_once_is_no_deletion() -> None:
    with place() as (store, folder):
        write(folder, {f"old/{number:02}.txt": text(number) for number in range(12)})
        put_in(store, folder)
        known = set(ids(store).values())
        (folder / "old").rename(folder / "new")
        report = run(store)
        assert (len(report.moved), report.kept, report.deleted) == (12, (), ())
        assert set(ids(store).values()) == known


def test_a_folder_that_cannot_be_opened_protects_what_lies_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with place() as (store, folder):
        write(
            folder,
            {"locked/a.txt": text(1), "locked/deep/b.txt": text(2), "c.txt": text(3), "d.txt": text(4)},
        )
        put_in(store, folder)
        scandir, lstat = os.scandir, os.lstat

        def refuse(path: Any) -> Any:
            if str(path) == str(folder / "locked"):
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        def hide(path: Any, **options: Any) -> os.stat_result:
            if "locked/" in str(path):
                raise FileNotFoundError(2, "No such file or directory")
            return lstat(path, **options)

        monkeypatch.setattr(os, "scandir", refuse)
        monkeypatch.setattr(os, "lstat", hide)
        (folder / "d.txt").unlink()
        report = run(store, delete_missing=True)
        assert report.deleted == ("d.txt",)
        assert [path for path, _ in report.closed] == ["locked/a.txt", "locked/deep/b.txt"]
        assert report.closed[0][1] == "permission denied"


def test_a_file_that_was_named_alone_is_followed_alone() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder / "a.txt")
        assert store.roots.list() == []
        write(folder, {"a.txt": text(3)})
        report = run(store)
        assert (report.changed, report.added) == (("a.txt",), ())
        (folder / "a.txt").unlink()
        assert run(store).deleted == ("a.txt",)
        put_in(store, folder / "b.txt")
        (folder / "b.txt").unlink()
        folder.rmdir()
        report = run(store)
        assert (report.deleted, [path for path, _ in report.kept]) == ((), ["b.txt"])


def test_adding_a_folder_follows_it_once() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "in/b.txt": text(2)})
        put_in(store, folder)
        put_in(store, folder / "in", folder / "in/b.txt", folder)
        assert [row.path for row in store.roots.list()] == [str(folder)]
        write(folder, {"in/c.txt": text(3), "d.txt": text(4)})
        put_in(store, folder / "in")
        assert sorted(texts(store)) == ["a.txt", "in/b.txt", "in/c.txt"]
        assert run(store).added == ("d.txt",)


def test_a_folder_around_one_that_is_followed() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "in/b.txt": text(2)})
        put_in(store, folder / "in")
        known = ids(store)
        put_in(store, folder)
        assert len(store.roots.list()) == 2
        assert ids(store) == {"b.txt": known["b.txt"], "a.txt": known["b.txt"] + 1}
        assert run(store).unchanged == 2


def test_the_innermost_folder_says_what_is_taken() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "in/b.md": text(2), "in/c.txt": text(3), "in/deep/d.txt": text(4)})
        put_in(store, folder / "in", patterns=PatternChange(include=("*.md",)))
        put_in(store, folder)
        assert sorted(texts(store)) == ["a.txt", "b.md"]
        assert (run(store).added, run(store).unchanged) == ((), 2)


def test_adding_deletes_nothing() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        (folder / "a.txt").unlink()
        write(folder, {"c.txt": text(3)})
        put_in(store, folder)
        assert sorted(texts(store)) == ["a.txt", "b.txt", "c.txt"]


def test_patterns_are_kept_with_the_folder_and_can_be_changed() -> None:
    with place() as (store, folder):
        write(folder, {"a.md": text(1), "b.txt": text(2), "drafts/c.md": text(3), "drafts/d.txt": text(4)})
        put_in(store, folder, patterns=PatternChange(exclude=("drafts/",)))
        assert sorted(texts(store)) == ["a.md", "b.txt"]
        assert run(store).added == ()
        report = run(store, patterns=PatternChange(exclude=(), include=("*.md",)))
        assert report.added == ("drafts/c.md",)
        # What is left out now is said, and stays until it is given up.
        assert report.hidden == (("b.txt", "not among the patterns that are taken"),)
        assert "b.txt" in texts(store)
        assert run(store, delete_hidden=True, dry_run=True).deleted == ("b.txt",)
        assert run(store, delete_hidden=True).deleted == ("b.txt",)
        assert sorted(texts(store)) == ["a.md", "drafts/c.md"]
        (row,) = store.roots.list()
        assert (row.include, row.exclude, row.gitignore) == (("*.md",), (), True)


def test_a_dry_run_stores_no_patterns() -> None:
    with place() as (store, folder):
        write(folder, {"a.md": text(1), "b.txt": text(2)})
        put_in(store, folder)
        assert run(store, patterns=PatternChange(include=("*.md",)), dry_run=True).hidden
        assert store.roots.list()[0].include == ()


def test_ignore_files_hide_and_never_delete() -> None:
    with place() as (store, folder):
        write(folder, {"a.md": text(1), "built/b.md": text(2)})
        put_in(store, folder)
        write(folder, {".gitignore": "built/\n"})
        report = run(store)
        assert report.hidden == (("built/b.md", "left out by .gitignore"),)
        assert run(store, patterns=PatternChange(gitignore=False)).unchanged == 2


def test_a_file_named_in_spite_of_a_pattern_stays_followed() -> None:
    with place() as (store, folder):
        write(folder, {"a.md": text(1), "drafts/b.md": text(2)})
        put_in(store, folder, patterns=PatternChange(exclude=("drafts/",)))
        put_in(store, folder / "drafts/b.md")
        assert run(store).unchanged == 2
        write(folder, {"drafts/b.md": text(3)})
        assert run(store).changed == ("b.md",)


def test_a_file_becomes_a_folder_of_the_same_name_and_back() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        (folder / "a.txt").unlink()
        write(folder, {"a.txt/inner.txt": text(3)})
        report = run(store)
        assert (report.added, report.deleted) == (("a.txt/inner.txt",), ("a.txt",))
        (folder / "a.txt/inner.txt").unlink()
        (folder / "a.txt").rmdir()
        write(folder, {"a.txt": text(3)})
        report = run(store)
        assert report.moved == () or report.moved == (("a.txt", "a.txt/inner.txt"),)
        assert texts(store) == {"a.txt": text(3), "b.txt": text(2)}


def test_another_spelling_of_a_name_is_a_move() -> None:
    with place() as (store, folder):
        write(folder, {"readme.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        known = ids(store)
        (folder / "readme.txt").rename(folder / "README.txt")
        assert run(store).moved == (("README.txt", "readme.txt"),)
        assert ids(store)["README.txt"] == known["readme.txt"]


def test_another_spelling_where_case_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """There the old name still leads to the file."""
    with place() as (store, folder):
        write(folder, {"readme.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        (folder / "readme.txt").rename(folder / "README.txt")
        lstat = os.lstat

        def fold(path: Any, **options: Any) -> os.stat_result:
            return lstat(str(path).replace("readme", "README"), **options)

        monkeypatch.setattr(os, "lstat", fold)
        assert run(store).moved == (("README.txt", "readme.txt"),)


@pytest.mark.skipif(os.name != "posix", reason="not here: names that are no text")
def test_names_that_are_no_text() -> None:
    with place() as (store, folder):
        for raw, content in (
            (b"caf\xe9.txt", text(1)),
            (b"caf\xe8.txt", text(2)),
            (b"lit\\xe9.txt", text(3)),
        ):
            Path(os.fsdecode(os.fsencode(folder) + b"/" + raw)).write_text(content)
        put_in(store, folder)
        assert len(texts(store)) == 3
        assert run(store).unchanged == 3
        os.unlink(os.fsencode(folder) + b"/caf\xe9.txt")
        os.unlink(os.fsencode(folder) + b"/lit\\xe9.txt")
        assert sorted(run(store).deleted) == ["caf\\xe9.txt", "lit\\xe9.txt"]
        Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe8.txt")).write_text(text(4))
        assert len(run(store).changed) == 1


def test_a_folder_whose_name_is_no_text() -> None:
    with place() as (store, folder):
        odd = Path(os.fsdecode(os.fsencode(folder) + b"/na\xefve"))
        write(odd, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, odd)
        (odd / "a.txt").unlink()
        report = run(store)
        assert (report.deleted, report.unchanged) == (("a.txt",), 1)


def test_the_knowledge_base_itself_may_lie_in_the_folder() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        write(folder.parent, {"k.localrag.format-1": "copy", "b.txt": text(2)})
        put_in(store, folder.parent)
        report = run(store)
        assert report.added == ()
        assert sorted(texts(store)) == ["b.txt", "notes/a.txt"]


def test_a_knowledge_base_of_any_name_is_never_taken(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": text(1)})
    with Store.create(tmp_path / "base.txt") as store:
        put_in(store, tmp_path)
        assert run(store).added == ()
        assert list(texts(store)) == ["a.md"]


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="not here: links")
def test_links_and_loops() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "sub/b.txt": text(2)})
        (folder / "sub/loop").symlink_to(folder)
        (folder / "link.txt").symlink_to("a.txt")
        put_in(store, folder)
        assert sorted(texts(store)) == ["a.txt", "sub/b.txt"]
        # The file goes, and the link leads nowhere.
        (folder / "a.txt").unlink()
        assert run(store).deleted == ("a.txt",)
        assert run(store).unchanged == 1


def test_a_file_that_goes_bad_keeps_what_it_said_and_counts_attempts() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        known = ids(store)
        (folder / "a.txt").write_bytes(bytes(range(256)) * 40)
        report = run(store)
        assert report.failed[0][0] == "a.txt"
        assert "kept" in report.failed[0][1]
        assert texts(store)["a.txt"] == text(1)
        assert store.documents.attempts(known["a.txt"]) == 1
        write(folder, {"a.txt": text(3)})
        assert run(store).changed == ("a.txt",)
        assert store.documents.attempts(known["a.txt"]) == 0


def test_a_bad_file_that_is_repaired_comes_in() -> None:
    with place() as (store, folder):
        (folder / "a.txt").write_bytes(bytes(range(256)) * 40)
        write(folder, {"b.txt": text(2)})
        put_in(store, folder)
        write(folder, {"a.txt": text(1)})
        assert run(store).added == ("a.txt",)
        assert store.documents.list("failed") == []


def test_a_file_that_cannot_be_opened_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1), "b.txt": text(2)})
        put_in(store, folder)
        real = open

        def refuse(path: Any, *args: Any, **options: Any) -> Any:
            if str(path).endswith("a.txt"):
                raise PermissionError(13, "Permission denied")
            return real(path, *args, **options)

        monkeypatch.setattr("builtins.open", refuse)
        os.utime(folder / "a.txt")
        report = run(store)
        assert [path for path, _ in report.failed] == ["a.txt"]
        assert texts(store)["a.txt"] == text(1)


def test_a_file_that_changes_after_it_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    with place() as (store, folder):
        write(folder, {"z.txt": text(9)})
        put_in(store, folder)
        write(folder, {"a.txt": text(1), "b.txt": text(1)})
        real = reading.read

        def change_first(path: Path) -> Any:
            if path.name == "a.txt":
                write(folder, {"a.txt": text(2)})
            return real(path)

        monkeypatch.setattr(reading, "read", change_first)
        assert run(store).added == ("a.txt",)
        assert texts(store) == {"a.txt": text(2), "z.txt": text(9)}
        assert run(store).added == ("b.txt",)
        assert texts(store)["b.txt"] == text(1)


def test_empty_files_are_no_copies_of_each_other() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": "", "b.txt": "", "c.txt": " \n", "d.txt": text(1)})
        put_in(store, folder)
        assert len(texts(store)) == 4
        os.utime(folder / "a.txt")
        for dry_run in (True, False):
            report = run(store, dry_run=dry_run)
            assert (report.unchanged, report.changed) == (4, ())
        write(folder, {"b.txt": text(2)})
        assert run(store).changed == ("b.txt",)


def test_only_what_is_named_is_compared() -> None:
    with place() as (store, folder):
        write(folder, {"a/1.txt": text(1), "b/2.txt": text(2), "b/3.txt": text(3)})
        put_in(store, folder)
        write(folder, {"a/1.txt": text(4), "b/2.txt": text(5), "a/new.txt": text(6), "b/new.txt": text(7)})
        (folder / "b/3.txt").unlink()
        report = run(store, folder / "a")
        assert (report.changed, report.added, report.deleted) == (("a/1.txt",), ("a/new.txt",), ())
        assert run(store, folder / "b/2.txt").changed == ("b/2.txt",)
        assert run(store).deleted == ("b/3.txt",)


def test_what_is_not_followed_is_a_clear_error(tmp_path: Path) -> None:
    with place() as (store, folder):
        with pytest.raises(NothingIndexed):
            run(store)
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        with pytest.raises(UsageError, match="not followed") as error:
            run(store, tmp_path)
        assert str(folder) in error.value.hint
        with pytest.raises(UsageError, match="no patterns"):
            run(store, folder / "a.txt", patterns=PatternChange(exclude=("x",)))
        with pytest.raises(UsageError, match="not followed"):
            unfollow(store, tmp_path)
        unfollow(store, folder)
        assert store.roots.list() == []
        write(folder, {"b.txt": text(2), "a.txt": text(3)})
        report = run(store)
        assert (report.added, report.changed) == ((), ("a.txt",))


def test_a_read_only_file_takes_nothing_and_may_be_compared() -> None:
    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        write(folder, {"b.txt": text(2)})
        with Store.open(store.path, read_only=True) as closed:
            with pytest.raises(KnowledgeBaseReadOnly):
                run(closed)
            assert run(closed, dry_run=True).added == ("b.txt",)


def test_two_programs_may_sync_the_same_folder() -> None:
    """The second one does everything after the first one has looked."""
    from localrag.folders.run import Options
    from localrag.syncing import sync

    with place() as (store, folder):
        write(folder, {f"{number}.txt": text(number) for number in range(6)})
        put_in(store, folder)
        (folder / "0.txt").rename(folder / "moved.txt")
        write(folder, {"1.txt": text(11), "new.txt": text(7), "new2.txt": text(8), "2 copy.txt": text(2)})
        (folder / "3.txt").unlink()
        with Store.open(store.path) as other:
            done: list[str] = []

            def meanwhile(event: Any) -> None:
                if not done:
                    done.append(event.path)
                    run(other)

            sync(store, CHUNKING, options=Options(), on_event=meanwhile)
        assert run(store).unchanged == 8
        assert len(texts(store)) == 7
        assert store.check() == []


def test_a_stop_keeps_what_is_done() -> None:
    import threading

    from localrag.syncing import sync

    with place() as (store, folder):
        write(folder, {"a.txt": text(1)})
        put_in(store, folder)
        write(folder, {f"n{number}.txt": text(number, 50) for number in range(5)})
        cancel = threading.Event()

        def stop(event: Any) -> None:
            if event.outcome == "added":
                cancel.set()

        report = sync(store, CHUNKING, on_event=stop, cancel=cancel)
        assert report.cancelled
        assert len(report.added) == 1
        assert len(run(store).added) == 4


def test_the_model_reads_only_what_changed(
    empty_kb: KnowledgeBase, library: Path, model: ScriptedModel
) -> None:
    write(library, {"long.txt": text(*range(400), word="Harbour of Kvern")})
    empty_kb.add([library])
    list(empty_kb.index())
    calls, chunks = len(model.calls), empty_kb.status().chunks.total
    assert calls >= chunks > 15
    write(library, {"long.txt": "Anna Ness came first. " + text(*range(400), word="Harbour of Kvern")})
    (library / "mill.txt").rename(library / "old mill.txt")
    report = empty_kb.sync()
    list(empty_kb.index())
    assert 1 <= len(model.calls) - calls <= 3
    assert report.chunks == len(model.calls) - calls
    status = empty_kb.status()
    assert status.coverage.read == status.coverage.total == status.vectors.chunks
    assert [row.path for row in empty_kb.followed()] == [str(library)]


def test_places_with_the_same_path_in_two_folders_are_told_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with place() as (store, _):
        write(one, {"a.txt": text(1), "same.txt": text(2), "b.txt": text(3)})
        write(two, {"same.txt": text(2), "z.txt": text(4)})
        added = put_in(store, one, two)
        assert [set(pair) for pair in added.copied] == [{f"{one}/same.txt", f"{two}/same.txt"}]
        (one / "a.txt").rename(two / "a.txt")
        (one / "b.txt").rename(two / "c.txt")
        dry = run(store, dry_run=True)
        assert dry.moved == run(store).moved
        assert set(dry.moved) == {(f"{two}/a.txt", f"{one}/a.txt"), ("c.txt", "b.txt")}
