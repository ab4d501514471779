"""Embedding spaces: which vectors the file has, which of them are searched, and the change to another model.

One space is active: it is searched, and what is new gets its vectors there. A second one may be in the
making beside it. Its vectors are no content before the switch, so they do not raise the revision, and what
is kept in memory of the active space stays valid meanwhile.
"""

from __future__ import annotations

from localrag.errors import UsageError
from localrag.store.rows import VectorKind
from localrag.store.session import Session
from localrag.store.space_rows import SpaceFields, SpaceProgress, SpaceRow, VectorCounts
from localrag.store.sqlite import clean

OWNERS: dict[VectorKind, str] = {"chunk": "chunks", "entity": "entities", "relation": "relations"}
"""The table whose rows the vectors of a kind belong to."""

_SPACE = "id, fingerprint, model, dimension, pooling, query_prefix, passage_prefix, token_limit, active"


class Spaces:
    """Stores and switches embedding spaces."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def ensure_space(self, space: SpaceFields) -> int:
        """Id of the embedding space, stored if it is new. The first space becomes the active one."""
        session = self._session
        found = session.value("SELECT id FROM embedding_spaces WHERE fingerprint = ?", [space.fingerprint])
        if found is not None:
            return int(found)
        with session.transaction():
            active = session.value("SELECT count(*) = 0 FROM embedding_spaces WHERE active = 1")
            if active:
                session.touch()
            return session.insert(
                "INSERT INTO embedding_spaces (fingerprint, model, dimension, pooling, query_prefix, "
                "passage_prefix, token_limit, active) VALUES (?,?,?,?,?,?,?,?)",
                [
                    clean(space.fingerprint),
                    clean(space.model),
                    space.dimension,
                    clean(space.pooling),
                    clean(space.query_prefix),
                    clean(space.passage_prefix),
                    space.limit,
                    active,
                ],
            )

    def active_space(self) -> SpaceRow | None:
        """The space that questions are searched in, or None before the first vector."""
        return next((space for space in self.spaces() if space.active), None)

    def spaces(self) -> list[SpaceRow]:
        """All embedding spaces, the oldest first."""
        return self._spaces_where("1")

    def activate(self, space_id: int) -> None:
        """Make another space the active one. Raises `UsageError` if there is no such space."""
        with self._session.transaction():
            self._dimension(space_id)
            self._session.run("UPDATE embedding_spaces SET active = 0 WHERE active = 1")
            self._session.run("UPDATE embedding_spaces SET active = 1 WHERE id = ?", [space_id])
            self._session.touch()

    def has_space(self, space_id: int) -> bool:
        """Whether the space is there still; another program may have replaced it."""
        return bool(self._session.value("SELECT 1 FROM embedding_spaces WHERE id = ?", [space_id]))

    def space_building(self) -> SpaceRow | None:
        """The space whose vectors are being made beside the active one, if there is one."""
        return next(iter(self._spaces_where("building = 1")), None)

    def begin_building(self, space: SpaceFields) -> int:
        """Id of the space that is to replace the active one; vectors that it has already are kept.

        Raises `UsageError` if it is the active one, or if another one is being made.
        """
        with self._session.transaction():
            at_work = self.space_building()
            if at_work is not None and at_work.fingerprint != space.fingerprint:
                raise UsageError(
                    f"Vectors of another model, {at_work.model}, are half made.",
                    "Go on with them: localrag reembed. Or drop them: localrag reembed --cancel.",
                )
            space_id = self.ensure_space(space)
            active = self.active_space()
            if active is not None and active.id == space_id:
                raise UsageError(f"The vectors of this knowledge base were made by {active.model} already.")
            self._session.run("UPDATE embedding_spaces SET building = 1 WHERE id = ?", [space_id])
        return space_id

    def finish_building(self, space_id: int, left_out: VectorCounts) -> bool:
        """Search in the new space from now on and drop all others with their vectors, in one transaction.

        Does nothing and returns False if rows without a vector came meanwhile; `left_out` is how many of each
        kind get none. Raises `UsageError` if the space was dropped meanwhile.
        """
        with self._session.transaction():
            active = self.active_space()
            if active is not None and active.id == space_id:
                # Another program, which made the same vectors, was the first to be done.
                return True
            at_work = self.space_building()
            if at_work is None or at_work.id != space_id:
                raise _dropped()
            for kind in OWNERS:
                if self.count_missing(space_id, kind) > left_out.of(kind):
                    return False
            self._session.run("UPDATE embedding_spaces SET active = 0 WHERE active = 1")
            self._session.run("UPDATE embedding_spaces SET active = 1, building = 0 WHERE id = ?", [space_id])
            self._drop_others(space_id)
            self._session.touch()
        return True

    def drop_building(self) -> SpaceProgress | None:
        """Drop the half-made space with its vectors; returns how far it was, None if there is none."""
        with self._session.transaction():
            at_work = self.space_building()
            if at_work is None:
                return None
            progress = self.building_progress()
            self._drop(at_work.id)
        return progress

    def building_progress(self) -> SpaceProgress | None:
        """How far the space in the making is; None if there is none."""
        at_work = self.space_building()
        if at_work is None:
            return None
        total = sum(self._session.value(f"SELECT count(*) FROM {owner}") for owner in OWNERS.values())
        return SpaceProgress(at_work.model, self.count_vectors(at_work.id).total, total)

    def count_vectors(self, space_id: int) -> VectorCounts:
        """How many rows of each kind have a vector in the space."""
        chunk, entity, relation = (
            self._session.value(f"SELECT count(*) FROM {kind}_vectors WHERE space_id = ?", [space_id])
            for kind in OWNERS
        )
        return VectorCounts(chunk, entity, relation)

    def missing(
        self, space_id: int, kind: VectorKind, limit: int | None = None, *, after: int = 0
    ) -> list[int]:
        """Ids, ascending, of rows that have no vector in the space or whose text has changed since; only
        those greater than `after`."""
        return self._session.column(
            f"SELECT o.id {_missing(kind)} AND o.id > ? ORDER BY o.id LIMIT ?",
            [space_id, after, -1 if limit is None else limit],
        )

    def count_missing(self, space_id: int, kind: VectorKind) -> int:
        """How many rows `missing` gives."""
        return int(self._session.value(f"SELECT count(*) {_missing(kind)}", [space_id]))

    def _is_building(self, space_id: int) -> bool:
        return bool(
            self._session.value("SELECT 1 FROM embedding_spaces WHERE id = ? AND building = 1", [space_id])
        )

    def _drop_others(self, space_id: int) -> None:
        for (other,) in self._session.rows("SELECT id FROM embedding_spaces WHERE id <> ?", [space_id]):
            self._drop(other)

    def _drop(self, space_id: int) -> None:
        for kind in OWNERS:
            self._session.run(f"DELETE FROM {kind}_vectors WHERE space_id = ?", [space_id])
        self._session.run("DELETE FROM embedding_spaces WHERE id = ?", [space_id])

    def _spaces_where(self, condition: str) -> list[SpaceRow]:
        rows = self._session.rows(f"SELECT {_SPACE} FROM embedding_spaces WHERE {condition} ORDER BY id")
        return [SpaceRow(*(*row[:8], bool(row[8]))) for row in rows]

    def _dimension(self, space_id: int) -> int:
        dimension = self._session.value("SELECT dimension FROM embedding_spaces WHERE id = ?", [space_id])
        if dimension is None:
            raise UsageError(f"There is no embedding space {space_id} in the knowledge base.")
        return int(dimension)


def _missing(kind: VectorKind) -> str:
    """The end of a query for rows `o` without a vector, or with one of an older text."""
    changed = "" if kind == "chunk" else "OR v.text_hash <> o.text_hash"
    return (
        f"FROM {OWNERS[kind]} o LEFT JOIN {kind}_vectors v ON v.{kind}_id = o.id AND v.space_id = ? "
        f"WHERE (v.{kind}_id IS NULL {changed})"
    )


def _dropped() -> UsageError:
    return UsageError(
        "The new vectors were dropped by another program meanwhile.",
        "See localrag status; localrag reembed begins anew.",
    )
