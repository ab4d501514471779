"""Questions to a knowledge base: search, answer, explain, and the conversations that they belong to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

from localrag.answering.answerer import Answerer
from localrag.answering.explaining import named
from localrag.answering.options import AskOptions
from localrag.answering.sessions import SessionDesk
from localrag.answering.sources import SourceDesk
from localrag.answering.types import Answer, AskEvent, Prompted
from localrag.claiming import claim_test
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.filtering import Known, filter_from, known
from localrag.retrieval.types import Retrieved
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.filters import Filter


class Questions:
    """What of a knowledge base has to do with questions; the façade is one of these."""

    def __init__(self, store: Store, engines: Engines, settings: Settings) -> None:
        self._store = store
        self._answerer = Answerer(store, engines, settings)

    @property
    def sessions(self) -> SessionDesk:
        """Conversations: list, show, rename, search, export, delete, and how an answer came about."""
        return SessionDesk(self._store)

    @property
    def sources(self) -> SourceDesk:
        """Cited passages within their documents, with what an answer shares with them."""
        return SourceDesk(self._store)

    def search(
        self,
        question: str,
        *,
        mode: str | None = None,
        options: AskOptions | None = None,
        cancel: threading.Event | None = None,
    ) -> Retrieved:
        """What is found for a question, without asking the model for an answer.

        `mode` is one of `retrieval.types.MODES`; without it that of the options counts, which is `auto`.
        Raises `UsageError` for an empty question, an unknown mode or a filter that names what is not there,
        `NothingIndexed`, `Cancelled`.
        """
        return self._answerer.retrieve(question, _wanted(mode, options), cancel)

    def stream(
        self,
        question: str,
        *,
        mode: str | None = None,
        options: AskOptions | None = None,
        cancel: threading.Event | None = None,
    ) -> Generator[AskEvent, None, None]:
        """Answer a question piece by piece; the last event is the `Answer`.

        Events come in this order: `Rewritten` for a follow-up question, `Found` as soon as the texts are
        searched, `Reading` while the model reads, `AnswerText` for each piece, `Answer`; or `Kept` before the
        pieces of an answer that was written before. In a conversation (`options.session`) the question is
        stored before all that, which `Stored` tells, and the answer when it ends, also what there is of one
        that is stopped. While it is iterated it raises `UsageError`,
        `NothingIndexed`, `ModelNotFound`, `PromptTooLong`, `EngineError`, and `Cancelled` soon after `cancel`
        is set. Closing the iterator stops it too.
        """
        return self._answerer.stream(question, _wanted(mode, options), cancel)

    def ask(
        self,
        question: str,
        *,
        mode: str | None = None,
        options: AskOptions | None = None,
        on_event: Callable[[AskEvent], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Answer:
        """Answer a question; `on_event` hears of everything that `stream` gives. Raises as `stream` does."""
        for event in self.stream(question, mode=mode, options=options, cancel=cancel):
            if on_event is not None:
                on_event(event)
            if isinstance(event, Answer):
                return event
        raise Cancelled("The answer was stopped.", "Ask again.")

    def prompt(
        self,
        question: str,
        *,
        mode: str | None = None,
        options: AskOptions | None = None,
        cancel: threading.Event | None = None,
    ) -> Prompted:
        """The prompt that would be put before the model, without running it; the model counts its tokens.

        Raises as `stream` does.
        """
        return self._answerer.prompt(question, _wanted(mode, options), cancel)

    def prompt_of(
        self, session: int | str, number: int | None = None, cancel: threading.Event | None = None
    ) -> tuple[Prompted, bool]:
        """The prompt of an answer of a conversation, built again, and whether it holds what it held then.

        It does not if the texts, the settings or the prompts have changed since. Raises `UsageError` if there
        is no such answer or nothing is known any more of how it came about, and as `prompt` does.
        """
        then = self.sessions.explanation(session, number)
        question, options = self.sessions.question(session, number)
        prompted = self._answerer.prompt(question, options, cancel, written_out=True)
        now = named(self._store, prompted.explanation)
        return prompted, now["context"].get("shown") == then["context"].get("shown")

    def filter(
        self,
        *,
        documents: Sequence[str | int] = (),
        folder: str = "",
        tags: Sequence[str] = (),
        media: Sequence[str] = (),
        since: str = "",
        until: str = "",
        types: Sequence[str] = (),
        claim_types: Sequence[str] = (),
        claim_statuses: Sequence[str] = (),
    ) -> Filter:
        """A filter for `AskOptions`, of what a person typed.

        `documents` are paths, ids, folders with a slash at their end, or patterns; `media` are media types or
        endings; `since` and `until` are days, months or years in which files were changed; `types` are those
        of entities. Raises `UsageError` for what is not in the knowledge base, with a hint.
        """
        claims = claim_test(claim_types, claim_statuses) if claim_types or claim_statuses else None
        return filter_from(
            self._store,
            documents=documents,
            folder=folder,
            tags=tags,
            media=media,
            modified_from=since,
            modified_until=until,
            entity_types=types,
            claims=claims,
        )

    def filterable(self) -> Known:
        """What a filter can name: documents, folders, tags and types that are in the knowledge base."""
        return known(self._store)

    def explain(self, answer: Answer) -> dict[str, Any]:
        """How an answer came about, for programs: what was found by which search, what the model got to read
        and what was cut, times, model and seed; each id with the name behind it."""
        return named(self._store, answer.explanation) if answer.explanation is not None else {}


def _wanted(mode: str | None, options: AskOptions | None) -> AskOptions:
    wanted = options or AskOptions()
    return wanted if mode is None else replace(wanted, mode=mode)
