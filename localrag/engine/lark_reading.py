"""Reads the grammars that programs are made of: the part of llguidance's Lark dialect that we write.

Rules and terminals, literals, regular expressions, alternation, groups and repetition become one tree.
Anything else (imports, directives, lookarounds, flags) is refused, so that a translation never leaves out a
part of a constraint.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from localrag.errors import ConstraintError


@dataclass(frozen=True)
class Text:
    """A literal."""

    text: str
    """What must stand there; may be empty."""


@dataclass(frozen=True)
class Chars:
    """One character out of a set."""

    ranges: tuple[tuple[int, int], ...]
    """First and last code point of each range."""

    negated: bool = False
    """Whether the set is all other characters."""


@dataclass(frozen=True)
class Ref:
    """Another rule."""

    name: str
    """Its name in the grammar."""


@dataclass(frozen=True)
class Sequence:
    """One after the other."""

    parts: tuple[Node, ...]
    """May be empty."""


@dataclass(frozen=True)
class Either:
    """One of several."""

    options: tuple[Node, ...]
    """At least one."""


@dataclass(frozen=True)
class Repeat:
    """A part several times."""

    part: Node
    """What is repeated."""

    least: int
    """Fewest times."""

    most: int | None
    """Most times; None: no bound."""


Node = Text | Chars | Ref | Sequence | Either | Repeat

_RULE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*")
_TOKEN = re.compile(
    r"""[ \t]*(?:
        (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<regex>/(?:[^/\\\n]|\\.)+/)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<repeat>\{\d+(?:,\d*)?\}|[?*+])
      | (?P<mark>[()|])
    )""",
    re.VERBOSE,
)
_CLASSES = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    # All blanks, as llguidance takes it.
    "s": (
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
    ),
}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}


def read_lark(grammar: str) -> dict[str, Node]:
    """The rules of a grammar by name. Raises `ConstraintError` that names line and cause."""
    rules: dict[str, Node] = {}
    for number, line in _lines(grammar):
        match = _RULE.match(line)
        if match is None:
            raise ConstraintError(f"Line {number} of a grammar cannot be translated: {line[:60]!r}.")
        if match[1] in rules:
            raise ConstraintError(f"Line {number} of a grammar defines {match[1]} a second time.")
        rules[match[1]] = _Rule(line[match.end() :], number).read()
    if "start" not in rules:
        raise ConstraintError("A grammar has no rule `start`.")
    return rules


def _lines(grammar: str) -> list[tuple[int, str]]:
    """Rules with the number of their first line; a line that begins with `|` goes on with the one before."""
    result: list[tuple[int, str]] = []
    for number, line in enumerate(grammar.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("//"):
            continue
        if result and line.lstrip().startswith("|"):
            result[-1] = (result[-1][0], f"{result[-1][1]} {line.strip()}")
        else:
            result.append((number, line.strip()))
    return result


class _Rule:
    """The right side of one rule."""

    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._line = line
        self._place = 0

    def read(self) -> Node:
        node = self._either()
        if self._text[self._place :].strip():
            raise self._refuse()
        return node

    def _refuse(self) -> ConstraintError:
        rest = self._text[self._place :].strip()[:60]
        return ConstraintError(f"Line {self._line} of a grammar cannot be translated from {rest!r} on.")

    def _peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self._place)

    def _either(self) -> Node:
        options = [self._sequence()]
        while (token := self._peek()) and token["mark"] == "|":
            self._place = token.end()
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while (token := self._peek()) and token["mark"] not in ("|", ")"):
            if token["repeat"]:
                if not parts:
                    raise self._refuse()
                parts[-1] = _repeated(parts[-1], token["repeat"])
                self._place = token.end()
                continue
            parts.append(self._item(token))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self, token: re.Match[str]) -> Node:
        start = self._place
        self._place = token.end()
        if token["text"]:
            try:
                return Text(json.loads(token["text"]))
            except ValueError:
                self._place = start
                raise self._refuse() from None
        if token["regex"]:
            return read_regex(token["regex"][1:-1])
        if token["name"]:
            return Ref(token["name"])
        inner = self._either()
        closing = self._peek()
        if closing is None or closing["mark"] != ")":
            raise self._refuse()
        self._place = closing.end()
        return inner


def _repeated(part: Node, mark: str) -> Node:
    if mark in "?*+":
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}[mark]
        return Repeat(part, least, most)
    low, comma, high = mark[1:-1].partition(",")
    return Repeat(part, int(low), (int(high) if high else None) if comma else int(low))


def read_regex(pattern: str) -> Node:
    """A regular expression as a tree. Raises `ConstraintError` for what has no place in a plain grammar."""
    reader = _Regex(pattern)
    node = reader.either()
    if not reader.done:
        raise reader.refuse()
    return node


class _Regex:
    """A regular expression that must fit as a whole."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0

    @property
    def done(self) -> bool:
        return self._place >= len(self._pattern)

    def refuse(self) -> ConstraintError:
        return ConstraintError(f"The expression /{self._pattern}/ cannot be translated (at {self._place}).")

    def _take(self) -> str:
        if self.done:
            raise self.refuse()
        self._place += 1
        return self._pattern[self._place - 1]

    def either(self) -> Node:
        options = [self._sequence()]
        while not self.done and self._pattern[self._place] == "|":
            self._place += 1
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while not self.done and self._pattern[self._place] not in "|)":
            repeat = re.compile(r"\{\d+(?:,\d*)?\}|[?*+]").match(self._pattern, self._place)
            if repeat:
                # A mark behind a mark would make it lazy or possessive.
                if not parts or isinstance(parts[-1], Repeat):
                    raise self.refuse()
                self._place = repeat.end()
                parts[-1] = _repeated(parts[-1], repeat[0])
                if not self.done and self._pattern[self._place] in "?+":
                    raise self.refuse()
                continue
            parts.append(self._item())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self) -> Node:
        char = self._take()
        if char == "(":
            if self._pattern.startswith("?:", self._place):
                self._place += 2
            elif self._pattern.startswith("?", self._place):
                raise self.refuse()
            inner = self.either()
            if self._take() != ")":
                raise self.refuse()
            # A group keeps its own repetition apart from one behind it.
            return Sequence((inner,)) if isinstance(inner, Repeat) else inner
        if char == "[":
            return self._set()
        if char == ".":
            return Chars(((0x0A, 0x0A),), negated=True)
        if char in "^$":
            raise self.refuse()
        if char != "\\":
            return Text(char)
        escape = self._take()
        if escape.lower() in _CLASSES:
            return Chars(_CLASSES[escape.lower()], negated=escape.isupper())
        return Text(self._escaped(escape))

    def _escaped(self, escape: str) -> str:
        """The character that an escape means; its letter is taken already."""
        width = {"x": 2, "u": 4}.get(escape)
        if width:
            digits = self._pattern[self._place : self._place + width]
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{width}}}", digits):
                raise self.refuse()
            self._place += width
            return chr(int(digits, 16))
        if escape.isalnum() and escape not in _CONTROLS:
            raise self.refuse()
        return _CONTROLS.get(escape, escape)

    def _set(self) -> Node:
        negated = self._pattern.startswith("^", self._place)
        self._place += negated
        ranges: list[tuple[int, int]] = []
        while (char := self._take()) != "]":
            if char == "\\":
                escape = self._take()
                if escape in _CLASSES:
                    ranges.extend(_CLASSES[escape])
                    continue
                char = self._escaped(escape)
            last = char
            if self._pattern.startswith("-", self._place) and not self._pattern.startswith("-]", self._place):
                self._place += 1
                last = self._take()
                if last == "\\":
                    last = self._escaped(self._take())
            if ord(last) < ord(char):
                raise self.refuse()
            ranges.append((ord(char), ord(last)))
        if not ranges:
            raise self.refuse()
        return Chars(tuple(ranges), negated)
