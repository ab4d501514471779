"""Files in the person's editor: the right command for each, never through a shell, and clear words."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual.app import SuspendNotSupported

from localrag.tui import editors
from localrag.tui.app import LocalragApp
from localrag.tui.editors import Editor, chosen_editor, edit, view

FILE = Path("/notes/a b.md")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vi", ["vi", "+7", "/notes/a b.md"]),
        ("/usr/bin/nvim", ["/usr/bin/nvim", "+7", "/notes/a b.md"]),
        ("nano -w", ["nano", "-w", "+7", "/notes/a b.md"]),
        ("emacs -nw", ["emacs", "-nw", "+7", "/notes/a b.md"]),
        ("hx", ["hx", "/notes/a b.md:7"]),
        ("micro", ["micro", "/notes/a b.md:7"]),
        ("code", ["code", "-g", "/notes/a b.md:7"]),
        ("code -n -g", ["code", "-n", "-g", "/notes/a b.md:7"]),
        ("something", ["something", "/notes/a b.md"]),
        ("'/my tools/vim'", ["/my tools/vim", "+7", "/notes/a b.md"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(command: str, expected: list[str]) -> None:
    editor = chosen_editor({"EDITOR": command})
    assert editor is not None
    assert editor.at(FILE, 7) == expected
    assert editor.at(FILE)[-1] == "/notes/a b.md"


def test_visual_goes_before_editor_and_a_quote_that_does_not_end_is_taken_as_it_is() -> None:
    assert chosen_editor({"VISUAL": "hx", "EDITOR": "vi"}) == Editor(("hx",))
    assert chosen_editor({"VISUAL": " ", "EDITOR": "vi"}) == Editor(("vi",))
    assert chosen_editor({"EDITOR": "'vi"}) == Editor(("'vi",))
    assert chosen_editor({}) is None


def test_an_editor_with_a_window_is_told_to_wait_only_where_that_is_wanted() -> None:
    assert Editor(("code",)).at(FILE, 2, wait=True) == ["code", "--wait", "-g", "/notes/a b.md:2"]
    assert Editor(("code", "--wait")).at(FILE, wait=True) == ["code", "--wait", "/notes/a b.md"]
    assert Editor(("vim",)).at(FILE, wait=True) == ["vim", "/notes/a b.md"]
    assert Editor(("C:\\Tools\\Code.exe",)).windowed
    assert not Editor(("vim",)).windowed


class FakeApp:
    """What the functions need of the application."""

    is_web = False

    def __init__(self, *, can_suspend: bool = True) -> None:
        self.suspended = 0
        self._can = can_suspend

    @contextmanager
    def suspend(self) -> Iterator[None]:
        if not self._can:
            raise SuspendNotSupported("no terminal")
        self.suspended += 1
        yield

    def refresh(self, **_: Any) -> None:
        """Nothing is drawn."""


def app(**options: Any) -> LocalragApp:
    return cast(LocalragApp, FakeApp(**options))


@pytest.fixture
def recorder(tmp_path: Path) -> Path:
    """A program that writes its arguments to `seen`, one a line, and ends with the code in `code`."""
    program = tmp_path / "recorder"
    seen, code = tmp_path / "seen", tmp_path / "code"
    code.write_text("0")
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"open({str(seen)!r}, 'w').write('\\n'.join(sys.argv[1:]))\n"
        f"sys.exit(int(open({str(code)!r}).read()))\n"
    )
    program.chmod(0o755)
    return program


def test_the_file_is_one_argument_whatever_it_is_called(
    tmp_path: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{recorder} -x")
    hostile = tmp_path / "-rf; touch $(echo owned) `id` .md"
    hostile.write_text("x")
    monkeypatch.chdir(tmp_path)
    fake = FakeApp()
    assert edit(cast(LocalragApp, fake), Path(hostile.name), 3) is None
    assert fake.suspended == 1
    assert (tmp_path / "seen").read_text().splitlines() == ["-x", str(hostile)]
    assert not list(tmp_path.glob("owned*"))
    (tmp_path / "code").write_text("3")
    fault = edit(app(), hostile)
    assert fault is not None
    assert "ended with the code 3" in fault.message


def test_what_stands_in_the_way_is_said(
    tmp_path: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(found: Any) -> str:
        assert found is not None
        return str(found.text)

    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert "No editor is chosen" in said(edit(app(), FILE))
    monkeypatch.setenv("EDITOR", "no-such-editor\x1b[31m")
    assert "editor no-such-editor was not found" in said(edit(app(), FILE))
    monkeypatch.setenv("EDITOR", str(recorder))
    assert "cannot be given to an editor here" in said(edit(app(can_suspend=False), FILE))
    web = cast(LocalragApp, SimpleNamespace(is_web=True))
    assert "browser" in said(edit(web, FILE))
    assert "browser" in said(view(web, FILE))
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(broken))
    assert "could not be started" in said(edit(app(), FILE))
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert "no program that opens files" in said(view(app(), FILE))


def test_ctrl_c_in_the_editor_is_for_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "interrupting"
    program.write_text(
        f"#!{sys.executable}\nimport os, signal, sys\nos.kill(os.getppid(), signal.SIGINT)\n"
        "sys.exit(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)\n"
    )
    program.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(program))
    before = signal.getsignal(signal.SIGINT)
    assert edit(app(), FILE) is None
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("platform", "program"), [("linux", "xdg-open"), ("darwin", "open"), ("win32", "explorer")]
)
def test_the_system_has_its_own_program_for_other_files(
    platform: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert editors.viewer(platform) == f"/bin/{program}"


def test_a_windowed_program_is_started_beside_the_application(
    tmp_path: Path, recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(editors, "in_background", lambda action: started.append(action()))
    code = tmp_path / "code-insiders"
    os.link(recorder, code)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(code))
    fake = FakeApp()
    assert edit(cast(LocalragApp, fake), FILE, 4) is None
    assert (fake.suspended, started) == (0, [0])
    assert (tmp_path / "seen").read_text().splitlines() == ["-g", f"{FILE}:4"]
    monkeypatch.setattr(editors, "viewer", lambda: str(recorder))
    assert view(app(), FILE) is None
    assert (tmp_path / "seen").read_text() == str(FILE)
