"""The size of the context: what a token costs, and what fits the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import psutil
import pytest

from localrag.engine import sizing
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.kv_cache import bytes_per_token
from localrag.engine.tuned import Tuning
from tests.engine.test_gguf import write

MIB = 1024 * 1024
TUNED = Tuning("m", threads=7, sequences=32, width=40, batch=256, kv_type="f16")


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
    assert bytes_per_token(described(tmp_path)) == 2 * 2 * 2 * (8 + 8)
    wide = described(tmp_path, lambda writer: writer.add_key_length(64))
    assert bytes_per_token(wide) == 2 * 2 * 2 * (64 + 64)
    uneven = described(
        tmp_path, lambda writer: writer.add_key_length(64), lambda writer: writer.add_value_length(32)
    )
    assert bytes_per_token(uneven) == 2 * 2 * 2 * (64 + 32)


def test_what_is_given_is_kept(tmp_path: Path) -> None:
    assert sizing.choose(described(tmp_path), n_ctx=700, sequences=3, threads=5) == sizing.Size(
        700, 3, 5, batch=256, width=32, ubatch=256
    )
    given = sizing.choose(
        described(tmp_path), n_ctx=4096, sequences=9, threads=2, batch=128, width=64, ubatch=32, tuned=TUNED
    )
    assert given == sizing.Size(4096, 9, 2, batch=128, width=64, ubatch=32)


def test_what_was_measured_fills_what_is_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 64_000)
    size = sizing.choose(described(tmp_path), tuned=TUNED)
    assert size == sizing.Size(sizing.cells_for(32), 32, 7, batch=256, width=40, ubatch=256)
    assert sizing.choose(described(tmp_path), threads=1, tuned=TUNED).threads == 1
    # A measurement that failed has no values.
    assert sizing.choose(described(tmp_path), tuned=Tuning("m", failed="x")).sequences == 32


def test_steps_are_never_longer_than_the_context_and_one_another(tmp_path: Path) -> None:
    size = sizing.choose(described(tmp_path), n_ctx=512, batch=4096, width=2048, ubatch=4096)
    assert (size.batch, size.width, size.ubatch) == (512, 512, 512)


def test_memory_limits_what_was_measured_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = described(tmp_path, lambda writer: writer.add_key_length(4096))
    free(monkeypatch, 600)
    few = sizing.choose(wide, tuned=TUNED)
    assert few.sequences < 32
    # A packed cache holds more.
    assert sizing.choose(wide, tuned=TUNED, kv_type="q8_0").n_ctx > few.n_ctx


def test_a_small_machine_reads_fewer_texts_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = described(tmp_path, lambda writer: writer.add_key_length(4096))
    free(monkeypatch, 64_000)
    assert sizing.choose(wide).sequences == 32
    free(monkeypatch, 600)
    small = sizing.choose(wide)
    assert small.sequences < 32
    assert small.n_ctx * bytes_per_token(wide) <= 0.35 * 600 * MIB


@pytest.mark.parametrize("context", [100, 2048])
def test_there_is_always_some_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: int) -> None:
    free(monkeypatch, 0)
    size = sizing.choose(described(tmp_path, context=context))
    assert size.n_ctx >= 256
    assert size.sequences == 1
