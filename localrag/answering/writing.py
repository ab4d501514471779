"""Writes one answer: the model's stream made readable, then the list of references under it.

The model writes numbers of the context. What a person reads is made of them here: marks, a list of distinct
references, and citations whose spans are checked against the stored text.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Sequence

from localrag.answering.citations import citations
from localrag.answering.marks import Marks, References
from localrag.answering.request import REFUSAL, Prepared, fail_response, heading, prepare
from localrag.answering.support import resting_on
from localrag.answering.types import AnswerText, Citation, Reading
from localrag.documents import language
from localrag.engine.types import Generation, LanguageModel, ProgressEvent, TextEvent
from localrag.engines import Engines, generation_row, instructions
from localrag.errors import Cancelled, EngineError, KnowledgeBaseError
from localrag.retrieval.context import Source
from localrag.retrieval.types import Passage, Retrieved
from localrag.settings import Settings
from localrag.stopping import stoppable, wait_for
from localrag.store.database import Store

_NUMBER = re.compile(r"\[(\d+)\]")
_MARKUP = re.compile(r"([\\`*<>\[\]])")
_LABEL_TAG = len("[DC] ")


class Writing:
    """The writing of one answer."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        retrieved: Retrieved,
        cancel: threading.Event | None,
    ) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings
        self._retrieved = retrieved
        self._cancel = cancel
        self._references = References((), 0)
        self._prepared: Prepared | None = None
        self._raw = ""
        self._shown = ""
        self.language = language.detect(retrieved.question)
        """Language of the question."""
        self.model = ""
        """Name of the model; empty until it is asked."""
        self.abstained = True
        """Whether there is no answer; true until there is one."""

    def events(self) -> Iterator[Reading | AnswerText]:
        """Progress of the reading, then the text, then the references."""
        if self._retrieved.empty:
            yield AnswerText(fail_response(self.language, self._settings))
            return
        model = self._engines.model
        prepared = self._prepared = wait_for(lambda: self._prepare(model), self._cancel)
        self._references = References(prepared.context.sources, self._settings.answering.max_citations)
        marks = Marks(self._references, REFUSAL)
        generation: Generation | None = None
        with contextlib.closing(stoppable(model.stream(prepared.request), self._cancel)) as events:
            for event in events:
                if isinstance(event, TextEvent) and event.segment == "body":
                    self._raw += event.text
                    yield from self._show(marks.feed(event.text))
                elif isinstance(event, ProgressEvent) and event.prompt_total and not self._raw:
                    yield Reading(event.prompt_done, event.prompt_total, event.prefill_rate)
                elif isinstance(event, Generation):
                    generation = event
        yield from self._end(marks, prepared, _checked(generation))

    def citations(self) -> tuple[Citation, ...]:
        """What the answer rests on; nothing if there is none."""
        if self.abstained or self._prepared is None:
            return ()
        return citations(self._store, self._references, self._prepared.context.sources)

    def _prepare(self, model: LanguageModel) -> Prepared:
        self.model = model.describe().name
        return prepare(self._retrieved, self.language, self._settings, model)

    def _show(self, text: str) -> Iterator[AnswerText]:
        if text:
            self._shown += text
            yield AnswerText(text)

    def _end(self, marks: Marks, prepared: Prepared, generation: Generation) -> Iterator[AnswerText]:
        """The rest of the body, then the references or the refusal."""
        title = heading(self.language)
        body = _body(generation, title)
        if body.startswith(self._raw):
            # An engine that does not stream an unfinished segment still reports it in the result.
            yield from self._show(marks.feed(body[len(self._raw) :]))
        yield from self._show(marks.finish())
        if marks.refused or not self._shown:
            yield from self._refuse()
        else:
            self.abstained = False
            if generation.finish == "length":
                yield from self._show(" …")
            self._cite_listed(generation, prepared, body, title)
            if self._references.labels:
                lines = "\n".join(f"- {_plain(label)}" for label in self._references.labels)
                yield from self._show(f"{title}{lines}\n")
        self._keep(prepared, generation)

    def _refuse(self) -> Iterator[AnswerText]:
        """The fail response; what of it the model has written already is not said again."""
        said = fail_response(self.language, self._settings)
        if said.startswith(self._shown):
            yield from self._show(said[len(self._shown) :])
        else:
            yield from self._show(f"\n\n{said}")

    def _cite_listed(self, generation: Generation, prepared: Prepared, body: str, title: str) -> None:
        """Where the body has no marks: cite what it rests on, told by its words and the model's own list."""
        if self._references.labels:
            return
        listed = "".join(segment.text for segment in generation.segments if segment.name == "sources")
        numbers = [int(number) for number in _NUMBER.findall(listed.removeprefix(title))]
        for number in resting_on(body, prepared.context.sources, numbers):
            self._references.cite(number)

    def _keep(self, prepared: Prepared, generation: Generation) -> None:
        """Put the call into the journal. An answer is not lost because the file is busy or full.

        Of the prompt only the instructions are kept: the passages are documents' text, which goes when its
        document is deleted. So does the call, since it names the chunks that its text was written from.
        """
        if self._store.read_only:
            return
        with contextlib.suppress(KnowledgeBaseError), self._store.transaction():
            prompt = self._store.journal.put_prompt(instructions(prepared.request))
            row = generation_row(prepared.request, generation, prompt)
            self._store.journal.add_generation(row, _chunks(prepared.context.sources))


def _chunks(sources: Sequence[Source]) -> set[int]:
    """The chunks that the context came from: descriptions of entities and relations are theirs too."""
    found: set[int] = set()
    for source in sources:
        item = source.item
        found.update([item.chunk_id] if isinstance(item, Passage) else item.chunk_ids)
    return found


def _checked(generation: Generation | None) -> Generation:
    """Raises `Cancelled` or `EngineError` if the stream did not end well."""
    if generation is None or generation.finish == "cancelled":
        raise Cancelled("The answer was stopped.", "Ask again.")
    if generation.finish == "error":
        raise EngineError(f"The answer could not be written: {generation.error}", "Ask again.")
    return generation


def _body(generation: Generation, title: str) -> str:
    """The text of the answer without the list; also of an answer that was cut off."""
    finished = "".join(segment.text for segment in generation.segments if segment.name == "body")
    return finished or generation.text.partition(title)[0]


def _plain(label: str) -> str:
    """A label as Markdown that shows it as it is: a name is no link and no markup."""
    return label[:_LABEL_TAG] + _MARKUP.sub(r"\\\1", label[_LABEL_TAG:])
