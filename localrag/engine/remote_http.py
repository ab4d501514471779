"""Speaks HTTP to one server: JSON calls and event streams, patience by silence, retries, plain errors.

The standard library's client is enough for that, and it does nothing by itself: it reads no proxy from the
environment and follows no redirect, so text goes to the address that was named and nowhere else.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localrag.engine.remote_address import KEY_VARIABLE, Address
from localrag.engine.remote_waiting import Patience, Stop
from localrag.errors import EngineError, RemoteRefused, RemoteUnreachable

_BUSY = (408, 425, 429, 500, 502, 503, 504)
"""Answers after which the same call may succeed; 500 only where the server gives no reason of the request."""

_RETRIED = (429, 502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
_MOST_BYTES = 256 << 20
_MOST_LINE = 4 << 20
_IDLE_CONNECTIONS = 64
_SHOWN = 200


@dataclass(frozen=True)
class _Exchange:
    """A request that was heard."""

    connection: http.client.HTTPConnection
    """It may let go of its socket while the response is still read."""

    socket: socket.socket
    """What the response is read from."""

    response: http.client.HTTPResponse
    """Status and headers are read."""


class Server:
    """One server. Safe to use from several threads; connections are kept open between calls."""

    def __init__(self, address: Address, key: str = "", patience: Patience | None = None) -> None:
        """`key` is sent as a bearer token; it appears in no message."""
        self.address = address
        self.patience = patience or Patience()
        self._key = key
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def call(self, path: str, body: object | None = None, stop: Stop | None = None) -> Any:
        """The JSON answer to a GET, or with `body` to a POST.

        Raises `RemoteUnreachable` if the server cannot be had, `RemoteRefused` if it says no or what it says
        is no JSON, and `Cancelled`.
        """
        stop = stop or Stop()
        with self._answer(path, body, stop) as exchange:
            data = self._read_all(exchange.response, stop)
        try:
            return json.loads(data)
        except ValueError as error:
            raise RemoteRefused(
                f"{self.address.shown} answered {path} with something that is no JSON.",
                "Is that the address of a model server, and the dialect the right one?",
            ) from error

    def events(self, path: str, body: object, stop: Stop | None = None) -> Iterator[dict[str, Any]]:
        """The JSON objects of an event stream, up to `[DONE]` or the connection's end.

        Silence is counted from one object to the next: comments that keep a connection alive do not count.
        Raises as `call` does; a stream that breaks off raises `RemoteUnreachable`.
        """
        stop = stop or Stop()
        with self._answer(path, body, stop) as exchange:
            kind = exchange.response.getheader("Content-Type", "")
            if not kind.startswith("text/event-stream"):
                raise RemoteRefused(
                    f"{self.address.shown} answered {path} with {kind or 'no type'} instead of a stream.",
                    "Is the dialect the right one?",
                )
            for line in self._lines(exchange, stop):
                field, _, value = line.partition(":")
                if field == "error":
                    raise self._refused(path, 0, value.encode())
                if field != "data":
                    continue
                if value.strip() == "[DONE]":
                    return
                yield self._object(path, value)

    def close(self) -> None:
        """Close the connections that are kept open; a later call opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    # One exchange.

    @contextlib.contextmanager
    def _answer(self, path: str, body: object | None, stop: Stop) -> Iterator[_Exchange]:
        """The response to a request that the server took. A connection that was read to its end is kept."""
        data = None if body is None else json.dumps(body, ensure_ascii=True).encode("ascii")
        exchange = self._ask_until_heard(path, data, stop)
        clean = False
        try:
            with self._held(exchange, stop):
                yield exchange
            clean = exchange.response.isclosed() and not exchange.response.will_close
        finally:
            if clean:
                self._keep(exchange.connection)
            else:
                exchange.response.close()
                exchange.connection.close()

    @contextlib.contextmanager
    def _held(self, exchange: _Exchange, stop: Stop) -> Iterator[None]:
        try:
            with stop.holds(exchange.socket):
                yield
        except (OSError, http.client.HTTPException) as error:
            stop.check()
            if isinstance(error, TimeoutError):
                raise self._silent() from error
            raise self._broken() from error

    def _ask_until_heard(self, path: str, data: bytes | None, stop: Stop) -> _Exchange:
        """Ask, again after a pause while the server is not there or busy."""
        pause = _FIRST_PAUSE
        for left in range(self.patience.retries, -1, -1):
            stop.check()
            wait = pause
            try:
                exchange = self._ask(path, data, stop)
            except RemoteUnreachable:
                if not left:
                    raise
            else:
                response = exchange.response
                if response.status < 300:
                    return exchange
                with self._held(exchange, stop):
                    said = response.read(1 << 16)
                response.close()
                exchange.connection.close()
                if response.status not in _RETRIED or not left:
                    raise self._refused(path, response.status, said)
                wait = max(pause, _retry_after(response))
            stop.pause(min(wait, _LONGEST_PAUSE))
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _ask(self, path: str, data: bytes | None, stop: Stop) -> _Exchange:
        kept = self._kept()
        if kept is not None:
            # The server may have closed it meanwhile; that is no failure, and a new one is opened.
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._send(kept, path, data, stop)
            kept.close()
            stop.check()
        connection = self._connect()
        try:
            return self._send(connection, path, data, stop)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            stop.check()
            if isinstance(error, TimeoutError):
                raise self._silent() from error
            raise RemoteUnreachable(
                f"{self.address.shown} closed the connection without an answer.", "Look at the server's log."
            ) from error

    def _connect(self) -> http.client.HTTPConnection:
        address = self.address
        make = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = make(address.host, address.port, timeout=self.patience.connect)
        try:
            connection.connect()
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", "") or error.reason or "the handshake failed"
            raise RemoteRefused(
                f"{address.shown} cannot prove who it is ({reason}).", "Correct the server's certificate."
            ) from error
        except OSError as error:
            raise RemoteUnreachable(
                f"{address.shown} cannot be reached ({_reason(error)}).",
                "Start the server, or correct the address under [remote] in the settings.",
            ) from error
        return connection

    def _send(
        self, connection: http.client.HTTPConnection, path: str, data: bytes | None, stop: Stop
    ) -> _Exchange:
        headers = {"Accept": "application/json, text/event-stream", "User-Agent": "localrag"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if data is not None:
            headers["Content-Type"] = "application/json"
        held = connection.sock
        held.settimeout(self.patience.first)
        with stop.holds(held):
            connection.request(
                "GET" if data is None else "POST", self.address.path + path, body=data, headers=headers
            )
            return _Exchange(connection, held, connection.getresponse())

    def _kept(self) -> http.client.HTTPConnection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    # Reading.

    def _read_all(self, response: http.client.HTTPResponse, stop: Stop) -> bytes:
        data = bytearray()
        while piece := response.read(1 << 20):
            stop.check()
            data += piece
            if len(data) > _MOST_BYTES:
                raise RemoteRefused(f"{self.address.shown} sent an answer without end.")
        stop.check()
        return bytes(data)

    def _lines(self, exchange: _Exchange, stop: Stop) -> Iterator[str]:
        """Lines of a stream. An object must come in time, however many other lines come before it."""
        waiting = bytearray()
        deadline = time.monotonic() + self.patience.first
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._silent()
            exchange.socket.settimeout(left)
            piece = exchange.response.read1(1 << 16)
            stop.check()
            waiting += piece
            *lines, rest = waiting.split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip("\r")
                if text.startswith("data:"):
                    deadline = time.monotonic() + self.patience.between
                if text and not text.startswith(":"):
                    yield text
            waiting = bytearray(rest)
            if len(waiting) > _MOST_LINE:
                raise RemoteRefused(f"{self.address.shown} sent a line without end.")
            if not piece:
                return

    def _object(self, path: str, text: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise RemoteRefused(f"{self.address.shown} sent a piece of a stream that is no JSON.") from error
        if not isinstance(value, dict):
            raise RemoteRefused(f"{self.address.shown} sent a piece of a stream that is no object.")
        if value.get("error"):
            raise self._refused(path, 0, text.encode())
        return value

    # Errors.

    def _broken(self) -> RemoteUnreachable:
        return RemoteUnreachable(
            f"{self.address.shown} broke off in the middle of its answer.", "Look at the server's log."
        )

    def _silent(self) -> RemoteUnreachable:
        return RemoteUnreachable(
            f"{self.address.shown} has been silent for too long.",
            "It may be overloaded; remote.first_token and remote.silence say how long is waited.",
        )

    def _refused(self, path: str, status: int, said: bytes) -> EngineError:
        reason = self._clean(_message(said))
        where = self.address.shown
        if status in (401, 403):
            return RemoteRefused(
                f"{where} wants a key, or another one ({status}).", f"Set the variable {KEY_VARIABLE}."
            )
        if status == 404:
            return RemoteRefused(
                f"{where} has no {path} ({reason or 'not found'}).",
                "Correct the address, or remote.dialect (llama-server or openai), or the model's name.",
            )
        if 300 <= status < 400:
            return RemoteRefused(
                f"{where} sends {path} on to another address ({status}), which is not followed.",
                "Name the server itself.",
            )
        if status in _BUSY:
            return RemoteUnreachable(
                f"{where} is not able to answer now ({status}{f': {reason}' if reason else ''}).",
                "Wait, or look at the server's log.",
            )
        return RemoteRefused(f"{where} refuses {path} ({f'{status}: ' if status else ''}{reason}).")

    def _clean(self, text: str) -> str:
        """A server's words, short, on one line, and never with the key in them."""
        if self._key:
            text = text.replace(self._key, "…")
        printable = "".join(char if char.isprintable() else " " for char in text)
        return " ".join(printable.split())[:_SHOWN]


def _message(said: bytes) -> str:
    """The reason in an error's body: `error.message`, `error`, `message`, `detail`, else the text itself."""
    text = said.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except ValueError:
        return "" if text.lstrip().startswith("<") else text
    for _ in range(2):
        if isinstance(value, dict):
            value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), text)
    return value if isinstance(value, str) else json.dumps(value)


def _retry_after(response: http.client.HTTPResponse) -> float:
    text = response.getheader("Retry-After", "") or ""
    return float(text) if text.isdigit() else 0.0


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer to the call"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    return (error.strerror or str(error) or type(error).__name__).lower()
