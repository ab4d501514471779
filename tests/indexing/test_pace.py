"""The time left comes from what was measured."""

from __future__ import annotations

import pytest

from localrag.indexing.pace import WRITTEN, Pace


def test_time_left_comes_from_measured_ends_and_grows_while_nothing_ends() -> None:
    now = [0.0]
    pace = Pace(100, tokens=30_000, clock=lambda: now[0])
    assert pace.seconds_left is None
    assert pace.per_minute == 0
    for _ in range(10):
        now[0] += 2.0
        pace.tick()
    assert pace.per_minute == pytest.approx(30)
    assert pace.seconds_left == pytest.approx(180)
    now[0] += 20.0
    assert pace.seconds_left == pytest.approx(360)
    for _ in range(60):  # faster now: what was long ago no longer counts
        now[0] += 0.5
        pace.tick()
    assert pace.per_minute == pytest.approx(120)
    assert pace.seconds_left == pytest.approx(15)


def test_before_the_first_end_the_engines_rates_let_expect_something() -> None:
    now = [0.0]
    pace = Pace(10, tokens=3_000, clock=lambda: now[0])
    pace.rates(100.0, 0.0)
    assert pace.seconds_left is None  # how fast it writes is not known yet
    now[0] = 20.0
    pace.rates(0.0, 50.0)
    expected = 3_000 / 100 + 10 * WRITTEN / 50
    assert pace.seconds_left == pytest.approx(expected - 20)
    now[0] = 500.0
    assert pace.seconds_left == pytest.approx(0.1 * expected)
    pace.tick()
    assert pace.seconds_left == pytest.approx(9 * 500)
