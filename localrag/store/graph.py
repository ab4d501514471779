"""The graph as it was read: entities and relations, each the sum of what single chunks say.

Nothing is stored twice: weights and lists of descriptions are computed from the mentions. What one chunk
said is written in one transaction, together with the call that said it and what of it was not stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from localrag.errors import UsageError
from localrag.store.journal import insert_generation, insert_rejects
from localrag.store.rows import (
    EntityMention,
    EntityRow,
    GenerationRow,
    GraphCounts,
    MentionRow,
    Reading,
    Reject,
    RelationMention,
    RelationRow,
)
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean
from localrag.store.upkeep import Touched, joined_keywords, settle_document

_ID_IN = "IN (SELECT value FROM json_each(?))"


class Graph:
    """Writes readings and answers what is known of entities and relations."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def record(
        self, chunk_id: int, reading: Reading, generation: GenerationRow, rejects: Sequence[Reject] = ()
    ) -> bool:
        """Store what the model found in a chunk, in place of what was found in it before.

        The same reading may be recorded again: the same rows are there afterwards, entities keep their
        ids. A mention without a name or key, and a relation whose ends are not two different entities of
        this reading, becomes a reject. The chunk is `read` then, its document `indexed` if it was the
        last one. Returns False, and stores nothing, if the chunk was deleted meanwhile.
        """
        session = self._session
        with session.transaction():
            document_id = session.value("SELECT document_id FROM chunks WHERE id = ?", [chunk_id])
            if document_id is None:
                return False
            touched = Touched(session, [chunk_id])
            for table in ("mentions", "relation_mentions", "generations"):
                session.run(f"DELETE FROM {table} WHERE chunk_id = ?", [chunk_id])
            parsed = len(reading.entities) + len(reading.relations) + len(rejects)
            generation_id = insert_generation(session, generation, chunk_id=chunk_id, parsed=parsed)
            refused = list(rejects)
            entity_ids = self._put_entities(chunk_id, generation_id, reading.entities, refused)
            relation_ids = self._put_relations(
                chunk_id, generation_id, reading.relations, entity_ids, refused
            )
            insert_rejects(session, generation_id, refused)
            session.run(
                "UPDATE chunks SET state = 'read', attempts = attempts + (state <> 'read'), error = '' "
                "WHERE id = ?",
                [chunk_id],
            )
            touched.renewed.update(entity_ids.values())
            touched.relations.update(relation_ids)
            touched.settle(session)
            settle_document(session, document_id)
            session.touch()
        return True

    def entity(self, entity_id: int) -> EntityRow:
        """One entity. Raises `UsageError` if it is not there."""
        found = self.entities([entity_id])
        if not found:
            raise UsageError(f"There is no entity {entity_id} in the knowledge base.")
        return found[0]

    def entities(self, ids: Iterable[int]) -> list[EntityRow]:
        """The entities in the order of `ids`; those that are gone are left out."""
        wanted = list(ids)
        parameters = [listed(wanted)]
        descriptions: dict[int, dict[str, None]] = {}
        for entity_id, text in self._session.rows(
            f"SELECT entity_id, description FROM mentions WHERE entity_id {_ID_IN} AND description <> '' "
            "ORDER BY entity_id, chunk_id, id",
            parameters,
        ):
            descriptions.setdefault(entity_id, {})[text] = None
        found: dict[int, EntityRow] = {}
        for entity_id, name, key, kind, summary, mentions in self._session.rows(
            "SELECT id, name, key, type, summary, "
            "(SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = entities.id) "
            f"FROM entities WHERE id {_ID_IN}",
            parameters,
        ):
            described = tuple(descriptions.get(entity_id, ()))
            found[entity_id] = EntityRow(entity_id, name, key, kind, summary, mentions, described)
        return [found[entity_id] for entity_id in wanted if entity_id in found]

    def relation(self, relation_id: int) -> RelationRow:
        """One relation. Raises `UsageError` if it is not there."""
        found = self.relations([relation_id])
        if not found:
            raise UsageError(f"There is no relation {relation_id} in the knowledge base.")
        return found[0]

    def relations(self, ids: Iterable[int]) -> list[RelationRow]:
        """The relations in the order of `ids`; those that are gone are left out."""
        wanted = list(ids)
        parameters = [listed(wanted)]
        keywords: dict[int, list[str]] = {}
        descriptions: dict[int, dict[str, None]] = {}
        for relation_id, words, text in self._session.rows(
            f"SELECT relation_id, keywords, description FROM relation_mentions WHERE relation_id {_ID_IN} "
            "ORDER BY relation_id, chunk_id, id",
            parameters,
        ):
            keywords.setdefault(relation_id, []).append(words)
            if text:
                descriptions.setdefault(relation_id, {})[text] = None
        found: dict[int, RelationRow] = {}
        for relation_id, source_id, target_id, source, target, weight in self._session.rows(
            "SELECT r.id, r.source_id, r.target_id, s.name, t.name, "
            "(SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = r.id) "
            "FROM relations r JOIN entities s ON s.id = r.source_id JOIN entities t ON t.id = r.target_id "
            f"WHERE r.id {_ID_IN}",
            parameters,
        ):
            found[relation_id] = RelationRow(
                relation_id,
                source_id,
                target_id,
                source,
                target,
                joined_keywords(keywords[relation_id]),
                " ".join(descriptions.get(relation_id, ())),
                weight,
            )
        return [found[relation_id] for relation_id in wanted if relation_id in found]

    def find_by_keys(self, keys: Iterable[str]) -> list[EntityRow]:
        """Entities with these folded names, in the order of the keys; unknown keys are left out."""
        wanted = list(dict.fromkeys(clean(key) for key in keys))
        found: dict[str, int] = dict(
            self._session.rows(f"SELECT key, id FROM entities WHERE key {_ID_IN}", [listed(wanted)])
        )
        return self.entities(found[key] for key in wanted if key in found)

    def entity_chunks(self, entity_id: int) -> list[int]:
        """Chunks that mention the entity, ascending."""
        return self._session.column(
            "SELECT DISTINCT chunk_id FROM mentions WHERE entity_id = ? ORDER BY chunk_id", [entity_id]
        )

    def relation_chunks(self, relation_id: int) -> list[int]:
        """Chunks that mention the relation, ascending."""
        return self._session.column(
            "SELECT DISTINCT chunk_id FROM relation_mentions WHERE relation_id = ? ORDER BY chunk_id",
            [relation_id],
        )

    def relations_of(self, entity_ids: Collection[int], limit: int) -> list[RelationRow]:
        """Relations with an end among the entities, heaviest first, then by id."""
        ids = listed(entity_ids)
        return self.relations(
            self._session.column(
                f"SELECT r.id FROM relations r WHERE r.source_id {_ID_IN} OR r.target_id {_ID_IN} "
                "ORDER BY (SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = r.id) "
                "DESC, r.id LIMIT ?",
                [ids, ids, max(limit, 0)],
            )
        )

    def chunk_entities(self, chunk_id: int) -> list[EntityRow]:
        """Entities of a chunk in the order in which they were written."""
        return self.entities(
            self._session.column(
                "SELECT entity_id FROM mentions WHERE chunk_id = ? GROUP BY entity_id ORDER BY min(id)",
                [chunk_id],
            )
        )

    def mentions_of(self, entity_id: int) -> list[MentionRow]:
        """All mentions of an entity in the order of their chunks."""
        rows = self._session.rows(
            "SELECT chunk_id, name, char_start, char_end, type, description FROM mentions "
            "WHERE entity_id = ? ORDER BY chunk_id, id",
            [entity_id],
        )
        return [MentionRow(*row) for row in rows]

    def top_entities(self, limit: int) -> list[EntityRow]:
        """The entities with the most chunks; ties go by key."""
        return self.entities(
            self._session.column(
                "SELECT e.id FROM entities e JOIN mentions m ON m.entity_id = e.id GROUP BY e.id "
                "ORDER BY count(DISTINCT m.chunk_id) DESC, e.key LIMIT ?",
                [max(limit, 0)],
            )
        )

    def counts(self) -> GraphCounts:
        """Rows of the graph."""
        tables = ("entities", "relations", "mentions", "relation_mentions")
        return GraphCounts(*(self._session.value(f"SELECT count(*) FROM {table}") for table in tables))

    def _put_entities(
        self, chunk_id: int, generation_id: int, mentions: Iterable[EntityMention], refused: list[Reject]
    ) -> dict[str, int]:
        """Write mentions; returns the ids of their entities by key. What cannot be stored joins `refused`."""
        session = self._session
        ids: dict[str, int] = {}
        for mention in mentions:
            key, name, kind = clean(mention.key), clean(mention.name), clean(mention.type)
            if not key or not name:
                refused.append(Reject("entity", name or mention.description, "It has no name."))
                continue
            if key not in ids:
                ids[key] = session.value("SELECT id FROM entities WHERE key = ?", [key]) or session.insert(
                    "INSERT INTO entities (key, name, type) VALUES (?, ?, ?)", [key, name, kind]
                )
            session.insert(
                "INSERT INTO mentions (chunk_id, entity_id, generation_id, key, name, char_start, char_end, "
                "type, description) VALUES (?,?,?,?,?,?,?,?,?)",
                [
                    chunk_id,
                    ids[key],
                    generation_id,
                    key,
                    name,
                    mention.start,
                    mention.end,
                    kind,
                    clean(mention.description),
                ],
            )
        return ids

    def _put_relations(
        self,
        chunk_id: int,
        generation_id: int,
        mentions: Iterable[RelationMention],
        entity_ids: dict[str, int],
        refused: list[Reject],
    ) -> set[int]:
        """Write mentions of relations; returns the relations' ids. What cannot be stored joins `refused`."""
        session = self._session
        ids: set[int] = set()
        for mention in mentions:
            keys = [clean(key) for key in (mention.source_key, mention.target_key)]
            ends = [entity_ids.get(key) for key in keys]
            if None in ends or ends[0] == ends[1]:
                shown = f"{mention.source_key} → {mention.target_key}: {mention.description}"
                refused.append(Reject("relation", shown, "Its ends are not two entities of this passage."))
                continue
            relation_id = session.value(
                "SELECT id FROM relations WHERE source_id = ? AND target_id = ?", ends
            ) or session.insert("INSERT INTO relations (source_id, target_id) VALUES (?, ?)", ends)
            ids.add(relation_id)
            session.insert(
                "INSERT INTO relation_mentions (chunk_id, relation_id, generation_id, source_key, "
                "target_key, keywords, description, strength, char_start, char_end) "
                "VALUES (?,?,?,?,?,?,?,?,?,?)",
                [
                    chunk_id,
                    relation_id,
                    generation_id,
                    *keys,
                    clean(mention.keywords),
                    clean(mention.description),
                    mention.strength,
                    mention.start,
                    mention.end,
                ],
            )
        return ids
