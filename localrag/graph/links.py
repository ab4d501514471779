"""Names that may mean the same: what was read of them, how a pair is scored, the groups that pairs make."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from localrag.graph.name_relations import Kind, Profile, Relation, agree, compatible, features, relation

VERSION = 1
"""Raised when the rules change: what was derived by older ones is made anew."""

SURE = 0.9
"""From this score on names are merged without asking; chosen on open data, see docs/measurements.md."""

LIKELY = 0.5
"""From this score on a person is asked."""

CROWD = 64
"""Names that may share a feature before it says nothing any more."""

PERSONAL: frozenset[Kind] = frozenset({"part", "title", "middle"})
"""Ways in which names of persons are related."""

_UNTYPED = 0.04
_OTHER_TYPE = 0.5


@dataclass(frozen=True)
class Passage:
    """What was read in a passage."""

    document: object
    """The document that it belongs to; anything that can be compared."""

    text: str
    """Its text."""

    mentions: tuple[tuple[str, str, str], ...]
    """Folded name, name as written, and type of each mention."""

    pairs: tuple[tuple[str, str], ...] = ()
    """Folded names at the two ends of each relation."""


@dataclass(frozen=True)
class Link:
    """Two names that may mean the same, with what speaks for it."""

    key: str
    """The lesser name, folded."""

    into: str
    """The fuller name."""

    score: float
    """From 0 to 1; from `SURE` on they are merged."""

    kind: Kind
    """How the names are related."""

    said: bool = False
    """Whether a text says that they are one."""

    documents: int = 0
    """Documents that decide so by themselves."""

    together: int = 0
    """Documents that hold both names."""

    neighbours: int = 0
    """Other names that both are related to."""

    @property
    def sure(self) -> bool:
        """Whether they are merged without asking."""
        return self.score >= SURE


def flat(links: Collection[Link]) -> list[Link]:
    """Links that each lead to the name that its whole group is known by, so that one step suffices.

    A group's name is one that is the lesser one in no link; of several the one with most words, then letters.
    """
    groups = components((link.key, link.into) for link in links)
    best: dict[str, Link] = {}
    for link in sorted(links, key=lambda link: (-link.score, link.key, link.into)):
        best.setdefault(link.key, link)
        best.setdefault(link.into, link)
    roots = {key: root for group in groups for root in [leader(group, links)] for key in group}
    found = []
    for key, root in sorted(roots.items()):
        if key != root:
            link = best[key]
            found.append(Link(key, root, link.score, link.kind, link.said))
    return found


def leader(group: Collection[str], links: Iterable[Link]) -> str:
    """The name that a group is known by; see `flat`."""
    lesser = {link.key for link in links if link.key in group}
    return max(set(group) - lesser or group, key=lambda key: (len(key.split()), len(key), key))


def components(pairs: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Groups of names that hang together."""
    group: dict[str, set[str]] = {}
    for one, other in pairs:
        first, second = group.setdefault(one, {one}), group.setdefault(other, {other})
        if first is not second:
            small, large = sorted((first, second), key=len)
            large |= small
            group.update(dict.fromkeys(small, large))
    return list({id(names): names for names in group.values()}.values())


def ways_of(one: Profile, others: Iterable[Profile]) -> list[Relation]:
    """How a name is related to others, as far as it is."""
    return [found for other in others if (found := relation(one, other)) is not None]


def alone(way: Relation, ways: Iterable[Relation]) -> bool:
    """Whether a lesser name may mean one fuller name only, among all its relations of this kind."""
    rivals = {
        other.fuller
        for other in ways
        if other.lesser == way.lesser and (other.kind == way.kind or {other.kind, way.kind} <= PERSONAL)
    }
    if way.kind in ("spelling", "contained"):
        return True
    if way.kind == "form":
        return all(_one_form(way.fuller, rival) for rival in rivals)
    return all(compatible(way.fuller, rival) for rival in rivals)


def _one_form(one: str, other: str) -> bool:
    """Whether two names with legal or administrative forms may be one: not a province and a city."""
    return one == other or one.endswith(other[-1:])


def doubt(one: Profile, other: Profile) -> float:
    """What the types take off a score."""
    same = agree(one, other)
    return 0.0 if same else _UNTYPED if same is None else _OTHER_TYPE


def features_of(profile: Profile) -> frozenset[str]:
    """The features of a name by which related ones are found."""
    return features(profile.key, person="person" in profile.groups, shouted=profile.shouted)
