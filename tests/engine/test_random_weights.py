"""A model that knows nothing still writes only well-formed output: the form comes from the constraints."""

from __future__ import annotations

import json
import re
import statistics
from dataclasses import replace

import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.lean import parse_lean
from localrag.engine.names import capitals
from localrag.engine.programs import (
    Choice,
    CitedText,
    Field,
    FreeText,
    Grammar,
    JsonSchema,
    Program,
    Record,
    Records,
)
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.engine.weighed_program import NameWeights, PairWeights, WeighedRecords
from localrag.extraction.program import Limits, Shape, records_program
from localrag.extraction.wire import parse

ENGLISH = (
    "Mira Holt",
    "Sele",
    "harbour office",
    "lighthouse",
    "Wednesday",
    "R. Dane Jr.",
    "ferry (old)",
    "C++",
)
CHINESE = ("海蓝镇", "灯塔", "渡轮公司", "林舟", "一九八七年", "《潮汐日志》")
FIELD = re.compile(r"[^<>|#\n()]*(?:\([^<>|#\n()]*\)[^<>|#\n()]*)*")


def records(names: tuple[str, ...], types: tuple[str, ...]) -> Records:
    return Records(
        kinds=(
            Record(
                "entity",
                (
                    Field("name", "new", names),
                    Field("type", "choice", types),
                    Field("description", "text", max_chars=40),
                ),
                6,
            ),
            Record(
                "relationship",
                (
                    Field("source", "used"),
                    Field("target", "used"),
                    Field("keywords", "text", max_chars=20),
                    Field("description", "text", max_chars=40),
                ),
                8,
            ),
        )
    )


def requests(program: Program, count: int, text: str, max_tokens: int = 700) -> list[GenerationRequest]:
    return [
        GenerationRequest(
            "test",
            (Message("system", (Piece("Extract.", True),)), Message("user", (Piece(f"{text} {seed}"),))),
            program,
            max_tokens,
            temperature=1.5,
            seed=seed,
        )
        for seed in range(count)
    ]


def results(model: WorkerModel, wanted: list[GenerationRequest]) -> list[Generation]:
    found = {i: event for i, event in model.run(wanted) if isinstance(event, Generation)}
    assert sorted(found) == list(range(len(wanted)))
    return [found[i] for i in range(len(wanted))]


@pytest.mark.parametrize(
    ("names", "types"),
    [(ENGLISH, ("person", "location", "Other")), (CHINESE, ("人物", "地点", "其他"))],
    ids=["english", "chinese"],
)
def test_every_record_is_well_formed_and_every_relation_joins_known_entities(
    model: WorkerModel, names: tuple[str, ...], types: tuple[str, ...]
) -> None:
    written = results(model, requests(records(names, types), 600, "港口 harbour"))
    entities = relations = 0
    for generation in written:
        assert generation.finish in ("stop", "length"), generation.error
        known: list[str] = []
        pairs: set[frozenset[str]] = set()
        for segment in generation.segments:
            if segment.name == "complete":
                assert segment.text == "<|COMPLETE|>"
                continue
            assert segment.text.startswith(f"({segment.name}<|>")
            assert segment.text.endswith(")##\n")
            fields = segment.text[1:-4].split("<|>")
            assert all(FIELD.fullmatch(field) for field in fields[3:])
            if segment.name == "entity":
                assert len(fields) == 4
                assert fields[1] in names
                assert fields[1] not in known
                assert fields[2] in types
                known.append(fields[1])
                entities += 1
            else:
                assert len(fields) == 5
                assert fields[1] in known
                assert fields[2] in known
                assert fields[1] != fields[2]
                pair = frozenset(fields[1:3])
                assert pair not in pairs
                pairs.add(pair)
                relations += 1
        if generation.finish == "stop":
            assert generation.text.endswith("<|COMPLETE|>")
            assert "".join(segment.text for segment in generation.segments) == generation.text
    # The test would prove nothing if the model had written nothing.
    assert entities >= 20
    assert relations >= 3


RELATION_TYPES = ("works for", "part of (it)")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_graphrags_records_are_well_formed(model: WorkerModel, language: str) -> None:
    names = ENGLISH if language == "en" else CHINESE
    shape = Shape(form="graphrag", language=language, relation_types=RELATION_TYPES)
    program = records_program(names, (), Limits(4, 6, 30), shape)
    shown = {capitals(name) for name in names}
    entities = relations = 0
    for generation in results(model, requests(program, 800, "港口 harbour")):
        assert generation.finish in ("stop", "length"), generation.error
        known: list[str] = []
        pairs: list[tuple[str, str]] = []
        for segment in generation.segments:
            if segment.name == "complete":
                continue
            assert segment.text.startswith(f'("{segment.name}"<|>')
            assert segment.text.endswith(")##\n")
            fields = segment.text[1:-4].split("<|>")
            if segment.name == "entity":
                _, name, type_, description = fields
                assert name in shown
                assert name not in known
                assert 1 <= len(type_.split(" ")) <= 3
                assert not re.search("[a-z]", type_)
                assert FIELD.fullmatch(description)
                known.append(name)
                entities += 1
            else:
                _, source, target, description, strength = fields
                assert {source, target} <= set(known)
                assert source != target
                assert description.startswith(("works for: ", "part of (it): "))
                assert strength in {str(number) for number in range(1, 11)}
                pairs.append((source, target))
                relations += 1
        assert len(set(pairs)) == len(pairs)
        read = parse(generation.text, form="graphrag")
        assert len(read.entities) == len(known)
        assert len(read.relations) == len(pairs)
        cut = generation.finish == "length"
        assert len(read.rejects) <= cut
    # The test would prove nothing if the model had written nothing.
    assert entities >= 20
    assert relations >= 3


def test_a_budget_ends_the_output_between_records(model: WorkerModel) -> None:
    wanted = requests(records(ENGLISH, ("person",)), 12, "budget", max_tokens=40)
    for generation in results(model, wanted):
        assert generation.output_tokens <= 40 + 64
        for segment in generation.segments:
            assert segment.name == "complete" or segment.text.endswith(")##\n")


def test_citations_name_only_what_is_there(model: WorkerModel) -> None:
    cited = 0
    for generation in results(model, requests(CitedText(sources=3), 20, "cite", max_tokens=120)):
        text = generation.text
        numbers = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
        assert all(1 <= n <= 3 for n in numbers)
        if generation.finish == "stop":
            assert numbers or text.endswith("[no-context]")
            cited += bool(numbers)
    assert cited


def test_json_fits_its_schema(model: WorkerModel) -> None:
    schema = {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3},
            "score": {"type": "integer", "minimum": 0, "maximum": 10},
        },
        "required": ["names", "score"],
        "additionalProperties": False,
    }
    for generation in results(model, requests(JsonSchema(schema), 10, "json", max_tokens=300)):
        assert generation.finish == "stop"
        value = json.loads(generation.text)
        assert list(value) == ["names", "score"]
        assert len(value["names"]) <= 3
        assert 0 <= value["score"] <= 10
        assert ": " not in re.sub(r'"(?:[^"\\]|\\.)*"', '""', generation.text)


def test_a_choice_is_one_of_its_options(model: WorkerModel) -> None:
    written = {g.text for g in results(model, requests(Choice(("yes", "no", "不知道")), 12, "choose"))}
    assert written <= {"yes", "no", "不知道"}
    assert len(written) > 1


def test_free_text_holds_no_control_token_and_is_well_formed(model: WorkerModel) -> None:
    for generation in results(model, requests(FreeText(), 10, "free", max_tokens=80)):
        assert "<|im_" not in generation.text
        generation.text.encode("utf-8")


def test_a_grammar_that_is_none_is_refused_with_its_cause(model: WorkerModel) -> None:
    (generation,) = results(model, requests(Grammar("start: missing_rule"), 1, "bad"))
    assert generation.finish == "error"
    assert "grammar" in generation.error
    assert "missing_rule" in generation.error


def test_the_engine_works_on_after_a_refusal(model: WorkerModel) -> None:
    (generation,) = results(model, requests(Choice(("yes",)), 1, "after"))
    assert generation.text == "yes"


@pytest.mark.parametrize("names", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_weighed_records_are_well_formed_and_judged_alike_in_any_company(
    model: WorkerModel, names: tuple[str, ...]
) -> None:
    count = len(names)
    program = WeighedRecords(
        names=names,
        priors=(0.0,) * count,
        spans=tuple((20 * place, 20 * place + 10) for place in range(count)),
        sentences=((0,),) * count,
        types=("person", "place"),
        name_weights=NameWeights(rest=1.0),
        pair_weights=PairWeights(better=1.0, bias=2.0),
        phrase_words=3,
        explain=True,
    )
    alone = results(model, requests(program, 1, "港口 harbour"))[0]
    middle = statistics.median(numbers[2] for _, *numbers in alone.judged["names"])
    program = replace(program, name_weights=NameWeights(rest=1.0, bias=-middle))
    written = results(model, requests(program, 60, "港口 harbour"))
    entities = relations = 0
    for generation in written:
        assert generation.finish == "stop", generation.error
        listed, joined = parse_lean((segment.name, segment.text) for segment in generation.segments)
        assert [entity.name for entity in listed] == [names[place] for place in generation.judged["listed"]]
        pairs = [frozenset((relation.source, relation.target)) for relation in joined]
        assert len(set(pairs)) == len(pairs)
        assert all(pair <= {entity.name for entity in listed} for pair in pairs)
        assert generation.weighed_tokens > 0
        entities += len(listed)
        relations += len(joined)
    assert entities >= 20
    assert relations >= 3
    # Alone in the model, what it thinks of a name is the same but for rounding.
    for (place, *numbers), (other, *others) in zip(
        alone.judged["names"], written[0].judged["names"], strict=True
    ):
        assert place == other
        assert numbers == pytest.approx(others, abs=0.05)
