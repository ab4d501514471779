"""The scripted model keeps the promises of the real one for decisions and lean records."""

from __future__ import annotations

import pytest

from localrag.engine.decisions import decision_of, request
from localrag.engine.lean import parse_lean
from localrag.engine.programs import LeanRecords
from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import EngineError

MESSAGES = (Message("user", (Piece("Is it so?"),)),)


def test_it_decides_for_the_first_option_or_the_scripted_one() -> None:
    decision = ScriptedModel().decide(MESSAGES, ("yes", "no", "maybe"))
    assert decision.best == "yes"
    assert sum(decision.probabilities) == pytest.approx(1.0)
    scripted = ScriptedModel(lambda request: "no")
    assert scripted.decide(MESSAGES, ("yes", "no")).best == "no"
    assert scripted.decide(MESSAGES, ("yes", "no")).of("no") == pytest.approx(0.9)


def test_a_failed_decision_is_an_error() -> None:
    model = ScriptedModel(fail=lambda request: True)
    with pytest.raises(EngineError, match="scripted failure"):
        model.decide(MESSAGES, ("yes", "no"))


def test_it_writes_lean_records() -> None:
    program = LeanRecords(("Sele", "Sele Ferry", "Kell", "Holt"), ("place",), loose=True, max_relations=2)
    model = ScriptedModel()
    (generation,) = (
        event
        for _, event in model.run([GenerationRequest("test", MESSAGES, program, 100)])
        if isinstance(event, Generation)
    )
    entities, relations = parse_lean((s.name, s.text) for s in generation.segments)
    assert [entity.name for entity in entities] == ["Sele", "Kell", "Holt"]
    assert [(r.source, r.target) for r in relations] == [("Sele", "Kell"), ("Sele", "Holt")]
    played = ScriptedModel(lambda request: generation.text)
    events = [e for _, e in played.run([GenerationRequest("test", MESSAGES, program, 100)])]
    again = next(e for e in events if isinstance(e, Generation))
    assert parse_lean((s.name, s.text) for s in again.segments) == (entities, relations)


def test_decisions_are_read_from_a_run() -> None:
    options = ("1", "2")
    events = ScriptedModel().run([request(MESSAGES, options, 0)])
    generation = next(event for _, event in events if isinstance(event, Generation))
    assert decision_of(generation, options).best == "1"
    with pytest.raises(EngineError):
        decision_of(generation, ("1", "2", "3"))
