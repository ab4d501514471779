"""`Store`: an open knowledge base, made of one group of methods for each group of tables."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType

from sqlite_utils import Database

from localrag.errors import KnowledgeBaseExists, KnowledgeBaseNotFound, KnowledgeBaseReadOnly, LocalragError
from localrag.store import (
    anatomy,
    checks,
    merging,
    migrations,
    refolding,
    repair,
    salvage,
    scrubbing,
    sqlite,
    upgrading,
)
from localrag.store.aggregates import Aggregates
from localrag.store.aliases import Aliases
from localrag.store.answers import Answers
from localrag.store.browse import Browse
from localrag.store.chunks import Chunks
from localrag.store.claim_search import ClaimSearch
from localrag.store.claims import Claims
from localrag.store.decisions import Decisions
from localrag.store.division import Divisions
from localrag.store.documents import Documents
from localrag.store.failures import Failures
from localrag.store.file_rows import FileFacts, MergeReport, StoreInfo
from localrag.store.filters import Filters
from localrag.store.fulltext import FullText
from localrag.store.graph import Graph
from localrag.store.journal import Journal
from localrag.store.merges_desk import Merges
from localrag.store.narrowed import Narrowed
from localrag.store.origins import Origins
from localrag.store.reports import Reports
from localrag.store.roots import Roots
from localrag.store.session import Session
from localrag.store.summaries import Summaries
from localrag.store.survey import Survey
from localrag.store.tags import Tags
from localrag.store.talk import Talk
from localrag.store.traces import Traces
from localrag.store.unfinished import take_over
from localrag.store.vectors import Vectors
from localrag.store.zero import ZeroGraph


class Store:
    """A knowledge base's file: one connection, used by the thread that opened it.

    Several stores may be open on the same file, in one process or in many; one of them writes at a time
    and none waits to read. Made by `create` and `open`.
    """

    path: Path
    """The file."""

    read_only: bool
    """True if nothing can be stored: asked for, or because file or folder cannot be written."""

    notes: tuple[str, ...]
    """What a person should know of how the file was opened, in sentences; mostly empty."""

    documents: Documents
    """Documents with their chunks."""

    roots: Roots
    """Folders that are followed."""

    chunks: Chunks
    """Chunks and how far their reading is."""

    failures: Failures
    """Files and passages that could not be read."""

    graph: Graph
    """Entities and relations."""

    vectors: Vectors
    """Embedding spaces and vectors."""

    filters: Filters
    """What a search is narrowed to."""

    fulltext: FullText
    """Search for words."""

    journal: Journal
    """Calls of the model, rejects, prompts."""

    decisions: Decisions
    """What a person decided."""

    aliases: Aliases
    """Other names of entities."""

    merges: Merges
    """Automatic merges of entities."""

    tags: Tags
    """Tags of documents."""

    browse: Browse
    """The graph as a person looks through it."""

    claims: Claims
    """What is said of entities, with the words that say so."""

    claim_search: ClaimSearch
    """Claims as a person looks through them."""

    summaries: Summaries
    """Summaries of entities and relations."""

    reports: Reports
    """Communities and a report about each."""

    divisions: Divisions
    """The graph as communities are divided from it."""

    survey: Survey
    """The communities in outline, and claims in numbers."""

    talk: Talk
    """Conversations."""

    answers: Answers
    """Kept answers."""

    traces: Traces
    """How answers of conversations came about."""

    origins: Origins
    """What comes from documents, in numbers."""

    zero: ZeroGraph
    """Names by form and statistics, the graph that needs no model."""

    narrowed: Narrowed
    """The read graph as some of the chunks tell it."""

    aggregates: Aggregates
    """Lists and counts over the whole file."""

    def __init__(
        self,
        database: Database,
        path: Path,
        *,
        read_only: bool,
        notes: tuple[str, ...] = (),
        format_: int = migrations.FORMAT,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.notes = notes
        self._format = format_
        self._database: Database | None = database
        vec = sqlite.capabilities().vec_version is not None
        self._session = Session(database, path, read_only=read_only, vec=vec)
        self.fulltext = FullText(self._session)
        self.documents = Documents(self._session, self.fulltext)
        self.roots = Roots(self._session)
        self.chunks = Chunks(self._session)
        self.failures = Failures(self._session)
        self.graph = Graph(self._session)
        self.vectors = Vectors(self._session)
        self.filters = Filters(self._session)
        self.journal = Journal(self._session)
        self.decisions = Decisions(self._session)
        self.aliases = Aliases(self._session)
        self.merges = Merges(self._session)
        self.tags = Tags(self._session)
        self.browse = Browse(self._session)
        self.claims = Claims(self._session)
        self.claim_search = ClaimSearch(self._session)
        self.summaries = Summaries(self._session)
        self.reports = Reports(self._session)
        self.survey = Survey(self._session)
        self.divisions = Divisions(self._session)
        self.talk = Talk(self._session)
        self.answers = Answers(self._session)
        self.traces = Traces(self._session)
        self.origins = Origins(self._session)
        self.zero = ZeroGraph(self._session)
        self.narrowed = Narrowed(self._session)
        self.aggregates = Aggregates(self._session)

    @classmethod
    def create(cls, path: Path, *, busy_timeout: float = sqlite.BUSY_TIMEOUT) -> Store:
        """Make a new, empty knowledge base that only its owner can read, and open it.

        Raises `KnowledgeBaseExists` if there is a file, `KnowledgeBaseNotFound` if there is no such folder,
        `KnowledgeBaseReadOnly` if the folder cannot be written, `DiskFull`.
        """
        sqlite.require()
        made = True
        try:
            # Before SQLite opens it: on some systems closing a file drops the locks that others hold on it.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            made = False
            if not take_over(path):
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
            for suffix in ("", "-wal", "-shm", "-journal") if made else ():
                with suppress(OSError):
                    sqlite.beside(path, suffix).unlink()
            raise

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False, busy_timeout: float = sqlite.BUSY_TIMEOUT) -> Store:
        """Open an existing knowledge base, bringing its tables up to date if it may be written.

        A file or folder that cannot be written is opened for reading; see `read_only`. A file of an older
        format is then read through a copy in memory. `notes` tells of both. `busy_timeout` is how many
        seconds a writer waits for another one. Raises `KnowledgeBaseNotFound`, `NotAKnowledgeBase`,
        `NewerFormat`, `KnowledgeBaseBusy`, and what `upgrading.upgrade` raises.
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
        writable = sqlite.writable(path)
        database = sqlite.connect(path, read_only=read_only, busy_timeout=busy_timeout)
        try:
            with sqlite.translated(path):
                found = upgrading.known_format(database, path)
            if read_only or not writable:
                notes = () if writable else (_cannot_change(path),)
                if found < migrations.FORMAT:
                    sqlite.close(database)
                    return cls._in_memory(path, found, notes)
                return cls(database, path, read_only=True, notes=notes)
            with sqlite.translated(path):
                pending = migrations.steps.pending(database)
            note = upgrading.upgrade(database, path) if pending else ""
            return cls._ready(database, path, (note,) if note else ())
        except BaseException:
            sqlite.close(database)
            raise

    @classmethod
    def _in_memory(cls, path: Path, found: int, notes: tuple[str, ...]) -> Store:
        """A store that reads an older file through an up-to-date copy in memory."""
        database = upgrading.in_memory(path, found)
        try:
            store = cls(database, path, read_only=False)
            store.fulltext.prepare()
            refolding.prepare(store._session)
            with sqlite.translated(path):
                database.conn.execute("PRAGMA query_only = ON")
            notes = (*notes, upgrading.read_in_memory(path, found))
            return cls(database, path, read_only=True, notes=notes, format_=found)
        except BaseException:
            sqlite.close(database)
            raise

    @classmethod
    def _ready(cls, database: Database, path: Path, notes: tuple[str, ...] = ()) -> Store:
        """A store that may write, from a connection whose tables are up to date."""
        with sqlite.translated(path):
            sqlite.use_log(database)
        store = cls(database, path, read_only=False, notes=notes)
        store.fulltext.prepare()
        refolding.prepare(store._session)
        return store

    def close(self) -> None:
        """Close the file; may be called twice. The last store to close leaves one file and none beside it."""
        if self._database is None:
            return
        database, self._database = self._database, None
        removed = False
        if not self.read_only:
            # Nothing is lost if this fails, and the words go when the next deletion is tidied.
            with suppress(LocalragError):
                self.fulltext.tidy()
                removed = bool(self._session.value("SELECT removed FROM meta"))
        sqlite.close(database)
        if removed:
            scrubbing.scrub_file(self.path)

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
        counts = {table: session.value(f"SELECT count(*) FROM {table}") for table in migrations.TABLES}
        return StoreInfo(uuid, self._format, created_by, created_at, revision, self.size(), counts)

    def size(self) -> int:
        """Bytes of the file with its write-ahead log."""
        size = 0
        for suffix in ("", "-wal"):
            with suppress(OSError):
                size += sqlite.beside(self.path.resolve(), suffix).stat().st_size
        return size

    def describe(self) -> FileFacts:
        """Identity, contents, and what takes the file's room; reads every table once."""
        return anatomy.describe(self._session, self.info())

    def merge(
        self, source: Store, *, dry: bool = False, cancel: threading.Event | None = None
    ) -> MergeReport:
        """Join another knowledge base into this one, in one transaction; `dry` only tells what would happen.

        `source` is open in the same thread and is only read. Raises `KnowledgeBaseReadOnly`,
        `KnowledgeBaseBusy`, `DiskFull`, `Cancelled`, `KnowledgeBaseError` if one of its decisions is damaged;
        nothing is changed then.
        """
        return merging.merge(
            self._session,
            source._session,
            self.documents,
            self.fulltext,
            self.vectors,
            dry=dry,
            cancel=cancel,
        )

    def mend(self, on_step: checks.OnStep | None = None) -> tuple[list[str], list[str]]:
        """Mend all that can be mended, in one transaction; returns what was done and what was lost.

        Raises `KnowledgeBaseError` if SQLite cannot read the file as it should be, and as `transaction`.
        """
        return repair.mend(self._session, self.fulltext, on_step)

    def take_rows(self, damaged: Path) -> salvage.Salvage:
        """Fill this new, empty knowledge base with what can be read of a copy of a damaged one."""
        return salvage.save_rows(damaged, self._session)

    def check(self, on_step: checks.OnStep | None = None, cancel: threading.Event | None = None) -> list[str]:
        """What is wrong with the file, one sentence each; an empty list if all is well.

        `on_step` hears what is looked at next. Raises `Cancelled` once `cancel` is set.
        """
        return checks.problems(self._session, self.fulltext, on_step, cancel)


def _cannot_change(path: Path) -> str:
    return (
        f"{path.name} or its folder cannot be written: it can be asked, and nothing is stored in it, "
        "answers included."
    )
