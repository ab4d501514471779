"""What must not break the application: any size, any text, floods of messages, and floods of text."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from localrag.answering.question import LONGEST
from localrag.engine.programs import CitedText
from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.tui import messages
from localrag.tui.app import LocalragApp
from localrag.tui.places import PLACES
from localrag.tui.widgets.status import StatusLine
from localrag.tui.words import IndexState
from tests.tui.support import (
    ask,
    ask_screen,
    last_turn,
    library,
    running,
    screen_text,
    sees,
    session_of,
    until,
)

STRANGE = {
    "報告書・第一四半期の売上と予測.md": "# 港の橋\n\n山田太郎は1911年に港の橋を修理した。東京の会社が石を運んだ。\n",  # noqa: E501
    "👩‍👩‍👧‍👦 family 🏳️‍🌈 ✈️ 🇳🇴.md": "# 👩‍👩‍👧‍👦 The family\n\nAda Lund 🌉 repaired the bridge 🛠️ in 1911.\n",
    "تقرير الجسر القديم.md": "# الجسر\n\nأصلحت آدا لوند جسر الميناء في عام 1911.\n",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞.md": "Ẑ̵̛a̶͓͝l̷͉̏g̶̙͂o̴̼͛ wrote about Ada Lund.\n",
    "สะพานท่าเรือ หนังสือ.md": "สะพานท่าเรือได้รับการซ่อมแซมโดย Ada Lund\n",
    "tab\there \u202eevil\u202c \u200bzero.md": "The lamp\u202e reversed\u202c of the\u200b lighthouse\tburns oil.\n",  # noqa: E501
    "a" * 200 + ".md": "word" * 400 + "\n",
}
"""Names and texts that are hard to lay out."""

ANSWER = (
    "港の橋は**山田太郎**が修理した。👩‍👩‍👧‍👦 family 🏳️‍🌈 and ✈️ 🇳🇴, أصلحت آدا لوند جسر الميناء, "
    "Ẑ̵̛a̶͓͝l̷͉̏g̶̙͂o̴̼͛ [1].\n\n| 名前 | 年 |\n|---|---|\n| 山田👩‍👩‍👧‍👦 | 1911 |\n\n" + "長" * 300
)


def strange_answer(request: GenerationRequest) -> str:
    """An answer that is as hard to lay out as the names."""
    return f"{ANSWER}{request.program.heading}[1]" if isinstance(request.program, CitedText) else ANSWER


def check_lines(app: LocalragApp) -> None:
    """Every line fills the terminal exactly, in cells."""
    assert app._exception is None
    width, height = app.size
    lines = ["".join(part.text for part in strip) for strip in app.screen._compositor.render_strips()]
    assert len(lines) == height
    wrong = [(cell_len(line), line) for line in lines if cell_len(line) != width]
    assert not wrong, f"{app.screen!r} at {width}: {wrong[:3]}"
    assert not any(character in line for line in lines for character in "\t\r\n\x1b\u202e"), screen_text(app)


async def visit_all(pilot: Pilot[None], app: LocalragApp, sizes: Sequence[tuple[int, int]]) -> None:
    """Go to every place and through every size there."""
    for place in PLACES:
        app.action_go(place.name)
        await until(pilot, lambda name=place.name: getattr(app.screen, "PLACE", "") == name)  # type: ignore[misc]
        for size in sizes:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            check_lines(app)


@pytest.mark.slow
async def test_every_place_stands_strange_text_at_any_size(tmp_path: Path) -> None:
    kb = library(tmp_path, STRANGE, indexed=True)
    async with running(kb, ScriptedModel(strange_answer), size=(80, 24)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the 港の橋 👩‍👩‍👧‍👦 جسر?")
        await until(pilot, lambda: turn.ended)
        sizes = [(width, 24) for width in range(20, 201, 9)]
        await visit_all(pilot, app, [*sizes, (60, 8), (80, 3), (20, 5), (1, 1), (140, 40)])


@pytest.mark.slow
async def test_every_place_keeps_its_lines_whole(tmp_path: Path) -> None:
    kb = library(tmp_path, STRANGE, indexed=True)
    async with running(kb, ScriptedModel(strange_answer), size=(80, 24)) as (app, pilot):
        turn = await ask(pilot, app, "Who repaired the 港の橋 👩‍👩‍👧‍👦 جسر?")
        await until(pilot, lambda: turn.ended)
        await visit_all(pilot, app, [(20, 24), (60, 24), (141, 40), (80, 24)])


async def test_a_paste_of_100_kb_is_taken_and_typing_goes_on(tmp_path: Path) -> None:
    async with running(library(tmp_path)) as (app, pilot):
        box = ask_screen(app).question
        await until(pilot, lambda: box.has_focus)
        line = "The harbour bridge was repaired in 1911 by Ada Lund and eleven men. 港の橋\n"
        for text in (line * (LONGEST // len(line)), "x" * (LONGEST - 10)):
            box.clear()
            box.post_message(events.Paste(text))
            await until(pilot, lambda text=text: box.text == text)  # type: ignore[misc]
            check_lines(app)
            await pilot.press(*"end!")
            await until(pilot, lambda: box.text.endswith("end!"))
            await pilot.resize_terminal(60, 20)
            check_lines(app)
        box.post_message(events.Paste(line * (100_000 // len(line))))
        await sees(pilot, "Nothing was pasted")
        assert box.text.endswith("end!"), "what was typed is kept"
        check_lines(app)


@pytest.mark.slow
async def test_a_paste_of_100_kb_into_any_box(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        seen = 0
        for place in PLACES:
            app.action_go(place.name)
            await until(pilot, lambda name=place.name: getattr(app.screen, "PLACE", "") == name)  # type: ignore[misc]
            await until(pilot, lambda: app.screen.is_mounted and app.screen.query(StatusLine))
            boxes = app.screen.query(Input)
            seen += len(boxes)
            for box in boxes:
                if box.display and box.focusable:
                    box.focus()
                    await pilot.pause()
                    box.post_message(events.Paste("x\x1b[31m\u202e" * 20_000 + "\nsecond"))
                    await pilot.pause(0.2)
                    check_lines(app)
                    await pilot.press("escape")
        assert seen >= 5


@pytest.mark.slow
async def test_places_that_are_just_opening_do_not_disturb_the_end(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, _):
        for place in PLACES:
            app.action_go(place.name)


class Flood:
    """An index run that is not there, but tells 200 times a second how far it is."""

    def __init__(self, app: LocalragApp, rate: float = 200.0) -> None:
        self._app = app
        self._rate = rate
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.told = 0

    def __enter__(self) -> Flood:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(10)

    def _run(self) -> None:
        session = session_of(self._app)
        while not self._end.wait(1 / self._rate):
            for message in flood_messages(self.told):
                messages.send(self._app, messages.Said(session, message))
            self.told += 1


def flood_messages(number: int) -> list[messages.FromSession]:
    """What an index run tells."""
    told: list[messages.FromSession] = [
        messages.IndexProgress(IndexState(number, 100_000, 12.0, 3600.0)),
    ]
    if number % 20 == 0:
        told.append(messages.IndexNote(f"letter{number}.md: the model wrote nothing that could be read"))
    return told


async def effect(app: LocalragApp, key: str, seen: Callable[[], bool]) -> float:
    """Seconds from a key until it has had its effect; a pilot would wait until nothing goes on at all."""
    started = time.perf_counter()
    app.post_message(events.Key(key, key if len(key) == 1 else None))
    while not seen():
        await asyncio.sleep(0.002)
        assert time.perf_counter() - started < 30, f"{key} has no effect"
    return time.perf_counter() - started


@pytest.mark.alone
@pytest.mark.parametrize("place", ["index", pytest.param("library", marks=pytest.mark.slow)])
async def test_keys_answer_while_an_index_run_floods(tmp_path: Path, place: str) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        app.action_go(place)
        await until(pilot, lambda: getattr(app.screen, "PLACE", "") == place)
        with Flood(app) as flood:
            await until(pilot, lambda: flood.told > 50)
            box = ask_screen(app).question
            slowest = 0.0
            await effect(app, "f2", lambda: app.screen is ask_screen(app))
            for key, seen in (
                ("f3", lambda: getattr(app.screen, "PLACE", "") == "library"),
                ("f4", lambda: getattr(app.screen, "PLACE", "") == "index"),
                ("f2", lambda: getattr(app.screen, "PLACE", "") == "ask"),
            ) * 2:
                took = await effect(app, key, seen)
                slowest = max(slowest, took if flood.told > 150 else 0.0)  # a first visit imports the place
            for count in range(1, 30):
                slowest = max(slowest, await effect(app, "x", lambda count=count: len(box.text) == count))  # type: ignore[misc]
        assert slowest < 0.5, f"a key took {slowest:.2f} s"


@pytest.mark.slow
async def test_a_flood_fills_no_memory(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True)) as (app, pilot):
        app.action_go("index")
        await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "index")

        async def flood(first: int, last: int) -> None:
            session = session_of(app)
            for number in range(first, last):
                for message in flood_messages(number):
                    messages.send(app, messages.Said(session, message))
                if number % 200 == 0:
                    await pilot.pause()
            await pilot.pause()

        def objects() -> int:
            gc.collect()
            return sum(isinstance(thing, (Widget, messages.FromSession)) for thing in gc.get_objects())

        await flood(0, 400)
        before = objects()
        await flood(400, 2_000)
        assert objects() < before + 40, "widgets or messages are kept"
        for _ in range(30):  # what is focused decides what the last line shows
            await pilot.press("tab")
        assert objects() < before + 80, "widgets are kept"
        check_lines(app)


@pytest.mark.slow
async def test_a_long_answer_does_not_hold_up_the_keys(tmp_path: Path) -> None:
    async with running(library(tmp_path, indexed=True), ScriptedModel(lambda _: "word " * 20_000)) as (
        app,
        pilot,
    ):
        await ask(pilot, app, "Who?")
        await until(pilot, lambda: last_turn(app).ended, 30)
        started = time.perf_counter()
        await pilot.press("f3")
        await until(pilot, lambda: getattr(app.screen, "PLACE", "") == "library")
        assert time.perf_counter() - started < 5
        check_lines(app)
