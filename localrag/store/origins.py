"""What rests on passages goes with them: summaries, reports, kept answers, citations, and the calls behind.

`generation_sources` says which chunks a call of the model rested on. What a call made goes when one of them
goes or is read again. In its place stands at once what needs no model and is computed when it is read: the
descriptions of an entity or relation for its summary, the facts for a report (facts.py). So nothing here
copies text, and no text can be left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from localrag.store.report_rows import Footprint
from localrag.store.session import Session, listed
from localrag.store.traces import forget_traces

_ID_IN = "IN (SELECT value FROM json_each(?))"
_OWNERS = (("entities", "mentions", "entity_id"), ("relations", "relation_mentions", "relation_id"))

_FOOTPRINT = (
    "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM entities), "
    "(SELECT count(*) FROM relations), "
    "(SELECT count(*) FROM mentions) + (SELECT count(*) FROM relation_mentions), "
    "(SELECT count(*) FROM claims), "
    "(SELECT count(*) FROM entities WHERE summary <> '' AND dirty = 0) + "
    "(SELECT count(*) FROM relations WHERE summary <> '' AND dirty = 0), "
    "(SELECT count(*) FROM reports WHERE made_from = 'model' AND dirty = 0), "
    "(SELECT count(*) FROM answers), (SELECT count(*) FROM citations WHERE gone = 0), "
    "(SELECT count(*) FROM documents)"
)

_PROBLEMS = (
    (
        "{} claims are about something that their passage does not mention.",
        "SELECT count(*) FROM claims k WHERE NOT EXISTS "
        "(SELECT 1 FROM mentions WHERE chunk_id = k.chunk_id AND key = k.subject_key) OR (k.object_key <> '' "
        "AND NOT EXISTS (SELECT 1 FROM mentions WHERE chunk_id = k.chunk_id AND key = k.object_key))",
    ),
    (
        "{} citations have a text and no passage that it comes from.",
        "SELECT count(*) FROM citations WHERE text <> '' AND (gone = 1 OR chunk_id IS NULL)",
    ),
    (
        "{} reports of facts hold a text, which would stay when its source goes.",
        "SELECT count(*) FROM reports WHERE made_from = 'facts' AND "
        "(title || summary || rating_reason <> '' OR findings <> '[]' OR generation_id IS NOT NULL)",
    ),
    (
        "{} calls of the model belong to one passage and rest on others.",
        "SELECT count(*) FROM generations g WHERE chunk_id IS NOT NULL AND EXISTS "
        "(SELECT 1 FROM generation_sources WHERE generation_id = g.id)",
    ),
)


class Origins:
    """Says how much there is of all that comes from documents."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def footprint(self) -> Footprint:
        """What all documents together amount to; taken before and after a change, it says what changed."""
        return Footprint(*(self._session.row(_FOOTPRINT) or ()))


def problems(session: Session) -> list[str]:
    """What rests on passages and is not as this module leaves it, one sentence each."""
    return [sentence.format(f"{count:,}") for sentence, sql in _PROBLEMS if (count := session.value(sql))]


def forget_chunks(session: Session, chunk_ids: Collection[int]) -> None:
    """Take back all that rests on chunks that are about to be deleted, within the caller's transaction.

    To be called before the chunks are deleted. Messages stay; their citations of these chunks lose the text
    and what they pointed to, and keep the path of the document.
    """
    # The label of an entity or a relation is a name out of the text; that of a document is its path.
    session.run(
        "UPDATE citations SET gone = 1, text = '', document_id = NULL, chunk_id = NULL, "
        "label = CASE kind WHEN 'document' THEN label ELSE '' END "
        f"WHERE chunk_id {_ID_IN}",
        [listed(chunk_ids)],
    )
    forget_traces(session, chunk_ids)
    forget_readings(session, chunk_ids)


def forget_readings(session: Session, chunk_ids: Collection[int]) -> None:
    """Take back all that was made from what was read in chunks, within the caller's transaction.

    For chunks that stay and are about to be read again; what was read there is still to be deleted by the
    caller, afterwards.
    """
    ids = [listed(chunk_ids)]
    note_removal(session)
    calls = session.column(
        "SELECT DISTINCT s.generation_id FROM generation_sources s JOIN generations g "
        f"ON g.id = s.generation_id WHERE s.chunk_id {_ID_IN} AND g.chunk_id IS NULL",
        ids,
    )
    citing = session.column(
        "SELECT DISTINCT report_id FROM report_sources WHERE kind = 'claim' AND row_id IN "
        f"(SELECT id FROM claims WHERE chunk_id {_ID_IN})",
        ids,
    )
    if citing:
        calls += _reports_to_facts(session, citing)
    drop_calls(session, calls)


def forget(session: Session, entities: Collection[int], relations: Collection[int]) -> None:
    """Bring summaries, reports and communities into line with changed mentions, within the transaction.

    `entities` and `relations` are those whose mentions changed. To be called when their mentions are as they
    will be, and before those without any are removed. A summary or report whose call names its chunks rests
    on nothing that went, or `forget_chunks` had taken it; it is marked for renewal. One that does not tell
    what it rests on is taken back, as is a summary of mentions that belong to another row now.
    """
    if not entities and not relations:
        return
    changed = (listed(entities), listed(relations))
    calls: list[int] = []
    gone: list[list[int]] = []
    for (table, mentions, owner), ids in zip(_OWNERS, changed, strict=True):
        calls += _drop_unsourced_summaries(session, table, mentions, owner, ids)
        session.run(f"UPDATE {table} SET dirty = 1 WHERE id {_ID_IN} AND dirty = 0", [ids])
        gone.append(
            session.column(
                f"SELECT id FROM {table} WHERE id {_ID_IN} AND NOT EXISTS "
                f"(SELECT 1 FROM {mentions} WHERE {owner} = {table}.id)",
                [ids],
            )
        )
        calls += _calls_of(session, table, gone[-1])
    calls += _settle_reports(session, changed, gone)
    drop_calls(session, calls)


def outdate(session: Session, entities: Collection[int], relations: Collection[int] = ()) -> None:
    """Mark communities and reports that lack something new about these, within the caller's transaction."""
    if entities or relations:
        _outdate_communities(session, (listed(entities), listed(relations)))


def note_removal(session: Session) -> None:
    """Say that something goes of which nothing may be left in the file; see scrubbing.py."""
    session.run("UPDATE meta SET removed = removed + 1")


def drop_calls(session: Session, calls: Collection[int]) -> None:
    """Delete calls with all that they made, within the transaction: summaries, reports, kept answers, claims,
    rejects, and prompts that no other call used. Not for calls that mentions came from."""
    if not calls:
        return
    note_removal(session)
    ids = [listed(calls)]
    resting = {
        table: session.column(f"SELECT id FROM {table} WHERE generation_id {_ID_IN}", ids)
        for table in ("entities", "relations", "reports")
    }
    for table in ("entities", "relations"):
        session.run(
            f"UPDATE {table} SET summary = '', dirty = 1, generation_id = NULL WHERE id {_ID_IN}",
            [listed(resting[table])],
        )
    _reports_to_facts(session, resting["reports"])
    prompts = session.column(f"SELECT DISTINCT prompt_hash FROM generations WHERE id {_ID_IN}", ids)
    session.run(f"DELETE FROM generations WHERE id {_ID_IN}", ids)
    session.run(
        f"DELETE FROM prompts WHERE hash {_ID_IN} AND NOT EXISTS "
        "(SELECT 1 FROM generations WHERE prompt_hash = prompts.hash)",
        [listed(prompts)],
    )
    _renew_texts(session, resting["entities"], resting["relations"])


def _drop_unsourced_summaries(session: Session, table: str, mentions: str, owner: str, ids: str) -> list[int]:
    """Empty summaries whose call does not say what it rested on, or that rest on a chunk which does not
    mention the row any more, since its mentions were moved elsewhere; returns these calls."""
    found = session.rows(
        f"SELECT id, generation_id FROM {table} WHERE id {_ID_IN} AND summary <> '' AND (NOT EXISTS "
        f"(SELECT 1 FROM generation_sources s WHERE s.generation_id = {table}.generation_id) OR EXISTS "
        f"(SELECT 1 FROM generation_sources s WHERE s.generation_id = {table}.generation_id AND NOT EXISTS "
        f"(SELECT 1 FROM {mentions} m WHERE m.{owner} = {table}.id AND m.chunk_id = s.chunk_id)))",
        [ids],
    )
    if found:
        session.run(f"UPDATE {table} SET summary = '' WHERE id {_ID_IN}", [listed(row[0] for row in found)])
    return [call for _, call in found if call is not None]


def _calls_of(session: Session, table: str, ids: Collection[int]) -> list[int]:
    """The calls that wrote the summaries of these rows."""
    return session.column(
        f"SELECT generation_id FROM {table} WHERE id {_ID_IN} AND generation_id IS NOT NULL", [listed(ids)]
    )


def _settle_reports(session: Session, changed: tuple[str, str], gone: list[list[int]]) -> list[int]:
    """Mark communities with a changed member and their reports, take back reports that rest on what goes;
    returns the calls that made these."""
    touched = [listed(_outdate_communities(session, changed))]
    if touched == ["[]"]:
        return []
    calls = _reports_to_facts(
        session,
        session.column(
            f"SELECT id FROM reports WHERE community_id {_ID_IN} AND made_from = 'model' AND (NOT EXISTS "
            "(SELECT 1 FROM generation_sources s WHERE s.generation_id = reports.generation_id) OR EXISTS "
            "(SELECT 1 FROM report_sources s WHERE s.report_id = reports.id AND "
            f"((s.kind = 'entity' AND s.row_id {_ID_IN}) OR (s.kind = 'relation' AND s.row_id {_ID_IN}))))",
            [*touched, *map(listed, gone)],
        ),
    )
    empty = session.column(
        f"SELECT id FROM communities WHERE id {_ID_IN} AND NOT EXISTS (SELECT 1 FROM community_members m "
        f"WHERE m.community_id = communities.id AND m.entity_id NOT {_ID_IN})",
        [*touched, listed(gone[0])],
    )
    calls += session.column(
        f"SELECT generation_id FROM reports WHERE community_id {_ID_IN} AND generation_id IS NOT NULL",
        [listed(empty)],
    )
    session.run(f"DELETE FROM communities WHERE id {_ID_IN}", [listed(empty)])
    return calls


def _outdate_communities(session: Session, changed: tuple[str, str]) -> list[int]:
    """Mark communities with a changed entity or relation among them or in their claims, and their reports;
    returns them."""
    communities = session.column(
        f"SELECT community_id FROM community_members WHERE entity_id {_ID_IN} UNION "
        "SELECT s.community_id FROM relations r JOIN community_members s ON s.entity_id = r.source_id "
        "JOIN community_members t ON t.entity_id = r.target_id AND t.community_id = s.community_id "
        f"WHERE r.id {_ID_IN} UNION "
        # A claim about a member may name something outside of the community.
        "SELECT m.community_id FROM claims c JOIN community_members m ON m.entity_id = c.subject_id "
        f"WHERE c.object_id {_ID_IN}",
        [*changed, changed[0]],
    )
    if communities:
        ids = [listed(communities)]
        session.run(f"UPDATE communities SET dirty = 1 WHERE id {_ID_IN}", ids)
        session.run(f"UPDATE reports SET dirty = 1 WHERE community_id {_ID_IN}", ids)
    return communities


def _reports_to_facts(session: Session, report_ids: Iterable[int]) -> list[int]:
    """Let the facts stand in a report's place, to be renewed; returns the calls that made the reports."""
    ids = [listed(report_ids)]
    calls = session.column(
        f"SELECT generation_id FROM reports WHERE id {_ID_IN} AND generation_id IS NOT NULL", ids
    )
    session.run(
        "UPDATE communities SET dirty = 1, input_hash = '' WHERE id IN "
        f"(SELECT community_id FROM reports WHERE id {_ID_IN})",
        ids,
    )
    session.run(
        "UPDATE reports SET made_from = 'facts', dirty = 1, generation_id = NULL, title = '', rating = NULL, "
        "rating_reason = '', summary = '', findings = '[]', cut = 0, language = '' "
        f"WHERE id {_ID_IN}",
        ids,
    )
    session.run(f"DELETE FROM report_sources WHERE report_id {_ID_IN}", ids)
    return calls


def _renew_texts(session: Session, entities: Iterable[int], relations: Iterable[int]) -> None:
    """Note which text the vectors of rows without their summary have to be made from."""
    # Here, since upkeep calls `forget`.
    from localrag.store.upkeep import entity_text, relation_text, text_hash

    for table, text_of, ids in (("entities", entity_text, entities), ("relations", relation_text, relations)):
        session.run_many(
            f"UPDATE {table} SET text_hash = ? WHERE id = ?",
            [(text_hash(text_of(session, row_id)), row_id) for row_id in ids],
        )
