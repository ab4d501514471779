"""The settings file is changed in place: one value, and nothing else of what a person wrote."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from localrag.errors import SettingsError
from localrag.settings import Settings, check_value, load_settings, load_usable_settings
from localrag.settings_writing import changed, write_setting

FILE = """# My machine
[engine]
threads = 4  # the fan is loud with 8
devices = [
    "CUDA0",  # the big one
    "CUDA1",
]

[answering]
response_type = "a # b"   # odd
"""


def test_a_value_is_changed_where_it_stands_and_its_comment_kept(tmp_path: Path) -> None:
    file = tmp_path / "new" / "settings.toml"
    write_setting(file, "engine.threads", 3)
    assert file.read_text() == "[engine]\nthreads = 3\n"
    file.write_text(FILE)
    write_setting(file, "engine.threads", 2)
    write_setting(file, "engine.devices", ("CPU",))
    write_setting(file, "answering.response_type", 'say "no"\n')
    write_setting(file, "retrieval.rerank", False)
    settings = load_settings(file, {})
    assert settings.engine.threads == 2
    assert settings.engine.devices == ("CPU",)
    assert settings.answering.response_type == 'say "no"\n'
    assert settings.retrieval.rerank is False
    text = file.read_text()
    assert "# My machine\n" in text
    assert "threads = 2  # the fan is loud with 8\n" in text
    assert '"   # odd\n' in text
    assert os.listdir(file.parent) == ["settings.toml"]


def test_a_value_that_is_taken_out_leaves_the_rest_alone() -> None:
    assert changed(FILE, "engine", "devices", None) == (
        "# My machine\n[engine]\nthreads = 4  # the fan is loud with 8\n\n"
        '[answering]\nresponse_type = "a # b"   # odd\n'
    )
    assert changed(FILE, "engine", "batch", None) == FILE
    assert changed("", "engine", "batch", None) == ""


def test_keys_are_a_table_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(FILE)
    write_setting(file, "tui.theme", "nord")
    write_setting(file, "tui.keys", {"library.delete": "x,delete", 'odd "name"': "q"})
    write_setting(file, "tui.reduced_motion", True)
    settings = load_settings(file, {})
    assert settings.tui.keys == {"library.delete": "x,delete", 'odd "name"': "q"}
    assert (settings.tui.theme, settings.tui.reduced_motion) == ("nord", True)
    write_setting(file, "tui.keys", {"graph.path": "w"})
    assert load_settings(file, {}).tui.keys == {"graph.path": "w"}
    write_setting(file, "tui.keys", None)
    assert load_settings(file, {}).tui.keys == {}
    assert load_settings(file, {}).engine.devices == ("CUDA0", "CUDA1")


@pytest.mark.parametrize(
    "text", ["engine = {threads = 4}\n", "engine.threads = 4\n", "engine = 3\n", "[engine\n"]
)
def test_what_cannot_be_changed_safely_is_told_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        write_setting(file, "engine.threads", 2)
    assert "editor" in caught.value.hint
    assert file.read_text() == text


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match="cannot be written"):
        write_setting(tmp_path / "file" / "settings.toml", "engine.threads", 2)


def test_a_link_to_the_settings_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(FILE)
    real.chmod(0o640)
    link = tmp_path / "settings.toml"
    link.symlink_to(real)
    write_setting(link, "engine.threads", 9)
    assert link.is_symlink()
    assert load_settings(real, {}).engine.threads == 9
    assert real.stat().st_mode & 0o777 == 0o640


def test_what_is_usable_of_a_bad_file_is_used_and_the_rest_told(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('stray = 1\n[engine]\nthreads = "many"\nbatch = 64\n[motor]\nx = 1\n[tui]\nkeys = "x"\n')
    settings, wrong = load_usable_settings(file, {"LOCALRAG_ENGINE__WIDTH": "-4"})
    assert settings.engine.batch == 64
    assert settings.engine.threads == Settings().engine.threads
    said = " ".join(error.message for error in wrong)
    for name in ("stray", "engine.threads", "motor", "tui.keys", "LOCALRAG_ENGINE__WIDTH"):
        assert name in said
    file.write_text("[engine")
    settings, wrong = load_usable_settings(file, {"LOCALRAG_ENGINE__WIDTH": "64"})
    assert settings.engine.width == 64
    assert len(wrong) == 1


def test_a_typed_value_is_converted_or_refused() -> None:
    assert check_value(Settings(), "engine.devices", "a, b").engine.devices == ("a", "b")
    with pytest.raises(SettingsError) as caught:
        check_value(Settings(), "engine.batch", "3")
    assert "from 32 to 8192" in caught.value.hint
