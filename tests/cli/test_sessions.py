"""`localrag sessions`: list, show, search, rename, export, delete, explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, Scripted, cited, json_of
from tests.conftest import reader

QUESTION = "Who built the Halden Bridge?"


@pytest.fixture(autouse=True)
def talked(run: Run, read_kb: Path) -> None:
    """A conversation of one question."""
    run("ask", "--session", "new", QUESTION)


def test_list_and_search(run: Run) -> None:
    run("ask", "--session", "new", "Who was the poet Jon Aas?")
    rows = run("sessions", "list").stdout.splitlines()
    assert "Who was the poet Jon Aas?" in rows[-2]
    assert QUESTION in rows[-1]
    found = json_of(run("sessions", "search", "halden", "BRIDGE", "--json"))["sessions"]
    assert [row["id"] for row in found] == [1]
    assert "No conversation has all these words" in run("sessions", "search", "nosuchword").stderr
    assert len(json_of(run("sessions", "list", "--limit", "1", "--json"))["sessions"]) == 1


def test_show_prints_what_was_said_and_what_is_gone(run: Run) -> None:
    text = run("sessions", "show", "last").stdout
    assert f"> {QUESTION}" in text
    assert "Marta Lind built it [1]" in text
    assert "granite" not in text.partition("References")[2]
    assert "    " in run("sessions", "show", "1", "--sources").stdout
    cited_in = json_of(run("sessions", "show", "1", "--json"))["messages"][1]["citations"][0]["document"]
    run("delete", cited_in, "--yes")
    assert "gone or changed since" in run("sessions", "show", "1").stdout


def test_show_explains_an_answer_until_its_source_goes(run: Run) -> None:
    text = run("sessions", "show", "last", "--explain", "1").stdout
    assert "How this answer came about" in text
    assert "bridge.md" in text
    data = json_of(run("sessions", "show", "1", "--explain", "1", "--json"))
    assert data["context"]["shown"]
    assert "no answer 2" in run("sessions", "show", "1", "--explain", "2", code=2).stderr
    prompt = run("sessions", "show", "1", "--explain", "1", "--prompt")
    assert prompt.stdout == run("ask", "--prompt-only", QUESTION).stdout
    assert "have changed since" not in prompt.stderr
    assert "Say --explain N" in run("sessions", "show", "1", "--prompt", code=2).stderr
    run("delete", "bridge.md", "--yes")
    assert "not any more" in run("sessions", "show", "1", "--explain", "1", code=2).stderr


def test_rename(run: Run) -> None:
    assert "is called The old bridge now" in run("sessions", "rename", "1", "The", "old", "bridge").stderr
    assert json_of(run("sessions", "list", "--json"))["sessions"][0]["title"] == "The old bridge"
    assert "empty" in run("sessions", "rename", "1", " ", code=2).stderr


def test_export_writes_markdown_to_stdout_or_a_file(run: Run, folder: Path) -> None:
    text = run("sessions", "export", "last").stdout
    assert text.startswith(f"# {QUESTION}\n")
    assert "#### Cited places" in text
    run("sessions", "export", "1", "--output", "talk.md")
    file = folder / "talk.md"
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o077 == 0
    file.write_text("mine")
    assert "there already" in run("sessions", "export", "1", "--output", "talk.md", code=2).stderr
    assert file.read_text() == "mine"
    run("sessions", "export", "1", "--output", "talk.md", "--force")
    assert file.read_text(encoding="utf-8") == text
    assert "cannot be written" in run("sessions", "export", "1", "--output", "no/talk.md", code=2).stderr
    assert json_of(run("sessions", "export", "1", "--json"))["markdown"] == text


def test_delete_asks_first(run: Run) -> None:
    assert "for good" in run("sessions", "delete", "1", code=2).stderr
    assert "Deleted conversation 1" in run("sessions", "delete", "1", "1", "--yes").stderr
    assert "There is no conversation yet" in run("sessions", "list").stderr
    assert "no conversation 1" in run("sessions", "show", "1", code=2).stderr
    assert "no conversation 1" in run("sessions", "delete", "1", "--yes", code=2).stderr


def test_what_was_said_cannot_command_the_terminal(run: Run, scripted: Scripted) -> None:
    scripted.model = reader(cited("\x1b[31mred\x1b]0;title\x07 \x9b2J"))
    run("ask", "--session", "new", "Who built\x1b[2J the mill?")
    run("sessions", "rename", "2", "A \x1b[31m title")
    for words in (("list",), ("show", "2"), ("export", "2"), ("show", "2", "--json"), ("list", "--json")):
        shown = run("sessions", *words).stdout
        assert "\x1b" not in shown
        assert "\x9b" not in shown
