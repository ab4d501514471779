"""Tasks with different grammars and prefixes in one batch, with the small real model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from localrag.catalogue.installed import find_model
from localrag.engine.client import WorkerModel
from localrag.engine.decisions import decision_of, request
from localrag.engine.lean import parse_lean
from localrag.engine.options import EngineOptions
from localrag.engine.programs import (
    Choice,
    CitedText,
    Decide,
    Field,
    FreeText,
    JsonSchema,
    LeanRecords,
    Record,
    Records,
)
from localrag.engine.types import BACKGROUND, Generation, GenerationRequest, Message, Piece

pytestmark = pytest.mark.model

TEXT = (
    "Mira Holt has kept the lighthouse of Sele since 1987. Her father, Rolf Dane, founded the Sele Ferry "
    "Company, which runs boats between Sele and Norhaven."
)
NAMES = ("Mira Holt", "Sele", "1987", "Rolf Dane", "Sele Ferry Company", "Norhaven")
TYPES = ("person", "place", "company", "date")
OPTIONS = tuple(str(n) for n in range(1, 11))
REPORT = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 60},
        "rating": {"type": "integer", "minimum": 0, "maximum": 10},
        "findings": {"type": "array", "items": {"type": "string", "maxLength": 80}, "maxItems": 3},
    },
    "required": ["title", "rating", "findings"],
}
CLAIM = Record(
    "claim",
    (
        Field("subject", "new", NAMES),
        Field("status", "choice", ("TRUE", "FALSE", "SUSPECTED")),
        Field("date", "pattern", pattern="(19|20)[0-9]{2}-(0[1-9]|1[0-2])"),
        Field("description", "text", max_chars=60),
    ),
    3,
)
ENTITY = Record(
    "entity",
    (Field("name", "new", NAMES), Field("type", "choice", TYPES), Field("about", "text", max_chars=60)),
    4,
)
RELATION = Record(
    "relationship",
    (Field("source", "used"), Field("target", "used"), Field("keywords", "text", max_chars=30)),
    4,
)


def ask(task: str, order: str, program: object, tokens: int = 220) -> GenerationRequest:
    messages = (
        Message("system", (Piece(order, True),)),
        Message("user", (Piece("Text: ", True), Piece(TEXT))),
    )
    return GenerationRequest(task, messages, program, tokens)  # type: ignore[arg-type]


REQUESTS = [
    ask("extraction", "List entities, END, then relations, END.", LeanRecords(NAMES, TYPES)),
    ask("records", "Write entity and relationship records of the text.", Records((ENTITY, RELATION))),
    ask(
        "gleaning",
        "Write entity and relationship records of the text.",
        Records((ENTITY, RELATION), taken=NAMES[:3], taken_pairs=((NAMES[0], NAMES[1]),)),
    ),
    ask("claims", "Write claim records of the text.", Records((CLAIM,))),
    ask("summary", "Summarise the text in one sentence.", FreeText(max_chars=300), 80),
    ask("report", "Write a report of the text as JSON.", JsonSchema(REPORT)),
    ask("short report", "Write a report of the text as JSON.", JsonSchema(REPORT), 30),
    ask("answer", "Who keeps the lighthouse? Cite source [1].", CitedText(sources=2), 80),
    ask("choice", "Is Sele a place? Answer yes or no.", Choice(("yes", "no"))),
    request(
        (
            Message("system", (Piece("Rate how important the text is from 1 to 10.", True),)),
            Message("user", (Piece(TEXT),)),
        ),
        OPTIONS,
        BACKGROUND,
    ),
]


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"), EngineOptions(n_ctx=8192, sequences=8, threads=2)
    )
    yield worker
    worker.close()


def run(model: WorkerModel, requests: list[GenerationRequest]) -> list[Generation]:
    found = {i: event for i, event in model.run(requests) if isinstance(event, Generation)}
    return [found[i] for i in range(len(requests))]


def check(asked: GenerationRequest, got: Generation) -> None:
    """Whether the output is what its own program allows."""
    program = asked.program
    assert got.finish in ("stop", "length"), got.error
    if isinstance(program, LeanRecords):
        entities, relations = parse_lean((s.name, s.text) for s in got.segments)
        assert entities
        names = [entity.name for entity in entities]
        assert len(set(names)) == len(names)
        assert all({r.source, r.target} <= set(names) for r in relations)
    elif isinstance(program, Records):
        tags = {kind.tag for kind in program.kinds} | {"complete"}
        assert {segment.name for segment in got.segments} <= tags
        for segment in got.segments:
            assert segment.name == "complete" or re.fullmatch(r"\(.*\)##\n", segment.text)
    elif isinstance(program, JsonSchema):
        value = json.loads(got.text)
        assert list(value) == ["title", "rating", "findings"]
        assert got.closed == (got.finish == "length")
    elif isinstance(program, CitedText):
        assert all(n in ("1", "2") for n in re.findall(r"\[(\d+)\]", got.text))
    elif isinstance(program, Choice):
        assert got.text in program.options
    elif isinstance(program, Decide):
        assert sum(got.probabilities) == pytest.approx(1.0)
        assert got.text in program.options
    else:
        assert 0 < len(got.text) <= 300


def test_mixed_programs_and_prefixes_share_a_batch(small: WorkerModel) -> None:
    together = run(small, REQUESTS)
    apart = [run(small, [asked])[0] for asked in REQUESTS]
    for asked, one, other in zip(REQUESTS, together, apart, strict=True):
        check(asked, one)
        check(asked, other)
        assert one.prompt_hash == other.prompt_hash
    # Rounding depends on what else is in the batch, so a near tie may fall differently; few do.
    same = sum(one.text == other.text for one, other in zip(together, apart, strict=True))
    assert same >= len(REQUESTS) - 3
    assert together[-1].probabilities == pytest.approx(apart[-1].probabilities, abs=0.05)


def test_a_decision_reads_what_a_choice_writes(small: WorkerModel) -> None:
    chances = []
    for question in ("Is Paris a city in France?", "Is Paris a kind of fish?"):
        messages = (Message("user", (Piece(f"{question} Answer yes or no, in lower case."),)),)
        decision = small.decide(messages, ("yes", "no"))
        assert 0 < decision.mass <= 1.0 + 1e-6
        asked = GenerationRequest("test", messages, Choice(("yes", "no")), 8)
        assert run(small, [asked])[0].text == decision.best
        chances.append(decision.of("yes"))
    assert chances[0] > max(chances[1], 0.5)


def test_decisions_come_with_others_in_a_run(small: WorkerModel) -> None:
    messages = (Message("user", (Piece("Name a number from 1 to 10."),)),)
    (generation,) = run(small, [request(messages, OPTIONS, BACKGROUND)])
    decision = decision_of(generation, OPTIONS)
    assert decision == small.decide(messages, OPTIONS)
    assert decision.best in OPTIONS
