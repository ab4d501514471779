"""One chat call over the OpenAI protocol: what is sent, and the streamed answer with its end and its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from localrag.engine.remote_defuse import defuse
from localrag.engine.remote_http import Server
from localrag.engine.remote_waiting import Stop
from localrag.engine.types import GenerationRequest, Message
from localrag.errors import RemoteRefused, RemoteUnreachable

GO_ON = "Go on exactly where you stopped, in the same form. Do not repeat what is written."
"""Said behind what is written so far, since a chat cannot go on inside an answer."""

_TRIES = 4
_PAUSE = 0.5
_SPARE_PIECES = 16


@dataclass(frozen=True)
class Reply:
    """An answer that came to its end."""

    text: str
    """All of it."""

    cut: bool
    """Whether the token budget ended it."""

    prompt_tokens: int
    """As the server counts; 0 if it does not say."""

    cached_tokens: int
    """How many of these it had read before."""

    output_tokens: int
    """As the server counts, else the pieces that came."""


def turns(messages: Sequence[Message], instruction: str = "") -> list[dict[str, str]]:
    """A chat for the protocol: pieces that are not shared are defused, `instruction` ends the last turn."""
    result = []
    for message in messages:
        content = "".join(p.text if p.shared else defuse(p.text) for p in message.pieces)
        result.append({"role": str(message.role), "content": content})
    if instruction and result:
        result[-1]["content"] += f"\n\n{instruction}"
    return result


def go_on(chat: list[dict[str, str]], written: str, instruction: str = "") -> list[dict[str, str]]:
    """The chat with what is written so far as an answer, and the demand to go on."""
    if not written:
        return chat
    more = f"{GO_ON} {instruction}".strip()
    return [*chat, {"role": "assistant", "content": defuse(written)}, {"role": "user", "content": more}]


def say(
    server: Server,
    body: dict[str, Any],
    stop: Stop,
    take: Callable[[str], None] | None = None,
) -> Reply:
    """Make the call; `take` is given each piece of text and may raise.

    A stream that the server breaks off is asked for again, unless `take` was given some of it already.
    Raises `RemoteUnreachable`, `RemoteRefused` and `Cancelled`.
    """
    for left in range(_TRIES - 1, -1, -1):
        handed: list[str] = []

        def hand(piece: str, handed: list[str] = handed) -> None:
            handed.append(piece)
            if take is not None:
                take(piece)

        try:
            return _say_once(server, body, stop, hand)
        except RemoteUnreachable:
            if not left or (take is not None and handed):
                raise
            stop.pause(_PAUSE)
    raise AssertionError("the last try returns or raises")


def _say_once(server: Server, body: dict[str, Any], stop: Stop, hand: Callable[[str], None]) -> Reply:
    text, reason, pieces = "", "", 0
    usage: dict[str, Any] = {}
    sent = body | {"stream": True, "stream_options": {"include_usage": True}}
    for event in server.events("/v1/chat/completions", sent, stop):
        if isinstance(event.get("usage"), dict):
            usage = event["usage"]
        piece, ended = _choice(event)
        reason = ended or reason
        if piece:
            text += piece
            pieces += 1
            if pieces > int(body["max_tokens"]) + _SPARE_PIECES:
                raise RemoteRefused(f"{server.address.shown} wrote more tokens than it was asked for.")
            hand(piece)
    if not reason:
        raise RemoteUnreachable(
            f"{server.address.shown} broke off in the middle of its answer.",
            "Another request may have gone before; set remote.parallel to 1, or look at the server's log.",
        )
    if reason not in ("stop", "length"):
        raise RemoteRefused(f"{server.address.shown} ended its answer with {reason[:40]!r}.")
    details = usage.get("prompt_tokens_details")
    return Reply(
        text=text,
        cut=reason == "length",
        prompt_tokens=_number(usage.get("prompt_tokens")),
        cached_tokens=_number(details.get("cached_tokens")) if isinstance(details, dict) else 0,
        output_tokens=_number(usage.get("completion_tokens")) or pieces,
    )


def _choice(event: dict[str, Any]) -> tuple[str, str]:
    """Text and reason of the end in one piece of a stream; both may be empty."""
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", ""
    delta = choices[0].get("delta")
    content = delta.get("content") if isinstance(delta, dict) else None
    reason = choices[0].get("finish_reason")
    return content if isinstance(content, str) else "", reason if isinstance(reason, str) else ""


def _number(value: object) -> int:
    return value if type(value) is int and value >= 0 else 0


def request_body(request: GenerationRequest, model: str, left: int) -> dict[str, Any]:
    """The fields that every call has; `left` tokens may still be written."""
    return {
        "model": model,
        "max_tokens": left,
        "temperature": request.temperature,
        "top_p": 1.0,
        "seed": request.seed,
    }
