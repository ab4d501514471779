"""Asks in steps: what a question only describes is looked up first, and its name is put in its place.

A small model that gets to read all passages at once seldom goes from one to the next. Asked for one fact at
a time it finds each (measured: docs/measurements.md). The steps are answered as any question is, from
passages that are found for them, and count only where their answer rests on one; a step that fails leaves
the question as it was.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

from localrag.answering.citations import StoreOf
from localrag.answering.conversation import bare
from localrag.answering.described import Described, described
from localrag.answering.options import AskOptions
from localrag.answering.types import AnswerText, Citation, Step
from localrag.answering.writing import Writing
from localrag.documents import language
from localrag.engines import Engines
from localrag.retrieval.types import Retrieved
from localrag.settings import Settings
from localrag.store.database import Store

MOST_STEPS = 3
"""Things that are looked up before the question itself is asked."""

_FORM = "short"
_MOST_TOKENS = 48
_LONGEST = 60
_MOST_WORDS = 9
_LONGEST_CHINESE = 20
_NO_NAME = re.compile(r"(?i)(?:yes|no|none|unknown|not .*|there is .*|是的|不是|没有|未知|不知道)\W*")

Search = Callable[[str], Retrieved]
"""Finds what there is for a question."""


class Stepping:
    """The steps of one question."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        options: AskOptions,
        cancel: threading.Event | None,
        store_of: StoreOf,
    ) -> None:
        """`store_of` gives the open file of a knowledge base that was searched, by its name."""
        self._store = store
        self._store_of = store_of
        self._engines = engines
        answering = replace(settings.answering, max_tokens=min(_MOST_TOKENS, settings.answering.max_tokens))
        self._settings = replace(settings, answering=answering)
        # What a person wished for the answer is no wish for its steps.
        self._options = replace(options, response_type=_FORM, user_prompt="", style="strict")
        self._cancel = cancel
        self.steps: list[Step] = []
        """What was looked up, in order; only what came to an answer."""
        self.question = ""
        """The question with the names of what was looked up in it."""
        self.retrieved: Retrieved | None = None
        """What was found for the last one."""
        self.writing: Writing | None = None
        """How the last one was answered."""
        self.chunks: set[int] = set()
        """Chunks that the model was shown for these."""

    def run(self, question: str, search: Search) -> Iterator[Step]:
        """Look up what `question` describes, one thing after the other; `self.question` is what comes of it.

        Gives each step twice: before it is asked, without an answer, and with it. Raises what asking raises.
        """
        self.question = question.strip()
        for _ in range(MOST_STEPS):
            found = described(self.question, language.detect(self.question))
            if found is None:
                return
            yield Step(found.question)
            step = self.ask(found.question, search)
            name = named(step.answer, found) if step is not None else ""
            if step is None or not name:
                return
            step = replace(step, answer=name)
            self.steps.append(step)
            self.question = self.question[: found.start] + name + self.question[found.end :]
            yield step

    def ask(self, question: str, search: Search) -> Step | None:
        """One question and its answer in a few words; None if there is none, or it rests on nothing."""
        retrieved = self.retrieved = search(question)
        if retrieved.empty:
            return None
        writing = self.writing = Writing(
            self._store, self._engines, self._settings, retrieved, self._cancel, self._options
        )
        writing.store_of, writing.further_chunks = self._store_of, self.chunks
        text = "".join(event.text for event in writing.events() if isinstance(event, AnswerText))
        citations = writing.citations()
        if writing.abstained or not citations:
            return None
        self.chunks |= writing.chunks()
        return Step(question, bare(text).strip(), citations)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """What the answers of the steps rest on, step by step."""
        return tuple(citation for step in self.steps for citation in step.citations)


def named(answer: str, found: Described) -> str:
    """The name that an answer gives; empty if it gives none that could stand in the question."""
    text = " ".join(answer.split())
    inner = found.question.partition(" is ")[2].rstrip("?")
    if inner and text.casefold().startswith(f"{inner.casefold()} is "):
        text = text[len(inner) + len(" is ") :]
    text = text.strip(' .。*`"“”')
    longest = _LONGEST_CHINESE if language.detect(text) == "zh" else _LONGEST
    if not text or len(text) > longest or len(text.split()) > _MOST_WORDS or _NO_NAME.fullmatch(text):
        return ""
    return text
