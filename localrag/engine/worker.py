"""The worker process: owns one model, obeys messages on standard input, answers on standard output.

Run as `python -m localrag.engine.worker`. A fault in native code ends this process and no other. It ends by
itself when the parent goes away, and it ignores ctrl-c, which is the parent's to understand.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from localrag.engine import sizing
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.job import JobRequest
from localrag.engine.llama import Context, Model
from localrag.engine.programs import from_dict
from localrag.engine.protocol import Message, Writer, pack, receive
from localrag.engine.scheduler import PREFIXES, Scheduler
from localrag.engine.template import ChatTemplate
from localrag.engine.types import Message as ChatMessage
from localrag.engine.types import Piece
from localrag.errors import LocalragError, ModelInvalid


def main() -> int:
    """Serve one parent; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stream_in, writer = _private_streams()
    start = receive(stream_in)
    if start is None:
        return 0
    try:
        serve = _serve_embedding if start["role"] == "embed" else _serve_chat
        serve(start, stream_in, writer)
    except LocalragError as error:
        writer.send(
            {"event": "failed", "message": error.message, "hint": error.hint, "kind": type(error).__name__}
        )
        # Behind the start nobody waits for that message; then these are the last words in the reason.
        print(error.message, file=sys.stderr, flush=True)
        return 1
    return 0


def _private_streams() -> tuple[BinaryIO, Writer]:
    """The pipe to the parent; what native code prints to standard output goes to standard error instead."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, Writer(output)


class ChatModel:
    """A language model with its scheduler."""

    def __init__(self, start: Message, writer: Writer) -> None:
        # Imported here: an embedding worker needs no llguidance.
        from localrag.engine.matching import Vocabulary

        path = Path(start["path"])
        info = inspect(path)
        _check_chat(info, path)
        size = sizing.choose(
            info, n_ctx=start["n_ctx"], sequences=start["sequences"], threads=start["threads"]
        )
        batch = min(start["batch"], size.n_ctx)
        self.model = Model(path, gpu_layers=start["gpu_layers"])
        if self.model.recurrent:
            raise ModelInvalid(
                f"{path.name} keeps a running state that cannot be shared between texts.",
                "Choose a model with attention only, such as Qwen2.5 or Llama 3.2.",
            )
        self.context = Context(
            self.model,
            n_ctx=size.n_ctx,
            sequences=PREFIXES + size.sequences + 1,
            threads=size.threads,
            batch=batch,
        )
        self.template = ChatTemplate(info.chat_template or "", self.model.bos, self.model.eos)
        self.scheduler = Scheduler(
            self.model,
            self.context,
            Vocabulary(self.model),
            sequences=size.sequences,
            batch=batch,
            emit=writer.send,
        )
        self.scheduler.fingerprint = info.fingerprint
        self.description: Message = {
            "event": "ready",
            "name": info.name or path.stem,
            "fingerprint": info.fingerprint,
            "architecture": info.architecture,
            "parameters": self.model.parameters,
            "context_length": self.model.context_length,
            "n_ctx": min(self.scheduler.most_tokens(), self.model.context_length),
            "sequences": size.sequences,
            "threads": size.threads,
            "memory_mb": sizing.memory_mb(),
        }

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Token ids for the template."""
        return self.model.tokenize(text, special=special)

    def submit(self, message: Message) -> None:
        """Render a request and queue it."""
        self.scheduler.submit(
            JobRequest(
                id=message["id"],
                prompt=self.template.render(_messages(message), self.tokenize),
                program=from_dict(message["program"]),
                max_tokens=max(1, int(message["max_tokens"])),
                temperature=float(message["temperature"]),
                seed=int(message["seed"]),
                priority=int(message["priority"]),
                stream=bool(message["stream"]),
            )
        )


def _check_chat(info: GgufInfo, path: Path) -> None:
    if info.is_embedding:
        raise ModelInvalid(
            f"{path.name} is an embedding model; it cannot write.", "localrag models recommend"
        )
    if not info.chat_template:
        raise ModelInvalid(
            f"{path.name} has no chat template: it is a base model.", "Choose an instruct or chat variant."
        )


def _serve_chat(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """Schedule in this thread, listen in another."""
    chat = ChatModel(start, writer)
    writer.send(chat.description)

    def listen() -> None:
        while (message := receive(stream_in)) is not None:
            if not _obey(chat, message, writer):
                break
        chat.scheduler.stop()
        # The native library may be in the middle of a step; the parent is gone and waits for nobody.
        threading.Timer(5.0, os._exit, (0,)).start()

    threading.Thread(target=listen, daemon=True, name="listener").start()
    chat.scheduler.run()
    os._exit(0)


def _obey(chat: ChatModel, message: Message, writer: Writer) -> bool:
    """Carry out one message; False ends the worker."""
    if message["op"] == "stop":
        return False
    if message["op"] == "cancel":
        chat.scheduler.cancel(message["id"])
        return True
    try:
        counts = _counts(chat, message)
    except (LocalragError, ValueError) as error:
        writer.send({"event": "refused", "id": message["id"], "error": str(error)})
    else:
        if counts is not None:
            writer.send({"event": "counted", "id": message["id"], "counts": counts})
    return True


def _counts(chat: ChatModel, message: Message) -> list[int] | None:
    """The numbers that a message asks for; None for one that starts work and is answered later."""
    order = message["op"]
    if order == "count":
        return [len(chat.tokenize(text, False)) for text in message["texts"]]
    if order == "prompt_tokens":
        prompt = chat.template.render(_messages(message), chat.tokenize)
        return [len(prompt.shared) + len(prompt.own)]
    if order == "memory":
        return [sizing.memory_mb()]
    chat.submit(message)
    return None


def _messages(message: Message) -> list[ChatMessage]:
    return [
        ChatMessage(m["role"], tuple(Piece(p["text"], p["shared"]) for p in m["pieces"]))
        for m in message["messages"]
    ]


def _serve_embedding(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """One request after the other."""
    from localrag.engine.embedding import EmbeddingContext

    path = Path(start["path"])
    info = inspect(path)
    size = sizing.choose(info, threads=start["threads"])
    model = Model(path, gpu_layers=start["gpu_layers"])
    context = EmbeddingContext(model, threads=size.threads, limit=start["limit"])
    writer.send(
        {
            "event": "ready",
            "name": info.name or path.stem,
            "fingerprint": info.fingerprint,
            "dimension": model.dimension,
            "pooling": context.pooling,
            "limit": context.limit,
        }
    )
    while (message := receive(stream_in)) is not None and message["op"] != "stop":
        if message["op"] == "memory":
            writer.send({"event": "counted", "id": message["id"], "counts": [sizing.memory_mb()]})
            continue
        if message["op"] == "token_ids":
            ids = [context.tokenize(text) for text in message["texts"]]
            writer.send({"event": "counted", "id": message["id"], "counts": ids})
            continue
        try:
            vectors = context.embed(message["texts"])
        except LocalragError as error:
            writer.send({"event": "refused", "id": message["id"], "error": str(error)})
            continue
        writer.send({"event": "vectors", "id": message["id"], "vectors": pack(vectors)})


if __name__ == "__main__":
    sys.exit(main())
