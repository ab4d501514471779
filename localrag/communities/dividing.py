"""Divides the graph into communities, and keeps them in step with it.

Dividing takes seconds and no model, so it is done whenever the graph has changed and somebody asks for
communities. It starts from the communities that are there: what did not change mostly stays, and a community
that goes on keeps its id and its report (see store/community_matching.py). A fresh division does not look
back, so that it depends on nothing but the graph.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from localrag.graph.communities import Division, divide
from localrag.sections import CommunitySettings
from localrag.store.database import Store
from localrag.store.division import DividedGraph
from localrag.store.report_rows import NewCommunity
from localrag.store.sqlite import read_only_error

_RULES = 1
"""Number of the rules by which the graph is divided; a new one has every file divided again."""


@dataclass(frozen=True)
class Divided:
    """What a division gave."""

    communities: int
    """Communities of all levels, those of a single entity included."""

    levels: int
    """Levels."""

    single: int
    """Communities of one entity, which nothing ties to others."""

    kept: int
    """Communities that go on from before."""

    gone: int
    """Communities from before that do not."""

    changed: bool
    """Whether anything was divided; False if the communities were in step with the graph."""

    seconds: float
    """Wall time."""


def in_step(store: Store, settings: CommunitySettings) -> bool:
    """Whether the stored communities are those of the graph as it is now."""
    return store.reports.divided() == _mark(store.divisions.graph(), settings)


def keep_in_step(store: Store, settings: CommunitySettings, *, fresh: bool = False) -> Divided:
    """Divide the graph if it has changed since it was last divided, or always if it is to be `fresh`.

    Raises `KnowledgeBaseReadOnly` if there is something to divide and the file cannot be written.
    """
    began = time.monotonic()
    graph = store.divisions.graph()
    mark = _mark(graph, settings)
    before = [row.id for row in store.reports.communities()]
    changed = fresh or store.reports.divided() != mark
    if changed:
        if store.read_only:
            raise read_only_error(store.path)
        store.reports.put_communities(_communities(graph, settings, fresh=fresh), mark)
    after = store.reports.communities()
    kept = {row.id for row in after} & set(before)
    return Divided(
        communities=len(after),
        levels=1 + max((row.level for row in after), default=-1),
        single=sum(len(row.members) == 1 for row in after),
        kept=len(kept),
        gone=len(before) - len(kept),
        changed=changed,
        seconds=time.monotonic() - began,
    )


def _mark(graph: DividedGraph, settings: CommunitySettings) -> str:
    if not graph.entity_ids:
        return ""
    return f"{_RULES} {settings.max_size} {settings.seed} {graph.digest}"


def _communities(graph: DividedGraph, settings: CommunitySettings, *, fresh: bool) -> list[NewCommunity]:
    division = Division(max_size=settings.max_size, seed=settings.seed)
    looking_back = not fresh and any(community >= 0 for community in graph.before)
    clusters = divide(len(graph.entity_ids), graph.edges, division, graph.before if looking_back else ())
    return [
        NewCommunity(
            cluster.level, tuple(graph.entity_ids[place] for place in cluster.members), cluster.parent
        )
        for cluster in clusters
    ]
