"""Turns stored text into vectors and a graph, and tells how far it is; can be stopped and goes on later."""

from localrag.indexing.budget import Budget
from localrag.indexing.claim_events import ClaimsFailed, ClaimsRead, ClaimsStarted
from localrag.indexing.estimate import Estimate
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
from localrag.indexing.run import expected, index
from localrag.indexing.summary_events import SummaryEvent

__all__ = [
    "Budget",
    "ChunkFailed",
    "ChunkRead",
    "ClaimsFailed",
    "ClaimsRead",
    "ClaimsStarted",
    "Embedded",
    "Estimate",
    "Finished",
    "IndexEvent",
    "IndexReport",
    "Note",
    "Progress",
    "Started",
    "SummaryEvent",
    "expected",
    "index",
]
