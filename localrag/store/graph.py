"""The graph as it was read: entities and relations, each the sum of what single chunks say.

Nothing is stored twice: weights and lists of descriptions are computed from the mentions. What one chunk
said is written in one transaction, together with the call that said it and what of it was not stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from localrag.errors import UsageError
from localrag.store.assignment import Ends, Places, relation_between, relation_of
from localrag.store.curation_rows import Place, Sight
from localrag.store.decision_log import resolution
from localrag.store.graph_rows import EntityRow, GraphCounts, MentionRow, RelationRow
from localrag.store.journal import insert_generation, insert_rejects
from localrag.store.merges import Starts, mark, meant_by
from localrag.store.merges_upkeep import let_go
from localrag.store.origins import forget_readings
from localrag.store.rows import EntityMention, FurtherCall, GenerationRow, Reading, Reject, RelationMention
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean
from localrag.store.upkeep import Touched, joined_keywords, settle_document
from localrag.store.wording import distinct, joined

_ID_IN = "IN (SELECT value FROM json_each(?))"


class Graph:
    """Writes readings and answers what is known of entities and relations."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def record(
        self,
        chunk_id: int,
        reading: Reading,
        generation: GenerationRow,
        rejects: Sequence[Reject] = (),
        further: Sequence[FurtherCall] = (),
    ) -> bool:
        """Store what the model found in a chunk, in place of what was found in it before.

        `further` are the calls behind the first, in their order, each with what it added; all are one
        reading, in one transaction.
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
            before: list[str] = []
            if touched.prompts:
                # It was read before.
                before = session.column("SELECT DISTINCT key FROM mentions WHERE chunk_id = ?", [chunk_id])
                forget_readings(session, [chunk_id])
                for table in ("mentions", "relation_mentions", "claims", "entity_aliases", "generations"):
                    session.run(f"DELETE FROM {table} WHERE chunk_id = ?", [chunk_id])
            writer = _Writer(session, chunk_id)
            for call in (FurtherCall(generation, reading, tuple(rejects)), *further):
                writer.put(call, touched)
            session.run(
                "UPDATE chunks SET state = 'read', attempts = attempts + (state <> 'read'), error = '' "
                "WHERE id = ?",
                [chunk_id],
            )
            touched.settle(session)
            mark(session, [document_id])
            let_go(session, document_id, before)
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
        for entity_id, name, key, kind, own, summary, mentions in self._session.rows(
            "SELECT id, name, key, type, description, summary, "
            "(SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = entities.id) "
            f"FROM entities WHERE id {_ID_IN}",
            parameters,
        ):
            # A person's own words stand in place of all that was read and summed up.
            described = (own,) if own else tuple(distinct(descriptions.get(entity_id, ())))
            summed = "" if own else summary
            found[entity_id] = EntityRow(entity_id, name, key, kind, summed, mentions, described)
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
        for relation_id, source_id, target_id, source, target, own_words, own, weight in self._session.rows(
            "SELECT r.id, r.source_id, r.target_id, s.name, t.name, r.keywords, "
            "coalesce(nullif(r.description, ''), r.summary), "
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
                own_words or joined_keywords(keywords[relation_id]),
                own or joined(descriptions.get(relation_id, ())),
                weight,
            )
        return [found[relation_id] for relation_id in wanted if relation_id in found]

    def find_by_keys(self, keys: Iterable[str]) -> list[EntityRow]:
        """Entities with these folded names or aliases, in the order of the keys; unknown keys are left out,
        and an entity that several of them name comes once."""
        return list({row.id: row for _, row in self.find_named(keys)}.values())

    def find_named(self, keys: Iterable[str]) -> list[tuple[str, EntityRow]]:
        """Each of these folded names with the entity that it means, in their order; unknown ones left out.

        A name means the entity of that key, else one that a person gave it to as an alias, else the one that
        most passages gave it to, else the one that it was merged into, in most passages; ties go by key.
        """
        wanted = list(dict.fromkeys(clean(key) for key in keys))
        parameters = [listed(wanted)]
        found: dict[str, int] = dict(reversed(meant_by(self._session, wanted)))
        found |= dict(
            self._session.rows(
                "SELECT a.key, a.entity_id FROM entity_aliases a JOIN entities e ON e.id = a.entity_id "
                f"WHERE a.key {_ID_IN} GROUP BY a.key, a.entity_id "
                "ORDER BY count(a.decision_id), count(DISTINCT a.chunk_id), e.key DESC",
                parameters,
            )
        )
        found |= dict(self._session.rows(f"SELECT key, id FROM entities WHERE key {_ID_IN}", parameters))
        rows = {row.id: row for row in self.entities(set(found.values()))}
        return [(key, rows[found[key]]) for key in wanted if found.get(key) in rows]

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
                "SELECT entity_id FROM mentions WHERE chunk_id = ? AND entity_id IS NOT NULL "
                "GROUP BY entity_id ORDER BY min(id)",
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


class _Writer:
    """Writes the mentions of one chunk, each to the entity that the decisions give it."""

    def __init__(self, session: Session, chunk_id: int) -> None:
        self._session = session
        self._chunk_id = chunk_id
        self._generation_id = 0
        self._refused: list[Reject] = []
        self._resolution = resolution(session)
        self._place: Place | None = None
        if self._resolution.documents:
            self._place = Places(session).of_chunk(chunk_id)
        self._starts = Starts(session, self._resolution)
        self._ids: dict[str, int] = {}
        self._read: set[str] = set()

    def put(self, call: FurtherCall, touched: Touched) -> None:
        """Write a call with what came of it; what cannot be stored joins its rejects."""
        reading = call.reading
        parsed = len(reading.entities) + len(reading.relations) + len(call.rejects)
        self._generation_id = insert_generation(
            self._session, call.generation, chunk_id=self._chunk_id, parsed=parsed
        )
        self._refused = list(call.rejects)
        self._put_entities(reading.entities, touched)
        self._put_relations(reading.relations, touched)
        insert_rejects(self._session, self._generation_id, self._refused)

    def _put_entities(self, mentions: Iterable[EntityMention], touched: Touched) -> None:
        """Write mentions of entities."""
        for mention in mentions:
            key, name, kind = clean(mention.key), clean(mention.name), clean(mention.type)
            if not key or not name:
                self._refused.append(Reject("entity", name or mention.description, "It has no name."))
                continue
            entity_id = self._entity(key, name, kind, touched)
            self._read.add(key)
            self._session.insert(
                "INSERT INTO mentions (chunk_id, entity_id, generation_id, key, name, char_start, char_end, "
                "type, description) VALUES (?,?,?,?,?,?,?,?,?)",
                [
                    self._chunk_id,
                    entity_id,
                    self._generation_id,
                    key,
                    name,
                    mention.start,
                    mention.end,
                    kind,
                    clean(mention.description),
                ],
            )
        touched.renewed.update(self._ids.values())

    def _put_relations(self, mentions: Iterable[RelationMention], touched: Touched) -> None:
        """Write mentions of relations; the mentions of entities have to be there."""
        ends: Ends | None = None
        if self._resolution.moves_relations or not self._starts.none:
            ends = Ends(self._session, self._resolution, [self._chunk_id])
        for mention in mentions:
            source, target = clean(mention.source_key), clean(mention.target_key)
            if source == target or not {source, target} <= self._read:
                shown = f"{mention.source_key} → {mention.target_key}: {mention.description}"
                reason = "Its ends are not two entities of this passage."
                self._refused.append(Reject("relation", shown, reason))
                continue
            keywords = clean(mention.keywords)
            found: int | None
            if ends is None:
                found = relation_between(self._session, self._ids[source], self._ids[target])
            else:
                pair = ends.pair(self._chunk_id, source, target, keywords)
                found = relation_of(self._session, pair)
            touched.linked.update(() if found is None else (found,))
            self._session.insert(
                "INSERT INTO relation_mentions (chunk_id, relation_id, generation_id, source_key, "
                "target_key, keywords, description, strength, char_start, char_end) "
                "VALUES (?,?,?,?,?,?,?,?,?,?)",
                [
                    self._chunk_id,
                    found,
                    self._generation_id,
                    source,
                    target,
                    keywords,
                    clean(mention.description),
                    mention.strength,
                    mention.start,
                    mention.end,
                ],
            )

    def _entity(self, key: str, name: str, kind: str, touched: Touched) -> int | None:
        """The entity that a mention belongs to, made if it is not there; None if a person deleted it."""
        start = self._starts.of(self._chunk_id, key)
        wanted = self._resolution.entity_key(start, Sight(name, kind, place=self._place))
        if wanted is None:
            return None
        if wanted not in self._ids:
            found = self._session.value("SELECT id FROM entities WHERE key = ?", [wanted])
            if found is None:
                found = self._session.insert(
                    "INSERT INTO entities (key, name, type) VALUES (?, ?, ?)", [wanted, name, kind]
                )
                touched.created.add(wanted)
            self._ids[wanted] = found
        return self._ids[wanted]
