"""Loads, checks and fills prompt files, one file per prompt.

A file begins with a front matter that names its inputs:

    ---
    description: What the prompt is for.
    inputs: history, query
    ---
    Text with {history} and {query} in it.

An input is filled wherever its name stands in braces. All other braces stay as they are, and text that was
put in is never searched again, so neither a person's edit nor a document can break a prompt.

A person's own file takes the place of the one that ships. If it is damaged, that is an error: the one that
ships is not used in its stead.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from localrag.engine.types import Piece
from localrag.errors import PromptError
from localrag.prompts.contracts import INPUTS, Contract, contract
from localrag.settings import data_path

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
"""An input's name in braces; other braces are text."""

_FENCE = "---"
_KEYS = ("description", "inputs")
_PART_OF_PATH = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a file, so that it cannot be used."""

    line: int
    """Line, counted from 1."""

    cause: str
    """What is wrong, as part of a sentence."""


@dataclass(frozen=True)
class Prompt:
    """A prompt with its inputs."""

    name: str
    """Name of the file without its ending."""

    language: str
    """Language of the prompt: `en` or `zh`."""

    text: str
    """The body, with placeholders."""

    inputs: tuple[str, ...]
    """Names of the inputs, each of which stands in the body."""

    hash: str
    """sha256 of the body in UTF-8, hexadecimal."""

    description: str = ""
    """What it is for, for people."""

    line: int = 1
    """Line of the file with which the body begins."""

    def render(self, **inputs: str) -> str:
        """The body with its inputs filled in. Inputs that the prompt does not use are ignored.

        Raises `PromptError` for an input that it uses and does not get.
        """
        return "".join(text for text, _ in self._filled(inputs))

    def pieces(self, inputs: Mapping[str, str], variable: Collection[str] = ()) -> tuple[Piece, ...]:
        """The filled body as pieces of a message: a shared one, then one that is not, without empty ones.

        `variable` names the inputs whose value differs from request to request. Everything before the first
        of them is shared. Raises `PromptError` as `render` does.
        """
        shared: list[str] = []
        own: list[str] = []
        for text, name in self._filled(inputs):
            if own or name in variable:
                own.append(text)
            else:
                shared.append(text)
        parts = (Piece("".join(shared), shared=True), Piece("".join(own)))
        return tuple(piece for piece in parts if piece.text)

    def _filled(self, inputs: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
        """Stretches of the body: fixed text with None, filled text with the input's name."""
        missing = [name for name in self.inputs if name not in inputs]
        if missing:
            raise PromptError(
                f"The prompt {self.language}/{self.name} uses {{{missing[0]}}}, which it is not given here.",
                "Remove it from the prompt.",
            )
        place = 0
        for match in PLACEHOLDER.finditer(self.text):
            if match.group(1) in self.inputs:
                yield self.text[place : match.start()], None
                yield inputs[match.group(1)], match.group(1)
                place = match.end()
        yield self.text[place:], None


def load(family: str, language: str, name: str, directory: Path | None = None) -> Prompt:
    """Read the prompt `family/language/name`: the one in `directory` if there is any, else the shipped one.

    Raises `PromptError` for a prompt that does not exist, and for a file that cannot be read or is damaged,
    naming line and cause.
    """
    path = find(family, language, name, directory)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PromptError(
            f"The prompt {family}/{language}/{name} cannot be read: {error.strerror or 'no such file'}.",
            f"It is looked for in {path.parent}.",
        ) from error
    prompt, faults = examine(data, language, name, contract(family, name))
    if prompt is None:
        raise _damaged(path, faults[0])
    return prompt


def find(family: str, language: str, name: str, directory: Path | None = None) -> Path:
    """Where the file of a prompt lies. Raises `PromptError` for a name that no prompt has.

    An entry in `directory` counts whatever it is, so that a broken link there is an error and no default.
    """
    for part in (family, language, name):
        if not _PART_OF_PATH.fullmatch(part):
            raise PromptError(f"There is no prompt {family}/{language}/{name}.", "Names hold letters and _.")
    below = Path(family, language, f"{name}.md")
    if directory is not None and os.path.lexists(directory / below):
        return directory / below
    return data_path("prompts") / below


def parse(text: str, language: str, name: str, path: Path | None = None) -> Prompt:
    """Check the text of a prompt file. Raises `PromptError` naming line and cause."""
    prompt, faults = examine(text.encode("utf-8", "replace"), language, name)
    if prompt is None:
        raise _damaged(path if path is not None else Path(f"{name}.md"), faults[0])
    return prompt


def examine(
    data: bytes, language: str, name: str, rules: Contract | None = None
) -> tuple[Prompt | None, tuple[Fault, ...]]:
    """The prompt in a file's bytes, or all that is wrong with them, in the order of lines."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return None, (Fault(data[: error.start].count(b"\n") + 1, "it is not UTF-8"),)
    lines = text.replace("\r\n", "\n").split("\n")
    fields, begin, faults = _front_matter(lines)
    if faults:
        return None, tuple(faults)
    listed, line = fields["inputs"]
    inputs = tuple(part.strip() for part in listed.split(",")) if listed else ()
    faults = [*_faults_of_inputs(inputs, line, rules), *_faults_of_body(lines, begin, inputs)]
    body = "\n".join(lines[begin:]).strip("\n")
    found = {match.group(1) for match in PLACEHOLDER.finditer(body)}
    for item in inputs:
        if item in INPUTS and item not in found:
            faults.append(
                Fault(line, f"the input {item} is not used in the text{_misspelt(item, lines, begin)}")
            )
    if rules is not None:
        faults += _broken_rules(rules, inputs, line, body, len(lines))
    if faults:
        return None, tuple(sorted(faults, key=lambda fault: fault.line))
    digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    first = next(number for number in range(begin, len(lines)) if lines[number].strip("\n"))
    return Prompt(name, language, body, inputs, digest, fields["description"][0], first + 1), ()


def _misspelt(item: str, lines: list[str], begin: int) -> str:
    """Where the text holds something in braces that is nearly an input's name."""
    for number, line in enumerate(lines[begin:], start=begin + 1):
        names = [match.group(1) for match in PLACEHOLDER.finditer(line) if match.group(1) not in INPUTS]
        if near := difflib.get_close_matches(item, names, n=1, cutoff=0.7):
            return f" (line {number} has {{{near[0]}}})"
    return ""


def _front_matter(lines: list[str]) -> tuple[dict[str, tuple[str, int]], int, list[Fault]]:
    """Each key with its value and line, the index of the first line of the body, and what is wrong."""
    if lines[0].strip() != _FENCE:
        return {}, 0, [Fault(1, f"the file does not begin with {_FENCE}")]
    fields: dict[str, tuple[str, int]] = {}
    faults: list[Fault] = []
    for index, line in enumerate(lines[1:], start=1):
        if line.strip() == _FENCE:
            break
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon:
            faults.append(Fault(index + 1, "a line of the front matter has no colon"))
        elif key not in _KEYS:
            faults.append(Fault(index + 1, f"{key!r} is none of {', '.join(_KEYS)}"))
        elif key in fields:
            faults.append(Fault(index + 1, f"{key} is given twice"))
        else:
            fields[key] = (value, index + 1)
    else:
        return {}, 0, [Fault(len(lines), f"the front matter does not end with {_FENCE}")]
    if not faults:
        faults = [Fault(1, f"the front matter has no {key}") for key in _KEYS if key not in fields]
    return fields, index + 1, faults


def _faults_of_inputs(inputs: tuple[str, ...], line: int, rules: Contract | None) -> Iterator[Fault]:
    for item in dict.fromkeys(inputs):
        if item not in INPUTS:
            yield Fault(line, f"{item!r} is no input that localrag knows")
        elif rules is not None and item not in rules.given:
            given = ", ".join(sorted(rules.given)) or "none"
            yield Fault(line, f"this prompt is not given the input {item}; it is given: {given}")
    if len(set(inputs)) != len(inputs):
        yield Fault(line, "an input is listed twice")


def _faults_of_body(lines: list[str], begin: int, inputs: tuple[str, ...]) -> Iterator[Fault]:
    if not any(line.strip() for line in lines[begin:]):
        yield Fault(begin, "there is no text behind the front matter")
    for number, line in enumerate(lines[begin:], start=begin + 1):
        for match in PLACEHOLDER.finditer(line):
            if match.group(1) in INPUTS and match.group(1) not in inputs:
                yield Fault(number, f"{match.group()} is used but not among the inputs")


def _broken_rules(
    rules: Contract, inputs: tuple[str, ...], line: int, body: str, last: int
) -> Iterator[Fault]:
    for item in rules.needed:
        if item not in inputs and not rules.beside:
            yield Fault(line, f"the input {item} is missing, without which this prompt is of no use")
    if rules.ending and not body.rstrip().endswith(rules.ending):
        yield Fault(last, f"the text must end with {rules.ending}")


def _damaged(path: Path, fault: Fault) -> PromptError:
    return PromptError(f"{path}, line {fault.line}: {fault.cause}.", "Correct the file.")
