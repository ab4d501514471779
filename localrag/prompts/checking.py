"""Looks for what is wrong with a prompt, or unwise: the linter behind `localrag prompts check`.

An error is what makes a prompt unusable, and then its first line and cause are also what every command that
needs the prompt says. A warning is what costs time or quality.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localrag.prompts.contracts import INPUTS, VARIABLE, Contract
from localrag.prompts.files import PLACEHOLDER, Prompt, examine

CONTROL_TOKEN = re.compile(
    r"<\|[a-z][a-z0-9_]{0,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<\uff5c[^<>\n]{1,40}\uff5c>"
)
"""What chat templates use to part turns, in the spellings of common models."""

_FIXED_BEHIND = 240
"""Characters of fixed text behind the first variable input from which it is worth a word."""

_WRITTEN_OUT = ("<|>", "<|COMPLETE|>")
_DELIMITER_INPUTS = ("tuple_delimiter", "completion_delimiter")


@dataclass(frozen=True)
class Remark:
    """Something about a file that a person should know."""

    line: int
    """Line, counted from 1."""

    text: str
    """What it is, as part of a sentence."""

    error: bool
    """Whether it makes the prompt unusable; else it is a warning."""


@dataclass(frozen=True)
class Room:
    """How long a prompt may be."""

    tokens: int
    """Tokens of the model's context."""

    count: Callable[[str], int]
    """Estimates the tokens of a text."""


def remarks(
    data: bytes,
    language: str,
    name: str,
    rules: Contract | None,
    beside: Callable[[str], Prompt | None],
    room: Room,
) -> tuple[Remark, ...]:
    """All remarks about a file's bytes, errors first, each kind in the order of lines.

    `beside` gives another prompt of the same folder, None if there is none or it is damaged.
    """
    prompt, faults = examine(data, language, name, rules)
    if prompt is None:
        return tuple(Remark(fault.line, fault.cause, True) for fault in faults)
    found = [*_lengths(prompt, room), *_warnings(prompt)]
    if rules is not None:
        found += [*_missing(prompt, rules, beside), *_unsaid(prompt, rules, beside)]
    return tuple(sorted(found, key=lambda remark: (not remark.error, remark.line)))


def _lengths(prompt: Prompt, room: Room) -> Iterator[Remark]:
    tokens = room.count(prompt.text)
    if tokens >= room.tokens:
        yield Remark(prompt.line, f"about {tokens:,} tokens do not fit the context of {room.tokens:,}", True)
    elif tokens > room.tokens // 2:
        yield Remark(
            prompt.line,
            f"about {tokens:,} tokens leave little room in the context of {room.tokens:,}",
            False,
        )


def _warnings(prompt: Prompt) -> Iterator[Remark]:
    for match in CONTROL_TOKEN.finditer(prompt.text):
        yield Remark(
            _line(prompt, match.start()),
            f"{match.group()} looks like a control token of chat templates; it is sent as plain text",
            False,
        )
    seen: dict[str, int] = {}
    for match in PLACEHOLDER.finditer(prompt.text):
        item = match.group(1)
        if item not in prompt.inputs or item not in VARIABLE:
            continue
        line = _line(prompt, match.start())
        if item in seen:
            yield Remark(line, f"{match.group()} is put in a second time, so the model reads it twice", False)
        elif not seen:
            behind = PLACEHOLDER.sub("", prompt.text[match.end() :]).strip()
            if len(behind) > _FIXED_BEHIND:
                yield Remark(
                    line,
                    f"{len(behind)} characters stand behind {match.group()}, so each call reads them anew; "
                    "put what differs from call to call last",
                    False,
                )
        seen[item] = line
    yield from _written_out(prompt)
    yield from _nearly_inputs(prompt)


def _nearly_inputs(prompt: Prompt) -> Iterator[Remark]:
    for match in PLACEHOLDER.finditer(prompt.text):
        near = difflib.get_close_matches(match.group(1), INPUTS, n=1, cutoff=0.75)
        if match.group(1) not in INPUTS and near:
            yield Remark(
                _line(prompt, match.start()),
                f"{match.group()} stays as it is; is {{{near[0]}}} meant?",
                False,
            )


def _written_out(prompt: Prompt) -> Iterator[Remark]:
    for text, item in zip(_WRITTEN_OUT, _DELIMITER_INPUTS, strict=True):
        place = prompt.text.find(text)
        if place >= 0:
            yield Remark(
                _line(prompt, place), f"{text} is written out; {{{item}}} follows the settings", False
            )


def _missing(prompt: Prompt, rules: Contract, beside: Callable[[str], Prompt | None]) -> Iterator[Remark]:
    """Needed inputs that stand neither here nor in the prompt beside this one."""
    other = beside(rules.beside) if rules.beside else None
    for item in rules.needed:
        if item not in prompt.inputs and (other is None or item not in other.inputs):
            yield Remark(prompt.line, f"the input {item} is missing here and in {rules.beside}", True)


def _unsaid(prompt: Prompt, rules: Contract, beside: Callable[[str], Prompt | None]) -> Iterator[Remark]:
    """What the model should be shown and is not."""
    shown = set(prompt.inputs)
    for name in rules.shown_beside:
        other = beside(name)
        shown |= set(other.inputs) if other is not None else set()
    for item in sorted(rules.shown - shown):
        yield Remark(prompt.line, f"{{{item}}} does not occur, so the model is not shown it", False)
    if rules.mark and rules.mark not in prompt.text:
        yield Remark(prompt.line, f"{rules.mark} does not occur, so the model is not told to write it", False)


def _line(prompt: Prompt, place: int) -> int:
    return prompt.line + prompt.text.count("\n", 0, place)
