"""The OpenAI dialect: chats under a grammar or a JSON schema, whichever the server really keeps.

A grammar is preferred, for then the model writes what its instructions ask for. Where there are schemas only,
records and answers are asked for as JSON and turned into the same text (`remote_json.py`). Records come many
to a call (`remote_rounds.py`). All of it is checked with the worker's own grammars before it is kept.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from typing import Any

from localrag.engine.programs import Decide
from localrag.engine.remote_chat import Reply, request_body, say, turns
from localrag.engine.remote_counting import Counter
from localrag.engine.remote_http import Server
from localrag.engine.remote_mechanisms import Kind, Mechanism, in_order, make_trial, sampling, told
from localrag.engine.remote_openai_output import Output
from localrag.engine.remote_waiting import Stop
from localrag.engine.remote_writing import Emit
from localrag.engine.types import Generation, GenerationRequest, Message, ModelDescription
from localrag.errors import RemoteRefused

_PLACES = {"vllm": 16}
"""Requests at a time by the maker that /v1/models names; all others get one, as some break off the running
request when another one comes."""

_NOTE = "Look-alikes of control tokens in your texts are shown to the model with other brackets."


class OpenAiDialect:
    """One OpenAI-compatible server. Safe to use from several threads."""

    def __init__(self, server: Server, model: str = "", context: int = 0) -> None:
        """`context` is needed where the server does not tell how long a request may be."""
        self._server = server
        self._wanted = model
        self._context = context
        self._lock = threading.Lock()
        self._served: ModelDescription | None = None
        self._name = ""
        self._maker = ""
        self._counter = Counter(server)
        self._found: dict[Kind, Mechanism | None] = {}
        self._tried: dict[Kind, list[str]] = {}

    def describe(self, stop: Stop | None = None) -> ModelDescription:
        """What the server says of its model, once it has shown that it keeps constraints.

        Raises `RemoteRefused` if it keeps none, or does not say what has to be known.
        """
        with self._lock:
            if self._served is None:
                self._served = self._describe(stop or Stop())
            return self._served

    def count(self, texts: Sequence[str], stop: Stop | None = None) -> list[int]:
        """Tokens of each text as the server counts, else an estimate on the high side."""
        self.describe(stop)
        return self._counter.count(self._name, texts, stop)

    def count_prompt(self, messages: Sequence[Message], stop: Stop | None = None) -> int:
        """Tokens of the whole prompt, the template's own included."""
        self.describe(stop)
        return self._counter.count_chat(self._name, turns(messages), stop)

    def write(
        self, request: GenerationRequest, about: ModelDescription, stop: Stop, emit: Emit, place: int
    ) -> Generation:
        """One output."""
        self.describe(stop)
        if isinstance(request.program, Decide):
            raise RemoteRefused(
                "The protocol of OpenAI tells too few probabilities to decide by.", "Use llama-server for it."
            )
        return Output(self, request, about, stop, emit).write()

    def close(self) -> None:
        """Close idle connections; a later call opens new ones."""
        self._server.close()

    def _describe(self, stop: Stop) -> ModelDescription:
        where = self._server.address.shown
        listed = self._server.call("/v1/models", stop=stop)
        data = listed.get("data") if isinstance(listed, dict) else None
        served = {str(m.get("id")): m for m in data if isinstance(m, dict)} if isinstance(data, list) else {}
        self._name = self._wanted or (next(iter(served)) if len(served) == 1 else "")
        if not self._name or (served and self._name not in served):
            known = ", ".join(list(served)[:5]) or "none"
            raise RemoteRefused(
                f"{where} serves {known}; the settings name {self._wanted or 'none of them'}.",
                "Set remote.model.",
            )
        about = served.get(self._name, {})
        self._maker = str(about.get("owned_by", ""))
        n_ctx = self._context or _length(about)
        if not n_ctx:
            raise RemoteRefused(
                f"{where} does not say how many tokens a request may have.", "Set remote.context to it."
            )
        for kind in ("grammar", "schema"):
            if self._mechanism(kind, stop) is not None:
                break
        else:
            tried = "; ".join([*self._tried["grammar"], *self._tried["schema"]])
            raise RemoteRefused(
                f"{where} keeps neither grammars nor JSON schemas ({tried}), so nothing that it writes could "
                f"be relied on.",
                "Use llama-server, vLLM, or another server with structured output.",
            )
        facts = "\0".join(["openai", self._maker, self._name, str(about.get("root", ""))])
        return ModelDescription(
            name=self._name.rsplit("/", 1)[-1],
            fingerprint="sha256:" + hashlib.sha256(facts.encode()).hexdigest(),
            architecture="remote",
            parameters=0,
            context_length=n_ctx,
            n_ctx=n_ctx,
            sequences=_PLACES.get(self._maker, 1),
            threads=0,
            notes=tuple(note for note in (self._server.address.notice, _NOTE) if note),
            decides=False,
        )

    def mechanism(self, kind: Kind, stop: Stop) -> Mechanism | None:
        """The way in which the server keeps grammars, or schemas; None if there is none."""
        with self._lock:
            return self._mechanism(kind, stop)

    def _mechanism(self, kind: Kind, stop: Stop) -> Mechanism | None:
        if kind not in self._found:
            self._tried[kind] = []
            self._found[kind] = next(
                (m for m in in_order(kind, vllm=self._maker == "vllm") if self._works(m, stop)), None
            )
        return self._found[kind]

    def _works(self, mechanism: Mechanism, stop: Stop) -> bool:
        trial = make_trial(mechanism.kind)
        body = {
            "model": self._name,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": 48,
            "temperature": 0.0,
            **mechanism.fields(trial.constraint),
        }
        try:
            reply = say(self._server, body, stop)
        except RemoteRefused as error:
            self._tried[mechanism.kind].append(f"{mechanism.name}: {error.message}")
            return False
        if trial.passed(reply.text):
            return True
        self._tried[mechanism.kind].append(f"{mechanism.name}: {told(reply.text)}")
        return False

    def call(
        self,
        request: GenerationRequest,
        chat: list[dict[str, str]],
        mechanism: Mechanism,
        constraint: Any,
        left: int,
        stop: Stop,
        take: Any = None,
    ) -> Reply:
        """One chat call under a constraint."""
        body = request_body(request, self._name, left) | sampling(mechanism) | {"messages": chat}
        return say(self._server, body | mechanism.fields(constraint), stop, take)

    @property
    def where(self) -> str:
        """The server's address for messages."""
        return self._server.address.shown


def _length(about: dict[str, Any]) -> int:
    """Tokens of a request as /v1/models tells them; 0 if it does not."""
    meta = about.get("meta")
    for value in (about.get("max_model_len"), meta.get("n_ctx") if isinstance(meta, dict) else None):
        if type(value) is int and value > 0:
            return value
    return 0
