"""Work on a knowledge base as a file: facts about it, copies, checks, repair, joining, making it small.

The path is enough for most of it, since a damaged file cannot be opened as a knowledge base.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from localrag.errors import (
    DiskFull,
    KnowledgeBaseBusy,
    KnowledgeBaseError,
    KnowledgeBaseExists,
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    NewerFormat,
    NotAKnowledgeBase,
    UsageError,
)
from localrag.runlock import ensure_free
from localrag.store.backup import check_target, copy_file, free_name, part_beside, place, require_room
from localrag.store.compacting import vacuum as vacuum_file
from localrag.store.database import Store
from localrag.store.file_rows import FileFacts, MergeReport, RepairReport, VacuumReport, VerifyReport
from localrag.store.salvage import Salvage, copy_damaged
from localrag.store.sqlite import writable

__all__ = [
    "FileFacts",
    "MergeReport",
    "RepairReport",
    "VacuumReport",
    "VerifyReport",
    "describe",
    "export",
    "merge",
    "repair",
    "vacuum",
    "verify",
]

OnStep = Callable[[str], None]
"""Hears what is done now."""

_STRUCTURE = "SQLite: "
_MENDABLE = re.compile(
    r"missing from index|wrong # of entries in index|non-unique entry in index|FTS5|fts5|"
    r"CHECK constraint failed|NULL value in|value in \S+$"
)
_NOT_DAMAGE = (
    KnowledgeBaseNotFound,
    KnowledgeBaseReadOnly,
    KnowledgeBaseBusy,
    NewerFormat,
    NotAKnowledgeBase,
)


def export(
    path: Path, target: Path, *, overwrite: bool = False, cancel: threading.Event | None = None
) -> int:
    """Write a copy of a knowledge base to `target`; returns its bytes.

    Other programs may read and write the file meanwhile. The copy is one compact file that only its owner
    can read; it is complete or not there. With `overwrite` it may replace another knowledge base, and nothing
    else. Raises what `store.backup.copy_file` raises.
    """
    # Opened first for its refusals: a newer format, a file of another program, one that is not there.
    Store.open(path, read_only=True).close()
    return copy_file(path, target, overwrite=overwrite, cancel=cancel)


def describe(path: Path) -> tuple[FileFacts, tuple[str, ...]]:
    """Facts about a file, and what a person should know of how it was opened. Raises as `Store.open`."""
    with Store.open(path, read_only=True) as store:
        return store.describe(), store.notes


def verify(path: Path, on_step: OnStep | None = None, cancel: threading.Event | None = None) -> VerifyReport:
    """Look through the whole file for anything that is wrong; changes nothing.

    Raises `Cancelled`, and as `Store.open` does for a file that is none of ours or in use; damage is in the
    report.
    """
    try:
        with Store.open(path, read_only=True) as store:
            return VerifyReport(path, tuple(store.check(on_step, cancel)), store.notes)
    except _NOT_DAMAGE:
        raise
    except KnowledgeBaseError as error:
        return VerifyReport(path, (error.message,), ())


def merge(
    store: Store,
    sources: Sequence[Path],
    *,
    dry: bool = False,
    cancel: threading.Event | None = None,
    on_report: Callable[[MergeReport], None] = lambda report: None,
) -> list[MergeReport]:
    """Join other knowledge bases into an open one, one after the other, each in one transaction.

    `on_report` hears of each when it is stored. With `dry` nothing is changed, and each report is of that
    file alone. The files are only read; one of an older format is read through a copy in memory.

    Raises `UsageError` for the knowledge base itself, `KnowledgeBaseBusy` if another program indexes it,
    `KnowledgeBaseReadOnly`, `DiskFull`, `Cancelled`, and what `Store.open` raises; the files before the one
    that raised are joined.
    """
    if store.read_only:
        raise KnowledgeBaseReadOnly(
            f"{store.path.name} can be asked but not changed.",
            "Copy it to a folder of yours and merge there.",
        )
    ensure_free(store.path)
    for source in sources:
        if not source.exists():
            raise KnowledgeBaseNotFound(
                f"There is no knowledge base {source}. Nothing was joined in.",
                "Name the file as it is called.",
            )
        if source.samefile(store.path):
            raise UsageError(
                f"{source} is the knowledge base itself.", "Name the files to be joined into it."
            )
    reports = []
    for source in sources:
        with Store.open(source, read_only=True) as other:
            report = store.merge(other, dry=dry, cancel=cancel)
            report = replace(report, notes=(*other.notes, *report.notes))
        reports.append(report)
        on_report(report)
    return reports


def vacuum(path: Path, cancel: threading.Event | None = None) -> VacuumReport:
    """Give the room of what was deleted back to the disk. Raises what `store.compacting.vacuum` raises."""
    with Store.open(path) as store:
        notes = store.notes
    return replace(vacuum_file(path, cancel), notes=notes)


def repair(path: Path, output: Path | None = None, on_step: OnStep = lambda step: None) -> RepairReport:
    """Mend a knowledge base, or save what can be read of one that SQLite cannot read any more.

    Where the structure of the file is whole, all is done in place and in one transaction; if anything was
    wrong, a copy of the file as it was is kept beside it. A file with damaged pages, or one that cannot be
    written, is left as it is: what can be read goes to a new file, `output` or one beside it.

    Raises as `Store.open` for a file that is none of ours; `KnowledgeBaseBusy`, `DiskFull`;
    `KnowledgeBaseReadOnly` for a file that cannot be written where no `output` is named; for an output that
    cannot be one as `store.backup.copy_file`; `KnowledgeBaseError` if nothing can be read.
    """
    if output is not None:
        if os.path.lexists(output) and not output.is_dir():
            raise KnowledgeBaseExists(
                f"{output.name} is there already.", "Name another file for what is saved."
            )
        check_target(path, output)
    report = verify(path, on_step)
    if not writable(path):
        if output is None:
            raise KnowledgeBaseReadOnly(
                f"{path.name} or its folder cannot be written, so it cannot be mended where it is.",
                "Save what can be read to a folder of yours: localrag repair --output FILE",
            )
        return _salvaged(path, output, report, on_step)
    if not any(_is_damage(problem) for problem in report.problems):
        ensure_free(path)
        try:
            return _mended(path, report, on_step)
        except (*_NOT_DAMAGE, DiskFull):
            raise
        except KnowledgeBaseError as error:
            report = replace(report, problems=(*report.problems, error.message))
    return _salvaged(path, output or _free_output(path), report, on_step)


def _mended(path: Path, report: VerifyReport, on_step: OnStep) -> RepairReport:
    """Mend a file in place; if that cannot be, it is as it was, and no copy is left."""
    if report.ok:
        return _mended_in_place(path, report, on_step)
    copy = free_name(path.resolve().with_name(f"{path.resolve().name}.before-repair"))
    copy_file(path, copy, whole=False)
    try:
        mended = _mended_in_place(path, report, on_step)
    except BaseException:
        copy.unlink()
        raise
    kept = f"The file as it was is kept in {copy.name}; delete that when all is well."
    return replace(mended, done=(*mended.done, kept))


def _mended_in_place(path: Path, report: VerifyReport, on_step: OnStep) -> RepairReport:
    with Store.open(path) as store, store.transaction():
        done, lost = store.mend(on_step)
        left = store.check(on_step)
        # A column cannot be put back into a table; the rows have to go to new ones.
        if any(problem.startswith((_STRUCTURE, "The file lacks")) for problem in left):
            raise KnowledgeBaseError(f"{path.name} cannot be mended in place.")
        # Derived too, and nothing tells noise in it from a vector.
        store.vectors.cache.drop()
        said = (*store.notes, *done)
    return RepairReport(path, False, report.problems, said, tuple(lost), tuple(left))


def _salvaged(path: Path, output: Path, report: VerifyReport, on_step: OnStep) -> RepairReport:
    """Write what can be read of a damaged file to a new one."""
    require_room(output.absolute().parent, 2 * path.stat().st_size, "what can be saved")
    with (
        part_beside(output) as part,
        tempfile.TemporaryDirectory(
            dir=output.absolute().parent, prefix=".localrag-", suffix=".part"
        ) as folder,
    ):
        on_step("what can be read")
        damaged = copy_damaged(path, Path(folder))
        with Store.create(part) as store:
            saved = store.take_rows(damaged)
            done, lost = store.mend(on_step)
            left = store.check(on_step)
        if not any(saved.rows.values()):
            raise KnowledgeBaseError(
                f"Nothing can be read of {path.name}.", "Use a copy of the file if you have one."
            )
        place(part, output)
    if saved.torn:
        done.insert(0, f"{saved.torn:,} documents lack passages; `localrag sync` reads their files again.")
    if saved.again:
        again = (
            f"{saved.again:,} passages whose records are lost are read again by the next `localrag index`."
        )
        done.insert(0, again)
    done.insert(0, f"What can be read was written to {output.name}; {path.name} was not changed.")
    return RepairReport(output, True, report.problems, tuple(done), (*_lost_rows(saved), *lost), tuple(left))


def _lost_rows(saved: Salvage) -> list[str]:
    found = [
        f"{table}: {count:,} rows or stretches of rows could not be read, {saved.rows.get(table, 0):,} were."
        for table, count in saved.lost.items()
    ]
    if documents := len(saved.spared.get("documents", [])):
        found.append(f"The texts of {documents:,} documents were put together from their passages.")
    if outputs := len(saved.spared.get("generations", [])):
        found.append(f"What the model wrote in {outputs:,} calls; what was read from it is there.")
    return found


def _free_output(path: Path) -> Path:
    """A name beside a damaged file that is not taken and ends as knowledge bases do."""
    stem, ending = path.name.removesuffix(path.suffix), path.suffix
    number, found = 1, path.with_name(f"{stem}.repaired{ending}")
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{stem}.repaired-{number}{ending}")
    return found


def _is_damage(problem: str) -> bool:
    """Whether a problem is damage to the pages of the file; indexes, full text and values can be mended."""
    return problem.startswith(_STRUCTURE) and not _MENDABLE.search(problem)
