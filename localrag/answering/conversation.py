"""One conversation while a question of it is answered: what was said before, and what is stored of it now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from localrag.answering.explaining import without_names
from localrag.answering.options import AskOptions, Turn, to_json
from localrag.answering.rewriting import Rewriting
from localrag.answering.types import Answer, Stored
from localrag.engines import generation_row, instructions
from localrag.errors import KnowledgeBaseError, SourceGone, UsageError
from localrag.store.database import Store
from localrag.store.talk_rows import MessageRow, MessageState, NewCitation

NEW = "new"
"""Stands for a conversation that begins with this question."""

LAST = "last"
"""Stands for the conversation in which something was said last."""

REWRITTEN = "rewritten"
"""Key of a question's details: the question as it was searched."""

OPTIONS = "options"
"""Key of a question's details: the options that were not as usual."""

_LIST = re.compile(r"\n+#{1,4} (?:References|参考资料)\n.*\Z", re.DOTALL)
_MARK = re.compile(r"\s*\[(?:\d+|no-context|unverified|未证实)\]")


def find_session(store: Store, wanted: int | str | None) -> int | None:
    """The id of the conversation that is meant; None for a new one, or for none.

    Raises `UsageError` if it is not there.
    """
    if wanted is None or wanted == NEW:
        return None
    if wanted == LAST:
        rows = store.talk.sessions(1)
        if not rows:
            raise UsageError("There is no conversation yet.", "Begin one with --session new.")
        return rows[0].id
    if isinstance(wanted, int):
        return store.talk.get(wanted).id
    raise UsageError(f"There is no conversation {wanted!r}.", f"Name it by its number, {NEW} or {LAST}.")


def turns_of(messages: Sequence[MessageRow]) -> tuple[Turn, ...]:
    """Questions with their answers; a question counts in the form in which it can be understood alone."""
    turns: list[Turn] = []
    for message in messages:
        if message.role == "user":
            turns.append(Turn(str(message.details.get(REWRITTEN) or message.text), ""))
        elif turns:
            turns[-1] = Turn(turns[-1].question, bare(message.text))
    return tuple(turns)


def bare(answer: str) -> str:
    """An answer without its list of references and without marks, whose numbers mean nothing elsewhere."""
    return _MARK.sub("", _LIST.sub("", answer)).strip()


class Conversation:
    """What a question belongs to."""

    def __init__(self, store: Store, options: AskOptions) -> None:
        """The conversation that the options of a question name; without one their history is what was said.

        Raises `UsageError` if there is no such conversation.
        """
        self._store = store
        self._options = options
        self._stored = options.session is not None
        self._id = find_session(store, options.session)
        self._asked: int | None = None
        self.notes: list[str] = []
        """Why something could not be stored, in sentences."""

    @property
    def session(self) -> int | None:
        """Its id; None if it is not stored, or not yet."""
        return self._id

    def history(self) -> tuple[Turn, ...]:
        """What was said before, the oldest first."""
        if self._id is None or self._options.session == NEW:
            return self._options.history
        before = self._store.talk.messages(self._id)
        return turns_of([row for row in before if row.id != self._asked])

    def ask(self, question: str) -> Stored | None:
        """Store the question before it is answered; None if it belongs to no conversation.

        What cannot be stored because the file is locked, busy or full is told in `notes`.
        """
        if not self._stored:
            return None
        try:
            with self._store.transaction():
                session = self._store.talk.create(question) if self._id is None else self._id
                if self._options.replaces is not None:
                    self._store.talk.take_back(session, self._options.replaces)
                asked = self._store.talk.add(session, "user", question, details=self._details_of(None))
        except KnowledgeBaseError as error:
            self._stored = False
            self.notes.append(f"Question and answer are not stored in the conversation: {error.message}")
            return None
        self._id, self._asked = session, asked
        return Stored(session, asked)

    def keep(
        self,
        question: str,
        rewriting: Rewriting | None,
        text: str,
        state: MessageState,
        *,
        answer: Answer | None = None,
        generation_id: int | None = None,
        chunks: Sequence[int] = (),
    ) -> None:
        """Store the answer, and the question unless `ask` has; `text` is all that was written of the answer,
        `chunks` what it rests on.

        What cannot be stored because the file is locked, busy or full, or since the conversation was deleted
        meanwhile, is told in `notes`.
        """
        if not self._stored:
            return
        try:
            self._keep(question, rewriting, text, state, answer, generation_id, chunks)
        except (KnowledgeBaseError, UsageError) as error:
            self.notes.append(f"The answer is not stored in the conversation: {error.message}")

    def _keep(
        self,
        question: str,
        rewriting: Rewriting | None,
        text: str,
        state: MessageState,
        answer: Answer | None,
        generation_id: int | None,
        chunks: Sequence[int],
    ) -> None:
        talk = self._store.talk
        with self._store.transaction():
            session = talk.create(question) if self._id is None else self._id
            if self._asked is None or rewriting is not None:
                call, details = self._journalled(rewriting, session), self._details_of(rewriting)
                if self._asked is None:
                    talk.add(session, "user", question, details=details, generation_id=call)
                else:
                    talk.describe(self._asked, details, call)
            if text or answer is not None:
                message = talk.add(
                    session,
                    "assistant",
                    text,
                    state=state,
                    details=_details(answer),
                    citations=_citations(answer),
                    generation_id=generation_id,
                )
                if answer is not None and answer.explanation is not None:
                    self._store.traces.put(message, without_names(answer.explanation).to_json(), chunks)
        self._id = session

    def _details_of(self, rewriting: Rewriting | None) -> Mapping[str, Any]:
        """How a question was asked and is searched."""
        asked: dict[str, Any] = {REWRITTEN: rewriting.question} if rewriting else {}
        if chosen := to_json(self._options):
            asked[OPTIONS] = chosen
        return asked

    def _journalled(self, rewriting: Rewriting | None, session: int) -> int | None:
        """The id of the call that wrote a question out. It rests on what the conversation rests on."""
        if rewriting is None or rewriting.call is None:
            return None
        request, generation = rewriting.call
        prompt = self._store.journal.put_prompt(instructions(request))
        try:
            return self._store.journal.add_generation(
                generation_row(request, generation, prompt), self._store.talk.sources(session)
            )
        except SourceGone:
            return None


def _details(answer: Answer | None) -> Mapping[str, Any]:
    if answer is None:
        return {}
    return {
        "mode": answer.mode,
        "model": answer.model,
        "abstained": answer.abstained,
        "kept": answer.kept,
        "coverage": {"read": answer.coverage.read, "total": answer.coverage.total},
        "seconds": {name: round(value, 3) for name, value in answer.seconds.items()},
    }


def _citations(answer: Answer | None) -> list[NewCitation]:
    return [
        NewCitation(
            number=citation.number,
            label=citation.label,
            kind=citation.kind,
            # What lies in another knowledge base may be changed and deleted there, so its text is not kept.
            document=f"{citation.base}: {citation.document}" if citation.base else citation.document,
            page=citation.page,
            start=citation.start,
            end=citation.end,
            text="" if citation.base else citation.text,
        )
        for citation in (answer.citations if answer is not None else ())
    ]
