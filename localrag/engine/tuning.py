"""Measures a model on this machine within a time budget and chooses threads, steps, sequences and cache type.

What is timed is behind `Trial`, so that the choices can be tested without a machine. The order is that of
worth: if the time runs out, what was not measured keeps its default, and the reasons say so.
"""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from localrag.engine import kv_cache, machine, sizing
from localrag.engine.choosing import best_read, best_write, thread_candidates
from localrag.engine.gguf import GgufInfo
from localrag.engine.options import EngineOptions
from localrag.engine.tuned import BUSY, ReadRate, Tuning, WriteRate
from localrag.errors import EngineError, SettingsError

SECONDS: Final = 26.0
"""Time that a measurement may take, the loading of the model included."""

_LEAST_SECONDS: Final = 10.0
"""Time that it may take in any case, for a model that loads slowly."""

_READS: Final = (64, 128, 256, 512)
"""Tokens of a reading step that are tried."""

_WRITES: Final = (1, 4, 8, 16, 32, 48)
"""Texts written together that are tried on a processor: 64 and more take a slower way through attention."""

_WRITES_GPU: Final = (64, 128)
"""Tried too if the model is on a GPU."""

_CELLS: Final = 256
"""Tokens that each text has behind it when writing is timed."""

_GLANCE_READ: Final = 64
_GLANCE_WRITE: Final = 16
_WARM_UP: Final = 32
_REPEATS: Final = 2
_QUICK: Final = 0.15
"""Seconds for which short steps are repeated, since a single one says little."""
_OTHER_TYPES: Final = ("q8_0", "f32")

_WORTH: Final = 0.10
"""How much faster another cache type or number of threads must be to be chosen."""


@dataclass(frozen=True)
class TrialSpec:
    """A context to take times in."""

    kv_type: str
    """Type of the cache."""

    flash_attention: str
    """`auto`, `on` or `off`."""

    threads: int
    """Threads."""

    sequences: int
    """Sequences that it can hold."""

    cells: int
    """Tokens that it can hold."""

    batch: int
    """Most tokens of a step."""


class Trial(Protocol):
    """What takes the times; see `trial.py`."""

    def read(self, tokens: int) -> float:
        """Seconds in which one empty sequence reads so many tokens in one step."""

    def spread(self, cells: int, sequences: int) -> None:
        """Let each of so many sequences hold what was read, cut to `cells` tokens."""

    def write(self, sequences: int) -> float:
        """Seconds of one step in which each of so many sequences gets one token."""

    def close(self) -> None:
        """Free its memory."""


class Tuner:
    """One measurement."""

    def __init__(
        self,
        info: GgufInfo,
        options: EngineOptions,
        open_trial: Callable[[TrialSpec], Trial],
        *,
        tell: Callable[[str], None],
        seconds: float = SECONDS,
        clock: Callable[[], float] = time.monotonic,
        others: Callable[[], float] | None = None,
    ) -> None:
        """`options` holds what the settings fix; `tell` hears of every time taken.

        `others` tells the share of the processor that other programs took since the beginning.
        """
        self._info = info
        self._options = options
        self._open = open_trial
        self._tell = tell
        self._clock = clock
        self._others = others or machine.OtherPrograms().share
        self._began = clock()
        self._seconds = max(seconds, _LEAST_SECONDS)
        cache = kv_cache.plan(info, kv_type=options.kv_type, flash_attention=options.flash_attention)
        self._kv_type = cache.kv_type
        self._reads: list[ReadRate] = []
        self._writes: list[WriteRate] = []
        self._reasons: list[str] = []
        self._baseline: WriteRate | None = None

    def run(self) -> Tuning:
        """Measure and choose. Raises `EngineError` if not even a small context can be had."""
        result = Tuning(self._info.name, kv_type=self._kv_type)
        threads = self._threads()
        if threads:
            result = self._steps(replace(result, threads=threads))
            result = self._cache(result)
        others = round(self._others(), 2)
        if others > BUSY:
            self._reasons.append(
                f"Other programs took {others:.0%} of the processor, so it is measured again one day."
            )
        return replace(
            result,
            others=others,
            reads=tuple(self._reads),
            writes=tuple(self._writes),
            reasons=tuple(self._reasons),
            seconds=round(self._clock() - self._began, 1),
            measured_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )

    # Threads.

    def _threads(self) -> int:
        """The number of threads; 0 if the model is too slow to be measured at all."""
        candidates = thread_candidates(self._options.threads)
        best, best_cost, spent, shown = 0, 0.0, 0.0, []
        for threads in candidates:
            if best and spent > self._left() * 0.25:
                self._reasons.append(f"{_threads_in_words(threads)} were not tried: the time was over.")
                continue
            began = self._clock()
            spec = self._spec(self._kv_type, threads, _GLANCE_WRITE, _GLANCE_READ, _GLANCE_READ)
            with self._trial(spec) as trial:
                warm = trial.read(min(_WARM_UP, _GLANCE_READ))
                if not best and warm > self._seconds / 8:
                    self._reasons.append(
                        f"Reading {_WARM_UP} tokens took {warm:.1f} s: too slow to measure more."
                    )
                    return 0
                if len(candidates) == 1:
                    best = threads
                    break
                read = self._read(trial, _GLANCE_READ, spec)
                if best and 1 / read.rate > best_cost:
                    shown.append(f"{threads}: reads {read.rate:.0f} tokens/s")
                    continue
                write = self._write(trial, _GLANCE_WRITE, _GLANCE_READ, spec)
                cost = 1 / read.rate + 1 / write.rate
                shown.append(f"{threads}: reads {read.rate:.0f}, writes {write.rate:.0f} tokens/s")
                spent = self._clock() - began
                # The first candidate suits most machines, and other programs can make it look slow.
                if not best or cost < best_cost * (1 - _WORTH):
                    best, best_cost = threads, cost
        if self._options.threads:
            self._reasons.append(f"{_threads_in_words(best)}, as the settings say.")
        elif len(candidates) == 1:
            self._reasons.append(f"{_threads_in_words(best)}, one for each core.")
        else:
            self._reasons.append(f"{_threads_in_words(best)} read and write fastest ({'; '.join(shown)}).")
        return best

    # Steps and sequences.

    def _steps(self, result: Tuning) -> Tuning:
        """Reading steps, then writing steps, in one context."""
        room = sizing.cells_in(self._info, self._kv_type)
        cells = min(_CELLS, max(_GLANCE_READ, (self._info.context_length or _CELLS) // 2))
        tried = _WRITES + (_WRITES_GPU if self._options.gpu_layers else ())
        largest = max(count for count in tried if count == 1 or count * cells + _READS[-1] <= room)
        spec = self._spec(self._kv_type, result.threads, largest, cells, _READS[-1])
        with self._trial(spec) as trial:
            reads = self._try_reads(trial, spec)
            batch = best_read(reads)
            cells = min(cells, max(read.tokens for read in reads))
            writes = self._try_writes(trial, [n for n in tried if n <= largest], cells, spec)
        result = replace(result, batch=batch.tokens, read_rate=batch.rate)
        others = ", ".join(f"{read.tokens}: {read.rate:.0f}" for read in reads)
        self._reasons.append(f"Reading in steps of {batch.tokens} tokens ({others} tokens/s).")
        if not writes:
            return result
        best = self._baseline = best_write(writes)
        others = ", ".join(f"{write.sequences}: {write.rate:.0f}" for write in writes)
        self._reasons.append(
            f"Writing {best.sequences} texts together gives most ({others} tokens/s in all)."
        )
        return replace(result, width=best.sequences, sequences=best.sequences, write_rate=best.rate)

    def _try_reads(self, trial: Trial, spec: TrialSpec) -> list[ReadRate]:
        trial.read(_WARM_UP)
        reads: list[ReadRate] = []
        for tokens in _READS:
            if reads and (expected := tokens / reads[-1].rate) > min(self._left() * 0.3, self._seconds / 4):
                self._reasons.append(
                    f"Steps of {tokens} tokens and more were not tried: one would take {expected:.1f} s."
                )
                break
            reads.append(self._read(trial, tokens, spec))
        return reads

    def _try_writes(
        self, trial: Trial, counts: Sequence[int], cells: int, spec: TrialSpec
    ) -> list[WriteRate]:
        writes: list[WriteRate] = []
        for count in counts:
            if writes:
                step = writes[-1].milliseconds / 1000 * count / writes[-1].sequences
                if step * (_REPEATS + 1) > self._left() * 0.6:
                    self._reasons.append(f"{count} texts and more were not tried: the time was over.")
                    break
            writes.append(self._write(trial, count, cells, spec))
        return writes

    # Cache type and memory.

    def _cache(self, result: Tuning) -> Tuning:
        """Compare the cache types, and keep to the memory that there is."""
        baseline = self._baseline
        if baseline is None:
            return result
        wanted = result.sequences
        limits = {self._kv_type: self._limit(self._kv_type)}
        if self._options.kv_type != "auto":
            self._reasons.append(f"A cache of type {self._kv_type}, as the settings say.")
            return self._limited(result, wanted, limits[self._kv_type])
        costs = {self._kv_type: self._cost(self._kv_type, baseline)}
        for kv_type in _OTHER_TYPES:
            cost = self._try_type(kv_type, baseline)
            if cost:
                costs[kv_type], limits[kv_type] = cost, self._limit(kv_type)
        best = min(costs, key=lambda kv_type: costs[kv_type])
        gain = 1 - costs[best] / costs[self._kv_type]
        compared = ", ".join(f"{name} {costs[self._kv_type] / cost:.2f}" for name, cost in costs.items())
        if limits[self._kv_type] < wanted and limits.get("q8_0", 0) > limits[self._kv_type]:
            chosen = "q8_0"
            self._reasons.append(
                f"A cache of type q8_0, because memory holds {limits['q8_0']} texts with it and "
                f"{limits[self._kv_type]} with {self._kv_type} (speed: {compared})."
            )
        elif gain >= _WORTH and limits[best] >= min(wanted, limits[self._kv_type]):
            chosen = best
            self._reasons.append(f"A cache of type {best}, which is {gain:.0%} faster (speed: {compared}).")
        else:
            chosen = self._kv_type
            self._reasons.append(f"A cache of type {chosen}; no other is {_WORTH:.0%} faster ({compared}).")
        if chosen != self._kv_type:
            read, write = self._rates_of(chosen, result)
            result = replace(result, kv_type=chosen, read_rate=read, write_rate=write)
        return self._limited(result, wanted, limits[chosen])

    def _limited(self, result: Tuning, wanted: int, limit: int) -> Tuning:
        if limit >= wanted:
            return result
        self._reasons.append(f"Memory holds {limit} texts, so no more are read together.")
        return replace(result, sequences=limit)

    def _limit(self, kv_type: str) -> int:
        return sizing.sequences_in(sizing.cells_in(self._info, kv_type))

    def _try_type(self, kv_type: str, baseline: WriteRate) -> float:
        """Seconds for a token read and one written with another type; 0 if it was not tried."""
        options = self._options
        try:
            cache = kv_cache.plan(self._info, kv_type=kv_type, flash_attention=options.flash_attention)
        except SettingsError as error:
            self._reasons.append(error.message)
            return 0.0
        read = next(r for r in reversed(self._reads) if r.tokens == baseline.cells)
        expected = 1.5 * (baseline.cells / read.rate + (_REPEATS + 1) * baseline.milliseconds / 1000)
        if expected > self._left():
            self._reasons.append(f"A cache of type {kv_type} was not tried: the time was over.")
            return 0.0
        spec = TrialSpec(
            kv_type,
            cache.flash_attention,
            baseline.threads,
            baseline.sequences,
            (baseline.sequences + 1) * baseline.cells,
            baseline.cells,
        )
        if spec.cells > sizing.cells_in(self._info, kv_type):
            self._reasons.append(f"A cache of type {kv_type} was not tried: there is no memory for it.")
            return 0.0
        try:
            with self._trial(spec) as trial:
                self._read(trial, baseline.cells, spec)
                write = self._write(trial, baseline.sequences, baseline.cells, spec)
        except EngineError as error:
            self._reasons.append(f"A cache of type {kv_type} cannot be had: {error.message}")
            return 0.0
        return self._cost(kv_type, write)

    def _cost(self, kv_type: str, write: WriteRate) -> float:
        read = next(r for r in reversed(self._reads) if r.tokens == write.cells and r.kv_type == kv_type)
        return 1 / read.rate + 1 / write.rate

    def _rates_of(self, kv_type: str, result: Tuning) -> tuple[float, float]:
        read = next(r for r in self._reads if r.kv_type == kv_type)
        write = next(w for w in self._writes if w.kv_type == kv_type and w.sequences == result.sequences)
        return read.rate, write.rate

    # Taking times.

    def _spec(self, kv_type: str, threads: int, sequences: int, cells: int, batch: int) -> TrialSpec:
        cache = kv_cache.plan(self._info, kv_type=kv_type, flash_attention=self._options.flash_attention)
        return TrialSpec(
            kv_type, cache.flash_attention, threads, sequences, (sequences + 1) * cells + batch, batch
        )

    @contextlib.contextmanager
    def _trial(self, spec: TrialSpec) -> Iterator[Trial]:
        trial = self._open(spec)
        try:
            yield trial
        finally:
            trial.close()

    def _read(self, trial: Trial, tokens: int, spec: TrialSpec) -> ReadRate:
        seconds = self._shortest(lambda: trial.read(tokens), 1)
        found = ReadRate(tokens, spec.threads, spec.kv_type, round(tokens / seconds, 1))
        self._reads.append(found)
        self._tell(f"reading {tokens} tokens at a time: {found.rate:.0f} tokens/s")
        return found

    def _write(self, trial: Trial, sequences: int, cells: int, spec: TrialSpec) -> WriteRate:
        trial.spread(cells, sequences)
        trial.write(sequences)
        seconds = self._shortest(lambda: trial.write(sequences), _REPEATS)
        found = WriteRate(
            sequences,
            cells,
            spec.threads,
            spec.kv_type,
            round(seconds * 1000, 2),
            round(sequences / seconds, 1),
        )
        self._writes.append(found)
        self._tell(f"writing {sequences} texts together: {found.rate:.0f} tokens/s")
        return found

    def _shortest(self, step: Callable[[], float], times: int) -> float:
        """The shortest of several steps: whatever disturbs one makes it longer."""
        taken = [step() for _ in range(times)]
        while sum(taken) < _QUICK and len(taken) < 20:
            taken.append(step())
        return max(min(taken), 1e-6)

    def _left(self) -> float:
        return self._seconds - (self._clock() - self._began)


def _threads_in_words(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
