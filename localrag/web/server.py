"""The server on loopback: checks every request at the gate, and serves the page and what belongs to it."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from localrag.errors import UsageError
from localrag.web import pages
from localrag.web.gate import Gate, loopback
from localrag.web.sessions import STOP_SECONDS, Sessions

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_LOOK_SECONDS = 0.2


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on loopback; port 0 is any that is free. Raises `UsageError`."""
    address = loopback(host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there it would let two servers share a port
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((address, port))
        taken.listen()
    except OSError as error:
        taken.close()
        raise UsageError(
            f"Port {port} cannot be used: {error.strerror}.", "Leave --port away and a free one is taken."
        ) from error
    return taken


class Server:
    """Serves the application to browsers of this machine."""

    def __init__(self, taken: socket.socket, kb: Path | None) -> None:
        """`taken` listens on loopback; `kb` is what every page opens, else the person chooses there."""
        self._socket = taken
        address, port = taken.getsockname()[:2]
        self.gate = Gate(address, port)
        words = [sys.executable, "-m", "localrag.web.application", *([str(kb.absolute())] if kb else [])]
        self._title = kb.name if kb else "localrag"
        self._sessions = Sessions(words)

    def run(self, stop: threading.Event, ready: Callable[[str], None]) -> None:
        """Serve until `stop` is set; `ready` is given the address once it can be opened."""
        asyncio.run(self._run(stop, ready))

    async def _run(self, stop: threading.Event, ready: Callable[[str], None]) -> None:
        runner = web.AppRunner(self._make(), access_log=None, shutdown_timeout=STOP_SECONDS + 2)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket).start()
            ready(self.gate.address)
            while not stop.is_set():
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            await runner.cleanup()

    def _make(self) -> web.Application:
        made = web.Application(middlewares=[self._guard])
        made.router.add_get("/", self._index)
        made.router.add_get("/ws", self._sessions.serve)
        made.router.add_static("/static", Path(str(files("textual_serve"))) / "static")
        made.router.add_static("/page", pages.FOLDER)

        async def close(_: web.Application) -> None:
            await self._sessions.close()

        made.on_shutdown.append(close)
        return made

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse whatever does not come from a page of ours, whoever sends it."""
        host = request.headers.get("Host")
        if not self.gate.knows_host(host):
            return _refuse(403, "This server was asked for by a name that is not its own.", "")
        origin = request.headers.get("Origin")
        needs_origin = request.path == "/ws" or request.method not in {"GET", "HEAD"}
        if (needs_origin or origin is not None) and not self.gate.knows_origin(origin):
            return _refuse(403, "A page from elsewhere may not speak to localrag.", "")
        if request.path == "/" and "token" in request.query:
            return self._exchange(request.query["token"])
        if not self.gate.admits(request.cookies.get(self.gate.cookie)):
            return _refuse(
                403,
                "localrag does not know this browser.",
                "Open the address that localrag web printed. It works once; to open localrag in another "
                "browser, start localrag web again.",
            )
        response = await _answer(request, handler)
        if not response.prepared:
            response.headers.update(pages.headers(request.host))
        return response

    def _exchange(self, token: str) -> web.Response:
        """Take the token, give the cookie, and lead to an address without a secret in it."""
        secret = self.gate.exchange(token)
        if secret is None:
            return _refuse(
                403,
                "This address was used already, or it is of an earlier start.",
                "An address works once. Start localrag web again to get another.",
            )
        response = web.Response(status=303, headers={"Location": "/", **pages.headers()})
        response.set_cookie(self.gate.cookie, secret, httponly=True, samesite="Strict", path="/")
        return response

    async def _index(self, request: web.Request) -> web.Response:
        return web.Response(text=pages.terminal_page(request.host, self._title), content_type="text/html")


async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _refuse(error.status, f"{error.reason}.", "")


def _refuse(status: int, words: str, hint: str) -> web.Response:
    return web.Response(
        status=status,
        text=pages.refusal_page(words, hint),
        content_type="text/html",
        headers=pages.headers(),
    )
