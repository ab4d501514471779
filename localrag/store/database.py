"""`Store`: an open knowledge base, made of one group of methods for each group of tables."""

from __future__ import annotations

import errno
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType

from sqlite_utils import Database

from localrag import __version__
from localrag.errors import (
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    LocalragError,
    NewerFormat,
)
from localrag.store import checks, migrations, sqlite
from localrag.store.chunks import Chunks
from localrag.store.documents import Documents
from localrag.store.fulltext import FullText
from localrag.store.graph import Graph
from localrag.store.journal import Journal
from localrag.store.rows import StoreInfo
from localrag.store.session import Session
from localrag.store.vectors import Vectors


class Store:
    """A knowledge base's file: one connection, used by the thread that opened it.

    Several stores may be open on the same file, in one process or in many; one of them writes at a time
    and none waits to read. Made by `create` and `open`.
    """

    path: Path
    """The file."""

    read_only: bool
    """True if nothing can be stored: asked for, or because file or folder cannot be written."""

    documents: Documents
    """Documents with their chunks."""

    chunks: Chunks
    """Chunks and how far their reading is."""

    graph: Graph
    """Entities and relations."""

    vectors: Vectors
    """Embedding spaces and vectors."""

    fulltext: FullText
    """Search for words."""

    journal: Journal
    """Calls of the model, rejects, prompts."""

    def __init__(self, database: Database, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._database: Database | None = database
        vec = sqlite.capabilities().vec_version is not None
        self._session = Session(database, path, read_only=read_only, vec=vec)
        self.fulltext = FullText(self._session)
        self.documents = Documents(self._session, self.fulltext)
        self.chunks = Chunks(self._session)
        self.graph = Graph(self._session)
        self.vectors = Vectors(self._session)
        self.journal = Journal(self._session)

    @classmethod
    def create(cls, path: Path, *, busy_timeout: float = sqlite.BUSY_TIMEOUT) -> Store:
        """Make a new, empty knowledge base that only its owner can read, and open it.

        Raises `KnowledgeBaseExists` if there is a file, `KnowledgeBaseNotFound` if there is no such folder,
        `KnowledgeBaseReadOnly` if the folder cannot be written, `DiskFull`.
        """
        sqlite.require()
        try:
            # Before SQLite opens it: on some systems closing a file drops the locks that others hold on it.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            raise KnowledgeBaseExists(
                f"{path.name} is there already.", "Use it as it is, or name another file."
            ) from None
        except (FileNotFoundError, NotADirectoryError):
            raise KnowledgeBaseNotFound(
                f"There is no folder {path.parent}.", "Make it first, or name another place."
            ) from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise sqlite.disk_full(path) from None
            raise KnowledgeBaseReadOnly(
                f"{path.name} cannot be made in {path.parent} ({error.strerror}).",
                "Choose a folder of yours.",
            ) from None
        try:
            database = sqlite.connect(path, read_only=False, busy_timeout=busy_timeout)
            try:
                with sqlite.translated(path):
                    migrations.migrate(database)
                return cls._ready(database, path)
            except BaseException:
                sqlite.close(database)
                raise
        except BaseException:
            # Half a file would only puzzle the next one who looks.
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    sqlite.beside(path, suffix).unlink()
            raise

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, busy_timeout: float = sqlite.BUSY_TIMEOUT) -> Store:
        """Open an existing knowledge base, bringing its tables up to date if it may be written.

        A file or folder that cannot be written is opened for reading; see `read_only`. `busy_timeout` is
        how many seconds a writer waits for another one. Raises `KnowledgeBaseNotFound`,
        `NotAKnowledgeBase`, `NewerFormat`, `KnowledgeBaseBusy`.
        """
        sqlite.require()
        if os.path.exists(path) and not os.path.isfile(path):
            raise sqlite.not_ours(path)
        if not os.path.exists(path):
            raise KnowledgeBaseNotFound(
                f"There is no knowledge base {path}.", f"Make one with `localrag init {path.name}`."
            )
        if not os.access(path, os.R_OK):
            raise KnowledgeBaseReadOnly(f"{path.name} cannot be read.", "Ask its owner for the permission.")
        read_only = read_only or not sqlite.writable(path)
        database = sqlite.connect(path, read_only=read_only, busy_timeout=busy_timeout)
        try:
            with sqlite.translated(path):
                format_ = _known_format(database, path)
                if read_only:
                    if format_ < migrations.FORMAT:
                        raise sqlite.read_only_error(path)
                    return cls(database, path, read_only=True)
                if migrations.steps.pending(database):
                    migrations.migrate(database)
                return cls._ready(database, path)
        except BaseException:
            sqlite.close(database)
            raise

    @classmethod
    def _ready(cls, database: Database, path: Path) -> Store:
        """A store that may write, from a connection whose tables are up to date."""
        with sqlite.translated(path):
            sqlite.use_log(database)
        store = cls(database, path, read_only=False)
        store.fulltext.prepare()
        return store

    def close(self) -> None:
        """Close the file; may be called twice. The last store to close leaves one file and none beside it."""
        if self._database is None:
            return
        database, self._database = self._database, None
        if not self.read_only:
            # Nothing is lost if this fails, and the words go when the next deletion is tidied.
            with suppress(LocalragError):
                self.fulltext.tidy()
        sqlite.close(database)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def transaction(self) -> AbstractContextManager[None]:
        """All that is done in the block is stored, or nothing of it. May be nested.

        Raises `KnowledgeBaseReadOnly`, `KnowledgeBaseBusy` if another writer is at work for longer than the
        busy timeout, `DiskFull`.
        """
        return self._session.transaction()

    def revision(self) -> int:
        """A number that grows with every committed change of documents, chunks, graph or vectors."""
        return int(self._session.value("SELECT revision FROM meta"))

    def info(self) -> StoreInfo:
        """Identity, format, size and the number of rows of every table."""
        session = self._session
        uuid, created_by, created_at, revision = session.row(
            "SELECT uuid, created_by, created_at, revision FROM meta"
        ) or ("", "", "", 0)
        size = 0
        for suffix in ("", "-wal"):
            with suppress(OSError):
                size += sqlite.beside(self.path.resolve(), suffix).stat().st_size
        counts = {table: session.value(f"SELECT count(*) FROM {table}") for table in migrations.TABLES}
        format_ = session.value("PRAGMA user_version")
        return StoreInfo(uuid, format_, created_by, created_at, revision, size, counts)

    def check(self) -> list[str]:
        """What is wrong with the file, one sentence each; an empty list if all is well."""
        return checks.problems(self._session, self.fulltext)


def _known_format(database: Database, path: Path) -> int:
    """The file's format. Raises `NotAKnowledgeBase` or `NewerFormat`."""
    if database.conn.execute("PRAGMA application_id").fetchone()[0] != migrations.APPLICATION_ID:
        raise sqlite.not_ours(path)
    found = int(database.conn.execute("PRAGMA user_version").fetchone()[0])
    if found > migrations.FORMAT:
        raise NewerFormat(
            f"{path.name} has format {found}; this localrag ({__version__}) knows formats up to "
            f"{migrations.FORMAT}.",
            "Use a newer localrag for this file. It was not changed.",
        )
    return found
