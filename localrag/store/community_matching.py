"""Tells which community after a new division goes on from which one before it, by shared members."""

from __future__ import annotations

from collections.abc import Collection, Sequence

OVERLAP = 0.5
"""Least share of the members of both together that a community and its successor have in common."""


def successors(
    before: Sequence[tuple[int, Collection[int]]], after: Sequence[tuple[int, Collection[int]]]
) -> dict[int, int]:
    """Pairs of places: for a community after the division, the one before it that it goes on from.

    Communities are given as (level, members). The pair that shares most comes first, one of the same level
    before others, earlier places before later ones; each community is used once.
    """
    holding: dict[int, list[int]] = {}
    for place, (_, members) in enumerate(before):
        for member in members:
            holding.setdefault(member, []).append(place)
    pairs = []
    for place, (level, members) in enumerate(after):
        shared: dict[int, int] = {}
        for member in members:
            for old in holding.get(member, ()):
                shared[old] = shared.get(old, 0) + 1
        for old, count in shared.items():
            share = count / (len(members) + len(before[old][1]) - count)
            if share >= OVERLAP:
                pairs.append((-share, before[old][0] != level, place, old))
    found: dict[int, int] = {}
    used: set[int] = set()
    for _, _, place, old in sorted(pairs):
        if place not in found and old not in used:
            found[place] = old
            used.add(old)
    return found
