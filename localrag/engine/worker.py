"""The worker process: owns one model, obeys messages on standard input, answers on standard output.

Run as `python -m localrag.engine.worker`. A fault in native code ends this process and no other. It ends by
itself when the parent goes away, and it ignores ctrl-c, which is the parent's to understand.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from localrag.engine import sizing
from localrag.engine.batching import Shape
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.job import JobRequest
from localrag.engine.kinds import check_file, check_kind
from localrag.engine.kv_cache import CachePlan, plan
from localrag.engine.llama import Context, Model, build_identity
from localrag.engine.offload import Offload
from localrag.engine.options import EngineOptions, options_of
from localrag.engine.prefixes import PrefixStore, file_sample
from localrag.engine.programs import from_dict
from localrag.engine.protocol import Message, Writer, pack, receive
from localrag.engine.scheduler import PREFIXES, Scheduler
from localrag.engine.template import ChatTemplate
from localrag.engine.templates import choose_template
from localrag.engine.tuned import stored, subject
from localrag.engine.types import Message as ChatMessage
from localrag.engine.types import Piece
from localrag.errors import LocalragError, PromptTooLong
from localrag.settings import cache_dir


def main() -> int:
    """Serve one parent; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stream_in, writer = _private_streams()
    start = receive(stream_in)
    if start is None:
        return 0
    try:
        _SERVERS[start["role"]](start, stream_in, writer)
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
        options = options_of(start)
        info = inspect(path)
        check_file(info)
        chosen = choose_template(info, options.chat_template)
        tuned = stored(subject(info, options))
        cache = plan(
            info,
            kv_type=options.kv_type,
            flash_attention=options.flash_attention,
            tuned=tuned.kv_type if tuned is not None else "",
        )
        size = sizing.choose(
            info,
            n_ctx=options.n_ctx,
            sequences=options.sequences,
            threads=options.threads,
            batch=options.batch,
            width=options.width,
            ubatch=options.ubatch,
            kv_type=cache.kv_type,
            tuned=tuned,
        )
        self.model = Model(path, offload=Offload.of(options))
        check_kind(info, self.model)
        sequences = PREFIXES + size.sequences + 1
        self.context = Context(
            self.model,
            n_ctx=size.n_ctx,
            sequences=sequences,
            threads=size.threads,
            batch=size.batch,
            kv_type=cache.kv_type,
            flash_attention=cache.flash_attention,
            ubatch=size.ubatch,
        )
        self.template = ChatTemplate(chosen.source, self.model.bos, self.model.eos)
        self.scheduler = Scheduler(
            self.model,
            self.context,
            Vocabulary(self.model),
            sequences=size.sequences,
            shape=Shape(size.batch, size.width),
            emit=writer.send,
            store=_prefix_store(options, cache, info),
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
            "batch": size.batch,
            "kv_type": cache.kv_type,
            "flash_attention": cache.flash_attention,
            "notes": [note for note in (self.model.note, cache.note, chosen.note) if note],
        }

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Token ids for the template."""
        return self.model.tokenize(text, special=special)

    def submit(self, message: Message) -> None:
        """Render a request and queue it. Raises `PromptTooLong` with both numbers if it cannot fit."""
        request = JobRequest(
            id=message["id"],
            prompt=self.template.render(_messages(message), self.tokenize),
            program=from_dict(message["program"]),
            max_tokens=max(1, int(message["max_tokens"])),
            temperature=float(message["temperature"]),
            seed=int(message["seed"]),
            priority=int(message["priority"]),
            stream=bool(message["stream"]),
        )
        total = len(request.prompt.shared) + len(request.prompt.own)
        room = int(self.description["n_ctx"])
        if total + request.max_tokens > room:
            raise PromptTooLong(
                f"The prompt has {total} tokens and up to {request.max_tokens} may be written; "
                f"the context holds {room}.",
                "Make the text or its context shorter, or set engine.n_ctx to more.",
            )
        self.scheduler.submit(request)


def _prefix_store(options: EngineOptions, cache: CachePlan, info: GgufInfo) -> PrefixStore | None:
    """The place of kept prefixes, for exactly this model, build and kind of cache; None if switched off."""
    cap = options.prefix_mb * 1024 * 1024
    if not cap:
        return None
    parts = (
        info.fingerprint,
        file_sample(info.path),
        build_identity(),
        cache.kv_type,
        cache.flash_attention,
    )
    return PrefixStore(cache_dir() / "prefixes", " ".join(parts), cap=cap)


def _serve_chat(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """Schedule in this thread, listen in another."""
    chat = ChatModel(start, writer)
    writer.send(chat.description)

    def listen() -> None:
        try:
            while (message := receive(stream_in)) is not None:
                if not _obey(chat, message, writer):
                    break
        finally:
            # Also after a fault of its own: a worker that hears nothing more is of no use.
            chat.scheduler.stop()
            # The native library may be in the middle of a step; the parent is gone and waits for nobody.
            threading.Timer(5.0, os._exit, (0,)).start()

    threading.Thread(target=listen, daemon=True, name="listener").start()
    code = 1
    try:
        chat.scheduler.run()
        code = 0
    finally:
        # Not by the usual way out: it waits for the thread that reads, and aborts.
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def _obey(chat: ChatModel, message: Message, writer: Writer) -> bool:
    """Carry out one message; False ends the worker."""
    if message["op"] == "stop":
        return False
    if message["op"] == "cancel":
        chat.scheduler.cancel(message["id"])
        return True
    if message["op"] == "pause":
        chat.scheduler.pause(message["paused"])
        return True
    try:
        counts = _counts(chat, message)
    except (LocalragError, ValueError) as error:
        writer.send(_refused(message, error))
    else:
        if counts is not None:
            writer.send({"event": "counted", "id": message["id"], "counts": counts})
    return True


def _refused(message: Message, error: LocalragError | ValueError) -> Message:
    """The answer to a message that cannot be obeyed."""
    told = error.message if isinstance(error, LocalragError) else str(error)
    hint = error.hint if isinstance(error, LocalragError) else ""
    kind = type(error).__name__
    return {"event": "refused", "id": message["id"], "error": told, "hint": hint, "kind": kind}


def _counts(chat: ChatModel, message: Message) -> list[int] | dict[str, Any] | None:
    """The numbers that a message asks for; None for one that starts work and is answered later."""
    order = message["op"]
    if order == "count":
        return [len(chat.tokenize(text, False)) for text in message["texts"]]
    if order == "prompt_tokens":
        prompt = chat.template.render(_messages(message), chat.tokenize)
        return [len(prompt.shared) + len(prompt.own)]
    if order == "memory":
        return [sizing.memory_mb()]
    if order == "stats":
        return chat.scheduler.stats() | _alive("Job", "Matcher")
    chat.submit(message)
    return None


def _alive(*classes: str) -> dict[str, int]:
    """How many objects of some classes exist; more than are in use would be a leak."""
    gc.collect()
    names = [type(thing).__name__ for thing in gc.get_objects()]
    return {f"alive_{name.lower()}": names.count(name) for name in classes}


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
    options = options_of(start)
    size = sizing.choose(info, threads=options.threads)
    model = Model(path, offload=Offload.of(options))
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
            vectors = context.embed(message["texts"], lambda: writer.send({"event": "alive"}))
        except LocalragError as error:
            writer.send(_refused(message, error))
            continue
        writer.send({"event": "vectors", "id": message["id"], "vectors": pack(vectors)})


def _serve_tuning(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """Measurements of a model, whenever they are asked for."""
    from localrag.engine.trial import serve

    serve(start, stream_in, writer)


def _serve_reranking(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """One ranking after the other."""
    from localrag.engine.reranking import serve

    serve(start, stream_in, writer)


_SERVERS = {
    "chat": _serve_chat,
    "embed": _serve_embedding,
    "rerank": _serve_reranking,
    "tune": _serve_tuning,
}
"""What each role does."""


if __name__ == "__main__":
    sys.exit(main())
