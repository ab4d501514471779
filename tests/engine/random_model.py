"""Models of random weights, built in seconds: they write nonsense, so only the constraints give it form."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_MERGES = 400
_TRAINING = (
    "The harbour office wrote a letter to the people of the island about the new ferry and its timetable. "
    "entity relationship person location organization event concept description keywords Other COMPLETE "
    "(entity<|>name<|>type<|>description)## (relationship<|>source<|>target<|>keywords<|>description)## "
    "港口办公室给岛上的居民写了一封信，说明新的渡轮和时刻表。实体 关系 人物 地点 组织 事件 概念 描述 关键词 "
) * 3


def build(path: Path, *, seed: int = 1, context: int = 2048, template: str | None = CHAT_TEMPLATE) -> Path:
    """Write a two-layer model of about 2 MB with a byte-level vocabulary of some 660 tokens."""
    rng = np.random.default_rng(seed)
    width, inner, heads = 64, 128, 4
    writer, tokens = begin(
        path, "llama", width=width, inner=inner, layers=2, context=context, template=template
    )
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads)

    def tensor(name: str, *shape: int) -> None:
        values = rng.standard_normal(shape).astype(np.float32) * (1.0 if len(shape) == 1 else 0.35)
        writer.add_tensor(name, np.ones(shape, np.float32) if len(shape) == 1 else values)

    tensor("token_embd.weight", tokens, width)
    tensor("output_norm.weight", width)
    tensor("output.weight", tokens, width)
    for layer in range(2):
        tensor(f"blk.{layer}.attn_norm.weight", width)
        tensor(f"blk.{layer}.ffn_norm.weight", width)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{layer}.{part}.weight", width, width)
        tensor(f"blk.{layer}.ffn_gate.weight", inner, width)
        tensor(f"blk.{layer}.ffn_up.weight", inner, width)
        tensor(f"blk.{layer}.ffn_down.weight", width, inner)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def begin(
    path: Path, architecture: str, *, width: int, inner: int, layers: int, context: int, template: str | None
) -> tuple[gguf.GGUFWriter, int]:
    """A writer that has what all language models have, the vocabulary included, and the number of tokens."""
    tokens, merges = _vocabulary()
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("random")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(layers)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    kinds = [gguf.TokenType.CONTROL if t in CONTROL else gguf.TokenType.NORMAL for t in tokens]
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)
    return writer, len(tokens)


def build_embedder(path: Path, *, pooling: gguf.PoolingType | None = gguf.PoolingType.MEAN) -> Path:
    """Write a one-layer BERT of random weights with a small word vocabulary."""
    rng = np.random.default_rng(5)
    width, inner, positions = 32, 64, 64
    words = ["the", "ferry", "leaves", "harbour", "at", "noon", "and", "a", "keeper", "lights", "lamp"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"▁{w}" for w in words)]
    tokens += [f"▁{c}" for c in "bcdfghijklmnopqrsuvwxyz"] + list("abcdefghijklmnopqrstuvwxyz")
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_name("random embedder")
    writer.add_context_length(positions)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(pooling)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL] * 5 + [gguf.TokenType.NORMAL] * (len(tokens) - 5))
    writer.add_token_type_count(2)
    for name, index in (("pad", 0), ("unk", 1), ("bos", 2), ("sep", 3), ("eos", 3), ("mask", 4)):
        getattr(writer, f"add_{name}_token_id")(index)

    def tensor(name: str, *shape: int) -> None:
        values: NDArray[np.float32] = rng.standard_normal(shape).astype(np.float32) * 0.2
        writer.add_tensor(name, values)

    tensor("token_embd.weight", len(tokens), width)
    tensor("position_embd.weight", positions, width)
    tensor("token_types.weight", 2, width)
    for norm in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        tensor(f"{norm}.weight", width)
        tensor(f"{norm}.bias", width)
    shapes = {
        "attn_q": (width, width),
        "attn_k": (width, width),
        "attn_v": (width, width),
        "attn_output": (width, width),
        "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }
    for part, shape in shapes.items():
        tensor(f"blk.0.{part}.weight", *shape)
        tensor(f"blk.0.{part}.bias", shape[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _byte_names() -> dict[int, str]:
    """The printable stand-ins that byte-level vocabularies use for bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    names = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in names:
            names[byte] = chr(256 + len(names) - len(plain))
    return names


def _vocabulary() -> tuple[list[str], list[str]]:
    names = _byte_names()
    words = Counter(tuple(names[b] for b in word.encode()) for word in _split(_TRAINING))
    merges: list[str] = []
    while len(merges) < _MERGES:
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in words.items():
            for pair in itertools.pairwise(symbols):
                pairs[pair] += count
        if not pairs:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(" ".join(best))
        words = Counter({_merged(symbols, best): count for symbols, count in words.items()})
    tokens = [*names.values(), *("".join(merge.split(" ")) for merge in merges), *CONTROL]
    return list(dict.fromkeys(tokens)), merges


def _split(text: str) -> list[str]:
    return [word if index == 0 else f" {word}" for index, word in enumerate(text.split(" ")) if word]


def _merged(symbols: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    result: list[str] = []
    index = 0
    while index < len(symbols):
        if symbols[index : index + 2] == pair:
            result.append("".join(pair))
            index += 2
        else:
            result.append(symbols[index])
            index += 1
    return tuple(result)
