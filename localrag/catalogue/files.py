"""Handling of large files: hash, copy, lock, move into place, free space."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

CHUNK: Final = 1 << 20
"""Bytes read at a time."""

OnBytes = Callable[[int], None]
"""Called with the bytes handled so far."""


def hash_file(path: Path, on_bytes: OnBytes | None = None) -> str:
    """sha256 of a file as hexadecimal text; raises `OSError`."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
            done += len(piece)
            if on_bytes:
                on_bytes(done)
    return digest.hexdigest()


def copy_hashed(source: Path, target: Path, on_bytes: OnBytes | None = None) -> str:
    """Copy a file to a new one, put it on the disk, and return its sha256; raises `OSError`."""
    digest = hashlib.sha256()
    done = 0
    with source.open("rb") as read, target.open("wb") as write:
        while piece := read.read(CHUNK):
            digest.update(piece)
            write.write(piece)
            done += len(piece)
            if on_bytes:
                on_bytes(done)
        sync(write)
    return digest.hexdigest()


def append(source: Path, target: BinaryIO) -> None:
    """Copy a file to the end of an open one."""
    with source.open("rb") as read:
        shutil.copyfileobj(read, target, CHUNK)


def sync(file: BinaryIO) -> None:
    """Wait until the file's bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())


def move_into_place(partial: Path, target: Path) -> None:
    """Give a finished file its final name, replacing what had it; a power cut leaves one or the other."""
    with partial.open("rb+") as file:
        sync(file)
    partial.replace(target)
    if sys.platform != "win32":
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def free_bytes(folder: Path) -> int:
    """Free bytes of the disk that the folder lies on, or would lie on."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def is_disk_full(error: OSError) -> bool:
    """Whether the system has no room left for this person."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def megabytes(count: int) -> str:
    """A number of bytes for people."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


@contextmanager
def locked(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock between processes, by an empty file that stays; `on_wait` is called while another has it.

    The system releases the lock when a process dies, so a killed one leaves nothing that blocks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        while not _try_lock(file):
            if on_wait:
                on_wait()
            time.sleep(0.2)
        try:
            yield
        finally:
            _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: BinaryIO) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: BinaryIO) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
