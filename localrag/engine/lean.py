"""Lean records: a list of entities, then a list of relations, one a line, each list closed by `END`.

    Mira Holt | person
    Sele | place
    END
    Mira Holt -> Sele | keeps the lighthouse of
    END

Names are offered once, both ends of a relation are names of the first list, and no pair is written twice.
The separators begin with a blank, which names hold too; so they stand inside the terminals of the names.
A relation is two steps, since its second end depends on the first; the cut lies before the blank that
belongs to the second name's first token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from localrag.engine.names import NameBook
from localrag.engine.programs import LeanRecords
from localrag.engine.steps import Step, alternatives, literal
from localrag.errors import ConstraintError

ENTITY = "entity"
"""Name of an entity line's segment."""

RELATIONSHIP = "relationship"
"""Name of a relation line's segment."""

MARK = "end"
"""Name of the segments that close a list."""

END = "END"
"""What closes a list."""

BETWEEN = " | "
"""Before the type and before the phrase."""

ARROW = " ->"
"""Behind the first end of a relation; a blank and the second end follow."""

_CLOSED = f"{END}\n"
_NOT_IN_NAMES = ("|", "->", "\n", "\r", "\t", "\x00")
_PHRASE_START = "[^\\s|<>#\\x00-\\x1f\\x7f]"


@dataclass(frozen=True)
class LeanEntity:
    """An entity line."""

    name: str
    """As the program offered it."""

    type: str
    """One of the program's types."""


@dataclass(frozen=True)
class LeanRelation:
    """A relation line."""

    source: str
    """Name of an entity."""

    target: str
    """Name of another."""

    phrase: str
    """What joins them."""


def parse_lean(segments: Iterable[tuple[str, str]]) -> tuple[list[LeanEntity], list[LeanRelation]]:
    """The records in the segments (name, text) of a generation under `LeanRecords`.

    Raises `ValueError` for a line that such a program cannot have written.
    """
    entities: list[LeanEntity] = []
    relations: list[LeanRelation] = []
    for kind, text in segments:
        line = text.removesuffix("\n")
        if kind == ENTITY:
            name, found, type_ = line.partition(BETWEEN)
            if not found:
                raise ValueError(f"no entity line: {line!r}")
            entities.append(LeanEntity(name, type_))
        elif kind == RELATIONSHIP:
            ends, found, phrase = line.partition(BETWEEN)
            source, arrow, target = ends.partition(f"{ARROW} ")
            if not (found and arrow):
                raise ValueError(f"no relation line: {line!r}")
            relations.append(LeanRelation(source, target, phrase))
        elif kind != MARK:
            raise ValueError(f"no segment of lean records: {kind!r}")
    return entities, relations


class LeanDriver:
    """Line after line; a line is one matcher."""

    def __init__(self, program: LeanRecords) -> None:
        self._program = program
        self._check()
        self._book = NameBook(program.taken, program.taken_pairs)
        self._names = [name for name in program.names if writable_name(name)]
        self._entities = self._relations = 0
        self._relating = False
        self._source = ""
        """The first end of a relation whose second is being written."""

    def _check(self) -> None:
        program = self._program
        if any(not t.strip() or "\n" in t for t in (*program.types, *program.phrases)):
            raise ConstraintError("Types and phrases of lean records are words on one line.")
        if min(program.phrase_words, program.word_chars, program.type_words, program.type_chars) < 1:
            raise ConstraintError("A phrase needs room for at least one word of one character.")
        if not all(writable_name(name) for name in program.taken):
            raise ConstraintError("A name that counts as written holds a separator or a line break.")

    def first(self) -> Step:
        """The first entity, or the end of none."""
        return self._entity()

    def following(self, text: str) -> Step | None:
        """Take note of a line, or of the first end of a relation, and open what comes next."""
        if self._source:
            target = text[1:].partition(BETWEEN)[0]
            self._book.join(self._source, target)
            self._source = ""
            self._relations += 1
            return self._relation()
        if self._relating:
            if text == END:
                return None
            self._source = text.removesuffix(ARROW)
            return self._target()
        if text == _CLOSED:
            self._relating = True
            return self._relation()
        self._book.add(text.partition(BETWEEN)[0])
        self._entities += 1
        return self._entity()

    def segment_name(self, step: Step, text: str) -> str:
        """`entity`, `relationship` or `end`."""
        if step.name:
            return step.name
        if text.removesuffix("\n") == END:
            return MARK
        return RELATIONSHIP if self._relating else ENTITY

    def prose(self, text: str) -> tuple[str, str]:
        """The phrase of a relation."""
        # Many honest relations share a phrase that comes from a list.
        if not self._source or self._program.phrases:
            return "", ""
        return RELATIONSHIP, text.partition(BETWEEN)[2]

    def skip(self, text: str) -> Step | None:
        """The end of the list that is being written."""
        self._source = ""
        return Step(MARK, f"start: {literal(END if self._relating else _CLOSED)}\n")

    def _entity(self) -> Step:
        program = self._program
        end = literal(_CLOSED)
        free = self._book.free(self._names, loose=program.loose)
        if self._entities >= program.max_entities or not free:
            return Step(MARK, f"start: {end}\n")
        names = alternatives([f"{name}{BETWEEN}" for name in free])
        types = values_terminal(program.types, program.type_words, program.type_chars)
        lark = f"start: NAME TYPE | END\nNAME: {names}\nTYPE: {types}\nEND: {end}\n"
        return Step("", lark, watch="record")

    def _relation(self) -> Step:
        sources = self._book.sources()
        if self._relations >= self._program.max_relations or not sources:
            return Step(MARK, f"start: {literal(END)}\n")
        names = alternatives([f"{name}{ARROW}" for name in sources])
        lark = f"start: NAME | END\nNAME: {names}\nEND: {literal(END)}\n"
        return Step("", lark, watch="record")

    def _target(self) -> Step:
        program = self._program
        names = alternatives([f" {name}{BETWEEN}" for name in self._book.partners(self._source)])
        phrase = values_terminal(program.phrases, program.phrase_words, program.word_chars)
        lark = f"start: NAME PHRASE\nNAME: {names}\nPHRASE: {phrase}\n"
        return Step(RELATIONSHIP, lark, joins=True, watch="record", opener=BETWEEN, closers=("\n",))


def values_terminal(values: Sequence[str], count: int, chars: int) -> str:
    """A terminal of one of the values, or without any of words of the model's own, up to the line's end."""
    if values:
        return alternatives([f"{value}\n" for value in dict.fromkeys(values)])
    return _words(count, chars)


def _words(count: int, chars: int) -> str:
    """A terminal of words up to the line's end."""
    word = f"{_PHRASE_START}{{1,{chars}}}"
    more = f"( {word}){{0,{count - 1}}}" if count > 1 else ""
    return f"/{word}{more}\\n/"


def writable_name(name: str) -> bool:
    """Whether a name can stand on a line."""
    return bool(name) and name == name.strip() and not any(part in name for part in _NOT_IN_NAMES)
