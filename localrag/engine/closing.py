"""Ending JSON early: tokens that close what is open, found by asking the grammar.

Closers are tried before anything that would write more, so strings, arrays and objects end as soon as the
schema lets them, and required values that are still missing become the least that fits. The result fits
whatever schema the matcher was made from, since every token was allowed by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import llguidance
import numpy as np
from numpy.typing import NDArray

_CLOSERS = (b"}", b"]", b",", b'"', b"0", b"[", b"{")
"""What is tried outside a string, in this order."""

_QUOTE = b'"'


@dataclass(frozen=True)
class Closer:
    """What closing needs to know of a vocabulary."""

    encode: Callable[[str], list[int]]
    """The canonical tokens of a text."""

    bytes_of: Callable[[int], bytes]
    """What a token writes."""

    allowed: Callable[[llguidance.LLMatcher], NDArray[np.bool_]]
    """Which tokens may come next."""

    ends: frozenset[int]
    """Tokens that end a text."""

    def tokens(self, native: llguidance.LLMatcher, written: bytes, *, most: int) -> list[int] | None:
        """Tokens that end the JSON of which `written` is there; None if there are more than `most`.

        The matcher stays as it is.
        """
        native = native.deep_copy()
        singles = self._singles()
        lexer = JsonLexer()
        lexer.feed(written)
        tokens: list[int] = []
        while not (native.is_accepting() or native.is_stopped()):
            forced = [token for token in native.compute_ff_tokens() if token not in self.ends]
            token = int(forced[0]) if forced else self._next(native, singles, lexer.in_string)
            if token is None or len(tokens) >= most or not native.consume_token(token):
                return None
            tokens.append(token)
            lexer.feed(self.bytes_of(token))
        return tokens

    def _next(self, native: llguidance.LLMatcher, singles: dict[bytes, int], in_string: bool) -> int | None:
        for text in (_QUOTE,) if in_string else _CLOSERS:
            token = singles.get(text)
            if token is not None and native.validate_tokens([token]) == 1:
                return token
        # A string that is still too short, a number out of its range, an unfinished character: the first
        # tokens of a vocabulary are its shortest.
        allowed = np.flatnonzero(self.allowed(native))
        return next((int(token) for token in allowed if int(token) not in self.ends), None)

    def _singles(self) -> dict[bytes, int]:
        """The closers that are one token each."""
        found = {text: self.encode(text.decode())[-1] for text in _CLOSERS}
        return {text: token for text, token in found.items() if self.bytes_of(token) == text}


class JsonLexer:
    """Whether JSON, byte by byte, is inside a string."""

    def __init__(self) -> None:
        self.in_string = False
        self._escaped = False

    def feed(self, data: bytes) -> None:
        """Go on."""
        for byte in data:
            if self._escaped:
                self._escaped = False
            elif byte == 0x22:
                self.in_string = not self.in_string
            elif byte == 0x5C and self.in_string:
                self._escaped = True
