"""Lines of ignore files, understood as git understands them.

Matching takes at most the product of the lengths of pattern and name, whatever the pattern: ignore files come
with folders that anyone may have written. Names are compared by case. Entries are asked about one by one from
the top down, so a pattern speaks of an entry itself and never of what lies in it.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LONGEST = 1_000
"""Most characters of a pattern."""

_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


@dataclass(frozen=True)
class _Set:
    """Characters that a `[…]` or `?` stands for."""

    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = False

    def holds(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated


_Token = str | _Set
"""A character, or a set of which one stands there."""

_STAR = _Set()
"""Stands for `*`; told from other sets by its identity."""

_Part = tuple[_Token, ...] | None
"""What stands between two slashes; None for `**`."""


@dataclass(frozen=True)
class IgnoreLine:
    """One pattern."""

    takes_back: bool
    """Whether it began with `!`."""

    folders_only: bool
    """Whether it ended with a slash."""

    anchored: bool
    """Whether it speaks of a path from the file's folder, not of a name at any depth."""

    parts: tuple[_Part, ...]
    """The pattern in parts between slashes."""

    def matches(self, parts: Sequence[str], *, folder: bool) -> bool:
        """Whether it speaks of the entry whose path has these parts."""
        if self.folders_only and not folder:
            return False
        return _match_path(self.parts, parts if self.anchored else parts[-1:])


class IgnoreList:
    """Patterns in order; the last one that speaks of an entry decides."""

    def __init__(self, lines: Iterable[IgnoreLine]) -> None:
        self._lines = tuple(lines)[::-1]

    def __bool__(self) -> bool:
        return bool(self._lines)

    def decides(self, path: str, *, folder: bool) -> bool | None:
        """True if the entry is left out, False if it is taken back, None if nothing speaks of it.

        `path` starts from the folder that the list is of, with `/` between names.
        """
        parts = path.split("/")
        for line in self._lines:
            if line.matches(parts, folder=folder):
                return not line.takes_back
        return None


def parse(line: str) -> IgnoreLine | str | None:
    """A line of an ignore file without its line break: None for an empty line or a comment.

    A line that cannot be used gives the reason instead, as a clause.
    """
    if len(line) > LONGEST:
        return f"it has more than {LONGEST:,} characters"
    if any(char in line for char in "\0\n\r"):
        return "it holds a line break or a NUL"
    if line.startswith("#"):
        return None
    text = _without_blanks(line)
    if not text:
        return None
    takes_back = text.startswith("!")
    text = text[takes_back:]
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    anchored = "/" in text
    text = text.removeprefix("/")
    if not text:
        return "there is nothing in it"
    parts: list[_Part] = []
    for part in _split(text):
        if part == "**" and anchored:
            parts.append(None)
            continue
        tokens = _tokens(part)
        if tokens is None:
            return "a bracket is not closed, or it ends in a backslash"
        parts.append(tokens)
    return IgnoreLine(takes_back, folders_only, anchored, tuple(parts))


def _without_blanks(line: str) -> str:
    """The line without the blanks at its end that no backslash protects."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return text + " " if backslashes % 2 and len(text) < len(line) else text


def _split(text: str) -> list[str]:
    """The parts between slashes; a slash inside brackets parts nothing."""
    parts = [""]
    place = 0
    while place < len(text):
        end = place + (2 if text[place] == "\\" else 1)
        if text[place] == "[" and (found := _brackets(text, place + 1)) is not None:
            end = found[1]
        if text[place] == "/":
            parts.append("")
        else:
            parts[-1] += text[place:end]
        place = end
    return parts


def _tokens(part: str) -> tuple[_Token, ...] | None:
    """The part in tokens; None if it can never match."""
    tokens: list[_Token] = []
    place = 0
    while place < len(part):
        char = part[place]
        place += 1
        if char == "*":
            if not tokens or tokens[-1] is not _STAR:
                tokens.append(_STAR)
        elif char == "?":
            tokens.append(_Set((), negated=True))
        elif char == "\\":
            if place == len(part):
                return None
            tokens.append(part[place])
            place += 1
        elif char == "[":
            found = _brackets(part, place)
            if found is None:
                return None
            chars, place = found
            tokens.append(chars)
        else:
            tokens.append(char)
    return tuple(tokens)


def _brackets(part: str, place: int) -> tuple[_Set, int] | None:
    """The set that begins behind a `[`, and where it ends; None if it does not."""
    negated = part[place : place + 1] in ("!", "^")
    place += negated
    ranges: list[tuple[str, str]] = []
    first = True
    while place < len(part):
        char = part[place]
        if char == "]" and not first:
            return _Set(tuple(ranges), negated), place + 1
        first = False
        if part.startswith("[:", place) and (end := part.find(":]", place + 2)) >= 0:
            named = _CLASSES.get(part[place + 2 : end])
            if named is None:
                return None
            ranges += [(item, item) for item in named]
            place = end + 2
            continue
        if char == "\\":
            place += 1
            if place == len(part):
                return None
            char = part[place]
        place += 1
        high = char
        if part[place : place + 1] == "-" and part[place + 1 : place + 2] not in ("", "]"):
            place += 1
            if part[place] == "\\":
                place += 1
                if place == len(part):
                    return None
            high = part[place]
            place += 1
        ranges.append((char, high))
    return None


def _match_path(pattern: Sequence[_Part], parts: Sequence[str]) -> bool:
    """Whether the parts of a path match, where None in the pattern stands for any number of folders."""
    reached = {0}  # how many parts may be matched so far
    for place, part in enumerate(pattern):
        if part is None:
            # At the end it stands for what lies in a folder, which is one part at least.
            begin = min(reached) + (place == len(pattern) - 1)
            reached = set(range(begin, len(parts) + 1))
        else:
            reached = {
                number + 1 for number in reached if number < len(parts) and _match_name(part, parts[number])
            }
        if not reached:
            return False
    return len(parts) in reached


def _match_name(tokens: Sequence[_Token], name: str) -> bool:
    """Whether a name matches; only the last star ever has to be tried again."""
    token = place = 0
    star, resumed = -1, 0
    while place < len(name):
        if token < len(tokens) and tokens[token] is _STAR:
            star, resumed = token, place
            token += 1
        elif token < len(tokens) and _fits(tokens[token], name[place]):
            token += 1
            place += 1
        elif star >= 0:
            resumed += 1
            token, place = star + 1, resumed
        else:
            return False
    return all(item is _STAR for item in tokens[token:])


def _fits(token: _Token, char: str) -> bool:
    return token == char if isinstance(token, str) else token.holds(char)
