"""A ranking model of random weights, with its arithmetic once more in plain NumPy to compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WORDS = ("the", "ferry", "leaves", "harbour", "at", "noon", "and", "a", "keeper", "lights", "lamp", "who")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS = (*SPECIAL, *(f"▁{word}" for word in WORDS), *(f"▁{letter}" for letter in "bcdfgz"))
CLS, SEP = 2, 3

_WIDTH, _INNER, _POSITIONS, _HEADS = 32, 64, 512, 2
_EPSILON = 1e-12
_erf = np.frompyfunc(math.erf, 1, 1)


class RandomRanker:
    """The weights of a one-layer BERT with a head that gives one number."""

    def __init__(self, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        shapes: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (len(TOKENS), _WIDTH),
            "position_embd.weight": (_POSITIONS, _WIDTH),
            "token_types.weight": (2, _WIDTH),
        }
        for norm in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
            shapes |= {f"{norm}.weight": (_WIDTH,), f"{norm}.bias": (_WIDTH,)}
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes |= {f"blk.0.{part}.weight": (_WIDTH, _WIDTH), f"blk.0.{part}.bias": (_WIDTH,)}
        shapes |= {"blk.0.ffn_up.weight": (_INNER, _WIDTH), "blk.0.ffn_up.bias": (_INNER,)}
        shapes |= {"blk.0.ffn_down.weight": (_WIDTH, _INNER), "blk.0.ffn_down.bias": (_WIDTH,)}
        shapes |= {"cls.weight": (_WIDTH, _WIDTH), "cls.bias": (_WIDTH,)}
        shapes |= {"cls.output.weight": (1, _WIDTH), "cls.output.bias": (1,)}
        self.tensors = {
            name: (rng.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in shapes.items()
        }

    def write(
        self, path: Path, *, template: str = "", pooling: gguf.PoolingType = gguf.PoolingType.RANK
    ) -> Path:
        """Write it as a GGUF file, with a template for question and text if one is given."""
        writer = gguf.GGUFWriter(str(path), "bert")
        writer.add_name("random ranker")
        writer.add_context_length(_POSITIONS)
        writer.add_embedding_length(_WIDTH)
        writer.add_feed_forward_length(_INNER)
        writer.add_block_count(1)
        writer.add_head_count(_HEADS)
        writer.add_layer_norm_eps(_EPSILON)
        writer.add_causal_attention(False)
        writer.add_pooling_type(pooling)
        writer.add_tokenizer_model("bert")
        writer.add_tokenizer_pre("default")
        writer.add_token_list(list(TOKENS))
        kinds = [gguf.TokenType.CONTROL] * len(SPECIAL)
        writer.add_token_types([*kinds, *[gguf.TokenType.NORMAL] * (len(TOKENS) - len(SPECIAL))])
        writer.add_token_type_count(2)
        if template:
            writer.add_chat_template([{"name": "rerank", "template": template}])
        for name, index in (("pad", 0), ("unk", 1), ("bos", CLS), ("sep", SEP), ("eos", SEP), ("mask", 4)):
            getattr(writer, f"add_{name}_token_id")(index)
        for name, values in self.tensors.items():
            writer.add_tensor(name, values)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def score(self, ids: Sequence[int]) -> float:
        """The number that these tokens get."""
        x = self._at("token_embd.weight")[list(ids)] + self._at("position_embd.weight")[: len(ids)]
        x = self._normalised(x + self._at("token_types.weight")[0], "token_embd_norm")
        x = self._normalised(x + self._attended(x), "blk.0.attn_output_norm")
        inner = self._linear(x, "blk.0.ffn_up")
        inner = inner * 0.5 * (1 + np.asarray(_erf(inner / math.sqrt(2)), np.float64))
        x = self._normalised(x + self._linear(inner, "blk.0.ffn_down"), "blk.0.layer_output_norm")
        head = np.tanh(self._linear(x[:1], "cls"))
        return float(self._linear(head, "cls.output")[0, 0])

    def _attended(self, x: Array) -> Array:
        size = _WIDTH // _HEADS

        def split(name: str) -> Array:
            return self._linear(x, f"blk.0.{name}").reshape(len(x), _HEADS, size).swapaxes(0, 1)

        scores = split("attn_q") @ split("attn_k").swapaxes(1, 2) / math.sqrt(size)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ split("attn_v")).swapaxes(0, 1).reshape(len(x), _WIDTH)
        return self._linear(mixed, "blk.0.attn_output")

    def _linear(self, x: Array, name: str) -> Array:
        return np.asarray(x @ self._at(f"{name}.weight").T + self._at(f"{name}.bias"))

    def _normalised(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        return np.asarray(scaled * self._at(f"{name}.weight") + self._at(f"{name}.bias"))

    def _at(self, name: str) -> Array:
        return self.tensors[name].astype(np.float64)


def ids_of(text: str) -> list[int]:
    """Token ids of words of the vocabulary."""
    return [TOKENS.index(f"▁{word}") for word in text.split()]
