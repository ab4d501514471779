"""A decision at a llama-server: the probabilities of the options, read from the likeliest tokens it lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localrag.engine.decide import Decider
from localrag.engine.remote_http import Server
from localrag.engine.remote_waiting import Stop
from localrag.errors import RemoteRefused

LISTED = 1000
"""Tokens that the server lists at each place; any other token of an option counts as impossible."""


def decide_at(
    server: Server,
    prompt: Sequence[int],
    options: Sequence[str],
    encode: Callable[[str], Sequence[int]],
    model: str,
    stop: Stop,
) -> tuple[tuple[float, ...], float, int]:
    """The probabilities, their mass, the number of calls. Raises `ConstraintError` and `RemoteRefused`."""
    decider = Decider(options, encode)
    so_far = [*prompt, *decider.common]
    calls = 0
    while True:
        calls += 1
        move = decider.take(_scores(server, so_far, model, stop))
        if move is None:
            return (*decider.probabilities(), calls)
        so_far = [*so_far[: len(so_far) - move.back], *move.tokens]


def _scores(server: Server, so_far: list[int], model: str, stop: Stop) -> NDArray[np.float32]:
    """Logarithms of the probabilities by token id; what is left for all other tokens stands behind them."""
    body: dict[str, Any] = {
        "prompt": so_far,
        "n_predict": 1,
        "n_probs": LISTED,
        "post_sampling_probs": False,
        "temperature": 0.0,
        "cache_prompt": True,
        "stream": False,
    }
    answer = server.call("/completion", body | ({"model": model} if model else {}), stop)
    try:
        listed = answer["completion_probabilities"][0]["top_logprobs"]
        pairs = [(int(item["id"]), float(item["logprob"])) for item in listed]
        most = max(token for token, _ in pairs)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise RemoteRefused(f"{server.address.shown} does not tell the probabilities of tokens.") from error
    if min(token for token, _ in pairs) < 0 or any(np.isnan(score) or score > 1e-3 for _, score in pairs):
        raise RemoteRefused(f"{server.address.shown} sent probabilities that are none.")
    scores = np.full(max(most + 2, 1 << 18), -np.inf, dtype=np.float32)
    for token, score in pairs:
        scores[token] = score
    rest = 1.0 - float(np.exp(np.array([score for _, score in pairs], dtype=np.float64)).sum())
    if rest > 0:
        scores[-1] = np.log(rest)
    return scores
