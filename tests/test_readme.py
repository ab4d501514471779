"""What the README tells people to type works, in the order in which it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from localrag.catalogue.installed import find_model

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
LETTERS = {
    "1911.txt": "On 3 May 1911 Piet Koster wrote to Anna Lund that the mill was sold.\n",
    "1912.md": "# The answer\n\nAnna Lund thanked Piet Koster and asked for the keys of the mill.\n",
}

pytestmark = [pytest.mark.slow, pytest.mark.model, pytest.mark.timeout(1800)]


def commands() -> list[str]:
    """Every command of the README."""
    lines = [line for block in CONSOLE.findall(README) for line in block.splitlines() if line.strip()]
    assert all(line.startswith("$ ") for line in lines), lines
    return [line[2:] for line in lines]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, **more}


def run(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1700,
    )


def test_the_first_screen_is_the_two_commands() -> None:
    assert commands()[:2] == ["scripts/demo", "scripts/test"]


def test_every_command_of_localrag_works(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    for name, text in LETTERS.items():
        (tmp_path / "letters" / name).write_text(text, encoding="utf-8")
    ours = [command for command in commands() if command.startswith("localrag")]
    assert len(ours) > 8
    for command in ours:
        done = run(command, tmp_path, LOCALRAG_MODELS__CHAT="qwen2.5-coder-0.5b-instruct")
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout or done.stderr, command


def test_the_library_example_works(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "letters").mkdir()
    for name, text in LETTERS.items():
        (tmp_path / "letters" / name).write_text(text, encoding="utf-8")
    small = {"LOCALRAG_MODELS__CHAT": "qwen2.5-coder-0.5b-instruct"}
    for command in ("localrag init notes.localrag", "localrag add letters/"):
        assert run(command, tmp_path).returncode == 0
    (tmp_path / "example.py").write_text(program, encoding="utf-8")
    done = run(f"{sys.executable} example.py", tmp_path, **small)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_settings_examples_are_valid(tmp_path: Path) -> None:
    from localrag.settings import load_settings

    found = []
    for number, text in enumerate(re.findall(r"```toml\n(.*?)```", README, re.DOTALL)):
        file = tmp_path / f"settings{number}.toml"
        file.write_text(text, encoding="utf-8")
        found.append((file, load_settings(file, {})))
        # What an example shows as a comment is valid too.
        file.write_text(re.sub(r"(?m)^# (?=\w+ = )", "", text), encoding="utf-8")
        load_settings(file, {})
    assert [settings.engine.threads for _, settings in found] == [0, 4]
    file, settings = found[1]
    assert settings.origin("engine.threads") == str(file)
    assert found[0][1].remote.url


def test_the_demo_answers_both_questions_with_citations() -> None:
    """`scripts/demo` as a person runs it; what it fetches is there already, so the network stays closed."""
    find_model("qwen2.5-coder-1.5b-instruct", "chat")
    shutil.rmtree(ROOT / "demo", ignore_errors=True)
    done = run("scripts/demo", ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    first, second = done.stdout.split("$ localrag ask ")[1:]
    assert "by hand" in first
    assert re.search(r"### References\n(- \[(DC|KG)\] .+\n){1,5}", first)
    assert "科利" in second or "水母" in second
    assert re.search(r"### 参考资料\n(- \[(DC|KG)\] .+\n){1,5}", second)
    again = run("scripts/demo", ROOT)
    assert again.returncode == 0
    assert again.stdout.count("$ localrag ask ") == 2
