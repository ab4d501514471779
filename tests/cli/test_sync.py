"""`localrag sync`, patterns and the watch, as a person uses them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.cli.following import tell_sync
from localrag.kb import SyncReport
from tests.cli.conftest import Run, Scripted, json_of, start

PATIENCE = 60.0


@pytest.fixture
def notes(run: Run, folder: Path) -> Path:
    """A folder that was added."""
    made = folder / "notes"
    made.mkdir()
    for name, text in (
        ("a.txt", "Anna met Bo in Halden."),
        ("b.md", "Bo wrote to Cleo."),
        ("c.txt", "Cleo left."),
    ):
        (made / name).write_text(text, encoding="utf-8")
    run("init", "n")
    run("add", "notes")
    return made


def documents(run: Run) -> list[str]:
    return [row["path"] for row in json_of(run("status", "--json"))["documents"]]


def test_sync_tells_what_it_found(run: Run, notes: Path) -> None:
    assert "3 unchanged" in run("sync").stderr
    (notes / "a.txt").write_text("Anna met Dag in Halden.", encoding="utf-8")
    (notes / "b.md").rename(notes / "moved.md")
    (notes / "c.txt").unlink()
    (notes / "d.txt").write_text("Dag sings.", encoding="utf-8")
    (notes / "e.txt").write_text("Dag sings.", encoding="utf-8")
    result = run("sync", "--dry-run")
    assert "Nothing was done" in result.stderr
    assert documents(run) == ["a.txt", "b.md", "c.txt"]
    result = run("sync")
    assert result.stdout == ""
    for line in (
        "New: d.txt",
        "Moved: b.md to moved.md",
        "Changed: a.txt",
        "Deleted: c.txt",
        "Next: localrag",
    ):
        assert line in result.stderr
    assert "Same content: e.txt as d.txt" in result.stderr
    assert documents(run) == ["a.txt", "d.txt", "moved.md"]


def test_the_knowledge_base_itself_is_not_told_of(run: Run, folder: Path) -> None:
    (folder / "a.txt").write_text("Anna met Bo in Halden.", encoding="utf-8")
    run("init", "n")
    assert "Skipped" not in run("add", ".").stderr
    assert "Skipped" not in run("sync").stderr
    (folder / "other.localrag").write_bytes((folder / "n.localrag").read_bytes())
    said = run("sync", "--kb", "n.localrag").stderr
    assert "Skipped" in said
    assert "other.localrag" in said
    assert "n.localrag:" not in said.replace("other.localrag", "")


def test_programs_get_everything(run: Run, notes: Path) -> None:
    (notes / "b.md").rename(notes / "moved.md")
    (notes / "bad.txt").write_bytes(bytes(range(256)) * 40)
    report = json_of(run("sync", "--json", code=5))
    assert report["moved"] == [{"path": "moved.md", "from": "b.md"}]
    assert [item["path"] for item in report["failed"]] == ["bad.txt"]
    assert (report["added"], report["deleted"], report["unchanged"]) == ([], [], 2)
    assert set(report) >= {"changed", "copied", "kept", "closed", "hidden", "chunks", "dry_run", "cancelled"}
    assert json_of(run("sync", "--dry-run", "--json", code=5))["dry_run"] is True


def test_a_missing_folder_deletes_nothing_without_being_told(run: Run, notes: Path) -> None:
    notes.rename(notes.with_name("away"))
    result = run("sync")
    assert "3 documents kept, since the folder" in result.stderr
    assert "--delete-missing" in result.stderr
    assert len(documents(run)) == 3
    assert "--yes" in run("sync", "--delete-missing", code=2).stderr
    assert len(documents(run)) == 3
    assert "3 deleted" in run("sync", "--delete-missing", "--yes").stderr
    assert documents(run) == []


def test_patterns_are_kept_and_what_they_hide_is_said(run: Run, notes: Path) -> None:
    result = run("sync", "notes", "--include", "*.md", "--exclude", "drafts/**")
    assert "2 documents kept, not among the patterns that are taken now" in result.stderr
    assert len(documents(run)) == 3
    (notes / "new.txt").write_text("New.", encoding="utf-8")
    assert "New:" not in run("sync").stderr
    assert "2 deleted" in run("sync", "--delete-excluded", "--yes").stderr
    assert documents(run) == ["b.md"]
    assert "3 added" in run("sync", "--all-files").stderr
    assert "cannot be used" in run("sync", "--exclude", "[", code=2).stderr
    assert "no patterns of its own" in run("sync", "notes/a.txt", "--exclude", "x", code=2).stderr


def test_what_is_followed_is_listed(run: Run, notes: Path, folder: Path) -> None:
    (folder / "alone.txt").write_text("Alone.", encoding="utf-8")
    run("add", "alone.txt")
    run("sync", "notes", "--exclude", "drafts/")
    shown = run("sync", "--list").stdout
    assert str(notes) in shown
    assert "drafts/" in shown
    listed = json_of(run("sync", "--list", "--json"))
    (row,) = listed["folders"]
    assert (row["path"], row["exclude"], row["gitignore"]) == (str(notes), ["drafts/"], True)
    assert row["synced_at"]
    assert listed["files"] == [str(folder / "alone.txt")]


def test_add_takes_patterns(run: Run, folder: Path, library: Path) -> None:
    run("init", "n")
    run("add", "library", "--include", "*.md", "--exclude", "bridge*")
    assert documents(run) == ["茶馆.md"]
    assert "no folder is named" in run("add", "library/mill.txt", "--include", "*.md", code=2).stderr
    (library / ".gitignore").write_text("茶*", encoding="utf-8")
    assert "left out by .gitignore" in run("sync").stderr
    assert "1 unchanged" in run("sync", "--no-gitignore").stderr


def test_a_folder_may_be_followed_no_more(run: Run, notes: Path) -> None:
    assert "needs the folders" in run("sync", "--unfollow", code=2).stderr
    assert "followed no more" in run("sync", "--unfollow", "notes").stderr
    (notes / "new.txt").write_text("New.", encoding="utf-8")
    assert "3 unchanged" in run("sync").stderr
    assert "not followed" in run("sync", "--unfollow", "notes", code=2).stderr


def test_what_goes_together_and_what_does_not(run: Run, notes: Path) -> None:
    for words in (("--watch", "--json"), ("--watch", "--dry-run"), ("--poll",)):
        run("sync", *words, code=2)
    run("index", "--watch", "--json", code=2)
    run("index", "--poll", code=2)
    assert "not followed" in run("sync", "/nowhere", code=2).stderr


def test_nothing_is_followed_yet(run: Run) -> None:
    run("init", "n")
    assert "localrag add" in run("sync", code=3).stderr


def test_hostile_names_do_not_reach_the_terminal(run: Run, notes: Path) -> None:
    (notes / "\x1b[31mred[bold].txt").write_text("Red.", encoding="utf-8")
    result = run("sync")
    assert "\x1b" not in result.stderr + result.stdout
    assert "red[bold].txt" in result.stderr


def coverage(run: Run) -> dict[str, int]:
    found: dict[str, int] = json_of(run("status", "--json"))["coverage"]
    return found


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals as these")
@pytest.mark.parametrize("command", ["sync", "index"])
def test_a_watch_follows_until_ctrl_c(run: Run, notes: Path, command: str, scripted: Scripted) -> None:
    process = start(command, "--watch", delay=0.01, stderr=subprocess.PIPE)
    try:
        if command == "index":
            until(lambda: coverage(run) == {"read": 3, "total": 3})
        (notes / "new.txt").write_text("Dag lives in Kvern with Eli.", encoding="utf-8")
        until(lambda: "new.txt" in documents(run))
        (notes / "new.txt").unlink()
        until(lambda: "new.txt" not in documents(run))
        if command == "index":
            (notes / "new.txt").write_text("Fay met Gil in Halden.", encoding="utf-8")
            until(lambda: coverage(run) == {"read": 4, "total": 4})
            (notes / "new.txt").unlink()
            until(lambda: coverage(run) == {"read": 3, "total": 3})
    finally:
        process.send_signal(signal.SIGINT)
        out, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""
    assert "Watching 1 folder. Ctrl-c ends." in told
    assert "New: new.txt" in told
    assert "Traceback" not in told
    assert documents(run) == ["a.txt", "b.md", "c.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals as these")
def test_a_watch_makes_the_vectors_that_lack(run: Run, notes: Path, scripted: Scripted) -> None:
    def vectors() -> int:
        return int(json_of(run("status", "--json"))["vectors"]["chunks"])

    scripted.embedder = None
    run("index")
    assert (coverage(run)["read"], vectors()) == (3, 0)
    process = start("index", "--watch", delay=0.01, stderr=subprocess.PIPE)
    try:
        until(lambda: vectors() == 3)
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in told
    assert "is read already" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals as these")
def test_an_error_in_a_round_does_not_end_the_watch(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from localrag.cli import following, stopping
    from localrag.cli.stopping import Stop
    from localrag.errors import KnowledgeBaseBusy
    from localrag.kb import KnowledgeBase, find_knowledge_base

    monkeypatch.setattr(following, "_FIRST_PAUSE", 0.5)
    monkeypatch.setattr(following, "_LOOK", 0.2)
    stop = stopping.Stop()
    rounds: list[int] = []

    def work(watch: object) -> None:
        rounds.append(len(rounds))
        if len(rounds) == 2:
            raise KnowledgeBaseBusy("Another program is writing.", "Wait.")
        if len(rounds) == 3:
            stop.event.set()

    assert isinstance(stop, Stop)
    with KnowledgeBase.open(find_knowledge_base(Path.cwd())) as kb:
        import threading

        timer = threading.Timer(1.0, lambda: (notes / "x.txt").write_text("X.", encoding="utf-8"))
        timer.start()
        following.follow(kb, stop, work, poll=False)
    assert rounds == [0, 1, 2]


@pytest.mark.parametrize("words", [("add",), ("sync",), ("index",), ("init",), ("export",), ("merge",)])
def test_a_path_that_says_nothing_is_not_this_folder(run: Run, notes: Path, words: tuple[str, ...]) -> None:
    (notes.parent / "private.txt").write_text("Not to be added.", encoding="utf-8")
    assert "a path is needed" in run(*words, "", code=2).stderr
    assert documents(run) == ["a.txt", "b.md", "c.txt"]
    assert len(json_of(run("sync", "--list", "--json"))["folders"]) == 1


def test_folders_are_unfollowed_all_or_none(run: Run, notes: Path) -> None:
    assert "is not followed" in run("sync", "--unfollow", "notes", "other", code=2).stderr
    assert len(json_of(run("sync", "--list", "--json"))["folders"]) == 1
    run("sync", "--unfollow", "notes")
    assert json_of(run("sync", "--list", "--json"))["folders"] == []


def test_nothing_is_followed_in_words(run: Run, folder: Path) -> None:
    run("init", "n")
    listed = run("sync", "--list")
    assert listed.stdout == ""
    assert "Nothing is followed yet." in listed.stderr


def test_a_folder_that_was_renamed_is_not_only_to_be_deleted(run: Run, notes: Path) -> None:
    notes.rename(notes.with_name("renamed"))
    said = run("sync").stderr
    assert "If they lie elsewhere now, localrag add FOLDER finds them there" in said
    assert "3 moved" in run("add", "renamed").stderr


@pytest.mark.skipif(sys.platform == "win32", reason="not here: a folder in use can be deleted")
@pytest.mark.parametrize(
    "words", [("add", "."), ("add", "a.txt"), ("sync", "--unfollow", "x"), ("index", "x"), ("export", "x")]
)
def test_a_folder_that_is_gone_is_called_so(
    run: Run, notes: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = notes.with_name("n.localrag")
    left = notes.with_name("left")
    left.mkdir()
    monkeypatch.chdir(left)
    left.rmdir()
    said = run(*words, "--kb", kb, code=1).stderr
    assert "The folder that this command runs in was deleted." in said
    assert "Go to another folder." in said


def test_a_watch_tells_once_what_is_kept_or_failed(capsys: pytest.CaptureFixture[str]) -> None:
    gone = SyncReport(kept=(("a.txt", "the folder is not there"),))
    for report, before, said in (
        (gone, SyncReport(unchanged=1), "1 document kept, since the folder is not there: a.txt."),
        (gone, gone, ""),
        (SyncReport(unchanged=1), gone, "1 unchanged"),
        (SyncReport(unchanged=1), SyncReport(unchanged=1), ""),
        (SyncReport(failed=(("b.txt", "It is binary."),)), SyncReport(), "b.txt: It is binary."),
    ):
        tell_sync(report, before=before)
        told = capsys.readouterr().err
        assert said in told
        assert bool(told) == bool(said)
