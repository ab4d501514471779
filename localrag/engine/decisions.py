"""Asking a model to decide: the request for it, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from localrag.engine.programs import Decide
from localrag.engine.types import Decision, Event, Generation, GenerationRequest, Message
from localrag.errors import EngineError

TASK = "decision"
"""Task of the requests that `decide` makes."""


def request(messages: Sequence[Message], options: Sequence[str], priority: int) -> GenerationRequest:
    """The request whose `Generation` holds the probabilities; for `run`, where many are decided together."""
    # No token is less than a byte, and one of no text may come before the option's own.
    longest = max((len(option.encode("utf-8", "replace")) for option in options), default=0)
    return GenerationRequest(
        TASK, tuple(messages), Decide(tuple(options)), max_tokens=longest + 1, priority=priority
    )


def decision_of(generation: Generation, options: Sequence[str]) -> Decision:
    """What a `Generation` under `Decide` says. Raises `EngineError` if it says nothing."""
    if len(generation.probabilities) != len(options):
        raise EngineError(generation.error or "The model decided nothing.")
    return Decision(tuple(options), generation.probabilities, generation.mass)


def decide(
    stream: Callable[[GenerationRequest], Iterator[Event]],
    messages: Sequence[Message],
    options: Sequence[str],
    priority: int,
) -> Decision:
    """Decide with a model's `stream`."""
    for event in stream(request(messages, options, priority)):
        if isinstance(event, Generation):
            return decision_of(event, options)
    raise EngineError("The model decided nothing.")
