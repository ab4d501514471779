"""What is stored against what lies on the disk: which document belongs to which files from now on.

Nothing is read or written here. Content decides: a document goes with the files that have its content,
wherever they lie now. A document whose content is nowhere any more takes the new content of its own place if
no other document has it; else it is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from localrag.folders.types import Absent, Known, Seen
from localrag.store.followed_rows import Place


@dataclass(frozen=True)
class Content:
    """A content that is to be read and stored."""

    document: int | None
    """The document that changes, or None for a new one."""

    files: tuple[Seen, ...]
    """The files with it; the first one becomes the first place."""


@dataclass
class Plan:
    """What is to be done."""

    places: dict[int, list[Place]] = field(default_factory=dict)
    """Documents that get other places, all at once."""

    moved: list[tuple[Known, Place]] = field(default_factory=list)
    """Documents with another first place."""

    copied: list[tuple[Known, Place]] = field(default_factory=list)
    """Documents with a further place."""

    times: list[Place] = field(default_factory=list)
    """Places whose size or time is to be noted anew."""

    unchanged: list[Seen] = field(default_factory=list)
    """Files with the content that is known for their place."""

    contents: list[Content] = field(default_factory=list)
    """What is to be read, in the order of the files."""

    overwritten: list[Known] = field(default_factory=list)
    """Documents in whose places lies the content of other documents now."""

    lost: list[Known] = field(default_factory=list)
    """Documents whose files are all gone."""

    absent: list[tuple[Known, Absent]] = field(default_factory=list)
    """Documents whose files cannot be told to be gone."""


def compare(documents: Sequence[Known], seen: Mapping[str, Seen], absent: Mapping[str, Absent]) -> Plan:
    """Compare documents with files.

    `seen` holds the files by full path, in the order in which they are to be stored; `absent` says of every
    place of a document that is not among them what is known. Each file ends up with exactly one document.
    """
    comparison = _Comparison(seen, absent)
    for document in documents:
        comparison.claim(document)
    for document in documents:
        comparison.settle(document)
    return comparison.finish(documents)


class _Comparison:
    def __init__(self, seen: Mapping[str, Seen], absent: Mapping[str, Absent]) -> None:
        self.plan = Plan()
        self._seen = seen
        self._absent = absent
        self._order = {full: number for number, full in enumerate(seen)}
        self._groups: dict[str, list[Seen]] = {}
        for file in seen.values():
            self._groups.setdefault(file.content, []).append(file)
        self._owners: dict[str, int] = {}
        """Content and the document that has it."""

    def claim(self, document: Known) -> None:
        """Let a document keep the content that it has, if that lies anywhere."""
        if document.content in self._groups:
            self._owners.setdefault(document.content, document.id)

    def settle(self, document: Known) -> None:
        """Decide what becomes of a document."""
        if document.content and self._owners.get(document.content) == document.id:
            self._keep(document, self._groups[document.content])
            return
        own = [self._seen[place.full] for place in document.places if place.full in self._seen]
        if any(file.same for file in own) and not document.content:
            self._note(document, own)
            return
        free = next((file for file in own if file.content not in self._owners and file.wanted), None)
        if free is not None:
            self._owners[free.content] = document.id
            group = self._groups[free.content]
            self.plan.contents.append(
                Content(document.id, (free, *(file for file in group if file is not free and file.wanted)))
            )
            return
        reasons = [self._absent[place.full] for place in document.places if place.full in self._absent]
        unclear = next((reason for reason in reasons if reason.kind != "gone"), None)
        if unclear is not None:
            self.plan.absent.append((document, unclear))
        elif own:
            self.plan.overwritten.append(document)
        else:
            self.plan.lost.append(document)

    def finish(self, documents: Sequence[Known]) -> Plan:
        """Add the contents that no document has, and let go of places that other documents get."""
        for content, group in self._groups.items():
            wanted = tuple(file for file in group if file.wanted)
            if content not in self._owners and wanted and not any(file.same for file in group):
                self.plan.contents.append(Content(None, wanted))
        self.plan.contents.sort(key=lambda item: self._order[item.files[0].place.full])
        self._let_go(documents)
        return self.plan

    def _keep(self, document: Known, group: Sequence[Seen]) -> None:
        """A document whose content is there: its places follow the files."""
        files = {file.place.full: file for file in group}
        before = {place.full: place for place in document.places}
        stay = [
            files[full].place if full in files else place
            for full, place in before.items()
            if full in files or self._doubtful(full)
        ]
        come = [file for full, file in files.items() if full not in before]
        # What was not asked for counts only if the document would have no place without it.
        come = [file for file in come if file.wanted] or ([] if stay else come[:1])
        places = [*stay, *(file.place for file in come)]
        first = places[0].full
        if first != document.places[0].full:
            self.plan.moved.append((document, places[0]))
        self.plan.copied += [(document, file.place) for file in come if file.place.full != first]
        if [place.full for place in places] != list(before):
            self.plan.places[document.id] = places
        else:
            self.plan.times += [place for place in places if place != before[place.full]]
        self.plan.unchanged += [files[full] for full in before if full in files]

    def _note(self, document: Known, own: Sequence[Seen]) -> None:
        """A document that nothing else can share, whose file is as it was."""
        before = {place.full: place for place in document.places}
        self.plan.unchanged += own
        self.plan.times += [file.place for file in own if file.place != before[file.place.full]]

    def _doubtful(self, full: str) -> bool:
        """Whether a further place is kept although no file was taken there.

        A place in a folder that is not there now is let go: the content lies elsewhere, and the place comes
        back with the folder.
        """
        absent = self._absent.get(full)
        return absent is not None and absent.kind in ("closed", "hidden")

    def _let_go(self, documents: Sequence[Known]) -> None:
        """Take from documents the places that others get, so that none is noted twice at any time."""
        new = {item.document: {file.place.full for file in item.files} for item in self.plan.contents}
        taken = {place.full for places in self.plan.places.values() for place in places}
        gone = {document.id for document in self.plan.overwritten}
        for document in documents:
            if document.id in self.plan.places or document.id in gone:
                continue
            stay = [place for place in document.places if place.full not in taken]
            if document.id in new:
                stay = [place for place in stay if place.full in new[document.id]]
            if stay and len(stay) < len(document.places):
                self.plan.places[document.id] = stay
