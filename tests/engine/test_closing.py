"""JSON under schemas: bounded, and valid however small the budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.engine.json_bounds import INTEGER, ITEMS, KEY, KEYS, NUMBER, STRING, bounded
from localrag.engine.programs import JsonSchema
from tests.engine.desk import Desk, chance
from tests.examples import examples

Schema = dict[str, Any]


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    keys = st.lists(st.sampled_from(["name", "kind", "n", "键", "a b"]), min_size=1, max_size=3, unique=True)

    @st.composite
    def build(draw: st.DrawFn) -> Schema:
        names = draw(keys)
        return {
            "type": "object",
            "properties": {name: draw(inner) for name in names},
            "required": [name for name in names if draw(st.booleans())],
        }

    return build()


_SCALARS: st.SearchStrategy[Schema] = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda n: {"type": "string", "minLength": n, "maxLength": n + 5}, st.integers(0, 6)),
    st.just({"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}),
    st.just({"type": "string", "format": "date"}),
    st.just({"enum": ["red", "reddish", 'a"quote', 7, None]}),
    st.just({"const": "fixed"}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": "integer"}),
    st.just({"type": "number"}),
    st.builds(lambda n: {"type": "integer", "minimum": n, "maximum": n + 9}, st.integers(-20, 200)),
    st.just({"type": "number", "minimum": 0, "maximum": 1}),
    st.just({"type": ["string", "null"]}),
)
SCHEMAS: st.SearchStrategy[Schema] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(lambda s, n: {"type": "array", "items": s, "minItems": n}, inner, st.integers(0, 3)),
        st.builds(lambda s: {"anyOf": [s, {"type": "null"}]}, inner),
        st.builds(lambda s: {"type": "object", "additionalProperties": s}, inner),
    ),
    max_leaves=5,
)


def check(schema: Schema, value: Any) -> None:
    """Raise AssertionError unless a value fits, default bounds included; for the kinds used here."""
    if "anyOf" in schema:
        fits = []
        for one in schema["anyOf"]:
            try:
                check(one, value)
                fits.append(one)
            except AssertionError:
                continue
        assert fits
    elif "enum" in schema:
        assert value in schema["enum"]
    elif "const" in schema:
        assert value == schema["const"]
    elif isinstance(schema["type"], list):
        check({"anyOf": [{**schema, "type": kind} for kind in schema["type"]]}, value)
    else:
        _check_type(schema, value)


def _check_type(schema: Schema, value: Any) -> None:
    kind = schema["type"]
    if kind == "string":
        assert isinstance(value, str)
        assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", STRING)
    elif kind == "null":
        assert value is None
    elif kind == "boolean":
        assert isinstance(value, bool)
    elif kind in ("integer", "number"):
        assert isinstance(value, int if kind == "integer" else (int, float))
        limit = INTEGER if kind == "integer" else NUMBER
        assert schema.get("minimum", -limit) <= value <= schema.get("maximum", limit)
    elif kind == "array":
        assert isinstance(value, list)
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", ITEMS)
        for item in value:
            check(schema["items"], item)
    else:
        assert isinstance(value, dict)
        _check_object(schema, value)


def _check_object(schema: Schema, value: dict[str, Any]) -> None:
    if "properties" in schema:
        order = [name for name in schema["properties"] if name in value]
        assert list(value) == order
        assert set(schema["required"]) <= set(value)
        for name, item in value.items():
            check(schema["properties"][name], item)
    else:
        assert len(value) <= KEYS
        for name, item in value.items():
            assert len(name) <= KEY
            check(schema["additionalProperties"], item)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, budget=st.integers(1, 120), seed=st.integers(0, 10**6))
def test_whatever_the_schema_and_the_budget_the_json_is_valid(
    desk: Desk, schema: Schema, budget: int, seed: int
) -> None:
    result = desk.run(JsonSchema(schema), chance(seed), max_tokens=budget)
    assert not result["error"]
    value = json.loads(result["text"])
    check(schema, value)
    assert result["closed"] == (result["finish"] == "length")
    assert result["segments"] == [("json", result["text"])]
    # Compact: a blank can only stand in a string or a key.
    assert json.loads(result["text"]) == value
    assert "\n" not in result["text"]


@pytest.mark.parametrize("seed", range(20))
def test_a_budget_that_holds_the_least_text_is_kept(desk: Desk, seed: int) -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "findings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"summary": {"type": "string"}, "rating": {"type": "integer"}},
                    "required": ["summary", "rating"],
                },
            },
            "why": {"type": "string"},
        },
        "required": ["title", "findings", "why"],
    }
    result = desk.run(JsonSchema(schema), chance(seed), max_tokens=160)
    assert result["output_tokens"] <= 160
    assert list(json.loads(result["text"])) == ["title", "findings", "why"]


def test_what_was_finished_in_time_is_not_marked(desk: Desk) -> None:
    result = desk.run(JsonSchema({"type": "boolean"}), chance(1), max_tokens=40)
    assert result["finish"] == "stop"
    assert not result["closed"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string", "maxLength": STRING}),
        ({"type": "string", "maxLength": 7}, {"type": "string", "maxLength": 7}),
        ({"type": "string", "minLength": 900}, {"type": "string", "minLength": 900, "maxLength": 900}),
        ({"enum": ["a"]}, {"enum": ["a"]}),
        (
            {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3}},
            {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3}, "maxItems": ITEMS},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}},
            {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False},
        ),
        (
            {"type": "number", "minimum": 0},
            {"type": "number", "minimum": 0, "maximum": NUMBER, "multipleOf": 0.001},
        ),
        ({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}),
    ],
)
def test_missing_bounds_are_added(schema: Schema, expected: Schema) -> None:
    assert bounded(schema) == expected


def test_parts_of_one_object_are_not_closed_to_each_other() -> None:
    parts = [{"properties": {"a": {"type": "null"}}}, {"properties": {"b": {"type": "null"}}}]
    assert bounded({"type": "object", "allOf": parts})["allOf"] == parts


def test_a_value_of_which_nothing_is_said_is_bounded_too(desk: Desk) -> None:
    for seed in range(5):
        result = desk.run(JsonSchema({}), chance(seed), max_tokens=60)
        json.loads(result["text"])


def test_a_schema_that_refers_to_itself_ends_with_the_budget(desk: Desk) -> None:
    node: Schema = {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                "required": ["children"],
            }
        },
        "$ref": "#/$defs/node",
    }
    for seed in range(10):
        result = desk.run(JsonSchema(node), chance(seed), max_tokens=80)
        assert "children" in json.loads(result["text"])
