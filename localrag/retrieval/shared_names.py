"""Ways between the things of a question over passages that share names, where no relation was read.

A way goes from a passage that has the first name to one that has the second, each step over a name that both
passages have. It needs no model, so it is there as soon as the text is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from localrag.retrieval.mentions import inside_longer, named_spans
from localrag.retrieval.query import Query
from localrag.store.database import Store
from localrag.store.space_rows import Hit

MOST_CHUNKS = 60
"""A name that more passages have connects nothing in particular."""

MOST_PASSAGES = 3
"""Most passages of a way beside the one that it begins with."""

_AROUND = 600
_STARTS = 12


def between(store: Store, query: Query) -> list[Hit]:
    """The passages of the shortest way between two names of the question, in its order; none without one.

    Of the names of the question the rarest two that are connected count.
    """
    nodes = _nodes(store, query)
    for place, first in enumerate(nodes):
        for second in nodes[place + 1 :]:
            way = _way(store, query, first, second)
            if way:
                return [Hit(chunk, 1 / rank) for rank, chunk in enumerate(way, start=1)]
    return []


def _nodes(store: Store, query: Query) -> list[int]:
    """The names of the question that count, the rarest first, without those inside longer ones."""
    spans = named_spans("\n".join([query.question, *query.keywords.low]))
    nodes = store.zero.nodes(spans)
    taken = [span for node in nodes for span in spans.get(node.key, ())]
    free = [node for node in nodes if not all(inside_longer(span, taken) for span in spans.get(node.key, ()))]
    return [node.id for node in sorted(free, key=lambda node: (node.chunks, node.key))][:4]


def _way(store: Store, query: Query, first: int, second: int) -> list[int]:
    """Chunks from one that has the first name to one that has the second."""
    starts, goals = _chunks(store, query, [first]), set(_chunks(store, query, [second]))
    both = [chunk for chunk in starts if chunk in goals]
    if both:
        return both[:2]
    before: dict[int, int] = dict.fromkeys(starts[:_STARTS], 0)
    border = list(before)
    banned = {first, second}
    for _ in range(MOST_PASSAGES):
        border = _next(store, query, border, before, banned)
        met = [chunk for chunk in border if chunk in goals]
        if met:
            return _back(met[0], before)
        if not border or len(before) > _AROUND:
            break
    return []


def _next(
    store: Store, query: Query, border: Sequence[int], before: dict[int, int], banned: Collection[int]
) -> list[int]:
    """The passages that share a name with the border, the rarest names first; notes where each comes from."""
    links = [link for link in store.zero.links(border, MOST_CHUNKS) if link.node_id not in banned]
    links.sort(key=lambda link: (link.chunks, link.node_id, link.chunk_id))
    places: dict[int, list[int]] = {}
    for place in store.zero.places([link.node_id for link in links], MOST_CHUNKS):
        places.setdefault(place.node_id, []).append(place.chunk_id)
    found: list[int] = []
    for link in links:
        for chunk in places.get(link.node_id, ()):
            if chunk not in before and query.scope.allows("chunk", chunk):
                before[chunk] = link.chunk_id
                found.append(chunk)
    return found


def _chunks(store: Store, query: Query, nodes: Sequence[int]) -> list[int]:
    places = store.zero.places(nodes, MOST_CHUNKS)
    return [place.chunk_id for place in places if query.scope.allows("chunk", place.chunk_id)]


def _back(chunk: int, before: dict[int, int]) -> list[int]:
    way = [chunk]
    while before[way[-1]]:
        way.append(before[way[-1]])
    return way[::-1]
