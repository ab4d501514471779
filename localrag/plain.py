"""Makes text that others wrote harmless for a terminal: names of files, text of documents, output of models.

A terminal obeys escape sequences in whatever is printed. Here they are taken out, together with every other
control character, the characters that turn the direction of writing round, and halves of surrogate pairs.
"""

from __future__ import annotations

import re

_PARAMETERS = r"[0-?]{0,64}[ -/]{0,8}"
_STRING = r"[^\x07\x1b\x9c]{0,512}"
_SEQUENCE = re.compile(
    rf"(?:\x1b\[|\x9b){_PARAMETERS}[@-~]"  # colours, movements
    rf"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]){_STRING}(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|\x1b[ -/]{1,8}[0-~]|\x1b[0-OQ-WYZ\\`-~]"  # character sets, resets
)
_UNFINISHED = re.compile(
    rf"(?:(?:\x1b\[|\x9b){_PARAMETERS}"
    rf"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]){_STRING}\x1b?"
    r"|\x1b[ -/]{0,8})\Z"
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")

TYPEABLE = "[^\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*"
"""Regular expression of what a line to type in takes: anything but control characters and signs that turn
the direction of what follows."""


def plain(text: str, *, lines: bool = False) -> str:
    """`text` without anything that a terminal would obey.

    With `lines` false, for names and cells of a table, ends of lines and tabs become single blanks; with
    `lines` true they stay, every end of a line as `\\n`. Half surrogate pairs become U+FFFD.
    """
    text = _SEQUENCE.sub("", text)
    text = _CONTROL.sub("", _LINE_END.sub("\n", text))
    text = _SURROGATE.sub("\ufffd", text)
    return text if lines else " ".join(text.split())


def quoted(text: str, most: int = 60) -> str:
    """A name within a sentence: in quotes, harmless and of `most` characters at most."""
    text = plain(text)
    return f"“{text if len(text) <= most else text[: most - 1] + '…'}”"


def plain_lines(text: str) -> str:
    """`plain` with its lines and with four blanks for a tab, for screens that lay text out in cells."""
    return plain(text, lines=True).replace("\t", "    ")


class PlainStream:
    """`plain` for text that comes in pieces: a sequence that two pieces share is taken out all the same.

    The results of all calls joined are `plain(all pieces joined, lines=True)`.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be printed now; the start of a sequence is held back until its end is known."""
        text = self._held + piece
        cut = _safe_length(text)
        self._held = text[cut:]
        return plain(text[:cut], lines=True)

    def finish(self) -> str:
        """The rest that was held back."""
        rest, self._held = self._held, ""
        return plain(rest, lines=True)


def _safe_length(text: str) -> int:
    """Length of the part that no further text can change."""
    unfinished = _UNFINISHED.search(_SEQUENCE.sub(lambda match: " " * len(match.group()), text))
    if unfinished:
        return unfinished.start()
    return len(text) - 1 if text.endswith("\r") else len(text)
