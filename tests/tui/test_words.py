"""States, rates and times in words."""

from __future__ import annotations

import pytest

from localrag.tui.words import (
    Fault,
    IndexState,
    count,
    document_state,
    duration,
    engine_words,
    index_words,
    share,
    size,
)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (59.4, "59 s"), (61, "1 min"), (3599, "60 min"), (3600, "1 h"), (7800, "2 h 10 min")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"), [(3, "3 B"), (2048, "2.0 KB"), (300_000, "293 KB"), (5 * 1024**4, "5120 GB")]
)
def test_size(number: int, words: str) -> None:
    assert size(number) == words


@pytest.mark.parametrize(
    ("read", "total", "words"),
    [
        (0, 0, "nothing to read"),
        (0, 5, "0 % read"),
        (1, 1000, "1 % read"),
        (999, 1000, "99 % read"),
        (5, 5, "100 % read"),
    ],
)
def test_share_is_never_rounded_to_none_or_all(read: int, total: int, words: str) -> None:
    assert share(read, total) == words


def test_counts() -> None:
    assert count(1, "document") == "1 document"
    assert count(1200, "document") == "1,200 documents"


def test_document_state() -> None:
    assert document_state("waiting", 0, 0, 4) == "waiting"
    assert document_state("waiting", 1, 0, 4) == "reading"
    assert document_state("indexed", 4, 0, 4) == "indexed"


def test_engine_says_all_that_goes_on() -> None:
    assert engine_words("", None) == "Engine idle"
    state = IndexState(12, 40, 31.4, 130)
    assert index_words(state) == "Reading: 12 of 40 chunks · 31 tokens/s · 2 min left"
    both = engine_words("Answering", state)
    assert both.startswith("Answering")
    assert "12 of 40 chunks" in both
    assert engine_words("", state, stopping="Stopping") == "Stopping"


def test_fault_text() -> None:
    assert Fault("It broke.").text == "It broke."
    assert Fault("It broke.", "Mend it.").text == "It broke.\nMend it."
