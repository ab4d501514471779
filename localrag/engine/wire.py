"""Requests and results as messages between parent and worker, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from localrag.engine.programs import to_dict
from localrag.engine.protocol import Message
from localrag.engine.types import Generation, GenerationRequest, ProgressEvent, Segment
from localrag.engine.types import Message as ChatMessage


def messages_data(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """A chat as JSON-ready data."""
    return [asdict(message) for message in messages]


def request_message(number: int, request: GenerationRequest) -> Message:
    """A request under the parent's number for it."""
    return {
        "op": "generate",
        "id": number,
        "messages": messages_data(request.messages),
        "program": to_dict(request.program),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "priority": request.priority,
        "stream": request.stream,
    }


def generation_of(message: Message) -> Generation:
    """The result in a worker's last message about a request."""
    values = {key: value for key, value in message.items() if key not in ("event", "id", "segments")}
    values["probabilities"] = tuple(values.get("probabilities", ()))
    segments = tuple(Segment(name, text) for name, text in message["segments"])
    return Generation(segments=segments, **values)


def progress_of(message: Message) -> ProgressEvent:
    """A worker's report."""
    return ProgressEvent(**{key: value for key, value in message.items() if key != "event"})


def failed_generation(reason: str, *, deaths: int = 0) -> Generation:
    """The result of a request that the engine could not finish."""
    return Generation("", (), "error", 0, 0, 0, 0, 0, "", "", reason, deaths=deaths)
