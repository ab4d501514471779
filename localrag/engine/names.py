"""The names and pairs of one output: which are known, which may still be written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

_WIDE = 0x2E80


@lru_cache(maxsize=8192)
def capitals(name: str) -> str:
    """The name in capitals; one with a character of a script without capitals and blanks stays as it is."""
    return name if any(ord(char) >= _WIDE for char in name) else name.upper()


class NameBook:
    """Names in the order in which they were written, and the pairs that were joined.

    Names that differ only in case count as one. Pairs are unordered unless the book is `directed`.
    """

    def __init__(
        self, names: Iterable[str] = (), pairs: Iterable[tuple[str, str]] = (), *, directed: bool = False
    ) -> None:
        """Begin with what counts as written."""
        self._directed = directed
        self.names: list[str] = list(dict.fromkeys(names))
        self._folded = {name.casefold() for name in self.names}
        self._pairs = {self._pair(*pair) for pair in pairs}

    def add(self, name: str) -> None:
        """A name was written."""
        self.names.append(name)
        self._folded.add(name.casefold())

    def join(self, left: str, right: str) -> None:
        """A pair was written."""
        self._pairs.add(self._pair(left, right))

    def _pair(self, left: str, right: str) -> tuple[str, str]:
        return (left, right) if self._directed or left <= right else (right, left)

    def free(self, values: Sequence[str], *, loose: bool = False) -> list[str]:
        """The values that are not written yet; with `loose` also without those that contain a written
        name or are contained in one, counted in whole words."""
        seen: set[str] = set()
        result = []
        for value in values:
            folded = value.casefold()
            if folded in self._folded or folded in seen:
                continue
            seen.add(folded)
            if not (loose and any(overlaps(folded, name) for name in self._folded)):
                result.append(value)
        return result

    def partners(self, name: str) -> list[str]:
        """The names that `name` is not joined with yet."""
        return [other for other in self.names if other != name and self._pair(name, other) not in self._pairs]

    def sources(self) -> list[str]:
        """The names that have a partner left."""
        return [name for name in self.names if self._has_partner(name)]

    def _has_partner(self, name: str) -> bool:
        return any(other != name and self._pair(name, other) not in self._pairs for other in self.names)


def overlaps(left: str, right: str) -> bool:
    """Whether one text contains the other; in scripts with blanks, as whole words."""
    short, long = sorted((left, right), key=len)
    start = long.find(short)
    while start >= 0:
        end = start + len(short)
        before = start > 0 and _one_word(long[start - 1], short[0])
        behind = end < len(long) and _one_word(short[-1], long[end])
        if not (before or behind):
            return True
        start = long.find(short, start + 1)
    return False


def _one_word(left: str, right: str) -> bool:
    """Whether two neighbouring characters belong to one word of a script that parts words by blanks."""
    return _spaced(left) and _spaced(right)


def _spaced(character: str) -> bool:
    return character.isalnum() and ord(character) < _WIDE
