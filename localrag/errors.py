"""Every error that localrag raises on purpose, each with a sentence for a person and a hint.

    LocalragError
    ├── UsageError                    the request itself cannot be met as written
    │   └── SettingsError             a setting has no meaning or no valid value
    ├── KnowledgeBaseError
    │   ├── KnowledgeBaseNotFound     no file there, or none in the folder
    │   ├── KnowledgeBaseExists       `init` on a file that is there already
    │   ├── KnowledgeBaseAmbiguous    several in the folder, none named
    │   ├── NotAKnowledgeBase         a file, but not one of ours
    │   ├── NewerFormat               written by a newer localrag
    │   ├── KnowledgeBaseBusy         another program is writing
    │   ├── KnowledgeBaseReadOnly     the file or its folder cannot be written
    │   ├── NothingIndexed            a question before any text is in
    │   ├── EmbeddingSpaceMismatch    vectors of another model
    │   ├── SourceGone                what a text was written from was deleted meanwhile
    │   └── DiskFull                  the system has no room left
    ├── DocumentError                 one file cannot be read; the run goes on
    ├── ModelError
    │   ├── ModelNotFound             not installed, not in the catalogue
    │   ├── ModelInvalid              truncated, foreign, or of the wrong kind
    │   └── PullFailed                fetching or checking a model failed
    ├── EngineError
    │   ├── EngineCrashed             the worker process died
    │   ├── EngineBusy                the engine cannot take the request now
    │   ├── PromptTooLong             more tokens than the context holds
    │   ├── ConstraintError           a grammar cannot be compiled
    │   ├── RemoteUnreachable         a remote engine cannot be reached, or fell silent
    │   ├── RemoteRefused             a remote engine cannot do what is asked, or does it wrongly
    │   └── Cancelled                 the person stopped it
    └── PromptError                   a prompt file is missing or damaged

Exit codes of the command line follow `exit_code`: 1 failure, 2 usage, 3 something is missing that a
command can bring, 4 busy or read-only, 5 done in part, 130 stopped by the person.
"""

from __future__ import annotations


class LocalragError(Exception):
    """Base of all errors of localrag: a sentence that a person understands, and what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(LocalragError):
    """The request cannot be met as it was written."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting is unknown or its value is not valid; the message says where it came from."""


class KnowledgeBaseError(LocalragError):
    """Something is wrong with the knowledge base's file."""


class KnowledgeBaseNotFound(KnowledgeBaseError):
    """No such file, or no knowledge base in the folder."""

    exit_code = 3


class KnowledgeBaseExists(KnowledgeBaseError):
    """`init` was asked to create a file that is there already."""

    exit_code = 2


class KnowledgeBaseAmbiguous(KnowledgeBaseError):
    """Several knowledge bases lie in the folder and none was named."""

    exit_code = 2


class NotAKnowledgeBase(KnowledgeBaseError):
    """The file is not one of ours, or too damaged to tell."""


class NewerFormat(KnowledgeBaseError):
    """The file was written by a newer localrag than this one."""


class KnowledgeBaseBusy(KnowledgeBaseError):
    """Another program is writing to the file."""

    exit_code = 4


class KnowledgeBaseReadOnly(KnowledgeBaseError):
    """The file or its folder cannot be written."""

    exit_code = 4


class NothingIndexed(KnowledgeBaseError):
    """A question was asked before any text was put in."""

    exit_code = 3


class EmbeddingSpaceMismatch(KnowledgeBaseError):
    """The file's vectors were made by another model than the one in use."""


class SourceGone(KnowledgeBaseError):
    """A passage was deleted while the model wrote from it; what it wrote is not kept."""


class DiskFull(KnowledgeBaseError):
    """The system has no room left; what was committed before is kept."""


class DocumentError(LocalragError):
    """One document cannot be read; the message is the reason shown beside it."""


class ModelError(LocalragError):
    """Something is wrong with a model file."""


class ModelNotFound(ModelError):
    """The model is not installed."""

    exit_code = 3


class ModelInvalid(ModelError):
    """The file is truncated, is no GGUF, or cannot serve the role."""


class PullFailed(ModelError):
    """A model could not be fetched or did not pass its check."""


class EngineError(LocalragError):
    """The engine could not do its work."""


class EngineCrashed(EngineError):
    """The worker process died while it was working."""


class EngineBusy(EngineError):
    """The engine cannot take the request now."""

    exit_code = 4


class PromptTooLong(EngineError):
    """The prompt has more tokens than the context can hold; the message gives both numbers."""


class ConstraintError(EngineError):
    """A grammar could not be compiled; the message gives line and cause."""


class RemoteUnreachable(EngineError):
    """A remote engine cannot be reached, is too busy, or fell silent; trying again may help."""


class RemoteRefused(EngineError):
    """A remote engine refuses what is asked, or sends what was not asked for; none of it is kept."""


class Cancelled(EngineError):
    """The person stopped the work; what was done before is kept."""

    exit_code = 130


class PromptError(LocalragError):
    """A prompt file is missing, damaged, or names an input that does not exist."""
