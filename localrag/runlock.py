"""One run at a time: work that would be done twice by two programs on the same file is done by one.

A lock of the operating system on a small file in the state folder, named after the knowledge base's own
identity on its disk. A killed program loses it at once, nothing lies beside the knowledge base, and readers
and other writers are not concerned. Programs of another person or on another machine do not see it: two such
runs read the same passages twice, and the file stays right, since every result is one transaction.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from localrag.errors import KnowledgeBaseBusy
from localrag.settings import state_dir

_FOLDER = "runs"


class Unlockable(Exception):
    """The state folder cannot hold the lock; the message says why."""


@contextlib.contextmanager
def only_run(path: Path, done: str = "indexed") -> Iterator[None]:
    """Within it, the knowledge base `path` is not being `done` by any other program of this person.

    Raises `KnowledgeBaseBusy` if it is, naming the process; `Unlockable` if no lock can be had here.
    """
    lock = _lock_path(path, done)
    handle = _taken(lock)
    if handle is None:
        raise KnowledgeBaseBusy(
            f"{path.name} is being {done} by another program{_owner(lock)}.",
            "Wait until it is done, or stop it. Questions can be asked meanwhile.",
        )
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        # Removed while it is held, so that nobody else can be holding the name by then.
        with contextlib.suppress(OSError):
            lock.unlink()
        os.close(handle)


@contextlib.contextmanager
def noticed_run(path: Path, done: str = "indexed", task: str = "indexes this file") -> Iterator[str]:
    """`only_run` for work that goes on without a lock too; gives a sentence that tells of that, else "".

    `task` says in it what another program does that would not be noticed. Raises `KnowledgeBaseBusy` as
    `only_run` does.
    """
    with contextlib.ExitStack() as held:
        told = ""
        try:
            held.enter_context(only_run(path, done))
        except Unlockable as error:
            told = f"Another program that {task} would not be noticed: {error}"
        yield told


def ensure_free(path: Path, done: str = "indexed") -> None:
    """Raise `KnowledgeBaseBusy` if the knowledge base is being `done` by another program now."""
    with contextlib.suppress(Unlockable), only_run(path, done):
        pass


def _lock_path(path: Path, done: str) -> Path:
    """The file to lock. Names lead to the file by many ways, its place on the disk is one."""
    place = path.stat()
    return state_dir() / _FOLDER / f"{place.st_dev:x}-{place.st_ino:x}.{done}"


def _taken(lock: Path) -> int | None:
    """An open file that holds the lock until it is closed; None if another has it. Raises `Unlockable`."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if not _lock(handle):
                    os.close(handle)
                    return None
                # Its last holder may have removed the name between opening and locking.
                if _same(handle, lock):
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
    except OSError as error:
        raise Unlockable(f"{lock.parent} cannot be used: {error.strerror}.") from error


def _same(handle: int, lock: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        # Far behind the content, which others may read.
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        # Belongs to the open file, not to the process, so two threads of one program exclude each other too.
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _owner(lock: Path) -> str:
    """The holder's process in words, as far as it can be told."""
    try:
        text = lock.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
    return f" (process {text})" if text.isdigit() and len(text) < 12 else ""
