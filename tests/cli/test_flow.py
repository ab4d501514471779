"""Tests of the way from texts to answers: init, add, index, ask, status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localrag.errors import EngineError
from tests.cli.conftest import Run, Scripted, cited, json_of
from tests.conftest import reader


def test_the_whole_way(run: Run, library: Path) -> None:
    assert "Made notes.localrag" in run("init", "notes").stderr
    added = run("add", "library")
    assert added.stdout == ""
    assert "Files: 4 added." in added.stderr
    assert "Next: localrag index" in added.stderr
    indexed = run("index")
    assert indexed.stdout == ""
    assert "The knowledge base has" in indexed.stderr
    answered = run("ask", "Who built the Halden Bridge?")
    assert answered.stdout.startswith("Marta Lind built it")
    assert "### References\n- [DC] " in answered.stdout
    assert answered.stdout.endswith("\n")
    assert not answered.stdout.endswith("\n\n")


def test_init_makes_a_file_and_says_so(run: Run, folder: Path) -> None:
    assert json_of(run("init", "a.localrag", "--json")) == {"path": "a.localrag", "created": True}
    assert (folder / "a.localrag").is_file()
    assert "every command needs: --kb b.db" in run("init", "b.db").stderr
    run("--kb", "c.localrag", "init")
    assert (folder / "c.localrag").is_file()
    assert "A file name is missing" in run("init", code=2).stderr
    assert "a file name is needed" in run("init", "..", code=2).stderr


def test_add_tells_programs_what_became_of_each_file(run: Run, library: Path) -> None:
    (library / "bad.txt").write_bytes(b"\x00\x01\x02\xff\xfe\x80" * 50)
    (library / "copy.md").write_bytes((library / "bridge.md").read_bytes())
    run("init", "n")
    report = json_of(run("add", "library", "--json", code=5))
    assert report["added"] == 4
    assert [item["path"] for item in report["failed"]] == ["bad.txt"]
    assert report["failed"][0]["reason"]
    assert report["copied"] == [{"path": "copy.md", "of": "bridge.md"}]
    assert report["skipped"] == []
    assert report["chunks"] >= 4
    again = run("add", "library", code=5)
    assert "5 unchanged" in again.stderr
    assert "Note: bad.txt: " in again.stderr


def test_add_sums_up_what_it_passes_over(run: Run, folder: Path) -> None:
    for number in range(30):
        (folder / f"picture{number:02}.png").write_bytes(b"png")
    (folder / "a.txt").write_text("Anna met Bo.", encoding="utf-8")
    run("init", "n")
    lines = run("add", ".").stderr.splitlines()
    assert [line for line in lines if "picture" in line] == [
        "Skipped picture00.png, picture01.png, picture02.png and 27 more: "
        "not a format that localrag reads yet"
    ]


def test_add_fails_if_nothing_could_be_read(run: Run, folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"\x00\x01\x02\xff\xfe\x80" * 50)
    run("init", "n")
    result = run("add", "bad.txt", code=1)
    assert "Error: None of these files could be read." in result.stderr


def test_an_empty_file_is_a_document_with_nothing_in_it(run: Run, folder: Path) -> None:
    (folder / "empty.txt").touch()
    run("init", "n")
    run("add", "empty.txt")
    assert json_of(run("status", "--json"))["documents"][0]["status"] == "indexed"
    assert "Everything that was added is read" in run("index").stderr


def test_index_adds_first_when_paths_are_given(run: Run, library: Path) -> None:
    run("init", "n")
    report = json_of(run("index", "library", "--json"))
    assert report["add"]["added"] == 4
    assert report["read"] == 4
    assert report["entities"] > 4
    assert report["cancelled"] is False
    assert "Everything that was added is read" in run("index").stderr


def test_index_goes_on_after_a_chunk_that_fails(run: Run, library: Path, scripted: Scripted) -> None:
    scripted.model = reader(fail=lambda request: "old mill" in request.messages[-1].text)
    run("init", "n")
    run("add", "library")
    result = run("index", code=5)
    assert "mill.txt: chunk 1 could not be read" in result.stderr
    assert "1 chunk could not be read" in result.stderr
    assert json_of(run("status", "--json"))["coverage"] == {"read": 3, "total": 4}


def test_index_without_an_embedding_model_says_what_that_means(
    run: Run, library: Path, scripted: Scripted
) -> None:
    scripted.embedder = None
    run("init", "n")
    assert "No vectors are made" in run("index", "library").stderr


def test_ask_tells_programs_exactly_the_documented_keys(run: Run, read_kb: Path) -> None:
    answer = json_of(run("ask", "--json", "--mode", "naive", "Who built the Halden Bridge?"))
    assert list(answer) == [
        *("answer", "abstained", "mode", "model", "coverage", "citations"),
        *("question", "rewritten", "steps", "kept", "session", "table", "checks", "notes", "seconds"),
    ]
    assert answer["mode"] == "naive"
    assert answer["abstained"] is False
    assert answer["coverage"] == {"read": 4, "total": 4}
    keys = ("label", "kind", "document", "page", "start", "end", "text", "heading", "base", "state")
    assert tuple(answer["citations"][0]) == keys
    assert answer["citations"][0]["kind"] == "document"


def test_notes_are_talk_for_programs_too(run: Run, library: Path) -> None:
    run("init", "n")
    run("add", "library")
    result = run("ask", "--json", "Who built the Halden Bridge?")
    assert json_of(result)["coverage"] == {"read": 0, "total": 4}
    assert "The model has read 0 of 4 chunks" in result.stderr


def test_ask_takes_words_without_quotes_and_stdin(run: Run, read_kb: Path) -> None:
    assert "Marta Lind" in run("ask", "Who", "built", "the", "bridge").stdout
    assert "Marta Lind" in run("ask", "-", stdin="Who built the bridge?\n").stdout
    # A question in another encoding is no reason to fail.
    assert run("ask", "-", stdin="Wer baute die Br\xfccke?".encode("latin-1")).stdout
    assert "Marta Lind" in run("ask", "--", "-5 bridges: who built them?").stdout


def test_ask_says_nothing_found_with_exit_code_0(run: Run, read_kb: Path, scripted: Scripted) -> None:
    scripted.model = reader("[no-context]")
    answer = json_of(run("ask", "--json", "What is the price of tea in Lima?"))
    assert answer["abstained"] is True
    assert answer["citations"] == []
    assert run("ask", "What is the price of tea in Lima?").stdout.strip()


def test_ask_shows_the_cited_places_on_request(run: Run, read_kb: Path) -> None:
    text = run("ask", "--sources", "--mode", "naive", "Who built the Halden Bridge?").stdout
    assert "\n[1] [DC] " in text
    assert ": characters " in text
    assert "\n    " in text


def test_ask_says_how_much_was_read(run: Run, library: Path) -> None:
    run("init", "n")
    run("add", "library")
    result = run("ask", "Who built the Halden Bridge?")
    assert "The model has read 0 of 4 chunks" in result.stderr
    assert "The model has read" not in result.stdout
    assert "The model has read 0 of 4 chunks" in run("status").stderr


def test_an_answer_cannot_command_the_terminal(run: Run, read_kb: Path, scripted: Scripted) -> None:
    scripted.model = reader(cited("\x1b[31mred\x1b]0;title\x07 [bold]plain[/bold]\x9b2J"))
    text = run("ask", "Who built the Halden Bridge?").stdout
    assert text.startswith("red [bold]plain[/bold] ")
    assert "\x1b" not in text
    assert "\x9b" not in text
    raw = run("ask", "--json", "Who built the Halden Bridge?").stdout
    assert "\x1b" not in raw
    assert "\x9b" not in raw


def test_names_cannot_command_the_terminal(run: Run, folder: Path) -> None:
    name = "evil\x1b[31m[red]x\nname.txt"
    (folder / name).write_text("Anna wrote to Berta.", encoding="utf-8")
    (folder / "\x1b[2Jbad.txt").write_bytes(b"\x00\x01\x02\xff\xfe\x80" * 50)
    run("init", "n")
    added = run("add", name, "\x1b[2Jbad.txt", code=5)
    shown = run("status", "--all")
    asked = run("ask", "--sources", "Who wrote to Berta?")
    missing = run("add", "no\x1b[2Jsuch.txt", code=1)
    for result in (added, shown, asked, missing):
        assert "\x1b" not in result.output
    assert "evil[red]x name.txt" in shown.stdout
    assert "\x1b" not in run("status", "--json").stdout
    assert json_of(run("status", "--json"))["documents"]


def test_status_shows_failures_first_and_cuts_long_lists(run: Run, folder: Path) -> None:
    texts = folder / "texts"
    texts.mkdir()
    for number in range(40):
        (texts / f"a{number:02}.txt").write_text(f"Text number {number}.", encoding="utf-8")
    (texts / "z.txt").write_bytes(b"\x00\x01\x02\xff\xfe\x80" * 50)
    run("init", "n")
    run("add", "texts", code=5)
    result = run("status")
    rows = [line.split() for line in result.stdout.splitlines() if ".txt" in line]
    assert rows[0][:2] == ["z.txt", "failed"]
    assert len(rows) == 30
    assert "And 11 others; --all lists them." in result.stderr
    assert run("status", "--all").stdout.count(".txt") == 41


def test_status_leaves_the_file_as_it_is(run: Run, read_kb: Path) -> None:
    before = read_kb.read_bytes()
    state = json_of(run("status", "--json"))
    assert read_kb.read_bytes() == before
    assert state["read_only"] is False
    assert state["graph"]["entities"] > 0
    assert state["vectors"]["model"] == "scripted"
    assert {row["path"] for row in state["documents"]} >= {"bridge.md", "茶馆.md"}


def test_the_knowledge_base_is_found_or_named(
    run: Run, read_kb: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = folder / "other.localrag"
    run("init", "other")
    assert "several knowledge bases" in run("status", code=2).stderr
    for words in (("--kb", "other", "status"), ("status", "--kb", "other.localrag")):
        assert json_of(run(*words, "--json"))["path"].endswith("other.localrag")
    # The one behind the command counts.
    assert json_of(run("--kb", "library.localrag", "status", "--kb", other, "--json"))["documents"] == []
    monkeypatch.setenv("LOCALRAG_KB", str(read_kb))
    assert json_of(run("status", "--json"))["documents"]
    assert json_of(run("--kb", "other", "status", "--json"))["documents"] == []


def test_options_become_settings(run: Run, read_kb: Path, scripted: Scripted) -> None:
    run("ask", "--model", "big", "--embed-model", "wide", "--threads", "3", "Who is Marta Lind?")
    settings = scripted.settings[-1]
    assert (settings.models.chat, settings.models.embed, settings.engine.threads) == ("big", "wide", 3)
    assert settings.origin("engine.threads") == "flag"


def test_the_engines_are_closed_whatever_happens(run: Run, read_kb: Path, scripted: Scripted) -> None:
    closed = []
    engines = scripted.engines

    class Broken(type(scripted.model)):  # type: ignore[misc]
        def stream(self, request: object) -> object:
            raise EngineError("The engine broke.", "Ask again.")

        def close(self) -> None:
            closed.append(True)

    scripted.model = Broken()
    assert engines is not None
    result = run("ask", "Who is Marta Lind?", "--json", code=1)
    assert json.loads(result.stdout)["error"] == {
        "kind": "EngineError",
        "message": "The engine broke.",
        "hint": "Ask again.",
    }
    assert closed
