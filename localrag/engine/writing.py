"""Writing under a program: segment after segment, with repetitions taken back and JSON closed at the budget.

The writer chooses tokens and says through its job what is to be decoded and what is to leave the cache.
"""

from __future__ import annotations

import bisect
import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.constraints import driver_for
from localrag.engine.matching import Matcher, Vocabulary
from localrag.engine.repetition import RecordWatch, TextWatch, loop_within
from localrag.engine.steps import Driver, Step

if TYPE_CHECKING:
    from localrag.engine.job import Job

Emit = Callable[[dict[str, Any]], None]
"""Sends one message to the parent process."""

Scores = NDArray[np.float32]
"""Scores of the whole vocabulary."""

_LOOK_EVERY = 4
"""Tokens after which text is searched for repetitions again; at every token where it is streamed."""

_LOOSE_ENDS = (" ", ",", ";", "、", "，", "；", "\u3000")
"""What a field that is shortened does not end with."""

_CLOSE_LOOK = 64
"""How near to the budget's end it is looked at whether JSON must be closed, beside twice the least text."""


class Writer:
    """Writes the output of one job."""

    def __init__(
        self,
        job: Job,
        vocabulary: Vocabulary,
        pieces: Callable[[int], bytes],
        emit: Emit,
        driver: Driver | None = None,
    ) -> None:
        """Opens the first segment; what is forced at its start is pending afterwards.

        `driver` writes part of a job's output; without it the program's own writes all.
        """
        self._job = job
        self._request = job.request
        self._output = job.output
        self._vocabulary = vocabulary
        self._pieces = pieces
        self._emit = emit
        self._rng = np.random.default_rng(job.request.seed)
        self._tokens: list[tuple[int, bool]] = []
        """Every token that is kept, and whether it was forced."""
        self._record_start = self._segment_start = 0
        """Where in the tokens the record (or segment) and the segment begin that are being written."""
        self._text = ""
        """The segment that is being written, as far as its characters are complete."""
        self._borders: list[int] = []
        """The length of that text after each of the segment's tokens."""
        self._sent = 0
        """Characters of it that were streamed."""
        self._looked = 0
        self._close_from = 0
        self._fitting = 0
        """How many of the tokens leave room for closing the JSON that they begin."""
        self._records = RecordWatch()
        self._shortened: set[str] = set()
        """Kinds of records of which one was shortened."""
        self._closed = False
        self._driver: Driver = driver_for(job.request.program) if driver is None else driver
        self._open(self._driver.first())

    @property
    def last_token(self) -> int | None:
        """The last token that was written; None if there is none."""
        return self._tokens[-1][0] if self._tokens else None

    def feed(self, logits: Scores) -> None:
        """Choose the next token and all that is forced behind it."""
        job = self._job
        self._choose(logits)
        if self._step.watch and not job.finish:
            self._look()
        while not (job.finish or job.pending or job.cut):
            # A segment ended without a token, or what was taken back had not been read: the scores still
            # hold, and choose what comes next.
            self._choose(logits)
        if not job.finish:
            self._bound()
        if not (job.finish or job.pending):
            job.read_again(self.last_token)
        if self._request.stream and job.finish != "stop" and not self._closed:
            self._stream()

    def written(self) -> dict[str, Any]:
        """What the result says of the output."""
        output = self._output
        segments = [(name, data.decode("utf-8", "replace")) for name, data in output.segments]
        if self._job.finish == "length" and self._step.joins and segments:
            # The first half of a record is in the list: without its end it is no record.
            segments.pop()
        tail = output.current.decode("utf-8", "ignore")
        return {
            "text": "".join(data.decode("utf-8", "replace") for _, data in output.segments) + tail,
            "segments": segments,
            "closed": self._closed,
        }

    # Segments.

    def _choose(self, logits: Scores) -> None:
        token = self._matcher.choose(logits, self._request.temperature, self._rng)
        if token in self._vocabulary.ends:
            self._end_of_segment()
            return
        self._write(token, forced=False)
        for extra in self._matcher.accept(token):
            self._write(extra, forced=True)
        if self._matcher.finished:
            self._end_of_segment()

    def _open(self, step: Step) -> None:
        self._step = step
        self._matcher: Matcher = self._vocabulary.matcher(step)
        self._output.current = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._borders = []
        self._sent = 0
        self._texts = TextWatch()
        self._segment_start = self._looked = len(self._tokens)
        if not step.joins:
            self._record_start = len(self._tokens)
        if step.schema:
            least = self._matcher.closing(b"")
            self._close_from = 2 * len(least or ()) + _CLOSE_LOOK
        for token in self._matcher.forced():
            self._write(token, forced=True)
        if self._matcher.finished and not self._job.finish:
            self._end_of_segment()

    def _write(self, token: int, *, forced: bool) -> None:
        data = self._pieces(token)
        self._job.pending.append(token)
        self._tokens.append((token, forced))
        self._output.tokens += 1
        self._output.forced += forced
        self._output.current += data
        self._text += self._decoder.decode(data)
        self._borders.append(len(self._text))

    def _end_of_segment(self) -> None:
        text = self._output.current.decode("utf-8", "replace")
        if self._step.watch == "record" and self._records.repeated(*self._driver.prose(text)):
            self._take_record_back(text)
            return
        name = self._driver.segment_name(self._step, text)
        if self._step.joins and self._output.segments:
            before_name, before = self._output.segments[-1]
            self._output.segments[-1] = (before_name, before + self._output.current)
        else:
            self._output.segments.append((name, self._output.current))
        following = self._driver.following(text)
        if following is None or not following.joins:
            self._send_rest()
        self._output.current = b""
        if following is None:
            self._job.finish = "stop"
        else:
            self._open(following)

    # Repetitions.

    def _look(self) -> None:
        """Search what is being written for repetitions, every few tokens."""
        if not self._request.stream and len(self._tokens) - self._looked < _LOOK_EVERY:
            return
        self._looked = len(self._tokens)
        if self._step.watch == "text":
            start = self._texts.loop(self._text)
            if start is not None:
                self._end_text(max(start, self._sent))
            return
        before, opener, field = self._text.rpartition(self._step.opener) if self._step.opener else ("",) * 3
        start = loop_within(field)
        if start is not None and not self._shorten_record(len(before) + len(opener) + start):
            self._take_record_back(self._text)

    def _shorten_record(self, start: int) -> bool:
        """Close the field that loops where the loop begins, the first time that this kind of record does so.

        False if that cannot be done, or was done before.
        """
        kind = self._driver.segment_name(self._step, self._text)
        mine = [token for token, _ in self._tokens[self._segment_start :]]
        kept = bisect.bisect_right(self._borders, start)
        while kept and self._text[: self._borders[kept - 1]].endswith(_LOOSE_ENDS):
            kept -= 1
        if kind in self._shortened or not self._matcher.back(len(mine) - kept):
            return False
        for closer in self._step.closers:
            tokens = self._vocabulary.encode(closer)
            if self._matcher.takes(tokens):
                break
        else:
            for token in mine[kept:]:
                self._matcher.take(token)
            return False
        self._shortened.add(kind)
        self._take_back(len(mine) - kept)
        self._output.current = b"".join(self._pieces(token) for token in mine[:kept])
        self._text = self._text[: self._borders[kept - 1]]
        del self._borders[kept:]
        for token in tokens:
            self._matcher.take(token)
            self._write(token, forced=True)
        for token in self._matcher.forced():
            self._write(token, forced=True)
        if self._matcher.finished:
            self._end_of_segment()
        return True

    def _take_record_back(self, text: str) -> None:
        """Take the record back that is being written, and go on behind the last of its kind."""
        following = self._driver.skip(text)
        if self._step.joins:
            self._output.segments.pop()
        self._output.current = b""
        self._take_back(len(self._tokens) - self._record_start)
        if following is None:
            self._job.finish = "stop"
        else:
            self._open(following)

    def _end_text(self, keep: int) -> None:
        """End a running text after `keep` characters, or behind them where the grammar lets it end."""
        mine = [token for token, _ in self._tokens[self._segment_start :]]
        kept = bisect.bisect_right(self._borders, keep)
        if not self._matcher.back(len(mine) - kept):
            return
        while not (kept and self._matcher.complete):
            if kept == len(mine):
                return
            # Not a place to end, such as the inside of a mark.
            self._matcher.take(mine[kept])
            kept += 1
        self._take_back(len(mine) - kept)
        self._output.current = b"".join(self._pieces(token) for token in mine[:kept])
        self._end_of_segment()

    def _take_back(self, count: int) -> None:
        gone = self._tokens[len(self._tokens) - count :]
        del self._tokens[len(self._tokens) - count :]
        self._output.tokens -= count
        self._output.forced -= sum(forced for _, forced in gone)
        self._output.rolled_back += count
        self._job.take_back(count)

    # The budget.

    def _bound(self) -> None:
        left = self._request.max_tokens - self._output.tokens - self._output.rolled_back
        if self._step.schema:
            self._close(left)
        elif left <= 0:
            self._job.finish = "length"

    def _close(self, left: int) -> None:
        """Close JSON as soon as its closing would just fit into what is left of the budget."""
        if left > self._close_from:
            self._fitting = len(self._tokens)
            return
        closing = self._matcher.closing(self._output.current)
        if closing is None:
            if left <= 0:
                self._job.finish = "length"
            return
        if len(closing) < left:
            self._fitting = len(self._tokens)
            return
        if len(closing) > left and self._fitting > self._segment_start:
            closing = self._before_last_run() or closing
        for token in closing:
            self._write(token, forced=True)
        self._end_of_segment()
        self._job.finish = "length"
        self._closed = True

    def _before_last_run(self) -> list[int] | None:
        """Drop the last tokens, with which the closing no longer fits; what closes the rest."""
        count = len(self._tokens) - self._fitting
        if not count or not self._matcher.back(count):
            return None
        for token, forced in self._tokens[self._fitting :]:
            self._output.tokens -= 1
            self._output.forced -= forced
            self._output.current = self._output.current[: -len(self._pieces(token)) or None]
        del self._tokens[self._fitting :]
        self._job.take_back(count)
        return self._matcher.closing(self._output.current)

    # Streaming.

    def _stream(self) -> None:
        """Send what will surely stay of the segment that is being written."""
        if self._step.watch != "record":
            whole = self._job.finish or not self._step.watch
            border = bisect.bisect_right(self._borders, len(self._text) if whole else self._texts.held)
            if border:
                self._send(self._step.name, self._text, self._borders[border - 1])

    def _send_rest(self) -> None:
        """Send the rest of a finished segment."""
        name, data = self._output.segments[-1]
        text = data.decode("utf-8", "replace")
        self._send(name, text, len(text))

    def _send(self, name: str, text: str, end: int) -> None:
        if self._request.stream and end > self._sent:
            piece = text[self._sent : end]
            self._emit({"event": "text", "id": self._request.id, "segment": name, "text": piece})
            self._sent = end
