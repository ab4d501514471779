"""Communities of entities and a report about each: the model's, or where it has none yet, the facts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from localrag.errors import SourceGone, UsageError
from localrag.store.community_matching import successors
from localrag.store.facts import report_of_facts
from localrag.store.journal import insert_generation, insert_sources
from localrag.store.origins import drop_calls
from localrag.store.report_rows import CommunityRow, Finding, NewCommunity, NewReport, ReportRow, SourceKind
from localrag.store.rows import GenerationRow
from localrag.store.session import Session, listed
from localrag.store.sqlite import clean

_WHOLE = -1
"""Place, in `report_sources`, of what the report as a whole rests on."""

_TABLES: dict[SourceKind, str] = {"entity": "entities", "relation": "relations", "claim": "claims"}

Source = tuple[SourceKind, int]


class Reports:
    """Stores communities with their members, and reports with what they rest on."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put_communities(self, communities: Sequence[NewCommunity], divided: str = "") -> list[int | None]:
        """Store a new division of the graph in place of the old one; returns the ids in the same order, None
        for a community whose members are all gone.

        A community that shares enough members with one from before (see community_matching.py) goes on as
        it: with the same members it keeps its report and its state, with others its report is marked. All
        that have no successor go. `divided` is the hash of what was divided. Raises `IndexError` for a
        parent that is not in the list.
        """
        session = self._session
        with session.transaction():
            before = self.communities()
            alive = set(session.column("SELECT id FROM entities"))
            after = [
                (community.level, tuple(sorted(set(community.members) & alive))) for community in communities
            ]
            kept = successors([(row.level, row.members) for row in before], after)
            self._remove({row.id for row in before} - {before[old].id for old in kept.values()})
            ids: list[int | None] = []
            for place, (level, members) in enumerate(after):
                if place in kept:
                    ids.append(self._continue(before[kept[place]], level, members))
                else:
                    ids.append(self._insert(level, members) if members else None)
            for community_id, community in zip(ids, communities, strict=True):
                parent = None if community.parent is None else ids[community.parent]
                session.run("UPDATE communities SET parent_id = ? WHERE id = ?", [parent, community_id])
            session.run("UPDATE meta SET divided = ?", [clean(divided)])
            session.touch()
        return ids

    def divided(self) -> str:
        """Hash of what was last divided, as the caller gave it; empty if nothing was."""
        return str(self._session.value("SELECT divided FROM meta"))

    def communities(self, level: int | None = None) -> list[CommunityRow]:
        """All communities, or those of a level, by level and id."""
        where = "" if level is None else "WHERE level = ?"
        return self._communities(where + " ORDER BY level, id", [] if level is None else [level])

    def community(self, community_id: int) -> CommunityRow:
        """One community. Raises `UsageError` if it is not there."""
        found = self._communities("WHERE id = ?", [community_id])
        if not found:
            raise UsageError(f"There is no community {community_id} in the knowledge base.")
        return found[0]

    def dirty(self, limit: int | None = None) -> list[int]:
        """Communities, coarse ones last, without a model's report or with one that is behind."""
        return self._session.column(
            "SELECT c.id FROM communities c LEFT JOIN reports r ON r.community_id = c.id "
            "WHERE c.dirty = 1 OR r.id IS NULL OR r.dirty = 1 ORDER BY c.level DESC, c.id LIMIT ?",
            [-1 if limit is None else max(limit, 0)],
        )

    def get(self, community_id: int) -> ReportRow:
        """What is known of a community. Raises `UsageError` if it is not there."""
        return self._report(self.community(community_id))

    def facts(self, community_id: int) -> ReportRow:
        """What is known of a community without any model. Raises `UsageError` if it is not there."""
        return report_of_facts(self._session, self.community(community_id))

    def all(self, level: int | None = None) -> list[ReportRow]:
        """What is known of all communities, or of those of a level, by level and id."""
        return [self._report(community) for community in self.communities(level)]

    def put(
        self,
        community_id: int,
        report: NewReport,
        generation: GenerationRow,
        sources: Collection[int],
        input_hash: str = "",
    ) -> bool:
        """Store the model's report with the call that wrote it, in place of an earlier one and its call.

        `sources` are the chunks that all that the model read came from, `chunks_of` the widest choice.
        Returns False, and stores nothing, if the community is gone. Raises `SourceGone` if a chunk is, or a
        row that the report cites; `ValueError` without sources.
        """
        session = self._session
        if not sources:
            raise ValueError("a report that rests on no chunk")
        with session.transaction():
            if session.value("SELECT 1 FROM communities WHERE id = ?", [community_id]) is None:
                return False
            # The new call first: both may have been made with the same prompt, which must not go between.
            generation_id = insert_generation(session, generation)
            insert_sources(session, generation_id, sources)
            self._drop_report(community_id)
            self._insert_report(community_id, report, generation_id)
            session.run(
                "UPDATE communities SET dirty = 0, input_hash = ? WHERE id = ?",
                [clean(input_hash), community_id],
            )
            session.touch()
        return True

    def chunks_of(self, community_id: int) -> list[int]:
        """Chunks that say anything of the community: its members, relations among them, claims about them."""
        members = listed(self.community(community_id).members)
        found = "SELECT value FROM json_each(?1)"
        return self._session.column(
            f"SELECT chunk_id FROM mentions WHERE entity_id IN ({found}) UNION "
            "SELECT m.chunk_id FROM relation_mentions m JOIN relations r ON r.id = m.relation_id "
            f"WHERE r.source_id IN ({found}) AND r.target_id IN ({found}) UNION "
            f"SELECT chunk_id FROM claims WHERE subject_id IN ({found}) ORDER BY 1",
            [members],
        )

    def _communities(self, rest: str, parameters: Sequence[Any]) -> list[CommunityRow]:
        rows = self._session.rows(
            f"SELECT id, level, parent_id, input_hash, dirty FROM communities {rest}", parameters
        )
        members: dict[int, list[int]] = {}
        for community_id, entity_id in self._session.rows(
            "SELECT community_id, entity_id FROM community_members "
            "WHERE community_id IN (SELECT value FROM json_each(?)) ORDER BY community_id, entity_id",
            [listed(row[0] for row in rows)],
        ):
            members.setdefault(community_id, []).append(entity_id)
        return [
            CommunityRow(row[0], row[1], row[2], tuple(members.get(row[0], ())), row[3], bool(row[4]))
            for row in rows
        ]

    def _report(self, community: CommunityRow) -> ReportRow:
        row = self._session.row(
            "SELECT id, made_from, dirty, made_at, title, rating, rating_reason, summary, findings, cut, "
            "language FROM reports WHERE community_id = ?",
            [community.id],
        )
        if row is None or row[1] == "facts":
            return report_of_facts(self._session, community)
        report_id, made_from, dirty, made_at, title, rating, reason, summary, findings, cut, language = row
        sources: dict[int, list[Source]] = {}
        for finding, kind, row_id in self._session.rows(
            "SELECT finding, kind, row_id FROM report_sources WHERE report_id = ? "
            "ORDER BY finding, kind, row_id",
            [report_id],
        ):
            sources.setdefault(finding, []).append((kind, row_id))
        return ReportRow(
            community_id=community.id,
            level=community.level,
            made_from=made_from,
            dirty=bool(dirty or community.dirty),
            title=title,
            summary=summary,
            findings=tuple(
                Finding(item["summary"], item["explanation"], tuple(sources.get(place, ())))
                for place, item in enumerate(json.loads(findings))
            ),
            rating=rating,
            rating_reason=reason,
            sources=tuple(sources.get(_WHOLE, ())),
            made_at=made_at,
            cut=bool(cut),
            language=language,
        )

    def _continue(self, before: CommunityRow, level: int, members: tuple[int, ...]) -> int:
        """Let a community go on with a level and members that may be others; returns its id."""
        session = self._session
        if before.level != level:
            session.run("UPDATE communities SET level = ? WHERE id = ?", [level, before.id])
        if before.members != members:
            session.run("DELETE FROM community_members WHERE community_id = ?", [before.id])
            self._insert_members(before.id, members)
            session.run("UPDATE communities SET dirty = 1 WHERE id = ?", [before.id])
        return before.id

    def _insert(self, level: int, members: Iterable[int]) -> int:
        community_id = self._session.insert("INSERT INTO communities (level) VALUES (?)", [level])
        self._insert_members(community_id, members)
        return community_id

    def _insert_members(self, community_id: int, members: Iterable[int]) -> None:
        self._session.run_many(
            "INSERT INTO community_members (community_id, entity_id) VALUES (?, ?)",
            [(community_id, entity_id) for entity_id in members],
        )

    def _insert_report(self, community_id: int, report: NewReport, generation_id: int) -> None:
        findings = [
            {"summary": clean(item.summary), "explanation": clean(item.explanation)}
            for item in report.findings
        ]
        report_id = self._session.insert(
            "INSERT INTO reports (community_id, generation_id, made_from, dirty, made_at, title, rating, "
            "rating_reason, summary, findings, cut, language) VALUES (?,?,'model',0,?,?,?,?,?,?,?,?)",
            [
                community_id,
                generation_id,
                datetime.now(UTC).isoformat(timespec="seconds"),
                clean(report.title),
                report.rating,
                clean(report.rating_reason),
                clean(report.summary),
                json.dumps(findings, ensure_ascii=False),
                int(report.cut),
                clean(report.language),
            ],
        )
        cited = {(_WHOLE, *source) for source in report.sources}
        for place, finding in enumerate(report.findings):
            cited |= {(place, *source) for source in finding.sources}
        self._require({(kind, row_id) for _, kind, row_id in cited})
        self._session.run_many(
            "INSERT INTO report_sources (report_id, finding, kind, row_id) VALUES (?, ?, ?, ?)",
            [(report_id, *source) for source in sorted(cited)],
        )

    def _require(self, sources: Collection[Source]) -> None:
        """Raise `SourceGone` unless all these rows are there."""
        for kind, table in _TABLES.items():
            wanted = {row_id for found, row_id in sources if found == kind}
            there = self._session.value(
                f"SELECT count(*) FROM {table} WHERE id IN (SELECT value FROM json_each(?))", [listed(wanted)]
            )
            if there != len(wanted):
                raise SourceGone("Something that the report cites was deleted meanwhile.", "Try again.")

    def _drop_report(self, community_id: int) -> None:
        calls = self._session.column(
            "SELECT generation_id FROM reports WHERE community_id = ? AND generation_id IS NOT NULL",
            [community_id],
        )
        drop_calls(self._session, calls)
        self._session.run("DELETE FROM reports WHERE community_id = ?", [community_id])

    def _remove(self, community_ids: Iterable[int]) -> None:
        for community_id in community_ids:
            self._drop_report(community_id)
            self._session.run("DELETE FROM communities WHERE id = ?", [community_id])
