"""A person's own prompts: copies, checks, what is unused, and the way back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from localrag.documents.tokens import estimate
from localrag.errors import PromptError, UsageError
from localrag.prompts import personal
from localrag.prompts.checking import Room
from localrag.prompts.personal import PromptFolder, own_prompts, read
from localrag.settings import Settings, data_path, load_settings, prompts_dir

NAME = "lightrag/en/rag_response"


@pytest.fixture
def folder(tmp_path: Path) -> PromptFolder:
    return PromptFolder(tmp_path / "prompts")


def settings_of(tmp_path: Path, directory: str = "") -> Settings:
    return load_settings(tmp_path / "none.toml", {}, {"prompts.directory": directory or None})


def test_a_copy_begins_as_the_prompt_that_ships(folder: PromptFolder) -> None:
    assert not folder.entry(NAME).own
    path, new = folder.copy(NAME)
    assert new
    assert path == folder.path / f"{NAME}.md"
    assert path.read_bytes() == data_path("prompts", f"{NAME}.md").read_bytes()
    assert folder.entry(NAME).own
    assert folder.prompt(NAME) == PromptFolder(Path("/nowhere")).prompt(NAME)
    assert folder.copy(f"{NAME}.md") == (path, False)


def test_the_way_back_leaves_nothing_behind(folder: PromptFolder) -> None:
    folder.copy(NAME)
    folder.copy("lightrag/en/keywords")
    assert folder.reset(NAME)
    assert not folder.reset(NAME)
    assert (folder.path / "lightrag" / "en" / "keywords.md").exists()
    assert folder.reset("lightrag/en/keywords")
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "rag_response",
        "lightrag/en",
        "lightrag/en/../en/rag_response",
        "/etc/passwd",
        "lightrag/de/keywords",
        "a\x1b[2J",
    ],
)
def test_a_name_that_no_prompt_has(folder: PromptFolder, name: str) -> None:
    for call in (folder.entry, folder.copy, folder.reset, folder.prompt):
        with pytest.raises(UsageError):
            call(name)


def test_the_nearest_names_are_told(folder: PromptFolder) -> None:
    with pytest.raises(UsageError) as caught:
        folder.entry("lightrag/en/rag_respons")
    assert NAME in caught.value.hint


def test_files_that_nothing_uses_are_told(folder: PromptFolder) -> None:
    assert folder.strangers() == ()
    path, _ = folder.copy(NAME)
    (path.parent / "rag_respnse.md").write_text("x")
    (path.parent / ".rag_response.md.swp").write_text("x")
    (path.parent / "rag_response.md~").write_text("x")
    assert folder.strangers() == ("lightrag/en/rag_respnse.md",)


def test_prompts_that_are_sent_together_are_checked_together(folder: PromptFolder) -> None:
    room = Room(4096, estimate)
    path, _ = folder.copy("lightrag/en/extraction_user")
    path.write_text("---\ndescription: x\ninputs:\n---\nNow write.\n", "utf-8")
    (remark,) = folder.check("lightrag/en/extraction_user", room)
    assert remark.error
    system, _ = folder.copy("lightrag/en/extraction_system")
    text = system.read_text("utf-8").replace("examples\n", "examples, input_text\n", 1) + "\n{input_text}\n"
    system.write_text(text, "utf-8")
    assert folder.check("lightrag/en/extraction_user", room) == ()


def test_a_folder_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="is not there"):
        own_prompts(settings_of(tmp_path, str(tmp_path / "gone")))
    (tmp_path / "mine").mkdir()
    assert own_prompts(settings_of(tmp_path, str(tmp_path / "mine"))) == tmp_path / "mine"


def test_without_a_folder_the_ones_that_ship_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_CONFIG", str(tmp_path / "conf" / "settings.toml"))
    assert prompts_dir(Settings()) == tmp_path / "conf" / "prompts"
    assert own_prompts(Settings()) is None
    (tmp_path / "conf" / "prompts").mkdir(parents=True)
    assert own_prompts(Settings()) == tmp_path / "conf" / "prompts"
    assert prompts_dir(settings_of(tmp_path, "mine")) == tmp_path / "conf" / "mine"


def test_a_file_in_the_folders_place_is_no_silent_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_CONFIG", str(tmp_path / "settings.toml"))
    (tmp_path / "prompts").write_text("a file")
    with pytest.raises(PromptError):
        own_prompts(Settings())


def test_what_ships_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = tmp_path / "shipped"
    shutil.copytree(data_path("prompts"), shipped)
    monkeypatch.setattr(personal, "data_path", lambda *parts: shipped)
    folder = PromptFolder(shipped)
    before = read(folder.entry(NAME))
    with pytest.raises(UsageError, match="that ship"):
        folder.reset(NAME)
    assert read(folder.entry(NAME)) == before


def test_a_copy_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("a file")
    with pytest.raises(PromptError, match="cannot be written"):
        PromptFolder(tmp_path / "prompts").copy(NAME)
