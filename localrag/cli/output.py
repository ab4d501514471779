"""Where words go: data to stdout, talk to stderr, one JSON document for programs, tables for people.

Everything printed here passes `plain` or JSON's own escapes. Rich is imported when a table or a bar is drawn,
not before.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

from localrag.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

Justify = Literal["left", "right"]

_SEEN_BY_TERMINALS = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_PIPE_WIDTH = 10_000


def put(text: str, *, end: str = "\n") -> None:
    """Write text that is harmless already to stdout, at once."""
    print(text, end=end, flush=True)


def put_text(text: str) -> None:
    """Write lines that others wrote to stdout."""
    put(plain(text, lines=True))


def put_json(value: object) -> None:
    """Write one JSON document to stdout.

    Letters of all languages stay readable where the output's encoding has them; control characters are
    escaped, those that JSON itself would let through included.
    """
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(value, ensure_ascii=not unicode, indent=2)
    put(_SEEN_BY_TERMINALS.sub(lambda match: f"\\u{ord(match.group()):04x}", text))


def say(text: str) -> None:
    """Write a line of talk to stderr."""
    print(plain(text), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Write a line to stderr that a person should not miss."""
    print(f"{_coloured('Note:', '33')} {plain(text)}", file=sys.stderr, flush=True)


def show_error(kind: str, message: str, hint: str, *, as_json: bool) -> None:
    """Tell of an error: a sentence and a hint on stderr, and for programs an object on stdout."""
    print(f"{_coloured('Error:', '31')} {plain(message)}", file=sys.stderr)
    if hint:
        print(f"  {plain(hint)}", file=sys.stderr)
    sys.stderr.flush()
    if as_json:
        # stdout may be what failed: a full disk behind it, a reader that went away.
        with contextlib.suppress(OSError):
            put_json({"error": {"kind": kind, "message": message, "hint": hint}})


def put_table(
    columns: Sequence[str | tuple[str, Justify]], rows: Iterable[Sequence[str]], *, title: str = ""
) -> None:
    """Write a table to stdout, wide characters aligned; nothing is cut when the output is no terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        name = column if isinstance(column, str) else column[0]
        table.add_column(name, justify="left" if isinstance(column, str) else column[1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = stdout_console()
    if is_terminal(sys.stdout):
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    put("\n".join(line.rstrip() for line in captured.get().splitlines() if line.strip()))


def put_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write pairs of a name and a value to stdout, one under the other."""
    from rich.cells import cell_len

    pairs = [(plain(name), plain(value)) for name, value in facts]
    width = max((cell_len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        put(f"{name}{' ' * (width - cell_len(name))}  {value}")


def stdout_console() -> Console:
    """A console that writes to the present stdout."""
    return _console(sys.stdout)


def stderr_console() -> Console:
    """A console that writes to the present stderr."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    width = None if is_terminal(stream) else _PIPE_WIDTH
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking at `stream`."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def size(count: int) -> str:
    """A number of bytes for people: `1.1 GB`, `71.6 MB`, `512 bytes`."""
    if count < 1000:
        return f"{count} bytes"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.5 or unit == "GB":
            break
    return f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """A time for people: `4 s`, `2 min 5 s`, `3 h 20 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def number(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 chunk`, `3 chunks`, `2 entities`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _coloured(text: str, code: str) -> str:
    if is_terminal(sys.stderr) and not os.environ.get("NO_COLOR"):
        return f"\x1b[{code};1m{text}\x1b[0m"
    return text
