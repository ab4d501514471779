"""Counts tokens at an OpenAI-compatible server, which the protocol itself cannot do.

vLLM, llama-server and llama_cpp.server each have a call of their own for it. Where there is none, tokens are
estimated on the high side, so that a context built by them fits.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from localrag.engine.remote_http import Server
from localrag.engine.remote_waiting import Stop
from localrag.errors import RemoteRefused

_REMEMBERED = 4096
_PER_TURN = 8
"""Tokens of a template around one message."""

_BYTES_PER_TOKEN = 3


class Counter:
    """Counts by whichever call works. Safe to use from several threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._known: OrderedDict[str, int] = OrderedDict()
        self._paths = ["/tokenize", "/extras/tokenize/count"]

    @property
    def estimates(self) -> bool:
        """Whether no call was found that counts."""
        return not self._paths

    def count(self, model: str, texts: Sequence[str], stop: Stop | None) -> list[int]:
        """Tokens of each text."""
        return [self._count(model, text, stop) for text in texts]

    def count_chat(self, model: str, chat: Sequence[dict[str, str]], stop: Stop | None) -> int:
        """Tokens of a chat, with a few more for the template."""
        return sum(self._count(model, turn["content"], stop) + _PER_TURN for turn in chat) + _PER_TURN

    def _count(self, model: str, text: str, stop: Stop | None) -> int:
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
                return self._known[text]
        number = self._asked(model, text, stop)
        with self._lock:
            self._known[text] = number
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return number

    def _asked(self, model: str, text: str, stop: Stop | None) -> int:
        # Each server takes the field that it knows and leaves the others.
        body = {"model": model, "prompt": text, "content": text, "input": text, "add_special_tokens": False}
        while self._paths:
            path = self._paths[0]
            try:
                number = _number(self._server.call(path, body, stop))
            except RemoteRefused:
                number = None
            if number is not None:
                return number
            with self._lock:
                if self._paths and self._paths[0] == path:
                    self._paths.pop(0)
        return len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN + 1


def _number(answer: Any) -> int | None:
    if not isinstance(answer, dict):
        return None
    if type(answer.get("count")) is int:
        return int(answer["count"])
    tokens = answer.get("tokens")
    return len(tokens) if isinstance(tokens, list) else None
