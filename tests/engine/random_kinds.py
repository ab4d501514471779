"""Models of random weights that remember in other ways: with a sliding window, with a running state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

from tests.engine.random_model import CHAT_TEMPLATE, begin

_WIDTH = 64
_INNER = 128
_HEADS = 2
_HEAD = 32
WINDOW = 32
"""Tokens that most layers of `build_window` look back."""

Add = Callable[..., None]


def build_window(path: Path, *, context: int = 2048) -> Path:
    """Write a Gemma 3 of six layers: the last looks at everything, the others `WINDOW` tokens back."""
    layers = 6
    writer, tokens = _begin(path, "gemma3", layers, context)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_sliding_window(WINDOW)
    tensor = _tensors(writer)
    tensor("token_embd.weight", tokens, _WIDTH)
    tensor("output_norm.weight", _WIDTH)
    for layer in range(layers):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            tensor(f"{block}.{norm}.weight", _WIDTH)
        for norm in ("attn_q_norm", "attn_k_norm"):
            tensor(f"{block}.{norm}.weight", _HEAD)
        tensor(f"{block}.attn_q.weight", _HEADS * _HEAD, _WIDTH)
        tensor(f"{block}.attn_k.weight", _HEAD, _WIDTH)
        tensor(f"{block}.attn_v.weight", _HEAD, _WIDTH)
        tensor(f"{block}.attn_output.weight", _WIDTH, _HEADS * _HEAD)
        _feed_forward(tensor, block)
    return _finish(writer, path)


def build_state(path: Path) -> Path:
    """Write a Mamba of two layers: nothing but a running state."""
    writer, tokens = _begin(path, "mamba", 2, 2048)
    inner, state, rank, kernel = 2 * _WIDTH, 16, 4, 4
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    tensor = _tensors(writer)
    tensor("token_embd.weight", tokens, _WIDTH)
    tensor("output_norm.weight", _WIDTH)
    for layer in range(2):
        block = f"blk.{layer}"
        tensor(f"{block}.attn_norm.weight", _WIDTH)
        tensor(f"{block}.ssm_in.weight", 2 * inner, _WIDTH)
        tensor(f"{block}.ssm_conv1d.weight", inner, kernel)
        tensor(f"{block}.ssm_conv1d.bias", inner)
        tensor(f"{block}.ssm_x.weight", rank + 2 * state, inner)
        tensor(f"{block}.ssm_dt.weight", inner, rank)
        tensor(f"{block}.ssm_dt.bias", inner)
        writer.add_tensor(f"{block}.ssm_a", -np.ones((inner, state), np.float32))
        tensor(f"{block}.ssm_d", inner)
        tensor(f"{block}.ssm_out.weight", _WIDTH, inner)
    return _finish(writer, path)


def build_hybrid(path: Path) -> Path:
    """Write an LFM2 of two layers, one with a running state and one with attention."""
    writer, tokens = _begin(path, "lfm2", 2, 2048)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv([0, _HEADS])
    writer.add_shortconv_l_cache(3)
    writer.add_vocab_size(tokens)
    tensor = _tensors(writer)
    tensor("token_embd.weight", tokens, _WIDTH)
    tensor("token_embd_norm.weight", _WIDTH)
    for layer in range(2):
        block = f"blk.{layer}"
        tensor(f"{block}.attn_norm.weight", _WIDTH)
        tensor(f"{block}.ffn_norm.weight", _WIDTH)
        _feed_forward(tensor, block)
    tensor("blk.0.shortconv.conv.weight", _WIDTH, 3)
    tensor("blk.0.shortconv.in_proj.weight", 3 * _WIDTH, _WIDTH)
    tensor("blk.0.shortconv.out_proj.weight", _WIDTH, _WIDTH)
    for norm in ("attn_q_norm", "attn_k_norm"):
        tensor(f"blk.1.{norm}.weight", _HEAD)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.1.{part}.weight", _WIDTH, _WIDTH)
    return _finish(writer, path)


def _begin(path: Path, architecture: str, layers: int, context: int) -> tuple[gguf.GGUFWriter, int]:
    return begin(
        path,
        architecture,
        width=_WIDTH,
        inner=_INNER,
        layers=layers,
        context=context,
        template=CHAT_TEMPLATE,
    )


def _tensors(writer: gguf.GGUFWriter) -> Add:
    rng = np.random.default_rng(3)

    def add(name: str, *shape: int) -> None:
        random = rng.standard_normal(shape).astype(np.float32) * 0.35
        writer.add_tensor(name, np.ones(shape, np.float32) if len(shape) == 1 else random)

    return add


def _feed_forward(tensor: Add, block: str) -> None:
    tensor(f"{block}.ffn_gate.weight", _INNER, _WIDTH)
    tensor(f"{block}.ffn_up.weight", _INNER, _WIDTH)
    tensor(f"{block}.ffn_down.weight", _WIDTH, _INNER)


def _finish(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
