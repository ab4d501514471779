"""Stand-ins for model servers, on loopback: they keep grammars, or fail in the ways that servers fail in.

The words come from dice, so that nothing but the constraint gives them form.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import llguidance
import llguidance.numpy
import numpy as np
from llguidance.gbnf_to_lark import any_to_lark

MODEL = "standin-7b"
END = "<|im_end|>"
END_TOKEN = 1000
_STEP = 12


def throw(grammar: str, dice: random.Random, most: int, *, early: float = 0.1) -> tuple[str, bool]:
    """Random text under a compiled grammar, and whether it came to its end within `most` bytes."""
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, grammar)
    assert not matcher.is_error(), matcher.get_error()
    bits = llguidance.numpy.allocate_token_bitmask(1, tokenizer.vocab_size)
    out = bytearray()
    while not matcher.is_stopped():
        if matcher.is_accepting() and dice.random() < early:
            break
        if len(out) >= most:
            return out.decode("utf-8", "ignore"), False
        llguidance.numpy.fill_next_token_bitmask(matcher, bits, 0)
        allowed = np.flatnonzero(np.unpackbits(bits.view(np.uint8)[0], bitorder="little"))
        choices = [int(byte) for byte in allowed if byte < 256]
        if not choices:
            break
        if ord("(") in choices and ord("<") in choices and dice.random() < 0.8:
            choices = [ord("(")]
        # Closing characters are thrown oftener, or every field would be as long as it may.
        closing = [byte for byte in choices if byte in b'<)"\n|']
        byte = dice.choice(closing) if closing and dice.random() < 0.15 else dice.choice(choices)
        assert matcher.consume_token(byte)
        out.append(byte)
    return out.decode("utf-8"), True


def dice_of(seed: int, body: Any) -> random.Random:
    """Dice for one request: requests come in any order, and each shall have the same answer every time."""
    return random.Random(f"{seed} {json.dumps(body, sort_keys=True)}")


def from_gbnf(gbnf: str) -> str:
    """A grammar as this file's dice take it; llama.cpp's own reader is tried in `test_remote_gbnf.py`."""
    return str(llguidance.LLMatcher.grammar_from_lark(any_to_lark(gbnf)))


def from_schema(schema: dict[str, Any], *, blanks: bool = False) -> str:
    """A schema as the dice take it."""
    text = json.dumps(schema)
    return str(llguidance.LLMatcher.grammar_from_json_schema(text, defaults={"whitespace_flexible": blanks}))


@dataclass
class Standin:
    """A server that is told what to do by the test; `calls` holds what it was asked."""

    answer: Callable[[Handler, str, Any], None]
    """Answers one request: handler, path, body."""

    calls: list[tuple[str, Any]] = field(default_factory=list)
    """Path and body of every request, in order."""

    headers: list[dict[str, str]] = field(default_factory=list)
    """Headers of every request."""

    url: str = ""
    """Its address."""

    def bodies(self, path: str) -> list[Any]:
        """What was sent to a path."""
        return [body for asked, body in self.calls if asked == path]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    standin: Standin

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """A request without a body."""
        self._take(None)

    def do_POST(self) -> None:
        """A request with one."""
        length = int(self.headers.get("Content-Length", 0))
        self._take(json.loads(self.rfile.read(length)))

    def _take(self, body: Any) -> None:
        self.standin.calls.append((self.path, body))
        self.standin.headers.append(dict(self.headers.items()))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.standin.answer(self, self.path, body)

    def json(self, value: object, status: int = 200, **headers: str) -> None:
        """Answer with JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def open_stream(self) -> None:
        """Begin an event stream."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def raw(self, text: str) -> None:
        """Send part of a stream as it is."""
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def event(self, value: object) -> None:
        """Send one object of a stream."""
        self.raw(f"data: {json.dumps(value)}\n\n")

    def close_stream(self) -> None:
        """End a stream properly."""
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def break_off(self) -> None:
        """Drop the connection."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(2)

    def chat(self, text: str, reason: str | None = "stop", pause: float = 0.0) -> None:
        """Answer a chat with a stream."""
        self.open_stream()
        for start in range(0, len(text), _STEP):
            self.event({"choices": [{"index": 0, "delta": {"content": text[start : start + _STEP]}}]})
            time.sleep(pause)
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        usage = {"prompt_tokens": 50, "completion_tokens": max(len(text) // 4, 1)}
        self.event({"choices": [], "usage": usage | {"prompt_tokens_details": {"cached_tokens": 40}}})
        self.raw("data: [DONE]\n\n")
        self.close_stream()

    def completion(self, text: str, stop_type: str = "eos", **more: object) -> None:
        """Answer a completion of llama-server with a stream."""
        self.open_stream()
        self.event(
            {"content": "", "stop": False, "prompt_progress": {"total": 9, "processed": 9, "cache": 4}}
        )
        for start in range(0, len(text), _STEP):
            self.event({"content": text[start : start + _STEP], "stop": False})
        end = {"content": "", "stop": True, "stop_type": stop_type, "tokens_predicted": len(text) // 4 + 1}
        self.event(end | {"timings": {"cache_n": 4}} | more)
        self.close_stream()


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that hang up, which many of them do on purpose."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Errors of a test's own answers are still shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def running(answer: Callable[[Handler, str, Any], None]) -> Iterator[Standin]:
    """A stand-in while this lasts."""
    standin = Standin(answer)
    kind = type("Bound", (Handler,), {"standin": standin})
    server = _Quiet(("127.0.0.1", 0), kind)
    standin.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield standin
    finally:
        server.shutdown()
        server.server_close()


def vllm(
    seed: int = 1, *, grammars: bool = True, schemas: bool = True, n_ctx: int = 4096
) -> Callable[[Handler, str, Any], None]:
    """A server like vLLM that takes the named kinds of constraints and ignores all other fields."""

    def answer(handler: Handler, path: str, body: Any) -> None:
        dice = dice_of(seed, body)
        if path == "/v1/models":
            served = {"id": MODEL, "owned_by": "vllm", "max_model_len": n_ctx, "root": MODEL}
            handler.json({"object": "list", "data": [served]})
        elif path == "/tokenize":
            handler.json({"count": len(body["prompt"]) // 4 + 1, "max_model_len": n_ctx})
        elif path == "/v1/chat/completions":
            wanted = body.get("structured_outputs", {})
            most = int(body["max_tokens"]) * 4
            if grammars and "grammar" in wanted:
                text, whole = throw(from_gbnf(wanted["grammar"]), dice, most)
            elif schemas and "json" in wanted:
                text, whole = throw(from_schema(wanted["json"], blanks=True), dice, most)
            else:
                text, whole = "Hello! How can I help you?", True
            handler.chat(text, "stop" if whole else "length")
        else:
            handler.json({"error": {"message": f"no {path}"}}, 404)

    return answer


def llama(seed: int = 1, *, slots: int = 2, n_ctx: int = 4096) -> Callable[[Handler, str, Any], None]:
    """A server like llama-server whose tokens are code points, and one control token."""

    def answer(handler: Handler, path: str, body: Any) -> None:
        dice = dice_of(seed, body)
        if path == "/props":
            settings = {"n_ctx": n_ctx}
            handler.json(
                {"default_generation_settings": settings, "total_slots": slots, "chat_template": "x"}
            )
        elif path == "/v1/models":
            meta = {"n_params": 7, "n_ctx_train": 8192, "n_vocab": 300, "n_embd": 8, "size": 1}
            handler.json({"data": [{"id": f"/models/{MODEL}.gguf", "meta": meta}]})
        elif path == "/tokenize":
            handler.json({"tokens": llama_tokens(body["content"], special=body["parse_special"])})
        elif path == "/apply-template":
            turns = "".join(f"<{turn['role']}>{turn['content']}{END}\n" for turn in body["messages"])
            handler.json({"prompt": f"{turns}<assistant>"})
        elif path == "/completion" and "n_probs" in body:
            # The next letter of the alphabet is the likelier, the nearer it is to n.
            listed = [(ord(c) + END_TOKEN + 1, -1.0 - abs(ord(c) - ord("n"))) for c in "abmnopyz"]
            top = [{"id": token, "logprob": score} for token, score in listed]
            handler.json({"completion_probabilities": [{"top_logprobs": top}]})
        elif path == "/completion":
            grammar = from_gbnf(body["grammar"]) if "grammar" in body else from_schema(body["json_schema"])
            text, whole = throw(grammar, dice, int(body["n_predict"]) * 4)
            handler.completion(text, "eos" if whole else "limit")
        else:
            handler.json({"error": {"message": f"no {path}"}}, 404)

    return answer


def llama_tokens(text: str, *, special: bool) -> list[int]:
    """Code points moved out of the way of the control token."""
    parts = text.split(END) if special else [text]
    ids: list[int] = []
    for index, part in enumerate(parts):
        ids += [END_TOKEN] * (index > 0) + [ord(char) + END_TOKEN + 1 for char in part]
    return ids
