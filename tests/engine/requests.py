"""Requests for the engine's tests, and what to do with their events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from localrag.engine.programs import FreeText, Grammar
from localrag.engine.types import Event, Generation, GenerationRequest, Message, Piece


def ask(
    text: str = "hello", *, shared: str = "Say: ", max_tokens: int = 40, **changes: Any
) -> GenerationRequest:
    """A request for free text, drawn at a high temperature, with some fields changed."""
    values: dict[str, Any] = {
        "task": "test",
        "messages": (Message("user", (Piece(shared, True), Piece(text))),),
        "program": FreeText(),
        "max_tokens": max_tokens,
        "temperature": 1.2,
        **changes,
    }
    return GenerationRequest(**values)


def endless(text: str = "hello", *, max_tokens: int, **changes: Any) -> GenerationRequest:
    """A request whose output never ends by itself."""
    program = Grammar("start: TEXT\nTEXT: /[0-9]{4000,8000}/")
    return ask(text, program=program, max_tokens=max_tokens, **changes)


def last(events: Iterator[Event]) -> Generation:
    """The result at the end of a stream."""
    generation = list(events)[-1]
    assert isinstance(generation, Generation)
    return generation


def results(events: Iterable[tuple[int, Event]]) -> dict[int, Generation]:
    """The results of a run, by number."""
    return {index: event for index, event in events if isinstance(event, Generation)}
