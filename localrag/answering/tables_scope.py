"""What a question for a table is narrowed to: entities by name, documents by path, title, folder or tag.

A name that could mean several things means none: then the question is answered in the usual way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np

from localrag.graph.names import fold
from localrag.retrieval.scope import Scope
from localrag.store.database import Store
from localrag.store.filters import Filter, Ids
from localrag.store.function_words import ENGLISH
from localrag.store.graph_rows import EntityRow
from localrag.store.tag_replay import folded

_ARTICLES = ("the ", "der ", "a ")
_LEADING = ("document ", "file ", "folder ", "text ", "article ", "文件", "文档", "文章")


@dataclass(frozen=True)
class Part:
    """A part of the knowledge base that a question names."""

    name: str
    """The document's path, the folder or the tag, as it is stored."""

    chunks: Ids
    """Its passages, those that a filter lets pass."""


def both(one: Ids | None, other: Ids | None) -> Ids | None:
    """The ids that are in both; None stands for all."""
    if one is None or other is None:
        return other if one is None else one
    return Ids(np.intersect1d(one.array, other.array).tolist())


def entity_named(store: Store, name: str, scope: Scope) -> EntityRow | None:
    """The entity of this name or alias, if a filter lets it pass."""
    if not name or name.casefold() in ENGLISH:
        return None
    for key in dict.fromkeys((fold(name), fold(_without_article(name)))):
        for _, row in store.graph.find_named([key]):
            if scope.allows("entity", row.id):
                return row
    return None


def part_named(store: Store, name: str, scope: Scope) -> Part | None:
    """The document, folder or tag of this name; None if there is none, or if there are several."""
    for text in _spellings(name):
        found = _document(store, text) or _folder(store, text) or _tag(store, text)
        if found is not None:
            label, wanted = found
            chunks = both(store.filters.ids(wanted, "chunk"), scope.chunks)
            return Part(label, chunks if chunks is not None else Ids([]))
    return None


def _spellings(name: str) -> list[str]:
    """The name as it is written, and without words such as "the file" before it."""
    found = [name]
    for lead in (*_ARTICLES, *_LEADING):
        if found[-1].casefold().startswith(lead):
            found.append(found[-1][len(lead) :].strip())
    return [text for text in found if text]


def _document(store: Store, name: str) -> tuple[str, Filter] | None:
    wanted = name.casefold()
    rows = store.documents.list()
    for told in ("path", "name", "stem", "title"):
        same = []
        for row in rows:
            path = PurePosixPath(row.path)
            text = {"path": row.path, "name": path.name, "stem": path.stem, "title": row.title}[told]
            if text.casefold() == wanted:
                same.append(row)
        if len(same) == 1:
            return same[0].path, Filter(documents=(same[0].id,))
        if same:
            return None
    return None


def _folder(store: Store, name: str) -> tuple[str, Filter] | None:
    folder = name.rstrip("/")
    inside = f"{folder.casefold()}/"
    for row in store.documents.list():
        if row.path.casefold().startswith(inside):
            folder = row.path[: len(folder)]
            return f"{folder}/", Filter(folder=folder)
    return None


def _tag(store: Store, name: str) -> tuple[str, Filter] | None:
    wanted = folded(name.removeprefix("#"))
    for row in store.tags.list():
        if row.tag == wanted:
            return f"#{row.name}", Filter(tags=(row.name,))
    return None


def _without_article(name: str) -> str:
    lowered = name.casefold()
    return next((name[len(lead) :] for lead in _ARTICLES if lowered.startswith(lead)), name)
