"""Finds what a person means: the knowledge base to work with, the documents that are named.

A document is named by its path, alone or behind its root, or by that of a further place of it; by these as
lists show them, without what a terminal would obey; by its number, such as 12 or #12; or by a path from the
folder that the person is in. In that order: a file that is called 12 is not hidden by a number.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from localrag.documents.discovery import display_name
from localrag.errors import KnowledgeBaseAmbiguous, KnowledgeBaseNotFound, UsageError
from localrag.plain import plain, quoted
from localrag.store.database import Store
from localrag.store.rows import DocumentRow

SUFFIX = ".localrag"
"""Ending of a knowledge base's file name."""

_ID = re.compile(r"#?([1-9][0-9]{0,17})")


def find_knowledge_base(folder: Path, named: Path | None = None) -> Path:
    """The knowledge base to work with: the named one, else the only one in `folder`.

    Raises `KnowledgeBaseNotFound` and `KnowledgeBaseAmbiguous`, both saying what to type.
    """
    if named is not None:
        if not named.exists():
            shown = display_name(str(named))
            raise KnowledgeBaseNotFound(f"There is no file {shown}.", f"Make it: localrag init {shown}")
        return named
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    except OSError as error:
        raise KnowledgeBaseNotFound(
            f"The folder {display_name(str(folder))} cannot be looked through: {error.strerror}.",
            "Name the knowledge base with --kb FILE.",
        ) from error
    if not found:
        raise KnowledgeBaseNotFound(
            "There is no knowledge base in this folder.",
            f"Make one: localrag init NAME{SUFFIX}. Or name one that is elsewhere with --kb FILE.",
        )
    if len(found) > 1:
        names = ", ".join(display_name(path.name) for path in found)
        raise KnowledgeBaseAmbiguous(
            f"There are several knowledge bases in this folder: {names}.",
            f"Name one: --kb {display_name(found[0].name)}",
        )
    return found[0]


def from_here(name: str) -> str:
    """The full path of what a person named, seen from the folder they are in, as full paths are stored.

    A name that says nothing stays as it is, and so does every name if that folder was deleted.
    """
    if not name:
        return name
    try:
        return display_name(Path(os.path.abspath(name)).as_posix())
    except FileNotFoundError:
        return name


def document_named(store: Store, name: str) -> DocumentRow:
    """The one document with this name.

    Raises `UsageError` if there is none or if several have it.
    """
    known = _Known(store)
    found = known.document(name)
    if found is None:
        raise unknown_document(name)
    return known.rows[found]


def choose(store: Store, names: Iterable[str | int]) -> list[DocumentRow]:
    """The documents that are named, by root and path.

    A name is that of a document, or its id; else a folder, with all that lies under it, if it ends in a
    slash; else a pattern such as *.log, whose * stands for slashes too. The name of a file that is there is
    never taken for a pattern. Raises `UsageError` for a name that means nothing, or that several documents
    have.
    """
    known = _Known(store)
    chosen: set[int] = set()
    for name in names:
        if not isinstance(name, int):
            chosen |= known.documents(name)
        elif name in known.rows:
            chosen.add(name)
        else:
            raise unknown_document(f"#{name}")
    return [row for row in known.rows.values() if row.id in chosen]


def unknown_document(name: str, folder: str = "") -> UsageError:
    """The error for a name that means no document; `folder` is the one that may have been meant."""
    hint = f"For all in the folder: {folder}. See localrag status --all." if folder else ""
    return UsageError(
        f"There is no document {quoted(name)} in the knowledge base.", hint or "See localrag status --all."
    )


class _Known:
    """The documents of a knowledge base with all their names."""

    def __init__(self, store: Store) -> None:
        self.rows = {row.id: row for row in store.documents.list()}
        self._names = [
            (document_id, name)
            for document_id, found in store.documents.all_places().items()
            for place in found
            for name in (place.path, place.full)
        ]

    def document(self, name: str) -> int | None:
        """Id of the document that a name means; None if it means none. Raises `UsageError` for several."""
        exact = {document_id for document_id, path in self._names if path == name}
        # Of a name that holds what no terminal shows, a person only knows what is left of it.
        exact = exact or {document_id for document_id, path in self._names if name and plain(path) == name}
        if len(exact) > 1:
            raise self._several(name, exact)
        if exact:
            return exact.pop()
        number = _ID.fullmatch(name)
        if number and int(number[1]) in self.rows:
            return int(number[1])
        here = from_here(name)
        found = {document_id for document_id, path in self._names if path == here and not name.endswith("/")}
        if len(found) > 1:
            raise self._several(name, found)
        return found.pop() if found else None

    def documents(self, name: str) -> set[int]:
        """Ids of the documents that a name, a folder or a pattern means. Raises `UsageError` if there are
        none."""
        found = self.document(name)
        if found is not None:
            return {found}
        here = from_here(name)
        if name.endswith("/"):
            several = self._below(name) or self._below(f"{here.rstrip('/')}/")
        elif any(char in name for char in "*?["):
            several = self._like(name) or self._like(_pattern_from_here(name))
        else:
            several = set()
        if not several:
            folder = f"{name}/" if name and not name.endswith("/") else ""
            below = folder and (self._below(folder) or self._below(f"{here}/"))
            raise unknown_document(name, folder if below else "")
        return several

    def _below(self, folder: str) -> set[int]:
        """Ids of the documents in a folder, whose path ends in a slash."""
        return {document_id for document_id, path in self._names if path.startswith(folder)}

    def _like(self, pattern: str) -> set[int]:
        """Ids of the documents whose path is like a pattern."""
        return {document_id for document_id, path in self._names if fnmatchcase(path, pattern)}

    def _several(self, name: str, ids: set[int]) -> UsageError:
        full = sorted({path for document_id, path in self._names if document_id in ids and path != name})
        listed = [path for path in full if plain(path).endswith(name)] or full
        numbers = " or ".join(f"#{document_id}" for document_id in sorted(ids)[:5])
        return UsageError(
            f"Several documents are named {quoted(name)}.",
            f"Name one in full, or by its number ({numbers}): {', '.join(map(plain, listed[:5]))}.",
        )


def _pattern_from_here(pattern: str) -> str:
    """A pattern seen from the folder that the person is in, whose own name is no pattern."""
    return os.path.normpath(os.path.join(glob.escape(from_here(".")), pattern))
