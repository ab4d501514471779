"""One application per page: a process that lives as long as the page does, and ends for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

STOP_SECONDS = 14.0
"""How long an application may take to end; it closes its file within less."""

_MOST_CELLS = 1000


class Application(AppService):
    """The process of one page, started without a shell and ended within a bounded time."""

    def __init__(self, words: Sequence[str], socket: web.WebSocketResponse, files: DownloadManager) -> None:
        """`words` is the command; what the application draws goes to `socket`."""

        async def close() -> None:
            await socket.close()

        super().__init__(
            "localrag",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=files,
        )
        self._words = words

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start it, in a group of its own: ctrl+c at the server is told to it by the server."""
        self._process = await asyncio.create_subprocess_exec(
            *self._words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(width=width, height=height),
            start_new_session=sys.platform != "win32",
        )
        self._stdin = self._process.stdin
        return self._process

    async def stop(self) -> None:
        """Let it end, and kill it with all that it started if it does not."""
        process = self._process
        try:
            await asyncio.wait_for(super().stop(), STOP_SECONDS)
            if process is not None:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            if process is not None and process.returncode is None:
                _kill(process)
                await process.wait()


class Sessions:
    """The applications that run."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._files = DownloadManager()
        self._sockets: set[web.WebSocketResponse] = set()

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """Run an application for as long as the page that asks is open."""
        socket = web.WebSocketResponse(heartbeat=15)
        await socket.prepare(request)
        application = Application(self._words, socket, self._files)
        self._sockets.add(socket)
        try:
            width, height = request.query.get("width"), request.query.get("height")
            await application.start(_cells(width, 80), _cells(height, 24))
            await _pass_on(socket, application)
        finally:
            self._sockets.discard(socket)
            # The server may be about to end, which must not leave the application behind.
            await asyncio.shield(application.stop())
            await socket.close()
        return socket

    async def close(self) -> None:
        """End all; the applications end with their pages."""
        for socket in set(self._sockets):
            with contextlib.suppress(ConnectionError):
                await socket.close(message=b"localrag web has ended")


async def _pass_on(socket: web.WebSocketResponse, application: Application) -> None:
    """Give what a person does in the page to the application, until the page is closed."""
    async for message in socket:
        if message.type != WSMsgType.TEXT:
            continue
        try:
            said = message.json()
        except ValueError:  # not of our page
            return
        match said:
            case ["stdin", str(data)]:
                await application.send_bytes(data.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await application.set_terminal_size(_bounded(width), _bounded(height))
            case ["ping", data]:
                await socket.send_json(["pong", data])
            case ["blur"]:
                await application.blur()
            case ["focus"]:
                await application.focus()


def _cells(text: str | None, default: int) -> int:
    return _bounded(int(text)) if text is not None and text.isdecimal() else default


def _bounded(cells: int) -> int:
    return max(1, min(cells, _MOST_CELLS))


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
