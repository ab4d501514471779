"""The graph that needs no model: which names the chunks have, found by form and statistics.

A chunk's names are stored with it and depend on the chunk and its document alone. Which of them count, how
common they are and which occur together is computed when it is read, so that a deletion leaves nothing
behind. Once the model has read a chunk the read graph stands in place of this one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from localrag.store.adjacency import Adjacency
from localrag.store.row_copies import Ids
from localrag.store.session import Session, listed
from localrag.store.space_rows import Hit
from localrag.store.sqlite import clean
from localrag.store.zero_rows import (
    FORM,
    HEADING,
    TITLE,
    WORDS,
    Incidence,
    ZeroCounts,
    ZeroLink,
    ZeroName,
    ZeroNode,
    ZeroPlace,
)

TABLES = ("zero_names", "zero_places", "zero_documents")
"""The tables of this graph."""

_IN = "IN (SELECT value FROM json_each(?))"
_MARKED = FORM | HEADING | TITLE
_INSIDE = FORM | WORDS
_COUNTS = f"n.chunks > 1 OR EXISTS (SELECT 1 FROM zero_places WHERE name_id = n.id AND kind & {_MARKED} <> 0)"
_WITH_CHUNKS = "SELECT id, key, (SELECT count(*) FROM zero_places WHERE name_id = z.id) AS chunks"


class ZeroGraph:
    """Stores the names of chunks and reads the graph that they make."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.adjacency = Adjacency(session)
        """The graph in memory, with what the model read."""

    def due(self, rules: int) -> list[int]:
        """Documents with chunks whose names were not found yet, or by other rules, by id."""
        return self._session.column(
            "SELECT id FROM documents d WHERE EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id) "
            "AND NOT EXISTS (SELECT 1 FROM zero_documents WHERE document_id = d.id AND rules = ?) "
            "ORDER BY id",
            [rules],
        )

    def is_named(self, document_id: int, rules: int) -> bool:
        """Whether the names of a document were found by these rules, and it has not changed since."""
        found = self._session.value("SELECT rules FROM zero_documents WHERE document_id = ?", [document_id])
        return bool(found == rules)

    def named(self, document_id: int, rules: int) -> set[int]:
        """The document's chunks in whose texts names were found by these rules."""
        found = self._session.column(
            "SELECT DISTINCT chunk_id FROM zero_places JOIN chunks c ON c.id = chunk_id "
            "JOIN zero_documents z ON z.document_id = c.document_id "
            "WHERE c.document_id = ? AND kind & ? <> 0 AND abs(z.rules) = ?",
            [document_id, _INSIDE, rules],
        )
        return set(found)

    def put(
        self,
        document_id: int,
        rules: int,
        inside: Mapping[int, Sequence[ZeroName]],
        above: Mapping[int, Sequence[ZeroName]],
    ) -> bool:
        """Store a document's names, in one transaction; False if it has other chunks by now.

        `inside` holds those in the texts of chunks, and only for chunks that are new or to be found anew;
        `above` those in titles and headings, for every chunk, in place of what was there.
        """
        session, of_document = self._session, "chunk_id IN (SELECT id FROM chunks WHERE document_id = ?)"
        with session.transaction():
            chunks = session.column("SELECT id FROM chunks WHERE document_id = ?", [document_id])
            if set(chunks) != set(above) or not set(inside) <= set(above):
                return False
            before = session.column(
                f"SELECT DISTINCT name_id FROM zero_places WHERE {of_document}", [document_id]
            )
            session.run(f"DELETE FROM zero_places WHERE chunk_id {_IN}", [listed(inside)])
            session.run(
                f"UPDATE zero_places SET kind = kind & ? WHERE kind > ? AND {of_document}",
                [_INSIDE, _INSIDE, document_id],
            )
            self._write([(chunk_id, name) for chunk_id, names in inside.items() for name in names])
            self._write([(chunk_id, name) for chunk_id, names in above.items() for name in names])
            session.run(f"DELETE FROM zero_places WHERE kind = 0 AND {of_document}", [document_id])
            _drop_unused(session, before)
            session.run("INSERT OR REPLACE INTO zero_documents VALUES (?, ?)", [document_id, rules])
            session.touch()
        return True

    def nodes(self, keys: Iterable[str]) -> list[ZeroNode]:
        """The nodes with one of these keys, by key; names that do not count are left out."""
        wanted = listed({clean(key) for key in keys})
        rows = self._session.rows(
            f"SELECT * FROM ({_WITH_CHUNKS} FROM zero_names z WHERE key {_IN}) n WHERE {_COUNTS} "
            "ORDER BY key",
            [wanted],
        )
        return [ZeroNode(*row) for row in rows]

    def links(self, chunk_ids: Collection[int], most: int) -> list[ZeroLink]:
        """What ties these chunks to others: their names that at least two and at most `most` chunks have,
        and the titles of their documents, which hold a walk where it is.

        A chunk that was read has the names that the model found in it in place of its own.
        """
        ids = [listed(chunk_ids)]
        rows = self._session.rows(
            "WITH own AS (SELECT p.chunk_id, p.name_id, p.kind FROM zero_places p JOIN chunks c "
            f"ON c.id = p.chunk_id WHERE p.chunk_id {_IN} AND c.state <> 'read' UNION "
            "SELECT m.chunk_id, z.id, 0 FROM mentions m JOIN chunks c ON c.id = m.chunk_id "
            f"JOIN zero_names z ON z.key = m.key WHERE m.chunk_id {_IN} AND c.state = 'read'), "
            "counted AS (SELECT own.*, (SELECT count(*) FROM zero_places WHERE name_id = own.name_id) AS n "
            f"FROM own) SELECT * FROM counted WHERE n <= ? AND (n > 1 OR kind & {TITLE} <> 0) "
            "ORDER BY chunk_id, n, name_id",
            [*ids, *ids, most],
        )
        return [ZeroLink(*row) for row in rows]

    def places(self, node_ids: Collection[int], limit: int, *, unread: bool = False) -> list[ZeroPlace]:
        """Where names are, by chunk and name; for each at most `limit` places, titles and headings first.

        With `unread` only chunks that the model has not read count.
        """
        only = "JOIN chunks c ON c.id = p.chunk_id AND c.state <> 'read' " if unread else ""
        rows = self._session.rows(
            "SELECT chunk_id, name_id, kind FROM (SELECT p.chunk_id, p.name_id, p.kind, row_number() OVER "
            "(PARTITION BY p.name_id ORDER BY p.kind DESC, p.chunk_id) AS place FROM zero_places p "
            f"{only}WHERE p.name_id {_IN}) WHERE place <= ? ORDER BY chunk_id, name_id",
            [listed(node_ids), limit],
        )
        return [ZeroPlace(*row) for row in rows]

    def chunks_for(self, keys: Iterable[str], limit: int) -> list[Hit]:
        """Chunks that have nodes with these keys, best first: each node counts less the commoner it is."""
        nodes = {node.id: node for node in self.nodes(keys)}
        scores: dict[int, float] = {}
        for place in self.places(list(nodes), limit):
            weight = edge_weight(nodes[place.node_id].chunks, place.kind)
            scores[place.chunk_id] = scores.get(place.chunk_id, 0.0) + weight
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return [Hit(chunk_id, score) for chunk_id, score in best]

    def neighbours(self, node_id: int, limit: int) -> list[tuple[ZeroNode, float]]:
        """Nodes that stand in a chunk with this one, the closest first: how many chunks they share, less for
        those that are everywhere."""
        rows = self._session.rows(
            f"SELECT n.*, together FROM (SELECT b.name_id, count(*) AS together FROM zero_places a "
            "JOIN zero_places b ON b.chunk_id = a.chunk_id AND b.name_id <> a.name_id "
            f"WHERE a.name_id = ? GROUP BY b.name_id) JOIN ({_WITH_CHUNKS} FROM zero_names z) n "
            f"ON n.id = name_id WHERE {_COUNTS}",
            [node_id],
        )
        found = [(ZeroNode(*node), count * edge_weight(node[2], FORM)) for *node, count in rows]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].key))[:limit]

    def incidence(
        self, limit: int = 5_000_000, *, unread: bool = False, of: Collection[int] | None = None
    ) -> Incidence:
        """All pairs of a chunk and a name that it shares with another one, as arrays, by chunk and name.

        At most `limit`; with `unread` only chunks count that the model is still to read, and with `of` only
        names that one of these chunks has.
        """
        only = "JOIN chunks c ON c.id = p.chunk_id AND c.state <> 'read' " if unread else ""
        near = ""
        if of is not None:
            near = f"WHERE p.name_id IN (SELECT name_id FROM zero_places WHERE chunk_id {_IN}) "
        rows = self._session.each(
            f"SELECT p.chunk_id, p.name_id, p.kind FROM zero_places p {only}{near}"
            "ORDER BY p.chunk_id, p.name_id",
            [] if of is None else [listed(of)],
        )
        flat = np.fromiter(itertools.chain.from_iterable(rows), dtype=np.int64)
        table = flat.reshape(-1, 3)
        _, index, counts = np.unique(table[:, 1], return_inverse=True, return_counts=True)
        table = table[counts[index] > 1]
        kept = table[:limit]
        return Incidence(kept[:, 0], kept[:, 1], kept[:, 2], len(table) - len(kept))

    def counts(self) -> ZeroCounts:
        """How large the graph is; reads all of it."""
        names, nodes = self._session.row(
            f"SELECT count(*), coalesce(sum({_COUNTS}), 0) FROM ({_WITH_CHUNKS} FROM zero_names z) n"
        ) or (0, 0)
        places = self._session.value("SELECT count(*) FROM zero_places")
        waiting = self._session.value(
            "SELECT count(*) FROM documents d WHERE EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id) "
            "AND NOT EXISTS (SELECT 1 FROM zero_documents WHERE document_id = d.id AND rules > 0)"
        )
        return ZeroCounts(names, nodes, places, waiting)

    def _write(self, names: Sequence[tuple[int, ZeroName]]) -> None:
        session = self._session
        keys = sorted({clean(name.key) for _, name in names})
        session.run_many("INSERT OR IGNORE INTO zero_names (key) VALUES (?)", [[key] for key in keys])
        rows = session.rows(f"SELECT key, id FROM zero_names WHERE key {_IN}", [listed(keys)])
        ids: dict[str, int] = dict(rows)
        session.run_many(
            "INSERT INTO zero_places (chunk_id, name_id, kind, char_start, char_end) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (chunk_id, name_id) DO UPDATE SET kind = kind | excluded.kind",
            [[chunk_id, ids[clean(name.key)], name.kind, name.start, name.end] for chunk_id, name in names],
        )


def edge_weight(chunks: int, kind: int) -> float:
    """How much a name that `chunks` chunks have ties one of them to the others; three times as much where it
    is what the chunk's document is about."""
    return (3.0 if kind & TITLE else 1.0) / math.log(1.7 + chunks)


def forget_chunks(session: Session, chunk_ids: Collection[int]) -> None:
    """Take back the names of chunks that are about to be deleted, within the caller's transaction."""
    ids = [listed(chunk_ids)]
    names = session.column(f"SELECT DISTINCT name_id FROM zero_places WHERE chunk_id {_IN}", ids)
    session.run(f"DELETE FROM zero_places WHERE chunk_id {_IN}", ids)
    _drop_unused(session, names)


def forget_marks(session: Session, document_id: int) -> None:
    """Have the names of a document looked at again, since its text, cut or title changed.

    By which rules those of chunks that stay were found is kept, so that they need not be found again.
    """
    session.run("UPDATE zero_documents SET rules = -abs(rules) WHERE document_id = ?", [document_id])


def forget_all(session: Session) -> int:
    """Empty the graph, so that the next index makes it anew; returns how many documents had names."""
    count = int(session.value("SELECT count(*) FROM zero_documents"))
    for table in ("zero_places", "zero_names", "zero_documents"):
        session.run(f"DELETE FROM {table}")
    return count


def copy_document(source: Session, target: Session, document_id: int, here: int, chunks: Ids) -> None:
    """Bring the names of a document over to another file, where its chunks are; within the transaction."""
    rules = source.value("SELECT rules FROM zero_documents WHERE document_id = ?", [document_id])
    if rules is None:
        return
    rows = source.rows(
        "SELECT p.chunk_id, z.key, p.kind, p.char_start, p.char_end FROM zero_places p "
        f"JOIN zero_names z ON z.id = p.name_id WHERE p.chunk_id {_IN} ORDER BY p.chunk_id, z.key",
        [listed(chunks)],
    )
    target.run_many("INSERT OR IGNORE INTO zero_names (key) VALUES (?)", [[row[1]] for row in rows])
    target.run_many(
        "INSERT INTO zero_places (chunk_id, name_id, kind, char_start, char_end) "
        "VALUES (?, (SELECT id FROM zero_names WHERE key = ?), ?, ?, ?)",
        [(chunks[chunk_id], *row) for chunk_id, *row in rows],
    )
    target.run("INSERT INTO zero_documents VALUES (?, ?)", [here, rules])


_PROBLEMS = (
    (
        "{} names of the graph without a model are in no passage.",
        "SELECT count(*) FROM zero_names z WHERE NOT EXISTS (SELECT 1 FROM zero_places WHERE name_id = z.id)",
    ),
    (
        "{} names of the graph without a model lie outside of their passage's text.",
        "SELECT count(*) FROM zero_places p JOIN chunks c ON c.id = p.chunk_id WHERE NOT "
        "((p.char_start = -1 AND p.char_end = -1) OR "
        "(p.char_start >= 0 AND p.char_start < p.char_end AND p.char_end <= length(c.text)))",
    ),
)


def problems(session: Session) -> list[str]:
    """What is not as this module leaves it, one sentence each."""
    return [sentence.format(f"{count:,}") for sentence, sql in _PROBLEMS if (count := session.value(sql))]


def _drop_unused(session: Session, names: Collection[int]) -> None:
    session.run(
        f"DELETE FROM zero_names WHERE id {_IN} AND NOT EXISTS "
        "(SELECT 1 FROM zero_places WHERE name_id = zero_names.id)",
        [listed(names)],
    )
