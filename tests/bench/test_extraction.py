"""The measure as a command: its JSON, its dump, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localrag.bench.extraction import merged
from localrag.bench.extraction_data import load_set
from localrag.bench.extraction_run import Passage
from localrag.bench.extraction_scores import FoundItem
from localrag.cli import bench_extraction
from localrag.cli.main import cli
from localrag.extraction.extractor import PROFILES
from localrag.extraction.gleaning import MODES
from localrag.graph.names import fold
from localrag.store.rows import EntityMention
from tests.bench.sets import HARBOUR, MILL, SCHEMA, TEA, write_set
from tests.engine.random_model import build

FIGURES = [
    "entity_p",
    "entity_r",
    "entity_f1",
    "typed_f1",
    "pair_recall",
    "relation_f1",
    "nodes_per_gold",
    "invented_share",
    "unusable_share",
    "orphan_share",
    "runaway_share",
    "seconds_per_passage",
    "tokens_per_passage",
]
HEALTH = ("invented_share", "unusable_share", "orphan_share", "runaway_share")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    write_set(folder, "harbour", [HARBOUR, MILL], SCHEMA)
    return write_set(folder, "tea", [TEA])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("model") / "random.gguf", context=16384)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli, ["bench", "extraction", *map(str, arguments)])


def test_the_options_offer_what_there_is() -> None:
    assert set(bench_extraction._PROFILES) == set(PROFILES)
    assert bench_extraction._GLEANING == MODES


def test_without_data_it_says_so_and_stops() -> None:
    result = run()
    assert result.exit_code == 2
    assert "--data" in result.stderr


def test_a_set_that_is_not_there_is_named(data: Path) -> None:
    result = run("--data", data, "--set", "river")
    assert result.exit_code == 2
    assert "'river'" in result.stderr
    assert "harbour, tea" in result.stderr


def test_a_dump_that_cannot_be_written_is_told_before_anything_is_read(data: Path, model: Path) -> None:
    result = run("--data", data, "--model", model, "--dump", data / "nowhere" / "dump.jsonl")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_sets_profiles_and_figures(data: Path, model: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.jsonl"
    result = run("--data", data, "--model", model, "--profile", "compact", "--dump", dump, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert set(told["sets"]) == {"harbour", "tea"}
    harbour, tea = (told["sets"][name]["compact"] for name in ("harbour", "tea"))
    assert list(harbour) == FIGURES == list(tea)
    assert all(
        isinstance(value, (int, float))
        for key, value in harbour.items()
        if key not in ("entity_p", "nodes_per_gold")
    )
    assert {key for key, value in tea.items() if value is None} == {
        "entity_p", "entity_f1", "typed_f1", "relation_f1", "nodes_per_gold",
    }  # fmt: skip
    for figures in (harbour, tea):
        assert [figures[name] for name in HEALTH] == [0, 0, 0, 0]
    # Types are compared in a run of its own, and the JSON says what was given there.
    (typed,) = told["runs"]
    assert (typed["set"], typed["types"]) == ("harbour", "schema")
    assert typed["further"]["given"]["entity_types"] == ["THING", "location", "organisation", "person"]
    assert harbour["typed_f1"] == typed["figures"]["typed_f1"]
    assert told["further"]["harbour"]["compact"]["given"]["relation_types"] == []
    assert told["peers"] == {}
    check_dump(dump)


def check_dump(dump: Path) -> None:
    rows = [json.loads(line) for line in dump.read_text(encoding="utf-8").splitlines()]
    assert [(row["set"], row["types"], row["id"]) for row in rows] == [
        ("harbour", "settings", "h1"), ("harbour", "schema", "h1"), ("tea", "settings", "t1"),
    ]  # fmt: skip
    for row in rows:
        assert all(e["name"] == row["text"][e["start"] : e["end"]] for e in row["entities"])
        gold = {entity["name"] for entity in row["gold"]["entities"]}
        assert set(row["hits"]) | set(row["missed"]) == gold
        assert len(row["hits"]) + len(row["missed"]) == len(gold)
        assert row["cost"]["calls"] >= 1


def test_a_table_for_people(data: Path, model: Path) -> None:
    result = run("--data", data, "--model", model, "--set", "tea", "--no-typed", "--gleaning", "once")
    assert result.exit_code == 0, result.stderr
    assert "tea" in result.stdout
    assert "Runaway" in result.stdout


def test_claims_are_read_where_they_are_wanted(data: Path, model: Path) -> None:
    result = run(
        "--data", data, "--model", model, "--set", "tea", "--profile", "compact", "--claims", "--json"
    )
    assert result.exit_code == 0, result.stderr
    claims = json.loads(result.stdout)["further"]["tea"]["compact"]["claims"]
    assert claims["verbatim"] == claims["quotes"]


def test_limit_and_tier(data: Path, model: Path) -> None:
    arguments = (
        "--data",
        data,
        "--model",
        model,
        "--set",
        "harbour",
        "--no-typed",
        "--profile",
        "compact",
        "--json",
    )
    told = json.loads(run(*arguments, "--tier", "M").stdout)
    assert told["further"]["harbour"]["compact"]["passages"] == 2
    told = json.loads(run(*arguments, "--tier", "M", "--limit", "1").stdout)
    assert told["further"]["harbour"]["compact"]["passages"] == 1
    assert told["sets"]["harbour"]["compact"]["typed_f1"] is None
    assert told["runs"] == []


def test_merges_are_those_that_a_knowledge_base_makes(data: Path) -> None:
    (item,) = load_set(data, "harbour", "S").items
    names = ("Ada Lund", "Lund", "Tarn")
    mentions = tuple(EntityMention(n, fold(n), "person" if "Lund" in n else "location", "") for n in names)
    passage = Passage(item, FoundItem("h1"), mentions, (), (), "", (), ())
    (nodes,) = merged([passage])
    assert sorted(map(sorted, nodes)) == [["ada lund", "lund"], ["tarn"]]


def scores(ids: list[str], **others: Any) -> Mapping[str, Any]:
    figures = dict.fromkeys(FIGURES, 0.5)
    return {"ids": ids, "figures": figures, "further": {"cpu_seconds_per_passage": 9.0}, **others}


def test_another_program_is_set_beside_the_same_passages(data: Path, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "peer.json"
    file.write_text(json.dumps({"Other 1.0": {"harbour": scores(["h2"]), "river": scores(["r"])}}))
    arguments = ("--data", data, "--model", model, "--set", "harbour", "--no-typed", "--profile", "compact")
    result = run(*arguments, "--peer", file, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    beside = told["peers"]["Other 1.0"]["harbour"]
    # h2 is of no tier that was asked for and is read nevertheless.
    assert beside["localrag"]["further"]["passages"] == 1
    assert beside["difference"]["entity_r"] == round(beside["localrag"]["figures"]["entity_r"] - 0.5, 4)
    assert beside["times_as_fast"] > 0
    assert [entry["set"] for entry in told["runs"]] == ["harbour"]
    assert list(told["peers"]["Other 1.0"]) == ["harbour"]
    result = run(*arguments, "--peer", file)
    assert "Other 1.0" in result.stdout


@pytest.mark.parametrize("content", ["{", "[]", '{"Other": {"harbour": {}}}', '{"Other": 3}'])
def test_scores_that_are_none_are_refused(data: Path, model: Path, tmp_path: Path, content: str) -> None:
    file = tmp_path / "peer.json"
    file.write_text(content)
    result = run("--data", data, "--model", model, "--set", "tea", "--peer", file)
    assert result.exit_code == 2
    assert "no scores" in result.stderr
    assert run("--data", data, "--model", model, "--peer", tmp_path / "none.json").exit_code == 2


def test_passages_that_are_not_there_are_refused(data: Path, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "peer.json"
    file.write_text(json.dumps({"Other 1.0": {"tea": scores(["t9"])}}))
    result = run("--data", data, "--model", model, "--set", "tea", "--no-typed", "--peer", file)
    assert result.exit_code == 2
    assert "lacks passages" in result.stderr
