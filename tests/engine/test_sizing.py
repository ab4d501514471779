"""The size of the context: what a token costs, and what fits the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import psutil
import pytest

from localrag.engine import sizing
from localrag.engine.gguf import GgufInfo, inspect
from tests.engine.test_gguf import write

MIB = 1024 * 1024


def described(folder: Path, *more: Callable[[gguf.GGUFWriter], None], context: int | None = None) -> GgufInfo:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_head_count_kv(2)
        for add in more:
            add(writer)
        if context is not None:
            writer.kv_data[0].pop("llama.context_length", None)
            writer.add_context_length(context)

    return inspect(write(folder / "m.gguf", fill))


def free(monkeypatch: pytest.MonkeyPatch, megabytes: int) -> None:
    memory = type("Memory", (), {"available": megabytes * MIB})()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


def test_heads_wider_than_their_share_are_counted_as_they_are(tmp_path: Path) -> None:
    assert sizing.cache_bytes_per_token(described(tmp_path)) == 2 * 2 * 2 * 2 * 8
    wide = described(tmp_path, lambda writer: writer.add_key_length(64))
    assert sizing.cache_bytes_per_token(wide) == 2 * 2 * 2 * 2 * 64


def test_what_is_given_is_kept(tmp_path: Path) -> None:
    assert sizing.choose(described(tmp_path), n_ctx=700, sequences=3, threads=5) == sizing.Size(700, 3, 5)


def test_a_small_machine_reads_fewer_texts_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = described(tmp_path, lambda writer: writer.add_key_length(4096))
    free(monkeypatch, 64_000)
    assert sizing.choose(wide).sequences == 16
    free(monkeypatch, 600)
    small = sizing.choose(wide)
    assert small.sequences < 16
    assert small.n_ctx * sizing.cache_bytes_per_token(wide) <= 0.35 * 600 * MIB


@pytest.mark.parametrize("context", [100, 2048])
def test_there_is_always_some_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int) -> None:
    free(monkeypatch, 0)
    size = sizing.choose(described(tmp_path, context=context))
    assert size.n_ctx >= 256
    assert size.sequences == 1
