"""Loads, checks and fills the prompt files of `prompts/`, one file per prompt.

A file begins with a front matter that names its inputs:

    ---
    description: What the prompt is for.
    inputs: history, query
    ---
    Text with {history} and {query} in it.

An input is filled wherever its name stands in braces. All other braces stay as they are, and text that was
put in is never searched again, so neither a person's edit nor a document can break a prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from localrag.engine.types import Piece
from localrag.errors import PromptError
from localrag.settings import data_path

INPUTS = frozenset(
    {
        "claim_description",
        "completion_delimiter",
        "content_data",
        "context_data",
        "description_list",
        "description_name",
        "description_type",
        "entity_name",
        "entity_specs",
        "entity_types",
        "examples",
        "history",
        "input_text",
        "language",
        "query",
        "record_delimiter",
        "response_type",
        "summary_length",
        "tuple_delimiter",
        "user_prompt",
    }
)
"""Every input that a prompt can have."""

_FENCE = "---"
_KEYS = ("description", "inputs")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PART_OF_PATH = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


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
        for match in _PLACEHOLDER.finditer(self.text):
            if match.group(1) in self.inputs:
                yield self.text[place : match.start()], None
                yield inputs[match.group(1)], match.group(1)
                place = match.end()
        yield self.text[place:], None


def load(family: str, language: str, name: str, directory: Path | None = None) -> Prompt:
    """Read `<directory>/<family>/<language>/<name>.md`; without a directory, the prompts that ship.

    Raises `PromptError` for a file that is missing or damaged, naming line and cause.
    """
    for part in (family, language, name):
        if not _PART_OF_PATH.fullmatch(part):
            raise PromptError(f"There is no prompt {family}/{language}/{name}.", "Names hold letters and _.")
    base = data_path("prompts") if directory is None else directory
    path = base / family / language / f"{name}.md"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise PromptError(
            f"The prompt {family}/{language}/{name}.md cannot be read: {error.strerror or 'no such file'}.",
            f"It is looked for in {base}.",
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _damaged(path, data[: error.start].count(b"\n") + 1, "it is not UTF-8") from error
    return parse(text, language, name, path)


def parse(text: str, language: str, name: str, path: Path | None = None) -> Prompt:
    """Check the text of a prompt file. Raises `PromptError` naming line and cause."""
    where = path if path is not None else Path(f"{name}.md")
    lines = text.replace("\r\n", "\n").split("\n")
    fields, begin = _front_matter(lines, where)
    inputs = _inputs(*fields["inputs"], where)
    body = "\n".join(lines[begin:]).strip("\n")
    if not body.strip():
        raise _damaged(where, begin, "there is no text behind the front matter")
    found = {match.group(1) for match in _PLACEHOLDER.finditer(body)}
    for number, line in enumerate(lines[begin:], start=begin + 1):
        for match in _PLACEHOLDER.finditer(line):
            if match.group(1) in INPUTS and match.group(1) not in inputs:
                raise _damaged(where, number, f"{match.group()} is used but not among the inputs")
    for item in inputs:
        if item not in found:
            raise _damaged(where, fields["inputs"][1], f"the input {item} is not used in the text")
    digest = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()
    return Prompt(name, language, body, inputs, digest, fields["description"][0])


def _front_matter(lines: list[str], where: Path) -> tuple[dict[str, tuple[str, int]], int]:
    """Each key with its value and line number, and the index of the first line of the body."""
    if lines[0].strip() != _FENCE:
        raise _damaged(where, 1, f"the file does not begin with {_FENCE}")
    fields: dict[str, tuple[str, int]] = {}
    for index, line in enumerate(lines[1:], start=1):
        if line.strip() == _FENCE:
            break
        if not line.strip():
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            raise _damaged(where, index + 1, "a line of the front matter has no colon")
        if key not in _KEYS:
            raise _damaged(where, index + 1, f"{key!r} is none of {', '.join(_KEYS)}")
        if key in fields:
            raise _damaged(where, index + 1, f"{key} is given twice")
        fields[key] = (value, index + 1)
    else:
        raise _damaged(where, len(lines), f"the front matter does not end with {_FENCE}")
    for key in _KEYS:
        if key not in fields:
            raise _damaged(where, 1, f"the front matter has no {key}")
    return fields, index + 1


def _inputs(value: str, line: int, where: Path) -> tuple[str, ...]:
    names = tuple(part.strip() for part in value.split(",")) if value else ()
    for name in names:
        if name not in INPUTS:
            raise _damaged(where, line, f"{name!r} is no input that localrag knows")
    if len(set(names)) != len(names):
        raise _damaged(where, line, "an input is listed twice")
    return names


def _damaged(path: Path, line: int, cause: str) -> PromptError:
    return PromptError(f"{path}, line {line}: {cause}.", "Correct the file.")
