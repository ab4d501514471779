"""Shows on stderr how far long work has come: a moving bar on a terminal, else a line now and then."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from localrag.cli import output
from localrag.plain import plain

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 10.0
SECONDS_TO_FIRST_LINE = 2.0


class Bar:
    """Progress of one piece of work after another.

    `begin` names the work, `update` tells how far it is, `note` says something in between without breaking
    the bar. Used as a context manager, so the terminal is as before whatever happens.
    """

    def __init__(self, *, quiet: bool = False, in_bytes: bool = False) -> None:
        """`quiet` shows nothing at all; `in_bytes` says that steps are bytes."""
        self._quiet = quiet
        self._in_bytes = in_bytes
        self._moving = not quiet and output.is_terminal(sys.stderr)
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._label = ""
        self._total = 0
        self._next_line = time.monotonic() + SECONDS_TO_FIRST_LINE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def begin(self, label: str, total: int) -> None:
        """Start a new piece of work with `total` steps; 0 if their number is not known."""
        self._label, self._total = plain(label), total
        self._next_line = time.monotonic() + SECONDS_TO_FIRST_LINE
        if self._moving:
            progress = self._started()
            if self._task is not None:
                progress.update(self._task, visible=False)
            self._task = progress.add_task(self._label, total=total or None, count="", detail="")

    def update(self, done: int, detail: str = "", total: int | None = None) -> None:
        """`done` steps are behind; `detail` is shown beside the bar."""
        if total is not None:
            self._total = total
        if self._progress is not None and self._task is not None:
            self._progress.update(
                self._task,
                completed=done,
                total=self._total or None,
                count=self._count(done),
                detail=plain(detail),
            )
        elif not self._quiet and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + SECONDS_BETWEEN_LINES
            output.say(f"{self._label}: {self._count(done)}{', ' + detail if detail else ''}")

    def note(self, text: str) -> None:
        """Say something above the bar."""
        if self._progress is not None:
            self._progress.console.print(plain(text))
        else:
            output.say(text)

    def _count(self, done: int) -> str:
        shown = [output.size(n) if self._in_bytes else f"{n:,}" for n in (done, self._total)]
        return " of ".join(shown) if self._total else shown[0]

    def _started(self) -> Progress:
        if self._progress is None:
            from rich.progress import BarColumn, Progress, TextColumn

            self._progress = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[count]}", markup=False),
                TextColumn("{task.fields[detail]}", markup=False),
                console=output.stderr_console(),
                transient=True,
                refresh_per_second=8,
            )
            self._progress.start()
        return self._progress
