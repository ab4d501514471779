"""Reads claims on demand, and looks through those that are there: lists, timelines, contradictions."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from localrag.curating.finding import Finder
from localrag.engines import Engines
from localrag.errors import Cancelled, UsageError
from localrag.extraction.claims import TASK, ClaimReader
from localrag.extraction.dates import Period, parse_period
from localrag.indexing.claim_events import (
    ClaimsFailed,
    ClaimsFinished,
    ClaimsRead,
    ClaimsReport,
    ClaimsStarted,
)
from localrag.indexing.claims import ClaimStage
from localrag.indexing.events import Note, Progress
from localrag.prompts.personal import own_prompts
from localrag.runlock import Unlockable, only_run
from localrag.sections import ClaimSettings
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.claim_rows import ClaimCount, ClaimQuery, ClaimTest, Contradiction, PlacedClaim
from localrag.store.database import Store
from localrag.store.filters import Filter
from localrag.store.rows import EntityRow
from localrag.store.sqlite import read_only_error

ClaimEvent = ClaimsStarted | ClaimsRead | ClaimsFailed | Progress | Note | ClaimsFinished

STATUSES = ("TRUE", "FALSE", "SUSPECTED")
"""Whether a text says that it is so, that it is not, or leaves it open."""


@dataclass(frozen=True)
class Wanted:
    """Which claims to read, and where. What is not given is as the settings say."""

    entities: tuple[str, ...] = ()
    """Whom they are about: names or types of entities."""

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

    Raises `KnowledgeBaseReadOnly`, `SettingsError` and `PromptError` at once; while it is iterated
    `KnowledgeBaseBusy` if another program reads claims of this file, `ModelNotFound`, `EngineError`.
    """
    if store.read_only:
        raise read_only_error(store.path)
    wanted = wanted or Wanted()
    reader = ClaimReader(wanted.settings(settings.claims), settings.extraction, own_prompts(settings))
    return _events(store, engines, reader, wanted, cancel)


def _events(
    store: Store, engines: Engines, reader: ClaimReader, wanted: Wanted, cancel: threading.Event | None
) -> Generator[ClaimEvent, None, None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(only_run(store.path, "read for claims"))
        except Unlockable as error:
            yield Note(f"Another program that reads claims of this file would not be noticed: {error}")
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
        entity: str = "",
        *,
        types: Sequence[str] = (),
        statuses: Sequence[str] = (),
        documents: Sequence[str | int] = (),
        since: str = "",
        until: str = "",
        limit: int = 50,
    ) -> list[PlacedClaim]:
        """Claims by time, those without a date last.

        About or concerning `entity`; of these types and statuses; made by these documents; in a time between
        `since` and `until`, each a day, month or year in any usual form. Raises `UsageError` for an entity, a
        document, a status or a time that is none.
        """
        found = tuple(item if isinstance(item, int) else self._find.document(item).id for item in documents)
        query = ClaimQuery(
            test=claim_test(types, statuses),
            entity_id=self._find.entity(entity).id if entity else None,
            documents=found,
            since=_time(since).start if since else "",
            until=_time(until).end if until else "",
        )
        return self._store.claim_search.find(query, limit)

    def document(self, path: str) -> int:
        """The id of a document, by path. Raises `UsageError` if it is not there."""
        return self._find.document(path).id

    def timeline(self, entity: str, limit: int = 1000) -> Timeline:
        """The claims about an entity, and those that concern it, by time. Raises `UsageError` if it is not
        there."""
        row = self._find.entity(entity)
        claims = self._store.claim_search.find(ClaimQuery(entity_id=row.id), limit)
        return Timeline(row, tuple(claims))

    def contradictions(self, entity: str = "", limit: int = 100) -> Sequence[Contradiction]:
        """Pairs of claims of one type about the same entities that differ in status or days.

        Raises `UsageError` for an entity that is not there.
        """
        entity_id = self._find.entity(entity).id if entity else None
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
