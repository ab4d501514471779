"""Tests of bad input: one sentence, a hint, the right exit code, no traceback, the file unharmed."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localrag import errors
from localrag.cli.main import cli
from tests.cli.conftest import Run, Scripted, json_of
from tests.conftest import reader


def folder_as_kb(folder: Path) -> None:
    (folder / "kb.localrag").mkdir()


def text_as_kb(folder: Path) -> None:
    (folder / "kb.localrag").write_text(
        "This is a text, and no knowledge base at all." * 40, encoding="utf-8"
    )


def foreign_database_as_kb(folder: Path) -> None:
    with sqlite3.connect(folder / "kb.localrag") as connection:
        connection.execute("CREATE TABLE strange (x)")
    connection.close()


def nothing(folder: Path) -> None:
    """Leave the folder empty."""


BAD_FILES = [
    (nothing, 3, "KnowledgeBaseNotFound"),
    (folder_as_kb, 1, "NotAKnowledgeBase"),
    (text_as_kb, 1, "NotAKnowledgeBase"),
    (foreign_database_as_kb, 1, "NotAKnowledgeBase"),
]


def tells(run: Run, code: int, kind: str, *words: str | Path) -> str:
    """Run a command that must fail, for people and for programs; returns its sentence."""
    result = run(*words, code=code)
    lines = result.stderr.splitlines()
    told = next(line for line in lines if line.startswith("Error: "))
    assert told.endswith((".", "?", "'")), told
    assert lines[lines.index(told) + 1].startswith("  "), "a hint follows"
    assert result.stdout == ""
    error = json_of(run(*words, "--json", code=code))["error"]
    assert list(error) == ["kind", "message", "hint"]
    assert error["kind"] == kind
    return told


@pytest.mark.parametrize("command", [["status"], ["add", "."], ["index"], ["ask", "Who?"]])
@pytest.mark.parametrize(("prepare", "code", "kind"), BAD_FILES)
def test_what_is_no_knowledge_base(
    run: Run,
    folder: Path,
    command: list[str],
    prepare: Callable[[Path], None],
    code: int,
    kind: str,
) -> None:
    prepare(folder)
    tells(run, code, kind, "--kb", "kb.localrag", *command)


def test_none_in_the_folder(run: Run) -> None:
    told = run("ask", "Who?", code=3).stderr
    assert "localrag init" in told


def test_a_newer_file(run: Run, read_kb: Path) -> None:
    connection = sqlite3.connect(read_kb)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert "99" in tells(run, 1, "NewerFormat", "ask", "Who?")


def test_init_on_what_is_there(run: Run, read_kb: Path) -> None:
    before = read_kb.read_bytes()
    tells(run, 2, "KnowledgeBaseExists", "init", read_kb.name)
    assert read_kb.read_bytes() == before


def test_init_in_a_folder_that_is_not_there(run: Run) -> None:
    tells(run, 3, "KnowledgeBaseNotFound", "init", "no/such/file.localrag")


def test_init_in_a_folder_that_cannot_be_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests may run as the superuser, who can write everywhere; so the system's answer is replaced.
    allowed = os.open

    def refuse(path: str | Path, *rest: Any, **options: Any) -> int:
        if str(path).endswith("a.localrag"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return allowed(path, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    tells(run, 4, "KnowledgeBaseReadOnly", "init", "a.localrag")


def test_a_file_that_cannot_be_written_can_still_be_asked(
    run: Run, read_kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and allowed(path, mode))
    tells(run, 4, "KnowledgeBaseReadOnly", "add", ".")
    tells(run, 4, "KnowledgeBaseReadOnly", "index")
    assert "Marta Lind" in run("ask", "Who built the Halden Bridge?").stdout
    assert json_of(run("status", "--json"))["read_only"] is True
    assert "read-only" in run("status").stdout


@pytest.mark.parametrize("question", ["", "  \n ", "?", "\x00\x1b"])
def test_a_question_without_words(run: Run, read_kb: Path, question: str) -> None:
    tells(run, 2, "UsageError", "ask", question)


def test_an_empty_stdin_as_question(run: Run, read_kb: Path) -> None:
    result = run("ask", "-", stdin="", code=2)
    assert result.stderr.startswith("Error: The question is empty.")


def test_a_question_that_is_too_long(run: Run, read_kb: Path) -> None:
    tells(run, 2, "UsageError", "ask", "why " * 6000)


def test_an_unknown_mode_names_the_known_ones(run: Run, read_kb: Path) -> None:
    told = tells(run, 2, "UsageError", "ask", "--mode", "magic", "Who?")
    assert "mix" in told
    assert "naive" in told


def test_an_unknown_command_and_an_unknown_option(run: Run) -> None:
    assert "No such command" in tells(run, 2, "UsageError", "answer")
    assert "No such option" in tells(run, 2, "UsageError", "status", "--nope")


def test_nothing_in_it(run: Run) -> None:
    run("init", "n")
    tells(run, 3, "NothingIndexed", "ask", "Who?")
    tells(run, 3, "NothingIndexed", "index")
    assert "localrag add" in run("status").stderr


def test_a_path_that_does_not_exist(run: Run) -> None:
    run("init", "n")
    tells(run, 1, "DocumentError", "add", "no-such-file.txt")
    tells(run, 1, "DocumentError", "index", "no-such-file.txt")


def test_a_folder_without_readable_files(run: Run, folder: Path) -> None:
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.png").write_bytes(b"\x89PNG")
    run("init", "n")
    tells(run, 2, "UsageError", "add", "pictures")
    assert json_of(run("status", "--json"))["documents"] == []


def test_no_model(run: Run, library: Path, scripted: Scripted) -> None:
    scripted.model = None
    run("init", "n")
    run("add", "library")
    assert "localrag models pull" in run("index", code=3).stderr
    tells(run, 3, "ModelNotFound", "index")
    tells(run, 3, "ModelNotFound", "ask", "Who built the Halden Bridge?")
    tells(run, 3, "ModelNotFound", "ask", "--model", "no-such-model", "Who built the Halden Bridge?")


def test_a_setting_without_meaning(run: Run, read_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_ENGINE__THREADS", "many")
    assert "LOCALRAG_ENGINE__THREADS" in tells(run, 2, "SettingsError", "ask", "Who?")


def test_a_full_disk(run: Run, read_kb: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    from localrag.kb import KnowledgeBase

    def fail(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "kb\x1b[2J")

    monkeypatch.setattr(KnowledgeBase, "status", fail)
    result = run("status", code=1)
    assert result.stderr == "Error: No space left on device: kb.\n"
    assert json_of(run("status", "--json", code=1))["error"]["kind"] == "OSError"


@pytest.mark.parametrize(
    "kind",
    [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__],
)
def test_every_error_becomes_its_exit_code(
    run: Run, read_kb: Path, monkeypatch: pytest.MonkeyPatch, kind: type[errors.LocalragError]
) -> None:
    from localrag.kb import KnowledgeBase

    def fail(*args: object, **options: object) -> None:
        raise kind("It went wrong.", "Do this.")

    monkeypatch.setattr(KnowledgeBase, "status", fail)
    result = run("status", code=kind.exit_code)
    assert "It went wrong." in result.stderr
    assert kind.exit_code in {1, 2, 3, 4, 130}


def test_exit_codes_are_documented(run: Run) -> None:
    text = run("--help").stdout
    for code in ("0", "1", "2", "3", "4", "5", "130"):
        assert f"\n    {code} " in text


def test_two_dashes_end_the_options(run: Run, read_kb: Path) -> None:
    # Behind them --json is part of the question, so errors are for people.
    result = run("--kb", "none.localrag", "ask", "--", "--json", code=3)
    assert result.stdout == ""
    with pytest.raises(json.JSONDecodeError):
        json.loads(result.stdout)


def test_the_model_that_fails_in_the_middle(run: Run, read_kb: Path, scripted: Scripted) -> None:
    scripted.model = reader(fail=lambda request: request.task == "answer")
    result = run("ask", "Who built the Halden Bridge?", code=None)
    assert result.exit_code in {0, 1}
    assert "Traceback" not in result.output


def test_the_group_itself_is_a_click_group() -> None:
    assert cli.name == "localrag"


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_knowledge_base_without_a_name_is_refused(run: Run, name: str) -> None:
    assert "a file name is needed" in tells(run, 2, "UsageError", "status", "--kb", name)
