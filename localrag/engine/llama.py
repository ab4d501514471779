"""A thin, checked layer over llama.cpp's C functions: one model, one context, tokens in and logits out.

Only this module, `offload.py` and `embedding.py` call llama_cpp. It runs in the worker process. Every native
call whose failure would end the process (a batch larger than the context takes, a token outside the
vocabulary, a NULL pointer) is checked before it is made.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import llama_cpp as lib
import numpy as np
from numpy.typing import NDArray

from localrag.engine.offload import Offload, devices, place
from localrag.errors import EngineError, ModelInvalid

KV_TYPES = {
    "f32": lib.GGML_TYPE_F32,
    "f16": lib.GGML_TYPE_F16,
    "bf16": 30,  # GGML_TYPE_BF16, which the binding does not name
    "q8_0": lib.GGML_TYPE_Q8_0,
    "q5_1": lib.GGML_TYPE_Q5_1,
    "q4_0": lib.GGML_TYPE_Q4_0,
}
"""Types of the KV cache's cells."""

QUANTISED = frozenset({"q8_0", "q5_1", "q4_0"})
"""Those that need flash attention."""

FLASH_ATTENTION = {
    "auto": lib.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": lib.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": lib.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
"""Whether attention is computed in one go."""

_LOG: deque[str] = deque(maxlen=40)
_PIECE_BYTES = 1024


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _collect_log(level: int, text: bytes, _data: object) -> None:
    """Keep the last lines: they are the only place where a NULL result is explained."""
    if level >= 3:
        _LOG.append(text.decode("utf-8", "replace").rstrip())


_state = {"ready": False}


def start_backend() -> None:
    """Load the native library's back ends once and send its log to a list."""
    if not _state["ready"]:
        lib.llama_log_set(_collect_log, ctypes.c_void_p(0))
        lib.llama_backend_init()
        _state["ready"] = True


def system_info() -> str:
    """The features that the build was compiled with."""
    start_backend()
    info: bytes = lib.llama_print_system_info()
    return info.decode("utf-8", "replace").strip()


def build_identity() -> str:
    """The version of the binding and the features of its build."""
    return f"{getattr(llama_cpp, '__version__', '')} {system_info()}"


def last_log() -> str:
    """The last warning or error of the native library, or an empty text."""
    return _LOG[-1] if _LOG else ""


def well_formed(text: str) -> bytes:
    """UTF-8 that the tokeniser accepts: lone surrogates become question marks."""
    return text.encode("utf-8", "replace")


class Model:
    """A loaded model file and its vocabulary."""

    def __init__(self, path: Path, *, offload: Offload | None = None, vocabulary_only: bool = False) -> None:
        """Load a file, onto the processor if `offload` says nothing else.

        Raises `ModelInvalid` with the library's last words if it refuses, and `SettingsError` for devices
        that are not there.
        """
        start_backend()
        params = lib.llama_model_default_params()
        placement = place(offload or Offload(), devices(), int(lib.llama_max_devices()))
        placement.write(params)
        params.vocab_only = vocabulary_only
        self._model = lib.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ModelInvalid(f"{path.name} cannot be loaded: {last_log() or 'no reason given'}.")
        self._vocab = lib.llama_model_get_vocab(self._model)
        self.n_vocab: int = lib.llama_vocab_n_tokens(self._vocab)
        self.context_length: int = lib.llama_model_n_ctx_train(self._model)
        self.dimension: int = lib.llama_model_n_embd(self._model)
        self.parameters: int = lib.llama_model_n_params(self._model)
        self.hybrid = bool(lib.llama_model_is_hybrid(self._model))
        self.recurrent = self.hybrid or bool(lib.llama_model_is_recurrent(self._model))
        self.diffusion = bool(lib.llama_model_is_diffusion(self._model))
        self.has_encoder = bool(lib.llama_model_has_encoder(self._model))
        self.sliding_window: int = lib.llama_model_n_swa(self._model)
        self.note = placement.note
        self.ends = frozenset(t for t in range(self.n_vocab) if lib.llama_vocab_is_eog(self._vocab, t))

    @property
    def handle(self) -> Any:
        """The native model, for a context."""
        return self._model

    @property
    def vocabulary(self) -> Any:
        """The native vocabulary, for llguidance."""
        return self._vocab

    def tokenize(self, text: str, *, special: bool, add_ends: bool = False) -> list[int]:
        """Token ids of a text; `special` lets the text of control tokens become control tokens.

        `add_ends` adds what the vocabulary puts at both ends (BOS, CLS, SEP, EOS). May be called from any
        thread: the vocabulary does not change.
        """
        data = well_formed(text)
        room = len(data) + 16
        buffer = (lib.llama_token * room)()
        n = lib.llama_tokenize(self._vocab, data, len(data), buffer, room, add_ends, special)
        if n < 0:
            room = -n
            buffer = (lib.llama_token * room)()
            n = lib.llama_tokenize(self._vocab, data, len(data), buffer, room, add_ends, special)
        if n < 0:
            raise EngineError("A text could not be tokenised.")
        return list(buffer[:n])

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a token; control tokens have none."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        n = lib.llama_token_to_piece(self._vocab, token, buffer, _PIECE_BYTES, 0, False)
        if n < 0:
            buffer = ctypes.create_string_buffer(-n)
            n = lib.llama_token_to_piece(self._vocab, token, buffer, -n, 0, False)
        return buffer.raw[: max(n, 0)]

    def special_text(self, token: int) -> str:
        """The text of a control token as templates write it; empty for none."""
        if token < 0:
            return ""
        return (lib.llama_vocab_get_text(self._vocab, token) or b"").decode("utf-8", "replace")

    @property
    def bos(self) -> str:
        """The text of the token that begins a text."""
        return self.special_text(lib.llama_vocab_bos(self._vocab))

    @property
    def eos(self) -> str:
        """The text of the token that ends a text."""
        return self.special_text(lib.llama_vocab_eos(self._vocab))

    def close(self) -> None:
        """Free the weights."""
        if self._model:
            lib.llama_model_free(self._model)
            self._model = None


class AbortFlag:
    """A byte that stops a running decode from any thread, without the callback needing Python.

    The native library calls a function between the nodes of its graph. That function is libc's `strlen` on a
    two-byte buffer here: it returns 0 until the first byte is set, and needs no interpreter lock.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        libc = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)
        self.callback = ctypes.cast(libc.strlen, lib.ggml_abort_callback)
        self.data = ctypes.cast(self._buffer, ctypes.c_void_p)

    def set(self) -> None:
        """Stop the decode that is running, or the next one."""
        self._buffer[0] = b"\x01"

    def clear(self) -> None:
        """Let decodes run again."""
        self._buffer[0] = b"\x00"


@dataclass(frozen=True)
class Entry:
    """One token of a batch."""

    token: int
    """Id."""

    position: int
    """Place in its sequence, from 0."""

    sequence: int
    """Sequence id."""

    logits: bool
    """Whether the distribution after it is wanted."""


class Context:
    """A context with a unified KV cache for several sequences. Used by one thread."""

    def __init__(
        self,
        model: Model,
        *,
        n_ctx: int,
        sequences: int,
        threads: int,
        batch: int,
        kv_type: str = "f16",
        flash_attention: str = "auto",
        ubatch: int = 0,
    ) -> None:
        """Reserve memory for `n_ctx` cells of type `kv_type` (a key of `KV_TYPES`).

        `flash_attention` is `auto`, `on` or `off`; `ubatch` bounds the tokens computed at once within a
        batch, 0 takes all. Raises `EngineError` with the library's last words if
        there is not enough memory, and before any native call if a quantised cache is asked for without
        flash attention.
        """
        if kv_type not in KV_TYPES or flash_attention not in FLASH_ATTENTION:
            raise EngineError(f"There is no cache type {kv_type} or flash attention {flash_attention}.")
        if flash_attention == "off" and kv_type in QUANTISED:
            raise EngineError(
                f"A cache of type {kv_type} needs flash attention.",
                "Set engine.flash_attention to auto, or engine.kv_type to f16.",
            )
        params = lib.llama_context_default_params()
        params.n_ctx = n_ctx
        # With room for fewer tokens than sequences the library ends the process.
        batch = max(batch, sequences)
        params.n_batch = batch
        params.n_ubatch = max(min(ubatch or batch, batch), sequences)
        params.n_seq_max = sequences
        params.kv_unified = True
        params.n_threads = threads
        params.n_threads_batch = threads
        params.type_k = params.type_v = KV_TYPES[kv_type]
        # Left to choose, the library could leave it off, and then a quantised cache has no reason to fail.
        chosen = "on" if kv_type in QUANTISED else flash_attention
        params.flash_attn_type = FLASH_ATTENTION[chosen]
        params.swa_full = True
        self.abort = AbortFlag()
        params.abort_callback = self.abort.callback
        params.abort_callback_data = self.abort.data
        self._context = lib.llama_init_from_model(model.handle, params)
        if not self._context:
            raise EngineError(
                f"There is no memory for a context of {n_ctx} tokens ({last_log() or 'no reason given'}).",
                "Set engine.n_ctx to a smaller number.",
            )
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(batch, 0, 1)
        self._n_vocab = model.n_vocab
        self._limit = batch
        self.n_ctx: int = lib.llama_n_ctx(self._context)

    def decode(self, entries: Sequence[Entry]) -> int:
        """Run one batch; returns llama_decode's code: 0 done, 1 no room, 2 aborted.

        Raises `EngineError` for anything else, and for an empty or oversized batch.
        """
        if not 0 < len(entries) <= self._limit:
            raise EngineError(f"A batch of {len(entries)} tokens does not fit the engine.")
        batch = self._batch
        batch.n_tokens = len(entries)
        for i, entry in enumerate(entries):
            batch.token[i] = entry.token
            batch.pos[i] = entry.position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = entry.sequence
            batch.logits[i] = entry.logits
        code = int(lib.llama_decode(self._context, batch))
        if code not in (0, 1, 2):
            raise EngineError(f"The model could not be run (code {code}: {last_log() or 'no reason given'}).")
        return code

    def logits(self, index: int) -> NDArray[np.float32]:
        """Scores after the batch's entry `index`, shape (n_vocab,); valid until the next decode."""
        pointer = lib.llama_get_logits_ith(self._context, index)
        if not pointer:
            raise EngineError("The model gave no scores.")
        return np.ctypeslib.as_array(pointer, shape=(self._n_vocab,))

    def copy(self, source: int, target: int, end: int, *, start: int = 0) -> None:
        """Let `target` share the positions from `start` to before `end` of `source`."""
        lib.llama_memory_seq_cp(self._memory, source, target, start, end)

    def shift(self, sequence: int, start: int, end: int, distance: int) -> None:
        """Move the positions from `start` to before `end` of a sequence that shares no cells."""
        lib.llama_memory_seq_add(self._memory, sequence, start, end, distance)

    def remove(self, sequence: int, start: int = 0, end: int = -1) -> bool:
        """Forget a sequence from position `start` on, or up to before `end`.

        False if the model's memory cannot be cut there, as that of models with a running state cannot.
        """
        return bool(lib.llama_memory_seq_rm(self._memory, sequence, start, end))

    def state(self, sequence: int) -> bytes:
        """The native state of one sequence, which `restore` of an equal context takes."""
        size = lib.llama_state_seq_get_size(self._context, sequence)
        if not size:
            return b""
        buffer = (ctypes.c_uint8 * size)()
        written = lib.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(memoryview(buffer)[:written])

    def restore(self, sequence: int, state: bytes) -> bool:
        """Fill an empty sequence; False, and the sequence stays empty, if the state does not fit."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if lib.llama_state_seq_set_data(self._context, buffer, len(state), sequence):
            return True
        self.remove(sequence)
        return False

    def close(self) -> None:
        """Free batch and cache."""
        if self._context:
            lib.llama_batch_free(self._batch)
            lib.llama_free(self._context)
            self._context = None
