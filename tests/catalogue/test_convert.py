"""The two converters, on small sources of the same form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from localrag.catalogue import convert_e5, convert_minilm
from localrag.catalogue.charsmap import look_up, unpack_charsmap
from localrag.engine.gguf import inspect
from localrag.errors import ModelInvalid
from tests.catalogue.support import CHARACTERS, PIECES, WORDS, e5_source, minilm_source, sha256
from tests.reference_embedding import ReferenceModel, dequantise


def contents(path: Path) -> dict[str, Any]:
    """All metadata of a file."""
    return {name: value.contents() for name, value in gguf.GGUFReader(path).fields.items()}


def weights(path: Path) -> dict[str, Any]:
    """All tensors of a file in float."""
    return {t.name: dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}


@pytest.fixture
def e5(tmp_path: Path) -> tuple[Path, Path]:
    source, target = tmp_path / "source.bin", tmp_path / "target.gguf"
    source.write_bytes(e5_source())
    convert_e5.convert(source, target)
    return source, target


def test_e5_says_what_it_is(e5: tuple[Path, Path]) -> None:
    source, target = e5
    info = inspect(target)
    assert (info.architecture, info.pooling, info.quantisation) == ("bert", "mean", "Q4_0")
    assert (info.layers, info.heads, info.embedding_length, info.context_length) == (2, 4, 32, 16)
    assert info.tensors == 5 + 16 * 2
    found = contents(target)
    assert found["general.source.sha256"] == sha256(source.read_bytes())
    assert found["bert.feed_forward_length"] == 64
    assert found["bert.attention.causal"] is False


def test_e5_keeps_pieces_scores_and_special_ids(e5: tuple[Path, Path]) -> None:
    found = contents(e5[1])
    assert found["tokenizer.ggml.tokens"] == list(PIECES)
    assert found["tokenizer.ggml.scores"][-1] == pytest.approx(-3)
    assert found["tokenizer.ggml.token_type"] == [3, 3, 3, 2, 1, 1, 1, 3]
    ids = ("bos_token_id", "eos_token_id", "unknown_token_id", "seperator_token_id", "padding_token_id")
    assert [found[f"tokenizer.ggml.{name}"] for name in ids] == [0, 2, 3, 2, 1]
    assert found["tokenizer.ggml.mask_token_id"] == len(PIECES) - 1
    for flag in ("add_bos_token", "add_eos_token", "add_space_prefix", "remove_extra_whitespaces"):
        assert found[f"tokenizer.ggml.{flag}"] is True


def test_e5_keeps_the_table_of_characters(e5: tuple[Path, Path]) -> None:
    units, texts = unpack_charsmap(bytes(contents(e5[1])["tokenizer.ggml.precompiled_charsmap"]))
    for character in [*CHARACTERS, "a", "茶", ","]:
        assert look_up(units, texts, character) == CHARACTERS.get(character)


def test_e5_copies_the_weights_without_loss(e5: tuple[Path, Path]) -> None:
    source, target = e5
    data = source.read_bytes()
    taken = {tensor.name: tensor for tensor in convert_e5.read_source(data).tensors}
    found = weights(target)
    assert len(found) == len(taken)
    for name, tensor in taken.items():
        raw = np.frombuffer(data, np.uint8, tensor.size, tensor.offset)
        expected = dequantise(raw) if tensor.quantised else raw.view("<f4")
        ours = found[convert_e5.target_name(name)].reshape(-1)
        if name == "emb.word":
            assert len(ours) == len(PIECES) * 32
            expected = expected[: len(ours)]
        np.testing.assert_array_equal(ours, expected.astype(np.float32))
    assert found["blk.1.ffn_down.weight"].shape == (32, 64)
    assert found["position_embd.weight"].shape == (16, 32)


def test_e5_gives_the_same_bytes_every_time(e5: tuple[Path, Path], tmp_path: Path) -> None:
    convert_e5.convert(e5[0], tmp_path / "again.gguf")
    assert (tmp_path / "again.gguf").read_bytes() == e5[1].read_bytes()


def test_a_damaged_e5_source_is_refused(tmp_path: Path) -> None:
    whole = e5_source()
    for length in range(0, len(whole), 97):
        with pytest.raises(ModelInvalid, match="damaged"):
            convert_e5.read_source(whole[:length])
    for wrong in (b"E5S2" + whole[4:], whole[:4] + b"\2" + whole[5:], whole + b"\0"):
        with pytest.raises(ModelInvalid, match="damaged"):
            convert_e5.read_source(wrong)
    twice = whole.replace("▁b".encode(), "▁a".encode(), 1)
    with pytest.raises(ModelInvalid, match="pieces"):
        convert_e5.read_source(twice)
    with pytest.raises(ModelInvalid, match="unknown tensor"):
        convert_e5.target_name("lx.q.w")


def test_the_reference_reads_the_same_source(e5: tuple[Path, Path]) -> None:
    model = ReferenceModel(e5[0])
    vector = model.embed([0, 4, 6, 2])
    assert vector.shape == (32,)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert not np.allclose(vector, model.embed([0, 5, 6, 2]))
    with pytest.raises(ValueError):
        model.embed([0] * 17)


@pytest.fixture
def minilm(tmp_path: Path) -> tuple[bytes, Path]:
    weights_, vocabulary = minilm_source()
    (tmp_path / "model.safetensors").write_bytes(weights_)
    (tmp_path / "vocab.txt").write_bytes(vocabulary)
    convert_minilm.convert(tmp_path / "model.safetensors", tmp_path / "vocab.txt", tmp_path / "target.gguf")
    return weights_, tmp_path / "target.gguf"


def test_minilm_says_what_it_is(minilm: tuple[bytes, Path]) -> None:
    source, target = minilm
    info = inspect(target)
    assert (info.architecture, info.pooling, info.quantisation, info.tokenizer) == (
        "bert",
        "mean",
        "F16",
        "bert",
    )
    assert (info.layers, info.embedding_length, info.context_length) == (2, 32, 16)
    found = contents(target)
    assert found["general.source.sha256"] == sha256(source)
    assert found["bert.feed_forward_length"] == 64


def test_minilm_marks_the_beginnings_of_words(minilm: tuple[bytes, Path]) -> None:
    found = contents(minilm[1])
    assert found["tokenizer.ggml.tokens"] == [
        "[PAD]",
        "▁[unused0]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "▁tea",
        "s",
        "▁茶",
        "▁!",
    ]
    assert found["tokenizer.ggml.token_type"] == [3, 5, 3, 3, 3, 3, 1, 1, 1, 1]
    assert found["tokenizer.ggml.bos_token_id"] == WORDS.index("[CLS]")
    assert found["tokenizer.ggml.seperator_token_id"] == WORDS.index("[SEP]")


def test_minilm_halves_matrices_and_keeps_the_rest(minilm: tuple[bytes, Path]) -> None:
    source, target = minilm
    taken = convert_minilm.read_source(source, "".join(f"{w}\n" for w in WORDS).encode()).tensors
    types = {t.name: t.tensor_type.name for t in gguf.GGUFReader(target).tensors}
    assert list(types) == list(taken)
    assert "pooler.dense.weight" not in str(types)
    found = weights(target)
    for name, values in taken.items():
        half = values.ndim == 2 and name not in ("position_embd.weight", "token_types.weight")
        assert types[name] == ("F16" if half else "F32")
        expected = values.astype(np.float16).astype(np.float32) if half else values
        np.testing.assert_array_equal(found[name], expected)


def test_an_older_naming_is_understood() -> None:
    assert convert_minilm.target_name("bert.embeddings.LayerNorm.bias") == "token_embd_norm.bias"
    assert convert_minilm.target_name("pooler.dense.weight") is None
    assert convert_minilm.target_name("encoder.layer.3.output.dense.gamma") is None


def test_a_damaged_minilm_source_is_refused() -> None:
    whole, vocabulary = minilm_source()
    for length in range(0, len(whole), 977):
        with pytest.raises(ModelInvalid, match="damaged"):
            convert_minilm.read_source(whole[:length], vocabulary)
    for words in (b"", vocabulary + b"more\n", vocabulary.replace(b"##s", b"tea"), b"\xff\n" * 10):
        with pytest.raises(ModelInvalid, match="damaged"):
            convert_minilm.read_source(whole, words)
    with pytest.raises(ModelInvalid, match="float32"):
        convert_minilm.read_source(whole.replace(b'"F32"', b'"F16"', 1), vocabulary)
    with pytest.raises(ModelInvalid, match="too long"):
        convert_minilm.read_source(b"\xff" * 8 + whole[8:], vocabulary)
