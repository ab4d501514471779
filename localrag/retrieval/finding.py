"""What a mode finds, before it is made ready for reading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from localrag.retrieval.fusion import Fused
from localrag.retrieval.trace import Kind
from localrag.retrieval.types import EntityHit, RelationHit
from localrag.store.space_rows import Hit

Rankings = Mapping[Kind, Mapping[str, Sequence[Hit]]]
"""For each kind the rankings of the searches by name, each best first."""


@dataclass(frozen=True)
class Finding:
    """Chunks, entities and relations, each best first."""

    chunks: tuple[Fused, ...] = ()
    """Chunks, also those that are too far behind the best one to be read."""

    entities: tuple[EntityHit, ...] = ()
    """Entities."""

    relations: tuple[RelationHit, ...] = ()
    """Relations."""

    rankings: Rankings = field(default_factory=dict)
    """Where they come from, for the trace."""

    notes: tuple[str, ...] = ()
    """What the person should know, such as that another way was taken."""

    passing: int | None = None
    """How many of the first chunks are good enough, beside the best one, to be read; None where the usual
    share of the best score decides."""

    mode: str = ""
    """The mode that answered, where it is another one than was asked for."""
