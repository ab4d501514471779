"""What a person decides about entities, relations, aliases and tags, as plain frozen data.

Entities are named by their folded keys and relations by the keys of their ends, never by ids: a decision has
to mean the same after everything was deleted and read again, and in another file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

Pair = tuple[str, str]
"""Keys of a relation's source and target."""


@dataclass(frozen=True)
class DocumentRef:
    """A document, so that it is known again after it was deleted and added, moved, or merged from a file."""

    root: str
    """The folder that the path starts from, as the file holds it."""

    path: str
    """Path relative to the root."""

    sha256: str = ""
    """Hash of the file's bytes when it was decided; the same content elsewhere is the same document."""


@dataclass(frozen=True)
class Place:
    """Where a document lies, to be compared with a `DocumentRef`."""

    paths: frozenset[tuple[str, str]]
    """All its places, each root and path."""

    sha256: str
    """Hash of its bytes; empty where there are none, since empty files are no copies of each other."""

    def is_named_by(self, document: DocumentRef) -> bool:
        """Whether `document` means this one: by one of its places, or by its content."""
        return (document.root, document.path) in self.paths or (
            bool(self.sha256) and document.sha256 == self.sha256
        )


@dataclass(frozen=True)
class Sight:
    """How a passage speaks of something: what the conditions of a split look at."""

    name: str | None = None
    """The name as written; None where a passage does not say it itself."""

    type: str | None = None
    """The type given there."""

    keywords: str = ""
    """Keywords of a relation."""

    place: Place | None = None
    """The document; None where no condition asks for it."""


@dataclass(frozen=True)
class Where:
    """Which mentions a split takes: those that fit one item of every list that is not empty."""

    names: tuple[str, ...] = ()
    """Names as they are written."""

    types: tuple[str, ...] = ()
    """Types, whatever their case."""

    keywords: tuple[str, ...] = ()
    """Words that are among a relation's keywords, whatever their case."""

    documents: tuple[DocumentRef, ...] = ()
    """Documents that say it."""

    def fits(self, sight: Sight) -> bool:
        """Whether a mention is one of these."""
        if self.names and sight.name not in self.names:
            return False
        if self.types and (sight.type or "").casefold() not in {kind.casefold() for kind in self.types}:
            return False
        said = sight.keywords.casefold()
        if self.keywords and not any(word.casefold() in said for word in self.keywords):
            return False
        place = sight.place
        return not self.documents or (
            place is not None and any(place.is_named_by(document) for document in self.documents)
        )


@dataclass(frozen=True)
class MergeEntities:
    """Several entities are one."""

    kind: ClassVar[str] = "entity.merge"
    keys: tuple[str, ...]
    """Those that become part of another one."""

    names: tuple[str, ...]
    """Their names, one for each key; they become aliases."""

    into: str
    """Key of the one that stays."""

    name: str
    """Its name, shown where no passage is left that writes it."""


@dataclass(frozen=True)
class SplitEntity:
    """Some mentions of an entity mean another one."""

    kind: ClassVar[str] = "entity.split"
    key: str
    """The entity that they are taken from."""

    into: str
    """Key of the one that they go to; it may be there already."""

    name: str
    """Its name, shown where no passage writes it."""

    where: Where
    """The mentions that go."""


@dataclass(frozen=True)
class RenameEntity:
    """An entity is shown under another name, and the new name means it."""

    kind: ClassVar[str] = "entity.rename"
    key: str
    """The entity; its key stays."""

    name: str
    """The new name."""

    alias: str
    """The new name's folded key."""

    was: str
    """The name before, which becomes an alias."""


@dataclass(frozen=True)
class RetypeEntity:
    """An entity has another type than its mentions say."""

    kind: ClassVar[str] = "entity.retype"
    key: str
    """The entity."""

    type: str
    """The type."""


@dataclass(frozen=True)
class EditEntity:
    """A person's own description of an entity; it stands in place of what was read."""

    kind: ClassVar[str] = "entity.edit"
    key: str
    """The entity."""

    description: str
    """The description; empty gives back what was read."""


@dataclass(frozen=True)
class DeleteEntity:
    """An entity is none and is not shown, whoever mentions it."""

    kind: ClassVar[str] = "entity.delete"
    key: str
    """The entity."""

    name: str
    """Its name, for the log."""


@dataclass(frozen=True)
class KeepApart:
    """Two names are never taken for one by themselves; what a person merged stays merged."""

    kind: ClassVar[str] = "entity.apart"
    keys: Pair
    """The two, folded."""

    names: Pair
    """The two, for the log."""


@dataclass(frozen=True)
class AddAlias:
    """Another name means an entity."""

    kind: ClassVar[str] = "alias.add"
    key: str
    """The entity."""

    alias: str
    """The other name's folded key."""

    name: str
    """The other name."""

    entity: str
    """The entity's name, shown where no passage is left that writes it."""


@dataclass(frozen=True)
class RemoveAlias:
    """A name does not mean an entity: takes back aliases that a person added or a passage gave."""

    kind: ClassVar[str] = "alias.remove"
    key: str
    """The entity."""

    alias: str
    """The name's folded key."""

    name: str
    """The name, for the log."""


@dataclass(frozen=True)
class MergeRelations:
    """Several relations are one."""

    kind: ClassVar[str] = "relation.merge"
    pairs: tuple[Pair, ...]
    """Those that become part of another one."""

    into: Pair
    """The one that stays."""


@dataclass(frozen=True)
class ReverseRelation:
    """A relation goes the other way; if there is one that way already, they become one."""

    kind: ClassVar[str] = "relation.reverse"
    pair: Pair
    """The relation as it was."""


@dataclass(frozen=True)
class SplitRelation:
    """Some mentions of a relation are about another pair of entities."""

    kind: ClassVar[str] = "relation.split"
    pair: Pair
    """The relation that they are taken from."""

    into: Pair
    """The one that they go to."""

    where: Where
    """The mentions that go."""


@dataclass(frozen=True)
class EditRelation:
    """A person's own words for a relation; they stand in place of what was read."""

    kind: ClassVar[str] = "relation.edit"
    pair: Pair
    """The relation."""

    keywords: str | None = None
    """Keywords; empty gives back what was read, None leaves them as they are."""

    description: str | None = None
    """Description; empty gives back what was read, None leaves it as it is."""


@dataclass(frozen=True)
class DeleteRelation:
    """A relation is none and is not shown, whoever mentions it."""

    kind: ClassVar[str] = "relation.delete"
    pair: Pair
    """The relation."""


@dataclass(frozen=True)
class AddTag:
    """A document carries a tag."""

    kind: ClassVar[str] = "tag.add"
    document: DocumentRef
    """The document."""

    tag: str
    """The tag as it was typed."""


@dataclass(frozen=True)
class RemoveTag:
    """A document carries a tag no more."""

    kind: ClassVar[str] = "tag.remove"
    document: DocumentRef
    """The document."""

    tag: str
    """The tag as it was typed."""


EntityDecision = (
    MergeEntities | SplitEntity | RenameEntity | RetypeEntity | EditEntity | DeleteEntity | KeepApart
)
AliasDecision = AddAlias | RemoveAlias
RelationDecision = MergeRelations | ReverseRelation | SplitRelation | EditRelation | DeleteRelation
TagDecision = AddTag | RemoveTag
Decision = EntityDecision | AliasDecision | RelationDecision | TagDecision


@dataclass(frozen=True)
class DecisionRow:
    """A decision in the log."""

    id: int
    """For `undo`; its place in the order is `made_at`, since logs of several files may be joined."""

    uuid: str
    """The same in every file that the decision was carried to."""

    made_at: str
    """When, UTC, ISO 8601 with microseconds; no two decisions of a file have the same."""

    undone_at: str
    """When it was taken back; empty while it holds."""

    decision: Decision
    """What was decided."""


@dataclass(frozen=True)
class Change:
    """What a decision, or taking it back, did to what is in the file."""

    id: int
    """The decision."""

    mentions: int
    """Mentions of entities that belong to another entity now, or to none."""

    relation_mentions: int
    """Mentions of relations that belong to another relation now, or to none."""

    documents: int = 0
    """Documents that got or lost a tag."""


@dataclass(frozen=True)
class AliasRow:
    """Another name of an entity."""

    entity_id: int
    """The entity."""

    entity: str
    """Its name."""

    key: str
    """The alias, folded."""

    name: str
    """The alias as it was written."""

    decision_id: int | None
    """The decision that gave it; None where a passage did."""

    chunk_id: int | None
    """The passage that gave it; None where a person did."""


@dataclass(frozen=True)
class TagRow:
    """A tag with the documents that carry it."""

    tag: str
    """Folded, as filters compare it."""

    name: str
    """As it was typed; of several spellings the one that sorts first."""

    documents: tuple[int, ...]
    """Ids of the documents, ascending."""
