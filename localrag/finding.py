"""Finds what a person means: the knowledge base to work with, the document that was named."""

from __future__ import annotations

import os
from pathlib import Path

from localrag.documents.discovery import display_name
from localrag.errors import KnowledgeBaseAmbiguous, KnowledgeBaseNotFound, UsageError
from localrag.store.database import Store

SUFFIX = ".localrag"
"""Ending of a knowledge base's file name."""


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


def document_named(store: Store, path: str) -> int:
    """Id of the document with this path: from its root, in full, or from the folder the person is in.

    Raises `UsageError` if there is none or if several have it.
    """
    rows = store.documents.list()
    full = {row.id: f"{row.root.rstrip('/')}/{row.path}" for row in rows}
    found = [row for row in rows if path in (row.path, full[row.id])]
    found = found or [row for row in rows if full[row.id] == from_here(path)]
    if not found:
        raise UsageError(f"There is no document {path!r} in the knowledge base.", "See localrag status.")
    if len(found) > 1:
        places = ", ".join(full[row.id] for row in found)
        raise UsageError(f"Several documents are named {path!r}.", f"Name one in full: {places}.")
    return found[0].id
