"""JSON schemas with every string, list, map and number bounded, so that no value can be written without end.

Where a schema sets no bound of its own these are added: strings `STRING` characters, arrays `ITEMS` items,
maps `KEYS` entries with keys of `KEY` characters, integers 15 digits, other numbers 12 digits before and 3
behind the point. An object with named properties takes no others unless the schema says so. A value of which
the schema says nothing is any JSON of two levels. Keys keep the schema's order, since the grammar made of it
writes them in that order. A schema that refers to itself is as deep as the model makes it, up to the token
budget.
"""

from __future__ import annotations

from typing import Any

STRING = 500
"""Most characters of a string."""

ITEMS = 32
"""Most items of an array."""

KEYS = 32
"""Most entries of an object whose keys are free."""

INTEGER = 10**15 - 1
"""Largest absolute value of an integer."""

NUMBER = 10**12
"""Largest absolute value of another number."""

STEP = 0.001
"""What such a number is a multiple of."""

KEY = 60
"""Most characters of a free key."""

_KEY = f"^[^\\x00-\\x1f\\x7f]{{1,{KEY}}}$"
_LEVELS = 2
_COMBINERS = ("anyOf", "oneOf", "allOf")
_LISTS = (*_COMBINERS, "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_ONES = ("items", "additionalProperties")
_SETTLED = ("const", "enum")


def bounded(schema: dict[str, Any]) -> dict[str, Any]:
    """A copy of a schema with the missing bounds added."""
    return _bounded(schema, closing=True)


def _bounded(schema: dict[str, Any], *, closing: bool) -> dict[str, Any]:
    """`closing` says whether an object with named properties may be closed to others: one that is only a
    part of what describes an object may not."""
    if any(key in schema for key in _SETTLED):
        return dict(schema)
    combined = any(key in schema for key in _COMBINERS)
    partial = "allOf" in schema or (combined and "properties" in schema)
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LISTS and isinstance(value, list):
            whole = key == "prefixItems" or not partial
            result[key] = [_inner(item, closing=whole) for item in value]
        elif key in _MAPS and isinstance(value, dict):
            result[key] = {name: _inner(item) for name, item in value.items()}
        else:
            result[key] = _inner(value) if key in _ONES else value
    types = schema.get("type")
    if types is None:
        return result if combined or "$ref" in schema else _untyped(result, closing=closing)
    for kind in [types] if isinstance(types, str) else types:
        _bound(kind, result, _LEVELS, closing=closing and not combined)
    return result


def _inner(value: Any, *, closing: bool = True) -> Any:
    """A subschema, which may be a bare True or False."""
    if value is True:
        return _anything(_LEVELS)
    return _bounded(value, closing=closing) if isinstance(value, dict) else value


def _untyped(schema: dict[str, Any], *, closing: bool) -> dict[str, Any]:
    """A schema without a type means what its other keywords tell, or anything."""
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        kinds = ["object"]
    elif "items" in schema or "prefixItems" in schema:
        kinds = ["array"]
    elif any(key in schema for key in ("maxLength", "minLength", "pattern", "format")):
        kinds = ["string"]
    elif any(key in schema for key in ("maximum", "minimum", "multipleOf")):
        kinds = ["number"]
    else:
        return {**_anything(_LEVELS), **schema}
    for kind in kinds:
        _bound(kind, schema, _LEVELS, closing=closing)
    return schema


def _anything(levels: int) -> dict[str, Any]:
    """Any value with at most so many levels of arrays and objects."""
    scalars = ["string", "number", "boolean", "null"]
    kinds = [*scalars, "array", "object"] if levels else scalars
    schema: dict[str, Any] = {"type": kinds}
    for kind in kinds:
        _bound(kind, schema, levels - 1, closing=False)
    return schema


def _bound(kind: str, schema: dict[str, Any], levels: int, *, closing: bool) -> None:
    """Add the bounds of one type in place."""
    if kind == "string":
        schema.setdefault("maxLength", max(STRING, int(schema.get("minLength", 0))))
    elif kind == "array":
        schema.setdefault("maxItems", max(ITEMS, int(schema.get("minItems", 0))))
        schema.setdefault("items", _anything(levels))
    elif kind == "object":
        if closing and "properties" in schema and "patternProperties" not in schema:
            schema.setdefault("additionalProperties", False)
        elif "properties" not in schema and "patternProperties" not in schema:
            schema.setdefault("maxProperties", max(KEYS, int(schema.get("minProperties", 0))))
            values = schema.pop("additionalProperties", None)
            if values is not False:
                schema["patternProperties"] = {_KEY: _anything(levels) if values is None else values}
            schema["additionalProperties"] = False
    elif kind in ("integer", "number"):
        limit = INTEGER if kind == "integer" else NUMBER
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if high is None:
            schema["maximum"] = limit if low is None or low <= limit // 2 else low + limit
        if low is None:
            schema["minimum"] = -limit if high is None or high >= -limit // 2 else high - limit
        if kind == "number":
            schema.setdefault("multipleOf", STEP)
