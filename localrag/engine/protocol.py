"""How parent and worker talk: one JSON object a line, over the worker's standard input and output.

ASCII-only JSON carries any text, lone surrogates included, and a line can be read without knowing its length.
"""

from __future__ import annotations

import base64
import json
import threading
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Message = dict[str, Any]


class Writer:
    """Sends messages; may be used by several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Write one message and flush. Raises `OSError` if the other side is gone."""
        data = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii") + b"\n"
        with self._lock:
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def receive(stream: BinaryIO) -> Message | None:
    """Read one message; None at the end of the stream or for a line that was cut off."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message: Message = json.loads(line)
    return message


def pack(vectors: NDArray[np.float32]) -> str:
    """An array as text."""
    return base64.b64encode(np.ascontiguousarray(vectors, dtype="<f4").tobytes()).decode("ascii")


def unpack(text: str, dimension: int) -> NDArray[np.float32]:
    """Undo `pack`; shape (n, dimension)."""
    flat = np.frombuffer(base64.b64decode(text), dtype="<f4")
    return np.array(flat.reshape(-1, dimension), dtype=np.float32)
