"""What the `bench` commands share: a bar that follows labels, and the file of a dump."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from localrag.cli.progress import Bar
from localrag.errors import UsageError


class Labelled:
    """Shows on the bar what is being done."""

    def __init__(self, bar: Bar, before: str = "") -> None:
        """`before` stands before every label."""
        self._bar = bar
        self._before = before
        self._label = ""

    def __call__(self, label: str, done: int, total: int) -> None:
        """`done` of `total` are done of what `label` names."""
        if label != self._label:
            self._bar.begin(f"{self._before}{label}", total)
            self._label = label
        self._bar.update(done)


@contextlib.contextmanager
def dump_file(path: Path | None) -> Iterator[TextIO | None]:
    """A new file for the dump, or none. Raises `UsageError` if it cannot be written."""
    from localrag.bench.extraction import open_dump

    if path is None:
        yield None
        return
    try:
        file = open_dump(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", "Give another file.") from error
    with file:
        yield file
