"""Who is let in: one browser of this machine, by a token that works once, and no page from elsewhere."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from localrag.errors import UsageError
from localrag.web import pages
from localrag.web.gate import Gate, loopback
from localrag.web.server import Server, listen


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("[::1]", "::1"), ("127.1.2.3", "127.1.2.3")],
)
def test_addresses_of_this_machine(host: str, address: str) -> None:
    assert loopback(host) == address


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.5", "10.0.0.1", "example.org", "localhost.example", ""]
)
def test_addresses_that_others_reach_are_refused(host: str) -> None:
    with pytest.raises(UsageError, match="this machine alone"):
        loopback(host)


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with listen("127.0.0.1", 0) as taken, pytest.raises(UsageError, match="cannot be used"):
        listen("127.0.0.1", taken.getsockname()[1])


def test_the_token_works_once_and_the_cookie_only_after_it() -> None:
    gate = Gate("127.0.0.1", 4000)
    token = gate.address.partition("token=")[2]
    assert len(token) >= 40
    assert gate.exchange(token[:-1]) is None
    assert not gate.admits("")
    assert not gate.admits(None)
    secret = gate.exchange(token)
    assert secret is not None
    assert gate.admits(secret)
    assert not gate.admits(secret[:-1])
    assert not gate.admits("é")
    assert gate.exchange(token) is None
    assert gate.exchange("None") is None


def test_names_and_origins_are_its_own() -> None:
    gate = Gate("::1", 4000)
    assert gate.address.startswith("http://[::1]:4000/?token=")
    assert gate.knows_host("[::1]:4000")
    assert gate.knows_host("LOCALHOST:4000")
    assert not any(map(gate.knows_host, (None, "", "localhost", "localhost:4001", "evil.example:4000")))
    assert gate.knows_origin("http://localhost:4000")
    foreign = (None, "null", "http://localhost:4001", "https://localhost:4000", "http://evil.example:4000")
    assert not any(map(gate.knows_origin, foreign))


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Server]:
    """A server without applications."""
    stop, ready = threading.Event(), threading.Event()
    server = Server(listen("127.0.0.1", 0), None)
    thread = threading.Thread(target=server.run, args=(stop, lambda _: ready.set()))
    thread.start()
    assert await asyncio.to_thread(ready.wait, 20)
    yield server
    stop.set()
    await asyncio.to_thread(thread.join, 20)
    assert not thread.is_alive()


async def test_every_door_is_shut_but_for_the_browser_with_the_token(served: Server) -> None:
    home = served.gate.address.partition("?")[0]
    host = home.removeprefix("http://").removesuffix("/")
    secret: dict[str, str] = {}

    async def status(path: str, method: str = "GET", **headers: str) -> int:
        asked = client.request(method, home + path, headers=secret | headers, allow_redirects=False)
        async with asked as answer:
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            return answer.status

    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        for path in ("", "static/js/textual.js", "page/page.css", "ws", "?token=wrong", "nowhere"):
            assert await status(path) == 403, path
        assert await status("?" + served.gate.address.partition("?")[2], Host="evil.example") == 403
        async with client.get(served.gate.address, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            given = answer.headers["Set-Cookie"]
        assert "HttpOnly" in given
        assert "SameSite=Strict" in given
        assert await status("?" + served.gate.address.partition("?")[2]) == 403
        secret["Cookie"] = given.partition(";")[0]
        for path in ("", "static/js/textual.js", "static/css/xterm.css", "page/page.css", "page/page.js"):
            assert await status(path) == 200, path
        assert await status("nowhere") == 404
        assert await status("static/../gate.py") == 404
        assert await status("static/") == 403, "no listing"
        assert await status("", "POST", Origin=home.removesuffix("/")) == 405
        assert await status("", "POST") == 403
        assert await status("", Host=f"rebound.example:{host.rpartition(':')[2]}") == 403
        assert await status("", Origin="http://evil.example") == 403
        for origin in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(home + "ws", headers=secret | origin)
            assert refused.value.status == 403


def test_what_is_shown_in_a_page_cannot_become_a_part_of_it() -> None:
    page = pages.terminal_page("127.0.0.1:1", '<script>"$socket.localrag')
    assert '<script>"' not in page
    assert "&lt;script&gt;&quot;$socket.localrag" in page


def test_the_pages_name_no_other_host() -> None:
    for file in pages.FOLDER.iterdir():
        assert "//" not in file.read_text().replace("// The keys", ""), file.name


def test_a_socket_of_the_server_is_on_loopback() -> None:
    with listen("localhost", 0) as taken:
        assert taken.family == socket.AF_INET
        assert taken.getsockname()[0] == "127.0.0.1"
