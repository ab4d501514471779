"""Whole copies of a knowledge base: written under another name, checked, and moved to their place when safe.

A copy is complete or not there at all, whatever ends the program in between. It is compact, one file, and
only its owner can read it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from localrag.errors import (
    Cancelled,
    DiskFull,
    KnowledgeBaseBusy,
    KnowledgeBaseError,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    LocalragError,
    UsageError,
)
from localrag.store import sqlite
from localrag.store.migrations import APPLICATION_ID
from localrag.store.sqlite import BESIDE, beside, sqlite3, translated

ABANDONED = 3600.0
"""Seconds after which an unfinished copy that nobody writes to is taken for one of a dead program."""

_PART = re.compile(r"\.localrag-[0-9a-z_]{8,16}\.part(-journal|-wal|-shm)?")
_READING = (266, 522)
"""Errors of SQLite that come from reading the source: READ and SHORT_READ."""

_OPCODES = 1_000
"""Steps of SQLite's machine between two looks at `cancel`: some hundred rows."""


def copy_file(
    source: Path,
    target: Path,
    *,
    overwrite: bool = False,
    whole: bool = True,
    cancel: threading.Event | None = None,
) -> int:
    """Write a copy of the knowledge base `source` to `target`; returns its bytes.

    Works while others read and write the source, and needs no right to write there. An earlier knowledge
    base at `target` is replaced if `overwrite` is set; anything else that lies there never is. Without
    `whole` the copy may have the faults that the source has.

    Raises `UsageError` for a target that cannot be one, `KnowledgeBaseExists`, `KnowledgeBaseNotFound` (no
    such folder), `KnowledgeBaseBusy` (the target is in use), `KnowledgeBaseReadOnly`, `DiskFull`,
    `Cancelled`, `KnowledgeBaseError` (the source is damaged). The target is untouched then.
    """
    check_target(source, target, overwrite=overwrite)
    with part_beside(target) as part:
        write_copy(source, part, cancel, whole=whole)
        size = part.stat().st_size
        place(part, target, overwrite=overwrite)
    return size


def write_copy(
    source: Path, part: Path, cancel: threading.Event | None = None, *, whole: bool = True
) -> None:
    """Write a compact copy into the empty file `part` and see that it is whole. Raises as `copy_file`."""
    with closing(plain_connection(source)) as connection:
        with translated(source):
            identity = _identity(connection)
        vacuum_into(connection, source, part, cancel)
    with translated(part), closing(plain_connection(part)) as copy:
        copy.set_progress_handler(_stopper(cancel), _OPCODES)
        try:
            found = copy.execute("PRAGMA quick_check(1)").fetchone()[0] if whole else "ok"
        except sqlite3.Error as error:
            raise _why(error, source, part, cancel) from error
        if found != "ok" or _identity(copy) != identity:
            raise KnowledgeBaseError(
                f"The copy of {source.name} is not whole ({found}).",
                "See what is wrong with `localrag verify`, and whether the disk is in order.",
            )


def vacuum_into(
    connection: sqlite3.Connection, source: Path, part: Path, cancel: threading.Event | None = None
) -> None:
    """Write what a connection to `source` sees into the empty file `part`. Raises as `copy_file`."""
    with translated(source):
        pages, free, page_size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
    require_room(part.parent, (pages - free) * page_size, source.name)
    connection.set_progress_handler(_stopper(cancel), _OPCODES)
    try:
        connection.execute("VACUUM INTO ?", [str(part)])
    except sqlite3.Error as error:
        raise _why(error, source, part, cancel) from error
    finally:
        connection.set_progress_handler(None, 0)


def require_room(folder: Path, needed: int, name: str) -> None:
    """Raise `DiskFull` if the folder's disk has no room for so many bytes more."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFull(
            f"There is no room for {name}: {_megabytes(needed)} MB are needed in {folder}, "
            f"{_megabytes(free)} MB are free. Nothing was changed.",
            "Free some space, or choose a folder on another disk.",
        )


def plain_connection(path: Path) -> sqlite3.Connection:
    """A connection of its own to an existing file, for copying: nothing is set up and nothing is written.

    Raises as `sqlite.connect` does.
    """
    with translated(path):
        connection = sqlite3.connect(sqlite.address(path), uri=True, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA schema_version").fetchone()
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def part_beside(target: Path) -> Iterator[Path]:
    """A new, empty, private file in the target's folder, for work that is not done yet; it is removed at the
    end unless it was moved away. Raises `KnowledgeBaseReadOnly`, `DiskFull`."""
    folder = target.absolute().parent
    _sweep(folder)
    part = folder / f".localrag-{secrets.token_hex(8)}.part"
    with _explained(target):
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield part
    finally:
        for suffix in ("", *BESIDE):
            with suppress(OSError):
                beside(part, suffix).unlink()


def free_name(path: Path) -> Path:
    """`path`, or the first of `path-2`, `path-3` … that is not taken."""
    number, candidate = 1, path
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def check_target(source: Path, target: Path, *, overwrite: bool = False) -> None:
    """See that `target` can be a new file made out of `source`. Raises as `copy_file` does for targets."""
    with _explained(target):
        _check_target(source, target, overwrite=overwrite)


def _check_target(source: Path, target: Path, *, overwrite: bool) -> None:
    if not target.absolute().parent.is_dir():
        raise KnowledgeBaseNotFound(
            f"There is no folder {target.parent}.", "Make it first, or name another place."
        )
    if target.is_dir():
        raise UsageError(f"{target} is a folder.", f"Name the file in it: {target / source.name}")
    ours = {beside(source.resolve(), suffix) for suffix in ("", *BESIDE)}
    if target.resolve() in ours or (target.exists() and target.samefile(source)):
        raise UsageError(f"{target.name} is the knowledge base itself.", "Name another file for the copy.")
    for suffix in BESIDE:
        if beside(target.resolve(), suffix).exists():
            raise KnowledgeBaseBusy(
                f"{target.name}{suffix} lies beside {target.name}: a program uses it, or was interrupted.",
                "Close that program, or name another file for the copy.",
            )
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise KnowledgeBaseExists(f"{target.name} is there already.", "Name another file, or add --force.")
    if not _ours(target):
        raise UsageError(
            f"{target.name} is there and is not a knowledge base; it is never replaced.",
            "Name another file, or move that one away first.",
        )


def _ours(path: Path) -> bool:
    """Whether a file is a knowledge base by its header; read without SQLite, so that nothing is locked."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head[:16] == b"SQLite format 3\0" and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def place(part: Path, target: Path, *, overwrite: bool = False) -> None:
    """Give a finished file its name, once the disk has it. Raises `KnowledgeBaseExists`."""
    _sync(part)
    goal = target.resolve() if overwrite else target
    with _explained(target):
        if overwrite:
            os.replace(part, goal)
        else:
            try:
                # Unlike a rename it fails where another program made the name meanwhile.
                os.link(part, goal)
            except FileExistsError:
                raise KnowledgeBaseExists(
                    f"{target.name} appeared meanwhile.", "Name another file, or add --force."
                ) from None
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK):
                    raise
                # A disk without hard links, such as a USB stick's.
                if os.path.lexists(goal):
                    raise KnowledgeBaseExists(
                        f"{target.name} appeared meanwhile.", "Name another file, or add --force."
                    ) from None
                os.rename(part, goal)
    _sync(goal.absolute().parent)


def _sync(path: Path) -> None:
    """Have the disk write down a file or the names in a folder; some systems cannot do folders."""
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(number)
    except OSError as error:
        if not path.is_dir() or error.errno in (errno.ENOSPC, errno.EIO):
            raise
    finally:
        os.close(number)


def _sweep(folder: Path) -> None:
    """Remove what programs that were killed left unfinished in the folder."""
    with suppress(OSError):
        for item in folder.iterdir():
            if _PART.fullmatch(item.name):
                with suppress(OSError):
                    if time.time() - item.stat().st_mtime <= ABANDONED:
                        continue
                    if item.is_dir():
                        shutil.rmtree(item)
                    else:
                        item.unlink()


def _identity(connection: sqlite3.Connection) -> tuple[object, ...]:
    marks = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
    return (*marks, connection.execute("SELECT uuid FROM meta").fetchone())


def _stopper(cancel: threading.Event | None) -> Callable[[], bool]:
    return lambda: cancel is not None and cancel.is_set()


def _why(error: sqlite3.Error, source: Path, part: Path, cancel: threading.Event | None) -> LocalragError:
    """What an error of the copying means: the stop that was asked for, the goal's disk, or the source."""
    code = getattr(error, "sqlite_errorcode", 0)
    if cancel is not None and cancel.is_set():
        return Cancelled("Stopped. No copy was made.", "The knowledge base is as it was.")
    if code & 0xFF == sqlite.FULL or (code & 0xFF == sqlite.IOERR and code not in _READING):
        if code & 0xFF == sqlite.FULL or shutil.disk_usage(part.parent).free < sqlite.ROOM:
            return DiskFull(
                f"The disk of {part.parent} is full. No copy was made.", "Free some space or choose another."
            )
        return KnowledgeBaseError(
            f"The copy cannot be written to {part.parent} ({error}).",
            "Perhaps its disk does not take files of this size, as FAT does not above 4 GB.",
        )
    meant = sqlite.meaning(source, error)
    return meant or KnowledgeBaseError(
        f"{source.name} could not be copied ({error}).", "See `localrag verify`."
    )


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    """Turn the system's errors about the target into ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(
                f"The disk of {target.absolute().parent} is full. No copy was made.",
                "Free some space or choose another.",
            ) from error
        raise KnowledgeBaseReadOnly(
            f"{target.name[:80]} cannot be made in {target.absolute().parent} ({error.strerror}).",
            "Choose a folder of yours, and a name that its disk takes.",
        ) from error


def _megabytes(count: int) -> str:
    return f"{max(count, 0) / 1e6:,.1f}"
