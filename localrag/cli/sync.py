"""`localrag sync`: finds what changed in what was added, and brings the knowledge base in line with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.add import PARTLY_DONE
from localrag.cli.following import (
    follow,
    pattern_change,
    pattern_options,
    sync_json,
    sync_paths,
    tell_sync,
)
from localrag.cli.invocation import Invocation, NamedPath, json_option, kb_option, pass_invocation
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase, PatternChange, SyncOptions, SyncReport
    from localrag.watching import Watch


@click.command(short_help="Find what changed in the folders.")
@click.argument("paths", nargs=-1, type=NamedPath(), metavar="[PATH]...")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--check", is_flag=True, help="Read every file, also where size and time are as before.")
@pattern_options
@click.option(
    "--delete-missing",
    is_flag=True,
    help="Delete what is gone also where a whole folder is missing or empty, or lost more than half.",
)
@click.option(
    "--delete-excluded", is_flag=True, help="Delete documents whose file is left out by patterns now."
)
@click.option("--yes", is_flag=True, help="Do not ask before either of these.")
@click.option("--list", "listing", is_flag=True, help="Only list what is followed, with its patterns.")
@click.option("--unfollow", is_flag=True, help="Follow the named folders no more; their documents stay.")
@click.option("--watch", is_flag=True, help="Go on with every change until ctrl-c.")
@click.option("--poll", is_flag=True, help="With --watch: look at the files in turns (network drives).")
@kb_option
@json_option
@pass_invocation
def sync(
    invocation: Invocation,
    paths: tuple[Path, ...],
    dry_run: bool,
    check: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    gitignore: bool | None,
    all_files: bool,
    delete_missing: bool,
    delete_excluded: bool,
    yes: bool,
    listing: bool,
    unfollow: bool,
    watch: bool,
    poll: bool,
) -> int:
    """Bring the knowledge base in line with the folders and files that were added.

    Finds new, changed, moved and deleted files, also those that changed while nothing ran. Of a changed file
    only the passages whose text changed are to be read again; a moved file keeps everything. No model is
    needed; `localrag index` then reads what is new. PATHs limit it to what lies there.

    Documents are kept where it cannot be told that their files are gone: the folder is missing, empty or
    cannot be opened, or more than half of it vanished at once.

    \b
    Examples:
      localrag sync --dry-run
      localrag sync notes/ --exclude 'drafts/**'
      localrag sync --watch
    """
    from localrag.kb import SyncOptions

    if watch and (dry_run or invocation.json or delete_missing or delete_excluded or unfollow or listing):
        raise UsageError("--watch goes with none of the options but patterns, --check and --poll.")
    if poll and not watch:
        raise UsageError("--poll needs --watch.")
    patterns = pattern_change(include, exclude, gitignore, all_files)
    options = SyncOptions(
        check=check, dry_run=dry_run, delete_missing=delete_missing, delete_hidden=delete_excluded
    )
    with invocation.knowledge_base(read_only=dry_run or listing) as kb:
        if listing:
            return _list(kb, as_json=invocation.json)
        if unfollow:
            return _unfollow(kb, paths, as_json=invocation.json)
        if (delete_missing or delete_excluded) and not (yes or dry_run):
            _ask(kb, paths, patterns, options)
        with stoppable() as stop:
            if watch:
                _watch(kb, paths, patterns, options, stop, poll=poll)
                return stop.exit_code
            report = sync_paths(kb, paths, stop, patterns=patterns, options=options, quiet=invocation.json)
            _show(report, as_json=invocation.json)
            if report.cancelled:
                output.say("Stopped. What was done is kept; the same command goes on.")
                return stop.exit_code
    if report.chunks and not invocation.json:
        output.say("Next: localrag index")
    return PARTLY_DONE if report.failed else 0


def _watch(
    kb: KnowledgeBase,
    paths: Sequence[Path],
    patterns: PatternChange,
    options: SyncOptions,
    stop: Stop,
    *,
    poll: bool,
) -> None:
    """Sync now and after every change."""
    before: SyncReport | None = None

    def work(watch: Watch) -> None:
        nonlocal before
        # The first round keeps the patterns; later ones must not undo what another program set.
        kept = patterns if before is None else None
        report = sync_paths(kb, paths, stop, patterns=kept, options=options)
        tell_sync(report, before=before)
        before = report

    follow(kb, stop, work, poll=poll)


def _show(report: SyncReport, *, as_json: bool) -> None:
    if as_json:
        output.put_json(sync_json(report))
    else:
        tell_sync(report)


def _list(kb: KnowledgeBase, *, as_json: bool) -> int:
    """Show what is followed."""
    rows = kb.followed()
    files = [str(path) for path in kb.watched().files]
    if as_json:
        output.put_json({"folders": [asdict(row) for row in rows], "files": files})
        return 0
    if not (rows or files):
        output.say("Nothing is followed yet. Put a folder in: localrag add FOLDER")
        return 0
    output.put_table(
        ["followed", "takes", "leaves out", ".gitignore", "compared"],
        [
            (
                row.path,
                " ".join(row.include) or "all",
                " ".join(row.exclude) or "nothing",
                "yes" if row.gitignore else "no",
                row.synced_at[:16] or "not yet",
            )
            for row in rows
        ]
        + [(path, "", "", "", "") for path in files],
    )
    return 0


def _unfollow(kb: KnowledgeBase, paths: Sequence[Path], *, as_json: bool) -> int:
    if not paths:
        raise UsageError("--unfollow needs the folders to be named.", "For example: --unfollow notes/")
    kb.unfollow(*paths)
    for path in paths:
        output.say(f"{path} is followed no more. Its documents stay; localrag delete takes them out.")
    if as_json:
        output.put_json({"unfollowed": [str(path) for path in paths]})
    return 0


def _ask(kb: KnowledgeBase, paths: Sequence[Path], patterns: PatternChange, options: SyncOptions) -> None:
    """Say what would be deleted and ask. Raises `UsageError` where nobody can answer, `click.Abort` on no."""
    planned = kb.sync(paths, patterns=patterns, options=replace(options, dry_run=True))
    if not planned.deleted:
        return
    documents = output.number(len(planned.deleted), "document")
    if not (sys.stdin.isatty() and output.is_terminal(sys.stderr)):
        raise UsageError(f"This deletes {documents}.", "Look with --dry-run, then say so with --yes.")
    for path in planned.deleted[:20]:
        output.say(path)
    click.confirm(f"Delete {documents} and all that was read in them?", abort=True, err=True)
