"""Reads what the page of an entity shows; runs in a thread that may block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localrag.tui.widgets.entity_text import EntityFacts

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase

RELATIONS = 60
"""Relations that a page shows at first."""

MENTIONS = 40
"""Mentions that a page shows at first."""

_CLAIMS = 500


def read_facts(
    kb: KnowledgeBase, entity_id: int, relations: int = RELATIONS, mentions: int = MENTIONS
) -> EntityFacts:
    """All that the page of an entity shows. Raises `UsageError` if it is gone."""
    from localrag.errors import UsageError

    name = f"#{entity_id}"
    graph, entry = kb.graph, kb.graph.entry(entity_id)
    if entry is None:
        raise UsageError(
            "This entity is not there any more.", "It was merged, deleted, or its text has gone."
        )
    total = graph.count_mentions(entity_id)
    return EntityFacts(
        entry=entry,
        view=kb.entities.show(name),
        relations=tuple(graph.relations(entity_id, relations)),
        mentions=tuple(graph.mentions(entity_id, mentions)),
        mentioned=min(mentions, total),
        total=total,
        claims=tuple(kb.claims.timeline(name, _CLAIMS).claims),
        communities=tuple(graph.communities(entity_id)),
    )
