"""Bytes of a text file to well-formed text: which encoding it has, and whether it is text at all.

The ladder is: byte order mark; signatures of other formats (refused); UTF-16 without a mark, told by its
zero bytes; UTF-8, with the halves of surrogate pairs put together again; an encoding from before Unicode,
told by its commonest characters; line by line where a file mixes UTF-8 with such an encoding.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from localrag.documents import legacy
from localrag.errors import DocumentError

SAMPLE = 1 << 17
"""Bytes looked at where a guess is needed; the rest of a file is taken to be like its beginning."""

GUESS_SAMPLE = 1 << 15
"""Bytes that an encoding from before Unicode is guessed from, all of lines that are not ASCII."""

FALLBACK = "cp1252"
"""What bytes are read as when nothing is known about them but that they are text."""

_BOMS = (
    # UTF-32 before UTF-16, whose mark is the beginning of the other's.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"GGUF", "a language model"),
)

_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\x0b\f\r\x1b") + b"\x7f"
_MALFORMED = re.compile("[\0\ud800-\udfff]")
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)  # more than one byte, as UTF-8 has it
_ASCII = bytes(range(128))


@dataclass(frozen=True)
class Decoded:
    """Text got from bytes."""

    text: str
    """Well-formed text: no NUL, no lone surrogate, no byte order mark, lines ended by a line feed alone."""

    encoding: str
    """Name of the encoding, such as `utf-8` or `gb18030`; `utf-8+big5hkscs` for a file that mixes two."""

    replaced: int
    """Number of U+FFFD in the text, each in the place of something that could not be kept."""


def decode(data: bytes) -> Decoded:
    """Decode the whole content of a text file.

    Takes any bytes; no bytes make an empty text. Control characters other than NUL stay as they are.
    Raises `DocumentError` if the bytes are another kind of file.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _decode_wide(data[len(mark) :], encoding)
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    if data.startswith(b"%PDF-"):
        raise _refusal("a PDF file")
    narrow = _is_utf8(data)
    controls = _share(data[:SAMPLE], _CONTROLS)
    # A NUL or two in a small file is a slip; where bytes are not even UTF-8, it is no text.
    plain = controls <= (0.4 if narrow else 0.02)
    wide = _utf16_without_mark(data[:SAMPLE], narrow=narrow and plain)
    if wide is not None:
        return _decode_wide(data, wide)
    if not plain or (not narrow and _signed_kind(data) != "binary data"):
        raise _refusal(_signed_kind(data))
    if narrow:
        return _finish(data.decode("utf-8", errors="surrogatepass"), "utf-8")
    return _decode_mixed(data)


def _finish(text: str, encoding: str) -> Decoded:
    """Make decoded text well-formed."""
    if _MALFORMED.search(text):
        # Two halves that were encoded one by one become the character that they stand for.
        text = text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
        text = text.replace("\0", "\ufffd")
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), encoding, text.count("\ufffd"))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8", errors="surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _share(data: bytes, kinds: bytes) -> float:
    """Share of the bytes that are among `kinds`."""
    return 1 - len(data.translate(None, kinds)) / len(data) if data else 0.0


def _signed_kind(data: bytes) -> str:
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), "binary data")


def _refusal(kind: str) -> DocumentError:
    return DocumentError(f"It is {kind}, not text.", "Its name promises text: give it its proper name.")


def _utf16_without_mark(sample: bytes, *, narrow: bool) -> str | None:
    """Name the byte order if the bytes are UTF-16; `narrow` says whether they are ordinary UTF-8."""
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    units = len(sample) // 2
    encoding, zeros = ("utf-16-be", even) if even > odd else ("utf-16-le", odd)
    if units >= 2 and zeros > units / 2 and min(even, odd) <= zeros / 10:
        # Latin text: a zero in nearly every unit, always on the same side.
        return encoding if _is_plausible(sample.decode(encoding, errors="replace")) else None
    # Text in other scripts has few zeros, but then it is no UTF-8 either.
    return None if narrow else legacy.guess_wide(sample[:GUESS_SAMPLE])


def _decode_wide(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace")
    if not _is_plausible(text[:4096]):
        raise _refusal("binary data")
    return _finish(text, encoding)


def _is_plausible(text: str) -> bool:
    """Whether nearly all is something that a person could have written."""
    strange = sum(
        unicodedata.category(character) in ("Cc", "Cn", "Co") and not character.isspace()
        for character in text
    )
    return (strange + text.count("\ufffd")) <= 0.1 * len(text) + 1


def _decode_mixed(data: bytes) -> Decoded:
    """Decode bytes that are text but not wholly UTF-8: damaged, older than Unicode, or both in one file."""
    foreign = len(data.translate(None, _ASCII))
    covered = sum(map(len, _SEQUENCE.findall(data)))
    mostly_utf8 = covered >= 0.4 * foreign
    lines = data.splitlines(keepends=True)
    older = [not _reads_as_utf8(line, mostly_utf8) for line in lines]
    if not any(older):
        return _finish(data.decode("utf-8", errors="replace"), "utf-8")
    sample = b"".join(line for line, old in zip(lines, older, strict=True) if old)[:GUESS_SAMPLE]
    encoding = legacy.guess(sample) or FALLBACK
    if all(old or line.isascii() for line, old in zip(lines, older, strict=True)):
        return _finish(data.decode(encoding, errors="replace"), encoding)
    parts = [
        line.decode(encoding if old else "utf-8", errors="replace")
        for line, old in zip(lines, older, strict=True)
    ]
    return _finish("".join(parts), f"utf-8+{encoding}")


def _reads_as_utf8(line: bytes, mostly_utf8: bool) -> bool:
    """Whether a line of a file that is not all UTF-8 is UTF-8, perhaps with a damaged place.

    Two characters of an older encoding can look like UTF-8 by chance, so that in a file which is mostly not
    UTF-8 only a longer stretch counts.
    """
    foreign = len(line.translate(None, _ASCII))
    covered = sum(map(len, _SEQUENCE.findall(line)))
    if foreign == 0:
        return True
    return covered >= 0.7 * foreign if mostly_utf8 else covered == foreign and foreign >= 10
