"""Sets are found by their files, and what they can tell comes from their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.bench.extraction_data import find_sets, load_set, normalise, offered
from localrag.errors import UsageError
from tests.bench.sets import HARBOUR, MILL, SCHEMA, TEA, write_set


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("The Harbour Bridge", "harbour bridge"),
        ("  “Ada  Lund”, ", "ada lund"),
        ("ＡＤＡ Lund", "ada lund"),
        ("临江 茶馆", "临江茶馆"),
        ("《临江茶馆》", "临江茶馆"),
        ("Tarn 茶馆", "tarn 茶馆"),
        ("An Old Mill.", "old mill"),
        ("The", "the"),
        ("?!", "?!"),
        ("O'Brien", "o'brien"),
        ("Straße", "strasse"),
    ],
)
def test_names_are_compared_without_what_does_not_count(written: str, plain: str) -> None:
    assert normalise(written) == plain


@settings(deadline=None)
@given(st.text(max_size=30))
def test_a_name_is_normalised_once_and_for_all(name: str) -> None:
    once = normalise(name)
    assert normalise(once) == once
    assert bool(once) == bool(name.strip()) or not name.split()


def test_sets_are_found_by_their_file(tmp_path: Path) -> None:
    write_set(tmp_path, "two", [HARBOUR])
    write_set(tmp_path, "one", [TEA])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "corpus.jsonl").write_text("{}\n")
    assert find_sets(tmp_path) == ["one", "two"]
    with pytest.raises(UsageError, match="no set"):
        find_sets(tmp_path / "other")
    with pytest.raises(UsageError, match="no set"):
        find_sets(tmp_path / "nowhere")


def test_tiers_are_nested_and_limited(tmp_path: Path) -> None:
    write_set(tmp_path, "own", [HARBOUR, MILL])
    assert [item.id for item in load_set(tmp_path, "own", "S").items] == ["h1"]
    assert [item.id for item in load_set(tmp_path, "own", "M").items] == ["h1", "h2"]
    assert [item.id for item in load_set(tmp_path, "own", "M", 1).items] == ["h1"]
    with pytest.raises(UsageError, match="tier XS"):
        load_set(tmp_path, "own", "XS")
    with pytest.raises(UsageError, match=r"'\.\./own'"):
        load_set(tmp_path, "../own", "S")


def test_rows_become_entities_and_relations(tmp_path: Path) -> None:
    write_set(tmp_path, "own", [HARBOUR])
    (item,) = load_set(tmp_path, "own", "S").items
    assert item.entities[0].names == {"ada lund", "lund"}
    assert item.entities[2].names == {"harbour bridge"}
    assert item.relations == {(0, "works for", 1), (0, "lives in", 3)}
    assert item.pairs == {frozenset((0, 1)), frozenset((0, 3))}


def test_a_name_marked_twice_is_one_entity_and_no_relation_joins_it_to_itself(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "id": 7,
        "text": "Tarn is in Tarn.",
        "entities": [
            {"name": "Tarn", "type": "LOC"},
            {"name": "TARN", "type": "ORG"},
            {"name": "x", "type": "T"},
        ],
        "relations": [
            {"head": "Tarn", "tail": "TARN", "type": "in"},
            {"head": "other", "tail": "other", "head_index": 1, "tail_index": 2, "type": "in"},
        ],
    }
    write_set(tmp_path, "own", [row])
    (item,) = load_set(tmp_path, "own", "M").items
    assert [entity.types for entity in item.entities] == [{"LOC", "ORG"}, {"T"}]
    # Where rows number their ends, the number counts and not the name.
    assert item.relations == {(0, "in", 1)}


def test_what_a_set_can_tell_comes_from_its_rows(tmp_path: Path) -> None:
    write_set(tmp_path, "aliases", [HARBOUR])
    write_set(tmp_path, "pairs", [TEA, MILL])
    told = load_set(tmp_path, "aliases", "S")
    assert (told.aliases, told.exhaustive) == (True, True)
    # One entity outside of all relations tells for the whole set, in whatever tier it stands.
    write_set(tmp_path, "mixed", [{**HARBOUR, "tier": "M"}, TEA])
    told = load_set(tmp_path, "mixed", "S")
    assert (told.aliases, told.exhaustive) == (True, True)
    told = load_set(tmp_path, "pairs", "S")
    # Every entity stands in a relation: only pairs were marked, so precision cannot be told.
    assert (told.aliases, told.exhaustive) == (False, False)


def test_types_are_shown_in_few_words(tmp_path: Path) -> None:
    long = "is found, made or kept in the neighbourhood of"
    schema = {**SCHEMA, "relation_types": [long, "lives in", "works for", "owns", "works, for"]}
    write_set(tmp_path, "own", [HARBOUR, MILL], schema)
    gold = load_set(tmp_path, "own", "M")
    shown = gold.schema.shown
    assert shown["PER"] == "person"
    assert shown["THING"] == "THING"
    assert shown[long] == "is found made or"
    # Two that would look the same cannot both be offered.
    assert {"works for", "works, for"} & shown.keys() == {"works for"}
    entities, relations = offered(gold, gold.items[0])
    assert entities == ("PER", "ORG", "LOC", "THING")
    assert set(relations) == {long, "lives in", "works for", "owns"}


def test_of_many_types_those_of_the_passage_are_offered(tmp_path: Path) -> None:
    many = [f"relation {number}" for number in range(30)]
    words = [f"kind{number}" for number in range(30)]
    rows = [
        {
            "id": number,
            "text": "a b c",
            "domain": "sea" if number else "land",
            "entities": [
                {"name": "a", "type": words[number]},
                {"name": "b", "type": words[number + 1]},
                {"name": "c", "type": words[number]},
            ],
            "relations": [{"head": "a", "tail": "b", "type": many[number]}],
        }
        for number in range(12)
    ]
    write_set(tmp_path, "own", rows, {"entity_types": words, "relation_types": many})
    gold = load_set(tmp_path, "own", "M")
    entities, relations = offered(gold, gold.items[0])
    assert set(entities) == {"kind0", "kind1"}
    assert len(relations) == 10
    assert "relation 0" in relations
    # Filled up with the commonest of the set, not with types that never occur.
    assert set(relations) <= set(many[:12])
    assert len(offered(gold, gold.items[5])[0]) == 12


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[1]",
        '{"id": 1}',
        '{"id": 1, "text": "x", "entities": 3}',
        '{"id": 1, "text": "x", "entities": [], "relations": [{"head": "a", "tail": "b", "type": "t"}]}',
        '{"id": 1, "text": "x", "entities": [{"name": "a"}]}',
    ],
)
def test_rows_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    write_set(tmp_path, "own", [])
    (tmp_path / "own" / "extraction.jsonl").write_text(content + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="Line 1"):
        load_set(tmp_path, "own", "M")


def test_a_schema_that_is_none_is_refused(tmp_path: Path) -> None:
    write_set(tmp_path, "own", [HARBOUR], ["PER"])
    with pytest.raises(UsageError, match=r"schema\.json"):
        load_set(tmp_path, "own", "S")
    (tmp_path / "own" / "schema.json").write_text("{")
    with pytest.raises(UsageError, match=r"schema\.json"):
        load_set(tmp_path, "own", "S")
