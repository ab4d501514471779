"""Reads the list of models in `models/catalogue.toml`, and checks it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, get_args

from localrag.catalogue.entries import (
    FOREIGN_PREFERENCE,
    Catalogue,
    CatalogueEntry,
    Conversion,
    KnownModel,
    Part,
    Role,
    Source,
    fold_name,
    shown,
)
from localrag.errors import ModelError
from localrag.settings import data_path

FORMAT: Final = 1
"""Format of the catalogue file that this version reads."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PLAIN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MAX_PART: Final = 8 << 30


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The catalogue that ships with localrag."""
    return load_catalogue(data_path("models", "catalogue.toml"))


def load_catalogue(path: Path) -> Catalogue:
    """Read a catalogue file; raises `ModelError` that names the place if it is damaged."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _damaged(str(error)) from error
    if document.get("format") != FORMAT:
        raise _damaged(f"its format is not {FORMAT}")
    entries = tuple(_entry(table) for table in _tables(document, "model"))
    known = tuple(_known(table) for table in _tables(document, "known"))
    for what, values in (
        ("name", [entry.name for entry in entries]),
        ("file", [entry.file for entry in entries]),
    ):
        twice = {value for value in values if values.count(value) > 1}
        if twice:
            raise _damaged(f"the {what} {min(twice)} is there twice")
    if not entries:
        raise _damaged("it lists no models")
    return Catalogue(entries, known)


def _damaged(reason: str) -> ModelError:
    return ModelError(f"The model catalogue is damaged: {reason}.", "Install localrag again.")


class _Table:
    """One table of the file, whose values are taken with their types checked and none left over."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = dict(values)
        self._where = where

    def wrong(self, key: str, expected: str) -> ModelError:
        return _damaged(f"{key} of {self._where} is not {expected}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._values.pop(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(key, "a text")
        return value

    def number(self, key: str, default: int | None = None, smallest: int = 0) -> int:
        value = self._values.pop(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < smallest:
            raise self.wrong(key, f"a whole number of at least {smallest}")
        return value

    def flag(self, key: str) -> bool:
        value = self._values.pop(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        value = self._values.pop(key, None)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "a list of words")
        return tuple(value)

    def sha256(self) -> str:
        value = self.text("sha256")
        if not _SHA256.fullmatch(value):
            raise self.wrong("sha256", "a hash of 64 small hexadecimal digits")
        return value

    def role(self) -> Role:
        value = self.text("role")
        for role in get_args(Role):
            if value == role:
                return role  # type: ignore[no-any-return]
        raise self.wrong("role", "chat or embed")

    def table(self, key: str) -> _Table:
        value = self._values.pop(key, None)
        if not isinstance(value, dict):
            raise self.wrong(key, "a table")
        return _Table(value, f"the {key} of {self._where}")

    def tables(self, key: str) -> list[_Table]:
        value = self._values.pop(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, "a list of tables")
        return [_Table(item, f"part {n} of {self._where}") for n, item in enumerate(value, 1)]

    def end(self) -> None:
        """Nothing may be left that was not asked for: it would be a misspelt key."""
        if self._values:
            raise _damaged(f"{self._where} has an unknown key {shown(min(self._values))}")


def _tables(document: Mapping[str, Any], key: str) -> list[_Table]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _damaged(f"{key} is not a list of tables")
    return [_Table(item, f"{key} {n}") for n, item in enumerate(value, 1)]


def _entry(table: _Table) -> CatalogueEntry:
    role = table.role()
    entry = CatalogueEntry(
        name=table.text("name"),
        role=role,
        title=table.text("title"),
        file=table.text("file"),
        size=table.number("size", smallest=1),
        sha256=table.sha256(),
        quantisation=table.text("quantisation"),
        licence=table.text("licence"),
        languages=table.words("languages"),
        parameters=table.number("parameters", smallest=1),
        context=table.number("context", smallest=1),
        memory_mb=table.number("memory_mb", smallest=1),
        starter=table.flag("starter"),
        preference=table.number("preference", FOREIGN_PREFERENCE),
        tests_only=table.flag("tests_only"),
        notes=" ".join(table.text("notes", "").split()),
        pooling=table.text("pooling", "" if role == "chat" else None),
        query_prefix=table.text("query_prefix", ""),
        passage_prefix=table.text("passage_prefix", ""),
        limit=table.number("limit", 0, smallest=0 if role == "chat" else 1),
        source=_source(table.table("source")),
    )
    # Both become parts of paths and of commands.
    if not _PLAIN_NAME.fullmatch(entry.name):
        raise table.wrong("name", "made of small letters, figures, dots and hyphens")
    if not _PLAIN_NAME.fullmatch(entry.file) or not entry.file.endswith(".gguf"):
        raise table.wrong("file", "the plain name of a .gguf file")
    table.end()
    return entry


def _source(table: _Table) -> Source:
    wheel, version = table.text("wheel"), table.text("version")
    member = table.text("member", "")
    conversion = table.text("conversion", "")
    known: Conversion
    for known in get_args(Conversion):
        if conversion == known:
            break
    else:
        raise table.wrong("conversion", "one that this version has")
    parts = []
    for n, piece in enumerate(table.tables("parts"), 1):
        part = Part(
            wheel=_numbered(wheel, n),
            version=version,
            member=piece.text("member", _numbered(member, n)),
            size=piece.number("size", smallest=1),
            sha256=piece.sha256(),
        )
        if not part.member or part.size > _MAX_PART:
            raise piece.wrong("member or size", "possible")
        piece.end()
        parts.append(part)
    source = Source(tuple(parts), table.text("platform", ""), known)
    table.end()
    return source


def _numbered(pattern: str, n: int) -> str:
    return pattern.replace("{nn}", f"{n:02}").replace("{mm}", f"{n - 1:02}").replace("{n}", str(n))


def _known(table: _Table) -> KnownModel:
    model = KnownModel(
        title=table.text("title"),
        role=table.role(),
        match=table.text("match"),
        licence=table.text("licence"),
        machine_mb=table.number("machine_mb", 0),
        why=table.text("why", ""),
        pooling=table.text("pooling", ""),
        query_prefix=table.text("query_prefix", ""),
        passage_prefix=table.text("passage_prefix", ""),
    )
    if model.match != fold_name(model.match):
        raise table.wrong("match", "made of small letters and figures")
    table.end()
    return model
