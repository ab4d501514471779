"""Reads the header of a GGUF file piece by piece, believing nothing in it; the format's numbers and names."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from localrag.errors import ModelInvalid


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


STRING: Final = 8
"""Metadata type of a text: its length in bytes as u64, then UTF-8."""

ARRAY: Final = 9
"""Metadata type of an array: type of the items as u32, their number as u64, the items."""

NUMBERS: Final[Mapping[int, struct.Struct]] = {
    number: struct.Struct(f"<{code}")
    for number, code in zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True)
}
"""Metadata types of fixed size."""

TENSOR_TYPES: Final[Mapping[int, tuple[str, int, int]]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}
"""Tensor type: its name, the weights in a block, the bytes of a block. A row is a whole number of blocks."""

FILE_TYPES: Final[Mapping[int, str]] = dict(
    enumerate(
        _words(
            "F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M "
            "Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M "
            "BF16 - - - TQ1_0 TQ2_0 MXFP4 NVFP4 Q1_0"
        )
    )
)
"""Value of `general.file_type`: the mixture of tensor types; `-` for numbers no longer in use."""

POOLING: Final[Mapping[int, str]] = {1: "mean", 2: "cls", 3: "last", 4: "rank"}
"""Value of `<architecture>.pooling_type`; 0 is none."""

ENCODERS: Final = frozenset(
    _words(
        "bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert "
        "gemma-embedding t5encoder llama-embed"
    )
)
"""Architectures that make vectors and cannot write."""

STATE_ONLY: Final = frozenset(_words("mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7"))
"""Architectures that keep nothing but a running state of what they read."""

RECURRENT: Final = STATE_ONLY | frozenset(
    _words(
        "jamba falcon-h1 granitehybrid nemotron_h nemotron_h_moe plamo2 lfm2 lfm2moe qwen3next qwen35 "
        "qwen35moe qwen4exp kimi-linear kimi-k3 bailingmoe3 glm5-next deepseek4 minimax-01"
    )
)
"""Architectures with a running state in some layer, which cannot be cut back to a prefix."""

_MAX_HEADER: Final = 128 << 20
_MAX_STRINGS: Final = 6_000_000
_MAX_ITEMS: Final = 65_536
_READ_STEP: Final = 1 << 20
_U32: Final = struct.Struct("<I")
_U64: Final = struct.Struct("<Q")

Scalar = int | float | bool | str


@dataclass(frozen=True)
class Passed:
    """An array whose items were passed over."""

    count: int


Value = Scalar | tuple[Scalar, ...] | Passed


class Header:
    """The file's beginning, read as far as it is asked for, in little-endian order."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path = path
        self.size = size
        self.position = 0
        self._file = file
        self._bytes = bytearray()
        self._strings_left = _MAX_STRINGS
        self.items_left = _MAX_ITEMS

    def invalid(self, reason: str) -> ModelInvalid:
        return ModelInvalid(
            f"{shown_name(self.path)} {reason}.", "Fetch or copy it again, or take another file."
        )

    def read_bytes(self) -> bytes:
        """Everything up to the position."""
        return bytes(self._bytes[: self.position])

    def _fill(self, end: int) -> None:
        if end > self.size:
            raise self.invalid("ends inside its header: it is truncated")
        if end > _MAX_HEADER:
            raise self.invalid(f"has a header of more than {_MAX_HEADER >> 20} MiB: it is damaged")
        while len(self._bytes) < end:
            piece = self._file.read(max(_READ_STEP, end - len(self._bytes)))
            if not piece:
                raise self.invalid("ends inside its header: it is truncated")
            self._bytes += piece

    def take(self, count: int) -> bytes:
        end = self.position + count
        if end > len(self._bytes):
            self._fill(end)
        piece = bytes(self._bytes[self.position : end])
        self.position = end
        return piece

    def u32(self) -> int:
        return int(_U32.unpack(self.take(4))[0])

    def u64(self) -> int:
        return int(_U64.unpack(self.take(8))[0])

    def text(self, limit: int = _MAX_HEADER) -> str:
        length = self.u64()
        if length > limit:
            raise self.invalid(f"has a text of {length} bytes in its header: it is damaged")
        return self.take(length).decode("utf-8", errors="replace")

    def skip(self, count: int) -> None:
        end = self.position + count
        if end > len(self._bytes):
            self._fill(end)
        self.position = end

    def skip_strings(self, count: int) -> None:
        """Pass over many strings; the one loop that has to be fast (a vocabulary has 250,000 and more)."""
        self._strings_left -= count
        if self._strings_left < 0:
            raise self.invalid("lists more words than any vocabulary has: it is damaged")
        position, unpack, data = self.position, _U64.unpack_from, self._bytes
        known = len(data)
        for _ in range(count):
            if position + 8 > known:
                self._fill(position + 8)
                known = len(data)
            position += 8 + unpack(data, position)[0]
            if position > known:
                self._fill(position)
                known = len(data)
        self.position = position


def read_value(header: Header, kind: int) -> Value:
    if kind == STRING:
        return header.text()
    if kind == ARRAY:
        return _array(header)
    fixed = NUMBERS.get(kind)
    if fixed is None:
        raise header.invalid(f"has metadata of unknown type {kind}: it is damaged or of a newer format")
    scalar: Scalar = fixed.unpack(header.take(fixed.size))[0]
    return scalar


def _array(header: Header) -> tuple[Scalar, ...] | Passed:
    """Read a short array of numbers; pass over strings and long arrays, of which only the length counts."""
    kind, count = header.u32(), header.u64()
    fixed = NUMBERS.get(kind)
    smallest = 8 if kind == STRING else fixed.size if fixed else 0
    if not smallest:
        raise header.invalid(f"has an array of unknown type {kind}: it is damaged or of a newer format")
    if count * smallest > header.size - header.position:
        raise header.invalid(f"announces {count} items that it cannot hold: it is truncated or damaged")
    if fixed is None:
        header.skip_strings(count)
        return Passed(count)
    if count > header.items_left:
        header.skip(count * smallest)
        return Passed(count)
    header.items_left -= count
    return tuple(fixed.unpack(header.take(fixed.size))[0] for _ in range(count))


def shown_name(path: Path) -> str:
    """The file's name without anything that a terminal could take for a command."""
    return printable(path.name or str(path))


def printable(text: str, limit: int = 200) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text[:limit])
