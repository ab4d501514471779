"""Reads claims on demand, and looks through those that are there: lists, timelines, contradictions."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from localrag.curating.finding import Finder
from localrag.engine.claim_program import STATUSES
from localrag.engines import Engines
from localrag.errors import Cancelled, UsageError
from localrag.extraction.claims import TASK, ClaimReader
from localrag.extraction.dates import Period, parse_period
from localrag.graph.names import fold
from localrag.indexing.claim_events import (
    ClaimsFailed,
    ClaimsFinished,
    ClaimsRead,
    ClaimsReport,
    ClaimsStarted,
)
from localrag.indexing.claims import ClaimStage
from localrag.indexing.events import Note, Progress
from localrag.plain import quoted
from localrag.prompts.personal import own_prompts
from localrag.runlock import noticed_run
from localrag.sections import ClaimSettings
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.claim_rows import ClaimCount, ClaimQuery, ClaimTest, Contradiction, PlacedClaim
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.graph_rows import EntityRow
from localrag.store.sqlite import read_only_error

_SHOWN = 12
"""How many names a hint lists."""

ClaimEvent = ClaimsStarted | ClaimsRead | ClaimsFailed | Progress | Note | ClaimsFinished


@dataclass(frozen=True)
class Wanted:
    """Which claims to read, and where. What is not given is as the settings say."""

    entities: tuple[str, ...] = ()
    """Whom they are about: names or types of entities that are there."""

    about: str = ""
    """Which claims count, in words."""

    types: tuple[str, ...] = ()
    """The only types that a claim may have."""

    filter: Filter = field(default_factory=Filter)
    """Which documents are read."""

    again: bool = False
    """Whether passages are read anew whose claims were read with the same specification before."""

    def settings(self, given: ClaimSettings) -> ClaimSettings:
        """The settings with what is wanted in them."""
        return replace(
            given,
            entity_specs=self.entities or given.entity_specs,
            description=self.about.strip() or given.description,
            types=self.types or given.types,
        )


@dataclass(frozen=True)
class Set:
    """The claims that were read with one specification."""

    number: int
    """Its number, from 1, in the order of the last reading."""

    entities: tuple[str, ...]
    """Whom they are about; empty: all entities."""

    about: str
    """Which claims count."""

    types: tuple[str, ...]
    """The only types; empty: any."""

    passages: int
    """Passages that were read so."""

    claims: int
    """Claims found."""


@dataclass(frozen=True)
class Timeline:
    """The claims about one entity in the order of time."""

    entity: EntityRow
    """The entity."""

    claims: tuple[PlacedClaim, ...]
    """Those about it and those that concern it; without a date last."""


def extract_claims(
    store: Store,
    engines: Engines,
    settings: Settings,
    wanted: Wanted | None = None,
    cancel: threading.Event | None = None,
) -> Generator[ClaimEvent, None, None]:
    """Read the claims of passages whose entities are read, each passage in one transaction.

    Passages that were read with the same specification are left out, so a run that was stopped, by `cancel`,
    by closing the iterator or by a crash, goes on at the next call. The last event is `ClaimsFinished`.

    Raises `KnowledgeBaseReadOnly`, `SettingsError`, `PromptError`, and `UsageError` for an entity, a folder
    or a tag that is not there, at once; while it is iterated `KnowledgeBaseBusy` if another program reads
    claims of this file, `ModelNotFound`, `EngineError`.
    """
    if store.read_only:
        raise read_only_error(store.path)
    wanted = wanted or Wanted()
    _require_known(store, wanted)
    reader = ClaimReader(wanted.settings(settings.claims), settings.extraction, own_prompts(settings))
    return _events(store, engines, reader, wanted, cancel)


def _require_known(store: Store, wanted: Wanted) -> None:
    """Raise `UsageError` for whom or where a person wants to be read, if there is no such one.

    The settings may name what comes later; what is typed for one run is meant now.
    """
    find = Finder(store)
    types = {fold(name) for name in store.claim_search.entity_types()}
    for spec in wanted.entities:
        if fold(spec) in types:
            continue
        try:
            find.entity(spec)
        except UsageError as error:
            message = f"{error.message.removesuffix('.')}, and no type of entities is called so."
            raise UsageError(message, error.hint) from error
    folder = wanted.filter.folder
    if folder and not store.filters.ids(Filter(folder=folder), "chunk"):
        raise UsageError(
            f"No text lies in the folder {quoted(folder)}.", "`localrag status` shows the documents' paths."
        )
    for tag in wanted.filter.tags:
        if not store.filters.ids(Filter(tags=(tag,)), "chunk"):
            known = ", ".join(quoted(row.name) for row in store.tags.list()[:_SHOWN])
            hint = f"There are {known}." if known else "`localrag tag` gives tags."
            raise UsageError(f"No document has the tag {quoted(tag)}.", hint)


def _events(
    store: Store, engines: Engines, reader: ClaimReader, wanted: Wanted, cancel: threading.Event | None
) -> Generator[ClaimEvent, None, None]:
    with noticed_run(store.path, "read for claims", "reads claims of this file") as unnoticed:
        if unnoticed:
            yield Note(unnoticed)
        began = time.monotonic()
        ids = store.filters.ids(wanted.filter, "chunk")
        chunks = store.claim_search.unread(reader.task, ids, again=wanted.again)
        yield ClaimsStarted(len(chunks))
        done: list[ClaimsRead] = []
        failed = 0
        cancelled = False
        try:
            for event in _work(store, engines, reader, chunks, cancel):
                if isinstance(event, ClaimsRead):
                    done.append(event)
                failed += isinstance(event, ClaimsFailed)
                yield event
        except Cancelled:
            cancelled = True
        yield ClaimsFinished(
            ClaimsReport(
                read=len(done),
                failed=failed,
                claims=sum(event.claims for event in done),
                rejects=sum(event.rejects for event in done),
                swapped=sum(event.swapped for event in done),
                undated=sum(event.undated for event in done),
                left=len(store.claim_search.unread(reader.task, ids)),
                seconds=time.monotonic() - began,
                cancelled=cancelled,
            )
        )


def _work(
    store: Store,
    engines: Engines,
    reader: ClaimReader,
    chunks: Sequence[int],
    cancel: threading.Event | None,
) -> Iterator[ClaimEvent]:
    if chunks:
        model = wait_for(lambda: engines.model, cancel)
        yield from ClaimStage(store, reader, model, cancel, engines.background).run(chunks)


class ClaimDesk:
    """Looks through the claims of a knowledge base."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._find = Finder(store)

    def list(
        self,
        entity: str | None = None,
        *,
        types: Sequence[str] = (),
        statuses: Sequence[str] = (),
        documents: Sequence[str | int] = (),
        since: str | None = None,
        until: str | None = None,
        limit: int = 50,
    ) -> list[PlacedClaim]:
        """Claims by time, those without a date last.

        About or concerning `entity`; of these types and statuses; made by these documents; in a time between
        `since` and `until`, each a day, month or year in any usual form. Raises `UsageError` for an entity, a
        document, a status or a time that is none, and for an end before its start.
        """
        found = tuple(item if isinstance(item, int) else self._find.document(item).id for item in documents)
        query = ClaimQuery(
            test=claim_test(types, statuses),
            entity_id=None if entity is None else self._find.entity(entity).id,
            documents=found,
            since="" if since is None else _time(since).start,
            until="" if until is None else _time(until).end,
        )
        if query.since and query.until and query.until < query.since:
            raise UsageError(f"{until!r} ends before {since!r} begins.", "Exchange the two.")
        return self._store.claim_search.find(query, limit)

    def get(self, number: int) -> PlacedClaim:
        """One claim. Raises `UsageError` if it is not there."""
        found = self._store.claim_search.placed([number])
        if not found:
            raise UsageError(f"There is no claim {number}.", "`localrag claims list` shows their numbers.")
        return found[0]

    def why_none(self, types: Sequence[str] = (), *, narrowed: bool = False) -> str:
        """A sentence for a list in which there is nothing, though it was for these types or `narrowed`."""
        known = self._store.claim_search.types()
        if not known:
            return "There are no claims yet; localrag claims extract reads them."
        strange = [name for name in types if name.strip().upper() not in known]
        if strange:
            listed = ", ".join(known[:_SHOWN])
            return f"No claim has the type {' or '.join(map(quoted, strange))}; there are {listed}."
        return "No claim is like that." if narrowed or types else "There are no claims there."

    def document(self, path: str) -> int:
        """The id of a document, by path. Raises `UsageError` if it is not there."""
        return self._find.document(path).id

    def timeline(self, entity: str, limit: int = 1000) -> Timeline:
        """The claims about an entity, and those that concern it, by time. Raises `UsageError` if it is not
        there."""
        row = self._find.entity(entity)
        claims = self._store.claim_search.find(ClaimQuery(entity_id=row.id), limit)
        return Timeline(row, tuple(claims))

    def contradictions(self, entity: str | None = None, limit: int = 100) -> Sequence[Contradiction]:
        """Pairs of claims of one type about the same entities that differ in status or days.

        Raises `UsageError` for an entity that is not there.
        """
        entity_id = None if entity is None else self._find.entity(entity).id
        return self._store.claim_search.contradictions(entity_id, limit)

    def documents(
        self, types: Sequence[str] = (), statuses: Sequence[str] = (), limit: int = 50
    ) -> Sequence[ClaimCount]:
        """Documents that make such claims. Raises `UsageError` for a status that is none."""
        return self._store.claim_search.documents(claim_test(types, statuses), limit)

    def entities(
        self, types: Sequence[str] = (), statuses: Sequence[str] = (), limit: int = 50
    ) -> Sequence[ClaimCount]:
        """Entities that such claims are about. Raises as `documents`."""
        return self._store.claim_search.entities(claim_test(types, statuses), limit)

    def sets(self) -> Sequence[Set]:
        """What claims were read for, the set of the last reading last."""
        found = []
        for number, row in enumerate(self._store.claim_search.sets(f"{TASK}/"), 1):
            asked = json.loads(row.parameters)
            specs, types = (tuple(map(str, asked.get(name) or ())) for name in ("entities", "types"))
            about = str(asked.get("about", ""))
            found.append(Set(number, specs, about, types, row.passages, row.claims))
        return found

    def drop(self, number: int) -> int:
        """Delete the claims of a set, by its number in `sets`; returns how many went.

        Raises `UsageError` for a number that no set has, `KnowledgeBaseReadOnly`.
        """
        if self._store.read_only:
            raise read_only_error(self._store.path)
        rows = self._store.claim_search.sets(f"{TASK}/")
        if not 1 <= number <= len(rows):
            raise UsageError(f"There is no set {number} of claims.", "See `localrag claims sets`.")
        return self._store.claim_search.drop(rows[number - 1].task)


def claim_test(types: Sequence[str], statuses: Sequence[str]) -> ClaimTest:
    """The test for types and statuses as a person writes them. Raises `UsageError` for another status."""
    if not all(name.strip() for name in types):
        raise UsageError("An empty text is no type of claims.", "Leave --type out for claims of any type.")
    for status in statuses:
        if status.upper() not in STATUSES:
            raise UsageError(f"There is no status {status!r}.", f"It is one of {', '.join(STATUSES)}.")
    return ClaimTest(tuple(types), tuple(status.upper() for status in statuses))


def _time(text: str) -> Period:
    """The time that a person means. Raises `UsageError` if it is none."""
    period = parse_period(text)
    if period is None:
        raise UsageError(
            f"{text!r} is no time.", "Write for example 2015, 2015-03, 2015-03-10 or March 2015."
        )
    return period
