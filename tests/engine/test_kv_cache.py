"""Which caches can be had: the rules told in words agree with what llama.cpp does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.kv_cache import TYPES, CachePlan, bytes_per_token, is_quantised, plan
from localrag.engine.llama import KV_TYPES, QUANTISED, Context, Entry, Model
from localrag.errors import SettingsError
from tests.engine.random_kinds import build_window


@pytest.fixture(scope="module")
def narrow(random_gguf: Path) -> GgufInfo:
    """A model with heads of 16 numbers."""
    return inspect(random_gguf)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    """A model with heads of 32 numbers."""
    return inspect(build_window(tmp_path_factory.mktemp("wide") / "wide.gguf"))


def test_the_types_are_those_of_the_context() -> None:
    assert set(TYPES) == set(KV_TYPES)
    assert {name for name in TYPES if is_quantised(name)} == set(QUANTISED)


def test_auto_takes_the_default_or_what_was_measured(wide: GgufInfo) -> None:
    assert plan(wide, kv_type="auto", flash_attention="auto") == CachePlan("f16", "auto")
    assert plan(wide, kv_type="auto", flash_attention="off").flash_attention == "off"
    assert plan(wide, kv_type="auto", flash_attention="auto", tuned="q8_0") == CachePlan("q8_0", "on")
    assert plan(wide, kv_type="f16", flash_attention="auto", tuned="q8_0").kv_type == "f16"


def test_packed_values_turn_flash_attention_on_and_say_so(wide: GgufInfo) -> None:
    found = plan(wide, kv_type="q8_0", flash_attention="auto")
    assert (found.kv_type, found.flash_attention) == ("q8_0", "on")
    assert "Flash attention is on" in found.note


@pytest.mark.parametrize(
    ("kv_type", "flash_attention", "said"),
    [
        ("q8_0", "off", "engine.flash_attention is off"),
        ("q3", "auto", "no cache type q3"),
        ("f16", "maybe", "cannot be maybe"),
    ],
)
def test_what_cannot_be_is_refused_before_any_native_call(
    wide: GgufInfo, kv_type: str, flash_attention: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        plan(wide, kv_type=kv_type, flash_attention=flash_attention)
    assert caught.value.hint


def test_heads_that_do_not_fill_blocks_are_refused_with_both_numbers(narrow: GgufInfo) -> None:
    with pytest.raises(SettingsError, match="32 numbers and the model's keys have 16"):
        plan(narrow, kv_type="q4_0", flash_attention="auto")
    with pytest.raises(SettingsError, match="values have 48"):
        plan(replace(narrow, head_size=64, value_size=48), kv_type="q4_0", flash_attention="auto")


def test_a_measured_type_that_cannot_be_had_is_replaced_visibly(wide: GgufInfo, narrow: GgufInfo) -> None:
    for info, flash in ((wide, "off"), (narrow, "auto")):
        found = plan(info, kv_type="auto", flash_attention=flash, tuned="q8_0")
        assert (found.kv_type, found.flash_attention) == ("f16", flash)
        assert "not as q8_0" in found.note


def test_architectures_without_flash_attention(wide: GgufInfo) -> None:
    grok = replace(wide, architecture="grok")
    with pytest.raises(SettingsError, match="grok"):
        plan(grok, kv_type="f16", flash_attention="on")
    with pytest.raises(SettingsError, match="grok"):
        plan(grok, kv_type="q8_0", flash_attention="auto")
    assert plan(grok, kv_type="f16", flash_attention="auto") == CachePlan("f16", "auto")


@pytest.mark.parametrize("kv_type", TYPES)
@pytest.mark.parametrize("flash_attention", ["auto", "on", "off"])
def test_what_is_planned_works_and_what_is_refused_would_not(
    wide: GgufInfo, kv_type: str, flash_attention: str
) -> None:
    try:
        found = plan(wide, kv_type=kv_type, flash_attention=flash_attention)
    except SettingsError:
        assert (is_quantised(kv_type), flash_attention) == (True, "off")
        return
    model = Model(wide.path)
    context = Context(
        model,
        n_ctx=256,
        sequences=1,
        threads=1,
        batch=32,
        kv_type=found.kv_type,
        flash_attention=found.flash_attention,
    )
    assert context.decode([Entry(5, i, 0, i == 7) for i in range(8)]) == 0
    assert abs(context.logits(7)).max() < 1e6
    context.close()
    model.close()


def test_what_a_token_costs(wide: GgufInfo) -> None:
    # Six layers, one head of 32 for keys and one for values.
    assert bytes_per_token(wide) == 6 * (32 + 32) * 2
    assert bytes_per_token(wide, "f32") == 6 * (32 + 32) * 4
    assert bytes_per_token(wide, "q8_0") == 6 * (32 + 32) // 32 * 34
    assert bytes_per_token(replace(wide, layers=0, heads=0, kv_heads=0, head_size=0, value_size=0)) >= 1
