"""The comparison: the same prompts under a grammar that the high-level class takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localrag.bench.comparison import Comparison, compare, lean_gbnf, spread
from localrag.engine.programs import FreeText, LeanRecords
from localrag.engine.types import GenerationRequest, Message, Piece
from localrag.errors import EngineError
from tests.engine.random_model import build

PROGRAM = LeanRecords(
    names=('Ada "Ace" Lund', "Back\\slash", "陈玉兰"),
    types=("person", "place"),
    max_entities=2,
    max_relations=1,
)


def request(program: LeanRecords | FreeText = PROGRAM) -> GenerationRequest:
    return GenerationRequest("extraction", (Message("user", (Piece("Read."),)),), program, max_tokens=60)


def test_the_high_level_class_writes_under_the_grammar(tmp_path: Path) -> None:
    model = build(tmp_path / "random.gguf", context=4096)
    found = compare(model, [request(), request()], threads=1)
    assert found.passages == 2
    assert found.output_tokens_per_passage > 0
    assert found.seconds_per_passage > 0


def test_a_model_that_cannot_be_loaded_is_said_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="comparison ended"):
        compare(tmp_path / "none.gguf", [request()], threads=1)


def test_only_lean_records_are_compared(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lean records"):
        compare(tmp_path / "none.gguf", [request(FreeText())], threads=1)


def test_names_are_escaped() -> None:
    grammar = lean_gbnf(PROGRAM)
    assert r'"Ada \"Ace\" Lund"' in grammar
    assert r'"Back\\slash"' in grammar


def test_the_chosen_passages_are_spread_over_all_lengths() -> None:
    requests = [GenerationRequest("extraction", (), FreeText(), max_tokens=number) for number in range(1, 41)]
    assert [r.max_tokens for r in spread(requests, 10)] == [3, 7, 11, 15, 19, 23, 27, 31, 35, 39]
    assert spread(requests[:4], 10) == requests[:4]


def test_the_top_of_the_json() -> None:
    top = Comparison(10, 12.0, 150.0, 0.1).as_json(2.0)
    assert top["speedup_vs_high_level"] == 6.0
    assert json.dumps(top)
