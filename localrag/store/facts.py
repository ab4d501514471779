"""A report that needs no model: what the file holds about a community, put in order.

It is made when it is read and never stored, so it is always what the documents say now, and nothing of a
deleted document can be left in it. Nothing in it is worded, so it is in the documents' language.
"""

from __future__ import annotations

from collections.abc import Sequence

from localrag.store.claims import Claims
from localrag.store.graph import Graph
from localrag.store.graph_rows import EntityRow, RelationRow
from localrag.store.report_rows import ClaimRow, CommunityRow, Finding, ReportRow
from localrag.store.session import Session, listed
from localrag.store.wording import joined

TITLED = 4
"""Names in a title."""

SUMMARISED = 1500
"""Most characters of a summary."""

EXPLAINED = 500
"""Most characters of one description in a summary or a finding."""

RELATIONS = 10
"""Most findings that are relations."""

CLAIMS = 10
"""Most findings that are claims."""

_ID_IN = "IN (SELECT value FROM json_each(?))"
_ARROW = " → "


def report_of_facts(session: Session, community: CommunityRow) -> ReportRow:
    """What is known of a community: its heaviest members described, then relations and claims among them.

    Members and relations are ordered by the number of chunks that mention them, then by name.
    """
    members = _heaviest_members(session, community)
    relations = _heaviest_relations(session, community)
    claims = Claims(session).among(community.members, CLAIMS)
    names = [member.name for member in members[:TITLED]]
    more = len(community.members) - len(names)
    described = [(member, _described(member)) for member in members]
    return ReportRow(
        community_id=community.id,
        level=community.level,
        made_from="facts",
        dirty=True,
        title=", ".join(names) + (f" +{more}" if more > 0 else ""),
        summary=_bounded([f"{member.name}: {text}" for member, text in described if text], SUMMARISED),
        findings=(*map(_relation_finding, relations), *map(_claim_finding, claims)),
        sources=tuple(sorted(("entity", member.id) for member in members)),
    )


def _heaviest_members(session: Session, community: CommunityRow) -> list[EntityRow]:
    """The members that are told of; more than a summary has room for are not fetched."""
    ids = session.column(
        f"SELECT e.id FROM entities e WHERE e.id {_ID_IN} ORDER BY "
        "(SELECT count(DISTINCT chunk_id) FROM mentions WHERE entity_id = e.id) DESC, e.name, e.key LIMIT ?",
        [listed(community.members), max(SUMMARISED // 10, TITLED)],
    )
    return Graph(session).entities(ids)


def _heaviest_relations(session: Session, community: CommunityRow) -> list[RelationRow]:
    members = listed(community.members)
    ids = session.column(
        "SELECT r.id FROM relations r JOIN entities s ON s.id = r.source_id JOIN entities t "
        f"ON t.id = r.target_id WHERE r.source_id {_ID_IN} AND r.target_id {_ID_IN} ORDER BY "
        "(SELECT count(DISTINCT chunk_id) FROM relation_mentions WHERE relation_id = r.id) DESC, "
        "s.key, t.key LIMIT ?",
        [members, members, RELATIONS],
    )
    return Graph(session).relations(ids)


def _described(member: EntityRow) -> str:
    return _cut(member.summary or joined(member.descriptions), EXPLAINED)


def _relation_finding(relation: RelationRow) -> Finding:
    ends = f"{relation.source}{_ARROW}{relation.target}"
    head = f"{ends}: {relation.keywords}" if relation.keywords else ends
    return Finding(head, _cut(relation.description, EXPLAINED), (("relation", relation.id),))


def _claim_finding(claim: ClaimRow) -> Finding:
    about = f"{claim.subject}{_ARROW}{claim.object}" if claim.object else claim.subject
    dates = "/".join(date for date in (claim.start_date, claim.end_date) if date)
    head = ", ".join(part for part in (f"{about}: {claim.type}", claim.status, dates) if part)
    return Finding(head, _cut(claim.description, EXPLAINED), (("claim", claim.id),))


def _bounded(lines: Sequence[str], most: int) -> str:
    """As many whole lines as fit, at least one, cut if it must be."""
    kept: list[str] = []
    room = most
    for line in lines:
        if kept and len(line) > room:
            break
        kept.append(_cut(line, most))
        room -= len(line) + 1
    return "\n".join(kept)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
