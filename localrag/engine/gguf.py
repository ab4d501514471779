"""Looks into a model file without loading it: what it is, whether it is whole, and its fingerprint.

A GGUF file is a header (metadata and a directory of tensors) and then the tensors' bytes. Only the header is
read here. The file may come from anywhere, so every count and length in it is checked against the file's size
and fixed bounds before it is believed.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from localrag.engine.gguf_format import (
    ENCODERS,
    FILE_TYPES,
    POOLING,
    RECURRENT,
    STATE_ONLY,
    TENSOR_TYPES,
    Header,
    Passed,
    Value,
    printable,
    read_value,
    shown_name,
)
from localrag.errors import ModelInvalid, ModelNotFound

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MAX_KEYS: Final = 65_536
_MAX_TENSORS: Final = 262_144
_MAX_NAME: Final = 4_096
_RECURRENT_KEYS: Final = ("ssm.state_size", "ssm.conv_kernel", "wkv.head_size", "shortconv.l_cache")


@dataclass(frozen=True)
class GgufInfo:
    """What a model file says about itself."""

    path: Path
    """The file."""

    size: int
    """Bytes of the file."""

    fingerprint: str
    """`sha256:` and the hash of the file's size and header: the same for every copy of the file."""

    architecture: str
    """For example `qwen2` or `bert`."""

    kind: str
    """`model`, or what else the file calls itself (`adapter`, `mmproj`, `imatrix`)."""

    name: str
    """The name in the metadata, printable and shortened, or the file's stem."""

    licence: str
    """The licence in the metadata, or nothing."""

    parameters: int
    """Number of weights in all tensors."""

    quantisation: str
    """For example `Q4_K_M`: the file's own word, or else the type that most of its bytes have."""

    context_length: int
    """Tokens that the model was trained for; 0 if not said."""

    embedding_length: int
    """Width of the model, the length of its vectors; 0 if not said."""

    layers: int
    """Blocks of the model."""

    heads: int
    """Attention heads (the most of any layer)."""

    kv_heads: int
    """Key and value heads (the most of any layer); `heads` if not said."""

    head_size: int
    """Numbers of a token's key in one head; 0 if neither they nor width and heads are said."""

    value_size: int
    """Numbers of a token's value in one head; as `head_size` if not said."""

    vocabulary: int
    """Number of tokens."""

    tokenizer: str
    """Kind of tokenizer: `gpt2`, `llama`, `bert`, `t5`; empty if there is none."""

    chat_template: str | None
    """The chat template, as written; it is a program and must be run in a sandbox."""

    pooling: str | None
    """`mean`, `cls`, `last` or `rank`; None if the file does not say."""

    tensors: int
    """Number of tensors."""

    splits: int
    """Files that the model is split into; 1 for a whole one."""

    sliding_window: int
    """Tokens of the attention window in part of the layers; 0 for none. Such a model needs its full cache
    kept to go back to a shared prefix."""

    recurrent: bool
    """Whether it keeps a running state that cannot be cut back to a prefix."""

    hybrid: bool
    """Whether only part of its layers keep such a state, and the others have attention."""

    is_embedding: bool
    """Whether it makes vectors and does not write text."""


def inspect(path: Path) -> GgufInfo:
    """Read the header of a GGUF file.

    Raises `ModelNotFound` if there is no such file and `ModelInvalid`, with the reason, if it is no whole
    GGUF file. Takes milliseconds, some hundred for a vocabulary of 250,000 tokens; reads no tensor.
    """
    try:
        with path.open("rb") as file:
            return _inspect(path, file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise ModelNotFound(f"There is no file {shown_name(path)}.", "Check the path.") from None
    except IsADirectoryError:
        raise ModelInvalid(f"{shown_name(path)} is a folder.", "Name the .gguf file in it.") from None
    except OSError as error:
        raise ModelInvalid(f"{shown_name(path)} cannot be read: {error.strerror or error}.") from error


def _start(header: Header) -> tuple[int, int]:
    """Check magic and version; returns the number of tensors and of metadata keys."""
    if header.size < 4 or header.take(4) != _MAGIC:
        raise header.invalid("is not a GGUF model file")
    version = header.u32()
    if version & 0xFFFF == 0:
        raise header.invalid("is written for big-endian machines, which localrag does not support")
    if version not in _VERSIONS:
        raise header.invalid(f"has GGUF version {version}; versions 2 and 3 can be read")
    tensors, keys = header.u64(), header.u64()
    if tensors == 0:
        raise header.invalid("has no tensors: it holds a vocabulary or nothing, not a model")
    if tensors > _MAX_TENSORS or keys > _MAX_KEYS:
        raise header.invalid(f"announces {tensors} tensors and {keys} metadata keys: it is damaged")
    return tensors, keys


def _metadata(header: Header, keys: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for _ in range(keys):
        key = header.text(_MAX_NAME)
        if key in found:
            raise header.invalid("has the same metadata key twice: it is damaged")
        found[key] = read_value(header, header.u32())
    return found


def _tensors(header: Header, count: int, alignment: int) -> tuple[int, Counter[str], int]:
    """Read the directory; returns the weights, the bytes of each type, and where the data ends."""
    weights, types, end = 0, Counter[str](), 0
    names: set[str] = set()
    for _ in range(count):
        name = header.text(_MAX_NAME)
        if name in names:
            raise header.invalid("has the same tensor twice: it is damaged")
        names.add(name)
        dimensions = header.u32()
        if not 1 <= dimensions <= 4:
            raise header.invalid(f"has a tensor of {dimensions} dimensions: it is damaged")
        shape = [header.u64() for _ in range(dimensions)]
        kind, offset = header.u32(), header.u64()
        if kind not in TENSOR_TYPES:
            raise header.invalid(f"has tensors of type {kind}, which this version cannot read")
        type_name, block, block_bytes = TENSOR_TYPES[kind]
        elements = 1
        for length in shape:
            elements *= length
        if not 0 < elements < 1 << 63 or shape[0] % block or offset % alignment:
            raise header.invalid("has a tensor of impossible shape: it is damaged")
        bytes_ = elements // block * block_bytes
        weights += elements
        types[type_name] += bytes_
        end = max(end, offset + bytes_)
    return weights, types, end


def _inspect(path: Path, file: BinaryIO, size: int) -> GgufInfo:
    header = Header(path, file, size)
    tensor_count, keys = _start(header)
    metadata = _metadata(header, keys)
    alignment = _number(metadata, "general.alignment") or 32
    if alignment <= 0 or alignment & (alignment - 1) or alignment > 1 << 20:
        raise header.invalid(f"has an alignment of {alignment}: it is damaged")
    weights, types, data_end = _tensors(header, tensor_count, alignment)
    needed = -(-header.position // alignment) * alignment + data_end
    if needed > size:
        raise header.invalid(f"is truncated: it has {size:,} of {needed:,} bytes")
    digest = hashlib.sha256(b"%d\n" % size)
    digest.update(header.read_bytes())
    return _describe(path, size, metadata, weights, types, tensor_count, f"sha256:{digest.hexdigest()}")


def _describe(
    path: Path,
    size: int,
    metadata: Mapping[str, Value],
    weights: int,
    types: Counter[str],
    tensors: int,
    fingerprint: str,
) -> GgufInfo:
    architecture = _text(metadata, "general.architecture")
    if not architecture:
        raise ModelInvalid(
            f"{shown_name(path)} does not name its architecture: it is not a language model.",
            "Take another file.",
        )
    own = {
        key.removeprefix(f"{architecture}."): value
        for key, value in metadata.items()
        if key.startswith(f"{architecture}.")
    }
    heads = _number(own, "attention.head_count")
    recurrent = architecture in RECURRENT or any(_number(own, key) for key in _RECURRENT_KEYS)
    width = _number(own, "embedding_length")
    # Some models have heads that are wider than their share of the width.
    head_size = _number(own, "attention.key_length") or width // max(heads, 1)
    pooling = POOLING.get(_number(own, "pooling_type"))
    encoder = architecture in ENCODERS or own.get("attention.causal") is False
    template = metadata.get("tokenizer.chat_template")
    return GgufInfo(
        path=path,
        size=size,
        fingerprint=fingerprint,
        architecture=printable(architecture),
        kind=printable(_text(metadata, "general.type")) or "model",
        name=printable(_text(metadata, "general.name")) or printable(path.stem),
        licence=printable(_text(metadata, "general.license")),
        parameters=weights,
        quantisation=_quantisation(metadata, types),
        context_length=_number(own, "context_length"),
        embedding_length=width,
        layers=_number(own, "block_count"),
        heads=heads,
        kv_heads=_number(own, "attention.head_count_kv") or heads,
        head_size=head_size,
        value_size=_number(own, "attention.value_length") or head_size,
        vocabulary=_length(metadata.get("tokenizer.ggml.tokens")) or _number(own, "vocab_size"),
        tokenizer=printable(_text(metadata, "tokenizer.ggml.model")),
        chat_template=template if isinstance(template, str) and template.strip() else None,
        pooling=pooling,
        tensors=tensors,
        splits=max(1, _number(metadata, "split.count")),
        sliding_window=_number(own, "attention.sliding_window"),
        recurrent=recurrent,
        hybrid=recurrent and architecture not in STATE_ONLY,
        is_embedding=pooling != "rank" and (encoder or pooling is not None),
    )


def _text(metadata: Mapping[str, Value], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _number(metadata: Mapping[str, Value], key: str) -> int:
    """A whole number, the largest where there is one per layer, or 0."""
    value = metadata.get(key)
    if isinstance(value, tuple):
        return max((item for item in value if isinstance(item, int)), default=0)
    return value if isinstance(value, int) else 0


def _length(value: Value | None) -> int:
    if isinstance(value, Passed):
        return value.count
    return len(value) if isinstance(value, tuple) else 0


def _quantisation(metadata: Mapping[str, Value], types: Counter[str]) -> str:
    if "general.file_type" in metadata:
        # A guessed file type has a flag above the number.
        name = FILE_TYPES.get(_number(metadata, "general.file_type") & 1023, "-")
        if name != "-":
            return name
    return types.most_common(1)[0][0]
