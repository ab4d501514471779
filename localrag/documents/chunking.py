"""Text to chunks: stretches of whole sentences that a model reads one at a time.

Sentences are packed until the size is reached, with a preference for ending before a heading or at the end
of a paragraph. A heading is never the end of a chunk, the sentences that fit the overlap are repeated at the
beginning of the next one, and a sentence that is too long for one chunk is cut at its best places.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from localrag.documents import sentences, tokens
from localrag.documents.clusters import cut_before, parts_cluster
from localrag.documents.reading import Heading
from localrag.errors import SettingsError

SLACK = 1.25
"""How many times its size the last chunk of a text may have, so that no scrap is left over."""

SMALLEST = 16
"""Least size that can be asked for, in tokens."""

SEPARATOR = " › "
"""Put between the headings of a path."""

HEADING_LIMIT = 80
"""Longest part of a heading's title that goes into a path, in characters."""

_BREAKS = tuple(
    re.compile(pattern)
    for pattern in (
        r"[;；:：。！？!?]\s*(?=\S)",
        r"[,，、)）」』”]\s*(?=\S)",
        r"\s(?=\S)",
        r"[-/|_=&.](?=\S)",
    )
)
"""Places to cut a long sentence at, the best first; the cut is at the end of the match."""

_NOT_SPACE = re.compile(r"\S")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)$")

# What a break is worth against the distance from the size aimed at, which counts as a share of it.
_BEFORE_HEADING, _PARAGRAPH, _LINE, _SENTENCE, _FRAGMENT, _AFTER_HEADING = 0.5, 0.2, 0.1, 0.0, -0.3, -2.0


@dataclass(frozen=True)
class ChunkSpan:
    """A chunk of a text."""

    start: int
    """Where it begins, in characters."""

    end: int
    """Where it ends: the chunk is `text[start:end]`, without white space at either end."""

    heading: str
    """Path of the headings that hold for all of it, such as `Harbour › History`; empty if there is none."""

    tokens: int
    """Its estimated size."""


@dataclass(frozen=True)
class _Unit:
    """A sentence, or a part of one that is too long."""

    start: int
    end: int
    weight: float
    """Estimated tokens."""

    gap: float
    """Estimated tokens of the white space before it."""

    worth: float
    """How good a break before it is."""

    section: int
    """How many headings began up to it."""

    whole: bool
    """False for a part of a sentence and for a heading: neither is repeated as overlap."""


def chunk(text: str, headings: Sequence[Heading] = (), size: int = 320, overlap: int = 32) -> list[ChunkSpan]:
    """Cut `text` into chunks of about `size` estimated tokens.

    Takes the headings of the text and how many tokens at most are repeated from the chunk before. Returns
    spans in order that together hold all text but white space. None is over 1.25 times `size`, and only the
    last one is meant to be over `size`. The same input gives the same spans. Raises `SettingsError` for a
    size or overlap that makes no sense.
    """
    return packer(text, headings, size, overlap).pack()


def packer(text: str, headings: Sequence[Heading], size: int, overlap: int) -> Packer:
    """A text in sentences, ready to be packed as a whole or in parts. Takes and raises what `chunk` does."""
    if size < SMALLEST:
        raise SettingsError(
            f"Chunks of {size} tokens are too small.", f"Set chunking.size to {SMALLEST} or more."
        )
    if not 0 <= overlap <= size // 2:
        raise SettingsError(
            f"An overlap of {overlap} tokens does not fit chunks of {size}.",
            "Set chunking.overlap to at most half of chunking.size.",
        )
    kept = sorted(
        (heading for heading in headings if 0 <= heading.offset < len(text)), key=lambda h: h.offset
    )
    return Packer(text, list(_units(text, kept, size)), _paths(kept), size, overlap)


def _units(text: str, headings: Sequence[Heading], size: int) -> Iterator[_Unit]:
    """Cut the text into sentences, region by region, and those that are too long into parts."""
    last = 0  # where the unit before ends
    after_heading = False
    for section, (begin, end, is_heading) in _regions(text, headings):
        for left, right in sentences.split(text[begin:end]):
            start, stop = begin + left, begin + right
            gap = text[last:start]
            glued = after_heading and gap == "\n" and bool(_UNDERLINE.match(text[start:stop]))
            worth = _AFTER_HEADING if after_heading else _BEFORE_HEADING if is_heading else _worth(gap)
            for first, final, weight in _parts(text, start, stop, size):
                fragment = (first, final) != (start, stop)
                yield _Unit(
                    start=first,
                    end=final,
                    weight=weight,
                    gap=_gap_weight(text, last, first),
                    worth=worth if first == start else _FRAGMENT,
                    section=section,
                    whole=not (fragment or is_heading or glued),
                )
                last = final
            after_heading = is_heading or glued


def _regions(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, tuple[int, int, bool]]]:
    """Yield each stretch between headings and each heading's line: its section, and (start, end, heading)."""
    begin = 0
    for section, heading in enumerate(headings):
        if heading.offset < begin:
            continue
        line_end = text.find("\n", heading.offset)
        line_end = len(text) if line_end < 0 else line_end
        yield section, (begin, heading.offset, False)
        yield section + 1, (heading.offset, line_end, True)
        begin = line_end
    yield len(headings), (begin, len(text), False)


def _worth(gap: str) -> float:
    """How good a break at this white space is."""
    lines = gap.count("\n")
    return _PARAGRAPH if lines > 1 or "\f" in gap else _LINE if lines else _SENTENCE


def _gap_weight(text: str, start: int, end: int) -> float:
    """Weigh white space; a single blank before a word is part of the word's first token."""
    if end - start == 1 and text[start] == " " and text[end].isalpha():
        return 0.0
    return tokens.weigh(text[start:end])


def path_at(headings: Sequence[Heading], offset: int) -> str:
    """Path of the headings above a place in a text, such as `Harbour › History`; empty if there is none."""
    above = [heading for heading in sorted(headings, key=lambda h: h.offset) if heading.offset <= offset]
    return SEPARATOR.join(_paths(above)[-1])


def _paths(headings: Sequence[Heading]) -> list[tuple[str, ...]]:
    """Return the path of headings of each section; section 0 is what stands before the first one."""
    paths: list[tuple[str, ...]] = [()]
    open_headings: list[Heading] = []
    for heading in headings:
        while open_headings and open_headings[-1].level >= heading.level:
            open_headings.pop()
        open_headings.append(heading)
        paths.append(tuple(parent.title[:HEADING_LIMIT] for parent in open_headings))
    return paths


class Packer:
    """Packs sentences, or parts of those that are too long, into chunks."""

    def __init__(
        self, text: str, units: list[_Unit], paths: list[tuple[str, ...]], size: int, overlap: int
    ) -> None:
        self.text = text
        self.units = units
        self.paths = paths
        self.size = size
        self.overlap = overlap
        self.before = [0.0]  # weight of everything before each unit, the white space in front of it included
        for unit in units:
            self.before.append(self.before[-1] + unit.gap + unit.weight)

    def pack(self, begin: int = 0, end: int | None = None) -> list[ChunkSpan]:
        """The chunks of the units from `begin` up to but not including `end`, or of all."""
        chunks: list[ChunkSpan] = []
        end = len(self.units) if end is None else end
        new = begin
        while new < end:
            first = self._overlap_start(new)
            last = self._last_unit(first, new, end - 1)
            chunk = self.span(first, new, last)
            # Parts of words weigh more together than apart; this is where the limit is kept for certain.
            while chunk.tokens > self.size * SLACK and (last > new or first < new):
                first, last = (first, last - 1) if last > new else (new, last)
                chunk = self.span(first, new, last)
            chunks.append(chunk)
            new = last + 1
        return chunks

    def weight(self, first: int, last: int) -> float:
        """Weight of the units from `first` to `last`, both included."""
        return self.before[last + 1] - self.before[first] - self.units[first].gap

    def _overlap_start(self, new: int) -> int:
        """Return the first unit of a chunk whose first unread unit is `new`."""
        first = new
        if self.units[new].worth in (_BEFORE_HEADING, _AFTER_HEADING, _FRAGMENT):
            return first
        # With its overlap a chunk must still have room for what is new.
        room = min(self.overlap, self.size - self.units[new].weight - self.units[new].gap)
        while first > 0 and self.units[first - 1].whole and self.weight(first - 1, new - 1) <= room:
            first -= 1
        return first

    def _last_unit(self, first: int, new: int, final: int) -> int:
        """Choose where the chunk ends: near the size, at the break that is worth most."""
        rest = self.weight(first, final)
        if rest <= self.size * SLACK:
            return final
        # Two or three chunks are made equal, so that none is a scrap.
        aim = rest / math.ceil(rest / self.size) if rest <= 3 * self.size else self.size
        best, best_value = new, -math.inf
        for last in range(new, final):
            weight = self.weight(first, last)
            if weight > self.size and last > new:
                break
            value = self.units[last + 1].worth - abs(weight - aim) / aim
            if value >= best_value:
                best, best_value = last, value
        return best

    def span(self, first: int, new: int, last: int) -> ChunkSpan:
        """The chunk of the units `first` to `last`, of which those before `new` are repeated."""
        start, end = self.units[first].start, self.units[last].end
        return ChunkSpan(start, end, self._heading(new, last), tokens.estimate(self.text[start:end]))

    def _heading(self, first: int, last: int) -> str:
        """Return the path that all sections share, or the first one's if they share none."""
        sections = range(self.units[first].section, self.units[last].section + 1)
        path = shared = self.paths[sections[0]]
        for section in sections[1:]:
            shared = _common(shared, self.paths[section])
        return SEPARATOR.join(shared or path)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return what two paths begin with alike."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return one[:length]


def _parts(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int, float]]:
    """Cut a sentence into parts (start, end, weight) within the size; one that fits is its only part."""
    weight = tokens.weigh(text[start:end])
    if weight <= size:
        yield start, end, weight
        return
    aim = weight / math.ceil(weight / (0.9 * size))
    offsets, weights, total = [start], [0.0], 0.0
    for offset, price in tokens.pieces(text[start:end]):
        total += price
        offsets.append(start + offset)
        weights.append(total)
    begin = start
    while begin < end:
        done = weights[bisect_right(offsets, begin) - 1]
        stop = end
        if total - done > size:
            furthest = offsets[bisect_right(weights, done + aim) - 1]
            nearest = offsets[bisect_right(weights, done + 0.6 * aim) - 1]
            stop = _cut(text, begin, nearest, furthest)
            if parts_cluster(text, stop):
                # It begins the part, so it cannot go to the next one: it stays whole if it has room.
                most = offsets[bisect_right(weights, done + size) - 1]
                whole = (cut for cut in range(stop + 1, most + 1) if not parts_cluster(text, cut))
                stop = next(whole, stop)
        while (weight := tokens.weigh(text[begin:stop])) > size and stop > begin + 1:
            stop = cut_before(text, begin + (stop - begin) // 2, begin)
        yield begin, begin + len(text[begin:stop].rstrip()), weight
        following = _NOT_SPACE.search(text, stop, end)
        begin = following.start() if following else end


def _cut(text: str, begin: int, nearest: int, furthest: int) -> int:
    """Choose an offset after `begin` between the other two to cut a long sentence at."""
    furthest = max(furthest, begin + 1)
    for pattern in _BREAKS:
        matches = [match.end() for match in pattern.finditer(text, max(nearest, begin), furthest)]
        if matches and matches[-1] > begin:
            return cut_before(text, matches[-1], begin)
    return cut_before(text, furthest, begin)
