"""Looking into model files: whole ones, damaged ones, hostile ones."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.gguf import GgufInfo, inspect
from localrag.errors import ModelInvalid, ModelNotFound
from tests.examples import examples

Fill = Callable[[gguf.GGUFWriter], None]


def write(path: Path, fill: Fill | None = None, arch: str = "llama") -> Path:
    """A small but complete model file; `fill` adds metadata."""
    writer = gguf.GGUFWriter(path, arch=arch)
    writer.add_name("tiny")
    writer.add_context_length(128)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "b", "c"])
    if fill:
        fill(writer)
    writer.add_tensor("token_embd.weight", np.zeros((3, 32), np.float32))
    writer.add_tensor("output_norm.weight", np.zeros(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def key(name: str, kind: int, value: bytes) -> bytes:
    return text(name) + struct.pack("<I", kind) + value


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)


ARCHITECTURE = key("general.architecture", 8, text("llama"))


def raw(
    path: Path,
    keys: list[bytes] | None = None,
    tensors: list[bytes] | None = None,
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
    data: int = 4096,
    order: str = "<",
) -> Path:
    """A file put together by hand, to be wrong in one place."""
    keys = [ARCHITECTURE] if keys is None else keys
    tensors = [tensor("a", (32,))] if tensors is None else tensors
    numbers = counts or (len(tensors), len(keys))
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, *numbers) + b"".join(keys) + b"".join(tensors)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(data))
    return path


def reason(path: Path) -> str:
    with pytest.raises(ModelInvalid) as caught:
        inspect(path)
    assert caught.value.hint
    return caught.value.message


def test_a_chat_model(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_head_count_kv(2)
        writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
        writer.add_chat_template("{{ messages }}")
        writer.add_license("mit")

    path = write(tmp_path / "m.gguf", fill)
    info = inspect(path)
    assert info == GgufInfo(
        path=path,
        size=path.stat().st_size,
        fingerprint=info.fingerprint,
        architecture="llama",
        kind="model",
        name="tiny",
        licence="mit",
        parameters=4 * 32,
        quantisation="Q4_K_M",
        context_length=128,
        embedding_length=32,
        layers=2,
        heads=4,
        kv_heads=2,
        head_size=8,
        value_size=8,
        vocabulary=3,
        tokenizer="gpt2",
        chat_template="{{ messages }}",
        pooling=None,
        tensors=2,
        splits=1,
        sliding_window=0,
        recurrent=False,
        hybrid=False,
        is_embedding=False,
    )
    assert info.fingerprint.startswith("sha256:")
    assert len(info.fingerprint) == 71


@pytest.mark.parametrize(
    ("number", "name", "embeds"),
    [(0, None, True), (1, "mean", True), (2, "cls", True), (3, "last", True), (4, "rank", False)],
)
def test_pooling_of_an_encoder(tmp_path: Path, number: int, name: str | None, embeds: bool) -> None:
    info = inspect(
        write(tmp_path / "m.gguf", lambda w: w.add_pooling_type(gguf.PoolingType(number)), arch="bert")
    )
    assert info.pooling == name
    assert info.is_embedding is embeds


def test_a_decoder_with_pooling_makes_vectors(tmp_path: Path) -> None:
    info = inspect(
        write(tmp_path / "m.gguf", lambda w: w.add_pooling_type(gguf.PoolingType.LAST), arch="qwen3")
    )
    assert info.is_embedding
    assert info.pooling == "last"


def test_hints_about_the_cache(tmp_path: Path) -> None:
    window = inspect(write(tmp_path / "w.gguf", lambda w: w.add_sliding_window(512), arch="gemma3"))
    assert (window.sliding_window, window.recurrent) == (512, False)
    assert inspect(write(tmp_path / "r.gguf", arch="mamba2")).recurrent
    state = inspect(write(tmp_path / "s.gguf", lambda w: w.add_ssm_state_size(16)))
    assert state.recurrent


def test_values_per_layer_and_without_file_type(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        writer.add_head_count_kv([1, 8])

    info = inspect(write(tmp_path / "m.gguf", fill))
    assert info.kv_heads == 8
    assert info.quantisation == "F32"


def test_without_a_name_the_files_name_is_taken(tmp_path: Path) -> None:
    assert inspect(raw(tmp_path / "some-model.gguf")).name == "some-model"


def test_texts_cannot_command_a_terminal(tmp_path: Path) -> None:
    keys = [ARCHITECTURE, key("general.name", 8, text(b"\x1b[2Jname\xff\n" + b"x" * 5000))]
    name = inspect(raw(tmp_path / "m.gguf", keys)).name
    assert name.isprintable()
    assert len(name) <= 200
    path = tmp_path / "\x1b[31mred.gguf"
    path.write_bytes(b"nothing")
    assert "\x1b" not in reason(path)


def test_a_copy_has_the_same_fingerprint_and_another_file_has_not(tmp_path: Path) -> None:
    one = inspect(write(tmp_path / "a.gguf")).fingerprint
    (tmp_path / "b.gguf").write_bytes((tmp_path / "a.gguf").read_bytes())
    assert inspect(tmp_path / "b.gguf").fingerprint == one
    assert inspect(write(tmp_path / "c.gguf", lambda w: w.add_license("mit"))).fingerprint != one
    (tmp_path / "d.gguf").write_bytes((tmp_path / "a.gguf").read_bytes() + b"\0")
    assert inspect(tmp_path / "d.gguf").fingerprint != one


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound):
        inspect(tmp_path / "none.gguf")
    with pytest.raises(ModelInvalid, match="folder"):
        inspect(tmp_path)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a wheel", b"plain text, no model at all"])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    assert "is not a GGUF model file" in reason(path)


def test_versions_and_byte_order(tmp_path: Path) -> None:
    assert inspect(raw(tmp_path / "m.gguf", version=2)).architecture == "llama"
    assert "version 1" in reason(raw(tmp_path / "m.gguf", version=1))
    assert "version 77" in reason(raw(tmp_path / "m.gguf", version=77))
    assert "big-endian" in reason(raw(tmp_path / "m.gguf", order=">"))


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    whole = write(tmp_path / "m.gguf").read_bytes()
    # The writer pads the end, so the last bytes may be missing without loss.
    needed = len(whole) - (-(32 * 4) % 32)
    path = tmp_path / "cut.gguf"
    for length in range(needed):
        path.write_bytes(whole[:length])
        message = reason(path)
        if length >= 24:
            assert "truncated" in message


def test_missing_tensor_data_is_told_with_both_numbers(tmp_path: Path) -> None:
    path = raw(tmp_path / "m.gguf", tensors=[tensor("a", (1024, 1024))], data=100)
    size = path.stat().st_size
    assert f"{size:,} of {size - 100 + 4 * 1024 * 1024:,} bytes" in reason(path)


BIG = 1 << 62


@pytest.mark.parametrize(
    ("keys", "tensors", "counts", "part"),
    [
        (None, [], None, "no tensors"),
        (None, None, (BIG, 1), "damaged"),
        (None, None, (1, BIG), "damaged"),
        (None, None, (1, 60_000), "twice"),
        (None, None, (200_000, 1), "dimensions"),
        ([ARCHITECTURE, ARCHITECTURE], None, None, "twice"),
        ([], None, None, "architecture"),
        ([key("general.architecture", 4, bytes(4))], None, None, "architecture"),
        ([struct.pack("<Q", BIG) + b"x"], None, (1, 1), "damaged"),
        ([key("k", 8, struct.pack("<Q", BIG))], None, (1, 1), "damaged"),
        ([key("k", 8, struct.pack("<Q", 100 << 20))], None, (1, 1), "truncated"),
        ([key("k", 13, b"")], None, (1, 1), "unknown type 13"),
        ([key("k", 9, struct.pack("<IQ", 8, BIG))], None, (1, 1), "items"),
        ([key("k", 9, struct.pack("<IQ", 8, 100) + struct.pack("<Q", BIG))], None, (1, 1), "truncated"),
        ([key("k", 9, struct.pack("<IQ", 0, BIG))], None, (1, 1), "items"),
        ([key("k", 9, struct.pack("<IQ", 9, 1))], None, (1, 1), "unknown type 9"),
        ([ARCHITECTURE, key("general.alignment", 4, struct.pack("<I", 7))], None, None, "alignment"),
        ([ARCHITECTURE, key("general.alignment", 5, struct.pack("<i", -8))], None, None, "alignment"),
        (None, [tensor("a", (32,)), tensor("a", (32,))], None, "twice"),
        (None, [tensor("a", ())], None, "dimensions"),
        (None, [tensor("a", (1, 1, 1, 1, 1))], None, "dimensions"),
        (None, [tensor("a", (0,))], None, "shape"),
        (None, [tensor("a", (1 << 40, 1 << 40))], None, "shape"),
        (None, [tensor("a", (33,), kind=2)], None, "shape"),
        (None, [tensor("a", (32,), offset=5)], None, "shape"),
        (None, [tensor("a", (32,), offset=BIG)], None, "truncated"),
        (None, [tensor("a", (32,), kind=4)], None, "type 4"),
        (None, [tensor("a", (32,), kind=999)], None, "type 999"),
    ],
)
def test_hostile_headers(
    tmp_path: Path,
    keys: list[bytes] | None,
    tensors: list[bytes] | None,
    counts: tuple[int, int] | None,
    part: str,
) -> None:
    started = time.perf_counter()
    assert part in reason(raw(tmp_path / "m.gguf", keys, tensors, counts=counts))
    assert time.perf_counter() - started < 2


def test_a_huge_sparse_file_is_not_read(tmp_path: Path) -> None:
    """Its header could be as long as it says: the bound is ours."""
    path = tmp_path / "m.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + key("k", 9, struct.pack("<IQ", 0, 1 << 38)))
        file.truncate(1 << 39)
    started = time.perf_counter()
    assert "MiB" in reason(path)
    assert time.perf_counter() - started < 2


def test_a_large_vocabulary_is_passed_over_quickly(tmp_path: Path) -> None:
    words = b"".join(text(f"word{n}") for n in range(250_000))
    keys = [
        ARCHITECTURE,
        key("tokenizer.ggml.model", 8, text("t5")),
        key("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 250_000) + words),
        key("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 250_000) + bytes(1_000_000)),
    ]
    path = raw(tmp_path / "m.gguf", keys)
    inspect(path)
    started = time.process_time()
    info = inspect(path)
    assert time.process_time() - started < 0.6  # 0.05 s when nothing else runs
    assert info.vocabulary == 250_000


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_read_but_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    whole = folder / "whole.gguf"
    if not whole.exists():
        write(whole, lambda w: w.add_head_count_kv([1, 8]))
    content = bytearray(whole.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + 1] = data.draw(st.binary(min_size=0, max_size=9))
    damaged = folder / f"damaged-{os.getpid()}.gguf"
    damaged.write_bytes(content)
    try:
        info = inspect(damaged)
    except ModelInvalid:
        return
    assert info.name.isprintable()
    assert info.tensors > 0
