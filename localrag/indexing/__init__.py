"""Turns stored text into vectors and a graph, and tells how far it is; can be stopped and goes on later."""

from localrag.indexing.ahead import Ahead, WaitingDocument, look_ahead
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
    InHand,
    Link,
    Note,
    Progress,
    Started,
)
from localrag.indexing.preference import Preference
from localrag.indexing.run import expected, index
from localrag.indexing.summary_events import SummaryEvent

__all__ = [
    "Ahead",
    "Budget",
    "ChunkFailed",
    "ChunkRead",
    "ClaimsFailed",
    "ClaimsRead",
    "ClaimsStarted",
    "Embedded",
    "Estimate",
    "Finished",
    "InHand",
    "IndexEvent",
    "IndexReport",
    "Link",
    "Note",
    "Preference",
    "Progress",
    "Started",
    "SummaryEvent",
    "WaitingDocument",
    "expected",
    "index",
    "look_ahead",
]
