"""The comparison of `localrag bench engine`: the same prompts through the binding's high-level class.

One chat completion after another, under a GBNF grammar that says what GBNF can say: the form, the names, the
types, the bounds. It cannot say that a name is written once or that a relation joins names that were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrag.engine import baseline
from localrag.engine.programs import LeanRecords, offered
from localrag.engine.types import GenerationRequest
from localrag.engine.weighed_program import WeighedRecords

_CONTEXT = 4096


@dataclass(frozen=True)
class Comparison:
    """What the high-level class needed."""

    passages: int
    """Passages read."""

    seconds_per_passage: float
    """Wall time ÷ passages, model load not counted."""

    output_tokens_per_passage: float
    """Tokens written."""

    truncated_share: float
    """Share of the passages that ended at the bound of tokens."""

    def as_json(self, seconds_per_passage: float) -> dict[str, Any]:
        """The top of the bench's JSON; `seconds_per_passage` is the engine's own."""
        return {
            "speedup_vs_high_level": round(self.seconds_per_passage / seconds_per_passage, 2),
            "high_level": {
                "passages": self.passages,
                "seconds_per_passage": round(self.seconds_per_passage, 2),
                "output_tokens_per_passage": round(self.output_tokens_per_passage, 1),
                "truncated_share": round(self.truncated_share, 3),
            },
        }


def spread(requests: Sequence[GenerationRequest], count: int) -> list[GenerationRequest]:
    """`count` of the requests, evenly spread over their order, which is by length."""
    if len(requests) <= count:
        return list(requests)
    return [requests[(2 * i + 1) * len(requests) // (2 * count)] for i in range(count)]


def compare(path: Path, requests: Sequence[GenerationRequest], threads: int) -> Comparison:
    """Run requests under `LeanRecords`, or what stands for `WeighedRecords`, one after another.

    Raises `EngineError` if the child process fails and `ValueError` for another program.
    """
    tasks = [
        baseline.BaselineTask(request.messages, lean_gbnf(_lean(request.program)), request.max_tokens)
        for request in requests
        if isinstance(request.program, LeanRecords | WeighedRecords)
    ]
    if len(tasks) != len(requests):
        raise ValueError("only lean records can be compared")
    results = baseline.run(path, tasks, threads=threads, n_ctx=_CONTEXT)
    count = len(results)
    return Comparison(
        passages=count,
        seconds_per_passage=sum(r.seconds for r in results) / count,
        output_tokens_per_passage=sum(r.output_tokens for r in results) / count,
        truncated_share=sum(r.finish == "length" for r in results) / count,
    )


def _lean(program: LeanRecords | WeighedRecords) -> LeanRecords:
    """What the class can be made to write; it cannot weigh."""
    return offered(program) if isinstance(program, WeighedRecords) else program


def lean_gbnf(program: LeanRecords) -> str:
    """The grammar of lean records as far as GBNF goes."""
    names = " | ".join(baseline.literal(name) for name in program.names) or '"-"'
    types = " | ".join(baseline.literal(type_) for type_ in program.types)
    word = f"[^ |<>#\\n\\t\\r]{{1,{program.word_chars}}}"
    things = f"entity{{0,{program.max_entities}}}"
    links = f"relation{{0,{program.max_relations}}}"
    return "\n".join(
        (
            f'root ::= {things} "END\\n" {links} "END"',
            'entity ::= name " | " type "\\n"',
            'relation ::= name " -> " name " | " phrase "\\n"',
            f"name ::= {names}",
            f"type ::= {types}",
            f'phrase ::= word (" " word){{0,{program.phrase_words - 1}}}',
            f"word ::= {word}",
            "",
        )
    )
