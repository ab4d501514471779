"""The desk of conversations: lists them, shows them, renames, searches, exports and deletes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from localrag.answering.conversation import OPTIONS, REWRITTEN, find_session, turns_of
from localrag.answering.explaining import Explanation, named
from localrag.answering.options import AskOptions, from_json
from localrag.errors import UsageError
from localrag.store.database import Store
from localrag.store.talk_rows import CitationRow, MessageRow, SessionRow

_MARKUP = re.compile(r"([\\`*_<>\[\]#|~])")


class SessionDesk:
    """The conversations of one knowledge base."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self, limit: int | None = None) -> Sequence[SessionRow]:
        """Conversations, the one in which something was said last first."""
        return self._store.talk.sessions(limit)

    def search(self, words: str, limit: int | None = None) -> Sequence[SessionRow]:
        """Conversations in whose title and messages all these words occur."""
        return self._store.talk.search(words, limit)

    def begin(self, title: str) -> int:
        """Begin a conversation; returns its id. Raises `KnowledgeBaseReadOnly`."""
        return self._store.talk.create(title)

    def get(self, session: int | str) -> SessionRow:
        """A conversation by its id, or the `last` one. Raises `UsageError` if it is not there."""
        return self._store.talk.get(self._id(session))

    def messages(self, session: int | str) -> Sequence[MessageRow]:
        """What was said, with what it rests on and whether that is still there. Raises as `get`."""
        return self._store.talk.messages(self._id(session))

    def rename(self, session: int | str, title: str) -> None:
        """Give a conversation another title. Raises `UsageError` for an empty one, and as `get`."""
        if not title.strip():
            raise UsageError("The title is empty.", "Write one behind the number of the conversation.")
        self._store.talk.rename(self._id(session), title)

    def delete(self, session: int | str) -> SessionRow:
        """Delete a conversation with the calls that wrote it; returns what it was. Raises as `get`, and
        `KnowledgeBaseReadOnly`."""
        row = self.get(session)
        self._store.talk.delete(row.id)
        return row

    def answer(self, session: int | str, number: int | None = None) -> MessageRow:
        """The answer with a number, counted from 1, of a conversation; the last one without.

        Raises `UsageError` if there is none.
        """
        answers = [row for row in self.messages(session) if row.role == "assistant"]
        place = len(answers) if number is None else number
        if not 1 <= place <= len(answers):
            raise UsageError(
                f"The conversation has no answer {place}." if answers else "The conversation has no answer.",
                f"It has {len(answers)}." if answers else "",
            )
        return answers[place - 1]

    def explanation(self, session: int | str, number: int | None = None) -> dict[str, Any]:
        """How an answer came about, as JSON with names, as `explaining.named` gives it.

        Raises `UsageError` if nothing is known of it, or not any more because a document that it rests on
        was deleted.
        """
        message = self.answer(session, number)
        trace = self._store.traces.get(message.id)
        if trace is None:
            raise UsageError(
                "How this answer came about is not known, or not any more.",
                "It goes when a document that the answer rests on is deleted or changed.",
            )
        try:
            return named(self._store, Explanation.from_json(trace))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                "How this answer came about was written down by another program and cannot be read.",
                "Ask the question again with --explain.",
            ) from error

    def question(self, session: int | str, number: int | None = None) -> tuple[str, AskOptions]:
        """The question that an answer answers, as it was searched, with its options and what had been said.

        Raises as `answer` does.
        """
        answer, messages = self.answer(session, number), self.messages(session)
        before = [row for row in messages if row.id < answer.id]
        asked = next(row for row in reversed(before) if row.role == "user")
        turns = turns_of([row for row in before if row.id < asked.id])
        options = from_json(asked.details.get(OPTIONS, {}))
        return str(asked.details.get(REWRITTEN) or asked.text), replace(options, history=turns)

    def markdown(self, session: int | str) -> str:
        """A conversation as Markdown, each answer with the places that it rests on. Raises as `get`."""
        row = self.get(session)
        parts = [f"# {_escaped(row.title) or 'Conversation'}", f"Begun {_moment(row.created_at)}."]
        for message in self._store.talk.messages(row.id):
            parts += _asked(message) if message.role == "user" else _answered(message)
        return "\n\n".join(parts) + "\n"

    def _id(self, session: int | str) -> int:
        found = find_session(self._store, session)
        if found is None:
            raise UsageError(f"There is no conversation {session!r}.", "localrag sessions list shows all.")
        return found


def _asked(message: MessageRow) -> list[str]:
    parts = [f"## {_escaped(message.text)}"]
    rewritten = str(message.details.get(REWRITTEN) or "")
    return [*parts, f"*Searched as: {_escaped(rewritten)}*"] if rewritten else parts


def _answered(message: MessageRow) -> list[str]:
    ends = {"whole": "", "stopped": "*Stopped before it was complete.*", "failed": "*Writing it failed.*"}
    parts = [message.text.strip(), ends[message.state]]
    return [part for part in (*parts, _sources(message.citations)) if part]


def _sources(citations: Sequence[CitationRow]) -> str:
    """The cited places, each with its text as a quotation."""
    items = []
    for citation in citations:
        name = _escaped(citation.label or "a source")
        if citation.gone:
            items.append(f"- [{citation.number}] {name}: gone or changed since")
            continue
        place = f"characters {citation.start}-{citation.end}"
        if citation.page is not None:
            place = f"page {citation.page}, {place}"
        if citation.kind != "document":
            place = f"{_escaped(citation.document)}, {place}"
        quoted = "\n".join(f"  > {_escaped(line)}".rstrip() for line in citation.text.splitlines())
        items.append(f"- [{citation.number}] {name}: {place}\n\n{quoted}\n".rstrip())
    return "#### Cited places\n\n" + "\n".join(items) if items else ""


def _escaped(text: str) -> str:
    """Text that others wrote as Markdown that shows it as it is, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def _moment(text: str) -> str:
    """A stored time for people."""
    return f"{text[:10]} {text[11:16]} UTC"
