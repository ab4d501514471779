"""Scores what was extracted against what is marked; counts are summed over passages before they are divided.

An entity that was extracted is right if one of its spellings is a name or an alias of a marked one. A pair is
found if any relation joins it, whichever way. Only where a model was given the set's own types are types and
directions compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from localrag.bench.extraction_data import GoldItem, normalise


@dataclass(frozen=True)
class FoundEntity:
    """One entity that was extracted from a passage."""

    key: str
    """What relations name it by."""

    names: frozenset[str]
    """Its spellings, as they were written."""

    type: str = ""
    """Its type, as the set's schema writes it if the model was given the schema."""


@dataclass(frozen=True)
class FoundRelation:
    """One relation that was extracted from a passage."""

    source: str
    """Key of one entity."""

    target: str
    """Key of another."""

    type: str = ""
    """Its type, as the set's schema writes it if the model was given the schema."""


@dataclass(frozen=True)
class Cost:
    """What reading a passage took, and how it went wrong; sums over its calls."""

    calls: int = 0
    """Calls of the model."""

    unusable: int = 0
    """Calls that failed, wrote nothing, or wrote what is no record; a record that the bound cut is one."""

    cut: int = 0
    """Calls that their bound of tokens ended."""

    runaway: int = 0
    """Calls that their bound ended in the middle of a loop."""

    looped: int = 0
    """Calls in which a loop was seen and taken back, so that they ended by themselves."""

    invented: int = 0
    """Names that were written, are not in the text, and were left out."""

    orphans: int = 0
    """Relations that were written with an end that is no entity, and were left out."""

    prompt_tokens: int = 0
    """Tokens of the prompts that were computed: without what a shared prefix gave."""

    shared_tokens: int = 0
    """Tokens of the prompts that a shared prefix gave."""

    output_tokens: int = 0
    """Tokens written."""

    def __add__(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class FoundItem:
    """What was extracted from one passage."""

    id: str
    """The passage."""

    entities: tuple[FoundEntity, ...] = ()
    """No two with the same key."""

    relations: tuple[FoundRelation, ...] = ()
    """As they were written."""

    cost: Cost = field(default_factory=Cost)
    """What it took."""

    assumed: frozenset[str] = frozenset()
    """Keys of entities that are there only because a relation named them."""


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    hits: int = 0
    """Those that are so."""

    total: int = 0
    """All."""

    def __add__(self, other: Share) -> Share:
        """Both together."""
        return Share(self.hits + other.hits, self.total + other.total)

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.hits / self.total if self.total else None


@dataclass(frozen=True)
class Tally:
    """The counts of one passage, or of many."""

    right: Share = Share()
    """Extracted entities that are marked."""

    found: Share = Share()
    """Marked entities that were extracted."""

    typed_right: Share = Share()
    """Extracted entities that are marked with this type."""

    typed_found: Share = Share()
    """Marked entities that were extracted with a type of theirs."""

    pairs: Share = Share()
    """Marked pairs that are joined."""

    joined: Share = Share()
    """Joined pairs that are marked."""

    relations_right: Share = Share()
    """Extracted relations that are marked with this type and direction."""

    relations_found: Share = Share()
    """Marked relations that were extracted with type and direction."""

    nodes: Share = Share()
    """Nodes that found entities have ÷ found entities."""

    golds: Share = Share()
    """Entities that matching nodes have ÷ matching nodes."""

    invented: Share = Share()
    """Names that are not in the text, among all written."""

    orphans: Share = Share()
    """Relations with an end that is no entity, among all written."""

    cost: Cost = Cost()
    """What it took."""

    def __add__(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Matches:
    """Which marked entities the extracted ones are, for one passage."""

    of_key: Mapping[str, frozenset[int]]
    """From the key of an extracted entity to places of marked ones."""

    hits: tuple[str, ...]
    """Names of marked entities that were found."""

    missed: tuple[str, ...]
    """Names of those that were not."""

    wrong: tuple[str, ...]
    """Names that were extracted and are not marked."""


def match(item: GoldItem, found: FoundItem) -> Matches:
    """Compare the names of a passage."""
    of_key, wrong, seen = {}, [], set[int]()
    for entity in found.entities:
        names = frozenset(map(normalise, entity.names))
        of_key[entity.key] = frozenset(n for n, gold in enumerate(item.entities) if gold.names & names)
        seen |= of_key[entity.key]
        if not of_key[entity.key]:
            wrong.append(min(entity.names))
    hits = tuple(gold.name for n, gold in enumerate(item.entities) if n in seen)
    missed = tuple(gold.name for n, gold in enumerate(item.entities) if n not in seen)
    return Matches(of_key, hits, missed, tuple(wrong))


def tally(item: GoldItem, found: FoundItem, nodes: Iterable[frozenset[str]] | None = None) -> Tally:
    """The counts of one passage.

    `nodes` are those of its graph after names were merged, each as the keys of its entities; without them
    each entity is a node of its own.
    """
    matches = match(item, found)
    of_key = matches.of_key
    typed_keys, typed_golds = 0, set[int]()
    for entity in found.entities:
        same = {n for n in of_key[entity.key] if entity.type in item.entities[n].types}
        typed_keys += bool(same)
        typed_golds |= same
    count = len(found.entities)
    text = normalise(item.text)
    invented = sum(not any(_occurs(name, text) for name in entity.names) for entity in found.entities)
    extracted = of_key.keys() - found.assumed
    orphans = sum(not {r.source, r.target} <= extracted for r in found.relations)
    pairs, joined = _pairs(item, found, of_key)
    relations_right, relations_found = _relations(item, found, of_key)
    clusters = [frozenset((e.key,)) for e in found.entities] if nodes is None else nodes
    on_nodes, on_golds = _merging(clusters, of_key)
    cost = found.cost
    return Tally(
        right=Share(count - len(matches.wrong), count),
        found=Share(len(matches.hits), len(item.entities)),
        typed_right=Share(typed_keys, count),
        typed_found=Share(len(typed_golds), len(item.entities)),
        pairs=pairs,
        joined=joined,
        relations_right=relations_right,
        relations_found=relations_found,
        nodes=on_nodes,
        golds=on_golds,
        invented=Share(invented + cost.invented, count + cost.invented),
        orphans=Share(orphans + cost.orphans, len(found.relations) + cost.orphans),
        cost=cost,
    )


def _occurs(name: str, text: str) -> bool:
    """Whether a name stands in a text, both compared as names are."""
    return normalise(name) in text


def _pairs(item: GoldItem, found: FoundItem, of_key: Mapping[str, frozenset[int]]) -> tuple[Share, Share]:
    """Marked pairs that are joined, and joined pairs that are marked."""
    joined = {frozenset((r.source, r.target)) for r in found.relations if r.source != r.target}
    hit: set[frozenset[int]] = set()
    right = 0
    for pair in joined:
        one, other = pair
        golds = {
            frozenset((a, b)) for a in of_key.get(one, frozenset()) for b in of_key.get(other, frozenset())
        }
        hit |= golds & item.pairs
        right += bool(golds & item.pairs)
    return Share(len(hit), len(item.pairs)), Share(right, len(joined))


def _relations(item: GoldItem, found: FoundItem, of_key: Mapping[str, frozenset[int]]) -> tuple[Share, Share]:
    """Extracted relations that are marked, and marked ones that were extracted."""
    written = {(r.source, r.type, r.target) for r in found.relations}
    hit: set[tuple[int, str, int]] = set()
    right = 0
    for source, type_, target in written:
        golds = {
            (a, type_, b) for a in of_key.get(source, frozenset()) for b in of_key.get(target, frozenset())
        }
        hit |= golds & item.relations
        right += bool(golds & item.relations)
    return Share(right, len(written)), Share(len(hit), len(item.relations))


def _merging(clusters: Iterable[frozenset[str]], of_key: Mapping[str, frozenset[int]]) -> tuple[Share, Share]:
    """Nodes of the found entities ÷ these, and entities of the matching nodes ÷ these."""
    golds_of = [
        frozenset[int]().union(*(of_key.get(key, frozenset()) for key in cluster)) for cluster in clusters
    ]
    matching = [golds for golds in golds_of if golds]
    found = frozenset[int]().union(*matching)
    links = sum(map(len, matching))
    return Share(links, len(found)), Share(links, len(matching))
