"""Lists and counts of entities: all of a kind, of a document, beside another, by a verb, the most named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from localrag.answering.tables_asked import Asked
from localrag.answering.tables_found import Found
from localrag.answering.tables_kinds import Kind, is_plural, kind_of, words
from localrag.answering.tables_links import linked
from localrag.answering.tables_roles import called
from localrag.answering.tables_scope import entity_named, part_named
from localrag.answering.tables_types import TableRow
from localrag.retrieval.scope import Scope
from localrag.retrieval.types import Coverage
from localrag.store.aggregates import CountedName, TextPlace
from localrag.store.database import Store
from localrag.store.filters import Ids
from localrag.store.function_words import ENGLISH

FEWEST = 2
"""Fewest rows of a list that rests on words of the texts; a single one is as likely chance."""

TIED = 10
"""Most names that can be named most often together; if there are more, none of them stands out."""

_NAMES = ("name", "passages")
_TYPED = ("name", "type", "passages")
_NO_KINDS = words(
    "document documents file files text texts article articles note notes passage passages tag tags claim "
    "claims type types mentions fact facts 文件 文档 文章 资料 文本 笔记 标签 说法 主张"
)
"""Words that other tables answer."""

_PRONOUNS = {
    "who": "people",
    "everyone": "people",
    "everybody": "people",
    "every person": "people",
    "all": "people",
    "谁": "人",
    "誰": "人",
}
_ANYONE = frozenset(_PRONOUNS.values())
_OF_SEVERAL = words(
    "buy acquire found write invent design build own sell direct produce publish visit record compose paint "
    "lead win"
)
"""Verbs of questions such as "What did X buy?", where what is asked for has names and can be several."""

_LATIN_WORD = re.compile(r"[a-z][\w'’-]*", re.IGNORECASE)


class Entities:
    """Finds what questions about entities ask for; whatever is in doubt is None."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def found(self, asked: Asked) -> Found | None:
        """The answer of the tables to a question, if they have one."""
        if asked.act == "often":
            return self._often(asked)
        if asked.act == "compare" and not asked.kind:
            return self._compared(asked)
        kind = self._kind(asked)
        if kind is None:
            return None
        if asked.act == "compare":
            return self._counted_in_two(asked, kind)
        if asked.act == "most":
            return self._most(asked, kind)
        if asked.link in ("verb", "forth"):
            return self._linked(asked, kind)
        if asked.link == "in":
            part = part_named(self._store, asked.name, self._scope)
            if part is None:
                return None
            found = self._all(asked, kind, part.chunks)
            return found and replace(
                found, title=f"{found.title}_in", values={**found.values, "part": part.name}
            )
        if asked.link == "beside":
            return self._beside(asked, kind)
        return self._all(asked, kind, self._scope.chunks)

    def _kind(self, asked: Asked) -> Kind | None:
        """What kind is meant; None for what is none, or where it would be guessing."""
        word = _PRONOUNS.get(asked.kind.casefold(), asked.kind.casefold())
        if asked.link == "forth" and not word:
            if asked.verb not in _OF_SEVERAL:
                return None
            return Kind("", "names", tuple(self._store.aggregates.types()), "name")
        parts = _LATIN_WORD.findall(word)
        if not word or any(part.casefold() in ENGLISH | _NO_KINDS for part in parts) or word in _NO_KINDS:
            return None
        kind = kind_of(word, self._store.aggregates.types())
        if kind is None or (kind.match == "words" and not (is_plural(word) and _may_be_role(asked))):
            return None
        if asked.link in ("verb", "forth") and not (is_plural(word) or word in _ANYONE):
            # "Which film …" asks for one.
            return None
        if kind.match == "wider" and asked.act == "count" and not asked.mentioned:
            # "How many countries are there?" asks about the world.
            return None
        return kind

    def _all(self, asked: Asked, kind: Kind, chunks: Ids | None) -> Found | None:
        coverage = self._coverage(chunks)
        if kind.match == "words":
            return self._called(kind, chunks, coverage)
        if not coverage.read:
            return self._by_form(kind, chunks, coverage)
        rows = self._named(kind, chunks)
        if not rows:
            return None
        mixed = kind.match == "names" or len({row.type.casefold() for row in rows}) > 1
        return Found(
            title="named",
            values={"kind": _label(kind)},
            columns=_TYPED if mixed else _NAMES,
            rows=tuple(_row(row, mixed=mixed) for row in rows),
            coverage=coverage,
            notes=_kind_notes(kind),
        )

    def _named(self, kind: Kind, chunks: Ids | None, ids: Collection[int] | None = None) -> list[CountedName]:
        """Entities of a kind within passages; only those that a filter lets pass."""
        allowed = self._scope.entities if ids is None else ids
        types = None if kind.match == "names" else kind.types
        return self._store.aggregates.entities(types, chunks, allowed)

    def _by_form(self, kind: Kind, chunks: Ids | None, coverage: Coverage) -> Found | None:
        """Names by their form alone, while the model has read nothing; their kind is not known then."""
        if self._scope.entities is not None:
            return None
        rows = self._store.aggregates.zero_names(chunks)
        if not rows:
            return None
        title = "forms" if kind.match == "names" else "forms_for"
        return Found(
            title=title,
            values={"kind": _label(kind)},
            columns=_NAMES,
            rows=tuple(_row(row, mixed=False) for row in rows),
            coverage=coverage,
            provisional=True,
        )

    def _called(self, kind: Kind, chunks: Ids | None, coverage: Coverage) -> Found | None:
        """Whom or what the texts call by a word."""
        passages = self._store.aggregates.passages_with(kind.role, chunks)
        places: dict[int, TextPlace] = {}
        for item in called(passages, kind.role):
            if self._scope.allows("entity", item.entity_id):
                places.setdefault(item.entity_id, item.place)
        if len(places) < FEWEST:
            return None
        rows = self._store.aggregates.entities(None, chunks, list(places))
        return Found(
            title="called",
            values={"word": kind.role},
            columns=_NAMES,
            rows=tuple(TableRow((row.name, row.passages), places[row.id]) for row in rows),
            coverage=coverage,
            notes=(("by_words", {"word": kind.role}),),
        )

    def _most(self, asked: Asked, kind: Kind) -> Found | None:
        coverage = self._coverage(self._scope.chunks)
        if not coverage.read or kind.match == "words":
            return None
        rows = self._named(kind, self._scope.chunks)
        if not rows:
            return None
        if is_plural(asked.kind) and asked.limit is None and asked.kind.isascii():
            limit = 10
        else:
            limit = asked.limit or 5
        first = [row.name for row in rows if row.passages == rows[0].passages]
        if len(first) > TIED:
            return None
        one = len(first) == 1
        mixed = kind.match == "names"
        return Found(
            title="most" if one else "most_tied",
            values={
                "kind": _label(kind),
                "name": rows[0].name,
                "passages": rows[0].passages,
                "tied": len(first),
            },
            columns=_TYPED if mixed else _NAMES,
            rows=tuple(_row(row, mixed=mixed) for row in rows),
            coverage=coverage,
            notes=_kind_notes(kind),
            limit=max(limit, len(first)),
        )

    def _beside(self, asked: Asked, kind: Kind) -> Found | None:
        entity = entity_named(self._store, asked.name, self._scope)
        if entity is None or kind.match == "words":
            return None
        chunks = self._store.aggregates.beside(entity.id, self._scope.chunks)
        rows = [row for row in self._named(kind, chunks) if row.id != entity.id] if chunks else []
        if not rows:
            return None
        mixed = kind.match == "names"
        return Found(
            title="beside",
            values={"kind": _label(kind), "name": entity.name},
            columns=_TYPED if mixed else _NAMES,
            rows=tuple(_row(row, mixed=mixed) for row in rows),
            coverage=self._coverage(self._scope.chunks),
            notes=_kind_notes(kind),
        )

    def _linked(self, asked: Asked, kind: Kind) -> Found | None:
        entity = entity_named(self._store, asked.name, self._scope)
        if entity is None or kind.match == "words":
            return None
        links = self._store.aggregates.links(entity.id, self._scope.chunks)
        names = self._store.aggregates.names_of(entity.id)
        wanted = None if kind.match == "names" else kind.types
        places = linked(links, names, asked.verb, forth=asked.link == "forth", types=wanted)
        places = {key: place for key, place in places.items() if self._scope.allows("entity", key)}
        if len(places) < FEWEST:
            return None
        rows = self._store.aggregates.entities(None, self._scope.chunks, list(places))
        said = f"{entity.name} … {asked.verb}" if asked.link == "forth" else f"{asked.verb} {entity.name}"
        return Found(
            title="linked",
            values={"said": said},
            columns=_NAMES,
            rows=tuple(TableRow((row.name, row.passages), places[row.id]) for row in rows),
            coverage=self._coverage(self._scope.chunks),
            notes=(("by_relations", {}),),
        )

    def _often(self, asked: Asked) -> Found | None:
        entity = entity_named(self._store, asked.name, self._scope)
        if entity is None:
            return None
        documents = self._store.aggregates.documents_of(entity.id, self._scope.chunks)
        passages = sum(len(places) for places in documents.values())
        if not passages:
            return None
        rows = [
            TableRow((place.document, len(places)), place)
            for places in documents.values()
            for place in [next(iter(places.values()))]
        ]
        rows.sort(key=lambda row: (-int(row.cells[1]), str(row.cells[0])))
        return Found(
            title="often",
            values={"name": entity.name, "passages": passages},
            columns=("document", "passages"),
            rows=tuple(rows),
            coverage=self._coverage(self._scope.chunks),
            total=passages,
        )

    def _compared(self, asked: Asked) -> Found | None:
        """How often two entities are named."""
        entities = [entity_named(self._store, name, self._scope) for name in (asked.name, asked.other)]
        ids = [entity.id for entity in entities if entity is not None]
        if len(set(ids)) < len(entities):
            return None
        rows = self._store.aggregates.entities(None, self._scope.chunks, ids)
        if len(rows) < len(ids):
            return None
        return Found(
            title="compared" if rows[0].passages > rows[1].passages else "compared_even",
            values={"name": rows[0].name, "other": rows[1].name},
            columns=_NAMES,
            rows=tuple(_row(row, mixed=False) for row in rows),
            coverage=self._coverage(self._scope.chunks),
        )

    def _counted_in_two(self, asked: Asked, kind: Kind) -> Found | None:
        """How many of a kind two documents, folders or tags name."""
        parts = [part_named(self._store, name, self._scope) for name in (asked.name, asked.other)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or kind.match == "words" or known[0].name == known[1].name:
            return None
        chunks = [part.chunks for part in known]
        coverages = [self._coverage(part) for part in chunks]
        if not all(coverage.read for coverage in coverages):
            return None
        named = [self._named(kind, part) for part in chunks]
        in_both = Counter(row.id for rows in named for row in rows)
        shared = sum(1 for count in in_both.values() if count > 1)
        rows = tuple(
            TableRow((part.name, len(found)), found[0].place if found else None)
            for part, found in zip(known, named, strict=True)
        )
        return Found(
            title="counted_in_two",
            values={"kind": _label(kind), "first": len(named[0]), "second": len(named[1]),
                    "name": known[0].name, "other": known[1].name, "shared": shared},
            columns=("part", "count"),
            rows=rows,
            coverage=Coverage(sum(c.read for c in coverages), sum(c.total for c in coverages)),
            notes=_kind_notes(kind),
        )  # fmt: skip

    def _coverage(self, chunks: Ids | None) -> Coverage:
        return Coverage(*self._store.aggregates.read(chunks))


def _may_be_role(asked: Asked) -> bool:
    """Whether a word that is no type may be looked for in the texts: how many there are of something in the
    world is not what the texts happen to name."""
    return asked.link in ("", "in") and (asked.act == "list" or (asked.act == "count" and asked.mentioned))


def _kind_notes(kind: Kind) -> tuple[tuple[str, dict[str, str | int]], ...]:
    if kind.match == "wider":
        return (("wider", {"word": kind.word, "types": _quoted(kind.types)}),)
    if kind.match == "type":
        return (("of_types", {"types": _quoted(kind.types)}),)
    return ()


def _quoted(types: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in types)


def _label(kind: Kind) -> str:
    """What names the kind in a sentence: the concept where a wider one stands in, else the person's word."""
    return f"concept:{kind.concept}" if kind.match == "wider" or not kind.word else kind.word


def _row(row: CountedName, *, mixed: bool) -> TableRow:
    cells = (row.name, row.type, row.passages) if mixed else (row.name, row.passages)
    return TableRow(cells, row.place)
