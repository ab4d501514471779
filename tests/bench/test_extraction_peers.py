"""Graphs of other programs are scored by the same rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localrag.bench.extraction_data import load_set
from localrag.bench.extraction_peers import main, read_peers, score
from localrag.errors import UsageError
from tests.bench.sets import HARBOUR, MILL, SCHEMA, write_set


def call(text: str, finish: str = "stop") -> dict[str, Any]:
    return {"prompt_tokens": 1000, "output_tokens": 100, "finish": finish, "text": text}


RESULT: dict[str, Any] = {
    "id": "h1",
    "entities": [
        {"name": "Ada Lund", "type": "person"},
        {"name": "Tarn", "type": "UNKNOWN"},
        {"name": "Alice Example", "type": "person"},
    ],
    "relations": [
        {"source": "Tarn", "target": "Ada Lund"},
        {"source": "Ada Lund", "target": "Alice Example"},
    ],
    "orphans": ["Tarn"],
    "dropped": 3,
    "seconds": 40.0,
    "cpu_seconds": 60.0,
    "calls": [call("entity Ada"), call("entity Ada\n" * 20, "length")],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_set(tmp_path / "data", "harbour", [HARBOUR, MILL], SCHEMA)


def test_a_graph_by_hand(data: Path) -> None:
    told = score(load_set(data, "harbour", "M"), [RESULT])
    assert told["ids"] == ["h1"]
    figures = told["figures"]
    assert (figures["entity_p"], figures["entity_r"]) == (0.6667, 0.5)
    assert figures["pair_recall"] == 0.5
    # Tarn is there only because a relation named it; Alice Example is not in the text.
    assert (figures["orphan_share"], figures["invented_share"]) == (0.5, 0.3333)
    assert (figures["runaway_share"], figures["unusable_share"]) == (0.5, 0.5)
    assert (figures["seconds_per_passage"], figures["tokens_per_passage"]) == (40.0, 2200.0)
    assert told["further"]["cpu_seconds_per_passage"] == 60.0
    assert told["dropped_rows"] == 3


def test_results_of_another_set_are_refused(data: Path) -> None:
    with pytest.raises(UsageError, match="None of the results"):
        score(load_set(data, "harbour", "M"), [{**RESULT, "id": "other"}])


def test_what_it_prints_can_be_read(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "harbour.jsonl").write_text(json.dumps(RESULT) + '\n{"id": "h2", "ent')
    (results / "river.jsonl").write_text("{}\n")
    assert main(["--data", str(data), "--results", str(results), "--name", "Other 1.0"]) == 0
    printed = capsys.readouterr()
    assert "cut off" in printed.err
    file = tmp_path / "peer.json"
    file.write_text(printed.out)
    told = read_peers([file])
    assert list(told) == ["Other 1.0"]
    assert told["Other 1.0"]["harbour"]["ids"] == ["h1"]


def test_a_folder_without_sets_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "harbour.jsonl").write_text("{}\n")
    write_set(tmp_path / "data", "harbour", [])
    arguments = ["--data", str(tmp_path / "data"), "--results", str(tmp_path), "--name", "x"]
    assert main(arguments) == 2
    assert "Error:" in capsys.readouterr().err
