"""A community's report and the overview of a file as paragraphs, some of which lead somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from localrag.plain import plain, plain_lines
from localrag.tui.words import count, share

if TYPE_CHECKING:
    from localrag.kb import Status
    from localrag.store.entity_list import EntityEntry
    from localrag.store.report_rows import Finding, SourceKind
    from localrag.store.rows import DocumentRow
    from localrag.surveying import Cited, CommunityPage, Survey

NONE_YET = (
    "This file has no communities yet.",
    "A community is a group of entities that have much to do with each other: the people and places of one "
    "story, the parts of one project. Communities hold smaller ones, and each gets a report with a rating, "
    "so that one can ask about the whole and not only about single passages. They are found in the graph of "
    "what was indexed.",
)
"""What is said where there are none."""

_STATUS = {
    "TRUE": "said to be so",
    "FALSE": "said not to be so",
    "SUSPECTED": "suspected",
}
_KINDS: dict[str, str] = {"entity": "Entity", "relation": "Relation", "claim": "Claim"}
_MOST_DOCUMENTS = 20
_SHORT = 300


@dataclass(frozen=True)
class Target:
    """Where a paragraph leads."""

    kind: Literal["entity", "relation", "claim", "document"]
    """What it is about."""

    id: int
    """Its row."""

    entity_id: int | None = None
    """The entity whose page has it."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a page."""

    text: Text
    """What it says, harmless to show."""

    target: Target | None = None
    """Where it leads; None if it is only to be read."""


def heading(words: str) -> Paragraph:
    """A heading."""
    return Paragraph(Text(f"\n{plain(words)}", style="bold underline"))


def report_page(page: CommunityPage) -> list[Paragraph]:
    """A community's page: the report with what it cites, then the members."""
    report = page.report
    lines = [Paragraph(Text(plain(report.title) or "(no title)", style="bold")), Paragraph(_facts(page))]
    if report.summary:
        lines.append(Paragraph(Text(plain_lines(report.summary))))
    if report.made_from == "model":
        lines += _cited(report.sources, page.cited)
    if report.findings:
        lines.append(heading("What was found" if report.made_from == "model" else "Relations and claims"))
    for number, finding in enumerate(report.findings, 1):
        lines += _finding(number, finding, page.cited)
    lines.append(heading(f"Members ({page.size:,})"))
    lines += map(_entity, page.members)
    if page.size > len(page.members):
        lines.append(Paragraph(Text(f"  … and {page.size - len(page.members):,} more", style="dim")))
    return lines


def overview_page(survey: Survey, status: Status, communities: int) -> list[Paragraph]:
    """What the file holds."""
    lines = [Paragraph(Text("What this file holds", style="bold"))]
    if not communities:
        lines += [
            Paragraph(Text(words, style="bold" if number == 0 else ""))
            for number, words in enumerate(NONE_YET)
        ]
    coverage = status.coverage
    facts = [
        f"{count(len(status.documents), 'document')}, {count(coverage.total, 'passage')}, "
        f"{share(coverage.read, coverage.total)}",
        f"{count(status.graph.entities, 'entity', 'entities')}, {count(status.graph.relations, 'relation')}, "
        f"{count(communities, 'community', 'communities')}",
    ]
    lines.append(Paragraph(Text("\n".join(facts))))
    if not survey.entities:
        lines.append(
            Paragraph(Text("The model has found nothing yet. f4 goes to the place where it reads the texts."))
        )
    if survey.connected:
        lines.append(heading("Most connected"))
        lines += map(_entity, survey.connected)
    if survey.types:
        lines.append(heading("Kinds of entities"))
        lines.append(Paragraph(Text("  " + ", ".join(f"{plain(name)} {n:,}" for name, n in survey.types))))
    if survey.claims:
        lines.append(heading("Claims"))
        told = (f"  {n:,} {_STATUS.get(name, name)}" for name, n in sorted(survey.claims.items()))
        lines.append(Paragraph(Text("\n".join(told))))
    lines += _unread(status.documents)
    return lines


def as_text(lines: Iterable[Paragraph]) -> str:
    """The whole page as plain text, to copy."""
    return "\n".join(line.text.plain for line in lines).strip()


def _facts(page: CommunityPage) -> Text:
    report = page.report
    text = Text(f"Level {report.level + 1}, {count(page.size, 'member')}", style="")
    if report.rating is not None:
        text.append(f". Rating {report.rating:g} of 10")
        if report.rating_reason:
            text.append(f": {plain(report.rating_reason).rstrip('.')}")
    text.append(".\n")
    if report.made_from == "model":
        text.append(
            f"Written by the model{f' on {report.made_at[:10]}' if report.made_at else ''}.", style="italic"
        )
        if report.dirty:
            text.append(" The texts have changed since, so it may be behind.", style="italic")
        if report.cut:
            text.append(" It was cut short.", style="italic")
    else:
        text.append(
            "No report was written yet: this is what the file holds of it, put in order.", style="italic"
        )
    return text


def _finding(
    number: int, finding: Finding, cited: dict[tuple[SourceKind, int], Cited]
) -> Iterator[Paragraph]:
    text = Text(f"{number}. {plain(finding.summary)}", style="bold")
    explained = plain_lines(finding.explanation)
    if explained and explained != finding.summary:
        text.append(f"\n{explained}", style="not bold")
    yield Paragraph(text)
    yield from _cited(finding.sources, cited)


def _cited(
    sources: Sequence[tuple[SourceKind, int]], cited: dict[tuple[SourceKind, int], Cited]
) -> Iterator[Paragraph]:
    """A line for each thing that is cited; what is gone is said to be."""
    for kind, row_id in sources:
        item = cited.get((kind, row_id))
        if item is None:
            yield Paragraph(Text(f"  · {_KINDS[kind]} {row_id}: no longer there", style="dim"))
            continue
        text = Text(f"  ▸ {_KINDS[kind]}: ", style="dim").append(plain(item.label), style="not dim underline")
        detail = plain(item.detail)
        if detail:
            text.append(f"  {detail[:_SHORT]}{'…' if len(detail) > _SHORT else ''}")
        yield Paragraph(text, Target(kind, row_id, item.entity_id))


def _entity(entry: EntityEntry) -> Paragraph:
    text = Text("  ▸ ", style="dim").append(plain(entry.name), style="not dim underline")
    text.append(
        f"  {plain(entry.type)}, {count(entry.relations, 'relation')}, {count(entry.mentions, 'passage')}"
    )
    return Paragraph(text, Target("entity", entry.id, entry.id))


def _unread(documents: Sequence[DocumentRow]) -> list[Paragraph]:
    """The documents that were not read, or not wholly, those with most to read first."""
    waiting = [row for row in documents if row.read < row.chunks or row.status in ("failed", "skipped")]
    if not waiting:
        return (
            [] if not documents else [heading("Not read"), Paragraph(Text("  Nothing: everything was read."))]
        )
    lines = [heading(f"Not read ({count(len(waiting), 'document')})")]
    for row in sorted(waiting, key=lambda row: (row.read - row.chunks, row.path))[:_MOST_DOCUMENTS]:
        text = Text("  ▸ ", style="dim").append(plain(row.path), style="not dim underline")
        if row.chunks:
            text.append(f"  {row.chunks - row.read:,} of {count(row.chunks, 'passage')} not read")
        if row.failed:
            text.append(f", {row.failed:,} failed")
        if row.reason:
            text.append(f"  {plain(row.reason)}")
        lines.append(Paragraph(text, Target("document", row.id)))
    if len(waiting) > _MOST_DOCUMENTS:
        lines.append(Paragraph(Text(f"  … and {len(waiting) - _MOST_DOCUMENTS:,} more", style="dim")))
    return lines
