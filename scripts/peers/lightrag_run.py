"""Reads passages with LightRAG, each into a graph of its own, and keeps what each gave as one JSON line.

Run by scripts/bench-lightrag with the Python of LightRAG's own environment; localrag is not importable there.
Passages that the output file holds already are left out, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import itertools
import json
import logging
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from lightrag import LightRAG
from lightrag.utils import EmbeddingFunc, Tokenizer, TruncatedResponse, logger
from llama_cpp import Llama

_DIMENSION = 64
_CONTEXT = 8192
_UNKNOWN = "UNKNOWN"
_ROW_ERROR = re.compile(r"output format error|found \d+/\d+", re.IGNORECASE)
_PATIENCE = 6 * 3600


class Single:
    """What exists once: LightRAG copies its settings deeply, and with them it would copy a loaded model."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Single:
        return self


class ModelTokens(Single):
    """The model's own tokenizer in the form that LightRAG asks for; its default one is downloaded."""

    def __init__(self, path: str) -> None:
        self._llama = Llama(path, vocab_only=True, verbose=False)

    def encode(self, content: str) -> list[int]:
        """Token ids of a text, nothing of it a control token."""
        return list(self._llama.tokenize(content.encode("utf-8"), add_bos=False, special=False))

    def decode(self, tokens: list[int]) -> str:
        """The text of token ids."""
        return self._llama.detokenize(tokens).decode("utf-8", errors="replace")


class Calls(Single):
    """The model, one call after another, and a record of each call."""

    def __init__(self, path: str, threads: int, most: int) -> None:
        self._llama = Llama(path, n_ctx=_CONTEXT, n_batch=512, n_threads=threads, verbose=False)
        self._most = most
        self._lock = asyncio.Lock()
        self.made: list[dict[str, Any]] = []

    async def __call__(
        self,
        prompt: str,
        system_prompt: str | None = None,
        history_messages: list[dict[str, str]] | None = None,
        **_others: Any,
    ) -> str:
        """Answer as one of LightRAG's own bindings does: a text, marked if the token bound cut it."""
        messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
        messages += [*(history_messages or []), {"role": "user", "content": prompt}]
        async with self._lock:
            began = time.monotonic()
            answer = await asyncio.to_thread(
                self._llama.create_chat_completion, messages, max_tokens=self._most, temperature=0.0, seed=0
            )
        choice = answer["choices"][0]
        text = choice["message"]["content"] or ""
        cut = choice["finish_reason"] == "length"
        self.made.append(
            {
                "seconds": round(time.monotonic() - began, 2),
                "prompt_tokens": answer["usage"]["prompt_tokens"],
                "output_tokens": answer["usage"]["completion_tokens"],
                "finish": choice["finish_reason"],
                "text": text,
            }
        )
        return TruncatedResponse(text) if cut else text


class RowErrors(logging.Handler):
    """Counts the rows that LightRAG drops: it only tells its log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.rows = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        self.rows += bool(_ROW_ERROR.search(record.getMessage()))


async def embed(texts: list[str], **_others: Any) -> np.ndarray:
    """Vectors that cost nothing: nothing is searched here, and equal texts get equal ones."""
    rows = []
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")
        row = np.random.default_rng(seed).normal(size=_DIMENSION)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows, dtype=np.float32)


async def read(item: dict[str, Any], calls: Calls, tokenizer: Tokenizer, errors: RowErrors) -> dict[str, Any]:
    """One passage's graph, and what it cost."""
    calls.made.clear()
    errors.rows = 0
    with tempfile.TemporaryDirectory(prefix="lightrag-") as folder:
        rag = LightRAG(
            working_dir=folder,
            llm_model_func=calls,
            llm_model_name="local",
            tokenizer=tokenizer,
            embedding_func=EmbeddingFunc(embedding_dim=_DIMENSION, max_token_size=8192, func=embed),
            # Its own bound of four minutes would end calls on a busy machine, not on this one alone.
            default_llm_timeout=_PATIENCE,
        )
        await rag.initialize_storages()
        began, spent = time.monotonic(), time.process_time()
        await rag.ainsert(item["text"])
        seconds, cpu = time.monotonic() - began, time.process_time() - spent
        graph = rag.chunk_entity_relation_graph
        nodes, edges = await graph.get_all_nodes(), await graph.get_all_edges()
        await rag.finalize_storages()
    return {
        "id": item["id"],
        "entities": [{"name": node_name(n), "type": n.get("entity_type", "")} for n in nodes],
        "relations": [{"source": e["source"], "target": e["target"]} for e in edges],
        # An end that was named in a relation only becomes a node of this type.
        "orphans": sorted(node_name(n) for n in nodes if n.get("entity_type") == _UNKNOWN),
        "dropped": errors.rows,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "calls": list(calls.made),
    }


def node_name(node: dict[str, Any]) -> str:
    """The name of a node; storages name the field differently."""
    return str(node.get("id") or node.get("entity_id"))


def wanted(data: Path, name: str, tier: str, limit: int) -> list[dict[str, Any]]:
    """The first passages of a set's tier."""
    allowed = {"XS": {"XS"}, "S": {"XS", "S"}}.get(tier)
    lines = (data / name / "extraction.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if allowed is None or row.get("tier") in allowed][:limit]


async def main() -> None:
    """Read what is not there yet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", dest="sets", action="append", required=True)
    parser.add_argument("--tier", default="S")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--max-tokens", type=int, default=1024)
    parser.add_argument("--out", type=Path, required=True, help="Folder of the results, a file a set.")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    errors = RowErrors()
    logger.addHandler(errors)
    logger.setLevel(logging.WARNING)
    tokenizer = Tokenizer("local", ModelTokens(options.model))
    calls = Calls(options.model, options.threads, options.max_tokens)
    paths = {name: options.out / f"{name}.jsonl" for name in options.sets}
    there = {name: read_before(path) for name, path in paths.items()}
    items = {name: wanted(options.data, name, options.tier, options.limit) for name in options.sets}
    # One of each set in turn, so that an interrupted run tells something of all.
    for turn in itertools.zip_longest(*items.values()):
        for name, item in zip(items, turn, strict=True):
            if item is None or item["id"] in there[name]:
                continue
            row = await read(item, calls, tokenizer, errors)
            append(paths[name], row)
            print(f"{name} {item['id']}: {len(row['entities'])} entities, {row['seconds']:.0f} s", flush=True)


def append(path: Path, row: dict[str, Any]) -> None:
    """Add a line to a file, behind whatever an interruption left of the last one."""
    broken = path.exists() and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" * broken + json.dumps(row, ensure_ascii=False) + "\n")


def read_before(path: Path) -> set[str]:
    """The passages that a file of results holds; a last line that an interruption cut is none."""
    found = set()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            found.add(json.loads(line)["id"])
    return found


if __name__ == "__main__":
    asyncio.run(main())
