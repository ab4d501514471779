"""Which entities a decision is about, and whose mentions it moves, by their keys."""

from __future__ import annotations

from localrag.store.curation_rows import (
    AddAlias,
    Decision,
    DeleteEntity,
    DeleteRelation,
    EditEntity,
    EditRelation,
    KeepApart,
    MergeEntities,
    MergeRelations,
    RemoveAlias,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
)


def moved_by(decision: Decision) -> tuple[str, ...]:
    """Keys whose mentions a decision moves; empty where it moves none."""
    match decision:
        case MergeEntities(keys) | KeepApart(keys):
            return keys
        case SplitEntity(key) | DeleteEntity(key):
            return (key,)
        case RenameEntity(key, _, alias):
            return (alias,) if alias != key else ()
        case AddAlias(_, alias) | RemoveAlias(_, alias):
            return (alias,)
        case MergeRelations(pairs):
            return tuple(key for pair in pairs for key in pair)
        case SplitRelation(pair) | ReverseRelation(pair) | DeleteRelation(pair):
            return pair
        case _:
            return ()


def concerned(decision: Decision) -> tuple[str, ...]:
    """Keys of all entities that a decision is about."""
    match decision:
        case MergeEntities(keys, _, into):
            return (*keys, into)
        case KeepApart(keys):
            return keys
        case SplitEntity(key, into):
            return (key, into)
        case RenameEntity(key, _, alias):
            return (key, alias)
        case AddAlias(key, alias) | RemoveAlias(key, alias):
            return (key, alias)
        case RetypeEntity(key) | EditEntity(key) | DeleteEntity(key):
            return (key,)
        case MergeRelations(pairs, into):
            return tuple(key for pair in (*pairs, into) for key in pair)
        case SplitRelation(pair, into):
            return (*pair, *into)
        case ReverseRelation(pair) | EditRelation(pair) | DeleteRelation(pair):
            return pair
        case _:
            return ()
