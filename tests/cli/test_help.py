"""Tests of the help: what a newcomer sees first, and what it costs."""

from __future__ import annotations

import subprocess
import sys
import time

import click
import pytest
from click.testing import CliRunner

from localrag import __version__
from localrag.cli.ask import MODES
from localrag.cli.main import cli
from localrag.retrieval import types as retrieval

HEAVY = ("numpy", "textual", "llama_cpp", "llguidance", "gguf", "rich", "sqlite3", "sqlite_utils", "networkx")


def commands(group: click.Group, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        found.append((*prefix, name))
        if isinstance(command, click.Group):
            found += commands(command, (*prefix, name))
    return found


ALL = commands(cli)


def test_the_first_screen_tells_the_way_from_texts_to_answers() -> None:
    text = CliRunner().invoke(cli, ["--help"]).stdout
    places = [text.index(f"localrag {word} ") for word in ("init", "add", "index", "ask")]
    assert places == sorted(places)
    listed = text[text.index("From texts to answers") :]
    names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line.strip()]
    known = [name for name in names if name in cli.commands]
    assert known[:4] == ["init", "add", "index", "ask"]
    assert len(known) == len(set(known))
    assert "Exit codes" in text


def test_every_command_is_listed() -> None:
    text = CliRunner().invoke(cli, ["-h"]).stdout
    for name in cli.commands:
        assert f"\n  {name} " in text


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_explains_itself_with_an_example(words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*words, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.stdout
    example = result.stdout[result.stdout.index("Example") :]
    assert f"    localrag {' '.join(words)}" in example
    assert all(len(line) <= 100 for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    "words", [words for words in ALL if not any(other[:-1] == words for other in ALL)], ids=" ".join
)
def test_every_command_has_json(words: tuple[str, ...]) -> None:
    assert "--json" in CliRunner().invoke(cli, [*words, "--help"]).stdout


@pytest.mark.parametrize("name", ["init", "add", "index", "ask", "status", "doctor"])
def test_commands_on_a_knowledge_base_take_its_name(name: str) -> None:
    assert "--kb FILE" in CliRunner().invoke(cli, [name, "--help"]).stdout


def test_modes_are_those_of_retrieval() -> None:
    assert sorted(MODES) == sorted(retrieval.MODES)


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"localrag {__version__}\n"


def test_without_a_terminal_no_command_means_help() -> None:
    result = CliRunner().invoke(cli, [])
    assert result.exit_code == 0
    assert result.stdout == CliRunner().invoke(cli, ["--help"]).stdout


@pytest.mark.alone
def test_help_is_quick_and_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from localrag.cli.main import cli\n"
        "try:\n    cli.main(['ask', '--help'])\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    began = time.monotonic()
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds = time.monotonic() - began
    assert child.stdout.splitlines()[-1] == "LOADED []"
    # About 0.2 s on an idle machine; the bound leaves room for one that does other things.
    assert seconds < 3
