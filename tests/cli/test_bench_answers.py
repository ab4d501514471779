"""`localrag bench answers` on a tiny set of our own, with scripted models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localrag.bench.answers_asking import CONTROLS
from localrag.cli import bench_answers
from tests.bench.questions import PASSAGES, tiered, write_questions
from tests.cli.conftest import Run, Scripted, cited, json_of
from tests.conftest import reader


@pytest.fixture
def data(folder: Path) -> Path:
    """A folder of sets."""
    return write_questions(folder / "data", "own", passages=tiered(PASSAGES))


def test_what_it_prints_for_programs(run: Run, scripted: Scripted, data: Path, folder: Path) -> None:
    scripted.model = reader(cited("Tomas Berg"))
    found = json_of(run("bench", "answers", "--data", data, "--json", "--dump", "dump.jsonl"))
    assert (found["model"], found["style"], found["tiers"]) == ("scripted", "strict", {"own": "S"})
    assert list(found["answers"]["own"]) == list(CONTROLS)
    for figures in found["answers"]["own"].values():
        assert {
            *("em", "f1", "contains", "refused", "citation_precision", "citation_recall", "dangling"),
            *("seconds", "first_word", "refused_answerable", "refused_unanswerable"),
        } <= figures.keys()
        assert figures["dangling"] == 0
    assert found["answers"]["own"]["gold"]["em"] == 0.5
    assert list(found["differences"]["own"]) == [
        "localrag-chunks",
        "localrag-gold",
        "gold-chunks",
        "localrag-none",
    ]
    assert found["checks"] == {}
    lines = [json.loads(line) for line in (folder / "dump.jsonl").read_text().splitlines()]
    assert len(lines) == 3 * len(CONTROLS)


def test_what_it_prints_for_people(run: Run, scripted: Scripted, data: Path) -> None:
    scripted.model = reader(cited("Tomas Berg"))
    shown = run("bench", "answers", "--data", data, "--control", "gold,none", "--limit", "2").stdout
    assert "Refused" in shown
    assert [line.split()[1] for line in shown.splitlines() if line.startswith(" own")] == ["none", "gold"]
    assert "90 % of the samples" not in shown


def test_claims_alone_need_no_model(run: Run, scripted: Scripted, folder: Path) -> None:
    scripted.model = None
    claim = {
        "id": "c1",
        "claim": "Tomas Berg repaired it.",
        "label": "supported",
        "evidence": ["Tomas Berg repaired it in 1931."],
        "supporting": [[0]],
    }
    (folder / "data" / "said").mkdir(parents=True)
    (folder / "data" / "said" / "claims.jsonl").write_text(json.dumps(claim) + "\n", encoding="utf-8")
    found = json_of(run("bench", "answers", "--data", "data", "--set", "said", "--json"))
    assert found["checks"]["said"]["accuracy"] == 1.0
    assert found["answers"] == {}
    assert "said" in run("bench", "answers", "--data", "data", "--set", "said").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "needs data"),
        (("--data", "data", "--control", "gold,silver"), "no control 'silver'"),
        (("--data", "data", "--control", " , "), "--control takes names"),
        (("--data", "data", "--set", "other"), "no set 'other'"),
        (("--data", "data", "--mode", "fast"), "no mode 'fast'"),
        (("--data", "data", "--dump", "nowhere/dump"), "cannot be written"),
        (("--data", "nowhere"), "no set with"),
    ],
)
def test_what_is_wrong_is_said(run: Run, data: Path, words: tuple[str, ...], said: str) -> None:
    assert said in run("bench", "answers", *words, code=2).stderr


def test_the_command_knows_all_ways() -> None:
    assert bench_answers._CONTROLS == CONTROLS
