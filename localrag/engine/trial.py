"""The worker's role `tune`: loads a model once and takes times of reading and of writing many texts together.

What many texts hold is read once and copied into their sequences as native
state, which costs memory and no computing; so a batch can be timed that would take minutes to read.
"""

from __future__ import annotations

import time
from itertools import cycle, islice
from pathlib import Path
from typing import BinaryIO

from localrag.engine.gguf import inspect
from localrag.engine.kinds import check_kind
from localrag.engine.llama import Context, Entry, Model
from localrag.engine.offload import Offload, devices
from localrag.engine.options import options_of
from localrag.engine.protocol import Message, Writer, receive
from localrag.engine.tuned import to_message
from localrag.engine.tuning import Trial, TrialSpec, Tuner
from localrag.errors import EngineError, LocalragError

_TEXT = (
    "The keeper of the lighthouse wrote a letter to the harbour office on the third of May. The ferry had "
    "left the island at noon with forty boxes of glass, and nobody had seen it since the fog came in. "
    "渡轮在中午离开了小岛，船上有四十箱玻璃。\n"
)


class NativeTrial:
    """A context of the native library that is timed and then freed."""

    def __init__(self, model: Model, spec: TrialSpec) -> None:
        """Raises `EngineError` if there is no memory for it."""
        self._context = Context(
            model,
            n_ctx=-(-spec.cells // 256) * 256,
            sequences=spec.sequences,
            threads=spec.threads,
            batch=spec.batch,
            kv_type=spec.kv_type,
            flash_attention=spec.flash_attention,
        )
        tokens = model.tokenize(_TEXT, special=False) or [0]
        self._tokens = list(islice(cycle(tokens), spec.batch))
        self._filled = 0
        self._past = 0

    def read(self, tokens: int) -> float:
        """Seconds in which the first sequence, emptied before, reads so many tokens in one step."""
        for sequence in range(max(self._filled, 1)):
            self._context.remove(sequence)
        self._filled, self._past = 1, tokens
        return self._step(
            [Entry(token, i, 0, i == tokens - 1) for i, token in enumerate(self._tokens[:tokens])]
        )

    def spread(self, cells: int, sequences: int) -> None:
        """Let each of so many sequences hold what the first has read, cut to `cells` tokens."""
        if self._past > cells:
            self._context.remove(0, cells)
            self._past = cells
        state = self._context.state(0)
        for sequence in range(self._filled, sequences):
            if not self._context.restore(sequence, state):
                raise EngineError("The state of a text could not be copied.")
        self._filled = max(self._filled, sequences)

    def write(self, sequences: int) -> float:
        """Seconds of one step in which each of so many sequences gets one token; it is forgotten then."""
        seconds = self._step(
            [Entry(self._tokens[s % len(self._tokens)], self._past, s, True) for s in range(sequences)]
        )
        for sequence in range(sequences):
            self._context.remove(sequence, self._past)
        return seconds

    def close(self) -> None:
        """Free the memory."""
        self._context.close()

    def _step(self, entries: list[Entry]) -> float:
        began = time.perf_counter()
        code = self._context.decode(entries)
        # With a device that computes by itself, the time is over when the scores are there.
        self._context.logits(len(entries) - 1)
        if code != 0:
            raise EngineError(f"A step of {len(entries)} tokens was not computed (code {code}).")
        return time.perf_counter() - began


def serve(start: Message, stream_in: BinaryIO, writer: Writer) -> None:
    """Serve one parent: load, say what there is, and measure whenever it is asked for."""
    path = Path(start["path"])
    options = options_of(start)
    info = inspect(path)
    model = Model(path, offload=Offload.of(options))
    check_kind(info, model)
    writer.send(
        {
            "event": "ready",
            "name": info.name,
            "devices": [[device.name, device.description, device.kind] for device in devices()],
            "notes": [model.note] if model.note else [],
        }
    )

    def open_trial(spec: TrialSpec) -> Trial:
        return NativeTrial(model, spec)

    while (message := receive(stream_in)) is not None and message["op"] == "tune":
        number = message["id"]

        def tell(text: str, number: int = number) -> None:
            writer.send({"event": "step", "id": number, "text": text})

        try:
            tuning = Tuner(info, options, open_trial, tell=tell, seconds=float(message["seconds"])).run()
        except LocalragError as error:
            writer.send({"event": "refused", "id": number, "error": str(error)})
            continue
        writer.send({"event": "tuned", "id": number, "tuning": to_message(tuning)})
