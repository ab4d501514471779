"""Checks text that a server sent against the grammar that it was asked to keep; a server is never trusted.

llguidance follows the text byte by byte, with a vocabulary of bytes, so no model file is needed. The grammar
is the one that the worker would use for the same step.
"""

from __future__ import annotations

import json
from functools import lru_cache

import llguidance

from localrag.engine.grammars import compile_step
from localrag.engine.steps import Step
from localrag.errors import ConstraintError


@lru_cache(maxsize=1)
def _bytes_vocabulary() -> llguidance.LLTokenizer:
    return llguidance.LLTokenizer("byte")


class TextCheck:
    """Follows the text of one segment."""

    def __init__(self, step: Step) -> None:
        """Raises `ConstraintError` with line and cause for a grammar that is none."""
        self._native = compile_step(step, _bytes_vocabulary())

    @property
    def complete(self) -> bool:
        """Whether what was taken so far may stand alone."""
        return bool(self._native.is_accepting())

    @property
    def finished(self) -> bool:
        """Whether nothing more can be taken."""
        return bool(self._native.is_stopped())

    def take(self, text: str) -> int:
        """Follow `text` as far as it fits; returns how many of its characters fit."""
        for index, char in enumerate(text):
            if self.finished:
                return index
            data = char.encode("utf-8", "replace")
            if self._native.validate_tokens(list(data)) != len(data) or not self._native.consume_tokens(
                list(data)
            ):
                return index
        return len(text)

    def forced(self) -> str:
        """What must come next whatever is written, where that is certain; it is taken."""
        if self.finished:
            return ""
        data = bytes(token for token in self._native.compute_ff_tokens() if token < 256)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return ""
        return text if self.take(text) == len(text) else ""


def fits(step: Step, text: str) -> bool:
    """Whether `text` is a whole segment under the step's grammar."""
    check = TextCheck(step)
    return check.take(text) == len(text) and check.complete


def canonical_json(step: Step, text: str) -> str:
    """JSON that a server wrote, in the compact form of ours, checked against the step's schema.

    Raises `ConstraintError` if it is no JSON or does not fit. Keys stay in their order; blanks go.
    """
    try:
        compact = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except ValueError as error:
        raise ConstraintError(f"What was written is no JSON: {error}.") from error
    if not fits(step, compact):
        raise ConstraintError("What was written does not fit the JSON schema.")
    return compact
