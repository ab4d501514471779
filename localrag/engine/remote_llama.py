"""The dialect of llama-server: prompts as token ids, one completion for each segment, each under its grammar.

Text of documents is turned into tokens with control tokens off, as in the worker. A segment's prompt is the
prompt before it and what was written since, so the server's cache holds all but the last few tokens.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from localrag.engine.gbnf import to_gbnf
from localrag.engine.programs import Decide, FreeText
from localrag.engine.remote_check import TextCheck, canonical_json
from localrag.engine.remote_deciding import decide_at
from localrag.engine.remote_http import Server
from localrag.engine.remote_waiting import Stop
from localrag.engine.remote_writing import Emit, Usage, Written, broken
from localrag.engine.steps import Step
from localrag.engine.types import (
    Generation,
    GenerationRequest,
    Message,
    ModelDescription,
    ProgressEvent,
    TextEvent,
)
from localrag.errors import ConstraintError, RemoteRefused

_MOST_REMEMBERED = 4096


class LlamaDialect:
    """One llama-server. Safe to use from several threads."""

    def __init__(self, server: Server, model: str = "", context: int = 0) -> None:
        """`model` is sent with each call where it is given; `context` replaces what the server says."""
        self._server = server
        self._model = model
        self._context = context
        self._lock = threading.Lock()
        self._tokens: dict[tuple[str, bool, bool], list[int]] = {}
        self._frames: dict[tuple[tuple[str, int], ...], list[str | int]] = {}
        self._nonce = secrets.token_hex(8)

    def describe(self, stop: Stop | None = None) -> ModelDescription:
        """What the server says of its model."""
        about = self._server.call("/props", stop=stop)
        listed = self._server.call("/v1/models", stop=stop)
        try:
            settings = about["default_generation_settings"]
            served = listed["data"][0]
            name = self._model or str(served.get("id", ""))
            meta = served.get("meta") or {}
            n_ctx = self._context or int(settings["n_ctx"])
            slots = int(about.get("total_slots", 1))
            facts = [name, *(str(meta.get(key, "")) for key in ("n_params", "size", "n_vocab", "n_embd"))]
            facts.append(hashlib.sha256(str(about.get("chat_template", "")).encode()).hexdigest())
            parameters, trained = int(meta.get("n_params") or 0), int(meta.get("n_ctx_train") or n_ctx)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise RemoteRefused(
                f"{self._server.address.shown} does not describe its model as llama-server does.",
                "Set remote.dialect to openai if it is another kind of server.",
            ) from error
        return ModelDescription(
            name=name.rsplit("/", 1)[-1],
            fingerprint="sha256:" + hashlib.sha256("\0".join(["llama-server", *facts]).encode()).hexdigest(),
            architecture="remote",
            parameters=parameters,
            context_length=trained,
            n_ctx=n_ctx,
            sequences=max(slots, 1),
            threads=0,
            notes=tuple(note for note in (self._server.address.notice,) if note),
        )

    def count(self, texts: Sequence[str], stop: Stop | None = None) -> list[int]:
        """Tokens of each text, control tokens off."""
        return [len(self._tokenize(text, stop)) for text in texts]

    def count_prompt(self, messages: Sequence[Message], stop: Stop | None = None) -> int:
        """Tokens of the whole prompt."""
        return len(self._render(messages, stop))

    def write(
        self, request: GenerationRequest, about: ModelDescription, stop: Stop, emit: Emit, place: int
    ) -> Generation:
        """One output. `place` is the server's slot to use, -1 for any."""
        prompt = self._render(request.messages, stop)
        if isinstance(request.program, Decide):
            return self._decide(request.program, prompt, about, stop)
        written = Written(request.program)
        usage = Usage(prompt_tokens=len(prompt))
        so_far = list(prompt)
        while written.step is not None:
            before = len(written.text)
            if written.add_forced():
                usage.output_tokens += len(self._tokenize(written.text[before:], stop))
            else:
                left = request.max_tokens - usage.output_tokens
                if left <= 0 or not self._segment(request, so_far, written, usage, left, stop, emit, place):
                    written.drop_half()
                    return self._result(written, usage, about, prompt, "length")
            so_far += self._tokenize(written.text[before:], stop)
        return self._result(written, usage, about, prompt, "stop")

    def close(self) -> None:
        """Close idle connections; a later call opens new ones."""
        self._server.close()

    def _decide(self, program: Decide, prompt: list[int], about: ModelDescription, stop: Stop) -> Generation:
        usage = Usage(prompt_tokens=len(prompt))
        probabilities, mass, usage.output_tokens = decide_at(
            self._server, prompt, program.options, lambda text: self._tokenize(text, stop), self._model, stop
        )
        best = program.options[probabilities.index(max(probabilities))]
        nothing = Written(FreeText()).result(usage, about.fingerprint, _hashed(prompt), "stop")
        return replace(nothing, text=best, probabilities=probabilities, mass=mass)

    @staticmethod
    def _result(
        written: Written, usage: Usage, about: ModelDescription, prompt: list[int], finish: Any
    ) -> Generation:
        return written.result(usage, about.fingerprint, _hashed(prompt), finish)

    # One segment.

    def _segment(
        self,
        request: GenerationRequest,
        so_far: list[int],
        written: Written,
        usage: Usage,
        left: int,
        stop: Stop,
        emit: Emit,
        place: int,
    ) -> bool:
        """Have one segment written; returns False if the budget ended it."""
        step = written.step
        assert step is not None
        check = None if step.schema else TextCheck(step)
        text, pieces = "", 0
        end: dict[str, Any] | None = None
        for event in self._server.events("/completion", self._body(request, step, so_far, left, place), stop):
            progress = event.get("prompt_progress")
            if isinstance(progress, dict):
                emit(_reading(progress))
            piece = event.get("content")
            if isinstance(piece, str) and piece:
                text += piece
                pieces += 1
                if pieces > left or (check is not None and check.take(piece) != len(piece)):
                    raise broken(self._server.address.shown, text)
                if request.stream and check is not None:
                    emit(TextEvent(step.name, piece))
            if event.get("stop"):
                end = event
                break
        return self._ended(step, check, text, end, written, usage)

    def _ended(
        self,
        step: Step,
        check: TextCheck | None,
        text: str,
        end: dict[str, Any] | None,
        written: Written,
        usage: Usage,
    ) -> bool:
        where = self._server.address.shown
        if end is None:
            raise RemoteRefused(f"{where} ended a stream without saying why.", "Look at the server's log.")
        if end.get("truncated"):
            raise RemoteRefused(f"{where} cut the prompt, since its context is too small.")
        self._account(end, usage)
        limit = end.get("stop_type") == "limit" or bool(end.get("stopped_limit"))
        if check is None:
            if limit:
                written.tail = text
                return False
            try:
                written.add(canonical_json(step, text))
            except ConstraintError as error:
                raise broken(where, text) from error
            return True
        if check.finished or (check.complete and not limit):
            written.add(text)
            return True
        if not limit:
            raise broken(where, text)
        written.tail = text
        return False

    @staticmethod
    def _account(end: dict[str, Any], usage: Usage) -> None:
        timings = end.get("timings")
        cached = timings.get("cache_n", 0) if isinstance(timings, dict) else 0
        if not usage.output_tokens:
            usage.cached_tokens = int(cached or 0)
        usage.output_tokens += int(end.get("tokens_predicted") or 0)

    def _body(
        self, request: GenerationRequest, step: Step, so_far: list[int], left: int, place: int
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "prompt": so_far,
            "n_predict": left,
            "stream": True,
            "cache_prompt": True,
            "return_progress": True,
            "temperature": request.temperature,
            "seed": request.seed,
            # The whole distribution, as the worker draws from it.
            "top_k": 0,
            "top_p": 1.0,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
        }
        if place >= 0:
            body["id_slot"] = place
        if self._model:
            body["model"] = self._model
        if step.schema:
            body["json_schema"] = json.loads(step.schema)
        else:
            body["grammar"] = to_gbnf(step.lark)
        return body

    # Prompts.

    def _render(self, messages: Sequence[Message], stop: Stop | None) -> list[int]:
        """Token ids of a chat: the template's own text with control tokens, all pieces without."""
        pieces = [piece for message in messages for piece in message.pieces]
        ids: list[int] = []
        for index, part in enumerate(self._frame(messages, stop)):
            if isinstance(part, int):
                ids += self._tokenize(pieces[part].text, stop, keep=pieces[part].shared)
            elif part or index == 0:
                ids += self._tokenize(part, stop, special=True, first=index == 0, keep=True)
        if not ids:
            raise RemoteRefused(f"{self._server.address.shown} made an empty prompt of a chat.")
        return ids

    def _frame(self, messages: Sequence[Message], stop: Stop | None) -> list[str | int]:
        """The template's text around the pieces, which stand as their numbers."""
        shape = tuple((message.role, len(message.pieces)) for message in messages)
        with self._lock:
            if shape in self._frames:
                return self._frames[shape]
        turns, number = [], 0
        for role, count in shape:
            marks = [f"[[{self._nonce}:{number + offset}]]" for offset in range(count)]
            turns.append({"role": role, "content": "".join(marks)})
            number += count
        body = {"messages": turns, "chat_template_kwargs": {"enable_thinking": False}}
        answer = self._server.call("/apply-template", body, stop)
        text = answer.get("prompt") if isinstance(answer, dict) else None
        parts = re.split(rf"\[\[{self._nonce}:(\d+)\]\]", text) if isinstance(text, str) else []
        frame: list[str | int] = [int(p) if i % 2 else p for i, p in enumerate(parts)]
        if [part for part in frame if isinstance(part, int)] != list(range(number)):
            raise RemoteRefused(
                f"{self._server.address.shown} does not put the messages into its chat template as they are.",
                "Give the server another template (--chat-template).",
            )
        with self._lock:
            self._frames[shape] = frame
        return frame

    def _tokenize(
        self,
        text: str,
        stop: Stop | None,
        *,
        special: bool = False,
        first: bool = False,
        keep: bool = False,
    ) -> list[int]:
        """Token ids; `first` adds what the model wants before a text, `keep` remembers the result."""
        if not text and not first:
            return []
        key = (text, special, first)
        with self._lock:
            if key in self._tokens:
                return self._tokens[key]
        body = {"content": text, "add_special": first, "parse_special": special}
        answer = self._server.call("/tokenize", body, stop)
        ids = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(ids, list) or not all(type(token) is int and token >= 0 for token in ids):
            raise RemoteRefused(f"{self._server.address.shown} does not turn text into tokens.")
        if first and len(ids) > 1 and ids[0] == ids[1]:
            # The template wrote the token that begins a text, and the server put another before it.
            ids = ids[1:]
        if keep:
            with self._lock:
                if len(self._tokens) >= _MOST_REMEMBERED:
                    self._tokens.clear()
                self._tokens[key] = ids
        return ids


def _hashed(prompt: list[int]) -> bytes:
    """What the hash of a prompt is made of, as in the worker."""
    return np.array(prompt, dtype="<i4").tobytes()


def _reading(progress: dict[str, Any]) -> ProgressEvent:
    """The server's report of the prompt that it reads."""
    done, total = int(progress.get("processed") or 0), int(progress.get("total") or 0)
    milliseconds = float(progress.get("time_ms") or 0.0)
    fresh = max(done - int(progress.get("cache") or 0), 0)
    rate = fresh * 1000 / milliseconds if milliseconds > 0 else 0.0
    return ProgressEvent("prefill", 1, 0, rate, 0.0, done, total)
