"""Lists and counts of documents, tags, types of entities and claims."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from localrag.answering.tables_asked import Asked
from localrag.answering.tables_found import Found
from localrag.answering.tables_scope import both, entity_named, part_named
from localrag.answering.tables_types import TableRow
from localrag.documents.reading import MEDIA_TYPES
from localrag.errors import UsageError
from localrag.filtering import filter_from
from localrag.retrieval.scope import EVERYTHING, Scope
from localrag.retrieval.types import Coverage
from localrag.store.aggregates import TextPlace
from localrag.store.claim_rows import ClaimQuery, ClaimTest
from localrag.store.database import Store
from localrag.store.filters import Filter, Ids
from localrag.store.function_words import ENGLISH

LONGEST_PHRASE = 3
"""Words of a phrase that is no entity and is looked for as it stands; more of them describe something."""

_LATIN = re.compile(r"[a-z0-9]", re.IGNORECASE)
_STATUSES = {
    "false": "FALSE", "虚假": "FALSE", "虛假": "FALSE", "不实": "FALSE", "不實": "FALSE", "假": "FALSE",
    "true": "TRUE", "真实": "TRUE", "真實": "TRUE", "属实": "TRUE",
    "suspected": "SUSPECTED", "可疑": "SUSPECTED", "疑似": "SUSPECTED",
}  # fmt: skip
_MEDIA = {"markdown": "md", "plain text": "txt"}
_MOST_CLAIMS = 100_000


class Documents:
    """Finds what questions about documents, tags, types and claims ask for; whatever is in doubt is None."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._scope = scope

    def found(self, asked: Asked) -> Found | None:
        """The answer of the tables to a question, if they have one."""
        ways: dict[str, Callable[[Asked], Found | None]] = {
            "documents": self._documents,
            "tags": self._tags,
            "types": self._types,
            "claims": self._claims,
        }
        return ways[asked.things](asked)

    def _documents(self, asked: Asked) -> Found | None:
        if asked.link == "mention":
            return self._mentioning(asked)
        if asked.link in ("tag", "folder"):
            part = part_named(self._store, asked.name, self._scope)
            wanted = {"tag": "#", "folder": "/"}[asked.link]
            if part is None or wanted not in (part.name[:1], part.name[-1:]):
                return None
            return self._listed("with_tag" if asked.link == "tag" else "in_folder", part.chunks, part.name)
        if asked.link == "date":
            return self._dated(asked)
        if asked.link == "media":
            word = asked.name.lower()
            media = MEDIA_TYPES.get(f".{_MEDIA.get(word, word)}")
            if media is None:
                return None
            return self._listed("of_media", self._passing(Filter(media_types=(media,))), word)
        return self._listed("documents", self._scope.chunks, "")

    def _listed(self, title: str, chunks: Ids | None, name: str) -> Found | None:
        """Documents that these passages are of."""
        rows = self._store.aggregates.documents(chunks)
        if not rows:
            return None
        return Found(
            title=title,
            values={"name": name},
            columns=("document", "passages"),
            rows=tuple(TableRow((row.path, row.passages), row.place) for row in rows),
            coverage=self._coverage(),
            rests_on_reading=False,
        )

    def _mentioning(self, asked: Asked) -> Found | None:
        """Documents that mention an entity or hold the words."""
        name = asked.name
        entity = entity_named(self._store, name, self._scope)
        if entity is None and not _is_phrase(name):
            return None
        places: dict[int, dict[int, TextPlace]] = {}
        if entity is not None:
            places = self._store.aggregates.documents_of(entity.id, self._scope.chunks)
        pattern = _whole(name)
        for place, text in self._store.aggregates.holding(name, self._scope.chunks):
            match = pattern.search(text)
            if match is not None:
                start, end = place.start + match.start(), place.start + match.end()
                held = places.setdefault(place.document_id, {})
                held.setdefault(place.chunk_id, replace(place, start=start, end=end))
        if not places:
            return None
        rows = [
            TableRow((first.document, len(held)), first)
            for held in places.values()
            for first in [held[min(held)]]
        ]
        rows.sort(key=lambda row: (-int(row.cells[1]), str(row.cells[0])))
        return Found(
            title="mentioning",
            values={"name": entity.name if entity is not None else name},
            columns=("document", "passages"),
            rows=tuple(rows),
            coverage=self._coverage(),
            notes=(("by_phrase", {"name": name}),) if entity is None else (),
            rests_on_reading=entity is not None,
        )

    def _dated(self, asked: Asked) -> Found | None:
        """Documents by the dates of their files; of a year also those with the year in their name."""
        try:
            span = filter_from(self._store, modified_from=asked.name, modified_until=asked.name)
        except UsageError:  # 2019-13-45 is no day
            return None
        first, last = span.modified_from, span.modified_until
        wanted = {
            "since": Filter(modified_from=first),
            "after": Filter(modified_from=last),
            "before": Filter(modified_until=first),
            "until": Filter(modified_until=last),
        }.get(asked.when, span)
        ids = {row.id for row in self._store.aggregates.documents(self._passing(wanted))}
        if wanted is span:
            ids |= {row.id for row in self._store.documents.list() if _has_number(row.path, asked.name)}
        rows = [row for row in self._store.aggregates.documents(self._scope.chunks) if row.id in ids]
        if not rows:
            return None
        days = {
            row.id: datetime.fromtimestamp(row.mtime).date().isoformat()
            for row in self._store.documents.list()
        }
        return Found(
            title=f"dated_{asked.when if asked.when in ('since', 'after', 'before', 'until') else 'in'}",
            values={"name": asked.name},
            columns=("document", "file_date"),
            rows=tuple(TableRow((row.path, days[row.id]), row.place) for row in rows),
            coverage=self._coverage(),
            notes=(("by_date", {}) if wanted is span else ("by_file_date", {}),),
            rests_on_reading=False,
        )

    def _tags(self, asked: Asked) -> Found | None:
        allowed = {row.id for row in self._store.aggregates.documents(self._scope.chunks)}
        rows = []
        for tag in self._store.tags.list():
            if count := len(allowed.intersection(tag.documents)):
                rows.append(TableRow((tag.name, count)))
        if not rows:
            return None
        return Found("tags", {}, ("tag", "documents"), tuple(rows), self._coverage(), rests_on_reading=False)

    def _types(self, asked: Asked) -> Found | None:
        counts: dict[str, int] = {}
        if self._scope == EVERYTHING:
            counts = self._store.aggregates.types()
        else:
            for row in self._store.aggregates.entities(None, self._scope.chunks, self._scope.entities):
                counts[row.type] = counts.get(row.type, 0) + 1
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if not rows:
            return None
        return Found(
            "types", {}, ("type", "entities"), tuple(TableRow(row) for row in rows), self._coverage()
        )

    def _claims(self, asked: Asked) -> Found | None:
        if not self._store.claims.count():
            return None
        status = _STATUSES.get(asked.status, "")
        if asked.status and not status:
            return None
        entity = None
        if asked.link == "about":
            entity = entity_named(self._store, asked.name, self._scope)
            if entity is None:
                return None
        since, until = _bounds(asked) if asked.link == "date" else ("", "")
        query = ClaimQuery(
            test=ClaimTest(statuses=(status,) if status else ()),
            entity_id=entity.id if entity is not None else None,
            since=since,
            until=until,
        )
        chunks = self._scope.chunks
        found = [
            item
            for item in self._store.claim_search.find(query, _MOST_CLAIMS)
            if chunks is None or item.claim.chunk_id in chunks
        ]
        if not found:
            return None
        rows = []
        for item in found:
            claim = item.claim
            about = f"{claim.subject} → {claim.object}" if claim.object else claim.subject
            start, end = item.spans[0] if item.spans else (0, 0)
            place = TextPlace(claim.chunk_id, item.document_id, item.document, item.page, "", start, end)
            dates = "/".join(date for date in (claim.start_date, claim.end_date) if date)
            cells = (claim.description, about, claim.type, claim.status, dates)
            rows.append(TableRow(cells, place if item.spans else None))
        title = "claims_about" if entity is not None else "claims_when" if since or until else "claims"
        return Found(
            title=f"{title}_status" if status else title,
            values={"name": entity.name if entity is not None else asked.name, "status": status},
            columns=("claim", "about", "type", "status", "dates"),
            rows=tuple(rows),
            coverage=self._coverage(),
            notes=(("claims_read", {}),),
        )

    def _passing(self, wanted: Filter) -> Ids | None:
        return both(self._store.filters.ids(wanted, "chunk"), self._scope.chunks)

    def _coverage(self) -> Coverage:
        return Coverage(*self._store.aggregates.read(self._scope.chunks))


def _is_phrase(name: str) -> bool:
    """Whether words are few enough to be meant as they stand."""
    words = name.split()
    if not words or all(word.casefold() in ENGLISH for word in words):
        return False
    return len(words) <= LONGEST_PHRASE and len(name) <= 40 and not {"and", "or", "和", "或"} & set(words)


def _whole(name: str) -> re.Pattern[str]:
    """The words as they stand, not within longer ones, where their script has blanks between words."""
    left = r"(?<!\w)" if _LATIN.match(name) else ""
    right = r"(?!\w)" if _LATIN.match(name[-1]) else ""
    return re.compile(f"{left}{re.escape(name)}{right}", re.IGNORECASE)


def _has_number(path: str, number: str) -> bool:
    """Whether a file's name has a year or day."""
    return re.search(rf"(?<!\d){re.escape(number)}(?!\d)", PurePosixPath(path).name) is not None


def _bounds(asked: Asked) -> tuple[str, str]:
    """The first and last day of a time, ISO 8601; claims have days, months or years."""
    first = f"{asked.name}-01-01"[:10] if len(asked.name) == 4 else asked.name
    last = f"{asked.name}-12-31"[:10] if len(asked.name) == 4 else asked.name
    return {"since": (first, ""), "after": (last, ""), "before": ("", first), "until": ("", last)}.get(
        asked.when, (first, last)
    )
