"""Weighed records, written at the desk by a model of chance: their form, and what is chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.engine.judging import chosen_names, name_numbers, name_odds
from localrag.engine.lean import parse_lean
from localrag.engine.odds import shared
from localrag.engine.weighed_program import NameWeights, PairWeights, WeighedRecords
from localrag.engine.weighing import telling
from localrag.errors import ConstraintError
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
    wanted = program(priors=priors, sure=5.0, unlikely=-5.0, writes_phrases=False)
    result = desk.run(wanted, chance(1), max_tokens=900)
    assert result["judged"]["names"] == []
    assert [e.name for e in parse_lean(result["segments"])[0]] == [NAMES[0], NAMES[2], NAMES[3]]
    # What is read is their types and what they are joined with, all taken back.
    assert desk.read == result["weighed_tokens"] > 0
    assert result["output_tokens"] == result["rolled_back_tokens"] == 0


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


def test_names_types_and_pairs_cost_what_is_read_and_no_output(desk: Desk) -> None:
    every = NameWeights(bias=1.0, prior=0.0)
    wanted = program(writes_phrases=False, weigh_pairs=False, eager=-100.0, name_weights=every)
    result = desk.run(wanted, model, max_tokens=900)
    paths = [tuple(desk.vocabulary.encode(f"{name} |")) for name in NAMES[:5] + NAMES[7:]]
    places = {path[: depth + 1] for path in paths for depth in range(len(path))}
    # "person" and "place" are told apart behind their common first letter, which is read too.
    ways = [tuple(desk.vocabulary.encode(f" {name}\n")) for name in wanted.types]
    common = len(shared(ways))
    assert result["weighed_tokens"] == desk.read == len(places) + common * len(paths)
    assert result["output_tokens"] == 0
    entities, relations = parse_lean(result["segments"])
    assert entities
    assert relations
    assert all(relation.phrase == "" for relation in relations)


def test_a_type_is_the_likeliest_behind_the_name(desk: Desk) -> None:
    """Whether it is read with the name or afterwards, and however many others there are."""
    types = ("person", "place", "planet", "work")
    found = []
    for eager in (-100.0, 100.0):
        wanted = program(types=types, eager=eager, name_weights=NameWeights(bias=1.0, prior=0.0))
        entities, _ = parse_lean(desk.run(wanted, model, max_tokens=900)["segments"])
        found.append([(entity.name, entity.type) for entity in entities])
    assert found[0] == found[1]
    assert len({type_ for _, type_ in found[0]}) > 1
    for name, type_ in found[0]:
        logs = [behind(desk, f"{name} |", f" {other}\n", types) for other in types]
        assert types[logs.index(max(logs))] == type_


def test_what_is_likely_behind_a_neutral_word_is_taken_off(desk: Desk) -> None:
    types = ("person", "place", "planet", "work")
    every = NameWeights(bias=1.0, prior=0.0)
    wanted = program(types=types, neutral="it", even_types=1.0, name_weights=every, writes_phrases=False)
    entities, _ = parse_lean(desk.run(wanted, model, max_tokens=900)["segments"])
    assert entities
    common = [behind(desk, "it |", f" {other}\n", types) for other in types]
    for entity in entities:
        logs = [behind(desk, f"{entity.name} |", f" {other}\n", types) for other in types]
        odds = [log - mean for log, mean in zip(logs, common, strict=True)]
        assert types[odds.index(max(odds))] == entity.type
    plain, _ = parse_lean(desk.run(replace(wanted, neutral=""), model, max_tokens=900)["segments"])
    assert [entity.type for entity in plain] != [entity.type for entity in entities]


def behind(desk: Desk, head: str, text: str, types: tuple[str, ...]) -> float:
    """The logarithm of a type's probability behind a name, up to where it is told from the others."""
    paths = [tuple(desk.vocabulary.encode(f" {other}\n")) for other in types]
    path = telling(paths)[paths.index(tuple(desk.vocabulary.encode(text)))]
    before = [5, 6, 7, 8, *desk.vocabulary.encode(head)]
    total = 0.0
    for depth, token in enumerate(path):
        scores = scores_of(desk, [*before, *path[:depth]]).astype(float)
        total += float(scores[token]) - math.log(sum(math.exp(score) for score in scores))
    return total


def test_a_phrase_of_a_list_comes_with_the_likelier_direction(desk: Desk) -> None:
    phrases = ("knows", "owns", "keeps")
    sure: dict[str, Any] = {"priors": (9.0,) * 2, "sure": 5.0, "least_pair": -99.0}
    for seed in range(6):
        names = (f"Mira{seed}", "Sele")
        result = desk.run(program(names, phrases=phrases, **sure), model, max_tokens=900)
        (relation,) = parse_lean(result["segments"])[1]
        ways = [(names[0], names[1]), (names[1], names[0])]
        logs = {
            (*way, phrase): behind(desk, f"{way[0]} -> {way[1]} |", f" {phrase}\n", phrases)
            for way in ways
            for phrase in phrases
        }
        for way in ways:
            total = math.log(sum(math.exp(logs[*way, phrase]) for phrase in phrases))
            logs |= {(*way, phrase): logs[*way, phrase] - total for phrase in phrases}
        assert (relation.source, relation.target, relation.phrase) == max(logs, key=lambda key: logs[key])
        assert result["output_tokens"] == 0


@pytest.mark.parametrize("changes", [{"types": ("a\nb",)}, {"phrases": ("",)}, {"phrase_words": 0}])
def test_a_program_that_cannot_stand_on_lines_is_refused(desk: Desk, changes: dict[str, Any]) -> None:
    with pytest.raises(ConstraintError):
        desk.run(program(**changes), chance(1))


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
