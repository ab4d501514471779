"""What the engine is compared with: llama-cpp-python's high-level class, one chat completion after another.

Run as `python -m localrag.engine.baseline` with one JSON object on standard input, so that its memory and its
threads are not the engine's. Used by `localrag bench engine` only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrag.engine.types import Message
from localrag.errors import EngineError


@dataclass(frozen=True)
class BaselineTask:
    """One call."""

    messages: tuple[Message, ...]
    """The chat."""

    grammar: str
    """GBNF, as far as it can say what may be written."""

    max_tokens: int
    """Bound of new tokens."""


@dataclass(frozen=True)
class BaselineResult:
    """What one call gave."""

    text: str
    """What was written."""

    seconds: float
    """Wall time."""

    output_tokens: int
    """Tokens written."""

    finish: str
    """`stop` or `length`."""


def run(path: Path, tasks: Sequence[BaselineTask], *, threads: int, n_ctx: int) -> list[BaselineResult]:
    """Do the calls in a child process, model load not timed.

    Raises `EngineError` with its last words if the child fails.
    """
    order = {
        "path": str(path),
        "threads": threads,
        "n_ctx": n_ctx,
        "tasks": [
            {
                "messages": [{"role": m.role, "content": m.text} for m in task.messages],
                "grammar": task.grammar,
                "max_tokens": task.max_tokens,
            }
            for task in tasks
        ],
    }
    child = subprocess.run(
        [sys.executable, "-m", "localrag.engine.baseline"],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        words = child.stderr.strip().splitlines()
        raise EngineError(
            f"The comparison ended with code {child.returncode}: {words[-1] if words else 'no reason given'}."
        )
    return [BaselineResult(**row) for row in json.loads(child.stdout.splitlines()[-1])]


def literal(text: str) -> str:
    """A GBNF string literal for any text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def main() -> int:
    """Read the order, print the results as one line."""
    import llama_cpp
    from llama_cpp.llama_grammar import LlamaGrammar

    order: dict[str, Any] = json.load(sys.stdin)
    model = llama_cpp.Llama(
        model_path=order["path"],
        n_ctx=order["n_ctx"],
        n_batch=512,
        n_ubatch=512,
        n_threads=order["threads"],
        n_threads_batch=order["threads"],
        flash_attn=True,
        verbose=False,
    )
    results = []
    for task in order["tasks"]:
        began = time.monotonic()
        answer: Any = model.create_chat_completion(
            messages=task["messages"],
            grammar=LlamaGrammar.from_string(task["grammar"], verbose=False),
            max_tokens=task["max_tokens"],
            temperature=0.0,
        )
        results.append(
            {
                "text": answer["choices"][0]["message"]["content"] or "",
                "seconds": time.monotonic() - began,
                "output_tokens": answer["usage"]["completion_tokens"],
                "finish": answer["choices"][0]["finish_reason"],
            }
        )
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
