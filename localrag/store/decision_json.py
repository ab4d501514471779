"""Decisions as the log holds them: a kind and a JSON object, checked field by field when read.

Bounds are checked when a decision is made and when it is read, since a file may come from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from localrag.errors import KnowledgeBaseError, UsageError
from localrag.store.curation_rows import (
    AddAlias,
    AddTag,
    Decision,
    DeleteEntity,
    DeleteRelation,
    DocumentRef,
    EditEntity,
    EditRelation,
    KeepApart,
    MergeEntities,
    MergeRelations,
    Pair,
    RemoveAlias,
    RemoveTag,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
    Where,
)
from localrag.store.sqlite import clean


class _Fields:
    """The arguments of one decision, each taken with its type. Raises `ValueError` where one is not as it
    must be."""

    def __init__(self, values: object) -> None:
        if not isinstance(values, dict):
            raise ValueError("not an object")
        self._values: dict[str, Any] = values

    def text(self, name: str) -> str:
        """A text that may be empty."""
        return _text(self._values.get(name), name)

    def said(self, name: str) -> str:
        """A text that is not empty."""
        if not self.text(name):
            raise ValueError(f"{name} is empty")
        return self.text(name)

    def optional(self, name: str) -> str | None:
        """A text or nothing."""
        return None if self._values.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(_text(item, name) for item in self._list(name))

    def pair(self, name: str) -> Pair:
        """Two keys that differ."""
        return _pair(self._values.get(name), name)

    def pairs(self, name: str) -> tuple[Pair, ...]:
        """A list of pairs, not empty."""
        found = tuple(_pair(item, name) for item in self._list(name))
        if not found:
            raise ValueError(f"{name} is empty")
        return found

    def document(self, name: str) -> DocumentRef:
        """A document."""
        return _document(self._values.get(name))

    def where(self, name: str) -> Where:
        """The conditions of a split, at least one."""
        fields = _Fields(self._values.get(name))
        documents = tuple(_document(item) for item in fields._list("documents"))
        where = Where(fields.texts("names"), fields.texts("types"), fields.texts("keywords"), documents)
        if where == Where():
            raise ValueError(f"{name} is empty")
        return where

    def _list(self, name: str) -> list[Any]:
        value = self._values.get(name, [])
        if not isinstance(value, list):
            raise ValueError(f"{name} is no list")
        return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is no text")
    return clean(value)


def _pair(value: object, name: str) -> Pair:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{name} is no pair")
    source, target = (_text(item, name) for item in value)
    if not source or not target or source == target:
        raise ValueError(f"{name} does not name two entities")
    return source, target


def _document(value: object) -> DocumentRef:
    fields = _Fields(value)
    return DocumentRef(fields.text("root"), fields.said("path"), fields.text("sha256"))


def _merge(fields: _Fields) -> MergeEntities:
    keys, names = fields.texts("keys"), fields.texts("names")
    into = fields.said("into")
    if not keys or not all(keys) or len(names) != len(keys) or into in keys:
        raise ValueError("keys are missing, without a name, or the one that they go to")
    return MergeEntities(keys, names, into, fields.said("name"))


def _split(fields: _Fields) -> SplitEntity:
    key, into = fields.said("key"), fields.said("into")
    if key == into:
        raise ValueError("into is the entity itself")
    return SplitEntity(key, into, fields.said("name"), fields.where("where"))


def _keep_apart(fields: _Fields) -> KeepApart:
    names = fields.texts("names")
    if len(names) != 2:
        raise ValueError("names are not two")
    return KeepApart(fields.pair("keys"), (names[0], names[1]))


def _add_alias(fields: _Fields) -> AddAlias:
    key, alias = fields.said("key"), fields.said("alias")
    if key == alias:
        raise ValueError("alias is the entity's own name")
    return AddAlias(key, alias, fields.said("name"), fields.said("entity"))


def _merge_relations(fields: _Fields) -> MergeRelations:
    pairs, into = fields.pairs("pairs"), fields.pair("into")
    if into in pairs:
        raise ValueError("pairs hold the one that they go to")
    return MergeRelations(pairs, into)


def _split_relation(fields: _Fields) -> SplitRelation:
    pair, into = fields.pair("pair"), fields.pair("into")
    if pair == into:
        raise ValueError("into is the relation itself")
    return SplitRelation(pair, into, fields.where("where"))


_READERS: dict[str, Callable[[_Fields], Decision]] = {
    MergeEntities.kind: _merge,
    SplitEntity.kind: _split,
    RenameEntity.kind: lambda fields: RenameEntity(
        fields.said("key"), fields.said("name"), fields.said("alias"), fields.text("was")
    ),
    RetypeEntity.kind: lambda fields: RetypeEntity(fields.said("key"), fields.said("type")),
    EditEntity.kind: lambda fields: EditEntity(fields.said("key"), fields.text("description")),
    DeleteEntity.kind: lambda fields: DeleteEntity(fields.said("key"), fields.text("name")),
    KeepApart.kind: _keep_apart,
    AddAlias.kind: _add_alias,
    RemoveAlias.kind: lambda fields: RemoveAlias(
        fields.said("key"), fields.said("alias"), fields.text("name")
    ),
    MergeRelations.kind: _merge_relations,
    ReverseRelation.kind: lambda fields: ReverseRelation(fields.pair("pair")),
    SplitRelation.kind: _split_relation,
    EditRelation.kind: lambda fields: EditRelation(
        fields.pair("pair"), fields.optional("keywords"), fields.optional("description")
    ),
    DeleteRelation.kind: lambda fields: DeleteRelation(fields.pair("pair")),
    AddTag.kind: lambda fields: AddTag(fields.document("document"), fields.said("tag")),
    RemoveTag.kind: lambda fields: RemoveTag(fields.document("document"), fields.said("tag")),
}

KINDS = tuple(_READERS)
"""All kinds of decisions."""


def written(decision: Decision) -> str:
    """The arguments of a decision as the log holds them. Raises `UsageError` if they make no sense."""
    text = json.dumps(asdict(decision), ensure_ascii=True)
    try:
        _READERS[decision.kind](_Fields(json.loads(text)))
    except ValueError as error:
        raise UsageError(f"This cannot be decided: {error}.") from None
    return text


def read(kind: str, arguments: str) -> Decision:
    """A decision out of the log. Raises `KnowledgeBaseError` if it is none that this program knows."""
    reader = _READERS.get(kind)
    if reader is None:
        raise KnowledgeBaseError(
            f"The knowledge base holds a decision of the kind {kind!r}, which is not known here.",
            "Use a newer localrag for this file.",
        )
    try:
        return reader(_Fields(json.loads(arguments)))
    except (ValueError, RecursionError) as error:
        raise KnowledgeBaseError(
            f"A decision of the kind {kind} in the knowledge base is damaged: {error}.",
            "Use a copy of the file if you have one.",
        ) from None
