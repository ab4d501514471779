"""Answers a question: what is found for it, then the text as it is written, then the whole answer.

The steps of a question: it is cleaned; an answer that was kept is given at once; a follow-up is written out;
passages, entities and relations are searched and shown; the answer is written; it is kept and stored.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

from localrag.answering.comparing import Compared, Comparing
from localrag.answering.comparisons import Comparison, comparison
from localrag.answering.conversation import Conversation
from localrag.answering.explaining import Explanation, explained
from localrag.answering.keeping import Keeper, KeptAnswer
from localrag.answering.options import AskOptions, Turn
from localrag.answering.originals import refreshed, told
from localrag.answering.question import clean_question
from localrag.answering.rewriting import Rewriting, rewrite
from localrag.answering.searching import Search
from localrag.answering.stepping import Stepping
from localrag.answering.tabled import answer_of, table_for
from localrag.answering.tables import TableAnswer
from localrag.answering.types import Answer, AnswerText, AskEvent, Found, Kept, Prompted, Rewritten
from localrag.answering.writing import Writing
from localrag.bases import Bases, open_bases
from localrag.documents import language
from localrag.engines import Engines
from localrag.errors import Cancelled, LocalragError
from localrag.retrieval.types import BYPASS, Retrieved
from localrag.settings import Settings
from localrag.stopping import wait_for
from localrag.store.database import Store


class Answerer:
    """Answers questions from one file."""

    def __init__(self, store: Store, engines: Engines, settings: Settings) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings

    def retrieve(
        self, question: str, options: AskOptions | str = "auto", cancel: threading.Event | None = None
    ) -> Retrieved:
        """What is found for a question, without asking the language model for an answer.

        `options` may be the name of a mode. Raises `UsageError` for an empty question or an unknown mode,
        `NothingIndexed`, `Cancelled`.
        """
        wanted = AskOptions(mode=options) if isinstance(options, str) else options
        text = clean_question(question)
        search = Search(self._store, self._engines, self._settings, wanted, cancel)
        with open_bases(self._store, wanted.bases) as bases:
            return search.found(text, bases)

    def stream(
        self,
        question: str,
        options: AskOptions | str = "auto",
        cancel: threading.Event | None = None,
    ) -> Generator[AskEvent, None, None]:
        """What is found, then the answer piece by piece; the last event is the `Answer`.

        `options` may be the name of a mode. What was written is stored in the conversation also when it is
        stopped or fails. Raises as `retrieve` does, and `ModelNotFound`, `PromptTooLong`, `EngineError`, and
        `UsageError` if there is no such conversation.
        """
        wanted = AskOptions(mode=options) if isinstance(options, str) else options
        asking = _Asking(self._store, self._engines, self._settings, wanted, cancel)
        yield from asking.events(question)

    def prompt(
        self,
        question: str,
        options: AskOptions | str = "auto",
        cancel: threading.Event | None = None,
        *,
        written_out: bool = False,
    ) -> Prompted:
        """The prompt that `stream` would run. Raises as it does.

        A question that is `written_out` already is taken as it is, whatever was said before.
        """
        wanted = AskOptions(mode=options) if isinstance(options, str) else options
        asking = _Asking(self._store, self._engines, self._settings, wanted, cancel)
        return asking.prompted(question, written_out=written_out)


class _Asking:
    """One question on its way to its answer."""

    def __init__(
        self,
        store: Store,
        engines: Engines,
        settings: Settings,
        options: AskOptions,
        cancel: threading.Event | None,
    ) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings
        self._options = options
        self._cancel = cancel
        self._search = Search(store, engines, settings, options, cancel)
        self._keeper = Keeper(store, engines, settings)
        self._began = time.monotonic()
        self._seconds: dict[str, float] = {}
        self._parts: list[str] = []
        self._key = ""
        self._revision = 0

    def events(self, question: str) -> Iterator[AskEvent]:
        """All that happens; the last event is the `Answer`."""
        text = clean_question(question)
        self._search.check()
        talk = Conversation(self._store, self._options)
        if (stored := talk.ask(text)) is not None:
            yield stored
        history = talk.history()
        if not history and (table := table_for(self._store, text, self._options)) is not None:
            yield from self._tabled(text, talk, None, table)
            return
        self._revision = self._store.revision()
        self._key = wait_for(lambda: self._keeper.key(text, self._options, history), self._cancel)
        kept = None if self._options.fresh else self._keeper.get(self._key)
        if kept is not None:
            yield from self._again(text, talk, kept)
            return
        with open_bases(self._store, self._options.bases) as bases:
            yield from self._anew(text, talk, history, bases)

    def _anew(
        self, text: str, talk: Conversation, history: tuple[Turn, ...], bases: Bases
    ) -> Iterator[AskEvent]:
        """An answer that is written now."""
        rewriting = self._rewritten(text, history)
        if rewriting is not None:
            yield Rewritten(rewriting.question, text)
        searched = rewriting.question if rewriting else text
        if history and (table := table_for(self._store, searched, self._options)) is not None:
            yield from self._tabled(text, talk, rewriting, table)
            return
        # Asked before: a model that is being loaded has a process already.
        waits = self._search.waits()
        self._warm_up(embedder=waits)
        if waits:
            first = self._search.at_once(searched, bases)
            if not first.empty:
                yield Found(first, final=False)
        stepping: Stepping | None = None
        search = partial(self._search.found, bases=bases)
        if self._takes_steps():
            asked = comparison(searched, language.detect(searched))
            if asked is not None:
                stepping = self._stepping(bases)
                comparing = self._comparing(stepping, asked)
                with self._kept_in(talk, text, rewriting):
                    yield from comparing.run(search)
                if comparing.result is not None:
                    yield from self._compared(text, talk, rewriting, stepping, comparing.result)
                    return
            stepping = self._stepping(bases)
            with self._kept_in(talk, text, rewriting):
                yield from stepping.run(searched, search)
            self._seconds["steps"] = time.monotonic() - self._began
        retrieved = self._search.found(stepping.question if stepping else searched, bases)
        self._seconds["retrieval"] = time.monotonic() - self._began
        yield Found(retrieved)
        writing = self._writing(retrieved, history)
        writing.store_of = bases.store
        if stepping is not None:
            writing.further, writing.further_chunks = stepping.citations, stepping.chunks
        with self._kept_in(talk, text, rewriting):
            for event in writing.events():
                if isinstance(event, AnswerText):
                    self._seconds.setdefault("first_text", time.monotonic() - self._began)
                    self._parts.append(event.text)
                yield event
        self._seconds["total"] = time.monotonic() - self._began
        answer = self._answer(text, rewriting, retrieved, writing)
        answer = replace(answer, steps=tuple(stepping.steps) if stepping else ())
        call, chunks = writing.generation_id, sorted(writing.chunks())
        yield from self._ended(text, talk, rewriting, answer, call, chunks)

    def _comparing(self, stepping: Stepping, asked: Comparison) -> Comparing:
        answering = self._settings.answering
        form = (self._options.response_type or answering.response_type).strip().lower()
        return Comparing(stepping, asked, form=form, maximum=answering.max_citations)

    def _compared(
        self,
        text: str,
        talk: Conversation,
        rewriting: Rewriting | None,
        stepping: Stepping,
        compared: Compared,
    ) -> Iterator[AskEvent]:
        """An answer that compares what was found of two things."""
        retrieved, writing = stepping.retrieved, stepping.writing
        # Both sides were asked.
        assert retrieved is not None
        assert writing is not None
        yield Found(retrieved)
        total = time.monotonic() - self._began
        self._seconds |= {"first_text": total, "total": total}
        self._parts.append(compared.text)
        yield AnswerText(compared.text)
        answer = replace(
            self._answer(text, rewriting, retrieved, writing),
            citations=compared.citations,
            steps=compared.steps,
            checks=(),
        )
        call, chunks = writing.generation_id, sorted(stepping.chunks)
        yield from self._ended(text, talk, rewriting, answer, call, chunks)

    def _ended(
        self,
        text: str,
        talk: Conversation,
        rewriting: Rewriting | None,
        answer: Answer,
        call: int | None,
        chunks: list[int],
    ) -> Iterator[Answer]:
        """Keep a whole answer and give it."""
        if answer.steps and answer.explanation is not None:
            steps = tuple(step.to_json() for step in answer.steps)
            answer = replace(answer, explanation=replace(answer.explanation, steps=steps))
        self._keeper.put(self._key, answer, revision=self._revision, generation_id=call, chunks=chunks)
        talk.keep(text, rewriting, answer.answer, "whole", answer=answer, generation_id=call, chunks=chunks)
        notes = (*answer.notes, *told(answer.citations), *talk.notes)
        yield replace(answer, session=talk.session, notes=notes)

    def _tabled(
        self, text: str, talk: Conversation, rewriting: Rewriting | None, table: TableAnswer
    ) -> Iterator[AskEvent]:
        """An answer that comes from the tables; no model is asked, and nothing has to be kept."""
        total = time.monotonic() - self._began
        self._seconds |= {"first_text": total, "total": total}
        answer = answer_of(table, text, self._seconds, rewritten=rewriting.question if rewriting else "")
        yield AnswerText(answer.answer)
        talk.keep(text, rewriting, answer.answer, "whole", answer=answer)
        yield replace(answer, session=talk.session, notes=(*told(answer.citations), *talk.notes))

    def prompted(self, question: str, *, written_out: bool) -> Prompted:
        """The prompt of the question, which is not run."""
        text = clean_question(question)
        self._search.check()
        history = Conversation(self._store, self._options).history()
        rewriting = None if written_out else self._rewritten(text, history)
        with open_bases(self._store, self._options.bases) as bases:
            retrieved = self._search.found(rewriting.question if rewriting else text, bases)
        self._seconds["retrieval"] = time.monotonic() - self._began
        writing = self._writing(retrieved, history)
        prepared = writing.prepare()
        return Prompted(text, retrieved, prepared, self._explanation(retrieved, writing))

    def _takes_steps(self) -> bool:
        """Whether what the question only describes may be looked up first."""
        wanted = self._options.steps
        allowed = self._settings.answering.steps if wanted is None else wanted
        return allowed and self._options.mode != BYPASS and self._engines.has_model()

    def _stepping(self, bases: Bases) -> Stepping:
        """The steps of the question, none of which is taken yet."""
        return Stepping(self._store, self._engines, self._settings, self._options, self._cancel, bases.store)

    def _writing(self, retrieved: Retrieved, history: tuple[Turn, ...]) -> Writing:
        return Writing(
            self._store, self._engines, self._settings, retrieved, self._cancel, self._options, history
        )

    def _again(self, text: str, talk: Conversation, kept: KeptAnswer) -> Iterator[AskEvent]:
        """An answer that was kept, as if it were written now."""
        cited = refreshed(self._store, kept.answer.citations)
        answer = replace(kept.answer, question=text, citations=cited)
        yield Kept(answer.kept)
        if answer.rewritten:
            yield Rewritten(answer.rewritten, text)
        yield AnswerText(answer.answer)
        total = time.monotonic() - self._began
        answer = replace(answer, seconds={"first_text": total, "total": total})
        rewriting = Rewriting(answer.rewritten) if answer.rewritten else None
        call = kept.generation_id
        talk.keep(
            text, rewriting, answer.answer, "whole", answer=answer, generation_id=call, chunks=kept.chunks
        )
        notes = (*answer.notes, *told(answer.citations), *talk.notes)
        yield replace(answer, session=talk.session, notes=notes)

    def _warm_up(self, *, embedder: bool) -> None:
        """Let the models load while the texts are searched; whoever uses them hears of what fails."""
        engines, space = self._engines, self._store.vectors.active_space()
        loads: list[Callable[[], object]] = []
        if embedder and space is not None:
            loads.append(lambda: engines.embedder_of(space).space)
        if engines.has_model():
            loads.append(lambda: engines.model.describe())
        for load in loads:
            threading.Thread(target=_quietly, args=(load,), name="localrag-warm-up", daemon=True).start()

    def _rewritten(self, text: str, history: tuple[Turn, ...]) -> Rewriting | None:
        if not history or not self._engines.has_model():
            return None
        return rewrite(text, history, self._engines.model, self._settings, self._cancel)

    @contextlib.contextmanager
    def _kept_in(self, talk: Conversation, text: str, rewriting: Rewriting | None) -> Iterator[None]:
        """Store what was written so far if it ends before its end."""
        try:
            yield
        except (Cancelled, GeneratorExit, KeyboardInterrupt):
            talk.keep(text, rewriting, "".join(self._parts), "stopped")
            raise
        except LocalragError:
            talk.keep(text, rewriting, "".join(self._parts), "failed")
            raise

    def _answer(
        self, text: str, rewriting: Rewriting | None, retrieved: Retrieved, writing: Writing
    ) -> Answer:
        return Answer(
            question=text,
            answer="".join(self._parts),
            abstained=writing.abstained,
            mode=retrieved.mode,
            model=writing.model,
            coverage=retrieved.coverage,
            citations=writing.citations(),
            language=writing.language,
            seconds=self._seconds,
            retrieved=retrieved,
            rewritten=rewriting.question if rewriting else "",
            notes=(*retrieved.notes, *writing.notes),
            checks=writing.checks,
            explanation=self._explanation(retrieved, writing),
        )

    def _explanation(self, retrieved: Retrieved, writing: Writing) -> Explanation:
        prepared = writing.prepared
        found = replace(explained(retrieved, self._options), seconds=self._seconds, model=writing.model)
        if prepared is None:
            return found
        return replace(
            found,
            context=prepared.trace.to_json(),
            style=prepared.style,
            call=writing.call_numbers(),
            certainty=writing.certainty,
        )


def _quietly(load: Callable[[], object]) -> None:
    with contextlib.suppress(LocalragError):
        load()
