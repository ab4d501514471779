"""How questions are asked: the line above the question, and the dialog behind it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from textual.widgets import Input, Select, Static

from localrag.kb import KnowledgeBase
from localrag.retrieval.types import MODES as ALL_MODES
from localrag.tui.choices import MODES, Choices, chips, choices_of, joined, listed
from localrag.tui.screens.ask import AskScreen
from localrag.tui.screens.asking_options import OptionsDialog
from tests.tui.support import ask, ask_screen, engines, library, running, screen_text, sees, until


@pytest.mark.slow
async def test_choices_are_made_checked_shown_and_kept_with_the_conversation(tmp_path: Path) -> None:
    path = library(tmp_path, indexed=True)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        kb.tags.add("ships, and boats", ["harbour.md"])
    async with running(path) as (app, pilot):
        screen = ask_screen(app)
        await sees(pilot, "ctrl+o mode auto · strict · a few sentences · all documents")
        lines = screen_text(app).splitlines()
        row = next(place for place, line in enumerate(lines) if "all documents" in line)
        await pilot.click(offset=(lines[row].index("all documents") + 2, row))
        await until(pilot, lambda: isinstance(app.screen, OptionsDialog) and app.screen.is_mounted)
        dialog = app.screen
        await until(pilot, lambda: getattr(app.focused, "id", "") == "option-documents")
        await sees(pilot, "There are: [red]x[.txt, harbour.md")
        await pilot.press(*"mill.txt", "enter")
        await sees(pilot, "no document")
        assert app.screen is dialog
        field = dialog.query_one("#option-documents", Input)
        field.value = ""
        await pilot.press(*"harb")
        await until(pilot, lambda: field._suggestion == "harbour.md")
        await pilot.press("right")
        assert field.value == "harbour.md"
        dialog.query_one("#option-tags", Input).focus()
        await sees(pilot, "There are: ships, and boats")
        await pilot.press(*'"ships, and boats"')
        dialog.query_one("#option-mode", Select).value = "naive"
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        wanted = Choices(mode="naive", documents=("harbour.md",), tags=("ships, and boats",))
        assert screen.choices == wanted
        await sees(pilot, "[mode naive] · strict · a few sentences · [only harbour.md")
        turn = await ask(pilot, app, "Who bought the mill?")
        await until(pilot, lambda: turn.ended and not screen.session.questions.active)
        assert {cited.document for cited in turn.record.citations} <= {"harbour.md"}
        assert turn.record.facts.startswith("Mode naive")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, OptionsDialog) and app.screen.is_mounted)
        assert app.screen.query_one("#option-documents", Input).value == "harbour.md"
        assert app.screen.query_one("#option-tags", Input).value == '"ships, and boats"'
        await pilot.click("#usual")
        await until(pilot, lambda: screen.choices == Choices())
        await pilot.press("ctrl+n", "ctrl+b")
        await until(pilot, lambda: screen.sessions.list.count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: screen.choices == wanted)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(140, 40), (80, 24), (60, 20)])
async def test_the_dialog_fits_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(library(tmp_path), size=size) as (app, pilot):
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, OptionsDialog) and app.screen.is_mounted)
        await sees(pilot, "Cancel")
        for words in (
            "Mode",
            "Answers",
            "Form",
            "Wishes",
            "Documents",
            "Types",
            "Use",
            "As usual",
            "esc cancels",
        ):
            assert words in screen_text(app)
        app.screen.query_one("#option-since", Input).value = "soon"
        await pilot.press("ctrl+o")
        await sees(pilot, "is no day")
        assert app.screen.query_one("#option-problem", Static).display
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, AskScreen) and app.screen.is_mounted)
        await sees(pilot, "ctrl+o mode auto")


def test_every_mode_can_be_chosen() -> None:
    assert set(MODES) == set(ALL_MODES)


def test_lists_are_typed_with_commas_and_quotes() -> None:
    assert listed(' a.md, "b, c.md" ,, d/') == ("a.md", "b, c.md", "d/")
    assert listed("") == ()
    for items in (("a.md", "b, c.md"), ('"quoted" one', "x"), ()):
        assert listed(joined(items)) == items


def test_what_is_chosen_is_said() -> None:
    usual = chips(Choices(), "strict", "a few sentences")
    assert [chip.words for chip in usual] == ["mode auto", "strict", "a few sentences", "all documents"]
    assert not any(chip.chosen for chip in usual)
    wanted = Choices(
        "local", "flexible", "table", "x" * 40, ("a.md",), "letters", ("work",), "2024", "", ("PERSON",)
    )
    words = [chip.words for chip in chips(wanted, "strict", "a few sentences") if chip.chosen]
    assert words == [
        "mode local",
        "flexible",
        "table",
        "wish: " + "x" * 23 + "…",
        "only a.md, in letters, #work, 2024 to …, type PERSON",
    ]


def test_choices_become_options_and_come_back(tmp_path: Path) -> None:
    with KnowledgeBase.open(library(tmp_path, indexed=True), engines=engines()) as kb:
        kind = kb.filterable().types[0]
        day = datetime.now().astimezone().date().isoformat()
        wanted = Choices(
            "mix", "flexible", "list", "Name years.", ("harbour.md",), "", (), "2001-02-03", day, (kind,)
        )
        options = wanted.options(kb)
        assert (options.mode, options.style, options.response_type) == ("mix", "flexible", "list")
        assert choices_of(kb, options) == wanted
        assert choices_of(kb, Choices().options(kb)) == Choices()
