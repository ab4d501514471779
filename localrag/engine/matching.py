"""llguidance in the worker: one tokenizer per model, one matcher per segment, the choice of the next token.

The likeliest token is taken first and checked alone; a mask over the vocabulary is built only when it is
refused (llama.cpp PR 4306 does the same with its own grammars).
"""

from __future__ import annotations

import math

import llguidance
import llguidance.llamacpp
import llguidance.numpy
import numpy as np
from numpy.typing import NDArray

from localrag.engine.constraints import Step
from localrag.engine.llama import Model
from localrag.errors import ConstraintError


class Vocabulary:
    """The model's vocabulary as llguidance needs it."""

    def __init__(self, model: Model) -> None:
        """Takes about a second for 150,000 tokens."""
        self.tokenizer = llguidance.llamacpp.lltokenizer_from_vocab(
            model.vocabulary, eos_token=sorted(model.ends) or None
        )
        self.ends = model.ends
        self.size = int(self.tokenizer.vocab_size)
        self._bits = llguidance.numpy.allocate_token_bitmask(1, self.size)

    def matcher(self, step: Step) -> Matcher:
        """A fresh matcher. Raises `ConstraintError` with line and cause for a grammar that is none."""
        try:
            if step.schema:
                grammar = llguidance.LLMatcher.grammar_from_json_schema(
                    step.schema, defaults={"whitespace_flexible": False}
                )
            else:
                grammar = llguidance.LLMatcher.grammar_from_lark(step.lark)
        except ValueError as error:
            raise ConstraintError(f"A grammar cannot be compiled: {error}.") from error
        return Matcher(self, llguidance.LLMatcher(self.tokenizer, grammar))

    def allowed(self, native: llguidance.LLMatcher) -> NDArray[np.bool_]:
        """Which tokens may come next, shape (size,)."""
        llguidance.numpy.fill_next_token_bitmask(native, self._bits, 0)
        bits = np.unpackbits(self._bits.view(np.uint8)[0], bitorder="little")
        return bits[: self.size].astype(bool)


class Matcher:
    """Follows one segment."""

    def __init__(self, vocabulary: Vocabulary, native: llguidance.LLMatcher) -> None:
        self._vocabulary = vocabulary
        self._native = native
        self._check()

    def _check(self) -> None:
        if self._native.is_error():
            reason = str(self._native.get_error()).strip().splitlines()
            raise ConstraintError(f"A grammar cannot be used: {reason[0] if reason else 'no reason given'}.")

    @property
    def finished(self) -> bool:
        """Whether nothing more can be written."""
        return bool(self._native.is_stopped())

    @property
    def complete(self) -> bool:
        """Whether what is written so far may stand alone."""
        return bool(self._native.is_accepting())

    def choose(self, logits: NDArray[np.float32], temperature: float, rng: np.random.Generator) -> int:
        """The next token: the likeliest allowed one, or a draw where temperature is above 0.

        An end-of-text token is returned only where the segment is complete. Raises `ConstraintError` if
        nothing is allowed.
        """
        scores = logits[: self._vocabulary.size]
        if temperature > 0:
            return self._draw(scores, temperature, rng)
        token = int(np.argmax(scores))
        if token in self._vocabulary.ends:
            if self.complete:
                return token
        elif self._native.validate_tokens([token]) == 1:
            return token
        masked = np.where(self._vocabulary.allowed(self._native), scores, -np.inf)
        token = int(np.argmax(masked))
        if not math.isfinite(float(masked[token])):
            self._check()
            raise ConstraintError("The grammar allows no token.")
        return token

    def _draw(self, scores: NDArray[np.float32], temperature: float, rng: np.random.Generator) -> int:
        masked = np.where(self._vocabulary.allowed(self._native), scores.astype(np.float64), -np.inf)
        top = float(np.max(masked))
        if not math.isfinite(top):
            self._check()
            raise ConstraintError("The grammar allows no token.")
        weights = np.exp((masked - top) / temperature)
        return int(rng.choice(len(weights), p=weights / weights.sum()))

    def accept(self, token: int) -> list[int]:
        """Take a token; returns the tokens that are forced after it, taken as well.

        Raises `ConstraintError` if the token is not allowed, which `choose` never returns.
        """
        if not self._native.consume_token(token):
            self._check()
            raise ConstraintError("A token was taken that the grammar does not allow.")
        return self.forced()

    def forced(self) -> list[int]:
        """Tokens that must come next in the canonical tokenisation; they are taken."""
        if self.finished:
            return []
        tokens = [int(t) for t in self._native.compute_ff_tokens()]
        taken = []
        for token in tokens:
            if token in self._vocabulary.ends or not self._native.consume_token(token):
                break
            taken.append(token)
        return taken
