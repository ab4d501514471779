"""The page of an entity as lines of text: what it is, its relations, claims by time, and its mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len, set_cell_size

from localrag.plain import plain
from localrag.tui.widgets.cells import fitted

if TYPE_CHECKING:
    from localrag.curating import EntityView
    from localrag.looking import Mention, Place, ToldRelation
    from localrag.looking.desk import Membership
    from localrag.store.claim_rows import PlacedClaim
    from localrag.store.entity_list import EntityEntry

Tone = Literal["", "title", "heading", "faint", "name", "said", "mark"]

STATUS = {"TRUE": "it is so", "FALSE": "it is not so", "SUSPECTED": "suspected"}
"""What the status of a claim means, in words."""

_LISTED = 12
_DATE = 23
_GUTTER = 2


@dataclass(frozen=True)
class EntityFacts:
    """All that a page shows."""

    entry: EntityEntry
    """The entity."""

    view: EntityView
    """Its description, aliases and of what it is put together."""

    relations: tuple[ToldRelation, ...]
    """The heaviest relations."""

    mentions: tuple[Mention, ...]
    """The first mentions."""

    mentioned: int
    """How many mentions were looked at for these; several in a sentence are shown as one."""

    total: int
    """How many mentions there are."""

    claims: tuple[PlacedClaim, ...]
    """Claims by time."""

    communities: tuple[Membership, ...]
    """Communities that it belongs to."""


@dataclass(frozen=True)
class Spot:
    """A stretch of a document."""

    document_id: int
    """The document."""

    start: int
    """First character."""

    end: int
    """One past the last one."""


@dataclass(frozen=True)
class Item:
    """Something on the page that the cursor can stand on."""

    kind: Literal["relation", "claim", "mention", "community", "more relations", "more mentions"]
    """What it is."""

    other: int = 0
    """The entity at the other end of a relation, or the community."""

    places: tuple[Spot, ...] = ()
    """Where it stands in the documents."""

    words: tuple[str, ...] = ()
    """What is to be marked there."""

    text: str = ""
    """What is copied."""


@dataclass(frozen=True)
class Line:
    """A line of the page."""

    pieces: tuple[tuple[str, Tone], ...]
    """Its text, piece by piece."""

    item: int = -1
    """The item that it belongs to, or -1."""


@dataclass(frozen=True)
class PageText:
    """A page as it is drawn."""

    lines: tuple[Line, ...]
    """From top to bottom."""

    items: tuple[Item, ...]
    """What the cursor can stand on, in their order."""

    sections: dict[str, int]
    """In which line each section begins."""


class _Writer:
    def __init__(self, width: int) -> None:
        self.width = max(16, width - _GUTTER)
        self.lines: list[Line] = []
        self.items: list[Item] = []
        self.sections: dict[str, int] = {}

    def put(self, text: str, tone: Tone = "", *, indent: int = 0, item: int = -1) -> None:
        for line in wrapped(text, self.width - indent):
            self.lines.append(Line(((" " * indent, ""), (line, tone)), item))

    def pieces(self, *pieces: tuple[str, Tone], item: int = -1) -> None:
        self.lines.append(Line(pieces, item))

    def section(self, name: str, title: str) -> None:
        self.pieces(("", ""))
        self.sections[name] = len(self.lines)
        self.pieces((fitted(f"{title} {'─' * self.width}", self.width).replace("…", "─"), "heading"))

    def add(self, item: Item) -> int:
        self.items.append(item)
        return len(self.items) - 1


def compose_page(facts: EntityFacts, width: int) -> PageText:
    """The page in `width` columns."""
    writer = _Writer(width)
    _head(writer, facts)
    _relations(writer, facts)
    _claims(writer, facts)
    _mentions(writer, facts)
    return PageText(tuple(writer.lines), tuple(writer.items), writer.sections)


def _head(writer: _Writer, facts: EntityFacts) -> None:
    row, view = facts.view.entity, facts.view
    writer.put(plain(row.name), "title")
    counts = f"{_number(row.mentions, 'passage')}, {_number(facts.entry.relations, 'relation')}"
    writer.put(f"{plain(row.type) or 'no type'} · {counts} · #{row.id}", "faint")
    writer.put(plain(row.summary or " ".join(row.descriptions)) or "Nothing was said of what it is.")
    lists: list[tuple[str, Iterable[str]]] = [
        ("Also called", dict.fromkeys(plain(alias.name) for alias in view.aliases))
    ]
    variants = view.variants
    for label, variant in (("Written as", variants.names), ("Read as", variants.types)):
        if len(variant) > 1:
            lists.append((label, [f"{plain(one.text)} ({one.mentions:,})" for one in variant]))
    lists.append(("In", [f"{plain(one.text)} ({one.mentions:,})" for one in variants.documents]))
    lists.append(
        (
            "Merged by localrag",
            [f"{plain(one.name)} ({'; '.join(map(plain, one.evidence))})" for one in view.merged],
        )
    )
    for label, found in lists:
        if words := _listed(list(found)):
            writer.put(f"{label}: {words}", "faint")
    for community in facts.communities:
        item = writer.add(Item("community", community.id, text=plain(community.title)))
        writer.put(f"Community: {plain(community.title)}", "name", item=item)


def _relations(writer: _Writer, facts: EntityFacts) -> None:
    writer.section("relations", f"Relations ({facts.entry.relations:,})")
    if not facts.relations:
        writer.put("No passage connects it with anything else.", "faint")
    for told in facts.relations:
        _relation(writer, facts.entry.id, told)
    more = facts.entry.relations - len(facts.relations)
    if more > 0:
        item = writer.add(Item("more relations"))
        writer.put(f"{more:,} more: enter shows them", "name", item=item)


def _relation(writer: _Writer, here: int, told: ToldRelation) -> None:
    row = told.relation
    out = row.source_id == here
    other, name = (row.target_id, plain(row.target)) if out else (row.source_id, plain(row.source))
    description, keywords = plain(row.description), plain(row.keywords)
    item = writer.add(
        Item(
            "relation",
            other,
            _spots(told.places),
            text=f"{plain(row.source)} → {plain(row.target)}: {description}",
        )
    )
    right = f"{row.weight:,}×" if row.weight > 1 else ""
    arrow = "→ " if out else "← "
    room = writer.width - cell_len(right) - 4
    label = f"  {keywords}" if keywords else ""
    name = name if cell_len(name) <= room else fitted(name, room).rstrip()
    label = fitted(label, max(0, room - cell_len(name)))
    writer.pieces((arrow, "faint"), (name, "name"), (label, "said"), (f"  {right}", "faint"), item=item)
    if description:
        writer.put(description, indent=2, item=item)
    writer.put(_places(told.places, row.weight), "faint", indent=2, item=item)


def _claims(writer: _Writer, facts: EntityFacts) -> None:
    writer.section("claims", f"Claims by time ({len(facts.claims):,})")
    if not facts.claims:
        writer.put("No claims were read. In a terminal, localrag claims extract reads them.", "faint")
    for placed in facts.claims:
        claim = placed.claim
        spots = tuple(Spot(placed.document_id, start, end) for start, end in placed.spans)
        item = writer.add(Item("claim", places=spots, words=claim.quotes, text=plain(claim.description)))
        when, status = claim_dates(claim.start_date, claim.end_date), STATUS[claim.status]
        who = plain(claim.subject)
        if claim.object and (claim.object_id is None or claim.object_id != claim.subject_id):
            who = f"{who} → {plain(claim.object)}"
        head = f"{status}, {plain(claim.type).lower()}: {who}"
        if writer.width >= 60:
            for number, line in enumerate(wrapped(head, writer.width - _DATE - 1)):
                date = when if number == 0 else ""
                writer.pieces((fitted(date, _DATE) + " ", "heading"), (line, "name"), item=item)
        else:
            writer.put(f"{when}  {head}", "name", item=item)
        writer.put(plain(claim.description), indent=2, item=item)
        for quote in claim.quotes[:1]:
            writer.put(f"“{plain(quote)}”", "said", indent=2, item=item)
        writer.put(_where(placed.document, placed.page), "faint", indent=2, item=item)


def _mentions(writer: _Writer, facts: EntityFacts) -> None:
    writer.section("mentions", f"Mentions ({facts.total:,})")
    place = ""
    for mention in facts.mentions:
        spots, sentence = _spots([mention.place]), plain(mention.sentence)
        item = writer.add(Item("mention", places=spots, words=(mention.name,), text=sentence))
        here = _where(mention.place.document, mention.place.page)
        if here != place:
            writer.put(here, "faint", item=item)
            place = here
        _marked(writer, sentence, plain(mention.name), item)
    more = facts.total - facts.mentioned
    if more > 0:
        item = writer.add(Item("more mentions"))
        writer.put(f"{more:,} more: enter shows them", "name", item=item)


def _marked(writer: _Writer, sentence: str, name: str, item: int) -> None:
    """A sentence with the name marked wherever it stands in one line."""
    for line in wrapped(sentence, writer.width - 2):
        pieces: list[tuple[str, Tone]] = [("  ", "")]
        rest = line
        while name and name in rest:
            before, _, rest = rest.partition(name)
            pieces += [(before, ""), (name, "mark")]
        writer.pieces(*pieces, (rest, ""), item=item)


def claim_dates(start: str, end: str) -> str:
    """When it was: a day, or a year where the two days make one."""
    if not start and not end:
        return "undated"
    if start == end:
        return start
    if start[5:] == "01-01" and end == f"{start[:4]}-12-31":
        return start[:4]
    return f"{start or '…'} – {end or '…'}"


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of `width` cells; words that are longer, as Chinese sentences are, are parted."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
        elif line and cell_len(word) <= width:
            lines.append(line)
            line = word
        else:
            # It begins in the line that is begun, and goes on in as many as it takes.
            while cell_len(joined) > width:
                head = set_cell_size(joined, width).rstrip(" ")
                head = head if joined.startswith(head) and head else joined[: max(1, len(head) - 1)]
                lines.append(head)
                joined = joined[len(head) :].lstrip(" ")
            line = joined
    return [*lines, line]


def _places(places: Sequence[Place], weight: int) -> str:
    shown = list(dict.fromkeys(_where(place.document, place.page) for place in places))
    more = weight - len(places)
    return " · ".join(shown) + (f" and {_number(more, 'more passage')}" if more > 0 else "")


def _spots(places: Sequence[Place]) -> tuple[Spot, ...]:
    return tuple(Spot(place.document_id, place.start, place.end) for place in places)


def _where(document: str, page: int | None) -> str:
    return f"{plain(document)}, page {page}" if page is not None else plain(document)


def _listed(words: Sequence[str]) -> str:
    more = len(words) - _LISTED
    return ", ".join(words[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _number(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
