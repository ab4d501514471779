"""Compiles a step's grammar with llguidance, and says in one line what is wrong with one that is none."""

from __future__ import annotations

import llguidance

from localrag.engine.steps import Step
from localrag.errors import ConstraintError


def compile_step(step: Step, tokenizer: llguidance.LLTokenizer) -> llguidance.LLMatcher:
    """A native matcher at the start of a step.

    Raises `ConstraintError` with line and cause for a grammar that is none.
    """
    try:
        if step.schema:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(
                step.schema, defaults={"whitespace_flexible": False}
            )
        else:
            grammar = llguidance.LLMatcher.grammar_from_lark(step.lark)
    except ValueError as error:
        raise ConstraintError(f"A grammar cannot be compiled: {error}.") from error
    native = llguidance.LLMatcher(tokenizer, grammar)
    check(native)
    return native


def check(native: llguidance.LLMatcher) -> None:
    """Raise `ConstraintError` if a matcher has failed."""
    if native.is_error():
        raise ConstraintError(f"A grammar cannot be used: {_reason(str(native.get_error()))}.")


def _reason(text: str) -> str:
    """The first line of an error, and for a bad regular expression the line that says what is wrong in it."""
    lines = text.strip().splitlines()
    causes = [line.strip() for line in lines[1:] if line.strip().startswith("error: ")]
    return " ".join([*lines[:1], *causes]).rstrip(".") or "no reason given"
