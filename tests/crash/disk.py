"""What a disk may hold after the power failed: worked out from the recorded operations of a program.

What was synced is there. Of each write since then anything between nothing and all may be there, in parts of
512 bytes; a change of a file's length may be there or not; a removed file may be back until the next sync.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

SECTOR = 512
_HEAD = struct.Struct("<cIIQI")


@dataclass(frozen=True, repr=False)
class Operation:
    """One operation of the program."""

    kind: str
    """`o`pened, `w`ritten, `t`runcated, `s`ynced, `u`nlinked."""

    process: int
    """The process that did it."""

    file: int
    """The number under which the file was open in that process."""

    offset: int
    """Where it was written, or the new length."""

    data: bytes
    """What was written, or the path."""


def read_record(path: Path) -> list[Operation]:
    """The operations in their order."""
    raw = path.read_bytes()
    found = []
    at = 0
    while at < len(raw):
        kind, process, file, offset, length = _HEAD.unpack_from(raw, at)
        at += _HEAD.size
        found.append(Operation(kind.decode(), process, file, offset, raw[at : at + length]))
        at += length
    return found


@dataclass(repr=False)
class File:
    """A file on its way to the disk."""

    durable: bytearray = field(default_factory=bytearray)
    """What is on the disk for certain."""

    pending: list[Operation] = field(default_factory=list)
    """What may be on it."""

    gone: bool = False
    """Whether it was removed, and that may not be on the disk yet."""


class Disk:
    """The files of one folder at one moment of the record."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.files: dict[str, File] = {}
        self._open: dict[tuple[int, int], str] = {}
        for operation in operations:
            self._take(operation)

    def _take(self, operation: Operation) -> None:
        named = operation.kind in "ou"
        name = Path(operation.data.decode()).name if named else self._open[operation.process, operation.file]
        if operation.kind == "o":
            self._open[operation.process, operation.file] = name
            if not Path(name).suffix:
                return  # the folder itself, opened to be synced
            if name not in self.files or self.files[name].gone:
                self.files[name] = File()
        elif operation.kind == "u":
            if name in self.files:
                self.files[name].gone = True
        elif operation.kind == "s":
            self._sync(name)
        else:
            self.files[name].pending.append(operation)

    def _sync(self, name: str) -> None:
        if (file := self.files.get(name)) is not None:
            for operation in file.pending:
                _apply(file.durable, operation)
            file.pending.clear()
        self.files = {name: file for name, file in self.files.items() if not file.gone}

    def seen(self, name: str) -> bytes:
        """A file as programs saw it, whether or not it was on the disk."""
        file = self.files.get(name, File())
        content = bytearray(file.durable)
        for operation in file.pending:
            _apply(content, operation)
        return bytes(content)

    def write_to(self, folder: Path, chance: random.Random) -> None:
        """Write files as the disk may hold them."""
        keep_all = chance.random() < 0.1
        for name, file in self.files.items():
            if file.gone and (keep_all or chance.random() < 0.5):
                continue
            content = bytearray(file.durable)
            for operation in file.pending:
                for part in [operation] if keep_all else _parts(operation, chance):
                    _apply(content, part)
            (folder / name).write_bytes(content)


def _parts(operation: Operation, chance: random.Random) -> Iterator[Operation]:
    """What of an operation reached the disk."""
    fate = chance.random()
    if fate < 0.35:
        return
    if fate < 0.7 or operation.kind == "t":
        yield operation
        return
    start = 0
    while start < len(operation.data):
        end = start + SECTOR - (operation.offset + start) % SECTOR
        if chance.random() < 0.5:
            yield replace(operation, offset=operation.offset + start, data=operation.data[start:end])
        start = end


def _apply(content: bytearray, operation: Operation) -> None:
    if operation.kind == "t":
        if operation.offset < len(content):
            del content[operation.offset :]
        else:
            content.extend(bytes(operation.offset - len(content)))
        return
    end = operation.offset + len(operation.data)
    if end > len(content):
        content.extend(bytes(end - len(content)))
    content[operation.offset : end] = operation.data
