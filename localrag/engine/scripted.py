"""Engines without a model, for tests: one obeys any program or plays recorded answers; one hashes words.

They keep the same promises as the real ones (well-formed output, unit vectors), so everything above the
engine can be tested in milliseconds and with the same result every time.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from localrag.engine.claim_program import NONE, STATUSES, ClaimRecords
from localrag.engine.claims import ClaimsDriver
from localrag.engine.decisions import decide
from localrag.engine.lean import ARROW, BETWEEN, END, ENTITY, MARK, RELATIONSHIP
from localrag.engine.names import NameBook, capitals
from localrag.engine.programs import (
    Choice,
    CitedText,
    Decide,
    Field,
    JsonSchema,
    LeanRecords,
    Record,
    Records,
    offered,
)
from localrag.engine.types import (
    INTERACTIVE,
    Decision,
    EmbeddingSpace,
    Event,
    Generation,
    GenerationRequest,
    Message,
    ModelDescription,
    ProgressEvent,
    Segment,
    TextEvent,
    TextKind,
)
from localrag.engine.weighed_program import WeighedRecords
from localrag.errors import EngineError

_WORD = re.compile(r"\w+", re.UNICODE)
_PER_KIND = 4
_CHARS_PER_TOKEN = 4


class ScriptedModel:
    """A `LanguageModel` that needs no weights.

    Without `answers` it follows the program: records from the first offered names, an answer that cites
    source 1. With `answers` it plays the text that the function returns; the text is cut into segments as
    the program would. `fail` names requests that end with an error; `delay` is slept before each result.
    """

    def __init__(
        self,
        answers: Callable[[GenerationRequest], str] | None = None,
        *,
        delay: float = 0.0,
        fail: Callable[[GenerationRequest], bool] | None = None,
        n_ctx: int = 8192,
    ) -> None:
        self._answers = answers
        self._delay = delay
        self._fail = fail
        self._n_ctx = n_ctx
        self._lock = threading.Lock()
        self.calls: list[GenerationRequest] = []
        """Every request that was begun, in order."""
        self.closed = False
        """Whether `close` was called."""

    def describe(self) -> ModelDescription:
        """A description that says that this is no model."""
        return ModelDescription(
            name="scripted",
            fingerprint="sha256:scripted",
            architecture="none",
            parameters=0,
            context_length=self._n_ctx,
            n_ctx=self._n_ctx,
            sequences=1,
            threads=1,
        )

    def stream(self, request: GenerationRequest) -> Iterator[Event]:
        """One request, its text word by word, then the result."""
        generation = self._generate(request)
        yield ProgressEvent("prefill", 1, 0, 0.0, 0.0, 0, generation.prompt_tokens)
        if request.stream and generation.finish != "error":
            for segment in generation.segments:
                for piece in re.findall(r"\s*\S+|\s+$", segment.text):
                    yield TextEvent(segment.name, piece)
        yield generation

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """All requests, one after the other."""
        for index, request in enumerate(requests):
            yield index, self._generate(request)
            yield -1, ProgressEvent("decode", 1, 0, 100.0, 50.0)

    def decide(
        self, messages: Sequence[Message], options: Sequence[str], *, priority: int = INTERACTIVE
    ) -> Decision:
        """The option that `answers` gives, or the first, has nine tenths."""
        return decide(self.stream, messages, options, priority)

    def count(self, texts: Sequence[str]) -> list[int]:
        """A token for every four characters, and for every one outside ASCII."""
        return [sum(1 for c in text if ord(c) > 127) + len(text) // _CHARS_PER_TOKEN + 1 for text in texts]

    def count_prompt(self, messages: Sequence[Message]) -> int:
        """As `count`, over all messages."""
        return sum(self.count([message.text for message in messages])) + 4 * len(messages)

    def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def _generate(self, request: GenerationRequest) -> Generation:
        with self._lock:
            self.calls.append(request)
        if self._delay:
            time.sleep(self._delay)
        prompt = "".join(message.text for message in request.messages)
        failed = self._fail is not None and self._fail(request)
        segments = () if failed else tuple(self._segments(request, prompt))
        text = "".join(segment.text for segment in segments)
        shared = "".join(piece.text for m in request.messages for piece in m.pieces if piece.shared)
        return Generation(
            text=text,
            segments=segments,
            finish="error" if failed else "stop",
            prompt_tokens=self.count([prompt])[0],
            shared_tokens=self.count([shared])[0],
            output_tokens=self.count([text])[0],
            forced_tokens=0,
            milliseconds=int(self._delay * 1000),
            model=self.describe().fingerprint,
            prompt_hash=hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest(),
            error="scripted failure" if failed else "",
            probabilities=() if failed else _probabilities(request, text),
            mass=1.0 if isinstance(request.program, Decide) and not failed else 0.0,
        )

    def _segments(self, request: GenerationRequest, prompt: str) -> list[Segment]:
        program = request.program
        if isinstance(program, WeighedRecords):
            program = offered(program)
        if self._answers is not None:
            return _cut(program, self._answers(request))
        if isinstance(program, Records):
            return _records(program)
        if isinstance(program, CitedText):
            words = [word for word in _WORD.findall(request.messages[-1].text) if len(word) > 2][:6]
            return [Segment("body", " ".join(words) + " [1]."), Segment("sources", program.heading + "[1]")]
        if isinstance(program, LeanRecords):
            return _lean(program)
        if isinstance(program, ClaimRecords):
            return _claims(program)
        if isinstance(program, (Choice, Decide)):
            return [Segment("choice", program.options[0])]
        if isinstance(program, JsonSchema):
            keys = program.schema.get("properties", {})
            return [Segment("json", json.dumps({key: [] for key in keys}))]
        return [Segment("text", " ".join(_WORD.findall(prompt)[:8]))]


def _probabilities(request: GenerationRequest, text: str) -> tuple[float, ...]:
    """Nine tenths for the option that was written, the rest shared by the others."""
    if not isinstance(request.program, Decide):
        return ()
    options = request.program.options
    rest = 0.1 / max(len(options) - 1, 1)
    return tuple(0.9 if option == text else rest for option in options)


def _cut(program: object, text: str) -> list[Segment]:
    """Recorded text as the segments that a real engine would report."""
    if isinstance(program, Records):
        pieces = [piece for piece in text.split("\n") if piece]
        tags = [kind.tag for kind in program.kinds]
        return [
            Segment(
                next((tag for tag in tags if piece.lstrip('("').startswith(tag)), "complete"), f"{piece}\n"
            )
            for piece in pieces
        ]
    if isinstance(program, LeanRecords):
        return [
            Segment(MARK if line == END else RELATIONSHIP if f"{ARROW} " in line else ENTITY, f"{line}\n")
            for line in text.split("\n")
            if line
        ]
    if isinstance(program, ClaimRecords):
        lines = [line for line in text.split("\n") if line]
        return [Segment("claim" if "(" in line else "complete", f"{line}\n") for line in lines]
    if isinstance(program, (Choice, Decide)):
        return [Segment("choice", text)]
    if isinstance(program, JsonSchema):
        return [Segment("json", text)]
    if isinstance(program, CitedText) and program.heading in text:
        body, _, rest = text.partition(program.heading)
        return [Segment("body", body), Segment("sources", program.heading + rest)]
    return [Segment("body" if isinstance(program, CitedText) else "text", text)]


def _records(program: Records) -> list[Segment]:
    """The first names that are offered, each related to the next."""
    names: list[str] = list(program.taken)
    pairs = {frozenset(pair) for pair in program.taken_pairs}
    result = []
    for kind in program.kinds:
        for _ in range(min(kind.maximum, _PER_KIND)):
            values = _fields(kind, names, pairs)
            if values is None:
                break
            tag = f'"{kind.tag}"' if program.quoted_tags else kind.tag
            line = program.tuple_delimiter.join([tag, *values])
            result.append(Segment(kind.tag, f"({line}){program.record_delimiter}\n"))
    return [*result, Segment("complete", program.completion_delimiter)]


def _lean(program: LeanRecords) -> list[Segment]:
    """The first names that are offered, each related to the next."""
    book = NameBook(program.taken, program.taken_pairs)
    result = []
    for _ in range(min(program.max_entities, _PER_KIND)):
        free = book.free(program.names, loose=program.loose)
        if not free:
            break
        book.add(free[0])
        type_ = program.types[0] if program.types else "thing"
        result.append(Segment(ENTITY, f"{free[0]}{BETWEEN}{type_}\n"))
    result.append(Segment(MARK, f"{END}\n"))
    for _ in range(min(program.max_relations, _PER_KIND)):
        source = next(iter(book.sources()), None)
        if source is None:
            break
        target = book.partners(source)[0]
        book.join(source, target)
        phrase = program.phrases[0] if program.phrases else "is with"
        result.append(Segment(RELATIONSHIP, f"{source}{ARROW} {target}{BETWEEN}{phrase}\n"))
    return [*result, Segment(MARK, END)]


def _claims(program: ClaimRecords) -> list[Segment]:
    """One claim for each of the first sentences that speak of a subject, about the first of them."""
    result: list[Segment] = []
    for number, subjects in ClaimsDriver(program).people().items():
        if len(result) == min(program.maximum, _PER_KIND):
            break
        subject, partners = next(iter(subjects.items()))
        days = [f"{day}T00:00:00" if day else NONE for day in _first_period(program, number)]
        type_ = program.types[0] if program.types else "CLAIM"
        status = STATUSES[len(result) % len(STATUSES)]
        fields = (subject, partners[0], type_, status, *days, "It is so.", str(number))
        line = program.tuple_delimiter.join(fields)
        result.append(Segment("claim", f"{number} ({line}){program.record_delimiter}\n"))
    return [*result, Segment("complete", program.completion_delimiter)]


def _first_period(program: ClaimRecords, number: int) -> tuple[str, str]:
    periods = program.sentences[number - 1].periods
    return periods[0] if periods and not program.free_dates else ("", "")


def _fields(kind: Record, names: list[str], pairs: set[frozenset[str]]) -> list[str] | None:
    used = _next_pair(names, pairs) if any(item.form == "used" for item in kind.fields) else []
    if used is None:
        return None
    values = []
    for item in kind.fields:
        if item.form == "used":
            values.append(used.pop(0))
        elif item.form == "new":
            free = [value for value in item.values if value not in names]
            if not free:
                return None
            names.append(free[0])
            values.append(free[0])
        else:
            values.append(_plain_field(item, values))
    return [capitals(value) if item.upper else value for value, item in zip(values, kind.fields, strict=True)]


def _plain_field(item: Field, before: list[str]) -> str:
    if item.form == "choice":
        return item.values[0]
    begins = item.values[0] if item.values else ""
    if item.form == "pattern":
        return f"{begins}5"
    return begins + f"{item.name} of {' and '.join(before[:2])}"[: item.max_chars]


def _next_pair(names: list[str], pairs: set[frozenset[str]]) -> list[str] | None:
    for left, right in itertools.pairwise(names):
        if frozenset((left, right)) not in pairs:
            pairs.add(frozenset((left, right)))
            return [left, right]
    return None


class ScriptedEmbedder:
    """An `Embedder` that hashes words and two-character runs; texts that share words are near each other."""

    def __init__(self, dimension: int = 64, name: str = "scripted") -> None:
        self._dimension = dimension
        self._name = name
        self.calls = 0
        """How many texts were embedded."""

    @property
    def space(self) -> EmbeddingSpace:
        """The identity of these vectors."""
        return EmbeddingSpace(f"sha256:{self._name}-{self._dimension}", self._name, self._dimension, "mean")

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """Unit vectors, one row a text; the kind makes no difference."""
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            if not text.strip():
                raise EngineError("An empty text has no vector.")
            folded = text.casefold()
            for term in [*_WORD.findall(folded), *(folded[i : i + 2] for i in range(len(folded) - 1))]:
                digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
                vectors[row, int.from_bytes(digest[:4], "little") % self._dimension] += 1 + len(term) % 3
            vectors[row] += 1e-3
            self.calls += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def close(self) -> None:
        """Nothing to stop."""
