"""The lines of weighed records: those that the program writes itself, and those with words of the model's.

A line that holds nothing but names and a chosen type or phrase is put into the output as it is; no model
reads it. Where the type or the phrase is the model's own words, a driver lets it write them.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.engine.lean import ARROW, BETWEEN, END, ENTITY, MARK, RELATIONSHIP, values_terminal
from localrag.engine.steps import PlainSegments, Step, literal
from localrag.engine.weighed_program import WeighedRecords

CLOSER = BETWEEN.rstrip()
"""What ends a name on its line, as far as no type or phrase has begun."""

Segment = tuple[str, bytes]
"""A finished segment: its name, its text."""


def entity_head(name: str) -> str:
    """An entity's line up to its type."""
    return f"{name}{CLOSER}"


def arrow_head(name: str) -> str:
    """A relation's line up to its second end."""
    return f"{name}{ARROW}"


def pair_head(source: str, target: str) -> str:
    """A relation's line up to its phrase."""
    return f"{source}{ARROW} {target}{CLOSER}"


def entity_segments(entities: Sequence[tuple[str, str]]) -> list[Segment]:
    """The list of these names with their types."""
    lines = [(ENTITY, f"{name}{BETWEEN}{type_}\n".encode()) for name, type_ in entities]
    return [*lines, (MARK, f"{END}\n".encode())]


def relation_segments(relations: Sequence[tuple[str, str, str]]) -> list[Segment]:
    """The list of these sources, targets and phrases; a phrase may be empty."""
    lines = [
        (RELATIONSHIP, f"{source}{ARROW} {target}{BETWEEN}{phrase}\n".encode())
        for source, target, phrase in relations
    ]
    return [*lines, (MARK, END.encode())]


class ListedEntities(PlainSegments):
    """One line for each name; the model writes the type."""

    def __init__(self, names: Sequence[str], program: WeighedRecords) -> None:
        self._left = list(names)
        self._types = values_terminal(program.types, program.type_words, program.type_chars)

    def first(self) -> Step:
        """The first name, or the end of an empty list."""
        if not self._left:
            return Step(MARK, f"start: {literal(END + chr(10))}\n")
        name = literal(f"{self._left.pop(0)}{BETWEEN}")
        return Step(ENTITY, f"start: NAME TYPE\nNAME: {name}\nTYPE: {self._types}\n")

    def following(self, text: str) -> Step | None:
        """The next name; nothing behind the end of the list."""
        return None if text == END + "\n" else self.first()


class ListedRelations(PlainSegments):
    """One line for each pair; the model writes what joins it."""

    def __init__(self, pairs: Sequence[tuple[str, str]], program: WeighedRecords) -> None:
        self._left = list(pairs)
        self._phrases = values_terminal(program.phrases, program.phrase_words, program.word_chars)

    def first(self) -> Step:
        """The first pair, or the end of an empty list."""
        if not self._left:
            return Step(MARK, f"start: {literal(END)}\n")
        source, target = self._left.pop(0)
        names = literal(f"{source}{ARROW} {target}{BETWEEN}")
        return Step(RELATIONSHIP, f"start: NAMES PHRASE\nNAMES: {names}\nPHRASE: {self._phrases}\n")

    def following(self, text: str) -> Step | None:
        """The next pair; nothing behind the end of the list."""
        return None if text == END else self.first()
