"""Vectors kept outside the knowledge base in files that can be mapped into memory: fast, and never the truth.

Everything here can be deleted at any time and is then made again from the knowledge base. A file holds
numbers only: vectors, and which rows they belong to. Files of one embedding space and kind form a chain: each
holds the rows that were stored after those of the one before it, so that new rows never mean writing old ones
again. A file is written whole under another name and then renamed; after that only rows of what was deleted
are overwritten with zeros. Who may trust a chain is decided in matrix.py, which knows the knowledge base.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from localrag.settings import cache_dir
from localrag.store.rows import VectorKind

CAP = 4 << 30
"""Bytes that the files of all knowledge bases may take together; the longest unused go first."""

Numbers = NDArray[np.int64]
Matrix = NDArray[np.float32]

_MAGIC = b"LRAGVEC1"
_SUFFIX = ".vectors"
_PART = ".part"
_HEADER = 4096
"""Bytes before the vectors: magic, length and hash of a JSON object, that object; the mark comes last."""

_PREFIX = struct.Struct("<8sI32s")
_MARK = struct.Struct("<q")
_ROW_NUMBERS = 3
_WRITING = 60.0
"""Seconds without a write after which an unfinished file is taken for abandoned."""


@dataclass(frozen=True)
class CacheKey:
    """Which vectors a chain holds."""

    uuid: str
    """The knowledge base's."""

    kind: VectorKind
    """What the vectors are of."""

    space_id: int
    """The embedding space's row."""

    fingerprint: str
    """The embedding space's fingerprint."""

    dimension: int
    """Length of a vector."""

    @property
    def prefix(self) -> str:
        """How the names of the chain's files begin. Hashed, since what a file says is never a path."""
        return f"{self.kind}-{_digest(f'{self.space_id} {self.dimension} {self.fingerprint}')[:16]}-"


@dataclass(frozen=True)
class Rows:
    """Vectors with the numbers of their rows, in the order in which they were stored."""

    seqs: Numbers
    """The vectors' own row numbers, ascending; never given twice."""

    ids: Numbers
    """The chunks, entities or relations; 0 where the vector was deleted."""

    marks: Numbers
    """A random number for each row, which tells it from the row of the same number in a copy of the file."""

    vectors: Matrix
    """One row each; zeros where it was deleted."""

    def __len__(self) -> int:
        return len(self.seqs)

    def positions(self, ids: Numbers) -> Numbers:
        """Where the rows of these ids are; those that are not here are left out."""
        order, sorted_ids = self._by_id
        places = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
        found: Numbers = order[places[sorted_ids[places] == ids]]
        return found

    @cached_property
    def _by_id(self) -> tuple[Numbers, Numbers]:
        order = np.argsort(self.ids, kind="stable")
        return order, self.ids[order]


@dataclass(frozen=True)
class _Header:
    """What a file says of itself."""

    key: str
    """Hash of the key."""

    dimension: int
    """Length of a vector."""

    count: int
    """Rows."""

    after: int
    """The row number that the chain reached before this file."""

    last: int
    """The row number that it reaches with it."""


class Segment:
    """One file of a chain, mapped into memory."""

    def __init__(self, path: Path, key: CacheKey) -> None:
        """Raises `ValueError` if the file is not what it should be, `OSError` if it cannot be read."""
        self.path = path
        header = _read_header(path)
        if header.key != _key_hash(key) or header.dimension != key.dimension:
            raise ValueError("made for other vectors")
        self.after, self.last = header.after, header.last
        data = np.memmap(path, dtype=np.uint8, mode="r+")
        if len(data) != _size(header.count, header.dimension):
            raise ValueError("cut short")
        whole = np.asarray(data)
        end = _HEADER + 4 * header.count * header.dimension
        numbers = whole[_numbers_at(header.count, header.dimension) :]
        rows = numbers.view("<i8").reshape(_ROW_NUMBERS, header.count)
        self._data = data
        self._mark: Numbers = whole[_HEADER - _MARK.size : _HEADER].view("<i8")
        self._vectors: Matrix = whole[_HEADER:end].view("<f4").reshape(header.count, header.dimension)
        self._ids: Numbers = rows[1]
        self.rows = Rows(_locked(rows[0]), _locked(rows[1]), _locked(rows[2]), _locked(self._vectors))

    @property
    def mark(self) -> int:
        """The mark of the last deletion that the file has followed."""
        return int(self._mark[0])

    def bury(self, positions: Numbers) -> None:
        """Overwrite rows with zeros, on the disk too."""
        self._ids[positions] = 0
        self._vectors[positions] = 0.0
        self._data.flush()

    def set_mark(self, mark: int) -> None:
        """Say that all deletions up to this mark were followed; to be called after `bury`."""
        self._mark[0] = mark
        self._data.flush()


class MatrixCache:
    """The cache files of one knowledge base. No method raises because of the disk; see `problem`."""

    def __init__(self, uuid: str, cap: int = CAP) -> None:
        self.cap = cap
        """Most bytes of all files together; 0 keeps none."""
        self.problem = ""
        """Why the last write or deletion failed, for people; empty if none did."""
        self._all = cache_dir() / "vectors"
        self._folder = self._all / _digest(uuid)[:32]

    def chain(self, key: CacheKey) -> list[Segment]:
        """The files of a chain in their order. What is damaged or does not continue the chain is deleted."""
        found: dict[int, Segment] = {}
        for path in self._files(key.prefix):
            try:
                segment = Segment(path, key)
            except (OSError, ValueError):
                self._delete(path)
                continue
            other = found.get(segment.after)
            if other is None or other.last < segment.last:
                found[segment.after] = segment
        chain: list[Segment] = []
        while (following := found.pop(chain[-1].last if chain else 0, None)) is not None:
            chain.append(following)
        used = {segment.path for segment in chain}
        for path in self._files(key.prefix):
            if path not in used:
                self._delete(path)
        for segment in chain:
            # The time of the last use; the longest unused go first.
            with suppress(OSError):
                os.utime(segment.path)
        return chain

    def add(
        self, key: CacheKey, after: int, blocks: Iterable[Rows], mark: int, expected: int
    ) -> Segment | None:
        """Write the rows that follow `after` as a new file of a chain; None if there are none, if the cap
        leaves no room for the `expected` number of rows, or if the disk refuses."""
        needed = _size(expected, key.dimension)
        chain = sum(_bytes(path) for path in self._files(key.prefix))
        if needed + chain > self.cap:
            self.problem = f"{(needed + chain) >> 20} MiB of vectors are more than the cache may hold."
            return None
        try:
            self._all.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._folder.mkdir(exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=_PART)
            try:
                with os.fdopen(handle, "w+b") as file:
                    last = _write(file, key, after, blocks, mark)
                if last is None:
                    Path(name).unlink()
                    return None
                path = self._folder / f"{key.prefix}{after:016x}-{last:016x}{_SUFFIX}"
                os.replace(name, path)
            except BaseException:
                with suppress(OSError):
                    Path(name).unlink()
                raise
            self._trim(key)
            return Segment(path, key)
        except (OSError, ValueError) as error:
            self.problem = f"The cache of vectors cannot be written: {error}."
            return None

    def drop(self, key: CacheKey | None = None) -> None:
        """Delete a chain, or everything of this knowledge base."""
        for path in self._files("" if key is None else key.prefix):
            self._delete(path)

    def drop_stale(self, keys: Iterable[CacheKey], marks: Mapping[VectorKind, int]) -> None:
        """Delete files of other spaces than `keys`, and those that have not followed the last deletion."""
        known = {key.prefix: key.kind for key in keys}
        for path in self._files(""):
            kind = next((kind for prefix, kind in known.items() if path.name.startswith(prefix)), None)
            try:
                if kind is not None and _read_mark(path) == marks[kind]:
                    continue
            except (OSError, ValueError):
                pass
            self._delete(path)
        for name in self._names():
            # Left by a program that was killed, unless another one is writing it right now.
            path = self._folder / name
            with suppress(OSError):
                if name.endswith(_PART) and time.time() - path.stat().st_mtime > _WRITING:
                    self._delete(path)

    def _files(self, prefix: str) -> list[Path]:
        return [
            self._folder / name
            for name in self._names()
            if name.startswith(prefix) and name.endswith(_SUFFIX)
        ]

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))
        except OSError:
            # There is no cache, or it is not for us; then it is made, or not, by whoever writes to it.
            return []

    def _delete(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            self.problem = f"A file of the cache of vectors cannot be deleted: {error}."

    def _trim(self, key: CacheKey) -> None:
        """Delete the longest unused chains, but not this one, until all fit under the cap."""
        groups: dict[tuple[Path, str], list[os.stat_result]] = {}
        for path in self._all.glob(f"*/*{_SUFFIX}"):
            with suppress(OSError):
                prefix = "-".join(path.name.split("-")[:2]) + "-"
                groups.setdefault((path.parent, prefix), []).append(path.stat())
        total = sum(stat.st_size for stats in groups.values() for stat in stats)
        for (folder, prefix), stats in sorted(
            groups.items(), key=lambda item: max(stat.st_mtime for stat in item[1])
        ):
            if total <= self.cap:
                return
            if (folder, prefix) == (self._folder, key.prefix):
                continue
            for path in folder.glob(f"{prefix}*{_SUFFIX}"):
                self._delete(path)
            total -= sum(stat.st_size for stat in stats)


def _write(file: BinaryIO, key: CacheKey, after: int, blocks: Iterable[Rows], mark: int) -> int | None:
    """Write a whole file; returns the last row number, None if there is no row."""
    file.write(bytes(_HEADER))
    written: list[Rows] = []
    for block in blocks:
        file.write(np.ascontiguousarray(block.vectors, dtype="<f4").tobytes())
        written.append(Rows(block.seqs, block.ids, block.marks, block.vectors[:0]))
    if not sum(map(len, written)):
        return None
    seqs = np.concatenate([block.seqs for block in written])
    file.write(bytes(_numbers_at(len(seqs), key.dimension) - file.tell()))
    for numbers in (
        seqs,
        np.concatenate([block.ids for block in written]),
        np.concatenate([block.marks for block in written]),
    ):
        file.write(numbers.astype("<i8").tobytes())
    header = _Header(_key_hash(key), key.dimension, len(seqs), after, int(seqs[-1]))
    text = json.dumps(asdict(header)).encode()
    file.seek(0)
    file.write(_PREFIX.pack(_MAGIC, len(text), hashlib.sha256(text).digest()) + text)
    file.seek(_HEADER - _MARK.size)
    file.write(_MARK.pack(mark))
    # A file that has its name but not all of its bytes after a power failure would find too little for ever.
    file.flush()
    os.fsync(file.fileno())
    return header.last


def _read_header(path: Path) -> _Header:
    with path.open("rb") as file:
        data = file.read(_HEADER)
    if len(data) != _HEADER:
        raise ValueError("cut short")
    magic, length, digest = _PREFIX.unpack_from(data)
    text = data[_PREFIX.size : _PREFIX.size + min(length, _HEADER)]
    if magic != _MAGIC or hashlib.sha256(text).digest() != digest:
        raise ValueError("damaged")
    try:
        header = _Header(**json.loads(text))
    except TypeError:
        raise ValueError("of another version") from None
    if path.stat().st_size != _size(header.count, header.dimension):
        raise ValueError("cut short")
    return header


def _read_mark(path: Path) -> int:
    with path.open("rb") as file:
        file.seek(_HEADER - _MARK.size)
        data = file.read(_MARK.size)
    if len(data) != _MARK.size:
        raise ValueError("cut short")
    return int(_MARK.unpack(data)[0])


def _size(count: int, dimension: int) -> int:
    return _numbers_at(count, dimension) + 8 * _ROW_NUMBERS * count


def _numbers_at(count: int, dimension: int) -> int:
    """Where the rows' numbers begin: behind the vectors, at a place that suits 64-bit numbers."""
    return -(-(_HEADER + 4 * count * dimension) // 64) * 64


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _key_hash(key: CacheKey) -> str:
    return _digest(json.dumps(asdict(key)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _locked(array: NDArray[Any]) -> NDArray[Any]:
    """A view that refuses to be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
