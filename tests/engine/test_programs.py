"""Programs survive the trip to the worker."""

from __future__ import annotations

import json

import pytest

from localrag.engine.programs import (
    Choice,
    CitedText,
    Decide,
    Field,
    FreeText,
    Grammar,
    JsonSchema,
    LeanRecords,
    Program,
    Record,
    Records,
    from_dict,
    to_dict,
)

PROGRAMS: list[Program] = [
    FreeText(max_chars=20),
    Grammar("start: /a+/"),
    JsonSchema({"type": "object", "properties": {"a": {"type": "string"}}}),
    Choice(("yes", "no")),
    Decide(("yes", "no")),
    LeanRecords(("A", "乙"), ("x",), taken=("C",), taken_pairs=(("C", "A"),), loose=True),
    CitedText(sources=3, marks=("[General Knowledge]",)),
    Records(
        kinds=(
            Record("entity", (Field("name", "new", ("A", "乙")), Field("type", "choice", ("x",))), 3),
            Record(
                "link",
                (Field("a", "used"), Field("b", "used", upper=True), Field("n", "pattern", pattern="[1-9]")),
                2,
            ),
        ),
        taken=("A",),
        taken_pairs=(("A", "乙"),),
        directed=True,
    ),
    LeanRecords(("A",), (), type_words=2, type_chars=8, phrases=("part of",)),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.kind)
def test_a_program_is_the_same_after_json(program: Program) -> None:
    assert from_dict(json.loads(json.dumps(to_dict(program)))) == program


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown program"):
        from_dict({"kind": "poem"})
