"""Lists and counts over the whole file: what passages name and how often, each with a place that names it.

Nothing here ranks or leaves out: a list is complete, or narrowed to the chunks that a filter lets pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from localrag.store.filters import Ids
from localrag.store.session import Row, Session, listed
from localrag.store.sqlite import clean

_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class TextPlace:
    """A stretch of a document's text."""

    chunk_id: int
    """The passage that it lies in."""

    document_id: int
    """The document."""

    document: str
    """Its path as it is stored."""

    page: int | None
    """Page from 1 where the format has pages."""

    heading: str
    """Headings that the passage stands under."""

    start: int
    """First character in the document's text."""

    end: int
    """One past the last."""


@dataclass(frozen=True)
class CountedName:
    """An entity, or a name that was found without a model, with how often passages have it."""

    id: int
    """Row of the entity or name."""

    name: str
    """Display name; of a name that was found without a model, the spelling at its first place."""

    type: str
    """Type of the entity; empty where no model has read."""

    passages: int
    """Passages that have it."""

    place: TextPlace
    """The first place that has it; the whole passage where the words are not known."""


@dataclass(frozen=True)
class CountedDocument:
    """A document with what of it was counted."""

    id: int
    """The document."""

    path: str
    """Its path as it is stored."""

    passages: int
    """Passages that count."""

    place: TextPlace
    """The first of them, or the place in it that counts."""


@dataclass(frozen=True)
class NamedPassage:
    """A passage with the names that the model found in it."""

    place: TextPlace
    """Where it is."""

    text: str
    """Its text."""

    names: tuple[tuple[int, str, str, str], ...]
    """Entity, its name as it is written there, the entity's type, and what was noted of it, for each."""


@dataclass(frozen=True)
class StatedLink:
    """What one passage says of two entities."""

    entity_id: int
    """The entity at the other end."""

    name: str
    """Its name."""

    type: str
    """Its type."""

    outgoing: bool
    """Whether the relation leads to it, and not from it."""

    keywords: str
    """Words for the relation."""

    description: str
    """What is said."""

    place: TextPlace
    """The passage."""

    text: str
    """Its text."""


class Aggregates:
    """Counts what is in the file."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def types(self) -> dict[str, int]:
        """The types of entities with how many entities have each, most frequent first."""
        rows = self._session.rows(
            "SELECT type, count(*) FROM entities GROUP BY type ORDER BY count(*) DESC, type"
        )
        return {str(name): int(count) for name, count in rows}

    def read(self, chunks: Ids | None = None) -> tuple[int, int]:
        """How many passages the model has read, and how many there are, of these or of all."""
        where, parameters = _within("id", chunks)
        read, total = self._session.rows(
            f"SELECT coalesce(sum(state = 'read'), 0), count(*) FROM chunks WHERE {where}", parameters
        )[0]
        return int(read), int(total)

    def entities(
        self,
        types: Collection[str] | None = None,
        chunks: Ids | None = None,
        ids: Collection[int] | None = None,
    ) -> list[CountedName]:
        """All entities of these types, those in most passages first, then by name.

        `chunks` are the only passages that count, `ids` the only entities.
        """
        # Within some chunks their mentions are read, and not those of the whole file: the sign keeps SQLite
        # from going by the entities.
        entity = "m.entity_id" if chunks is None else "+m.entity_id"
        source = "mentions m"
        conditions, parameters = [f"{entity} IS NOT NULL"], list[Any]()
        if chunks is not None:
            source = "json_each(?) j CROSS JOIN mentions m ON m.chunk_id = j.value"
            parameters.append(chunks.listed)
        if types is not None:
            conditions.append(f"{entity} IN (SELECT id FROM entities WHERE type {_IN})")
            parameters.append(listed(types))
        if ids is not None:
            conditions.append(f"{entity} {_IN}")
            parameters.append(listed(ids))
        rows = self._session.rows(
            "SELECT m.entity_id, count(DISTINCT m.chunk_id), "
            "coalesce(min(CASE WHEN m.char_start >= 0 THEN m.id END), min(m.id)) "
            f"FROM {source} WHERE {' AND '.join(conditions)} GROUP BY {entity}",
            parameters,
        )
        places = self._mention_places(row[2] for row in rows)
        named = {
            row[0]: row[1:]
            for row in self._session.rows(
                f"SELECT id, name, type, key FROM entities WHERE id {_IN}", [listed(row[0] for row in rows)]
            )
        }
        rows.sort(key=lambda row: (-row[1], named[row[0]][2]))
        return [
            CountedName(row[0], named[row[0]][0], named[row[0]][1], row[1], places[row[2]]) for row in rows
        ]

    def documents_of(self, entity_id: int, chunks: Ids | None = None) -> dict[int, dict[int, TextPlace]]:
        """For each document that mentions an entity, its passages that do, each with the first place."""
        narrowed, more = _within("chunk_id", chunks)
        first = self._session.column(
            "SELECT coalesce(min(CASE WHEN char_start >= 0 THEN id END), min(id)) FROM mentions "
            f"WHERE entity_id = ? AND {narrowed} GROUP BY chunk_id ORDER BY chunk_id",
            [entity_id, *more],
        )
        found: dict[int, dict[int, TextPlace]] = {}
        places = self._mention_places(first)
        for mention in first:
            place = places[mention]
            found.setdefault(place.document_id, {})[place.chunk_id] = place
        return found

    def names_of(self, entity_id: int) -> list[str]:
        """All spellings under which passages and people know an entity, by length, the longest first."""
        names = self._session.column(
            "SELECT name FROM mentions WHERE entity_id = ?1 UNION SELECT name FROM entity_aliases "
            "WHERE entity_id = ?1 UNION SELECT name FROM entities WHERE id = ?1",
            [entity_id],
        )
        return sorted(names, key=lambda name: (-len(name), name))

    def beside(self, entity_id: int, chunks: Ids | None = None) -> Ids:
        """The passages that mention an entity."""
        narrowed, more = _within("chunk_id", chunks)
        return Ids(
            self._session.column(
                f"SELECT DISTINCT chunk_id FROM mentions WHERE entity_id = ? AND {narrowed}",
                [entity_id, *more],
            )
        )

    def passages_with(self, word: str, chunks: Ids | None = None) -> Iterator[NamedPassage]:
        """Passages with this word, whatever the case of its Latin letters, that the model found names in."""
        narrowed, more = _within("c.id", chunks)
        wanted = clean(_lower(word))
        rows = self._session.rows(
            "SELECT c.id, d.id, d.path, c.page, c.heading, c.char_start, c.char_end, c.text FROM chunks c "
            f"JOIN documents d ON d.id = c.document_id WHERE {narrowed} AND (instr(lower(c.text), ?) > 0 "
            "OR c.id IN (SELECT chunk_id FROM mentions WHERE instr(lower(description), ?) > 0)) "
            "ORDER BY d.path, d.id, c.ordinal",
            [*more, wanted, wanted],
        )
        names: dict[int, dict[tuple[int, str, str, str], None]] = {}
        for chunk_id, *name in self._session.rows(
            "SELECT m.chunk_id, m.entity_id, m.name, e.type, m.description FROM mentions m "
            f"JOIN entities e ON e.id = m.entity_id WHERE m.chunk_id {_IN} ORDER BY m.id",
            [listed(row[0] for row in rows)],
        ):
            names.setdefault(chunk_id, {})[name[0], name[1], name[2], name[3]] = None
        for row in rows:
            if row[0] in names:
                yield NamedPassage(TextPlace(*row[:7]), row[7], tuple(names[row[0]]))

    def documents(self, chunks: Ids | None = None) -> list[CountedDocument]:
        """Documents with their passages, by path; without a filter also those that have none."""
        narrowed, more = _within("c.id", chunks)
        rows = self._session.rows(
            "SELECT d.id, d.path, count(*), min(c.id) FROM documents d JOIN chunks c ON c.document_id = d.id "
            f"WHERE {narrowed} GROUP BY d.id ORDER BY d.path, d.id",
            more,
        )
        places = self._chunk_places(row[3] for row in rows)
        return [CountedDocument(row[0], row[1], row[2], places[row[3]]) for row in rows]

    def holding(self, text: str, chunks: Ids | None = None) -> Iterator[tuple[TextPlace, str]]:
        """Passages whose text holds these words, whatever the case of Latin letters; where, and their text.

        The place is the passage's; whoever calls this finds the words in it.
        """
        narrowed, more = _within("c.id", chunks)
        for *place, found in self._session.each(
            "SELECT c.id, d.id, d.path, c.page, c.heading, c.char_start, c.char_end, c.text FROM chunks c "
            f"JOIN documents d ON d.id = c.document_id WHERE {narrowed} AND instr(lower(c.text), ?) > 0 "
            "ORDER BY d.path, d.id, c.ordinal",
            [*more, clean(_lower(text))],
        ):
            yield TextPlace(*place), found

    def links(self, entity_id: int, chunks: Ids | None = None) -> list[StatedLink]:
        """What passages say of an entity and others, one for each passage and relation."""
        narrowed, more = _within("m.chunk_id", chunks)
        rows = self._session.rows(
            "SELECT e.id, e.name, e.type, r.source_id = ?, m.keywords, m.description, "
            "c.id, d.id, d.path, c.page, c.heading, c.char_start, c.char_end, c.text "
            "FROM relations r JOIN relation_mentions m ON m.relation_id = r.id "
            "JOIN entities e ON e.id = CASE WHEN r.source_id = ? THEN r.target_id ELSE r.source_id END "
            "JOIN chunks c ON c.id = m.chunk_id JOIN documents d ON d.id = c.document_id "
            f"WHERE (r.source_id = ? OR r.target_id = ?) AND {narrowed} ORDER BY d.path, c.ordinal, m.id",
            [entity_id] * 4 + more,
        )
        return [
            StatedLink(row[0], row[1], row[2], bool(row[3]), row[4], row[5], TextPlace(*row[6:13]), row[13])
            for row in rows
        ]

    def zero_names(self, chunks: Ids | None = None) -> list[CountedName]:
        """Names that the texts have by their form, found without a model, those in most passages first.

        Only those whose form marks them in a text are counted: runs of words that may be names are no names
        for a list.
        """
        narrowed, more = _within("p.chunk_id", chunks)
        rows = self._session.rows(
            "SELECT p.name_id, count(*), min(p.chunk_id) FROM zero_places p "
            f"WHERE p.kind & 1 <> 0 AND p.char_start >= 0 AND {narrowed} GROUP BY p.name_id",
            more,
        )
        spelt: dict[int, tuple[str, TextPlace]] = {}
        for name_id, name, *place in self._session.rows(
            "SELECT p.name_id, substr(c.text, p.char_start + 1, p.char_end - p.char_start), c.id, d.id, "
            "d.path, c.page, c.heading, c.char_start + p.char_start, c.char_start + p.char_end "
            "FROM json_each(?) j JOIN zero_places p ON p.name_id = json_extract(j.value, '$[0]') "
            "AND p.chunk_id = json_extract(j.value, '$[1]') "
            "JOIN chunks c ON c.id = p.chunk_id JOIN documents d ON d.id = c.document_id",
            [_pairs((row[0], row[2]) for row in rows)],
        ):
            spelt[name_id] = (name, TextPlace(*place))
        rows = sorted(rows, key=lambda row: (-row[1], spelt[row[0]][0]))
        return [CountedName(row[0], spelt[row[0]][0], "", row[1], spelt[row[0]][1]) for row in rows]

    def _mention_places(self, ids: Iterable[int]) -> dict[int, TextPlace]:
        """The places of mentions."""
        rows: Sequence[Row] = self._session.rows(
            "SELECT m.id, c.id, c.document_id, d.path, c.page, c.heading, "
            "CASE WHEN m.char_start < 0 THEN c.char_start ELSE c.char_start + m.char_start END, "
            "CASE WHEN m.char_start < 0 THEN c.char_end ELSE c.char_start + m.char_end END "
            "FROM mentions m JOIN chunks c ON c.id = m.chunk_id JOIN documents d ON d.id = c.document_id "
            f"WHERE m.id {_IN}",
            [listed(ids)],
        )
        return {row[0]: TextPlace(*row[1:]) for row in rows}

    def _chunk_places(self, ids: Iterable[int]) -> dict[int, TextPlace]:
        rows = self._session.rows(
            "SELECT c.id, c.document_id, d.path, c.page, c.heading, c.char_start, c.char_end FROM chunks c "
            f"JOIN documents d ON d.id = c.document_id WHERE c.id {_IN}",
            [listed(ids)],
        )
        return {row[0]: TextPlace(*row) for row in rows}


def _within(column: str, chunks: Ids | None) -> tuple[str, list[Any]]:
    """A condition on a column, and its parameters."""
    return ("TRUE", []) if chunks is None else (f"{column} {_IN}", [chunks.listed])


def _lower(text: str) -> str:
    """Small letters as SQLite makes them: Latin ones without accents only."""
    return "".join(char.lower() if char.isascii() else char for char in text)


def _pairs(pairs: Iterable[tuple[int, int]]) -> str:
    """Pairs of numbers as JSON."""
    return f"[{','.join(f'[{left},{right}]' for left, right in pairs)}]"
