"""A changed text to chunks, so that the change stays where it is.

Packing goes from the top, so one new sentence can move the ends of all chunks below it, and each would be
read by the model again. Here chunks of the text before the change stay where their text is still there as a
run of whole sentences, and only what lies between them is cut anew. What that costs: the same text may be cut
differently, depending on what it was before. So it is done only where it spares more than a few chunks, and
never by leaving scraps: every chunk has a size that fresh cutting gives too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.documents import tokens
from localrag.documents.chunking import SLACK, ChunkSpan, Packer, packer
from localrag.documents.reading import Heading

SPARED = 2
"""How many readings must be spared for a cut that depends on what was before."""

LEAST = 1 / 3
"""Least part of its size that a chunk must have to stay, and a gap to be cut by itself."""

_KEY = 16
"""Characters at the beginning of a chunk that it is looked up by."""

_REACH = 6
"""How many repetitions up and down a repeated text is looked for."""


@dataclass(frozen=True)
class _Kept:
    """A chunk that stays: units `first` to `last`."""

    first: int
    last: int


def recut(
    text: str, headings: Sequence[Heading], size: int, overlap: int, before: Sequence[str]
) -> list[ChunkSpan]:
    """Cut `text` into chunks, keeping those of the texts in `before` that are still in it.

    `before` are the chunks' texts before the change, in order. Returns spans with the properties that those
    of `chunk` have, and exactly those of `chunk` where they leave at most `SPARED` chunks more to be read.
    Raises `SettingsError` as `chunk` does.
    """
    pack = packer(text, headings, size, overlap)
    fresh = pack.pack()
    cost = _new(text, fresh, before)
    if cost <= SPARED:
        return fresh
    local = _around(pack, _without_scraps(pack, _kept(pack, before)))
    return local if _new(text, local, before) + SPARED < cost else fresh


def shared(text: str, chunks: Sequence[str]) -> float:
    """How much two texts share, from 0 to 1: the part of the one's `chunks` that are in `text` in order, or
    the part of `text` that they make up, whichever is smaller."""
    sample = chunks[:: max(1, len(chunks) // 8)]
    if sum(chunk in text for chunk in sample) * 4 < len(sample):
        return 0.0
    found, characters, position = 0, 0, 0
    for chunk in chunks:
        place = text.find(chunk, position)
        if place >= 0:
            found, characters, position = found + 1, characters + len(chunk), place + 1
    return min(found / len(chunks), characters / len(text), 1.0) if found else 0.0


def _new(text: str, spans: Sequence[ChunkSpan], before: Sequence[str]) -> int:
    """How many of the spans have a text that was not there before."""
    return sum((Counter(text[span.start : span.end] for span in spans) - Counter(before)).values())


def _kept(pack: Packer, before: Sequence[str]) -> list[_Kept]:
    """Chunks that can stay, in the order of the text: the longest row of them that are in order."""
    places = _places(pack, before)
    seen: Counter[str] = Counter()
    total = Counter(before)
    candidates: list[tuple[str, list[int]]] = []
    for chunk in before:
        found = places[chunk]
        # Of a text that is repeated, each takes the place that has its number from the top or the bottom.
        number, from_end = seen[chunk], seen[chunk] - total[chunk] + len(found)
        seen[chunk] += 1
        near = {
            index
            for middle in (number, from_end)
            for index in range(max(0, middle - _REACH), min(len(found), middle + _REACH + 1))
        }
        candidates.append((chunk, [found[index] for index in sorted(near)]))
    kept: list[_Kept] = []
    ends = {unit.end: index for index, unit in enumerate(pack.units)}
    for chunk, first in _longest_row(candidates):
        last = ends[pack.units[first].start + len(chunk)]
        if not kept or (last > kept[-1].last and _overlap(pack, first, kept[-1].last) <= pack.overlap):
            kept.append(_Kept(first, last))
    return kept


def _places(pack: Packer, before: Sequence[str]) -> dict[str, list[int]]:
    """For each text of a bearable size the units where it begins as a run of whole units."""
    begins: dict[str, list[int]] = {}
    for index, unit in enumerate(pack.units):
        begins.setdefault(pack.text[unit.start : unit.start + _KEY], []).append(index)
    ends = {unit.end: index for index, unit in enumerate(pack.units)}
    places: dict[str, list[int]] = {}
    for chunk in set(before):
        found: list[int] = []
        if pack.size * LEAST <= tokens.estimate(chunk) <= pack.size * SLACK:
            free = -1  # the last unit that an earlier place of this text covers
            for index in begins.get(chunk[:_KEY], ()):
                start = pack.units[index].start
                last = ends.get(start + len(chunk))
                if last is None or (index <= free and _overlap(pack, index, free) > pack.overlap):
                    continue
                if pack.text.startswith(chunk, start):
                    found.append(index)
                    free = last
        places[chunk] = found
    return places


def _longest_row(candidates: Sequence[tuple[str, list[int]]]) -> list[tuple[str, int]]:
    """The longest choice of chunks and places in which both are in order."""
    tails: list[int] = []  # smallest last place of a row of each length
    nodes: list[int] = []  # the node that ends that row
    links: list[tuple[str, int, int]] = []  # chunk, place, node before
    for chunk, found in candidates:
        for place in reversed(found):
            length = bisect_left(tails, place)
            links.append((chunk, place, nodes[length - 1] if length else -1))
            if length == len(tails):
                tails.append(place)
                nodes.append(len(links) - 1)
            else:
                tails[length], nodes[length] = place, len(links) - 1
    row: list[tuple[str, int]] = []
    node = nodes[-1] if nodes else -1
    while node >= 0:
        chunk, place, node = links[node]
        row.append((chunk, place))
    return row[::-1]


def _overlap(pack: Packer, first: int, last: int) -> float:
    """Weight of what a chunk that begins with `first` repeats of one that ends with `last`."""
    return pack.weight(first, last) if first <= last else 0.0


def _without_scraps(pack: Packer, kept: Sequence[_Kept]) -> list[_Kept]:
    """Give up chunks beside gaps that are too small for a chunk of their own."""
    least = pack.size * LEAST
    out: list[_Kept] = []
    for chunk in (*kept, None):
        begin = out[-1].last + 1 if out else 0
        end = chunk.first if chunk is not None else len(pack.units)
        if begin < end and pack.weight(begin, end - 1) < least:
            if chunk is None or (out and _size(pack, out[-1]) <= _size(pack, chunk)):
                if out:
                    out.pop()
            else:
                continue
        if chunk is not None:
            out.append(chunk)
    return out


def _size(pack: Packer, kept: _Kept) -> float:
    return pack.weight(kept.first, kept.last)


def _around(pack: Packer, kept: Sequence[_Kept]) -> list[ChunkSpan]:
    """The chunks that stay, and those of what lies between them."""
    spans: list[ChunkSpan] = []
    new = 0
    for chunk in kept:
        spans += pack.pack(new, chunk.first)
        spans.append(pack.span(chunk.first, max(new, chunk.first), chunk.last))
        new = chunk.last + 1
    return [*spans, *pack.pack(new, None)]
