"""One chunk on its way through the model: a first pass, then looks for what it left out.

After a pass the model is asked whether something is missing. The answer is not written but read as the
probability of yes; from the threshold on the chunk is looked through once more. That pass can write nothing
that is there, and may join new entities to old ones. A pass that its budget ended is known to lack something,
so nothing is asked behind it: the record that was cut off is offered again.

All passes over a chunk are one reading. What they cost is told call by call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from localrag.engine.types import Generation, GenerationRequest
from localrag.extraction.extractor import Extractor
from localrag.sections import ExtractionSettings
from localrag.store.rows import ChunkRow, Reading, Reject

Kind = Literal["pass", "question"]

MODES = ("off", "once", "until-no")
"""How often a chunk is looked through again."""


@dataclass(frozen=True)
class Call:
    """A call of the model over a chunk, and what came of it."""

    kind: Kind
    """A pass writes records, a question nothing."""

    request: GenerationRequest
    """What was asked."""

    generation: Generation
    """What came back."""

    reading: Reading = field(default_factory=Reading)
    """What it added to the calls before."""

    rejects: tuple[Reject, ...] = ()
    """What of it cannot be stored."""

    @property
    def turn(self) -> str:
        """What a call behind the first asks beyond the instructions and the text; empty for the first."""
        messages = self.request.messages
        later = any(message.role == "assistant" for message in messages)
        return messages[-1].text if later else ""

    @property
    def parsed(self) -> int:
        """Records that were read: those that are stored and those that are not."""
        return len(self.reading.entities) + len(self.reading.relations) + len(self.rejects)


class ReadingJob:
    """The calls over one chunk, one after the other; the engine may run many jobs together.

    `request` is the first call. Each result is given to `take`, which returns the next call, or None when
    the chunk is done; then `reading` and `rejects` hold everything, or `failure` says why there is nothing.
    """

    def __init__(self, extractor: Extractor, chunk: ChunkRow) -> None:
        """Nothing is made before `request`."""
        self.chunk = chunk
        """What is read."""
        self.calls: list[Call] = []
        """What was called so far, in order."""
        self.failure = ""
        """Why the chunk could not be read; empty if it was, or is still being read."""
        self.trouble = ""
        """Why looking for more ended early, where the engine failed at it; the reading holds without."""
        self._extractor = extractor
        self._settings: ExtractionSettings = extractor.settings
        self._next: tuple[Kind, GenerationRequest] | None = None
        self._further = 0

    def request(self) -> GenerationRequest | None:
        """The first call; None if the chunk names nothing, so that there is nothing to ask."""
        if not self._extractor.names(self.chunk):
            return None
        request = self._extractor.request(self.chunk)
        self._next = ("pass", request)
        return request

    def take(self, generation: Generation, *, glean: bool = True) -> GenerationRequest | None:
        """Take the result of the call that was asked for last; returns the next one, None at the end.

        With `glean` off no further call is made, whatever the settings say.
        """
        if self._next is None:
            raise ValueError("no call of this chunk is open")
        kind, request = self._next
        self._next = None
        call = self._asked(request, generation) if kind == "question" else self._passed(request, generation)
        self.calls.append(call)
        if not self.failure and not self.trouble and glean:
            self._next = self._following(call)
        return None if self._next is None else self._next[1]

    @property
    def reading(self) -> Reading:
        """Everything that the passes found so far."""
        return Reading(
            tuple(entity for call in self.calls for entity in call.reading.entities),
            tuple(relation for call in self.calls for relation in call.reading.relations),
        )

    @property
    def rejects(self) -> tuple[Reject, ...]:
        """Everything that was written so far and cannot be stored."""
        return tuple(reject for call in self.calls for reject in call.rejects)

    @property
    def passes(self) -> int:
        """Passes so far."""
        return sum(call.kind == "pass" for call in self.calls)

    # What a result means.

    def _passed(self, request: GenerationRequest, generation: Generation) -> Call:
        first = not self.calls
        if first:
            self.failure = _failure(generation)
        elif generation.finish in ("error", "cancelled"):
            self.trouble = _reason(generation)
        reading, rejects = self._extractor.read(self.chunk, generation, self.reading)
        if first and not self.failure and generation.finish == "length" and not reading.entities:
            self.failure = f"The model wrote nothing usable in {generation.output_tokens} tokens."
        return Call("pass", request, generation, reading, tuple(rejects))

    def _asked(self, request: GenerationRequest, generation: Generation) -> Call:
        if generation.probabilities:
            return Call("question", request, generation)
        self.trouble = _reason(generation)
        return Call("question", request, generation, Reading(), (Reject("generation", "", self.trouble),))

    # What comes next.

    def _following(self, last: Call) -> tuple[Kind, GenerationRequest] | None:
        if last.kind == "question":
            return self._pass() if self._wants_more(last.generation) else None
        if self._further >= self._most_further() or (self._further and not _added(last)):
            return None
        if last.generation.finish == "length" or not self._settings.gleaning_threshold:
            return self._pass()
        if self._extractor.further(self.chunk, self._written(), self.reading) is None:
            return None
        return "question", self._extractor.question(self.chunk, self._written())

    def _pass(self) -> tuple[Kind, GenerationRequest] | None:
        request = self._extractor.further(self.chunk, self._written(), self.reading)
        if request is None:
            return None
        self._further += 1
        return "pass", request

    def _most_further(self) -> int:
        mode = self._settings.gleaning
        return {"off": 0, "once": 1}.get(mode, self._settings.gleaning_passes)

    def _wants_more(self, generation: Generation) -> bool:
        # The first option is yes.
        return generation.probabilities[0] * 100 >= self._settings.gleaning_threshold

    def _written(self) -> Sequence[str]:
        return [call.generation.text for call in self.calls if call.kind == "pass"]


def asks(settings: ExtractionSettings) -> bool:
    """Whether a reading under these settings asks the model for a decision, which not every server gives."""
    return settings.gleaning != "off" and settings.gleaning_threshold > 0


def _failure(generation: Generation) -> str:
    """Why a first pass gives nothing; empty if it may give something."""
    if generation.finish in ("error", "cancelled"):
        return _reason(generation)
    return "" if generation.text.strip() else "The model wrote nothing."


def _reason(generation: Generation) -> str:
    if generation.finish == "cancelled":
        return "The reading was stopped."
    return generation.failure


def _added(call: Call) -> bool:
    return bool(call.reading.entities or call.reading.relations)
