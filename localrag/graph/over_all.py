"""What names mean over all documents; see `resolution`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from localrag.graph import within_document
from localrag.graph.links import LIKELY, SURE, Link, alone, doubt, ways_of
from localrag.graph.name_relations import Kind, Profile, Relation

_SCORES: dict[Kind, float] = {
    "said": 0.0,
    "initials": 0.8,
    "form": 0.93,
    "spelling": 0.93,
    "part": 0.6,
    "middle": 0.8,
    "title": 0.5,
    "contained": 0.5,
}
_ASKED = SURE - 0.01
_NEIGHBOURS = 0.12


class Corpus(Protocol):
    """What `over_all` asks about all documents; nothing in it may depend on what was merged."""

    def profile(self, key: str) -> Profile | None:
        """What is known of a name; None if no document holds it."""

    def alike(self, key: str) -> Collection[str]:
        """Names that share a feature with this one that at most `CROWD` names have."""

    def votes(self, key: str) -> Mapping[str, Sequence[tuple[Kind, bool]]]:
        """The names that documents by themselves let this one mean, with how the names are related and
        whether the text says so, once for each document."""

    def voters(self, key: str) -> Collection[str]:
        """The names that documents by themselves let mean this one."""

    def together(self, one: str, other: str) -> int:
        """Documents that hold both names."""

    def neighbours(self, key: str) -> Collection[str]:
        """Names that passages relate this one to."""


def over_all(corpus: Corpus, keys: Iterable[str]) -> list[Link]:
    """All links of these names with other names, sure and likely ones, from either side."""
    work = _OverAll(corpus)
    found = {(link.key, link.into): link for key in keys for link in work.links(key)}
    return [found[pair] for pair in sorted(found)]


class _OverAll:
    """Scores links over all documents, and asks for nothing twice."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known: dict[str, list[Relation]] = {}

    def links(self, key: str) -> list[Link]:
        """The links of a name, sure and likely ones."""
        one = self._corpus.profile(key)
        if one is None:
            return []
        related = {way.fuller if way.lesser == key else way.lesser: way for way in self._ways(key)}
        voted = {*self._corpus.votes(key), *self._corpus.voters(key)}
        found = []
        for other in sorted({*related, *voted} - {key}):
            profile = self._corpus.profile(other)
            if profile is not None:
                link = (
                    self._voted(key, other) if other in voted else self._named(one, profile, related[other])
                )
                found.append(link)
        return [link for link in found if link.score >= LIKELY]

    def _ways(self, key: str) -> list[Relation]:
        if key not in self._known:
            profile = self._corpus.profile(key)
            others = [self._corpus.profile(other) for other in sorted(self._corpus.alike(key))]
            self._known[key] = (
                [] if profile is None else ways_of(profile, [other for other in others if other is not None])
            )
        return self._known[key]

    def _voted(self, one: str, other: str) -> Link:
        """The link of two names that documents by themselves take for one."""
        votes = {pair: self._corpus.votes(pair[0]).get(pair[1], ()) for pair in ((one, other), (other, one))}
        lesser, fuller = max(votes, key=lambda pair: (len(votes[pair]), pair))
        ways = votes[lesser, fuller]
        kind, said = min(way[0] for way in ways), any(way[1] for way in ways)
        together, shared = self._both(one, other)
        score = within_document.SCORES["said" if said else kind]
        # Documents that hold both and do not take them for one, or let the name mean another one, object.
        agreed = len(ways) >= together and set(self._corpus.votes(lesser)) == {fuller}
        if not agreed or not self._only(lesser, fuller, kind, said=said):
            score = min(score, _ASKED)
        return Link(lesser, fuller, score, kind, said, len(ways), together, shared)

    def _named(self, one: Profile, other: Profile, way: Relation) -> Link:
        """The link of two names of which no document says anything."""
        together, shared = self._both(one.key, other.key)
        score = _SCORES[way.kind] - doubt(one, other)
        score += _NEIGHBOURS if shared > 1 and way.kind in ("middle", "initials") else 0
        # Where documents hold both, or know what the name means, they have decided.
        decided = together > 0 or bool(self._corpus.votes(way.lesser))
        if decided or not alone(way, self._ways(way.lesser)):
            score = min(score, _ASKED)
        return Link(way.lesser, way.fuller, score, way.kind, False, 0, together, shared)

    def _only(self, lesser: str, fuller: str, kind: Kind, *, said: bool) -> bool:
        """Whether no other name in any document could be what a name means that some documents explain."""
        if said and kind not in ("part", "title"):
            return True
        ways = self._ways(lesser)
        mine = [way for way in ways if way.lesser == lesser and way.fuller == fuller]
        return bool(mine) and alone(mine[0], ways)

    def _both(self, one: str, other: str) -> tuple[int, int]:
        """Documents that hold both names, and names that both are related to."""
        shared = {*self._corpus.neighbours(one)} & {*self._corpus.neighbours(other)} - {one, other}
        return self._corpus.together(one, other), len(shared)
