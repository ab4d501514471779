"""What `add`, `sync` and `index` share about followed folders: options, what is told, and the watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Command
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop
from localrag.errors import LocalragError

if TYPE_CHECKING:
    from pathlib import Path

    from localrag.kb import KnowledgeBase, PatternChange, SyncEvent, SyncOptions, SyncReport
    from localrag.watching import Watch

LISTED = 20
_NAMED = 3
_LOOK = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0
_PAIRS = ("moved", "copied", "failed", "skipped", "kept", "closed", "hidden")
_SECOND = {"moved": "from", "copied": "of"}


def pattern_options(command: Command) -> Command:
    """Add the options that say which files of a folder are wanted; `pattern_change` reads them."""
    include = click.option(
        "--include",
        multiple=True,
        metavar="PATTERN",
        help="Take only files like this, such as '*.md'; may be repeated. Kept with the folder.",
    )
    exclude = click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave out what is like this, such as 'drafts/**'; may be repeated. Kept with the folder.",
    )
    gitignore = click.option(
        "--gitignore/--no-gitignore",
        default=None,
        help="Whether to leave out what .gitignore files name. At first it is so.",
    )
    everything = click.option("--all-files", is_flag=True, help="Forget earlier --include and --exclude.")
    return include(exclude(gitignore(everything(command))))


def pattern_change(
    include: Sequence[str], exclude: Sequence[str], gitignore: bool | None, all_files: bool
) -> PatternChange:
    """What the options ask for; what was not given stays as it is."""
    from localrag.kb import PatternChange

    return PatternChange(
        include=tuple(include) if include or all_files else None,
        exclude=tuple(exclude) if exclude or all_files else None,
        gitignore=gitignore,
    )


def sync_paths(
    kb: KnowledgeBase,
    paths: Sequence[Path],
    stop: Stop,
    *,
    patterns: PatternChange | None = None,
    options: SyncOptions | None = None,
    quiet: bool = False,
) -> SyncReport:
    """Sync with progress on stderr."""
    with Bar(quiet=quiet) as bar:
        bar.begin("Comparing", 0)

        def show(event: SyncEvent) -> None:
            bar.update(event.done, event.path, event.total)

        return kb.sync(paths, patterns=patterns, options=options, on_event=show, cancel=stop.event)


def sync_json(report: SyncReport) -> dict[str, Any]:
    """The report for programs."""
    values = asdict(report)
    for name in _PAIRS:
        second = _SECOND.get(name, "reason")
        values[name] = [{"path": path, second: other} for path, other in values[name]]
    return values


def tell_sync(report: SyncReport, *, before: SyncReport | None = None) -> None:
    """Say what was found, and what is left for the person to decide.

    With `before`, what was found in the round before, nothing is said again that was said then.
    """
    changes = (
        *(("New", path) for path in report.added),
        *(("Moved", f"{old} to {new}") for new, old in report.moved),
        *(("Changed", path) for path in report.changed),
        *(("Same content", f"{path} as {of}") for path, of in report.copied),
        *(("Deleted", path) for path in report.deleted),
    )
    for word, text in changes[:LISTED]:
        output.say(f"{word}: {text}")
    if len(changes) > LISTED:
        output.say(f"And {output.number(len(changes) - LISTED, 'other change')}; --json lists all.")
    news = before is None or _left(report) != _left(before)
    if not (changes or news):
        return
    tell_failed(report.failed)
    if before is None:
        tell_skipped(report.skipped)
        for note in report.notes[:LISTED]:
            output.warn(note)
    if news:
        _tell_left(report)
    output.say(_summary(report))


def tell_failed(failed: Sequence[tuple[str, str]]) -> None:
    """Say which files could not be read."""
    for path, reason in failed[:LISTED]:
        output.warn(f"{path}: {reason}")
    if len(failed) > LISTED:
        output.say(f"And {output.number(len(failed) - LISTED, 'other')}; localrag status lists all.")


def tell_skipped(skipped: Iterable[tuple[str, str]]) -> None:
    """Say what was passed over, together where the reason is the same."""
    reasons = _by_reason(skipped)
    for reason, paths in list(reasons.items())[:LISTED]:
        output.say(f"Skipped {_some(paths)}: {reason}")
    if len(reasons) > LISTED:
        output.say(f"Skipped others for {len(reasons) - LISTED:,} other reasons; --json lists all.")


def _left(report: SyncReport) -> tuple[object, ...]:
    """What is not in order and stays so until the person does something."""
    return (report.kept, report.closed, report.hidden, report.failed)


def _tell_left(report: SyncReport) -> None:
    """Say which documents stay although their file is not to be had."""
    for reason, paths in _by_reason(report.kept).items():
        documents = output.number(len(paths), "document")
        output.warn(
            f"{documents} kept, since {reason}: {_some(paths)}. "
            "If they lie elsewhere now, localrag add FOLDER finds them there; "
            "if they are gone for good, localrag sync --delete-missing deletes them."
        )
    for reason, paths in _by_reason(report.closed).items():
        documents = output.number(len(paths), "document")
        output.warn(f"{documents} kept, which could not be looked at ({reason}): {_some(paths)}.")
    for reason, paths in _by_reason(report.hidden).items():
        documents = output.number(len(paths), "document")
        output.warn(
            f"{documents} kept, {reason} now: {_some(paths)}. "
            "localrag sync --delete-excluded takes out what is not wanted any more."
        )


def _summary(report: SyncReport) -> str:
    counts = (
        (len(report.added), "added"),
        (len(report.changed), "changed"),
        (len(report.moved), "moved"),
        (len(report.copied), "with the content of another"),
        (len(report.deleted), "deleted"),
        (report.unchanged, "unchanged"),
        (len(report.failed), "failed"),
    )
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing there"
    if report.dry_run:
        return f"Would be: {told}. Nothing was done."
    return f"Files: {told}. New chunks: {report.chunks:,}."


def _by_reason(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for path, reason in pairs:
        reasons.setdefault(reason, []).append(path)
    return reasons


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def follow(kb: KnowledgeBase, stop: Stop, work: Callable[[Watch], None], *, poll: bool) -> None:
    """Do `work` now and after every change until the person stops it.

    `work` gets the watch, to ask it meanwhile whether something changed again. What goes wrong in the first
    round is raised; later it is said, and tried again after a while.
    """
    with kb.watch(poll=poll) as watch:
        work(watch)
        if stop.asked:
            return
        _tell_start(kb)
        note, pause, due = "", _FIRST_PAUSE, False
        retry_at = 0.0
        while not stop.asked:
            if watch.note != note:
                note = watch.note
                output.warn(note)
            watch.aim(kb.watched())
            due = watch.wait(stop.event, _LOOK) or (retry_at > 0 and time.monotonic() >= retry_at)
            if stop.asked or not due:
                continue
            watch.take()
            try:
                work(watch)
                pause, retry_at = _FIRST_PAUSE, 0.0
            except (LocalragError, OSError) as error:
                output.warn(f"{error} It is tried again in {output.duration(pause)}.")
                retry_at = time.monotonic() + pause
                pause = min(2 * pause, _LONGEST_PAUSE)


def _tell_start(kb: KnowledgeBase) -> None:
    aims = kb.watched()
    parts = [
        output.number(len(found), word)
        for found, word in ((aims.folders, "folder"), (aims.files, "single file"))
        if found
    ]
    output.say(f"Watching {' and '.join(parts)}. Ctrl-c ends.")
