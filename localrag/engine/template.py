"""Chat templates: messages rendered by the model's own template, with document text kept out of its reach.

The template sees placeholders instead of the text. What it writes around them may hold control tokens; the
text itself is tokenised with special tokens off, so that no document can smuggle one in.
"""

from __future__ import annotations

import datetime
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from localrag.engine.types import Message
from localrag.errors import ModelInvalid

Tokenize = Callable[[str, bool], list[int]]
"""Text and whether control tokens are allowed in it → token ids."""


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt as token ids."""

    shared: tuple[int, ...]
    """Ids that are the same in every request with the same fixed text; may be empty."""

    own: tuple[int, ...]
    """The rest; never empty."""


class ChatTemplate:
    """The template of one model."""

    def __init__(self, source: str, bos: str, eos: str) -> None:
        """Compile a template in Jinja2's dialect. Raises `ModelInvalid` if it is damaged."""
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
        )
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.date.today().strftime(form)
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise ModelInvalid(f"The model's chat template cannot be read: {error}.") from error
        self._bos = bos
        self._eos = eos
        self._nonce = secrets.token_hex(8)

    def render(self, messages: Sequence[Message], tokenize: Tokenize) -> RenderedPrompt:
        """Token ids of a chat that ends where the assistant begins to speak.

        Raises `ModelInvalid` if the template cannot be filled.
        """
        pieces = [piece for message in messages for piece in message.pieces]
        text = self._text(messages)
        parts = re.split(rf"\[\[{self._nonce}:(\d+)\]\]", text)
        shared: list[int] = []
        own: list[int] = []
        target = shared
        for index, part in enumerate(parts):
            if index % 2 == 0:
                target.extend(tokenize(part, True) if part else [])
                continue
            piece = pieces[int(part)]
            if not piece.shared:
                target = own
            target.extend(tokenize(piece.text, False) if piece.text else [])
        if not own:
            # Without a variable part the last token still has to be read to get the first scores.
            own, shared = shared[-1:], shared[:-1]
        return RenderedPrompt(tuple(shared), tuple(own))

    def _text(self, messages: Sequence[Message]) -> str:
        turns = self._turns(messages)
        try:
            return self._fill(turns)
        except ModelInvalid:
            # Some templates know no system role.
            if len(turns) > 1 and turns[0]["role"] == "system":
                first = {"role": "user", "content": f"{turns[0]['content']}\n\n{turns[1]['content']}"}
                return self._fill([first, *turns[2:]])
            raise

    def _turns(self, messages: Sequence[Message]) -> list[dict[str, str]]:
        turns = []
        number = 0
        for message in messages:
            content = ""
            for _ in message.pieces:
                content += f"[[{self._nonce}:{number}]]"
                number += 1
            turns.append({"role": str(message.role), "content": content})
        return turns

    def _fill(self, turns: list[dict[str, str]]) -> str:
        values: dict[str, Any] = {
            "messages": turns,
            "add_generation_prompt": True,
            "bos_token": self._bos,
            "eos_token": self._eos,
            # Models that think aloud are told not to: the thoughts could not pass a grammar.
            "enable_thinking": False,
        }
        try:
            return self._template.render(values)
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            # A template is a small program of the model's maker, and can fail as any program.
            raise ModelInvalid(f"The model's chat template cannot be filled: {error}.") from error


def _refuse(message: str) -> None:
    raise TemplateError(message)
