"""How OpenAI-compatible servers take constraints, and the trial that finds out which way works.

Servers ignore fields that they do not know, so only an answer proves something that no model would
give by itself. A mechanism counts as working if it makes the model write a random word.
"""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["grammar", "schema"]

_TRIED = 60


@dataclass(frozen=True)
class Mechanism:
    """One way."""

    name: str
    """The field, as servers call it."""

    kind: Kind
    """What it takes: a grammar in GBNF or a JSON schema."""

    family: Literal["vllm", "llama", "openai"]
    """Whose invention it is; the names of sampling parameters go with it."""

    fields: Callable[[Any], dict[str, Any]]
    """The fields of the call for a grammar's text or a schema."""


def _json_schema(schema: Any) -> dict[str, Any]:
    form = {"name": "reply", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": form}}


MECHANISMS = (
    Mechanism(
        "structured_outputs.grammar", "grammar", "vllm", lambda g: {"structured_outputs": {"grammar": g}}
    ),
    Mechanism("guided_grammar", "grammar", "vllm", lambda g: {"guided_grammar": g}),
    Mechanism("grammar", "grammar", "llama", lambda g: {"grammar": g}),
    Mechanism("structured_outputs.json", "schema", "vllm", lambda s: {"structured_outputs": {"json": s}}),
    Mechanism("guided_json", "schema", "vllm", lambda s: {"guided_json": s}),
    Mechanism(
        "response_format.schema",
        "schema",
        "llama",
        lambda s: {"response_format": {"type": "json_object", "schema": s}},
    ),
    Mechanism("response_format.json_schema", "schema", "openai", _json_schema),
)
"""All that are known."""


def in_order(kind: Kind, *, vllm: bool) -> list[Mechanism]:
    """The mechanisms of a kind in the order in which they are tried; vLLM's own first if it is one."""
    found = [mechanism for mechanism in MECHANISMS if mechanism.kind == kind]
    return sorted(found, key=lambda mechanism: (mechanism.family == "vllm") != vllm)


@dataclass(frozen=True)
class Trial:
    """One trial."""

    word: str
    """What the model must write."""

    constraint: Any
    """The grammar or schema that allows nothing else."""

    kind: Kind
    """Which of both."""

    def passed(self, text: str) -> bool:
        """Whether an answer is the one that is allowed."""
        if self.kind == "grammar":
            return text == self.word
        try:
            return bool(json.loads(text) == {"word": self.word})
        except ValueError:
            return False


def make_trial(kind: Kind) -> Trial:
    """A trial with a fresh word."""
    word = "".join(secrets.choice(string.ascii_lowercase) for _ in range(10))
    if kind == "grammar":
        return Trial(word, f'root ::= "{word}"\n', kind)
    properties = {"word": {"type": "string", "enum": [word]}}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["word"],
        "additionalProperties": False,
    }
    return Trial(word, schema, kind)


def sampling(mechanism: Mechanism) -> dict[str, Any]:
    """Switches off what would bend the model's choice, in the words of the mechanism's family.

    Models that think aloud are told not to: the thoughts could not pass a grammar.
    """
    quiet = {"chat_template_kwargs": {"enable_thinking": False}}
    if mechanism.family == "llama":
        return {"repeat_penalty": 1.0, "min_p": 0.0, "top_k": 0, **quiet}
    if mechanism.family == "vllm":
        return {"repetition_penalty": 1.0, "min_p": 0.0, "top_k": -1, **quiet}
    return {}


def told(text: str) -> str:
    """An answer that proved nothing, short, for a message."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_TRIED]
    return f"wrote {shown!r}" if shown else "wrote nothing"
