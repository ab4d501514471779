"""What goes into one step of the model: a reading step of prompt tokens, or a writing step of many jobs.

Measured on processors with llama.cpp's own kernels (docs/measurements.md): weights are multiplied with 16
tokens at a time, so a step of 17 costs nearly as much as one of 32; and from 64 tokens on attention works in
tiles over all cells that any token of the tile may see. Tokens of one prompt see the same cells, and long
steps suit them. Tokens of many jobs see different ones, so a writing step stays below 64 tokens, and the two
kinds are not mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localrag.engine.job import Job
from localrag.engine.llama import Entry
from localrag.engine.prefixes import Prefix

ROWS = 16
"""Tokens that the kernels multiply at a time."""

_ENOUGH = 128
"""A reading step takes whole prompts until it has this many tokens: more are no faster."""

_WASTED = 10
"""A last group of at most this many tokens waits for the next step, where there is one."""

_SLICE = 192
"""Most prompt tokens read in a step while a person waits for another job's words."""

Owner = Job | Prefix


@dataclass(frozen=True)
class Shape:
    """How large steps are."""

    batch: int
    """Most tokens of a reading step."""

    width: int
    """Most tokens of a writing step; below 64 on a processor."""


@dataclass
class Step:
    """One step."""

    entries: list[Entry] = field(default_factory=list)
    """Tokens."""

    owners: list[tuple[Owner, int, int]] = field(default_factory=list)
    """(whose, how many tokens, index of the entry with scores or -1), in the order of the entries."""

    def add(self, owner: Owner, tokens: Sequence[int], past: int, sequence: int, *, asks: int) -> None:
        """Put an owner's tokens behind the others; `asks` is after how many of the last scores are wanted."""
        first = len(tokens) - asks
        self.entries.extend(Entry(token, past + i, sequence, i >= first) for i, token in enumerate(tokens))
        self.owners.append((owner, len(tokens), len(self.entries) - 1 if asks else -1))

    def __len__(self) -> int:
        return len(self.entries)


def compose(prefixes: Sequence[Prefix], jobs: Sequence[Job], shape: Shape, *, after_reading: bool) -> Step:
    """The next step for `jobs`, all of which may run now; empty if they have nothing to do.

    Prompts are read only when the jobs that write cannot fill a step, so that steps stay full until the
    last prompt is read. `after_reading` says whether the step before read prompts: where a person waits,
    reading and writing take turns.
    """
    writers = [job for job in jobs if job.past >= 0 and not job.reading and job.pending]
    unread = [p for p in prefixes if p.users and not p.ready]
    readers = [job for job in jobs if job.past >= 0 and job.reading]
    urgent = any(job.request.priority > 0 for job in jobs)
    if unread or readers:
        if urgent and writers and after_reading:
            return _write(writers, shape)
        if urgent or sum(len(job.pending) for job in writers) < shape.width:
            return _read(unread, readers, min(shape.batch, _SLICE) if urgent and writers else shape.batch)
    return _write(writers, shape) if writers else Step()


def _read(prefixes: Sequence[Prefix], jobs: Sequence[Job], room: int) -> Step:
    step = Step()
    for prefix in prefixes:
        part = prefix.tokens[prefix.done : prefix.done + room - len(step)]
        if part:
            step.add(prefix, part, prefix.done, prefix.sequence, asks=0)
    for job in sorted(jobs, key=lambda j: -j.request.priority):
        if len(step) >= min(room, _ENOUGH):
            break
        own = job.prompt_left[: room - len(step)]
        whole = len(own) == len(job.prompt_left)
        # What is forced at the very start of the output is read together with the prompt's end.
        forced = job.pending if whole and len(step) + len(own) + len(job.pending) <= room else []
        asks = job.asks if whole and len(forced) == len(job.pending) else 0
        step.add(job, [*own, *forced], job.past, job.sequence, asks=asks)
    return step


def _write(writers: Sequence[Job], shape: Shape) -> Step:
    """A writing step of whole groups of rows where possible."""
    step = Step()
    room = _rounded(min(sum(len(job.pending) for job in writers), shape.width))
    for job in sorted(writers, key=_turn):
        part = job.pending[: room - len(step)]
        if not part:
            break
        if job.asks > 1 and len(part) < len(job.pending):
            # A run with scores in it is read at once; it is no longer than a group of rows.
            if len(step):
                continue
            part = list(job.pending)
        whole = len(part) == len(job.pending)
        # A long forced run may take several steps; only its end has scores.
        step.add(job, part, job.past, job.sequence, asks=job.asks if whole else 0)
    return step


def _rounded(tokens: int) -> int:
    """`tokens`, or the full groups of rows in it where the rest is not worth a group of its own."""
    rest = tokens % ROWS
    return tokens - rest if tokens > ROWS and 0 < rest <= _WASTED else tokens


def _turn(job: Job) -> tuple[int, int]:
    """The urgent first, then those that waited longest."""
    return (-job.request.priority, job.served)
