"""An embedding model of random weights that is a decoder, as the newer ones are."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.engine.random_model import begin


def build_decoder_embedder(path: Path, *, pooling: gguf.PoolingType) -> Path:
    """Write a Qwen3 of one layer that pools; its file does not ask for an end token."""
    rng = np.random.default_rng(7)
    width, inner, heads, head = 64, 128, 2, 32
    writer, tokens = begin(path, "qwen3", width=width, inner=inner, layers=1, context=128, template=None)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_pooling_type(pooling)
    shapes = {
        "token_embd": (tokens, width),
        "blk.0.attn_q": (heads * head, width),
        "blk.0.attn_k": (heads * head, width),
        "blk.0.attn_v": (heads * head, width),
        "blk.0.attn_output": (width, heads * head),
        "blk.0.ffn_gate": (inner, width),
        "blk.0.ffn_up": (inner, width),
        "blk.0.ffn_down": (width, inner),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.standard_normal(shape).astype(np.float32) * 0.3)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    for name in ("blk.0.attn_q_norm", "blk.0.attn_k_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(head, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
