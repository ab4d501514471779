"""Proof that the native build works on this processor: run as `python -m localrag.engine.probe [MODEL]`.

Without a model it prints the build's features. With one it loads it, reads a real prompt (a batch of many
tokens, which is what broken builds die of) and writes greedily; for models whose answer is known it is
compared. Output is one JSON object; the exit code is 0 only if all is well. A crash shows in the exit code.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from localrag.engine.gguf import inspect
from localrag.engine.llama import Context, Entry, Model, system_info
from localrag.errors import LocalragError

PROMPT = (
    "A lighthouse keeper wrote in the log: the lamp was lit at six, the fog came in at seven, and the ferry "
    "passed the point at eight with its bell ringing. The keeper then counted slowly upwards from one: "
    "one, two, three, four, five,"
)
KNOWN = " six, seven, eight, nine, ten"
"""How every model that can count goes on."""

_TOKENS = 10


def probe(path: Path) -> dict[str, Any]:
    """Load, read, write, compare. Raises `LocalragError` if the file cannot be used."""
    info = inspect(path)
    model = Model(path)
    context = Context(model, n_ctx=512, sequences=1, threads=2, batch=256)
    prompt = model.tokenize(PROMPT, special=False)
    began = time.monotonic()
    context.decode([Entry(token, i, 0, i == len(prompt) - 1) for i, token in enumerate(prompt)])
    read_seconds = time.monotonic() - began
    written = [int(context.logits(len(prompt) - 1).argmax())]
    began = time.monotonic()
    while len(written) < _TOKENS:
        context.decode([Entry(written[-1], len(prompt) + len(written) - 1, 0, True)])
        written.append(int(context.logits(0).argmax()))
    text = b"".join(model.token_bytes(token) for token in written).decode("utf-8", "replace")
    return {
        "ok": text.startswith(KNOWN),
        "model": info.name or path.stem,
        "text": text,
        "expected": KNOWN,
        "prefill_tokens_per_second": round(len(prompt) / max(read_seconds, 1e-6), 1),
        "tokens_per_second": round((_TOKENS - 1) / max(time.monotonic() - began, 1e-6), 1),
        "error": "" if text.startswith(KNOWN) else "the model's answer is not the known one",
    }


def main() -> int:
    """Print the findings; returns the exit code."""
    parser = argparse.ArgumentParser(description="Test the llama.cpp build of this installation.")
    parser.add_argument("model", nargs="?", type=Path, help="a chat model in GGUF form")
    parser.add_argument("--json", action="store_true", help="output is always JSON; kept for clarity")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"ok": True, "error": "", "llama_cpp": version("llama-cpp-python")}
    try:
        found["system_info"] = system_info()
        if arguments.model is not None:
            found.update(probe(arguments.model))
    except LocalragError as error:
        found.update(ok=False, error=str(error))
    print(json.dumps(found, ensure_ascii=False))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
