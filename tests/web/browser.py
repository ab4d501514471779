"""A headless browser for tests, driven over its DevTools protocol; it notes everything that it asks for."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

# Nothing of the browser's own may look like a request of the page, and no name but loopback's is looked up.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--window-size=1200,800",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

SECONDS = 60.0


def program() -> str | None:
    """The browser of this machine; None if there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Page:
    """A tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.addresses: list[str] = []
        """Everything that was asked for, in order."""
        self.complaints: list[str] = []
        """What the browser refused, and what failed in the page."""
        self.drawn = ""
        """What was sent to the terminal in the page."""

    @property
    def hosts(self) -> set[str]:
        """The hosts of everything that was asked for; what lies in the page itself has none."""
        return {urlsplit(address).netloc for address in self.addresses} - {""}

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command and wait for its result."""
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return await asyncio.wait_for(future, SECONDS)

    async def evaluate(self, script: str) -> Any:
        """The value of some script in the page."""
        done = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return done["result"].get("value")

    async def press(self, key: str, code: int, *, control: bool = False) -> None:
        """Press and release a key."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        await self.call("Input.dispatchKeyEvent", type="rawKeyDown", **common)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    async def type(self, text: str) -> None:
        """Type or paste some text."""
        await self.call("Input.insertText", text=text)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something."""
        deadline = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"{what}: it did not happen; {self.complaints}"
            await asyncio.sleep(0.05)

    async def listen(self) -> None:
        """Take what the browser tells, until it is closed."""
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                future = self._waiting.pop(told["id"])
                if not future.done():
                    if "error" in told:
                        future.set_exception(AssertionError(told["error"]))
                    else:
                        future.set_result(told["result"])
            else:
                self._note(told["method"], told["params"])

    def _note(self, method: str, said: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.addresses.append(said["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.addresses.append(said["url"])
        elif method == "Network.webSocketFrameReceived" and said["response"]["opcode"] == 2:
            data = base64.b64decode(said["response"]["payloadData"])
            self.drawn += data.decode("utf-8", "replace")
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.complaints.append(said["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(said["exceptionDetails"])[:500])


@asynccontextmanager
async def browsing(folder: Path) -> AsyncIterator[Page]:
    """A browser with an empty tab, gone at the end. `folder` takes what it keeps."""
    found = program()
    assert found is not None
    profile = folder / "profile"
    words = [found, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
    try:
        port = await _port(profile / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = await answer.json(content_type=None)
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with client.ws_connect(address, max_msg_size=0) as socket:
                page = Page(socket)
                listening = asyncio.create_task(page.listen())
                for name in ("Network", "Page", "Runtime", "Log"):
                    await page.call(f"{name}.enable")
                yield page
                listening.cancel()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + SECONDS
    while not (file.exists() and file.read_text().strip()):
        assert process.poll() is None, "The browser does not start."
        assert time.monotonic() < deadline, "The browser does not tell its port."
        await asyncio.sleep(0.05)
    return int(file.read_text().split()[0])
