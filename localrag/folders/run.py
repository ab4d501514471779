"""One comparison of folders with the knowledge base: seen, planned, and done step by step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from localrag.documents import reading
from localrag.documents.recutting import shared
from localrag.errors import DocumentError
from localrag.folders.compare import Content, Plan, compare
from localrag.folders.looking import Look, look
from localrag.folders.scan import Scan, innermost, text_of
from localrag.folders.storing import Stored, Storing, beside
from localrag.folders.types import Absent, Known, Outcome, Seen, SyncEvent, SyncReport
from localrag.naming import name_due
from localrag.sections import ChunkingSettings
from localrag.store.database import Store
from localrag.store.followed_rows import Place

FEW = 10
"""Up to so many documents a folder may lose more than half of them at once, but not all."""


_UNNAMED = 20
"""Documents that a killed program may have left without the names in them; more come from an older file."""

HALF = 0.5
"""How much a new file shares with a lost document that it takes over."""


@dataclass(frozen=True)
class Options:
    """How to compare."""

    check: bool = False
    """Whether files whose size and time are as noted are read too."""

    retry: bool = False
    """Whether files that could not be read are tried again although they are as they were."""

    delete: bool = True
    """Whether documents whose files are gone are deleted."""

    delete_missing: bool = False
    """Whether that also holds where a whole folder is missing or empty, or has lost more than half."""

    delete_hidden: bool = False
    """Whether documents whose file is left out by patterns now are deleted too."""

    dry_run: bool = False
    """Whether to say only what would be done."""


def run(
    store: Store,
    settings: ChunkingSettings,
    scan: Scan,
    wanted: Callable[[str], bool],
    options: Options,
    on_event: Callable[[SyncEvent], None] | None = None,
    cancel: threading.Event | None = None,
) -> SyncReport:
    """Bring the knowledge base in line with what `scan` found.

    `wanted` says of a full path whether it is to be compared. Each document is one transaction, places of
    documents that stay one for all. Raises what the store raises; what was done before is kept.
    """
    return _Run(store, settings, scan, wanted, options, on_event, cancel).run()


class _Run:
    def __init__(
        self,
        store: Store,
        settings: ChunkingSettings,
        scan: Scan,
        wanted: Callable[[str], bool],
        options: Options,
        on_event: Callable[[SyncEvent], None] | None,
        cancel: threading.Event | None,
    ) -> None:
        self._store = store
        self._storing = Storing(store, settings)
        self._scan = scan
        self._wanted = wanted
        self._options = options
        self._on_event = on_event
        self._cancel = cancel
        self._rows = {row.id: row for row in store.documents.list()}
        self._places = places = store.documents.all_places()
        self._known = [
            Known(row.id, row.sha256 if row.chunks else "", row.sha256, tuple(places[row.id]))
            for row in self._rows.values()
            if row.id in places
        ]
        self._failed = {
            places[row.id][0].full: row.reason for row in self._rows.values() if row.status == "failed"
        }
        """Files that could not be read, with the reason; the same bytes are not tried again."""
        self._told: list[Stored] = []
        self._kept: list[tuple[Known, Absent]] = []
        self._total = 0

    def run(self) -> SyncReport:
        seen = look(
            self._known,
            self._scan,
            self._wanted,
            check=self._options.check,
            retry=self._options.retry,
            cancel=self._cancel,
        )
        if seen.cancelled:
            return self._report([], cancelled=True)
        self._give_up(seen)
        plan = compare(self._known, seen.seen, seen.absent)
        lost = self._lost(plan)
        self._total = (
            sum(file.wanted for file in plan.unchanged)
            + len(plan.moved)
            + len(plan.copied)
            + sum(len(item.files) for item in plan.contents)
            + len(seen.unreadable)
            + len(lost)
        )
        for step in self._steps(plan, seen, lost):
            if self._cancel is not None and self._cancel.is_set():
                return self._report(plan.absent, cancelled=True)
            self._tell(step())
        # What a killed run left; the many of a file of an older format wait for `index`, which says so.
        if not self._options.dry_run:
            name_due(self._store, most=_UNNAMED)
        return self._report(plan.absent, cancelled=False)

    def _steps(self, plan: Plan, seen: Look, lost: Sequence[Known]) -> Iterator[Callable[[], list[Stored]]]:
        """What is to be done, one after the other; each step gives what became of its files."""
        yield partial(self._arrange, plan)
        for document, place in plan.moved:
            yield partial(self._reread, document, place)
        for content in plan.contents:
            yield partial(self._put, content)
        for file, reason in seen.unreadable.values():
            yield partial(self._fail, file, reason)
        for document in lost:
            yield partial(self._delete, document)

    def _give_up(self, seen: Look) -> None:
        """Take places for gone that the person gives up."""
        given_up = {
            *(("missing",) if self._options.delete_missing else ()),
            *(("hidden",) if self._options.delete_hidden else ()),
        }
        for full, absent in seen.absent.items():
            if absent.kind in given_up and self._wanted(full):
                seen.absent[full] = Absent("gone", "")

    def _lost(self, plan: Plan) -> list[Known]:
        """The documents to delete: those that are gone, were not moved and changed, and not too many."""
        lost = [doc for doc in plan.lost if any(self._wanted(place.full) for place in doc.places)]
        if lost:
            lost = self._find_changed(plan, lost)
        if not self._options.delete:
            return []
        if self._options.delete_missing:
            return lost
        by_root: dict[str, list[Known]] = {}
        for document in lost:
            by_root.setdefault(self._root_of(document), []).append(document)
        for root, gone in by_root.items():
            total = sum(self._root_of(document) == root for document in self._known)
            # All of them, with others in their place: another drive lies there now.
            others = len(gone) == total > 1
            if others or (total > FEW and 2 * len(gone) > total):
                reason = f"{len(gone):,} of the {total:,} documents in {root} vanished at once"
                self._kept += [(document, Absent("missing", reason)) for document in gone]
                lost = [document for document in lost if document not in gone]
        return lost

    def _root_of(self, document: Known) -> str:
        first = document.places[0]
        return innermost(first.full, self._scan.walked) or first.root

    def _find_changed(self, plan: Plan, lost: list[Known]) -> list[Known]:
        """Let new files take over lost documents of which they hold at least half."""
        lost = list(lost)
        texts = {
            document.id: [chunk.text for chunk in self._store.chunks.of_document(document.id)]
            for document in lost
            if document.content
        }
        for number, content in enumerate(plan.contents):
            near = [
                document
                for document in lost
                if document.id in texts
                and content.document is None
                and content.files[0].size <= 2 * document.places[0].size <= 4 * content.files[0].size
            ]
            if not near:
                continue
            try:
                text = reading.read(content.files[0].disk).text
            except DocumentError:
                continue  # told when it is to be stored
            shares = [(shared(text, texts[document.id]), document) for document in near]
            share, best = max(shares, key=lambda item: item[0])
            if share >= HALF:
                plan.contents[number] = replace(content, document=best.id)
                lost.remove(best)
        return lost

    def _arrange(self, plan: Plan) -> list[Stored]:
        """All that needs no reading: places, times, and documents that were overwritten by others."""
        if not self._options.dry_run and (plan.places or plan.times or plan.overwritten):
            documents = self._store.documents
            with self._store.transaction():
                here = documents.all_places()
                for document in plan.overwritten:
                    if here.pop(document.id, None):
                        documents.delete(document.id)
                places = _still_free(plan.places, here)
                titles = {known.id: self._title(known, place) for known, place in plan.moved}
                documents.arrange(
                    places, {id_: title for id_, title in titles.items() if title and id_ in places}
                )
                documents.note_times(plan.times)
        told = [beside(place, "moved", known.places[0]) for known, place in plan.moved]
        told += [beside(place, "copied", self._first(plan, known)) for known, place in plan.copied]
        for file in plan.unchanged:
            if not file.wanted:
                continue
            reason = self._failed.get(file.place.full)
            told.append(Stored(file.path, "unchanged" if reason is None else "failed", reason or ""))
        return told

    def _reread(self, document: Known, place: Place) -> list[Stored]:
        """A moved document whose new name is of another format, such as .md after .txt, is read by that."""
        suffix = PurePosixPath(place.path.strip()).suffix.lower()
        format_ = reading.MEDIA_TYPES.get(suffix, self._rows[document.id].media_type)
        if format_ != self._rows[document.id].media_type and not self._options.dry_run:
            self._storing.reread(document.id, place)
        return []

    def _first(self, plan: Plan, known: Known) -> Place:
        return plan.places.get(known.id, known.places)[0]

    def _title(self, known: Known, place: Place) -> str:
        """The new title of a document that is named after its file, else nothing."""
        old = reading.title_of(PurePosixPath(known.places[0].path))
        return reading.title_of(PurePosixPath(place.path)) if self._rows[known.id].title == old else ""

    def _put(self, content: Content) -> list[Stored]:
        if not self._options.dry_run:
            return self._storing.put(content)
        first, *others = content.files
        row = self._rows.get(content.document) if content.document is not None else None
        if row is None or row.status == "failed":
            told = Stored(first.path, "added")
        elif any(place.full == first.place.full for place in self._places[row.id]):
            told = Stored(first.path, "changed")
        else:
            told = beside(first, "moved", row, changed=True)
        return [told, *(beside(file, "copied", first) for file in others)]

    def _fail(self, file: Seen, reason: str) -> list[Stored]:
        if not self._options.dry_run:
            return [self._storing.fail(file, reason)]
        return [Stored(file.path, "failed", reason)]

    def _delete(self, document: Known) -> list[Stored]:
        if not self._options.dry_run:
            with self._store.transaction():
                if document.id in self._store.documents.all_places([document.id]):
                    self._store.documents.delete(document.id)
        return [Stored(document.places[0].path, "deleted")]

    def _tell(self, stored: Sequence[Stored]) -> None:
        for item in stored:
            self._told.append(item)
            if self._on_event is not None:
                event = SyncEvent(item.path, item.outcome, item.reason, len(self._told), self._total)
                self._on_event(event)

    def _report(self, absent: Sequence[tuple[Known, Absent]], *, cancelled: bool) -> SyncReport:
        told = self._told
        absent = [
            (known, state)
            for known, state in (*absent, *self._kept)
            if any(self._wanted(place.full) for place in known.places)
        ]

        def of(outcome: Outcome) -> tuple[tuple[str, str], ...]:
            return tuple((item.path, item.reason) for item in told if item.outcome == outcome)

        def left(kind: str) -> tuple[tuple[str, str], ...]:
            return tuple((known.places[0].path, why.reason) for known, why in absent if why.kind == kind)

        passed = [(full, why) for full, why in self._scan.skipped.items() if self._wanted(full)]
        foreign = [
            (file.relative, "not a format that localrag reads yet")
            for file in self._scan.others
            if self._wanted(text_of(file.path))
        ]
        return SyncReport(
            added=tuple(path for path, _ in of("added")),
            changed=tuple(item.path for item in told if item.outcome == "changed" or item.changed),
            moved=of("moved"),
            copied=of("copied"),
            deleted=tuple(path for path, _ in of("deleted")),
            unchanged=len(of("unchanged")),
            failed=of("failed"),
            skipped=(*of("skipped"), *passed, *foreign),
            kept=left("missing"),
            closed=left("closed"),
            hidden=left("hidden"),
            notes=tuple(self._scan.notes),
            chunks=self._storing.chunks,
            dry_run=self._options.dry_run,
            cancelled=cancelled,
        )


def _still_free(
    wanted: Mapping[int, Sequence[Place]], here: Mapping[int, Sequence[Place]]
) -> dict[int, list[Place]]:
    """The places without those that another program has given to a document meanwhile."""
    owners = {place.full: document for document, places in here.items() for place in places}
    free = {
        document: [place for place in places if owners.get(place.full, document) in wanted]
        for document, places in wanted.items()
        if document in here
    }
    return {document: places for document, places in free.items() if places}
