"""The choices, on machines that are simulated: each has a clock and a law of how long a step takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from localrag.engine import machine, tuning
from localrag.engine.choosing import best_read, best_write, thread_candidates
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.options import EngineOptions
from localrag.engine.tuned import ReadRate, Tuning, WriteRate
from localrag.engine.tuning import Trial, TrialSpec, Tuner
from localrag.errors import EngineError
from tests.engine.random_kinds import build_window

GIB = 1 << 30

STEPS = {1: 30, 4: 73, 8: 127, 16: 151, 32: 290, 48: 410, 64: 930, 128: 1900}
"""Milliseconds of a writing step, as measured with a model of 1.5B on two cores."""


class Simulated:
    """A machine whose steps take what it is told; it counts what was asked of it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.open: list[TrialSpec] = []
        self.closed = 0
        self.read_rate: Callable[[TrialSpec, int], float] = lambda spec, tokens: 130.0
        self.step: Callable[[TrialSpec, int], float] = lambda spec, count: STEPS[count] / 1000
        self.no_memory: Callable[[TrialSpec], bool] = lambda spec: False

    def clock(self) -> float:
        return self.now

    def trial(self, spec: TrialSpec) -> Trial:
        if self.no_memory(spec):
            raise EngineError("There is no memory for a context.")
        self.open.append(spec)
        return SimulatedTrial(self, spec)


class SimulatedTrial:
    """A context of it."""

    def __init__(self, machine: Simulated, spec: TrialSpec) -> None:
        self.machine, self.spec = machine, spec
        self.held, self.spreads = 0, 0

    def read(self, tokens: int) -> float:
        assert tokens <= self.spec.batch
        self.held = tokens
        return self._take(tokens / self.machine.read_rate(self.spec, tokens))

    def spread(self, cells: int, sequences: int) -> None:
        assert cells <= self.held
        assert sequences <= self.spec.sequences
        assert cells * sequences + sequences <= self.spec.cells
        self.spreads = sequences

    def write(self, sequences: int) -> float:
        assert sequences <= self.spreads
        return self._take(self.machine.step(self.spec, sequences))

    def close(self) -> None:
        self.machine.closed += 1

    def _take(self, seconds: float) -> float:
        self.machine.now += seconds
        return seconds


@pytest.fixture
def simulated() -> Simulated:
    """A machine."""
    return Simulated()


@pytest.fixture(scope="module")
def info(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    """A model with heads of 32 numbers; 768 bytes of cache a token."""
    return replace(inspect(build_window(tmp_path_factory.mktemp("m") / "m.gguf")), context_length=32_768)


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of two cores with much memory."""
    cores(monkeypatch, 2, 2)
    memory(monkeypatch, 64 * GIB)


def cores(monkeypatch: pytest.MonkeyPatch, physical: int, logical: int) -> None:
    monkeypatch.setattr(machine, "physical_cores", lambda: physical)
    monkeypatch.setattr(machine, "logical_cores", lambda: logical)


def memory(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: free)


def run(simulated: Simulated, info: GgufInfo, seconds: float = tuning.SECONDS, **options: object) -> Tuning:
    told: list[str] = []
    result = Tuner(
        info,
        EngineOptions(**options),  # type: ignore[arg-type]
        simulated.trial,
        tell=told.append,
        seconds=seconds,
        clock=simulated.clock,
        others=lambda: 0.0,
    ).run()
    assert simulated.closed == len(simulated.open)
    assert len(told) == len(result.reads) + len(result.writes)
    assert result.reasons
    return result


def said(result: Tuning, part: str) -> bool:
    return any(part in reason for reason in result.reasons)


def test_the_machine_of_the_first_experiments_gets_48_texts(simulated: Simulated, info: GgufInfo) -> None:
    result = run(simulated, info)
    assert (result.threads, result.sequences, result.width, result.kv_type) == (2, 48, 48, "f16")
    # All sizes of reading steps are equally fast there, and the longest are fewest.
    assert (result.batch, result.read_rate) == (512, 130.0)
    assert result.write_rate == pytest.approx(48 / 0.41, abs=0.1)
    assert simulated.now < tuning.SECONDS
    assert {write.kv_type for write in result.writes} == {"f16", "q8_0", "f32"}
    # On a processor no step has 64 tokens or more.
    assert max(write.sequences for write in result.writes) == 48


def test_fewer_texts_where_more_give_less(simulated: Simulated, info: GgufInfo) -> None:
    simulated.step = lambda spec, count: 0.05 + 0.01 * max(count, 16) + (count > 16) * 0.016 * (count - 16)
    assert run(simulated, info).sequences == 16


def test_on_a_gpu_more_texts_are_tried(simulated: Simulated, info: GgufInfo) -> None:
    simulated.step = lambda spec, count: 0.02 + 0.0001 * count
    assert run(simulated, info, gpu_layers=-1).sequences == 128
    assert run(simulated, info).sequences == 48


def test_the_longest_reading_step_where_it_is_faster(simulated: Simulated, info: GgufInfo) -> None:
    simulated.read_rate = lambda spec, tokens: 100 + tokens
    result = run(simulated, info)
    assert result.batch == 512
    assert result.read_rate == 612


def test_threads_are_compared_where_they_differ(
    simulated: Simulated, info: GgufInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    cores(monkeypatch, 8, 16)
    fast = {16: 1.0, 8: 1.0, 4: 0.7}
    simulated.read_rate = lambda spec, tokens: 400 * fast[spec.threads]
    simulated.step = lambda spec, count: STEPS[count] / 4000 / fast[spec.threads]
    assert run(simulated, info).threads == 8
    fast[16] = 1.05
    assert run(simulated, info).threads == 8  # not worth it, and other programs may be why
    fast[16] = 1.4
    assert run(simulated, info).threads == 16
    fast.update({16: 0.5, 4: 1.3})
    result = run(simulated, info)
    assert result.threads == 4
    assert said(result, "4 threads read and write fastest")
    # All further contexts have the chosen number.
    assert {spec.threads for spec in simulated.open[-3:]} == {4}


def test_candidates_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_candidates(0) == [2]
    assert thread_candidates(5) == [5]
    cores(monkeypatch, 6, 12)
    assert thread_candidates(0) == [6, 12, 3]
    cores(monkeypatch, 1, 2)
    assert thread_candidates(0) == [1, 2]


def test_settings_are_not_measured_over(simulated: Simulated, info: GgufInfo) -> None:
    result = run(simulated, info, threads=3, kv_type="q8_0")
    assert (result.threads, result.kv_type) == (3, "q8_0")
    assert {(spec.threads, spec.kv_type, spec.flash_attention) for spec in simulated.open} == {
        (3, "q8_0", "on")
    }
    assert said(result, "as the settings say")


@pytest.mark.parametrize(
    ("gains", "chosen"),
    [
        ({"q8_0": 1.05, "f32": 1.05}, "f16"),
        ({"q8_0": 1.3, "f32": 1.0}, "q8_0"),
        ({"q8_0": 1.2, "f32": 1.5}, "f32"),
        ({"q8_0": 0.5, "f32": 0.5}, "f16"),
    ],
)
def test_another_cache_type_must_be_worth_it(
    simulated: Simulated, info: GgufInfo, gains: dict[str, float], chosen: str
) -> None:
    simulated.read_rate = lambda spec, tokens: 130 * gains.get(spec.kv_type, 1.0)
    simulated.step = lambda spec, count: STEPS[count] / 1000 / gains.get(spec.kv_type, 1.0)
    result = run(simulated, info)
    assert result.kv_type == chosen
    assert result.read_rate == pytest.approx(130 * gains.get(chosen, 1.0), abs=0.1)
    assert result.write_rate == pytest.approx(48 / 0.41 * gains.get(chosen, 1.0), abs=0.2)


def test_without_flash_attention_no_packed_cache_is_tried(simulated: Simulated, info: GgufInfo) -> None:
    result = run(simulated, info, flash_attention="off")
    assert {write.kv_type for write in result.writes} == {"f16", "f32"}
    assert said(result, "flash_attention is off")


def test_memory_limits_the_texts_and_can_ask_for_a_packed_cache(
    simulated: Simulated, info: GgufInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Cache for about 20,000 tokens of 16-bit numbers: 23 texts, or twice as many with half the bytes.
    per_token = 768
    memory(monkeypatch, info.size + int(20_000 * per_token / 0.35))
    result = run(simulated, info)
    assert result.kv_type == "q8_0"
    assert 44 <= result.sequences <= 48
    assert result.width == 48
    assert said(result, "because memory holds")
    fixed = run(simulated, info, kv_type="f16")
    assert (fixed.kv_type, fixed.sequences) == ("f16", 23)
    assert said(fixed, "Memory holds 23 texts")


def test_little_memory_measures_little(
    simulated: Simulated, info: GgufInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory(monkeypatch, info.size)
    result = run(simulated, info)
    assert result.sequences == 1
    assert max(w.sequences for w in result.writes if w.cells == 256) == 1


def test_a_type_without_memory_is_passed_over(simulated: Simulated, info: GgufInfo) -> None:
    simulated.no_memory = lambda spec: spec.kv_type != "f16"
    result = run(simulated, info)
    assert result.kv_type == "f16"
    assert said(result, "q8_0 cannot be had: There is no memory")


@pytest.mark.parametrize("slow", [1, 2, 3, 5, 8])
def test_the_budget_holds_on_slow_machines(
    simulated: Simulated, info: GgufInfo, monkeypatch: pytest.MonkeyPatch, slow: int
) -> None:
    cores(monkeypatch, 4, 8)
    simulated.read_rate = lambda spec, tokens: 130 / slow
    simulated.step = lambda spec, count: slow * STEPS[count] / 1000
    result = run(simulated, info)
    assert simulated.now <= tuning.SECONDS
    assert result.threads == 4
    assert result.sequences in (8, 16, 32, 48) or slow > 5


def test_too_slow_to_measure(simulated: Simulated, info: GgufInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    cores(monkeypatch, 8, 16)
    simulated.read_rate = lambda spec, tokens: 2.0
    result = run(simulated, info)
    assert (result.threads, result.sequences, result.batch, result.width) == (0, 0, 0, 0)
    assert said(result, "too slow to measure")
    assert simulated.now < 20


def test_busy_programs_are_noted(simulated: Simulated, info: GgufInfo) -> None:
    tuner = Tuner(
        info,
        EngineOptions(),
        simulated.trial,
        tell=lambda text: None,
        clock=simulated.clock,
        others=lambda: 0.6,
    )
    result = tuner.run()
    assert result.others == 0.6
    assert said(result, "60%")


def test_nothing_is_hidden_if_no_context_can_be_had(simulated: Simulated, info: GgufInfo) -> None:
    simulated.no_memory = lambda spec: True
    with pytest.raises(EngineError, match="no memory"):
        run(simulated, info)


def test_close_rates_count_as_equal() -> None:
    # As measured with a model of 1.5B on two cores.
    rates = ((64, 168.0), (128, 175.0), (256, 176.0), (512, 164.0))
    assert best_read([ReadRate(n, 1, "f16", rate) for n, rate in rates]).tokens == 256
    rates = ((8, 57.0), (16, 90.0), (32, 92.0), (48, 88.0))
    assert best_write([WriteRate(n, 256, 1, "f16", 1.0, rate) for n, rate in rates]).sequences == 32
    rates = ((8, 57.0), (16, 90.0), (32, 85.0), (48, 70.0))
    assert best_write([WriteRate(n, 256, 1, "f16", 1.0, rate) for n, rate in rates]).sequences == 16
