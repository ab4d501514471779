"""Reads an answer as it streams: text, numbers of sources in brackets, and other marks, told apart.

The model's marks can be cut anywhere by the stream, written in full width, or forged by a text that the model
copies. What a reader gets to see is made of the result in `citing.py`; nothing here shows a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage

_NUMBERS = re.compile(r"\s*\^?\d{1,20}(?:\s*[,;，、；]\s*\d{1,20})*\s*")
_BEGUN = re.compile(r"\s*\^?[\d\s,;，、；]*")
"""What of numbers in brackets there may be before the bracket is closed."""
_LONGEST_GROUP = 64
_MARKUP = re.compile(r"([\\`*<>\[\]])")
_ESCAPED = r"\\\1"
_LABEL_TAG = len("[DC] ")
_OURS = frozenset(("DC", "KG", "unverified", "未证实"))
"""Marks that only we write; what a text says with them would be a forgery."""

_OPENING = {"[": "]", "【": "】", "［": "］", "〔": "〕"}
_ANY_OPENING = re.compile("[" + re.escape("".join(_OPENING)) + "`]")
_FENCE = 3


def label(source: Source) -> str:
    """How the list of references names a source: `[DC] file`, `[KG] name` or `[KG] name - name`.

    A source of another knowledge base has its name behind it, in round brackets.
    """
    item = source.item
    base = f" ({_one_line(item.base)})" if item.base else ""
    if isinstance(item, Passage):
        return f"[DC] {_one_line(item.document)}{base}"
    if isinstance(item, EntityHit):
        return f"[KG] {_one_line(item.name)}{base}"
    return f"[KG] {_one_line(item.source)} - {_one_line(item.target)}{base}"


def _one_line(text: str) -> str:
    """A file may have a line break in its name; a reference may not."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def reference_list(title: str, labels: Iterable[str]) -> str:
    """The list of references as Markdown under its `title`; a name in it is no link and no markup."""
    lines = (f"- {label[:_LABEL_TAG]}{_MARKUP.sub(_ESCAPED, label[_LABEL_TAG:])}\n" for label in labels)
    return title + "".join(lines)


class References:
    """The list of references as it grows. Only sources of the context get a place in it."""

    def __init__(self, sources: Sequence[Source], maximum: int) -> None:
        self._sources = {source.number: source for source in sources}
        self._maximum = maximum
        self._places: dict[str, int] = {}
        self._cited: dict[int, tuple[int, Source]] = {}

    def cite(self, number: int) -> int | None:
        """The place of a source in the list, from 1; None if there is no such source or no room."""
        source = self._sources.get(number)
        if source is None:
            return None
        name = label(source)
        if name not in self._places:
            if len(self._places) >= self._maximum:
                return None
            self._places[name] = len(self._places) + 1
        self._cited.setdefault(number, (self._places[name], source))
        return self._places[name]

    @property
    def labels(self) -> tuple[str, ...]:
        """The list: distinct labels in the order of their places."""
        return tuple(self._places)

    @property
    def cited(self) -> list[tuple[int, Source]]:
        """Each cited source with its place, by place."""
        return sorted(self._cited.values(), key=lambda pair: pair[0])


@dataclass(frozen=True)
class Mark:
    """Something in brackets that is no text."""

    kind: Literal["numbers", "refusal", "general"]
    """Numbers of sources; that the documents hold no answer; that something is general knowledge."""

    numbers: tuple[int, ...] = ()
    """The numbers, as they were written; whether there are such sources is not looked at."""


class MarkReader:
    """Tells text and marks apart, piece by piece; what might be the beginning of a mark is held back."""

    def __init__(self, refusal: str = "", general: str = "") -> None:
        """`refusal` and `general` are the marks for these, brackets included; empty where there are none."""
        self._refusal = refusal
        self._general = general
        self._held = ""
        self._code = 0

    def feed(self, text: str) -> list[str | Mark]:
        """Take the next piece; returns what is certain of it so far."""
        self._held += text
        return self._read(last=False)

    def finish(self) -> list[str | Mark]:
        """What was held back at the end. A mark that was never closed says nothing."""
        return self._read(last=True)

    def _read(self, *, last: bool) -> list[str | Mark]:
        found: list[str | Mark] = []
        while self._held:
            start = self._next_sign()
            if start:
                found.append(self._taken(start))
                continue
            took = self._ticks(last=last) if self._held[0] == "`" else self._brackets(last=last)
            if took is None:
                break
            found.extend(took)
        return found

    def _next_sign(self) -> int:
        """Where the next bracket or backtick is; in code only a backtick or a line's end counts."""
        if not self._code:
            match = _ANY_OPENING.search(self._held)
            return match.start() if match else len(self._held)
        tick = self._held.find("`")
        line = self._held.find("\n") if self._code < _FENCE else -1
        if line >= 0 and (tick < 0 or line < tick):
            # A single backtick that is not closed on its line is no code.
            self._code = 0
            return line + 1
        return tick if tick >= 0 else len(self._held)

    def _taken(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return text

    def _ticks(self, *, last: bool) -> list[str | Mark] | None:
        """A run of backticks, which opens or closes code; None if more of them may follow."""
        length = len(self._held) - len(self._held.lstrip("`"))
        if length == len(self._held) and not last:
            return None
        if not self._code:
            self._code = length
        elif length == self._code or (self._code >= _FENCE and length >= self._code):
            self._code = 0
        return [self._taken(length)]

    def _brackets(self, *, last: bool) -> list[str | Mark] | None:
        """What a bracket begins; None if that cannot be told yet."""
        closing = _OPENING[self._held[0]]
        end = self._held.find(closing, 1)
        again = next((n for n, char in enumerate(self._held[1:], 1) if char in _OPENING), -1)
        if end > 0 and not 0 < again < end and end - 1 <= _LONGEST_GROUP:
            return self._group(end)
        if end > 0 or again > 0 or len(self._held) - 1 > _LONGEST_GROUP:
            return [self._taken(1)]
        if not last:
            return None
        held = self._taken(len(self._held))
        return [] if _BEGUN.fullmatch(held[1:]) else [held]

    def _group(self, end: int) -> list[str | Mark]:
        whole = self._taken(end + 1)
        inside = whole[1:-1]
        if whole == self._refusal:
            return [Mark("refusal")]
        if whole == self._general:
            return [Mark("general")]
        if _NUMBERS.fullmatch(inside):
            return [Mark("numbers", tuple(int(digits) for digits in re.findall(r"\d+", inside)))]
        return [Mark("numbers")] if inside.strip() in _OURS else [whole]
