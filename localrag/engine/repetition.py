"""Seeing that a model repeats itself: within a record, from record to record, and in running text.

Small models fall into loops, and a grammar alone only bounds them. What is compared is text, not tokens,
since the same words can be written with different tokens. Lengths are weights: a letter of an alphabet counts
1, a Han, Kana or Hangul character 3, because it says about as much as a short word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WIDE = 0x2E80
_WIDE_WEIGHT = 3
_TERM = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]+")
_MARK = re.compile(r"\[\d+\]|\[[^\]]*$")
_DIGITS = re.compile(r"\d+")
_NOT_WORD = re.compile(r"[\W_]+")
_SENTENCE_END = re.compile(r"[.!?]+[\"')\]]*(?=\s)\s*|[。！？]+[”’」』）]*\s*|\n\s*")

_WINDOW = 400
_LONGEST_UNIT = 100
"""A unit of up to so many characters is recognised when it follows itself."""

_SAME, _SAME_LONG = 0.9, 0.8
"""Share of common three-character runs from which two texts are the same but for trivial changes: in short
texts, where another name is another statement, and in long ones."""

_LONG = 60
"""Weight from which a text is long."""


def weight(text: str) -> int:
    """The length of a text, wide characters counted three times."""
    return len(text) + (_WIDE_WEIGHT - 1) * sum(1 for c in text if ord(c) >= _WIDE)


def folded(text: str) -> str:
    """What is left of a text when case, digits, citation marks, punctuation and blanks do not count."""
    return _NOT_WORD.sub("", _DIGITS.sub("0", _MARK.sub("", text)).casefold())


def periodic_tail(text: str, *, times: int, least: int, bare: int = 200) -> int | None:
    """Where a unit that follows itself at the end of the text begins for the second time, or None.

    It must be there at least `times` times, and what follows the first must weigh at least `least`; without
    any letter or digit, as in a ruled line, at least `bare`.
    """
    window = text[-_WINDOW:]
    size = len(window)
    for period in range(1, min(_LONGEST_UNIT, size // times) + 1):
        if window[-period:] != window[-2 * period : -period]:
            continue
        run = 2 * period
        while run < size and window[-run - 1] == window[-run - 1 + period]:
            run += 1
        if run < times * period:
            continue
        repeated = window[size - run + period :]
        enough = least if any(c.isalnum() for c in window[-period:]) else max(least, bare)
        if weight(repeated) >= enough:
            return len(text) - len(repeated)
    return None


def loop_within(text: str) -> int | None:
    """Where the loop begins in which a record's text ends, or None if its writer is in none.

    A loop is a unit three times in a row, or the last four words (six characters in a script without blanks)
    for the third time; it begins behind the first time.
    """
    periodic = periodic_tail(text, times=3, least=24)
    if periodic is not None:
        return periodic
    spans = [found.span() for found in _TERM.finditer(text)]
    if not spans:
        return None
    terms = [text[start:end].casefold() for start, end in spans]
    size = 6 if ord(terms[-1][0]) >= _WIDE else 4
    last = terms[-size:]
    if len(last) < size or len(set(last)) == 1:
        return None
    found: list[int] = []
    at = len(terms)
    while at >= size and len(found) < 3:
        if terms[at - size : at] == last:
            found.append(spans[at - size][0])
            at -= size
        else:
            at -= 1
    return found[1] if len(found) == 3 else None


class RecordWatch:
    """Compares each finished record with those of its kind before it."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self._run: dict[str, int] = {}

    def repeated(self, kind: str, prose: str) -> bool:
        """Take note of a record's free text; True if the record is to be taken back.

        That is so when it is one of several in a row that all say what an earlier record said: the third
        for texts, the sixth for short phrases such as "member of", which many honest relations share.
        """
        text = folded(prose)
        if not text:
            return False
        grams = frozenset(text[i : i + 3] for i in range(max(len(text) - 2, 1)))
        seen = self._seen.setdefault(kind, [])
        if not any(_same(text, grams, *other) for other in seen):
            self._run[kind] = 0
            seen.append((text, grams))
            return False
        self._run[kind] = self._run.get(kind, 0) + 1
        return self._run[kind] >= (3 if weight(text) >= 28 else 6)


def _same(left: str, left_grams: frozenset[str], right: str, right_grams: frozenset[str]) -> bool:
    if left == right:
        return True
    share = _SAME_LONG if weight(left) >= _LONG else _SAME
    return len(left_grams & right_grams) >= share * max(len(left_grams), len(right_grams))


class TextWatch:
    """Follows running text and tells where it begins to do nothing but repeat."""

    def __init__(self) -> None:
        self._done = 0
        self._seen: set[str] = set()
        self._tail: int | None = None
        self._tail_weight = 0
        self._tail_count = 0
        self.held = 0
        """Where the part begins that may yet turn out to be a repetition; what is before it will stay."""

    def loop(self, text: str) -> int | None:
        """Where the loop begins in which the text ends, or None. `text` is all that was written so far.

        A loop is a unit four times in a row, or an end of the text that consists of earlier sentences: two
        or more that weigh at least 60 together, or one that weighs 120. Digits and citation marks do not
        count, so that a numbered list of one sentence is a loop too.
        """
        for start, key in self._sentences(text):
            if key in self._seen:
                if self._tail is None:
                    self._tail, self._tail_weight, self._tail_count = start, 0, 0
                self._tail_weight += weight(key)
                self._tail_count += 1
            else:
                self._seen.add(key)
                self._tail = None
        periodic = periodic_tail(text, times=4, least=36)
        self.held = self._open_from(text)
        if periodic is not None:
            return periodic
        least = 60 if self._tail_count > 1 else 120
        return self._tail if self._tail is not None and self._tail_weight >= least else None

    def _sentences(self, text: str) -> Iterator[tuple[int, str]]:
        """Sentences that are complete since the last call: (start, folded). A scrap of one, such as the
        number of a list's item, belongs to the sentence after it."""
        position = self._done
        while found := _SENTENCE_END.search(text, position):
            position = found.end()
            if position >= len(text) and not text[-1:].isspace():
                # More marks or blanks may still follow.
                return
            key = folded(text[self._done : position])
            if weight(key) >= 8:
                start, self._done = self._done, position
                yield start, key

    def _open_from(self, text: str) -> int:
        start = self._tail
        if start is None:
            key = folded(text[self._done :])
            repeats = not key or any(seen.startswith(key) for seen in self._seen)
            start = self._done if repeats else len(text)
        twice = periodic_tail(text, times=2, least=6)
        return start if twice is None else min(start, twice)
