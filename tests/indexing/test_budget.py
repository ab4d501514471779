"""A run ends with its budget: no chunk is begun that does not fit in, and the next run goes on."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest, ProgressEvent, TextKind
from localrag.engines import Engines
from localrag.errors import UsageError
from localrag.indexing import Budget, IndexReport
from localrag.indexing.budget import UNKNOWN_COST, UNKNOWN_SECONDS, Meter
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.conftest import reader
from tests.indexing.helpers import report_of


def call(new: int, written: int, shared: int = 0) -> Generation:
    return Generation("", (), "stop", new + shared, shared, written, 0, 10, "model", "hash")


def meter(budget: Budget) -> tuple[Meter, Callable[[float], None]]:
    """A meter with a clock that is set by hand."""
    now = [0.0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    return Meter(budget, lambda: now[0]), wait


def why(account: Meter) -> str:
    """Its reason now."""
    return account.reason


@pytest.mark.parametrize("minutes", [0, -1, math.nan, math.inf, -math.inf])
def test_minutes_that_are_none_are_refused(minutes: float) -> None:
    with pytest.raises(UsageError, match="more than 0"):
        Budget(minutes=minutes)


@pytest.mark.parametrize("tokens", [0, -5])
def test_tokens_that_are_none_are_refused(tokens: int) -> None:
    with pytest.raises(UsageError, match="more than 0"):
        Budget(tokens=tokens)


def test_without_a_budget_everything_fits() -> None:
    account, wait = meter(Budget())
    wait(1e9)
    assert all(account.begin(chunk, 10**9) for chunk in range(100))
    assert (account.over(), account.overdue(), account.reason) == (False, False, "")


def test_tokens_in_flight_count_as_what_they_will_cost() -> None:
    account, _ = meter(Budget(tokens=1000))
    assert account.begin(1, int(900 / UNKNOWN_COST))
    assert not account.begin(2, int(200 / UNKNOWN_COST))
    assert why(account) == ""  # the first may turn out cheaper
    account.spend(call(50, 50, shared=5000))
    account.end(1)
    assert account.spent == 100  # what is shared is not read anew
    assert account.begin(2, 200)
    account.spend(call(800, 50))
    account.end(2)
    assert not account.begin(3, 400)
    assert why(account) == "tokens"


@pytest.mark.parametrize("budget", [Budget(tokens=10), Budget(minutes=0.1)])
def test_a_budget_below_one_chunk_begins_one(budget: Budget) -> None:
    account, wait = meter(budget)
    account.expect(1.0, 2.0)
    assert account.begin(1, 300)
    assert not account.begin(2, 300)
    assert why(account) == ""
    wait(200)
    account.spend(call(300, 60))
    account.end(1)
    assert not account.begin(2, 300)
    assert account.reason in ("tokens", "minutes")


def test_the_first_chunk_is_waited_for_once_the_model_works_on_it() -> None:
    account, wait = meter(Budget(minutes=1))
    account.expect(0.1, None)
    assert account.begin(1, 100)
    assert account.begin(2, 100)
    account.work()
    wait(600)
    assert account.over()
    assert not account.overdue()
    account.end(1)
    assert account.overdue()


def test_a_chunk_is_begun_only_if_it_ends_in_time() -> None:
    account, wait = meter(Budget(minutes=1))
    account.expect(0.1, None)  # ten tokens a second
    assert account.begin(1, 300)
    assert not account.begin(2, 600)
    wait(30)
    account.end(1)
    assert account.begin(2, 290)
    wait(29)
    account.end(2)
    assert not account.begin(3, 290)
    assert account.reason == "minutes"
    assert not account.over()


def test_where_no_pace_is_known_only_so_many_are_begun_as_surely_end() -> None:
    account, wait = meter(Budget(minutes=1))
    begun = [chunk for chunk in range(20) if account.begin(chunk, 100)]
    assert len(begun) == 60 // UNKNOWN_SECONDS + 1
    wait(5)
    account.end(begun[0])
    assert not account.overdue()
    wait(55)
    assert account.over()
    wait(1000)
    assert account.overdue()
    assert account.reason == "minutes"


def test_chunks_in_flight_get_the_time_of_one_more() -> None:
    account, wait = meter(Budget(minutes=1))
    account.expect(0.1, None)
    assert account.begin(1, 100)
    wait(61)
    assert account.over()
    assert not account.overdue()
    wait(10)
    assert account.overdue()


def test_time_is_kept_for_the_vectors_of_what_was_found() -> None:
    account, wait = meter(Budget(minutes=1))
    account.expect(0.01, None)
    account.vectors(10, 5.0)
    assert account.begin(1, 4600)
    wait(46)
    account.end(1, found=1000)  # a fifth of the minute is kept, however much was found
    assert account.begin(2, 150)
    wait(1.5)
    account.end(2)
    assert not account.begin(3, 150)
    assert account.reason == "minutes"


@pytest.fixture
def many(empty_kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """Forty short documents."""
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(40):
        (folder / f"{n:02}.txt").write_text(f"The keeper Nora Vik wrote entry {n} of the log for Olga Ness.")
    empty_kb.add([folder])
    return empty_kb


def indexed(kb: KnowledgeBase, budget: Budget, model: ScriptedModel | None = None) -> IndexReport:
    engines = Engines(Settings(), model or reader(), ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, engines=engines) as opened:
        return report_of(list(opened.index(budget=budget)))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the runs' meters, which goes on only as models let it."""
    now = [0.0]
    monkeypatch.setattr("localrag.indexing.run.Meter", lambda budget: Meter(budget, lambda: now[0]))
    return now


def test_a_run_ends_below_its_tokens_and_the_next_ones_do_the_rest(many: KnowledgeBase) -> None:
    report = indexed(many, Budget(tokens=400))
    assert 0 < report.read < 40
    assert (report.reason, report.cancelled, report.left) == ("tokens", False, 40 - report.read)
    assert 0 < report.tokens <= 400
    assert many.status().chunks.read == report.read
    vectors = many.status().vectors
    assert vectors.entities == many.status().graph.entities  # what was found can be searched for
    rest = indexed(many, Budget(tokens=10**6))
    assert (rest.read, rest.reason, rest.left) == (40 - report.read, "", 0)


def test_tokens_below_one_chunk_read_one_chunk_a_run(many: KnowledgeBase) -> None:
    model = reader()
    for left in (39, 38):
        report = indexed(many, Budget(tokens=1), model)
        assert (report.read, report.reason, report.left) == (1, "tokens", left)
    assert len(model.calls) == 2


class Slow(ScriptedModel):
    """Needs 10 s for each text, by the clock of the meters."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock_of_meters = clock

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        for pair in super().run(requests):
            if isinstance(pair[1], Generation):
                self._clock_of_meters[0] += 10.0
            yield pair


def test_a_run_ends_in_time(many: KnowledgeBase, clock: list[float]) -> None:
    report = indexed(many, Budget(minutes=2), Slow(clock))
    assert 8 <= report.read <= 12
    assert clock[0] <= 120
    assert (report.reason, report.left, report.cancelled) == ("minutes", 40 - report.read, False)
    assert indexed(many, Budget(minutes=60), Slow(clock)).left == 0


class Stuck(ScriptedModel):
    """Begins everything and ends one text after five minutes, and none after it."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock_of_meters = clock
        self.begun = 0
        self.stopped = False

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        drawn = list(requests)
        self.begun = len(drawn)
        first = next(super().run(drawn[:1]))
        try:
            while True:
                self._clock_of_meters[0] += 1.0
                yield -1, ProgressEvent("decode", self.begun, 0, 1.0, 1.0)
                if self._clock_of_meters[0] == 300.0:
                    yield first
        finally:
            self.stopped = True


def test_what_is_in_flight_is_given_up_when_the_time_is_over(many: KnowledgeBase, clock: list[float]) -> None:
    model = Stuck(clock)
    report = indexed(many, Budget(minutes=1), model)
    # The first is waited for, or a model that is slow for the time would never get on.
    assert (report.read, report.failed, report.reason, report.left) == (1, 0, "minutes", 39)
    assert 0 < model.begun < 40
    assert model.stopped
    assert 300 <= clock[0] < 1000
    assert indexed(many, Budget()).read == 39


class Starting(ScriptedModel):
    """Never gets ready: no event comes at all."""

    def __init__(self, clock: list[float]) -> None:
        super().__init__()
        self._clock_of_meters = clock
        self.over = threading.Event()

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        for index, _ in enumerate(requests):
            self._clock_of_meters[0] += 600.0
            self.over.wait(60)
            yield index, ProgressEvent("idle", 0, 0, 0.0, 0.0)


def test_an_engine_that_does_not_start_takes_no_more_than_the_time(
    many: KnowledgeBase, clock: list[float]
) -> None:
    model = Starting(clock)
    threading.Timer(2.0, model.over.set).start()
    began = time.monotonic()
    report = indexed(many, Budget(minutes=1), model)
    assert (report.read, report.reason, report.left) == (0, "minutes", 40)
    assert time.monotonic() - began < 55


def test_vectors_end_with_the_time_too(many: KnowledgeBase, clock: list[float]) -> None:
    class Waiting(ScriptedEmbedder):
        def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
            clock[0] += 61.0
            return super().embed(texts, kind)

    model = reader()
    engines = Engines(Settings(), model, Waiting())
    with KnowledgeBase.open(many.path, engines=engines) as opened:
        report = report_of(list(opened.index(budget=Budget(minutes=1))))
        assert (report.read, report.reason, report.left) == (0, "minutes", 40)
        assert 0 < opened.status().vectors.chunks < 40
    assert model.calls == []
