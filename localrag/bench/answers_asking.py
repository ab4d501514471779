"""Asks one question in one of the ways that are compared.

`none` asks the model without any passage, `chunks` gives it the five best chunks by words and vectors, whole,
`gold` the passages that the set names, whole, and `localrag` is the product as it comes. Chunks and gold
leave out the product's look at whether the context holds an answer, and its bounds for slow machines.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any

from localrag.answering.answerer import Answerer
from localrag.answering.options import AskOptions, Style
from localrag.answering.request import heading
from localrag.answering.types import Answer, AnswerText, Citation
from localrag.answering.writing import Writing
from localrag.bench.answers_data import AnswerQuestion, AnswerSet
from localrag.bench.answers_scores import holds
from localrag.documents import language
from localrag.engines import Engines
from localrag.errors import EngineError
from localrag.retrieval.fusion import Fused
from localrag.retrieval.passages import as_passages
from localrag.retrieval.types import BYPASS, Coverage, Retrieved
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.filters import Filter

CONTROLS = ("none", "chunks", "gold", "localrag")
"""The ways, in the order in which they are measured."""

_FORM = "short"
_CHUNKS = 5
_MOST_GOLD = 8
_WHOLE = 3600
"""Tokens of context where passages are to be shown whole."""

_MARK = re.compile(r"\[(\d+)\]")
_SHORT = {"en": "Give the bare answer in a few words.", "zh": "只写答案本身，几个词即可。"}


@dataclass(frozen=True)
class How:
    """How questions are asked."""

    control: str
    """One of `CONTROLS`."""

    settings: Settings
    """The settings of the product."""

    style: Style | None = None
    """`strict` or `flexible`; None leaves it to the settings."""

    mode: str = "auto"
    """The mode in which the product searches."""


@dataclass(frozen=True)
class Outcome:
    """What came of one question."""

    id: str
    """The set's own id."""

    question: str = ""
    """What was asked."""

    answer: str = ""
    """The answer with its references, as a person reads it."""

    refused: bool = False
    """Whether it was said that there is no answer."""

    mode: str = ""
    """The mode that answered."""

    cited: tuple[str, ...] = ()
    """Ids of the passages that are cited, each once."""

    citations: int = 0
    """Citations in the list of references."""

    dangling: int = 0
    """Marks and citations that point to nothing."""

    shown: tuple[str, ...] = ()
    """Ids of the passages of which the model read something, as far as that is known."""

    answer_shown: bool = False
    """Whether what the model read contains a right answer."""

    prompt_tokens: int = 0
    """Tokens of the prompt; 0 if no model was asked."""

    first_word: float | None = None
    """Seconds to the first word; None where others were asked at the same time."""

    seconds: float = 0.0
    """Seconds that it took; of several at once each one's part."""

    processor: float = 0.0
    """The same in processor time, of all processes."""

    error: str = ""
    """Why there is none."""

    def to_json(self) -> dict[str, Any]:
        """For keeping."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_json` gave. Raises `TypeError` for other fields."""
        lists = {name: tuple(data[name]) for name in ("cited", "shown")}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class _Said:
    """An answer, whichever way it came."""

    text: str
    refused: bool
    mode: str
    citations: tuple[Citation, ...]
    shown: Sequence[tuple[int, int, int]]
    """Chunk, first character and the one behind the last of each passage in the prompt."""
    call: Mapping[str, Any]


class Asker:
    """Asks the questions of one set. Used by one thread."""

    def __init__(
        self, store: Store, data: AnswerSet, engines: Engines, how: How, cancel: threading.Event | None
    ) -> None:
        """`store` holds the passages as documents whose names are their places in the set."""
        self._store = store
        self._engines = engines
        self._how = how
        self._settings = _settings_of(how)
        self._cancel = cancel
        self._chinese = data.chinese
        passages = data.passages.passages
        self._places = {row.path: passages[int(PurePath(row.path).stem)].id for row in store.documents.list()}
        self._documents = {self._places[row.path]: row.id for row in store.documents.list()}

    def ask(self, question: AnswerQuestion) -> Outcome:
        """Ask a question and wait for its answer. Raises what asking raises."""
        began = time.monotonic()
        first = None
        said: _Said | None = None
        for event in self._events(question):
            if isinstance(event, AnswerText):
                first = time.monotonic() - began if first is None else first
            elif isinstance(event, _Said):
                said = event
        if said is None:
            raise EngineError("The answer did not come to its end.")
        shown = [self._passage(*place) for place in said.shown]
        text = "\n".join(text for _, text in shown)
        return Outcome(
            id=question.id,
            question=question.text,
            answer=said.text,
            refused=said.refused,
            mode=said.mode,
            cited=self._cited(said.citations),
            citations=len(said.citations),
            dangling=self.dangling(said.text, said.citations),
            shown=tuple(dict.fromkeys(place for place, _ in shown)),
            answer_shown=holds(text, question.answers, chinese=self._chinese),
            prompt_tokens=int(said.call.get("prompt_tokens", 0)),
            first_word=first,
        )

    def dangling(self, answer: str, citations: Sequence[Citation]) -> int:
        """How many marks have no citation, and how many citations no text at their place."""
        known = {citation.number for citation in citations}
        body = answer
        for code in ("en", "zh"):
            body = body.partition(heading(code))[0]
        marks = sum(int(number) not in known for number in _MARK.findall(body))
        return marks + sum(not self._stands(citation) for citation in citations)

    def _events(self, question: AnswerQuestion) -> Iterator[AnswerText | _Said]:
        if self._how.control == "gold":
            yield from self._from_gold(question)
            return
        answerer = Answerer(self._store, self._engines, self._settings)
        for event in answerer.stream(question.text, self._options(question.text), self._cancel):
            if isinstance(event, AnswerText):
                yield event
            elif isinstance(event, Answer):
                yield _said(event)

    def _from_gold(self, question: AnswerQuestion) -> Iterator[AnswerText | _Said]:
        """The answer from the passages that the set names."""
        retrieved = self._gold(question)
        writing = Writing(
            self._store,
            self._engines,
            self._settings,
            retrieved,
            self._cancel,
            self._options(question.text),
        )
        text = ""
        for event in writing.events():
            if isinstance(event, AnswerText):
                text += event.text
                yield event
        prepared = writing.prepared
        shown = prepared.trace.to_json()["shown"] if prepared is not None else []
        yield _Said(
            text,
            writing.abstained,
            retrieved.mode,
            writing.citations(),
            _chunks(shown),
            writing.call_numbers(),
        )

    def _gold(self, question: AnswerQuestion) -> Retrieved:
        documents = tuple(self._documents[place] for place in question.gold)
        rows = [row for document in documents for row in self._store.chunks.of_document(document)]
        if len(rows) > _MOST_GOLD:
            # Of long documents the chunks that are nearest to the question.
            options = AskOptions(mode="naive", limit=_MOST_GOLD, filter=Filter(documents=documents))
            return Answerer(self._store, self._engines, self._settings).retrieve(question.text, options)
        found = [Fused(row.id, 1.0, ("gold",)) for row in rows]
        counts = self._store.chunks.count()
        return Retrieved(
            question=question.text,
            mode="naive",
            passages=as_passages(self._store, found, len(found)),
            entities=(),
            relations=(),
            coverage=Coverage(counts.read, counts.total),
        )

    def _options(self, question: str) -> AskOptions:
        how = self._how
        options = AskOptions(response_type=_FORM, style=how.style, fresh=True)
        if how.control == "none":
            wish = _SHORT["zh" if language.detect(question) == "zh" else "en"]
            return replace(options, mode=BYPASS, user_prompt=wish)
        if how.control == "localrag":
            return replace(options, mode=how.mode)
        return replace(options, mode="naive", limit=_CHUNKS, rerank=False, steps=False)

    def _passage(self, chunk: int, start: int, end: int) -> tuple[str, str]:
        """The set's id of a passage that was shown, and the part of it that was."""
        [row] = self._store.chunks.many([chunk])
        path = self._store.documents.get(row.document_id).path
        return self._places[path], self._store.documents.text(row.document_id)[start:end]

    def _cited(self, citations: Sequence[Citation]) -> tuple[str, ...]:
        places = [self._places.get(citation.document) for citation in citations]
        return tuple(dict.fromkeys(place for place in places if place is not None))

    def _stands(self, citation: Citation) -> bool:
        place = self._places.get(citation.document)
        if place is None or not citation.text:
            return False
        text = self._store.documents.text(self._documents[place])
        return text[citation.start : citation.end] == citation.text


def _settings_of(how: How) -> Settings:
    if how.control == "localrag":
        return how.settings
    retrieval = replace(how.settings.retrieval, context_tokens=_WHOLE, trim=False)
    return replace(
        how.settings, retrieval=retrieval, answering=replace(how.settings.answering, refuse_below=0)
    )


def _said(answer: Answer) -> _Said:
    how = answer.explanation
    shown = how.context.get("shown", []) if how is not None else []
    call = how.call if how is not None else {}
    return _Said(answer.answer, answer.abstained, answer.mode, answer.citations, _chunks(shown), call)


def _chunks(shown: Sequence[Sequence[Any]]) -> list[tuple[int, int, int]]:
    """The passages among what was shown, as `ContextTrace.to_json` tells it."""
    return [(int(row[2]), int(row[3]), int(row[4])) for row in shown if row[1] == "chunk"]
