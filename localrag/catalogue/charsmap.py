"""A tokenizer's table of normalised characters, packed as the double array that llama.cpp walks.

Layout: the array's bytes as u32, the array of u32 units, then the replacements as NUL-terminated UTF-8. A
unit holds the byte that leads to it (bits 0-7), whether a value ends there (bit 8) and the offset of its
block (bits 10-30): the block of unit i is i XOR offset, and the child for byte c is unit block XOR c. A value
is the block's unit for byte 0, with bit 31 set: the position of a replacement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from localrag.errors import ModelInvalid

_VALUE: Final = -1
_HAS_VALUE: Final = 1 << 8
_IS_VALUE: Final = 1 << 31
_OFFSET_SHIFT: Final = 10

Node = dict[int, "Node | int"]
"""Children by byte; under `_VALUE` the position of the replacement that ends here."""


def build_charsmap(table: Mapping[str, str]) -> bytes:
    """Pack a table from single characters to their replacements (empty: delete), and check the result.

    The same table gives the same bytes. Raises `ModelInvalid` if the packed table does not answer as the
    given one does.
    """
    if not table:
        raise ModelInvalid("The model's table of characters is empty.")
    positions, texts = _replacements(table)
    root: Node = {}
    for character, replacement in table.items():
        node = root
        for byte in character.encode("utf-8"):
            child = node.setdefault(byte, {})
            assert isinstance(child, dict)
            node = child
        node[_VALUE] = positions[replacement]
    units = _place(root)
    packed = (units.nbytes).to_bytes(4, "little") + units.tobytes() + texts
    for character, replacement in table.items():
        if look_up(units, texts, character) != replacement:
            raise ModelInvalid(f"The table of characters is wrong for U+{ord(character):04X}.")
    return packed


def look_up(units: NDArray[np.uint32], texts: bytes, character: str) -> str | None:
    """The replacement of a character, found as the tokenizer finds it; None if it has none."""
    at = 0
    for byte in character.encode("utf-8"):
        unit = int(units[at])
        at ^= (unit >> _OFFSET_SHIFT & 0x1FFFFF) ^ byte
        if int(units[at]) & 0xFF != byte or int(units[at]) & _IS_VALUE:
            return None
    unit = int(units[at])
    if not unit & _HAS_VALUE:
        return None
    start = int(units[at ^ (unit >> _OFFSET_SHIFT & 0x1FFFFF)]) & ~_IS_VALUE
    return texts[start : texts.index(b"\0", start)].decode("utf-8")


def unpack_charsmap(packed: bytes) -> tuple[NDArray[np.uint32], bytes]:
    """Units and replacements of a packed table."""
    length = int.from_bytes(packed[:4], "little")
    return np.frombuffer(packed, "<u4", length // 4, 4).astype(np.uint32), packed[4 + length :]


def _replacements(table: Mapping[str, str]) -> tuple[dict[str, int], bytes]:
    """Each different replacement once, and where it starts."""
    positions: dict[str, int] = {}
    texts = bytearray()
    for replacement in table.values():
        if replacement not in positions:
            positions[replacement] = len(texts)
            texts += replacement.encode("utf-8") + b"\0"
    return positions, bytes(texts)


def _place(root: Node) -> NDArray[np.uint32]:
    """Give every node a block of its own and fill the units.

    Two nodes never share a block, even where their bytes differ: a walk through one would match in the other.
    Nodes are placed depth first, the last child first, each at the first free unit that leaves room for all
    its bytes; the published hash of the converted model depends on this order.
    """
    units: dict[int, int] = {}
    taken: set[int] = {0}
    blocks: set[int] = {0}
    first_free = 1
    waiting: list[tuple[int, int, Node]] = [(0, 0, root)]
    while waiting:
        at, label, node = waiting.pop()
        places = sorted(max(byte, 0) for byte in node)
        while first_free in taken:
            first_free += 1
        free = first_free
        while True:
            block = free ^ places[0]
            if block not in blocks and all(block ^ place not in taken for place in places):
                break
            free += 1
        blocks.add(block)
        taken.update(block ^ place for place in places)
        units[at] = (at ^ block) << _OFFSET_SHIFT | label
        for byte, child in sorted(node.items()):
            if isinstance(child, int):
                units[at] |= _HAS_VALUE
                units[block] = _IS_VALUE | child
            else:
                waiting.append((block ^ byte, byte, child))
    # A whole number of 256: whatever byte is looked up, block XOR byte stays inside.
    array = np.zeros((max(taken) // 256 + 1) * 256, np.uint32)
    for at, unit in units.items():
        array[at] = unit
    return array
