"""Shared prefixes: those in the cache of the running context, and those kept on disk between runs.

A kept prefix is a file that holds the native state of one sequence behind a header with the token ids and a
hash of all that follows. It is used only if everything agrees: the model's file, the build, the cache's type,
the token ids and the hash. A file that does not agree is removed and the prefix is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_MAGIC = b"LRAGKV01"
_LENGTH = struct.Struct("<I")
_LONGEST_HEADER = 1 << 22
_SAMPLES = 64
_SAMPLE_BYTES = 4096

SHORTEST = 48
"""Prefixes of fewer tokens are read again sooner than found."""

DEFAULT_CAP = 512 * 1024 * 1024
"""Bytes that the kept prefixes of all models may take together."""


class StateOwner(Protocol):
    """What can give and take the state of one sequence."""

    def state(self, sequence: int) -> bytes:
        """The state of a sequence."""

    def restore(self, sequence: int, state: bytes) -> bool:
        """Put a state into an empty sequence; False if it does not fit this context."""


@dataclass
class Prefix:
    """A shared prefix in the cache."""

    sequence: int
    """The sequence that holds it."""

    tokens: tuple[int, ...]
    """Its token ids."""

    done: int = 0
    """Tokens of it that are read."""

    users: int = 0
    """Jobs whose sequence shares its cells."""

    kept: bool = False
    """Whether it came from disk or was written there."""

    @property
    def ready(self) -> bool:
        """Whether all of it is in the cache."""
        return self.done == len(self.tokens)


class PrefixTable:
    """The prefixes of a running context, each in a sequence of its own; the longest unused go first."""

    def __init__(self, context: StateOwner, sequences: list[int], store: PrefixStore | None) -> None:
        self._context = context
        self._free = sequences
        self._store = store
        self._held: OrderedDict[tuple[int, ...], Prefix] = OrderedDict()
        self.loaded = 0
        """Tokens that came from disk so far."""

    def __contains__(self, tokens: tuple[int, ...]) -> bool:
        return tokens in self._held

    def __getitem__(self, tokens: tuple[int, ...]) -> Prefix:
        return self._held[tokens]

    @property
    def all(self) -> list[Prefix]:
        """Every held prefix."""
        return list(self._held.values())

    @property
    def cells(self) -> int:
        """Cells that they take when read."""
        return sum(len(prefix.tokens) for prefix in self._held.values())

    def get(self, tokens: tuple[int, ...]) -> Prefix | None:
        """The prefix with these tokens, made or loaded if needed; None if no sequence is free for it."""
        if tokens in self._held:
            self._held.move_to_end(tokens)
            return self._held[tokens]
        if not self._free:
            return None
        prefix = Prefix(self._free.pop(), tokens)
        self._held[tokens] = prefix
        if self._store is not None and len(tokens) >= SHORTEST:
            state = self._store.load(tokens)
            if state is not None and self._context.restore(prefix.sequence, state):
                prefix.done, prefix.kept = len(tokens), True
                self.loaded += len(tokens)
        return prefix

    def keep(self, prefix: Prefix) -> None:
        """Write a prefix that was just read to disk, if it is worth it and there is a place for it."""
        if self._store is None or prefix.kept or len(prefix.tokens) < SHORTEST:
            return
        prefix.kept = True
        self._store.save(prefix.tokens, self._context.state(prefix.sequence))

    def drop_idle(self, *, one: bool = False) -> list[int]:
        """Forget prefixes that no job uses; returns the sequences that are to be emptied."""
        dropped = []
        for tokens, prefix in list(self._held.items()):
            if prefix.users:
                continue
            del self._held[tokens]
            self._free.append(prefix.sequence)
            dropped.append(prefix.sequence)
            if one:
                break
        return dropped


class PrefixStore:
    """Prefixes on disk, for one model in one configuration. Safe beside other processes."""

    def __init__(self, folder: Path, identity: str, *, cap: int = DEFAULT_CAP) -> None:
        """`identity` names everything that a state depends on beside the tokens; `cap` is in bytes."""
        self._folder = folder
        self._identity = identity
        self._cap = cap
        self.problem = ""
        """Why the last attempt to write failed, if it did."""

    def load(self, tokens: tuple[int, ...]) -> bytes | None:
        """The state of a prefix, or None if there is none that agrees in everything."""
        path = self._path(tokens)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        state = _unpack(data, self._identity, tokens)
        try:
            if state is None:
                path.unlink(missing_ok=True)
            else:
                os.utime(path)
        except OSError as error:
            self.problem = str(error)
        return state

    def save(self, tokens: tuple[int, ...], state: bytes) -> None:
        """Write a state; a disk that refuses is noted in `problem`, since nothing depends on it."""
        if not state or len(state) > self._cap:
            return
        data = _pack(self._identity, tokens, state)
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(name, self._path(tokens))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._trim()
        except OSError as error:
            self.problem = str(error)

    def _trim(self) -> None:
        """Remove the longest unused files until all fit under the cap."""
        files = []
        for path in self._folder.glob("*.kv"):
            try:
                files.append((path.stat().st_mtime, path.stat().st_size, path))
            except FileNotFoundError:
                continue
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self._cap:
                return
            path.unlink(missing_ok=True)
            total -= size

    def _path(self, tokens: tuple[int, ...]) -> Path:
        key = hashlib.sha256(f"{self._identity}\n{json.dumps(tokens)}".encode()).hexdigest()
        return self._folder / f"{key}.kv"


def _pack(identity: str, tokens: tuple[int, ...], state: bytes) -> bytes:
    header = json.dumps({"identity": identity, "tokens": tokens}).encode()
    body = _LENGTH.pack(len(header)) + header + state
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(data: bytes, identity: str, tokens: tuple[int, ...]) -> bytes | None:
    """The state in a file's bytes if they are whole and made for these tokens, else None."""
    start = len(_MAGIC) + 32
    if len(data) < start + _LENGTH.size or not data.startswith(_MAGIC):
        return None
    if hashlib.sha256(memoryview(data)[start:]).digest() != data[len(_MAGIC) : start]:
        return None
    (length,) = _LENGTH.unpack_from(data, start)
    begin = start + _LENGTH.size
    if length > min(_LONGEST_HEADER, len(data) - begin):
        return None
    try:
        header = json.loads(data[begin : begin + length])
        agrees = header["identity"] == identity and header["tokens"] == list(tokens)
    except (ValueError, KeyError, TypeError):
        return None
    return data[begin + length :] if agrees else None


def file_sample(path: Path) -> str:
    """A hash of a file's size and of blocks spread over it, as hexadecimal text.

    Reading a whole model takes longer than reading a prefix again; a file whose weights were changed
    differs in most blocks.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        for number in range(_SAMPLES):
            file.seek(number * max(size - _SAMPLE_BYTES, 0) // max(_SAMPLES - 1, 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()
