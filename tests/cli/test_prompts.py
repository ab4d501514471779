"""`localrag prompts`: what is told, what is written, and that nothing a person wrote is lost."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from localrag.cli.prompts import FAULTY
from localrag.prompts.personal import PromptFolder
from localrag.settings import data_path
from tests.cli.conftest import Run, Scripted, json_of

NAME = "lightrag/en/rag_response"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's folder, which is not there yet."""
    config = tmp_path / "config"
    config.mkdir()
    monkeypatch.setenv("LOCALRAG_CONFIG", str(config / "settings.toml"))
    (config / "settings.toml").write_text("")
    return config / "prompts"


def editor(monkeypatch: pytest.MonkeyPatch, program: str, variable: str = "EDITOR") -> None:
    """Let the editor be a program that changes the text `t` of the file that it is given."""
    code = (
        "import sys, pathlib; p = pathlib.Path(sys.argv[1]); t = p.read_text('utf-8'); "
        f"{program}; p.write_text(t, 'utf-8')"
    )
    monkeypatch.setenv(variable, shlex.join([sys.executable, "-c", code]))


def test_the_list_names_all_prompts_and_what_they_are_for(run: Run, own: Path) -> None:
    text = run("prompts", "list").stdout
    rows = json_of(run("prompts", "list", "--json"))
    assert [row["name"] for row in rows["prompts"]] == list(PromptFolder(own).names())
    assert rows["folder"] == str(own)
    assert not any(row["own"] or row["fault"] for row in rows["prompts"])
    for row in rows["prompts"]:
        assert row["name"] in text
        assert row["description"] in text


def test_show_prints_the_file_in_use(run: Run, own: Path) -> None:
    shipped = data_path("prompts", f"{NAME}.md").read_text("utf-8")
    assert run("prompts", "show", NAME).stdout == shipped
    mine = own / f"{NAME}.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine \x1b[31m")
    shown = run("prompts", "show", NAME).stdout
    assert shown.startswith("mine ")
    assert "\x1b" not in shown
    assert run("prompts", "show", "--shipped", NAME).stdout == shipped
    told = json_of(run("prompts", "show", NAME, "--json"))
    assert (told["own"], told["path"], told["text"]) == (True, str(mine), "mine \x1b[31m")


def test_an_edit_is_kept_and_used(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch, read_kb: Path, scripted: Scripted
) -> None:
    editor(monkeypatch, "t = t.replace('You answer', 'Here you answer')")
    result = run("prompts", "edit", NAME)
    assert f"Kept in {own / NAME}.md" in result.stderr
    assert "Here you answer" in (own / f"{NAME}.md").read_text("utf-8")
    run("ask", "Who built the Halden Bridge?")
    assert scripted.model is not None
    assert any("Here you answer" in message.text for r in scripted.model.calls for message in r.messages)


def test_a_wrong_edit_is_kept_with_its_mistakes(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "t = t.replace('{context_data}', '{contxt_data}')", "VISUAL")
    monkeypatch.setenv("EDITOR", "/never/called")
    result = run("prompts", "edit", NAME, code=FAULTY)
    assert f"{NAME}, line 3: error: the input context_data is not used in the text" in result.stdout
    assert "{contxt_data}" in (own / f"{NAME}.md").read_text("utf-8")
    assert run("prompts", "check", code=FAULTY).stdout == result.stdout
    assert "yours, cannot be used" in run("prompts", "list").stdout
    checked = json_of(run("prompts", "check", NAME, "--json", code=FAULTY))
    (found,) = checked["prompts"]
    assert not found["usable"]
    assert found["remarks"][0]["line"] == 3


def test_a_command_that_needs_a_damaged_prompt_says_so(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch, read_kb: Path
) -> None:
    editor(monkeypatch, "t = t.replace('{context_data}', '')")
    run("prompts", "edit", NAME, code=FAULTY)
    result = run("ask", "Who built the Halden Bridge?", code=1)
    assert f"{own / NAME}.md, line 3: the input context_data is not used" in result.stderr


def test_an_edit_that_changes_nothing_leaves_nothing(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, "pass")
    assert "Nothing was changed" in run("prompts", "edit", NAME).stderr
    assert not (own / f"{NAME}.md").exists()
    # One's own file stays, whatever it holds.
    (own / NAME).parent.mkdir(parents=True, exist_ok=True)
    (own / f"{NAME}.md").write_bytes(data_path("prompts", f"{NAME}.md").read_bytes())
    run("prompts", "edit", NAME)
    assert (own / f"{NAME}.md").exists()


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [("", 2, "No editor is named"), ("/never/there", 2, "cannot be started"), ("'", 2, "understood")],
)
def test_without_an_editor_it_is_said_what_to_do(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch, value: str, code: int, said: str
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", value)
    assert said in run("prompts", "edit", NAME, code=code).stderr
    assert not (own / f"{NAME}.md").exists()


def test_an_editor_that_fails_loses_nothing(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "p.write_text(t + 'more', 'utf-8'); sys.exit(3)")
    assert "ended with code 3" in run("prompts", "edit", NAME, code=1).stderr
    assert (own / f"{NAME}.md").read_text("utf-8").endswith("more")


def test_reset_asks_or_is_told(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "t += 'more'")
    run("prompts", "edit", NAME)
    assert "--yes" in run("prompts", "reset", NAME, code=2).stderr
    assert (own / f"{NAME}.md").exists()
    assert json_of(run("prompts", "reset", NAME, "--yes", "--json")) == {"name": NAME, "removed": True}
    assert not (own / f"{NAME}.md").exists()
    assert "no copy" in run("prompts", "reset", NAME).stderr


def test_check_of_what_ships_finds_nothing(run: Run, own: Path) -> None:
    assert "No mistakes" in run("prompts", "check").stderr
    assert "No mistakes in 1 prompt." in run("prompts", "check", "graphrag/zh/claim_extraction").stderr


def test_a_small_context_counts(run: Run, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALRAG_ENGINE__N_CTX", "512")
    text = run("prompts", "check", code=None).stdout
    assert "in the context of 512" in text


def test_a_file_with_a_misspelt_name_is_told(run: Run, own: Path) -> None:
    (own / "lightrag" / "en").mkdir(parents=True)
    (own / "lightrag" / "en" / "rag_respnse.md").write_text("x")
    assert "rag_respnse.md is used by nothing" in run("prompts", "check").stderr
    assert json_of(run("prompts", "check", "--json"))["unused"] == ["lightrag/en/rag_respnse.md"]


def test_the_folder_is_told_and_can_be_chosen(
    run: Run, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("prompts", "path").stdout == f"{own}\n"
    monkeypatch.setenv("LOCALRAG_PROMPTS__DIRECTORY", str(tmp_path / "other"))
    assert json_of(run("prompts", "path", "--json")) == {"path": str(tmp_path / "other"), "exists": False}


@pytest.mark.parametrize("words", [("show",), ("edit",), ("check",), ("reset",)])
def test_an_unknown_name_is_told_with_near_ones(
    run: Run, own: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    editor(monkeypatch, "pass")
    result = run("prompts", *words, "lightrag/en/rag_respons", code=2)
    assert NAME in result.stderr


def test_a_folder_of_prompts_that_is_gone_stops_reading_and_asking(
    run: Run, read_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_PROMPTS__DIRECTORY", str(tmp_path / "gone"))
    for words in (("index",), ("ask", "Who built the Halden Bridge?")):
        assert "is not there" in run(*words, code=1).stderr


def test_index_without_types(run: Run, library: Path, scripted: Scripted) -> None:
    run("init", "a.localrag")
    run("index", library, "--no-entity-types")
    assert scripted.settings[-1].extraction.entity_types == ()
    assert scripted.model is not None
    sent = [request for request in scripted.model.calls if request.task == "extraction"]
    assert any("any type that fits" in request.messages[0].text for request in sent)
