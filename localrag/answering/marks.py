"""Turns the numbers that the model cites into places in the list of references, while the text streams by.

In the prompt the sources have the numbers of the context; a reader sees them numbered as they are cited,
one number a label. Only sources of the context get a number, so no mark can point to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage

_NUMBERS = re.compile(r"\s*\d+(?:\s*[,;，、；]\s*\d+)*\s*")
_LONGEST_GROUP = 64
_OURS = ("DC", "KG")
_CLOSING = tuple(".,;:!?)。，、；：！？）")


def label(source: Source) -> str:
    """How the list of references names a source: `[DC] file`, `[KG] name` or `[KG] name - name`."""
    item = source.item
    if isinstance(item, Passage):
        return f"[DC] {_one_line(item.document)}"
    if isinstance(item, EntityHit):
        return f"[KG] {_one_line(item.name)}"
    return f"[KG] {_one_line(item.source)} - {_one_line(item.target)}"


def _one_line(text: str) -> str:
    """A file may have a line break in its name; a reference may not."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


class References:
    """The list of references as it grows."""

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


class Marks:
    """Rewrites the body of an answer piece by piece.

    What might be the beginning of a mark is held back until it is told apart, blanks until text follows.
    """

    def __init__(self, references: References, refusal: str) -> None:
        self._references = references
        self._refusal = refusal
        self._held = ""
        self._blanks = ""
        self._before = ""
        self._cluster: set[int] = set()
        self._began = False
        self.refused = False
        """Whether the mark of a refusal was written."""

    def feed(self, text: str) -> str:
        """Take the next piece; returns what can be shown."""
        self._held += text
        shown = []
        while self._held:
            before, bracket, rest = self._held.partition("[")
            if before:
                shown.append(self._text(before))
            self._held = bracket + rest
            if not bracket:
                break
            inside, closing, after = rest.partition("]")
            if closing and "[" not in inside and len(inside) <= _LONGEST_GROUP:
                self._held = after
                shown.append(self._group(inside))
            elif closing or "[" in rest or len(rest) > _LONGEST_GROUP:
                self._held = rest
                shown.append(self._text("["))
            else:
                break
        return "".join(shown)

    def finish(self) -> str:
        """What was held back at the end; blanks at the end are dropped."""
        held, self._held = self._held, ""
        # A mark that was never closed says nothing.
        return self._text(held) if held and not _NUMBERS.fullmatch(held[1:] or "0") else ""

    def _text(self, text: str) -> str:
        """Text without marks; the blanks at its end wait for what follows."""
        body = text.strip()
        if not body:
            self._blanks += text
            return ""
        self._blanks += text[: len(text) - len(text.lstrip())]
        shown = self._waiting(closing=body.startswith(_CLOSING)) + body
        self._blanks = text[len(text.rstrip()) :]
        self._cluster.clear()
        return shown

    def _waiting(self, *, closing: bool = False) -> str:
        """The blanks before what is shown next. Of those around dropped marks one run is enough, and none
        where a closing sign follows."""
        blanks = self._blanks or ("" if closing else self._before)
        began, self._began = self._began, True
        self._blanks = self._before = ""
        return blanks if began else ""

    def _drop(self) -> str:
        self._before = self._blanks or self._before
        self._blanks = ""
        return ""

    def _group(self, inside: str) -> str:
        """What stood in brackets: a mark, the refusal, a forged label, or just text in brackets."""
        if f"[{inside}]" == self._refusal:
            self.refused = True
            return ""
        if _NUMBERS.fullmatch(inside):
            return self._mark([int(digits) for digits in re.findall(r"\d+", inside)])
        return self._drop() if inside.strip() in _OURS else self._text(f"[{inside}]")

    def _mark(self, numbers: Sequence[int]) -> str:
        places = [self._references.cite(number) for number in numbers]
        new = [place for place in dict.fromkeys(places) if place is not None and place not in self._cluster]
        if not new:
            return self._drop()
        self._cluster.update(new)
        return self._waiting() + "".join(f"[{place}]" for place in new)
