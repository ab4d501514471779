"""Ranking in the worker: how well each of some texts answers a question, read together with it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import llama_cpp as lib

from localrag.engine import sizing
from localrag.engine.gguf import inspect
from localrag.engine.llama import Model
from localrag.engine.offload import Offload
from localrag.engine.options import options_of
from localrag.engine.pooling import TOKENS_PER_CALL, PoolingContext, packed
from localrag.engine.protocol import Message, Writer, receive
from localrag.errors import EngineError, LocalragError, ModelInvalid

QUESTION_TOKENS = 160
"""Most tokens of the question; the rest is the text's."""

_TEMPLATE = b"rerank"
_QUERY, _DOCUMENT = "{query}", "{document}"


class RerankContext:
    """Reads question and text together. Used by one thread."""

    def __init__(self, model: Model, *, threads: int) -> None:
        """Raises `ModelInvalid` if the model does not rank, `EngineError` if memory is short."""
        self._model = model
        self._context = PoolingContext(model, threads=threads)
        if self._context.native_pooling != lib.LLAMA_POOLING_TYPE_RANK:
            self._context.close()
            raise ModelInvalid(
                "This model does not rank texts (its file names another pooling, or none).",
                "models.reranker takes a model with rank pooling.",
            )
        self._limit = min(model.context_length or TOKENS_PER_CALL, TOKENS_PER_CALL)
        self._outputs = max(1, int(lib.llama_model_n_cls_out(model.handle)))
        self._frame = _frame(model)

    def scores(
        self, question: str, texts: Sequence[str], on_step: Callable[[], None] = lambda: None
    ) -> list[float]:
        """A number for each text, higher is better; `on_step` is called after each step of the model.

        Raises `EngineError` for an empty question or a score that is no number.
        """
        if not question.strip():
            raise EngineError("There is no ranking for an empty question.")
        asked = self._tokens(question)[: min(QUESTION_TOKENS, self._limit // 2)]
        pairs = [self._pair(asked, text) for text in texts]
        result = [0.0] * len(texts)
        for call in packed(sorted(range(len(pairs)), key=lambda i: len(pairs[i])), pairs):
            self._context.run([pairs[index] for index in call])
            on_step()
            for sequence, index in enumerate(call):
                score = float(self._context.result(sequence, self._outputs)[0])
                if not math.isfinite(score):
                    raise EngineError("A text's score is not a number.")
                result[index] = score
        return result

    def _pair(self, question: Sequence[int], text: str) -> list[int]:
        """Question and text as the model wants them; a long text is cut, what stands behind it is not."""
        before, between, behind = self._frame
        room = self._limit - len(question) - len(before) - len(between) - len(behind)
        return [*before, *question, *between, *self._tokens(text)[: max(room, 0)], *behind]

    def _tokens(self, text: str) -> list[int]:
        """Token ids without ends; no text can become a control token."""
        clean = unicodedata.normalize("NFC", text.replace("\0", " "))
        return self._model.tokenize(clean, special=False)

    def close(self) -> None:
        """Free the context."""
        self._context.close()


def _frame(model: Model) -> tuple[list[int], list[int], list[int]]:
    """The tokens before the question, between it and the text, and behind the text.

    From the template for ranking, if the file has one, else the ends that the vocabulary asks for, in the
    order in which such models were trained: BOS question EOS SEP text EOS, or CLS question SEP text SEP.
    """
    template = lib.llama_model_chat_template(model.handle, _TEMPLATE)
    parts = _parts(template.decode("utf-8", "replace")) if template else None
    if parts is not None:
        before, between, behind = (model.tokenize(part, special=True) if part else [] for part in parts)
        return before, between, behind
    vocabulary = model.vocabulary
    begin = _one(lib.llama_vocab_bos(vocabulary), lib.llama_vocab_get_add_bos(vocabulary))
    end = _one(lib.llama_vocab_eos(vocabulary), lib.llama_vocab_get_add_eos(vocabulary))
    part = _one(lib.llama_vocab_sep(vocabulary), lib.llama_vocab_get_add_sep(vocabulary))
    # Word-piece vocabularies ask for no end but the separator, which then ends both.
    return begin, [*end, *part], end or part


def _one(token: int, wanted: bool) -> list[int]:
    return [int(token)] if wanted and token >= 0 else []


def _parts(template: str) -> tuple[str, str, str] | None:
    """A template cut at its two places; None if it has not both, in this order."""
    before, question, rest = template.partition(_QUERY)
    between, text, behind = rest.partition(_DOCUMENT)
    return (before, between, behind) if question and text else None


def serve(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """Serve one parent, one request after the other."""
    path = Path(start["path"])
    info = inspect(path)
    options = options_of(start)
    model = Model(path, offload=Offload.of(options))
    context = RerankContext(model, threads=sizing.choose(info, threads=options.threads).threads)
    writer.send({"event": "ready", "name": info.name or path.stem, "fingerprint": info.fingerprint})
    while (message := receive(stream_in)) is not None and message["op"] != "stop":
        try:
            scores = context.scores(
                message["question"], message["texts"], lambda: writer.send({"event": "alive"})
            )
        except LocalragError as error:
            told = {"error": error.message, "hint": error.hint, "kind": type(error).__name__}
            writer.send({"event": "refused", "id": message["id"], **told})
            continue
        writer.send({"event": "counted", "id": message["id"], "counts": scores})
