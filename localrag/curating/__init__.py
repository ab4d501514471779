"""What a person decides about entities, relations, aliases and tags, by their names.

Each decision is kept and replayed on all that is read later; each can be taken back.
"""

from localrag.curating.aliases import AliasDesk
from localrag.curating.deciding import Decided, LogEntry
from localrag.curating.entities import EntityDesk, EntityView
from localrag.curating.relations import RelationDesk, RelationView
from localrag.curating.suggesting import Merged, Suggestion
from localrag.curating.tags import TagDesk, Tagged

__all__ = [
    "AliasDesk",
    "Decided",
    "EntityDesk",
    "EntityView",
    "LogEntry",
    "Merged",
    "RelationDesk",
    "RelationView",
    "Suggestion",
    "TagDesk",
    "Tagged",
]
