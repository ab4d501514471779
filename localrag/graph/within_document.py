"""What the names of one document mean in it; follows from that document alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from localrag.graph.links import CROWD, PERSONAL, Link, Passage, alone, doubt, features_of, flat, ways_of
from localrag.graph.name_relations import Kind, Profile, Relation, relation
from localrag.graph.sayings import sayings

SCORES: dict[Kind, float] = {
    "said": 0.98,
    "initials": 0.97,
    "form": 0.97,
    "spelling": 0.97,
    "part": 0.95,
    "middle": 0.95,
    "title": 0.92,
    "contained": 0.6,
}
"""How sure a relation of two names is within a document."""

_AMBIGUOUS = 0.55
_ENDS = 0.15
_MISTER = re.compile(r"(?i)mr\b")


def within_document(passages: Sequence[Passage]) -> list[Link]:
    """The names of a document that mean another name of it, each with the one name that it means.

    Only what is sure; a name that stands for others is in no link as the lesser one.
    """
    profiles = profiles_of(passages)
    related = {frozenset(pair) for passage in passages for pair in passage.pairs}
    said = _said(passages, profiles)
    links = {
        (link.key, link.into): link
        for link in _named_links(profiles, alike_in(profiles), partial(_within, profiles, related, said))
        if not (link.sure and link.kind in PERSONAL and _doubted(passages, profiles, link))
    }
    sizes = _sizes(passages)
    for pair in sorted(said, key=sorted):
        if not said[pair] or not links.keys().isdisjoint({tuple(pair), tuple(reversed(list(pair)))}):
            continue
        # The name that is used more, else the one that is explained.
        lesser, fuller = sorted(pair, key=lambda key: (sizes[key], key == said[pair]))
        score = SCORES["said"] - doubt(profiles[lesser], profiles[fuller])
        links[lesser, fuller] = Link(lesser, fuller, score, "said", said=True)
    return flat([link for link in links.values() if link.sure])


def _within(
    profiles: Mapping[str, Profile],
    related: Collection[frozenset[str]],
    said: Mapping[frozenset[str], str],
    found: Relation,
    single: bool,
) -> Link:
    """The link of two names of a document."""
    pair = frozenset((found.lesser, found.fuller))
    score = SCORES["said"] if pair in said else SCORES[found.kind]
    if pair not in said or found.kind != "initials":
        # What a text explains, and letters confirm, holds whatever types a small model gave the two.
        score -= doubt(profiles[found.lesser], profiles[found.fuller])
    if pair not in said:
        score -= _ENDS if pair in related and found.kind != "initials" else 0
        score = score if single else min(score, _AMBIGUOUS)
    return Link(found.lesser, found.fuller, score, found.kind, pair in said)


def _doubted(passages: Sequence[Passage], profiles: Mapping[str, Profile], link: Link) -> bool:
    """Whether a person's short name is doubtful: it only stands before the full one, or there are a Mr and a
    Mrs of that name."""
    if link.said:
        return False
    last = link.key.split()[-1]
    written = profiles[last].names if last in profiles else frozenset()
    couple = any(f"{title} {last}" in profiles for title in ("mrs", "ms", "miss"))
    if couple and any(_MISTER.match(name) for name in written):
        return True
    return link.kind == "part" and not _follows(passages, profiles[link.key], profiles[link.into])


def _follows(passages: Sequence[Passage], lesser: Profile, fuller: Profile) -> bool:
    """Whether the short name stands somewhere behind the full one, or one of them stands nowhere."""
    full, short = (
        re.compile(
            "|".join(re.escape(name) for name in sorted(item.names, key=lambda name: (-len(name), name)))
        )
        for item in (fuller, lesser)
    )
    introduced = found = False
    for passage in passages:
        if not any(key in (lesser.key, fuller.key) for key, _, _ in passage.mentions):
            continue
        first = full.search(passage.text)
        if introduced or first is not None:
            start = 0 if introduced or first is None else first.end()
            if short.search(full.sub(" ", passage.text[start:])):
                return True
        introduced = introduced or first is not None
        found = found or short.search(full.sub(" ", passage.text)) is not None
    return not (introduced and found)


def _named_links(
    profiles: Mapping[str, Profile],
    alike: Callable[[str], Collection[str]],
    link: Callable[[Relation, bool], Link],
) -> list[Link]:
    """Links of names that are related by themselves."""
    found = []
    for key in sorted(profiles):
        ways = ways_of(profiles[key], [profiles[other] for other in alike(key) if other != key])
        for way in ways:
            if way.lesser == key:
                found.append(link(way, alone(way, ways)))
    return found


def profiles_of(passages: Iterable[Passage]) -> dict[str, Profile]:
    """What passages say of each name."""
    names: dict[str, set[str]] = defaultdict(set)
    types: dict[str, set[str]] = defaultdict(set)
    for passage in passages:
        for key, name, kind in passage.mentions:
            names[key].add(name)
            types[key].add(kind)
    return {key: Profile(key, frozenset(names[key]), frozenset(types[key])) for key in names}


def _sizes(passages: Iterable[Passage]) -> dict[str, int]:
    """In how many passages each name stands."""
    sizes: dict[str, int] = defaultdict(int)
    for passage in passages:
        for key in {key for key, _, _ in passage.mentions}:
            sizes[key] += 1
    return sizes


def _said(passages: Iterable[Passage], profiles: Mapping[str, Profile]) -> dict[frozenset[str], str]:
    """Pairs of names that a text says are one, with the first of the two where it says so in words or in two
    scripts.

    What only stands in brackets counts for names that are related anyway.
    """
    found: dict[frozenset[str], str] = {}
    for passage in passages:
        keys = {name: key for key, name, _ in passage.mentions}
        for saying in sayings(passage.text, keys):
            one, other = keys[saying.name], keys[saying.other]
            related = relation(profiles[one], profiles[other]) is not None if one != other else False
            if one != other and (saying.plain or related):
                pair = frozenset((one, other))
                found[pair] = found.get(pair) or (one if saying.plain else "")
    return found


def alike_in(profiles: Mapping[str, Profile]) -> Callable[[str], Collection[str]]:
    """Finds names with a feature in common."""
    having: dict[str, set[str]] = defaultdict(set)
    for key, profile in profiles.items():
        for feature in features_of(profile):
            having[feature].add(key)

    def alike(key: str) -> Collection[str]:
        shared = (having[feature] for feature in features_of(profiles[key]))
        return {other for names in shared if len(names) <= CROWD for other in names} - {key}

    return alike
