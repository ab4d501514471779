"""Changes one value in the person's settings file and leaves every other line of it as it is.

The file is a person's own, with comments and an order of its own, so it is never written anew from data. A
change is made in its text, and kept only if the file then means exactly what it should; else the person is
told to make it by hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from localrag.errors import SettingsError

Value = bool | int | str | tuple[str, ...] | Mapping[str, str]
"""What a setting can be."""

_HEADING = re.compile(r"\s*\[(?!\[)(.+?)\]\s*(?:#.*)?$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_setting(path: Path, name: str, value: Value | None) -> None:
    """Set `section.name` in the file, which is made if it is not there; None takes it out.

    Raises `SettingsError` if the file cannot be read or written, or is written in a way that this cannot
    change without losing something of it.
    """
    before = _read(path)
    section, _, key = name.partition(".")
    after = changed(before, section, key, value)
    if after != before:
        _replace(path, after)


def changed(text: str, section: str, key: str, value: Value | None) -> str:
    """The text of a settings file with one value set, or taken out with None. Raises `SettingsError`."""
    wanted = _meaning(text)
    place = wanted.setdefault(section, {})
    if not isinstance(place, dict):
        raise _by_hand(section, key)
    place.pop(key, None)
    if value is not None and value != {}:
        place[key] = list(value) if isinstance(value, tuple) else value
    if not place:
        del wanted[section]
    lines = _without(text.split("\n"), section, key)
    if isinstance(value, Mapping):
        lines = _with_table(lines, section, key, value)
    elif value is not None:
        lines = _with_line(lines, section, key, toml(value), _comment(text.split("\n"), section, key))
    result = "\n".join(lines)
    found = {name: found for name, found in _meaning(result).items() if found != {}}
    if found != {name: found for name, found in wanted.items() if found != {}}:
        raise _by_hand(section, key)
    return result


def toml(value: bool | int | str | tuple[str, ...]) -> str:
    """A value as the file writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    # The strings of JSON are strings of TOML, once the one character that only TOML forbids is escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_line(lines: list[str], section: str, key: str, value: str, comment: str) -> list[str]:
    """The lines with `key = value` at the end of its section, which is added if need be."""
    new = f"{key} = {value}{comment}"
    begin, end = _section(lines, section)
    if begin < 0:
        return [*_trimmed(lines), *([""] if any(lines) else []), f"[{section}]", new, ""]
    while end > begin + 1 and not lines[end - 1].strip():
        end -= 1
    return [*lines[:end], new, *lines[end:]]


def _with_table(lines: list[str], section: str, key: str, value: Mapping[str, str]) -> list[str]:
    if not value:
        return lines
    rows = [f"{toml(name)} = {toml(text)}" for name, text in value.items()]
    return [*_trimmed(lines), *([""] if any(lines) else []), f"[{section}.{key}]", *rows, ""]


def _without(lines: list[str], section: str, key: str) -> list[str]:
    """The lines without this value: its line or lines, or the table of its own."""
    begin, end = _section(lines, f"{section}.{key}")
    if begin >= 0:
        return [*lines[:begin], *lines[end:]]
    begin, end = _value(lines, section, key)
    return lines if begin < 0 else [*lines[:begin], *lines[end:]]


def _section(lines: list[str], name: str) -> tuple[int, int]:
    """First line of a table and one past its last, (-1, -1) if it is not there."""
    begin = -1
    for number, line in enumerate(lines):
        heading = _HEADING.match(line) or (line.lstrip().startswith("[[") and line)
        if not heading:
            continue
        if begin >= 0:
            return begin, number
        if not isinstance(heading, str) and _plain_name(heading.group(1)) == name:
            begin = number
    return (begin, len(lines)) if begin >= 0 else (-1, -1)


def _value(lines: list[str], section: str, key: str) -> tuple[int, int]:
    """The lines that a value takes, (-1, -1) if it is not written as a line of its section."""
    begin, end = _section(lines, section)
    for number in range(begin + 1, end) if begin >= 0 else ():
        left, sign, _ = lines[number].partition("=")
        if not sign or _plain_name(left) != key:
            continue
        for last in range(number + 1, end + 1):
            with contextlib.suppress(tomllib.TOMLDecodeError):
                tomllib.loads("\n".join(lines[number:last]))
                return number, last
    return -1, -1


def _comment(lines: list[str], section: str, key: str) -> str:
    """What a person wrote behind a value that stands on one line, with the blanks before it."""
    begin, end = _value(lines, section, key)
    if end - begin != 1:
        return ""
    line = lines[begin]
    for place in (number for number, letter in enumerate(line) if letter == "#"):
        with contextlib.suppress(tomllib.TOMLDecodeError):
            tomllib.loads(line[:place])
            return line[len(line[:place].rstrip()) :]
    return ""


def _plain_name(text: str) -> str:
    """A name without the blanks and quotes that TOML allows around its parts."""
    parts = [part.strip().strip("\"'") for part in text.split(".")]
    return ".".join(parts) if all(_BARE.fullmatch(part) for part in parts) else ""


def _trimmed(lines: list[str]) -> list[str]:
    """Without the empty lines at the end."""
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _meaning(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"The settings file cannot be changed, since it cannot be read: {error}.",
            "Correct it in an editor first.",
        ) from error


def _by_hand(section: str, key: str) -> SettingsError:
    return SettingsError(
        f"{section}.{key} stands in the settings file in a way that only a person can change.",
        "Change it there in an editor.",
    )


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error}.", "Correct or remove it."
        ) from error


def _replace(path: Path, text: str) -> None:
    """Write beside the file first, so that it is whole at any moment; a link stays a link."""
    target = path.resolve()
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise SettingsError(
            f"The settings file {path} cannot be written: {error.strerror or error}.",
            "See whether its folder can be written.",
        ) from error
