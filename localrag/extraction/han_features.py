"""What tells a name from other runs of characters in Chinese: its words' classes, its borders, its ending.

As in `word_features`, a feature is a short string, and the first says the group: h for Chinese characters, x
for these mixed with other letters, L for other letters alone, a for places that cut a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.extraction.han_words import Unit
from localrag.extraction.word_spans import Span
from localrag.extraction.words import (
    HAN_ENDINGS,
    HAN_LONG_ENDINGS,
    HAN_SURNAMES,
    HAN_TRANSLITERATION,
)

_FUNCTION = frozenset("的了在是和与及或为于以由被把将从而但也都就还又并对向至等之其这那中上下后前里内外时")
_INNER = frozenset("的和与及在于为之")
_EXTENDING = frozenset("nohzstw?xF")
_BEFORE_LISTED, _BEHIND_LISTED = frozenset("、，和与及包括"), frozenset("、，和与及等")
_OPENING, _CLOSING = frozenset("（("), frozenset("）)")
_ENDINGS = tuple(HAN_ENDINGS)
_MAX_CLASSES = 5


def features(
    source: str, sequence: Sequence[Unit], first: int, end: int, span: Span, times: int
) -> list[str]:
    """The features of the units from `first` up to `end`; `times` is how often the name occurs."""
    inside = sequence[first:end]
    letters = [unit.kind[0] == "L" for unit in inside]
    group = "L" if all(letters) else "x" if any(letters) else "h"
    before = sequence[first - 1] if first > 0 else None
    behind = sequence[end] if end < len(sequence) else None
    found = _around(inside, group, before, behind, span)
    if group == "L":
        _letters(inside, before, behind, span, found)
    else:
        _characters(source[span.start : span.end], inside, group, found)
        _neighbours(inside, group, before, behind, found)
    found.append(f"{group} rep{min(times, 3)}")
    _marks(source, group, span, found)
    return found


def unaligned(source: str, span: Span) -> list[str]:
    """The features of a place that begins or ends inside a word."""
    group = f"a{_mark(span)}"
    found = [group, f"{group} n{min(span.end - span.start, 12)}", f"{group} {'str' if span.strong else 'wk'}"]
    found += [
        f"{group} p={source[span.start - 1 : span.start]}",
        f"{group} x={source[span.end : span.end + 1]}",
    ]
    return found


def _mark(span: Span) -> str:
    """One letter for what the form says: date, amount, quotation, title, foreign name, name in letters."""
    letter = {
        "date": "D",
        "amount": "$",
        "quoted": "Q",
        "title": "T",
        "foreign": "F",
        "name": "w",
    }
    return letter.get(span.kind, "")


def _width(inside: Sequence[Unit]) -> int:
    return sum(2 if unit.kind[0] == "L" else len(unit.text) for unit in inside)


def _context(unit: Unit | None) -> str:
    if unit is None:
        return "^"
    if unit.text in _FUNCTION or (len(unit.text) == 1 and not unit.text.isalnum()):
        return unit.text
    return "L" if unit.kind[0] == "L" else unit.kind


def _around(
    inside: Sequence[Unit], group: str, before: Unit | None, behind: Unit | None, span: Span
) -> list[str]:
    """Features of any run: its length, its classes, its neighbours, its form."""
    first, last = inside[0].kind, inside[-1].kind
    count, mark = len(inside), _mark(span)
    left, right = _context(before), _context(behind)
    left_class = left[0] if len(left) == 2 else left
    right_class = right[0] if len(right) == 2 else right
    found = [group, f"{group} n{min(count, 7)}", f"{group} c{min(_width(inside), 12)}"]
    if mark:
        found += [f"{group} k{mark}", f"{group} k{mark}{'s' if span.strong else 'w'} n{min(count, 3)}"]
    if mark == "w":
        found.append(f"{group} ws{int(span.score)}")
    found += [f"{group} p={left}", f"{group} x={right}", f"{group} px={left_class}|{right_class}"]
    found += [f"{group} f={first}", f"{group} l={last}", f"{group} fl={first[0]}{last[0]}"]
    found += [f"{group} p>{left_class}>{first[0]}", f"{group} x>{last[0]}>{right_class}"]
    if count <= _MAX_CLASSES:
        found.append(f"{group} S={''.join(unit.kind[0] for unit in inside)}")
    if count == 1:
        found += [f"{group}1 {first}", f"{group}1 c{len(inside[0].text)}"]
        if mark:
            found.append(f"{group}1 {first[0]} k{mark}")
    return found


def _characters(name: str, inside: Sequence[Unit], group: str, found: list[str]) -> None:
    """Features of what the run is made of: its ends, unknown characters, foreign sounds, a surname."""
    count, width = len(inside), _width(inside)
    found += [f"{group} z={name[-1]}", f"{group} a={name[0]}"]
    if count > 1:
        found.append(f"{group}+ z={name[-1]}")
    if name.endswith(_ENDINGS):
        found.append(f"{group} end")
    if name.endswith(HAN_LONG_ENDINGS):
        found.append(f"{group} longend")
    unknown = sum(unit.kind == "?" for unit in inside)
    found.append(f"{group} oov{min(unknown, 4)}")
    if unknown == count:
        found.append(f"{group} alloov")
    sounds = sum(char in HAN_TRANSLITERATION for char in name)
    if sounds == width and width > 1:
        found += [f"{group} trans", f"{group} trans{min(width, 6)}"]
    elif count > 1:
        found.append(f"{group} tr{4 * sounds // max(width, 1)}")
    if name[0] in HAN_SURNAMES and width in (2, 3):
        found += [f"{group} sur{width}", f"{group} sur{width} {len(inside[0].text)}"]
    single = sum(len(unit.text) == 1 for unit in inside)
    found.append(f"{group} sg{min(single, 4)}/{min(count, 5)}")
    for unit in inside[1:-1]:
        if unit.text in _INNER:
            found.append(f"{group} in{unit.text}")
        elif unit.kind[0] in "vpdru":
            found.append(f"{group} in.{unit.kind[0]}")
    ranks = [int(unit.kind[1]) for unit in inside if len(unit.kind) == 2 and unit.kind[1].isdigit()]
    if ranks:
        found += [f"{group} max{max(ranks)}", f"{group} min{min(ranks)}"]


def _neighbours(
    inside: Sequence[Unit], group: str, before: Unit | None, behind: Unit | None, found: list[str]
) -> None:
    """Features of words beside the run that may belong to it."""
    if behind is not None and behind.kind[0] in _EXTENDING:
        found += [f"{group} ext-right", f"{group} er {inside[-1].kind[0]}{behind.kind[0]}"]
    if before is not None and before.kind[0] in _EXTENDING:
        found += [f"{group} ext-left", f"{group} el {before.kind[0]}{inside[0].kind[0]}"]


def _letters(
    inside: Sequence[Unit], before: Unit | None, behind: Unit | None, span: Span, found: list[str]
) -> None:
    """Features of words in other letters inside Chinese."""
    found.append("L caps" if all(unit.text[0].isupper() for unit in inside) else "L low")
    if len(inside) == 1 and inside[0].text.isupper():
        found.append("L1 up")
    found.append(f"L len{min((span.end - span.start) // 3, 5)}")
    if before is not None and before.kind[0] == "L" and before.end + 1 >= span.start:
        found.append("L contL")
    if behind is not None and behind.kind[0] == "L" and behind.start - 1 <= span.end:
        found.append("L contR")


def _marks(source: str, group: str, span: Span, found: list[str]) -> None:
    """Features of the punctuation beside the run."""
    before, behind = source[span.start - 1 : span.start], source[span.end : span.end + 1]
    if not before.isalnum():
        found.append(f"{group} pc={before}")
    if not behind.isalnum():
        found.append(f"{group} xc={behind}")
    if behind in _OPENING:
        found.append(f"{group} befparen")
        if source[span.end + 1 : span.end + 2].isascii():
            found.append(f"{group} befparenL")
    if before in _OPENING and behind in _CLOSING:
        found.append(f"{group} paren")
    if before in _BEFORE_LISTED and behind in _BEHIND_LISTED:
        found.append(f"{group} list")
