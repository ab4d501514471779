"""Continuous batching: the loop that admits jobs, runs one step of the model after another, and books it.

The cache holds a few shared prefixes, each in a sequence of its own; a job's sequence begins as a copy of
one, which costs no memory because the cache is unified. What a step holds is decided in `batching.py`, who
may run in `admission.py`. While a job that a person waits for is running, background jobs stand still with
all that they have in the cache. Runs in one thread of the worker process; other threads talk to it through
`submit`, `cancel`, `pause` and `stop`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from localrag.engine import batching
from localrag.engine.accounts import Rates, Spent
from localrag.engine.admission import SLACK, Room
from localrag.engine.batching import Owner, Shape
from localrag.engine.job import Emit, Job, JobRequest
from localrag.engine.job_messages import empty_result, progress
from localrag.engine.llama import Context, Model
from localrag.engine.matching import Vocabulary
from localrag.engine.prefixes import Prefix, PrefixStore, PrefixTable
from localrag.engine.recent import Recent
from localrag.errors import ConstraintError, EngineError

PREFIXES = 4
"""Shared prefixes kept in the cache."""

_REPORT_SECONDS = 0.25


class Scheduler:
    """Owns the context and everything that is running in it."""

    def __init__(
        self,
        model: Model,
        context: Context,
        vocabulary: Vocabulary,
        *,
        sequences: int,
        shape: Shape,
        emit: Emit,
        store: PrefixStore | None = None,
    ) -> None:
        """`sequences` jobs run together, and one more if a person waits for it."""
        self._context = context
        self._vocabulary = vocabulary
        self._emit = emit
        self._shape = shape
        self._places = sequences
        self._cells = context.n_ctx
        self._pieces = _Pieces(model)
        self._prefixes = PrefixTable(context, list(range(PREFIXES)), store)
        self._recent = Recent(context)
        self._room = Room(self._cells, self._prefixes)
        self._free = list(range(PREFIXES, PREFIXES + sequences + 1))
        self._jobs: list[Job] = []
        self._waiting: list[JobRequest] = []
        self._rates = Rates()
        self._reported = 0.0
        self._after_reading = False
        self._full = False
        """The cache was full against all reckoning, and no job has ended since."""
        self._condition = threading.Condition()
        self._inbox: deque[JobRequest] = deque()
        self._cancelled: set[int] = set()
        self._paused = False
        self._urgent_runs = False
        self._stopping = False
        self.spent = Spent()
        self.fingerprint = ""

    # Called by other threads.

    def submit(self, request: JobRequest) -> None:
        """Queue a request; one that a person waits for stops a running step of background work."""
        with self._condition:
            self._inbox.append(request)
            if request.priority > 0 and not self._urgent_runs:
                self._context.abort.set()
            self._condition.notify()

    def cancel(self, job: int) -> None:
        """End a request; a running decode is stopped within one step of the model's graph."""
        with self._condition:
            self._cancelled.add(job)
            self._context.abort.set()
            self._condition.notify()

    def pause(self, paused: bool) -> None:
        """Let background jobs stand still, or go on; a running step is stopped."""
        with self._condition:
            self._paused = paused
            if paused and not self._urgent_runs:
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
        return self._cells - SLACK

    def stats(self) -> dict[str, Any]:
        """Counts of what is held and where the time went."""
        return {
            "jobs": len(self._jobs),
            "waiting": len(self._waiting),
            "urgent": sum(job.request.priority > 0 for job in list(self._jobs)),
            "free_sequences": len(self._free) + bool(self._recent.cells),
            "prompt_tokens_reused": self._recent.reused,
            "prefixes": len(self._prefixes.all),
            "prefix_users": sum(prefix.users for prefix in self._prefixes.all),
            "prefix_tokens_loaded": self._prefixes.loaded,
            "paused": self._paused,
            **vars(self.spent),
        }

    # The loop.

    def run(self) -> None:
        """Work until `stop`. Native faults end the process, everything else ends a job."""
        while self._take_orders():
            self._admit()
            step = self._next_step()
            if not len(step):
                continue
            began = time.monotonic()
            code = self._context.decode(step.entries)
            if code == 2:
                self._undo(step.owners)
                continue
            if code == 1:
                self._make_room(step.owners)
                continue
            self._advance(step.owners, began)
            self._report()

    def _take_orders(self) -> bool:
        """Fetch what other threads asked for; waits if there is nothing to do. False ends the loop."""
        with self._condition:
            while not (self._stopping or self._inbox or self._cancelled or self._runnable()):
                self._condition.wait()
            if self._stopping:
                return False
            self._context.abort.clear()
            cancelled, self._cancelled = self._cancelled, set()
            arrived = list(self._inbox)
            self._inbox.clear()
            self._waiting.extend(arrived)
        if arrived:
            self._waiting.sort(key=lambda r: -r.priority)
        for request in [r for r in self._waiting if r.id in cancelled]:
            self._waiting.remove(request)
            self._emit(empty_result(request, "cancelled", "", self.fingerprint))
        for job in [j for j in self._jobs if j.request.id in cancelled]:
            job.finish = "cancelled"
            self._end(job)
        with self._condition:
            self._urgent_runs = self._someone_waits()
        return True

    def _runnable(self) -> bool:
        """Whether there is a job that may run now."""
        if not self._paused:
            return bool(self._jobs or self._waiting)
        return self._someone_waits()

    def _someone_waits(self) -> bool:
        """Whether there is work that a person waits for."""
        return any(r.priority > 0 for r in (*self._waiting, *(job.request for job in self._jobs)))

    # Admission.

    def _admit(self) -> None:
        """Give places to waiting jobs, the most urgent first."""
        for request in list(self._waiting):
            urgent = request.priority > 0
            if not urgent and (self._paused or (self._full and self._jobs)):
                return
            if len(self._jobs) >= self._places and not urgent:
                return
            if not (self._free or self._recent.begins(request.prompt) or self._forget_recent()):
                return
            if not self._fits(request):
                if self._jobs:
                    return
                self._refuse(request)
                continue
            prefix = self._prefixes.get(request.prompt.shared)
            if prefix is None:
                self._forget(one=True)
                prefix = self._prefixes.get(request.prompt.shared)
            if prefix is None:
                return
            self._waiting.remove(request)
            self._begin(request, prefix)

    def _fits(self, request: JobRequest) -> bool:
        """Whether a request fits, after idle prefixes and, for a question, background jobs gave way."""
        held = 0 if self._recent.begins(request.prompt) else self._recent.cells
        if self._room.fits(request, self._jobs, held):
            return True
        if held:
            self._forget_recent()
            if self._room.fits(request, self._jobs):
                return True
        if not self._jobs:
            self._forget()
        while request.priority > 0 and not self._room.fits(request, self._jobs):
            victim = self._room.victim(self._jobs)
            if victim is None:
                break
            self._put_back(victim)
        return self._room.fits(request, self._jobs)

    def _forget_recent(self) -> bool:
        """Drop the prompt that is held for the next question; whether there was one."""
        sequence = self._recent.drop()
        if sequence is not None:
            self._free.append(sequence)
        return sequence is not None

    def _forget(self, *, one: bool = False) -> bool:
        """Drop prefixes that nobody uses; whether there was one."""
        dropped = self._prefixes.drop_idle(one=one)
        for sequence in dropped:
            self._context.remove(sequence)
        return bool(dropped)

    def _begin(self, request: JobRequest, prefix: Prefix) -> None:
        try:
            job = Job(request, self._vocabulary, self._pieces, self._emit)
        except ConstraintError as error:
            self._emit(empty_result(request, "error", str(error), self.fingerprint))
            return
        if job.finish:
            self._emit(job.result(self.fingerprint))
            return
        if self._recent.begins(request.prompt):
            self._recent.give(job)
        else:
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
        self._emit(empty_result(request, "error", text, self.fingerprint))

    # One step.

    def _next_step(self) -> batching.Step:
        self._attach()
        urgent = [job for job in self._jobs if job.request.priority > 0]
        jobs = urgent or ([] if self._paused else self._jobs)
        needed = {job.request.prompt.shared for job in jobs if job.past < 0}
        prefixes = [prefix for prefix in self._prefixes.all if prefix.tokens in needed]
        return batching.compose(prefixes, jobs, self._shape, after_reading=self._after_reading)

    def _attach(self) -> None:
        """Copy finished prefixes into the sequences of the jobs that wait for them."""
        for job in self._jobs:
            prefix = self._prefixes[job.request.prompt.shared]
            if job.past < 0 and prefix.ready:
                if prefix.tokens:
                    self._context.copy(prefix.sequence, job.sequence, len(prefix.tokens))
                job.past = len(prefix.tokens)

    def _advance(self, owners: list[tuple[Owner, int, int]], began: float) -> None:
        """Book what was decoded, and let jobs with scores choose their next token."""
        decoded = time.monotonic()
        read = written = 0
        ending = []
        self.spent.steps += 1
        for owner, count, index in owners:
            if isinstance(owner, Prefix):
                owner.done += count
                read += count
                if owner.ready:
                    self._prefixes.keep(owner)
                continue
            owner.past += count
            owner.served = self.spent.steps
            from_prompt = min(count, len(owner.prompt_left))
            del owner.prompt_left[:from_prompt]
            del owner.pending[: count - from_prompt]
            read += from_prompt
            written += count - from_prompt
            if index >= 0:
                self._choose(owner, index)
            if owner.cut:
                # What was taken back leaves the cache; the job has set everything else.
                self._context.remove(owner.sequence, owner.past)
                owner.cut = 0
            if owner.finish:
                ending.append(owner)
        ended = time.monotonic()
        self._after_reading = read > 0
        # Before anybody hears of an end: who asks for the sums then finds this step among them.
        self.spent.book(read, written, decoded - began, ended - decoded)
        for owner in ending:
            self._end(owner)
        self._rates.add(began, ended, read, written)

    def _choose(self, job: Job, index: int) -> None:
        """Give a job the scores it asked for, the last of which are at `index`."""
        try:
            for before in reversed(range(job.asks)):
                job.feed(self._context.logits(index - before))
        except (ConstraintError, EngineError) as error:
            job.finish, job.error = "error", str(error)

    def _undo(self, owners: list[tuple[Owner, int, int]]) -> None:
        """After a stopped decode: forget what it may have put into the cache."""
        for owner, _, _ in owners:
            if isinstance(owner, Prefix):
                self._context.remove(owner.sequence, owner.done)
            else:
                self._context.remove(owner.sequence, owner.past)

    def _make_room(self, owners: list[tuple[Owner, int, int]]) -> None:
        """The cache is full against all reckoning: put a background job back into the queue."""
        self._undo(owners)
        if self._forget_recent() or self._forget():
            return
        victim = self._room.victim(self._jobs)
        if len(self._jobs) == 1 or victim is None:
            last = self._jobs[-1]
            last.finish, last.error = "error", "The context is full."
            self._end(last)
            return
        # Admitted again at once it would fill the cache again.
        self._full = True
        self._put_back(victim)

    def _put_back(self, job: Job) -> None:
        """Let a job start again later; what it wrote is lost."""
        self._release(job)
        self._waiting.append(job.request)
        self._waiting.sort(key=lambda r: -r.priority)

    def _end(self, job: Job) -> None:
        self._full = False
        if job.request.priority > 0 and job.finish in ("stop", "length"):
            self._forget_recent()
            self._recent.take(job)
        else:
            self._empty(job)
        self._leave(job)
        self._emit(job.result(self.fingerprint))

    def _release(self, job: Job) -> None:
        self._empty(job)
        self._leave(job)

    def _empty(self, job: Job) -> None:
        self._context.remove(job.sequence)
        self._free.append(job.sequence)

    def _leave(self, job: Job) -> None:
        self._prefixes[job.request.prompt.shared].users -= 1
        self._jobs.remove(job)

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported < _REPORT_SECONDS and self._jobs:
            return
        self._reported = now
        first = max(self._jobs, key=lambda job: job.request.priority, default=None)
        prefix = None if first is None else self._prefixes[first.request.prompt.shared]
        self._emit(progress(self._jobs, len(self._waiting), self._rates.current(), first, prefix))


class _Pieces:
    """Bytes of tokens, each asked for once."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[int, bytes] = {}

    def __call__(self, token: int) -> bytes:
        if token not in self._known:
            self._known[token] = self._model.token_bytes(token)
        return self._known[token]
