"""Makes text that others wrote harmless for the screen: names of files, text of documents, words of a model.

What is shown must neither steer the terminal nor pass for something else, so escape sequences, control
characters, marks that turn the direction of writing and halves of surrogate pairs do not get through.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links, clipboard
    r"|\x1b[ -/]*[0-~]"  # all shorter ones
)
_NEW_LINE = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\u202a-\u202e\u2066-\u2069]")
_HALF_PAIR = re.compile("[\ud800-\udfff]")

TYPEABLE = "[^\x00-\x1f\x7f-\x9f]*"
"""Regular expression of what a line to type in takes: anything but control characters."""


def plain(text: str, *, lines: bool = False) -> str:
    """`text` without anything that a terminal would obey.

    With `lines` false, for names and cells, every run of white space becomes one blank. With `lines` true
    line ends stay, each as `\\n`, and tabs become four blanks.
    """
    text = _ESCAPE.sub("", text)
    text = _UNSEEN.sub("", _NEW_LINE.sub("\n", text))
    text = _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", text)
    return text.replace("\t", "    ") if lines else " ".join(text.split())
