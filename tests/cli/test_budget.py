"""`index` with a budget, and what it says of the work ahead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_of


@pytest.fixture
def texts(folder: Path) -> Path:
    """Twelve short texts."""
    for n in range(12):
        (folder / f"{n:02}.txt").write_text(f"The keeper Nora Vik wrote entry {n} of the log for Olga Ness.")
    return folder


def test_a_budget_of_tokens_stops_the_run_and_says_how_to_go_on(run: Run, texts: Path) -> None:
    run("init", "n")
    run("add", ".")
    said = run("index", "--budget-tokens", "200").stderr
    assert "Ahead: 12 calls, about " in said
    assert "The tokens are used up; " in said
    assert "The same command goes on from here." in said
    left = json_of(run("index", "--budget-tokens", "100000", "--json"))
    assert (left["reason"], left["left"]) == ("", 0)
    assert 0 < left["read"] < 12
    assert "is read already" in run("index", "--minutes", "5").stderr


def test_a_budget_below_one_chunk_says_so(run: Run, texts: Path) -> None:
    run("init", "n")
    run("add", ".")
    said = run("index", "--budget-tokens", "1").stderr
    assert "The budget is too small for one chunk: nothing was read, and 12 chunks are left." in said


def test_an_estimate_does_nothing(run: Run, texts: Path) -> None:
    run("init", "n")
    run("add", ".")
    found = json_of(run("index", "--estimate", "--json"))
    assert (found["chunks"], found["calls"], found["basis"], found["seconds"]) == (12, 12, "unknown", None)
    assert found["tokens"] == found["prompt_tokens"] + found["written_tokens"] > 0
    said = run("index", "--estimate").stdout
    assert said.startswith("12 chunks to read. Ahead: 12 calls, about ")
    assert "How long it takes is not known" in said
    run("index")
    assert run("index", "--estimate").stdout == "Everything that was added is read already.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "0"], "minutes of a run must be more than 0"),
        (["--minutes", "-3"], "minutes of a run must be more than 0"),
        (["--minutes", "nan"], "minutes of a run must be more than 0"),
        (["--minutes", "soon"], "not a valid float"),
        (["--budget-tokens", "0"], "tokens of a run must be more than 0"),
        (["--budget-tokens", "1.5"], "not a valid integer"),
        (["--minutes", "5", "--watch"], "--watch has no end"),
        (["--estimate", "--minutes", "5"], "neither a budget nor --watch"),
        (["--estimate", "--watch"], "neither a budget nor --watch"),
        (["--estimate", "00.txt"], "--estimate adds nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, texts: Path, arguments: list[str], said: str) -> None:
    run("init", "n")
    run("add", ".")
    assert said in run("index", *arguments, code=2).stderr
