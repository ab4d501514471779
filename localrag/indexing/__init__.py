"""Turns stored text into vectors and a graph, and tells how far it is; can be stopped and goes on later."""

from localrag.indexing.events import (
    ChunkFailed,
    ChunkRead,
    Embedded,
    Finished,
    IndexEvent,
    IndexReport,
    Note,
    Progress,
    Started,
)
from localrag.indexing.run import index

__all__ = [
    "ChunkFailed",
    "ChunkRead",
    "Embedded",
    "Finished",
    "IndexEvent",
    "IndexReport",
    "Note",
    "Progress",
    "Started",
    "index",
]
