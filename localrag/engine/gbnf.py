"""Translates grammars into GBNF, llama.cpp's own notation, which most servers take.

What is written is well-formed by construction: rule names of letters and digits only, no left recursion that
was not in the source, only escapes that GBNF knows, and no repetition above 2,000, which llama.cpp would
silently take for endless; a larger one is put together from several.
"""

from __future__ import annotations

from collections.abc import Mapping

from localrag.engine.lark_reading import Chars, Either, Node, Ref, Repeat, Sequence, Text, read_lark
from localrag.errors import ConstraintError

MOST_REPEATS = 2000
"""Largest repetition that llama.cpp counts."""

_LINE_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def to_gbnf(lark: str) -> str:
    """A grammar in our Lark dialect as GBNF whose first rule is `root`.

    Raises `ConstraintError` for what cannot be said in GBNF.
    """
    return rules_to_gbnf(read_lark(lark))


def rules_to_gbnf(rules: Mapping[str, Node]) -> str:
    """The same for rules that are read already; `start` becomes `root`."""
    return _Writer(rules).write()


class _Writer:
    """One grammar; rules that it needs beside those of the source are added as it goes."""

    def __init__(self, rules: Mapping[str, Node]) -> None:
        self._rules = rules
        others = [name for name in rules if name != "start"]
        self._names = {"start": "root"} | {name: f"r{number}" for number, name in enumerate(others)}
        self._extra: dict[str, str] = {}
        """Names of the added rules by their text, so that none is written twice."""

    def write(self) -> str:
        for name in self._rules:
            self._refuse_left_recursion(name)
        lines = [f"{self._names[name]} ::= {self._node(node, 0)}" for name, node in self._rules.items()]
        lines.sort(key=lambda line: not line.startswith("root "))
        return "\n".join([*lines, *(f"{name} ::= {text}" for text, name in self._extra.items())]) + "\n"

    def _node(self, node: Node, level: int) -> str:
        """The text of a node; `level` is 0 where an alternation may stand bare, 1 a sequence, 2 an atom."""
        if isinstance(node, Text):
            return f'"{_escaped(node.text, chr(34))}"'
        if isinstance(node, Chars):
            inside = "".join(_range(first, last) for first, last in node.ranges)
            return f"[{'^' if node.negated else ''}{inside}]"
        if isinstance(node, Ref):
            if node.name not in self._names:
                raise ConstraintError(f"A grammar uses {node.name}, which it does not define.")
            return self._names[node.name]
        if isinstance(node, Either):
            text = " | ".join(self._node(option, 1) for option in node.options)
            return f"({text})" if level else text
        if isinstance(node, Sequence):
            text = " ".join(self._node(part, 2) for part in node.parts) or '""'
            return f"({text})" if level == 2 and len(node.parts) > 1 else text
        return self._repeat(node, level)

    def _repeat(self, node: Repeat, level: int) -> str:
        atom = self._node(node.part, 2)
        if isinstance(node.part, Repeat | Sequence) or len(atom) > 40:
            # In a rule of its own, since llama.cpp multiplies repetitions that are nested in one rule.
            atom = self._rule(atom)
        if node.most is None:
            if node.least <= 1:
                return f"{atom}{'+' if node.least else '*'}"
            text = f"{self._counted(atom, node.least, node.least)} {atom}*"
            return f"({text})" if level == 2 else text
        return self._counted(atom, node.least, node.most)

    def _counted(self, atom: str, least: int, most: int) -> str:
        if most <= MOST_REPEATS:
            return f"{atom}?" if (least, most) == (0, 1) else f"{atom}{{{least},{most}}}"
        parts = []
        while most > 0:
            high = min(most, MOST_REPEATS)
            low = min(least, high)
            parts.append(self._rule(f"{atom}{{{low},{high}}}"))
            least, most = least - low, most - high
        return f"({' '.join(parts)})"

    def _rule(self, text: str) -> str:
        return self._extra.setdefault(text, f"x{len(self._extra)}")

    def _refuse_left_recursion(self, name: str) -> None:
        seen: set[str] = set()
        waiting = list(_leading(self._rules[name], self._rules))
        while waiting:
            other = waiting.pop()
            if other == name:
                raise ConstraintError(f"The rule {name} of a grammar begins with itself.")
            if other not in seen and other in self._rules:
                seen.add(other)
                waiting.extend(_leading(self._rules[other], self._rules))


def _leading(node: Node, rules: Mapping[str, Node]) -> set[str]:
    """Names of the rules that may stand at the very beginning."""
    if isinstance(node, Ref):
        return {node.name}
    if isinstance(node, Either):
        return set().union(*(_leading(option, rules) for option in node.options))
    if isinstance(node, Repeat):
        return _leading(node.part, rules)
    if isinstance(node, Sequence):
        found: set[str] = set()
        for part in node.parts:
            found |= _leading(part, rules)
            if not _may_be_empty(part, rules, frozenset()):
                break
        return found
    return set()


def _may_be_empty(node: Node, rules: Mapping[str, Node], inside: frozenset[str]) -> bool:
    if isinstance(node, Text):
        return not node.text
    if isinstance(node, Chars):
        return False
    if isinstance(node, Ref):
        known = node.name in rules and node.name not in inside
        return known and _may_be_empty(rules[node.name], rules, inside | {node.name})
    if isinstance(node, Either):
        return any(_may_be_empty(option, rules, inside) for option in node.options)
    if isinstance(node, Sequence):
        return all(_may_be_empty(part, rules, inside) for part in node.parts)
    return node.least == 0 or _may_be_empty(node.part, rules, inside)


def _range(first: int, last: int) -> str:
    return _in_set(first) if first == last else f"{_in_set(first)}-{_in_set(last)}"


def _in_set(code: int) -> str:
    # Everything that could mean something inside brackets is written by its number.
    if code < 0x20 or code == 0x7F or chr(code) in '\\]^-["':
        return f"\\x{code:02X}"
    # Other readers of GBNF than llama.cpp's lose the zeros of longer escapes, so none are written.
    return chr(code) if code < 0x7F or code > 0xFF else f"\\x{code:02X}"


def _escaped(text: str, quote: str) -> str:
    result = ""
    for char in text:
        if char in _LINE_ESCAPES:
            result += _LINE_ESCAPES[char]
        elif char == quote:
            result += f"\\{char}"
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            result += f"\\x{ord(char):02X}"
        else:
            result += char
    return result
