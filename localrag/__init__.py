"""localrag: a knowledge base in one file, read and answered by a model on your own machine.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from localrag.answering.options import AskOptions as AskOptions
    from localrag.answering.options import Turn as Turn
    from localrag.answering.types import Answer as Answer
    from localrag.answering.types import AnswerText as AnswerText
    from localrag.answering.types import AskEvent as AskEvent
    from localrag.answering.types import Citation as Citation
    from localrag.answering.types import Found as Found
    from localrag.answering.types import Kept as Kept
    from localrag.answering.types import Reading as Reading
    from localrag.answering.types import Rewritten as Rewritten
    from localrag.answering.types import Stored as Stored
    from localrag.errors import Cancelled as Cancelled
    from localrag.errors import ConstraintError as ConstraintError
    from localrag.errors import DiskFull as DiskFull
    from localrag.errors import DocumentError as DocumentError
    from localrag.errors import EmbeddingSpaceMismatch as EmbeddingSpaceMismatch
    from localrag.errors import EngineBusy as EngineBusy
    from localrag.errors import EngineCrashed as EngineCrashed
    from localrag.errors import EngineError as EngineError
    from localrag.errors import KnowledgeBaseAmbiguous as KnowledgeBaseAmbiguous
    from localrag.errors import KnowledgeBaseBusy as KnowledgeBaseBusy
    from localrag.errors import KnowledgeBaseError as KnowledgeBaseError
    from localrag.errors import KnowledgeBaseExists as KnowledgeBaseExists
    from localrag.errors import KnowledgeBaseNotFound as KnowledgeBaseNotFound
    from localrag.errors import KnowledgeBaseReadOnly as KnowledgeBaseReadOnly
    from localrag.errors import LocalragError as LocalragError
    from localrag.errors import ModelError as ModelError
    from localrag.errors import ModelInvalid as ModelInvalid
    from localrag.errors import ModelNotFound as ModelNotFound
    from localrag.errors import NewerFormat as NewerFormat
    from localrag.errors import NotAKnowledgeBase as NotAKnowledgeBase
    from localrag.errors import NothingIndexed as NothingIndexed
    from localrag.errors import PromptError as PromptError
    from localrag.errors import PromptTooLong as PromptTooLong
    from localrag.errors import PullFailed as PullFailed
    from localrag.errors import RemoteRefused as RemoteRefused
    from localrag.errors import RemoteUnreachable as RemoteUnreachable
    from localrag.errors import SettingsError as SettingsError
    from localrag.errors import SourceGone as SourceGone
    from localrag.errors import UsageError as UsageError
    from localrag.kb import KnowledgeBase as KnowledgeBase
    from localrag.retrieval.types import Retrieved as Retrieved
    from localrag.store.filters import Filter as Filter

_ERRORS = (
    "Cancelled",
    "ConstraintError",
    "DiskFull",
    "DocumentError",
    "EmbeddingSpaceMismatch",
    "EngineBusy",
    "EngineCrashed",
    "EngineError",
    "KnowledgeBaseAmbiguous",
    "KnowledgeBaseBusy",
    "KnowledgeBaseError",
    "KnowledgeBaseExists",
    "KnowledgeBaseNotFound",
    "KnowledgeBaseReadOnly",
    "LocalragError",
    "ModelError",
    "ModelInvalid",
    "ModelNotFound",
    "NewerFormat",
    "NotAKnowledgeBase",
    "NothingIndexed",
    "PromptError",
    "PromptTooLong",
    "PullFailed",
    "RemoteRefused",
    "RemoteUnreachable",
    "SettingsError",
    "SourceGone",
    "UsageError",
)
_EVENTS = ("Answer", "AnswerText", "AskEvent", "Citation", "Found", "Kept", "Reading", "Rewritten", "Stored")
_HOMES = {
    **dict.fromkeys(_EVENTS, "localrag.answering.types"),
    "AskOptions": "localrag.answering.options",
    "Filter": "localrag.store.filters",
    "KnowledgeBase": "localrag.kb",
    "Retrieved": "localrag.retrieval.types",
    "Turn": "localrag.answering.options",
    **dict.fromkeys(_ERRORS, "localrag.errors"),
}

__all__ = [
    "Answer",
    "AnswerText",
    "AskEvent",
    "AskOptions",
    "Citation",
    "Filter",
    "Found",
    "Kept",
    "KnowledgeBase",
    "Reading",
    "Retrieved",
    "Rewritten",
    "Stored",
    "Turn",
    "__version__",
    *_ERRORS,
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
