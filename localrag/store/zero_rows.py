"""What goes into the graph that needs no model, and what comes out of it, as plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FORM = 1
"""The text marks it as a name: capitals, quotation marks, digits, signs of a title."""

WORDS = 2
"""A run of words or characters that may be a name."""

HEADING = 4
"""It is in a heading that the chunk stands under."""

TITLE = 8
"""It is in the title of the chunk's document."""


@dataclass(frozen=True)
class ZeroName:
    """A name that was found without a model."""

    key: str
    """Its folded key."""

    kind: int
    """`FORM`, `WORDS`, `HEADING` or `TITLE`."""

    start: int = -1
    """Place of its first character in the chunk's text; -1 if it does not stand there."""

    end: int = -1
    """Place behind its last character there."""


@dataclass(frozen=True)
class ZeroNode:
    """A name that counts: at least two chunks have it, or its form, a heading or a title marks it."""

    id: int
    """Its row; the same as long as one chunk has the name."""

    key: str
    """Its folded key."""

    chunks: int
    """How many chunks have it."""


@dataclass(frozen=True)
class ZeroPlace:
    """That a chunk has a name."""

    chunk_id: int
    """The chunk."""

    node_id: int
    """The name."""

    kind: int
    """The sum of what marks it there."""


@dataclass(frozen=True)
class ZeroLink:
    """That a chunk shares a name with others."""

    chunk_id: int
    """The chunk."""

    node_id: int
    """The name."""

    kind: int
    """The sum of what marks it in the chunk; 0 if the model found it there."""

    chunks: int
    """How many chunks have it."""


@dataclass(frozen=True)
class ZeroCounts:
    """How large the graph is."""

    names: int
    """Different names."""

    nodes: int
    """Those of them that count."""

    places: int
    """Pairs of a chunk and a name that it has."""

    waiting: int
    """Documents whose names are yet to be found."""


@dataclass(frozen=True)
class Incidence:
    """The graph as three arrays of one length, a chunk and a name that it has in each place."""

    chunks: NDArray[np.int64]
    """Ids of chunks."""

    nodes: NDArray[np.int64]
    """Ids of names that two chunks and more have."""

    kinds: NDArray[np.int64]
    """What marks each name in its chunk."""

    left_out: int
    """Places that were too many."""
