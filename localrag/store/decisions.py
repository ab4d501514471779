"""The decisions of a person: made, listed, taken back. Each changes what is there in the same transaction."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from localrag.errors import KnowledgeBaseError, UsageError
from localrag.store import decision_log, merges, resolution, tags
from localrag.store.assignment import place
from localrag.store.curation_rows import (
    AddTag,
    Change,
    Decision,
    DecisionRow,
    DeleteRelation,
    DocumentRef,
    EditRelation,
    KeepApart,
    MergeRelations,
    RemoveTag,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
)
from localrag.store.decision_json import KINDS, read, written
from localrag.store.decision_keys import concerned, moved_by
from localrag.store.replay import Resolution
from localrag.store.session import Session

ENTITY_KINDS = tuple(kind for kind in KINDS if kind.startswith("entity."))
"""Kinds of decisions about entities."""

RELATION_KINDS = tuple(kind for kind in KINDS if kind.startswith("relation."))
"""Kinds of decisions about relations."""

ALIAS_KINDS = tuple(kind for kind in KINDS if kind.startswith("alias."))
"""Kinds of decisions about aliases."""

TAG_KINDS = tuple(kind for kind in KINDS if kind.startswith("tag."))
"""Kinds of decisions about tags."""

_ABOUT_RELATIONS = (MergeRelations, ReverseRelation, SplitRelation, EditRelation, DeleteRelation)


class Decisions:
    """The log of decisions."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, decision: Decision) -> Change:
        """Make a decision: keep it, and apply it to what is there; whatever comes later obeys it too.

        It need not be about anything that is there: it waits. Raises `UsageError` if it contradicts itself,
        `KnowledgeBaseReadOnly`.
        """
        arguments = written(decision)
        session = self._session
        with session.transaction():
            decision_id = session.insert(
                "INSERT INTO decisions (uuid, kind, arguments, made_at) VALUES (?, ?, ?, ?)",
                [str(uuid.uuid4()), decision.kind, arguments, self._now()],
            )
            decision_log.changed(session)
            decision = read(decision.kind, arguments)
            return self._apply(decision_id, decision, decision_log.resolution(session))

    def undo(
        self, decision_id: int | None = None, kinds: Collection[str] = KINDS
    ) -> tuple[DecisionRow, Change]:
        """Take a decision back, or the last one of these kinds that holds; others keep their order and stay.

        Raises `UsageError` if there is none, or it was taken back before; `KnowledgeBaseReadOnly`.
        """
        session = self._session
        with session.transaction():
            row = self._undoable(decision_id, kinds)
            before = decision_log.resolution(session)
            session.run("UPDATE decisions SET undone_at = ? WHERE id = ?", [_time(), row.id])
            decision_log.changed(session)
            return self._get(row.id), self._apply(row.id, row.decision, before)

    def list(self, kinds: Collection[str] = KINDS) -> list[DecisionRow]:
        """The decisions of these kinds, undone ones too, in the order in which they were made.

        Raises `KnowledgeBaseError` if one is damaged.
        """
        return [row for row in decision_log.log(self._session) if row.decision.kind in kinds]

    def deletes(self, key: str) -> bool:
        """Whether a person deleted what has this folded name."""
        return decision_log.resolution(self._session).entity_key(key) is None

    def joining(self, one: str, other: str) -> DecisionRow | None:
        """The decision by which two names, folded, mean the same entity wherever they stand; None if a person
        decided no such thing, or deleted it.

        If several would do it each by itself, it is the first of them.
        """
        held = [row for row in self.list() if not row.undone_at]
        known = decision_log.resolution(self._session)
        together = known.entity_key(one)
        if together is None or together != known.entity_key(other):
            return None
        taken: list[tuple[int, Decision]] = []
        for row in held:
            taken.append((row.id, row.decision))
            known = Resolution(taken)
            if known.entity_key(one) == known.entity_key(other):
                return row
        return None

    def keeping_apart(self, one: str, other: str) -> DecisionRow | None:
        """The decision that holds and keeps two names, folded, apart; None if there is none."""
        for row in self.list((KeepApart.kind,)):
            if (
                isinstance(row.decision, KeepApart)
                and not row.undone_at
                and {one, other} == set(row.decision.keys)
            ):
                return row
        return None

    def _apply(self, decision_id: int, decision: Decision, ways: Resolution) -> Change:
        """Bring what a decision may have touched to what holds now; `ways` has the decision in it."""
        session = self._session
        session.touch()
        if isinstance(decision, AddTag | RemoveTag):
            ids = tags.documents_of(session, decision.document)
            return Change(decision_id, 0, 0, sum(tags.replay(session, document_id) for document_id in ids))
        # What a person decides about is not merged automatically any more, or is again.
        merged = merges.moved_among(session, concerned(decision))
        moved = resolution.reassign(
            session,
            ways.leading_to({*moved_by(decision), *merged}),
            about=ways.leading_from(concerned(decision)),
            relations_only=isinstance(decision, _ABOUT_RELATIONS) and not merged,
        )
        return Change(decision_id, moved.mentions, moved.relation_mentions)

    def _undoable(self, decision_id: int | None, kinds: Collection[str]) -> DecisionRow:
        rows = self.list(kinds if decision_id is None else KINDS)
        if decision_id is None:
            rows = [row for row in rows if not row.undone_at]
            if not rows:
                raise UsageError("There is no decision to take back.")
            return rows[-1]
        found = [row for row in rows if row.id == decision_id]
        if not found:
            raise UsageError(f"There is no decision {decision_id}.", "See `localrag entities log`.")
        if found[0].undone_at:
            raise UsageError(f"Decision {decision_id} was taken back already.")
        return found[0]

    def _get(self, decision_id: int) -> DecisionRow:
        return next(row for row in self.list() if row.id == decision_id)

    def _now(self) -> str:
        """The time, later than that of every decision before, whatever the clock did meanwhile."""
        now = _time()
        last = self._session.value("SELECT max(made_at) FROM decisions") or ""
        if now > last:
            return now
        try:
            return (datetime.fromisoformat(last) + timedelta(microseconds=1)).isoformat(
                timespec="microseconds"
            )
        except (ValueError, OverflowError):
            raise KnowledgeBaseError(
                "A decision in the knowledge base has a damaged time.",
                "Use a copy of the file if you have one.",
            ) from None


def moved(session: Session, before: Mapping[int, Collection[tuple[str, str]]]) -> None:
    """Let decisions that name documents by their places go along, within the caller's transaction.

    `before` gives the places, each root and path, that documents had before they were moved. To be called
    when they have their new ones; the content may have changed too.
    """
    if decision_log.tag_steps(session).empty and not decision_log.resolution(session).documents:
        return
    now: dict[tuple[str, str], DocumentRef] = {}
    for document_id, places in before.items():
        first = session.row("SELECT root, path, sha256 FROM documents WHERE id = ?", [document_id])
        if first is not None:
            kept = place(session, document_id).paths
            now |= {old: DocumentRef(*first) for old in places if old not in kept}
    for row in decision_log.log(session) if now else ():
        decision = following(row.decision, now)
        if decision != row.decision:
            session.run("UPDATE decisions SET arguments = ? WHERE id = ?", [written(decision), row.id])
            decision_log.changed(session)


def following(decision: Decision, now: Mapping[tuple[str, str], DocumentRef]) -> Decision:
    """The decision with the documents at these places, each root and path, named as they are now."""

    def follow(document: DocumentRef) -> DocumentRef:
        return now.get((document.root, document.path), document)

    if isinstance(decision, AddTag | RemoveTag):
        return replace(decision, document=follow(decision.document))
    if isinstance(decision, SplitEntity | SplitRelation):
        documents = tuple(follow(document) for document in decision.where.documents)
        return replace(decision, where=replace(decision.where, documents=documents))
    return decision


def _time() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
