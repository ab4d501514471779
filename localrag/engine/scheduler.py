"""Continuous batching: all running jobs are decoded in one batch, newcomers are read in slices beside them.

The cache holds a few shared prefixes, each in a sequence of its own; a job's sequence begins as a copy of
one, which costs no memory because the cache is unified. Runs in one thread of the worker process; other
threads talk to it through `submit`, `cancel` and `stop`.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from localrag.engine.job import Emit, Job, JobRequest
from localrag.engine.llama import Context, Entry, Model
from localrag.engine.matching import Vocabulary
from localrag.errors import ConstraintError, EngineError

PREFIXES = 4
"""Shared prefixes kept in the cache."""

_SLICE = 192
"""Most prompt tokens read in a step while other jobs are writing, so that these do not stall."""

_SLACK = 64
"""Cells kept free per job for a run of forced tokens beyond its budget."""

_RESERVE = 2048
"""Cells that background jobs leave free for a question, at most a quarter of the context."""

_REPORT_SECONDS = 0.25
_WINDOW_SECONDS = 4.0


@dataclass
class _Prefix:
    """A shared prefix in the cache."""

    sequence: int
    tokens: tuple[int, ...]
    done: int = 0
    """Tokens of it that are read."""
    users: int = 0
    """Jobs whose sequence shares its cells."""


class Rates:
    """Tokens per second over the last seconds."""

    def __init__(self) -> None:
        self._steps: deque[tuple[float, float, int, int]] = deque()

    def add(self, began: float, ended: float, read: int, written: int) -> None:
        """Note one step of the model."""
        self._steps.append((began, ended, read, written))
        while self._steps and self._steps[0][1] < ended - _WINDOW_SECONDS:
            self._steps.popleft()

    def current(self) -> tuple[float, float]:
        """Tokens read and tokens written per second."""
        if not self._steps:
            return 0.0, 0.0
        seconds = max(self._steps[-1][1] - self._steps[0][0], 1e-6)
        return sum(s[2] for s in self._steps) / seconds, sum(s[3] for s in self._steps) / seconds


class Scheduler:
    """Owns the context and everything that is running in it."""

    def __init__(
        self,
        model: Model,
        context: Context,
        vocabulary: Vocabulary,
        *,
        sequences: int,
        batch: int,
        emit: Emit,
    ) -> None:
        """`sequences` jobs run together, and one more if a person waits for it."""
        self._context = context
        self._vocabulary = vocabulary
        self._emit = emit
        self._batch = batch
        self._places = sequences
        self._cells = context.n_ctx
        self._pieces = _Pieces(model)
        self._prefixes: OrderedDict[tuple[int, ...], _Prefix] = OrderedDict()
        self._free_prefixes = list(range(PREFIXES))
        self._free = list(range(PREFIXES, PREFIXES + sequences + 1))
        self._jobs: list[Job] = []
        self._waiting: list[JobRequest] = []
        self._rates = Rates()
        self._reported = 0.0
        self._condition = threading.Condition()
        self._inbox: deque[JobRequest] = deque()
        self._cancelled: set[int] = set()
        self._stopping = False
        self.fingerprint = ""

    # Called by other threads.

    def submit(self, request: JobRequest) -> None:
        """Queue a request."""
        with self._condition:
            self._inbox.append(request)
            self._condition.notify()

    def cancel(self, job: int) -> None:
        """End a request; a running decode is stopped within one step of the model's graph."""
        with self._condition:
            self._cancelled.add(job)
            self._context.abort.set()
            self._condition.notify()

    def stop(self) -> None:
        """End the loop."""
        with self._condition:
            self._stopping = True
            self._context.abort.set()
            self._condition.notify()

    def most_tokens(self) -> int:
        """Tokens that one job can hold, prefix included."""
        return self._cells - _SLACK

    # The loop.

    def run(self) -> None:
        """Work until `stop`. Native faults end the process, everything else ends a job."""
        while self._take_orders():
            self._admit()
            entries, owners = self._next_batch()
            if not entries:
                continue
            began = time.monotonic()
            code = self._context.decode(entries)
            if code == 2:
                self._undo(owners)
                continue
            if code == 1:
                self._make_room(owners)
                continue
            self._advance(owners, began)
            self._report()

    def _take_orders(self) -> bool:
        """Fetch what other threads asked for; waits if there is nothing to do. False ends the loop."""
        with self._condition:
            while not (self._stopping or self._inbox or self._cancelled or self._jobs or self._waiting):
                self._condition.wait()
            if self._stopping:
                return False
            self._context.abort.clear()
            cancelled, self._cancelled = self._cancelled, set()
            arrived = list(self._inbox)
            self._inbox.clear()
        if arrived:
            self._waiting.extend(arrived)
            self._waiting.sort(key=lambda r: (-r.priority, r.id))
        for request in [r for r in self._waiting if r.id in cancelled]:
            self._waiting.remove(request)
            self._emit(_empty_result(request, "cancelled", "", self.fingerprint))
        for job in [j for j in self._jobs if j.request.id in cancelled]:
            job.finish = "cancelled"
            self._end(job)
        return True

    # Admission.

    def _admit(self) -> None:
        """Give places to waiting jobs, the most urgent first."""
        for request in list(self._waiting):
            urgent = request.priority > 0
            if not self._free or (len(self._jobs) >= self._places and not urgent):
                return
            if not self._fits(request, urgent):
                if self._jobs:
                    return
                self._drop_idle_prefixes()
                if not self._fits(request, urgent):
                    self._refuse(request)
                    continue
            prefix = self._prefix_for(request)
            if prefix is None:
                return
            self._waiting.remove(request)
            self._begin(request, prefix)

    def _fits(self, request: JobRequest, urgent: bool) -> bool:
        used = sum(job.request.need + _SLACK for job in self._jobs)
        used += sum(len(prefix.tokens) for prefix in self._prefixes.values())
        if request.prompt.shared not in self._prefixes:
            used += len(request.prompt.shared)
        reserve = 0 if urgent or not self._jobs else min(_RESERVE, self._cells // 4)
        return used + request.need + _SLACK + reserve <= self._cells

    def _prefix_for(self, request: JobRequest) -> _Prefix | None:
        """The prefix of a request, made if needed; None if no sequence is free for one yet."""
        tokens = request.prompt.shared
        if tokens in self._prefixes:
            self._prefixes.move_to_end(tokens)
            return self._prefixes[tokens]
        if not self._free_prefixes and not self._drop_idle_prefixes(one=True):
            return None
        prefix = _Prefix(self._free_prefixes.pop(), tokens)
        self._prefixes[tokens] = prefix
        return prefix

    def _drop_idle_prefixes(self, *, one: bool = False) -> bool:
        """Forget prefixes that no job uses, the longest unused first."""
        dropped = False
        for tokens, prefix in list(self._prefixes.items()):
            if prefix.users:
                continue
            self._context.remove(prefix.sequence)
            self._free_prefixes.append(prefix.sequence)
            del self._prefixes[tokens]
            dropped = True
            if one:
                break
        return dropped

    def _begin(self, request: JobRequest, prefix: _Prefix) -> None:
        try:
            job = Job(request, self._vocabulary, self._pieces, self._emit)
        except ConstraintError as error:
            self._emit(_empty_result(request, "error", str(error), self.fingerprint))
            return
        if job.finish:
            self._emit(job.result(self.fingerprint))
            return
        job.sequence = self._free.pop()
        job.past = -1
        prefix.users += 1
        self._jobs.append(job)

    def _refuse(self, request: JobRequest) -> None:
        total = len(request.prompt.shared) + len(request.prompt.own)
        text = (
            f"The prompt has {total} tokens and may write {request.max_tokens} more; "
            f"the context holds {self.most_tokens()}."
        )
        self._waiting.remove(request)
        self._emit(_empty_result(request, "error", text, self.fingerprint))

    # One step.

    def _next_batch(self) -> tuple[list[Entry], list[tuple[Job | _Prefix, int, int]]]:
        """Tokens to decode, and for each owner (owner, tokens, index of its scores or -1)."""
        entries: list[Entry] = []
        owners: list[tuple[Job | _Prefix, int, int]] = []
        self._attach()
        for job in self._jobs:
            if job.past >= 0 and not job.reading and len(entries) < self._batch:
                # A long forced run may take several steps; only its end has scores.
                written = job.pending[: self._batch - len(entries)]
                asks = len(written) == len(job.pending)
                for offset, token in enumerate(written):
                    last = asks and offset == len(written) - 1
                    entries.append(Entry(token, job.past + offset, job.sequence, last))
                owners.append((job, len(written), len(entries) - 1 if asks else -1))
        room = self._batch - len(entries)
        if owners:
            room = min(room, _SLICE)
        for prefix in self._prefixes.values():
            if room > 0 and prefix.users and prefix.done < len(prefix.tokens):
                part = prefix.tokens[prefix.done : prefix.done + room]
                entries.extend(
                    Entry(token, prefix.done + i, prefix.sequence, False) for i, token in enumerate(part)
                )
                owners.append((prefix, len(part), -1))
                room -= len(part)
        for job in sorted(self._jobs, key=lambda j: -j.request.priority):
            if room > 0 and job.past >= 0 and job.reading:
                part_own = job.prompt_left[:room]
                whole = len(part_own) == len(job.prompt_left)
                # What is forced at the very start of the output is read together with the prompt's end.
                forced = job.pending if whole and len(part_own) + len(job.pending) <= room else []
                tokens = [*part_own, *forced]
                asks = whole and len(forced) == len(job.pending)
                for offset, token in enumerate(tokens):
                    last = asks and offset == len(tokens) - 1
                    entries.append(Entry(token, job.past + offset, job.sequence, last))
                owners.append((job, len(tokens), len(entries) - 1 if asks else -1))
                room -= len(tokens)
        return entries, owners

    def _attach(self) -> None:
        """Copy finished prefixes into the sequences of the jobs that wait for them."""
        for job in self._jobs:
            prefix = self._prefixes[job.request.prompt.shared]
            if job.past < 0 and prefix.done == len(prefix.tokens):
                if prefix.tokens:
                    self._context.copy(prefix.sequence, job.sequence, len(prefix.tokens))
                job.past = len(prefix.tokens)

    def _advance(self, owners: list[tuple[Job | _Prefix, int, int]], began: float) -> None:
        """Book what was decoded, and let jobs with scores choose their next token."""
        read = written = 0
        for owner, count, index in owners:
            if isinstance(owner, _Prefix):
                owner.done += count
                read += count
                continue
            owner.past += count
            from_prompt = min(count, len(owner.prompt_left))
            del owner.prompt_left[:from_prompt]
            del owner.pending[: count - from_prompt]
            read += from_prompt
            written += count - from_prompt
            if index >= 0:
                try:
                    owner.feed(self._context.logits(index))
                except (ConstraintError, EngineError) as error:
                    owner.finish, owner.error = "error", str(error)
            if owner.finish:
                self._end(owner)
        self._rates.add(began, time.monotonic(), read, written)

    def _undo(self, owners: list[tuple[Job | _Prefix, int, int]]) -> None:
        """After a stopped decode: forget what it may have put into the cache."""
        for owner, _, _ in owners:
            if isinstance(owner, _Prefix):
                self._context.remove(owner.sequence, owner.done)
            else:
                self._context.remove(owner.sequence, owner.past)

    def _make_room(self, owners: list[tuple[Job | _Prefix, int, int]]) -> None:
        """The cache is full against all reckoning: put the youngest background job back into the queue."""
        self._undo(owners)
        if self._drop_idle_prefixes():
            return
        victim = min(reversed(self._jobs), key=lambda j: j.request.priority)
        if len(self._jobs) == 1:
            victim.finish, victim.error = "error", "The context is full."
            self._end(victim)
            return
        self._release(victim)
        self._waiting.insert(0, victim.request)

    def _end(self, job: Job) -> None:
        self._release(job)
        self._emit(job.result(self.fingerprint))

    def _release(self, job: Job) -> None:
        self._context.remove(job.sequence)
        self._free.append(job.sequence)
        self._prefixes[job.request.prompt.shared].users -= 1
        self._jobs.remove(job)

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < _REPORT_SECONDS and self._jobs:
            return
        self._reported = now
        read, written = self._rates.current()
        first = max(self._jobs, key=lambda j: j.request.priority, default=None)
        total = done = 0
        if first is not None:
            prefix = self._prefixes[first.request.prompt.shared]
            total = len(first.request.prompt.shared) + len(first.request.prompt.own)
            done = prefix.done + len(first.request.prompt.own) - len(first.prompt_left)
        writing = any(not job.reading and job.past >= 0 for job in self._jobs)
        self._emit(
            {
                "event": "progress",
                "phase": "idle" if not self._jobs else "decode" if writing else "prefill",
                "running": len(self._jobs),
                "waiting": len(self._waiting),
                "prefill_rate": round(read, 1),
                "decode_rate": round(written, 1),
                "prompt_done": done,
                "prompt_total": total,
            }
        )


class _Pieces:
    """Bytes of tokens, each asked for once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[int, bytes] = {}

    def __call__(self, token: int) -> bytes:
        if token not in self._known:
            self._known[token] = self._model.token_bytes(token)
        return self._known[token]


def _empty_result(request: JobRequest, finish: str, error: str, model: str) -> dict[str, object]:
    """The message for a request that never ran."""
    return {
        "event": "done",
        "id": request.id,
        "text": "",
        "segments": [],
        "finish": finish,
        "prompt_tokens": len(request.prompt.shared) + len(request.prompt.own),
        "shared_tokens": 0,
        "output_tokens": 0,
        "forced_tokens": 0,
        "milliseconds": 0,
        "model": model,
        "prompt_hash": "",
        "error": error,
    }
