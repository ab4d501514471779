"""Writes one answer: the model's stream made readable, then the list of references under it.

The model writes numbers of the context. What a person reads is made of them here: marks, a list of distinct
references, and citations whose spans are checked against the stored text.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from localrag.answering.abstaining import certainty
from localrag.answering.budgeting import reading_rate
from localrag.answering.checking import SentenceCheck
from localrag.answering.citations import StoreOf, citations, joined
from localrag.answering.citing import Citing
from localrag.answering.marks import reference_list
from localrag.answering.options import AskOptions, Turn
from localrag.answering.request import (
    GENERAL,
    REFUSAL,
    Prepared,
    fail_response,
    heading,
    prepare,
    style_of,
)
from localrag.answering.types import AnswerText, Citation, Reading
from localrag.documents import language
from localrag.engine.types import Generation, LanguageModel, ProgressEvent, TextEvent
from localrag.engines import Engines, generation_row, instructions
from localrag.errors import Cancelled, EngineError, KnowledgeBaseError
from localrag.retrieval.context import Source
from localrag.retrieval.types import BYPASS, Passage, Retrieved
from localrag.settings import Settings
from localrag.stopping import stoppable, wait_for
from localrag.store.database import Store

_NUMBER = re.compile(r"\[(\d+)\]")
_BODY = ("body", "text")


class Writing:
    """The writing of one answer."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        retrieved: Retrieved,
        cancel: threading.Event | None,
        options: AskOptions | None = None,
        history: Sequence[Turn] = (),
    ) -> None:
        """`history` is what was said before, oldest first."""
        self._store = store
        self.store_of: StoreOf = lambda name: store
        """Gives the open file of a knowledge base by the name that its hits carry."""
        self._engines = engines
        self._settings = settings
        self._retrieved = retrieved
        self._cancel = cancel
        self._options = options or AskOptions()
        self._history = history
        self.prepared: Prepared | None = None
        """The call, once it is built; None if no model is asked, since nothing was found."""
        self.certainty: float | None = None
        """How sure it is that the context holds the answer, from 0 to 1; None if that was not looked at."""
        self.further: tuple[Citation, ...] = ()
        """What the answer rests on beside its own context: the sources of its steps."""
        self.further_chunks: Collection[int] = ()
        """Chunks that the model was shown for the steps."""
        self.generation_id: int | None = None
        """The call in the journal, once it is stored there."""
        self._generation: Generation | None = None
        self._raw = ""
        self._shown = ""
        self.language = language.detect(retrieved.question)
        """Language of the question."""
        self._citing = self._new_citing(())
        self.model = ""
        """Name of the model; empty until it is asked."""
        self.abstained = True
        """Whether there is no answer; true until there is one."""

    def events(self) -> Iterator[Reading | AnswerText]:
        """Progress of the reading, then the text, then the references."""
        prepared = None if self._is_hopeless() else self.prepare()
        if prepared is None:
            yield from self._refuse()
            return
        model = self._engines.model
        citing = self._citing = self._new_citing(prepared.context.sources)
        generation: Generation | None = None
        with contextlib.closing(stoppable(model.stream(prepared.request), self._cancel)) as events:
            for event in events:
                if isinstance(event, TextEvent) and event.segment in _BODY:
                    self._raw += event.text
                    yield from self._show(citing.feed(event.text))
                elif isinstance(event, ProgressEvent) and event.prompt_total and not self._raw:
                    yield Reading(event.prompt_done, event.prompt_total, event.prefill_rate)
                elif isinstance(event, Generation):
                    generation = event
        yield from self._end(prepared, _checked(generation))

    def citations(self) -> tuple[Citation, ...]:
        """What the answer rests on; nothing if there is none."""
        if self.abstained or self.prepared is None:
            return ()
        own = citations(self._store, self._citing, self.prepared.context.sources, self.store_of)
        return joined(own, self.further, self._settings.answering.max_citations)

    def prepare(self) -> Prepared | None:
        """Build the call, without running it; None if nothing was found that an answer could rest on."""
        if self.prepared is None and (not self._retrieved.empty or self._needs_nothing()):
            model = self._engines.model
            self.prepared = wait_for(lambda: self._prepare(model), self._cancel)
        return self.prepared

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person should know, in sentences: why nothing was written, what was too long."""
        if self.prepared is not None:
            return self.prepared.trace.notes
        if self.certainty is None:
            return ()
        return (
            f"What was found hardly holds the question's words (certainty {self.certainty:.0%}), so the "
            "model was not asked; answering.refuse_below sets the bound.",
        )

    def chunks(self) -> set[int]:
        """The chunks that the model was shown, descriptions of entities and relations included."""
        own = _chunks(self.prepared.context.sources) if self.prepared is not None else set()
        return own.union(self.further_chunks)

    def call_numbers(self) -> dict[str, Any]:
        """The model's call in numbers; empty if there was none."""
        generation = self._generation
        if generation is None or self.prepared is None:
            return {}
        request = self.prepared.request
        return {
            "prompt_tokens": generation.prompt_tokens,
            "output_tokens": generation.output_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "finish": generation.finish,
            "prompt_sha256": generation.prompt_hash,
        }

    def _prepare(self, model: LanguageModel) -> Prepared:
        self.model = model.describe().name
        return prepare(
            self._retrieved,
            self.language,
            self._settings,
            model,
            options=self._options,
            history=self._history,
            rate=reading_rate(self._engines),
        )

    @property
    def checks(self) -> tuple[SentenceCheck, ...]:
        """Each sentence of the answer, held against what it cites; nothing if there is no answer."""
        return () if self.abstained else self._citing.checks

    def _new_citing(self, sources: Sequence[Source]) -> Citing:
        return Citing(
            sources,
            question=self._retrieved.question,
            language=self.language,
            maximum=self._settings.answering.max_citations,
            refusal=REFUSAL,
            general=GENERAL,
        )

    def _needs_nothing(self) -> bool:
        """Whether the answer need not rest on what was found."""
        return self._retrieved.mode == BYPASS or style_of(self._options, self._settings) == "flexible"

    def _is_hopeless(self) -> bool:
        """Whether it is so unsure that what was found holds the answer that none should be written."""
        if self._needs_nothing() or not self._settings.answering.refuse_below:
            return False
        self.certainty = certainty(self._store, self._retrieved)
        return self.certainty is not None and 100 * self.certainty < self._settings.answering.refuse_below

    def _show(self, text: str) -> Iterator[AnswerText]:
        if text:
            self._shown += text
            yield AnswerText(text)

    def _end(self, prepared: Prepared, generation: Generation) -> Iterator[AnswerText]:
        """The rest of the body, then the references or the refusal."""
        self._generation = generation
        title = heading(self.language)
        body = _body(generation, title)
        if body.startswith(self._raw):
            # An engine that does not stream an unfinished segment still reports it in the result.
            yield from self._show(self._citing.feed(body[len(self._raw) :]))
        whole = generation.finish != "length"
        yield from self._show(self._citing.finish(_listed(generation, title), whole=whole))
        if self._citing.refused or not self._shown:
            yield from self._refuse()
        else:
            self.abstained = False
            if generation.finish == "length":
                yield from self._show(" …")
            if labels := self._labels():
                yield from self._show(reference_list(title, labels))
        self._keep(prepared, generation)

    def _labels(self) -> list[str]:
        """The list of references: what the text cites, then, as there is room, what its steps rest on."""
        labels = [*self._citing.references.labels, *(citation.label for citation in self.further)]
        return list(dict.fromkeys(labels))[: self._settings.answering.max_citations]

    def _refuse(self) -> Iterator[AnswerText]:
        """The fail response; what of it the model has written already is not said again."""
        said = fail_response(self.language, self._settings)
        if said.startswith(self._shown):
            yield from self._show(said[len(self._shown) :])
        else:
            yield from self._show(f"\n\n{said}")

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
            self.generation_id = self._store.journal.add_generation(row, self.chunks())


def _chunks(sources: Sequence[Source]) -> set[int]:
    """The chunks that the context came from: descriptions of entities and relations are theirs too."""
    found: set[int] = set()
    for source in sources:
        item = source.item
        if item.base:
            # Its ids are those of another file.
            continue
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
    finished = "".join(segment.text for segment in generation.segments if segment.name in _BODY)
    return finished or generation.text.partition(title)[0]


def _listed(generation: Generation, title: str) -> list[int]:
    """The numbers of the list that the model writes where its text has no marks."""
    text = "".join(segment.text for segment in generation.segments if segment.name == "sources")
    return [int(number) for number in _NUMBER.findall(text.removeprefix(title))]
