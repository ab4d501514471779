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


def test_a_budget_below_one_chunk_reads_one_and_contradicts_itself_nowhere(run: Run, texts: Path) -> None:
    run("init", "n")
    run("add", ".")
    said = run("index", "--budget-tokens", "1").stderr
    assert "Read 1 chunk in " in said
    assert "The tokens are used up; 11 chunks are left. The same command goes on from here." in said
    assert "is read already" not in said


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


def test_an_estimate_holds_claims_and_second_looks(run: Run, texts: Path) -> None:
    run("init", "n")
    said = run("index", "--estimate").stdout
    assert said == "The knowledge base is empty. Next: localrag add FILE-OR-FOLDER\n"
    run("add", ".")
    plain = json_of(run("index", "--estimate", "--json"))
    claims = json_of(run("index", "--estimate", "--claims", "--json"))
    assert (plain["claim_chunks"], claims["claim_chunks"], claims["calls"]) == (0, 12, 24)
    assert claims["written_tokens"] > plain["written_tokens"]
    assert "24 calls, the claims of 12 chunks among them" in run("index", "--estimate", "--claims").stdout
    looked = json_of(run("index", "--estimate", "--gleaning", "once", "--json"))
    assert looked["calls"] > plain["calls"]
    assert looked["prompt_tokens"] > plain["prompt_tokens"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--minutes", "0"], "minutes of a run must be more than 0"),
        (["--minutes", "-3"], "minutes of a run must be more than 0"),
        (["--minutes", "nan"], "minutes of a run must be more than 0"),
        (["--minutes", "soon"], "'soon' is not a number."),
        (["--budget-tokens", "0"], "tokens of a run must be more than 0"),
        (["--budget-tokens", "1.5"], "'1.5' is not a whole number."),
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
