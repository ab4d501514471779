"""One file to a `Document`: its text, and what is known about it.

Plain text and Markdown are read; Markdown stays as it was written, because spans point into the stored text.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from localrag.documents import decoding, language
from localrag.documents.discovery import display_name
from localrag.errors import DocumentError

SIZE_LIMIT = 64 * 1024 * 1024
"""Largest file that is read, in bytes."""

TITLE_LIMIT = 200
"""Longest title, in characters."""

MEDIA_TYPES = {
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
}
"""What is read, by the last suffix of the name in lower case."""

READ_AGAIN = 3
"""How often a file is read that changes meanwhile."""

COARSE = 2.0
"""Seconds within which a file system with a coarse clock gives two changes the same time."""

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_NO_PARAGRAPH = re.compile(r"[ \t]*(?:$|[>|#]|[-*+][ \t]|\d+[.)][ \t]|(?:[-*_][ \t]*){3,}$)|\t| {4}")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True)
class Heading:
    """A heading in a document's text."""

    offset: int
    """Where its line begins, in characters."""

    level: int
    """1 for the highest."""

    title: str
    """Its text on one line, without the signs that make it a heading; never empty."""


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    text: str
    """The whole text; spans of chunks and mentions point into it. Empty if nothing is in the file."""

    media_type: str
    """For example `text/markdown`."""

    title: str
    """The first heading, or the file's name without its suffix."""

    language: str
    """Two-letter code of the language that most of it is in."""

    sha256: str
    """Hash of the file's bytes, as hexadecimal text."""

    size: int
    """Bytes."""

    mtime: float
    """When the file was last changed, in seconds since 1970; see `noted_time`."""

    headings: tuple[Heading, ...]
    """In the order of the text; empty for formats that have none."""


@dataclass(frozen=True)
class Fingerprint:
    """What tells whether a file has the content that is known."""

    sha256: str
    """Hash of the file's bytes, as hexadecimal text."""

    size: int
    """Bytes."""

    mtime: float
    """When the file was last changed, in seconds since 1970; see `noted_time`."""

    blank: bool
    """Whether there is nothing but white space in it."""


def fingerprint(path: Path) -> Fingerprint:
    """Hash the file at `path`. Raises `DocumentError` as `read` does, but not for what is no text."""
    data, mtime = _load(path)
    return Fingerprint(hashlib.sha256(data).hexdigest(), len(data), mtime, not data.strip())


def noted_time(mtime: float, now: float) -> float:
    """The time to note for a file that was changed at `mtime` and read at `now`.

    Where the clock is coarse, a second change could have the same time and go unseen; then another time is
    noted, so that the file is looked at once more.
    """
    return mtime - 0.5 if mtime.is_integer() and now - mtime < COARSE else mtime


def read(path: Path) -> Document:
    """Read the file at `path`.

    Raises `DocumentError`, whose message is the reason alone, if the file is gone, cannot be opened, is too
    large, is of a format that localrag does not read, or is no text.
    """
    suffix = Path(path.name.strip()).suffix
    media_type = MEDIA_TYPES.get(suffix.lower())
    if media_type is None:
        raise DocumentError(f"{_format_name(suffix)} is not a format that localrag reads yet.", _formats())
    data, mtime = _load(path)
    text = decoding.decode(data).text
    headings = tuple(markdown_headings(text)) if media_type == "text/markdown" else ()
    title = headings[0].title if headings else title_of(path)
    return Document(
        text=text,
        media_type=media_type,
        title=title,
        language=language.detect(text),
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        mtime=mtime,
        headings=headings,
    )


def title_of(path: PurePath) -> str:
    """The title of a document that has no heading: its file's name without the suffix."""
    return _one_line(display_name(path.stem))


def markdown_headings(text: str) -> Iterator[Heading]:
    """Yield the headings of Markdown in order, underlined ones too.

    What looks like one inside fenced code or in the metadata block at the top of the file is none.
    """
    fence = ""
    offset = _front_matter_end(text)
    paragraph = 0  # lines of the paragraph so far; only one that stands alone can be underlined
    before = (0, "")
    for line in text[offset:].split("\n"):
        start, offset = offset, offset + len(line) + 1
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence, paragraph = mark[1], 0
        elif heading := _ATX.match(line):
            paragraph = 0
            if title := _atx_title(line[heading.end() :]):
                yield Heading(start, len(heading[1]), title)
        elif paragraph == 1 and (rule := _SETEXT.match(line)):
            paragraph = 0
            yield Heading(before[0], 1 if rule[1][0] == "=" else 2, before[1])
        elif _NO_PARAGRAPH.match(line):
            # An indented line goes on with a paragraph but begins none.
            paragraph = paragraph and 2 if line.strip() else 0
        else:
            paragraph, before = paragraph + 1, (start, _one_line(line))


def _atx_title(rest: str) -> str:
    """Title from what follows the opening signs; signs that close the line belong to the markup."""
    rest = rest.strip()
    unclosed = rest.rstrip("#")
    return _one_line(unclosed if unclosed == "" or unclosed[-1].isspace() else rest)


def _front_matter_end(text: str) -> int:
    """Offset after the block of metadata between `---` lines at the top, 0 if there is none."""
    if not text.startswith("---\n"):
        return 0
    end = text.find("\n---\n", 3)
    return end + 5 if end >= 0 else 0


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()[:TITLE_LIMIT].rstrip()


def _load(path: Path) -> tuple[bytes, float]:
    """Return the bytes of an ordinary file of bearable size, and when it was changed."""
    try:
        # Looked at before it is opened, because opening a pipe would wait for a writer.
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise DocumentError("It is a folder.")
        if not stat.S_ISREG(status.st_mode):
            raise DocumentError("It is not an ordinary file.")
        for _ in range(READ_AGAIN):
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                # One byte more than allowed, for a file that grows or whose size the system does not know.
                data = file.read(SIZE_LIMIT + 1) if status.st_size <= SIZE_LIMIT else b""
                after = os.fstat(file.fileno())
            if (after.st_size, after.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
                break
            # Someone is writing to it. If that goes on, what was read counts with the time from before,
            # so that the file is looked at again.
    except FileNotFoundError as error:
        raise DocumentError("The file is gone.") from error
    except PermissionError as error:
        raise DocumentError("You have no permission to read it.", "Change its permissions.") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not valid"
        raise DocumentError(f"It cannot be opened: {reason}.") from error
    size = max(status.st_size, len(data))
    if size > SIZE_LIMIT:
        raise DocumentError(
            f"It is too large: {size / 2**20:,.1f} MB, and at most {SIZE_LIMIT // 2**20} MB are read.",
            "Split it into parts.",
        )
    return data, noted_time(status.st_mtime, time.time())


def _format_name(suffix: str) -> str:
    if not suffix:
        return "A file without a suffix"
    # A suffix is part of a name that anyone may have chosen: shown only if it is an ordinary one.
    return suffix if len(suffix) <= 12 and suffix[1:].isalnum() else "Its suffix"


def _formats() -> str:
    return f"Files it reads end in {', '.join(sorted(MEDIA_TYPES))}."
