"""llguidance in the worker: one tokenizer per model, one matcher per segment, the choice of the next token.

The likeliest token is taken first and checked alone; a mask over the vocabulary is built only when it is
refused (llama.cpp PR 4306 does the same with its own grammars).
"""

from __future__ import annotations

import math
from collections import OrderedDict

import llguidance
import llguidance.llamacpp
import llguidance.numpy
import numpy as np
from numpy.typing import NDArray

from localrag.engine.closing import Closer
from localrag.engine.grammars import check, compile_step
from localrag.engine.llama import Model
from localrag.engine.steps import Step
from localrag.errors import ConstraintError

_SLICES = (r"[^\s|<>#\x00-\x1f\x7f]{1,8}", r"[^()<>|#\n\r\t\x00-\x1f\x7f]{1,12}")
"""Kinds of tokens whose masks are made once: those of a lean phrase's words and of a record's text fields.
Masks there take half the time."""

_COMPILED = 256
"""Unused matchers kept for grammars that come again."""

_USES = 256
"""After so many copies a matcher is made anew, since copies share a lexer that only grows."""


class Vocabulary:
    """The model's vocabulary as llguidance needs it."""

    def __init__(self, model: Model) -> None:
        """Takes about a second for 150,000 tokens."""
        self.tokenizer = llguidance.llamacpp.lltokenizer_from_vocab(
            model.vocabulary,
            eos_token=sorted(model.ends) or None,
            slices=[*_SLICES, *llguidance.LLTokenizer.general_slices()],
        )
        self.ends = model.ends
        self.size = int(self.tokenizer.vocab_size)
        self._model = model
        self._bits = llguidance.numpy.allocate_token_bitmask(1, self.size)
        self._compiled: OrderedDict[tuple[str, str], tuple[llguidance.LLMatcher, int]] = OrderedDict()
        self.closer = Closer(self.encode, model.token_bytes, self.allowed, model.ends)

    def encode(self, text: str) -> list[int]:
        """The canonical tokens of a text, control tokens off."""
        return self._model.tokenize(text, special=False)

    def matcher(self, step: Step) -> Matcher:
        """A fresh matcher. Raises `ConstraintError` with line and cause for a grammar that is none.

        A grammar that was used before costs next to nothing, a new one 0.5 to 1 ms.
        """
        key = (step.lark, step.schema)
        native, uses = self._compiled.pop(key, (None, 0))
        if native is None or uses >= _USES:
            native, uses = compile_step(step, self.tokenizer), 0
        if len(self._compiled) >= _COMPILED:
            self._compiled.popitem(last=False)
        self._compiled[key] = (native, uses + 1)
        return Matcher(self, native.deep_copy())

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
            check(self._native)
            raise ConstraintError("The grammar allows no token.")
        return token

    def _draw(self, scores: NDArray[np.float32], temperature: float, rng: np.random.Generator) -> int:
        masked = np.where(self._vocabulary.allowed(self._native), scores.astype(np.float64), -np.inf)
        top = float(np.max(masked))
        if not math.isfinite(top):
            check(self._native)
            raise ConstraintError("The grammar allows no token.")
        weights = np.exp((masked - top) / temperature)
        return int(rng.choice(len(weights), p=weights / weights.sum()))

    def accept(self, token: int) -> list[int]:
        """Take a token; returns the tokens that are forced after it, taken as well.

        Raises `ConstraintError` if the token is not allowed, which `choose` never returns.
        """
        if not self._native.consume_token(token):
            check(self._native)
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

    def back(self, tokens: int) -> bool:
        """Forget the last tokens; False if that cannot be done."""
        return bool(self._native.rollback(tokens))

    def takes(self, tokens: list[int]) -> bool:
        """Whether all of these may come next."""
        return int(self._native.validate_tokens(tokens)) == len(tokens)

    def take(self, token: int) -> None:
        """Take a token that was forgotten before."""
        if not self._native.consume_token(token):
            check(self._native)

    def closing(self, written: bytes, *, most: int = 512) -> list[int] | None:
        """Tokens that end JSON of which `written` is there, as few as are easily found; nothing is taken.

        None if there are more than `most`.
        """
        return self._vocabulary.closer.tokens(self._native, written, most=most)
