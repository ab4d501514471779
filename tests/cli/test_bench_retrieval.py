"""`localrag bench retrieval` on tiny sets of our own, with scripted models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.test_retrieval_data import CHINESE_PASSAGES, CHINESE_QUESTIONS, PASSAGES, QUESTIONS, write
from tests.cli.conftest import Run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "data", "tide", PASSAGES, QUESTIONS)
    return write(tmp_path / "data", "chao", CHINESE_PASSAGES, CHINESE_QUESTIONS)


def test_figures_come_by_set_and_method(run: Run, data: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonl"
    told = json.loads(run("bench", "retrieval", "--data", data, "--dump", dump, "--json").stdout)
    assert told["sets"]["tide"]["free_graph"] == {"r2": 1.0, "r5": 1.0, "r10": 1.0, "all8": 1.0}
    assert "chao-zh-en" in told["sets"]
    assert "graph" not in told["sets"]["tide"]
    ranked = [json.loads(line) for line in dump.read_text(encoding="utf-8").splitlines()]
    assert {line["set"] for line in ranked} == set(told["sets"])


def test_the_read_graph_is_measured_when_asked_for(run: Run, data: Path) -> None:
    output = run("bench", "retrieval", "--data", data, "--set", "tide", "--graph", "--limit", "1").output
    rows = [line.split() for line in output.splitlines() if line.strip().startswith("tide ")]
    assert [row[1] for row in rows] == ["fulltext", "vectors", "fused", "free_graph", "graph"]
    assert rows[-1][2:6] == ["1.000"] * 4


def test_latency_needs_no_data(run: Run) -> None:
    (row,) = json.loads(run("bench", "retrieval", "--latency", "60", "--json").stdout)["latency"]
    assert row["chunks"] == 60
    assert row["total_ms"] >= row["ranking_ms"] > 0


def test_wrong_input_is_told(run: Run, data: Path, tmp_path: Path) -> None:
    assert "--data" in run("bench", "retrieval", code=2).output
    assert "corpus.jsonl" in run("bench", "retrieval", "--data", tmp_path, code=2).output
    assert "'nobody'" in run("bench", "retrieval", "--data", data, "--set", "nobody", code=2).output
    unwritable = tmp_path / "no" / "such" / "folder.jsonl"
    assert (
        "cannot be written" in run("bench", "retrieval", "--data", data, "--dump", unwritable, code=2).output
    )
