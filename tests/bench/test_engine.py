"""The measure of reading: it counts what was really written, and refuses data that is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localrag.bench.data import passages
from localrag.cli.main import cli
from localrag.errors import UsageError
from tests.engine.random_model import build

ROWS = [
    {"id": 1, "title": "Bridge", "text": "Ada Lund repaired the Harbour Bridge in 1911.", "tier": "XS"},
    {"id": 2, "title": "Mill", "text": "Piet Koster bought the Old Mill in 1923.", "tier": "S"},
    {"id": 3, "title": "Tea", "text": "陈玉兰在青石镇开办了临江茶馆。", "tier": "M"},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "own-set"
    folder.mkdir(parents=True)
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    (folder / "corpus.jsonl").write_text(lines, encoding="utf-8")
    return folder.parent


def test_tiers_are_nested_and_limited(data: Path) -> None:
    assert [p.title for p in passages(data, "own-set", "XS")] == ["Bridge"]
    assert [p.title for p in passages(data, "own-set", "S")] == ["Bridge", "Mill"]
    assert [p.title for p in passages(data, "own-set", "M", 2)] == ["Bridge", "Mill"]


def test_data_that_is_none_is_refused(data: Path) -> None:
    with pytest.raises(UsageError, match="no other/corpus"):
        passages(data, "other", "XS")
    (data / "own-set" / "corpus.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(UsageError, match="Line 1"):
        passages(data, "own-set", "M")


def test_without_data_it_says_so_and_stops() -> None:
    result = CliRunner().invoke(cli, ["bench", "engine"])
    assert result.exit_code == 2
    assert "--data" in result.stderr


def test_the_counts_of_a_run_add_up(data: Path, tmp_path: Path) -> None:
    model = build(tmp_path / "random.gguf", context=16384)
    arguments = ["bench", "engine", "--data", str(data), "--set", "own-set", "--tier", "M", "--json"]
    result = CliRunner().invoke(cli, [*arguments, "--model", str(model), "--sequences", "2"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [row["profile"] for row in found["rows"]] == ["compact", "lightrag"]
    assert found["high_level"]["passages"] == 3
    assert found["speedup_vs_high_level"] > 0
    # Ten times what a person may wait for at most: a bound against hanging, not a goal.
    assert all(0 <= seconds < 60 for seconds in found["latency"].values() if isinstance(seconds, float))
    assert found["latency"]["fixed_tokens"] < found["latency"]["prompt_tokens"]
    # What a machine that nobody measured is given to read, and the question.
    assert 256 < found["latency"]["answer_read_tokens"] < 900 < found["latency"]["answer_tokens"]
    for row in found["rows"]:
        check(row)


def test_one_profile_without_the_comparison(data: Path, tmp_path: Path) -> None:
    model = build(tmp_path / "random.gguf", context=16384)
    arguments = ["bench", "engine", "--data", str(data), "--set", "own-set", "--profile", "compact"]
    result = CliRunner().invoke(
        cli, [*arguments, "--no-compare", "--no-waits", "--model", str(model), "--json"]
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert "speedup_vs_high_level" not in found
    (row,) = found["rows"]
    assert row["passages"] == 1


def check(row: dict[str, Any]) -> None:
    assert row["passages"] == 3
    assert row["well_formed_share"] == 1
    assert row["unknown_ends"] == 0
    assert row["records_per_passage"] == pytest.approx(
        row["entities_per_passage"] + row["relations_per_passage"], abs=0.02
    )
    assert row["distinct_records_per_passage"] == row["records_per_passage"]
    # `compact` weighs what the others write.
    assert (row["output_tokens"] > 0, row["weighed_tokens"] > 0) == (
        row["profile"] != "compact",
        row["profile"] == "compact",
    )
    assert row["efficiency"] > 0
    assert 0 < row["grammar_share"] < 1
    assert row["grammar_share"] + row["reading_share"] + row["writing_share"] <= 1.01
    assert row["peak_rss_mb"] > 10
