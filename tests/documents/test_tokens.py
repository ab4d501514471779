"""The estimate of tokens: near the real counts of a tokenizer, and well-behaved on anything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents import tokens
from tests.examples import examples

COUNTED = [
    (
        "The lifeboat came alongside the wreck at half past one, and the keeper "
        "held the beam on it as well as two arms allow.",
        27,
    ),
    ("Captain Hal Brandish of the ferry Curlew sent up six red rockets on 14 November 1974, at 20:20.", 33),
    ("The committee will pay 410,000 crowns; carried by three votes to one (Mr Colley against).", 27),
    ("灯塔的看守人把透镜转了十一个小时，直到电来了才松开手。", 22),
    ("可用的影像长十九分钟，从第七分钟起，画面里出现一种会发蓝光的水母。", 24),
    ("電動渡船開航兩年以來，進港的小鰻魚明顯增多，大約是從前的兩倍。", 29),
    ("周宁在凯尔桑（Kelsand）乘渡船“三趾鹬号”（Sanderling）去斯凯林岛。", 31),
    ("| harbour | 1,312 | 2003 |\n| weir | 2,604 | 2021 |\n", 32),
    ('def light(hours: int) -> str:\n    return f"{hours} hours"\n', 17),
]
"""Texts and their counts by the tokenizer of Qwen2."""


@pytest.mark.parametrize(("text", "count"), COUNTED, ids=lambda value: str(value)[:12])
def test_estimate_of_a_sentence_is_near(text: str, count: int) -> None:
    assert 0.8 * count <= tokens.estimate(text) <= 1.3 * count


def test_estimate_of_many_sentences_is_rather_high() -> None:
    counted = sum(count for _, count in COUNTED)
    assert counted <= sum(tokens.estimate(text) for text, _ in COUNTED) <= 1.15 * counted


def test_nothing_costs_nothing() -> None:
    assert tokens.estimate("") == 0
    assert tokens.estimate("x") >= 1


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=200))
def test_pieces_cover_the_text(text: str) -> None:
    ends = [end for end, _ in tokens.pieces(text)]
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(text)
    assert all(price > 0 for _, price in tokens.pieces(text))
    assert tokens.weigh(text) == pytest.approx(sum(price for _, price in tokens.pieces(text)))
    assert tokens.estimate(text) == tokens.estimate(text)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=100))
def test_no_estimate_is_beyond_all_bounds(text: str) -> None:
    assert tokens.estimate(text) <= 5 * len(text) + 1


def test_the_cache_of_prices_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_CACHE_LIMIT", 50)
    tokens.weigh(" ".join(f"w{'o' * (number % 20)}{chr(97 + number % 26)}rd" for number in range(500)))
    assert len(tokens._PRICES) <= 50
