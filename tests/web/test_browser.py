"""The application in a real browser: it draws, takes keys, ends, and asks no other host for anything."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.tui.support import library
from tests.web.browser import Page, browsing, program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

if program() is None:
    pytest.skip("no browser is installed: chromium", allow_module_level=True)

F1, F3, Q = 112, 114, 81


@dataclass
class Served:
    """`localrag web`, running."""

    process: subprocess.Popen[str]
    address: str

    @property
    def host(self) -> str:
        return self.address.split("/")[2]

    def applications(self) -> list[psutil.Process]:
        """The processes behind the pages."""
        return psutil.Process(self.process.pid).children()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    library(tmp_path)
    environment = {**os.environ, "LOCALRAG_CACHE": str(tmp_path / "cache"), "LOCALRAG_CONFIG": os.devnull}
    process = subprocess.Popen(
        [sys.executable, "-m", "localrag", "web", "--kb", "small.localrag"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    yield Served(process, process.stdout.readline().strip())
    if process.poll() is None:
        process.kill()
    process.communicate()


async def opened(page: Page, served: Served) -> None:
    await page.call("Page.navigate", url=served.address)
    await page.until(lambda: "Ask a question" in page.drawn, "the first screen")


async def test_it_is_drawn_and_driven_and_asks_no_other_host(served: Served, tmp_path: Path) -> None:
    async with browsing(tmp_path) as page:
        await opened(page, served)
        assert await page.evaluate("location.href") == f"http://{served.host}/"
        assert await page.evaluate("document.cookie") == ""
        fonts = "document.fonts.load('16px \"Roboto Mono\"').then(found => found.length)"
        assert await page.evaluate(fonts) == 1
        await page.press("F3", F3)
        await page.until(lambda: "harbour.md" in page.drawn, "the library")
        await page.press("F1", F1)
        await page.until(lambda: "Help" in page.drawn, "the help")
        picture = base64.b64decode((await page.call("Page.captureScreenshot", format="png"))["data"])
        assert len(picture) > 10_000, "an empty page makes a small picture"
        await page.press("q", Q, control=True)
        await asyncio.sleep(0)
        while not await page.evaluate("document.body.classList.contains('-closed')"):
            await asyncio.sleep(0.05)
        deadline = time.monotonic() + 20
        while served.applications():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        assert page.hosts == {served.host}
        assert page.complaints == []


async def test_a_page_that_is_closed_ends_its_application(served: Served, tmp_path: Path) -> None:
    async with browsing(tmp_path) as page:
        await opened(page, served)
        (application,) = served.applications()
        await page.call("Page.navigate", url="about:blank")
        application.wait(20)
    assert sorted(file.name for file in tmp_path.glob("small*")) == ["small.localrag"]


@pytest.mark.skipif(sys.platform == "win32", reason="not here: signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_the_applications_end_with_the_server(
    served: Served, tmp_path: Path, how: signal.Signals
) -> None:
    async with browsing(tmp_path) as page:
        await opened(page, served)
        (application,) = served.applications()
        served.process.send_signal(how)
        assert served.process.wait(25) == (-how if how == signal.SIGKILL else 0)
        application.wait(25)
        while not await page.evaluate("document.body.classList.contains('-closed')"):
            await asyncio.sleep(0.05)
