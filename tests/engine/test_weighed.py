"""Weighed records, written at the desk by a model of chance: their form, and what is chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.engine.judging import chosen_names, name_numbers, name_odds
from localrag.engine.lean import parse_lean
from localrag.engine.weighed_program import NameWeights, PairWeights, WeighedRecords
from tests.engine.desk import Desk, chance
from tests.engine.test_decide import model, scores_of

NAMES = ("Martin Luther King Jr.", "Sele", "北京大学", "the harbour", "Mira Holt", "a|b", "x -> y", "END")


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


def program(names: tuple[str, ...] = NAMES, **changes: Any) -> WeighedRecords:
    """Names side by side, judged by the model alone."""
    values: dict[str, Any] = {
        "names": names,
        "priors": (0.0,) * len(names),
        "spans": tuple((10 * place, 10 * place + 5) for place in range(len(names))),
        "sentences": ((0,),) * len(names),
        "types": ("person", "place"),
        "name_weights": NameWeights(prior=1.0, rest=1.0, bias=8.0),
        "pair_weights": PairWeights(better=1.0, bias=1.0),
        "phrase_words": 3,
        "explain": True,
        **changes,
    }
    return WeighedRecords(**values)


@pytest.mark.parametrize("seed", range(30))
def test_every_line_is_well_formed(desk: Desk, seed: int) -> None:
    wanted = program(name_weights=NameWeights(rest=1.0, bias=5.0 + seed % 5), max_relations=seed % 7)
    result = desk.run(wanted, chance(seed), max_tokens=900, temperature=1.0, seed=seed)
    assert not result["error"]
    assert result["finish"] == "stop"
    entities, relations = parse_lean(result["segments"])
    names = [entity.name for entity in entities]
    assert names == [wanted.names[place] for place in result["judged"]["listed"]]
    assert not {"a|b", "x -> y"} & set(names)
    assert all(entity.type in wanted.types for entity in entities)
    pairs = [frozenset((relation.source, relation.target)) for relation in relations]
    assert len(set(pairs)) == len(pairs) <= seed % 7
    assert all(pair <= set(names) and len(pair) == 2 for pair in pairs)
    assert all(1 <= len(relation.phrase.split(" ")) <= 3 for relation in relations)
    assert [kind for kind, _ in result["segments"]].count("end") == 2
    assert "".join(text for _, text in result["segments"]) == result["text"]


def test_names_are_judged_by_what_the_model_thinks_of_them(desk: Desk) -> None:
    wanted = program(name_weights=NameWeights(prior=1.0, rest=1.0, bias=11.0))
    result = desk.run(wanted, model, max_tokens=900)
    odds = {}
    for place, *numbers in result["judged"]["names"]:
        path = desk.vocabulary.encode(f"{NAMES[place]} |")
        logs = []
        for depth, token in enumerate(path):
            scores = scores_of(desk, [5, 6, 7, 8, *path[:depth]])
            logs.append(float(scores[token]) - math.log(sum(math.exp(float(score)) for score in scores)))
        assert tuple(numbers) == pytest.approx(name_numbers(0.0, logs), abs=1e-3)
        odds[place] = name_odds(wanted.name_weights, numbers)
    assert result["judged"]["listed"] == chosen_names(wanted, odds)
    assert 0 < len(result["judged"]["listed"]) < len(NAMES) - 2


def test_sure_names_are_listed_and_unlikely_ones_left_out_without_asking(desk: Desk) -> None:
    priors = (9.0, -9.0, 9.0, 9.0, -9.0, 9.0, 9.0, -9.0)
    wanted = program(priors=priors, sure=5.0, unlikely=-5.0, max_relations=0)
    result = desk.run(wanted, chance(1), max_tokens=900)
    assert result["judged"]["names"] == []
    assert [e.name for e in parse_lean(result["segments"])[0]] == [NAMES[0], NAMES[2], NAMES[3]]
    assert result["weighed_tokens"] == result["rolled_back_tokens"] == 0


@pytest.mark.parametrize("listed", [0, 1, 2, 3])
def test_short_lists(desk: Desk, listed: int) -> None:
    """Without a name, or with one, there is no pair; with two there is nothing to choose between."""
    names = tuple(f"Name{place}" for place in range(listed))
    sure = program(names, priors=(9.0,) * listed, sure=5.0, least_pair=-99.0)
    result = desk.run(sure, chance(3), max_tokens=900)
    entities, relations = parse_lean(result["segments"])
    assert len(entities) == listed
    assert len(relations) == listed * (listed - 1) // 2
    assert result["finish"] == "stop"


def test_types_and_phrases_of_lists_and_of_its_own(desk: Desk) -> None:
    priors: dict[str, Any] = {"priors": (9.0,) * len(NAMES), "sure": 5.0, "least_pair": -99.0}
    closed = desk.run(program(phrases=("knows",), **priors), chance(5), max_tokens=900)
    assert {relation.phrase for relation in parse_lean(closed["segments"])[1]} == {"knows"}
    own = desk.run(program(types=(), type_words=2, **priors), chance(5), max_tokens=2000)
    assert all(1 <= len(e.type.split(" ")) <= 2 for e in parse_lean(own["segments"])[0])


@pytest.mark.parametrize("budget", [1, 5, 20, 60])
def test_a_budget_ends_the_text_and_keeps_whole_lines(desk: Desk, budget: int) -> None:
    sure = program(priors=(9.0,) * len(NAMES), sure=5.0)
    result = desk.run(sure, chance(2), max_tokens=budget)
    assert result["finish"] in ("length", "stop")
    assert result["output_tokens"] <= budget + 40
    parse_lean(result["segments"])


def test_a_name_that_no_budget_holds_is_not_weighed(desk: Desk) -> None:
    long = "x" * 400
    result = desk.run(program((long, "Sele")), chance(2), max_tokens=50)
    assert long not in [e.name for e in parse_lean(result["segments"])[0]]
    assert all(place == 1 for place, *_ in result["judged"]["names"])


def test_without_explain_nothing_is_told(desk: Desk) -> None:
    assert "judged" not in desk.run(replace(program(), explain=False), chance(2), max_tokens=900)
