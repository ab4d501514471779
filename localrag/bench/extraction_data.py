"""Open sets with marked entities and relations: found by their files, read into names that can be compared.

Nothing here knows a set by name. What a set can tell comes from its rows: aliases if some entity has them,
precision only if its entities are all marked. A set in which every entity stands in a relation is taken for
one where only the pairs were marked.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localrag.errors import UsageError
from localrag.graph.names import CJK

FILE = "extraction.jsonl"
"""The file that makes a folder such a set."""

_MANY_TYPES = 20
_FEWEST_RELATION_TYPES = 10
_DESCRIBED_BY = 3
_TYPE_WORDS, _TYPE_CHARS = 4, 40
_TIERS = {"XS": {"XS"}, "S": {"XS", "S"}}
_ARTICLE = re.compile(r"^(?:the|an|a)\s+(?=\S)")
_BLANK_IN_CHINESE = re.compile(rf"(?<=[{CJK}])\s+(?=[{CJK}])")
_NOT_IN_TYPE = re.compile(r"[^\w\s&'/.+-]")


@dataclass(frozen=True)
class GoldEntity:
    """One marked entity of a passage."""

    name: str
    """As the set writes it."""

    names: frozenset[str]
    """Its name and aliases, normalised."""

    types: frozenset[str]
    """Its types; more than one where the set marks the same name twice."""


@dataclass(frozen=True)
class GoldItem:
    """One passage."""

    id: str
    """The set's own id."""

    text: str
    """What is read."""

    domain: str
    """What the set says of its subject; empty if it says nothing."""

    entities: tuple[GoldEntity, ...]
    """Each once."""

    relations: frozenset[tuple[int, str, int]]
    """From the place of one entity, by a type, to the place of another; none to itself."""

    @property
    def pairs(self) -> frozenset[frozenset[int]]:
        """The related entities, whatever type and direction."""
        return frozenset(frozenset((head, tail)) for head, _, tail in self.relations)


@dataclass(frozen=True)
class Schema:
    """The types that a set allows."""

    entity_types: tuple[str, ...]
    """Types of entities."""

    relation_types: tuple[str, ...]
    """Types of relations."""

    shown: Mapping[str, str]
    """How a type is told to a model, where that differs from its name."""

    domains: Mapping[str, tuple[str, ...]]
    """Types of entities that occur in the passages of each domain."""


@dataclass(frozen=True)
class GoldSet:
    """Passages with what is in them."""

    name: str
    """Name of its folder."""

    items: tuple[GoldItem, ...]
    """The passages of the tier, in the file's order."""

    schema: Schema
    """The types, from `schema.json` or else from the rows."""

    aliases: bool
    """Whether its entities have aliases, so that merging can be judged."""

    exhaustive: bool
    """Whether all entities are marked, so that precision can be judged."""


def normalise(name: str) -> str:
    """A name as names are compared.

    NFKC, small letters, no outer punctuation, no English article before it, no blanks between Chinese
    characters, other blanks single.
    """
    text, before = name, ""
    while text != before:
        text, before = _step(text), text
    return text


def _step(name: str) -> str:
    text = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    text = _BLANK_IN_CHINESE.sub("", text)
    # A name of nothing but punctuation stays as it is.
    bare = _without_edges(text)
    return _without_edges(_ARTICLE.sub("", bare)) or bare or text


def _without_edges(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _is_edge(text[start]):
        start += 1
    while end > start and _is_edge(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_edge(char: str) -> bool:
    return char.isspace() or unicodedata.category(char).startswith("P")


def find_sets(folder: Path) -> list[str]:
    """The sets in a folder, by name. Raises `UsageError` if there is none."""
    try:
        found = sorted(path.parent.name for path in folder.glob(f"*/{FILE}") if path.is_file())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}.", "Give another folder.") from error
    if not found:
        raise UsageError(
            f"There is no set with {FILE} in {folder}.",
            "Give the folder of the sets with --data.",
        )
    return found


def load_set(folder: Path, name: str, tier: str, limit: int = 0) -> GoldSet:
    """The passages of a set's tier (`XS`, `S` or `M`, nested), in the file's order; a `limit` of 0 is all.

    Raises `UsageError` if there is no such set, a line is no passage, or the tier is empty.
    """
    if name not in find_sets(folder):
        raise UsageError(
            f"There is no set {name!r} in {folder}.", f"There are: {', '.join(find_sets(folder))}."
        )
    path = folder / name / FILE
    rows = _rows(path)
    allowed = _TIERS.get(tier.upper())
    items = []
    for number, row in rows:
        try:
            item = _item(row)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise UsageError(f"Line {number} of {path} is not a passage: {error!r}.") from error
        if allowed is None or row.get("tier") in allowed:
            items.append(item)
    if not items:
        raise UsageError(f"{name} has no passages of tier {tier}.", "Choose another with --tier.")
    entities = [entity for _, row in rows for entity in row.get("entities", ())]
    return GoldSet(
        name=name,
        items=tuple(items[:limit] if limit else items),
        schema=_schema(folder / name / "schema.json", [row for _, row in rows]),
        aliases=any(entity.get("aliases") for entity in entities),
        exhaustive=any(map(_has_loner, (row for _, row in rows))),
    )


def _rows(path: Path) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"Line {number} of {path} is not JSON: {error}.") from error
            if not isinstance(row, dict):
                raise UsageError(f"Line {number} of {path} is not a passage.")
            rows.append((number, row))
    return rows


def _has_loner(row: Mapping[str, Any]) -> bool:
    """Whether an entity of the row stands in no relation."""
    ends = {relation[end] for relation in row.get("relations", ()) for end in ("head", "tail")}
    return any(entity["name"] not in ends for entity in row.get("entities", ()))


def _item(row: Mapping[str, Any]) -> GoldItem:
    given: list[Mapping[str, Any]] = list(row["entities"])
    places: dict[str, int] = {}
    place_of = [places.setdefault(normalise(str(entity["name"])), len(places)) for entity in given]
    entities = []
    for place in range(len(places)):
        same = [entity for entity, where in zip(given, place_of, strict=True) if where == place]
        names = [name for entity in same for name in (entity["name"], *entity.get("aliases", ()))]
        types = frozenset(str(entity["type"]) for entity in same)
        entities.append(GoldEntity(str(same[0]["name"]), frozenset(map(normalise, names)), types))
    relations = set()
    for relation in row.get("relations", ()):
        head, tail = (_end(relation, end, place_of, places) for end in ("head", "tail"))
        if head != tail:
            relations.add((head, str(relation["type"]), tail))
    text, domain = str(row["text"]), str(row.get("domain", ""))
    return GoldItem(str(row["id"]), text, domain, tuple(entities), frozenset(relations))


def _end(relation: Mapping[str, Any], end: str, place_of: Sequence[int], places: Mapping[str, int]) -> int:
    """The place of a relation's end: by number where the row has it, else by name."""
    number = relation.get(f"{end}_index")
    return place_of[number] if isinstance(number, int) else places[normalise(str(relation[end]))]


def _schema(path: Path, rows: Sequence[Mapping[str, Any]]) -> Schema:
    found: Any = {}
    if path.is_file():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{path} is not JSON: {error}.") from error
        if not isinstance(found, dict):
            raise UsageError(f"{path} is not a list of types.")
    entities = Counter(str(e["type"]) for row in rows for e in row.get("entities", ()))
    relations = Counter(str(r["type"]) for row in rows for r in row.get("relations", ()))
    entity_types = tuple(found.get("entity_types") or [name for name, _ in entities.most_common()])
    listed = tuple(found.get("relation_types") or ())
    # The commonest first, so that a list which has to be filled up is filled with those.
    relation_types = tuple(sorted(listed or relations, key=lambda name: (-relations[name], name)))
    described = {**_described(found.get("entity_types")), **_described(found.get("relation_types"))}
    domains: dict[str, Counter[str]] = {}
    for row in rows:
        if row.get("domain"):
            counts = domains.setdefault(str(row["domain"]), Counter())
            counts.update(str(entity["type"]) for entity in row.get("entities", ()))
    return Schema(
        entity_types,
        relation_types,
        _shown((*entity_types, *relation_types), described),
        {name: tuple(word for word, _ in counts.most_common()) for name, counts in domains.items()},
    )


def _described(listed: object) -> dict[str, str]:
    """Descriptions that are words for a type rather than sentences about it."""
    if not isinstance(listed, dict):
        return {}
    texts = {str(name): text for name, text in listed.items() if isinstance(text, str)}
    return {
        name: text
        for name, text in texts.items()
        if name.isupper() and text and len(text.split()) <= _DESCRIBED_BY
    }


def _shown(names: Iterable[str], described: Mapping[str, str]) -> dict[str, str]:
    """How each type is told to a model: as a short description, in few enough words, each differently."""
    shown: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        words = _NOT_IN_TYPE.sub(" ", described.get(name, name)).split()[:_TYPE_WORDS]
        while len(words) > 1 and len(" ".join(words)) > _TYPE_CHARS:
            words.pop()
        word = " ".join(words)[:_TYPE_CHARS]
        if word and word.casefold() not in taken:
            taken.add(word.casefold())
            shown[name] = word
    return shown


def offered(gold: GoldSet, item: GoldItem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The types of entities and of relations that a model is given for a passage: names of the schema.

    All, if there are at most 20. Else those of the passage's domain, where the set has domains; else those
    that the passage's own relations have, filled up to ten with the commonest of the set.
    """
    schema = gold.schema
    entities = schema.entity_types
    if len(entities) > _MANY_TYPES:
        entities = schema.domains.get(item.domain, entities)
    relations = schema.relation_types
    if len(relations) > _MANY_TYPES:
        present = {type_ for _, type_, _ in item.relations}
        others = [name for name in relations if name not in present]
        chosen = present | set(others[: max(_FEWEST_RELATION_TYPES - len(present), 0)])
        relations = tuple(name for name in relations if name in chosen)
    known = schema.shown
    return tuple(n for n in entities if n in known), tuple(n for n in relations if n in known)
