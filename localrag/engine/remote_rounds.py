"""One grammar for many records, for servers whose chats cannot go on in the middle of an answer.

A single call writes a whole run of records. Its grammar is looser than the worker's: it offers the names that
are free when the call begins, so a name could come twice. What is written is then followed record by record
with the strict grammars (`Written.take`), cut before the first record that breaks them, and the next call
offers what is left. Every first record of a call keeps the strict grammar, so each call gets further.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from localrag.engine.gbnf import rules_to_gbnf, to_gbnf
from localrag.engine.lark_reading import Chars, Either, Node, Ref, Repeat, Sequence, Text, read_lark
from localrag.engine.remote_check import TextCheck
from localrag.engine.remote_writing import Written
from localrag.engine.steps import Driver, Step
from localrag.errors import ConstraintError

MOST_RECORDS = 64
"""Records in one call."""

_MOST_SOURCES = 64


@dataclass(frozen=True)
class Round:
    """One call."""

    gbnf: str
    """Its grammar."""

    endings: tuple[str, ...]
    """Marks with which everything, or this list of records, may end."""

    exits: tuple[str, ...] = ()
    """Beginnings of a later kind's record, with which the call may end; the next one writes them again."""


def plan_round(written: Written, only: str = "") -> Round:
    """The call that goes on with what is written.

    With `only`, an exit of the call before, no other records are offered. A round without a grammar has
    nothing to write but an ending. Raises `ConstraintError` for a grammar that cannot be translated.
    """
    step = written.step
    assert step is not None
    rules = read_lark(step.lark)
    start = rules["start"]
    options = start.options if isinstance(start, Either) else (start,)
    looping: list[Node] = []
    ending: list[Node] = []
    merged = _Merged()
    exits: list[str] = []
    for option in options:
        if only and not _only_text(option, rules) and _opening(option, rules) != only:
            continue
        node = merged.add(option, rules)
        example = _example(option, rules)
        driver = written.driver
        following = driver.following(example) if _fits(step, example) else None
        if following is not None and following.joins:
            looping.append(_joined(option, rules, merged, written))
        elif following is None or _only_text(option, rules):
            ending.append(node)
        else:
            looping.append(node)
            exits.extend(text for text in _openings(driver, following) if text not in exits)
    endings = tuple(_example(option, rules) for option in options if _only_text(option, rules))
    if not looping:
        return Round("" if endings else to_gbnf(step.lark), endings)
    known = {text for option in options if (text := _opening(option, rules))}
    exits = [text for text in exits if text not in known]
    last: list[Node] = [*ending, *(Text(text) for text in exits)]
    # Where nothing ends the run, it ends by itself behind any record.
    body: list[Node] = [Repeat(_either(looping), 0 if last else 1, MOST_RECORDS)]
    if last:
        body.append(_either(last))
    return Round(rules_to_gbnf({"start": Sequence(tuple(body)), **merged.rules}), endings, tuple(exits))


def _joined(option: Node, rules: Mapping[str, Node], merged: _Merged, written: Written) -> Node:
    """A record of two halves, as one alternative for each text that the first half can have."""
    halves: list[Node] = []
    for text in _all_texts(option, rules):
        following = written.driver.following(text)
        if following is None or not following.joins:
            raise ConstraintError("A record's first half is not followed by its second.")
        second = read_lark(following.lark)
        halves.append(Sequence((Text(text), merged.add(second["start"], second))))
    return _either(halves)


def _openings(driver: Driver, step: Step) -> list[str]:
    """How the records begin that become possible after one or two more of the same kind."""
    found: list[str] = []
    for _ in range(2):
        rules = read_lark(step.lark)
        start = rules["start"]
        options = start.options if isinstance(start, Either) else (start,)
        found.extend(text for option in options if (text := _opening(option, rules)) and text not in found)
        example = _example(options[0], rules)
        following = driver.following(example) if _fits(step, example) else None
        if following is None or following.joins:
            break
        step = following
    return found


class _Merged:
    """Rules of several grammars under names of their own; equal ones are kept once."""

    def __init__(self) -> None:
        self.rules: dict[str, Node] = {}
        self._names: dict[Node, str] = {}

    def add(self, node: Node, rules: Mapping[str, Node]) -> Node:
        """The node with its references led to rules of this collection."""
        return _mapped(node, lambda name: self._rule(rules[name], rules))

    def _rule(self, node: Node, rules: Mapping[str, Node]) -> str:
        moved = self.add(node, rules)
        if moved not in self._names:
            name = f"rule{len(self._names)}"
            self._names[moved] = name
            self.rules[name] = moved
        return self._names[moved]


def _mapped(node: Node, rename: Callable[[str], str]) -> Node:
    if isinstance(node, Ref):
        return Ref(rename(node.name))
    if isinstance(node, Sequence):
        return Sequence(tuple(_mapped(part, rename) for part in node.parts))
    if isinstance(node, Either):
        return Either(tuple(_mapped(option, rename) for option in node.options))
    if isinstance(node, Repeat):
        return Repeat(_mapped(node.part, rename), node.least, node.most)
    return node


def _either(nodes: list[Node]) -> Node:
    return nodes[0] if len(nodes) == 1 else Either(tuple(nodes))


def _fits(step: Step, text: str) -> bool:
    check = TextCheck(step)
    return check.take(text) == len(text) and check.finished


def _example(node: Node, rules: Mapping[str, Node]) -> str:
    """Some short text that a node allows."""
    if isinstance(node, Text):
        return node.text
    if isinstance(node, Chars):
        return _allowed(node)
    if isinstance(node, Ref):
        return _example(rules[node.name], rules)
    if isinstance(node, Sequence):
        return "".join(_example(part, rules) for part in node.parts)
    if isinstance(node, Either):
        return _example(node.options[0], rules)
    return _example(node.part, rules) * node.least


def _allowed(node: Chars) -> str:
    if not node.negated:
        return chr(node.ranges[0][0])
    for char in "x1 \n、":
        if not any(first <= ord(char) <= last for first, last in node.ranges):
            return char
    raise ConstraintError("A set of characters leaves none that is common.")


def _opening(node: Node, rules: Mapping[str, Node]) -> str:
    """The fixed text with which a record begins; empty if it begins with a choice."""
    if isinstance(node, Ref):
        return _opening(rules[node.name], rules)
    if isinstance(node, Sequence) and node.parts and len(node.parts) > 1:
        first = node.parts[0]
        return first.text if isinstance(first, Text) else ""
    return ""


def _only_text(node: Node, rules: Mapping[str, Node]) -> bool:
    """Whether a node is one fixed text: a mark, no record."""
    if isinstance(node, Ref):
        return _only_text(rules[node.name], rules)
    return isinstance(node, Text)


def _all_texts(node: Node, rules: Mapping[str, Node]) -> list[str]:
    """Every text that a node allows. Raises `ConstraintError` if they are too many."""
    texts = _texts(node, rules)
    if len(texts) > _MOST_SOURCES:
        raise ConstraintError(f"A record can begin in {len(texts)} ways; at most {_MOST_SOURCES} fit a call.")
    return texts


def _texts(node: Node, rules: Mapping[str, Node]) -> list[str]:
    if isinstance(node, Text):
        return [node.text]
    if isinstance(node, Ref):
        return _texts(rules[node.name], rules)
    if isinstance(node, Either):
        return [text for option in node.options for text in _texts(option, rules)]
    if isinstance(node, Sequence):
        texts = [""]
        for part in node.parts:
            texts = [before + text for before in texts for text in _texts(part, rules)]
        return texts
    raise ConstraintError("The first half of a record is no list of fixed texts.")
