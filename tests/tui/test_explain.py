"""The explain panel: what an answer rests on, in words; passages open from it, and the prompt."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.answering.checking import SentenceCheck
from localrag.answering.options import AskOptions
from localrag.answering.types import Answer
from localrag.kb import KnowledgeBase
from localrag.retrieval.types import Coverage
from localrag.tui.app import LocalragApp
from localrag.tui.basis import Basis, read_basis
from localrag.tui.basis_sections import Section, bar, sections
from localrag.tui.screens.dialogs import Reader
from localrag.tui.screens.graph import GraphScreen
from localrag.tui.widgets.beside import BesideScreen, show_explain
from localrag.tui.widgets.explain import BasisList
from localrag.tui.widgets.text_lines import TextLines
from tests.tui.support import ask_screen, engines, library, running, screen_text, sees, until

QUESTION = "Who repaired the harbour bridge?"


def answered(folder: Path, options: AskOptions | None = None) -> tuple[Path, Answer]:
    """A small knowledge base, and an answer from it."""
    path = library(folder, indexed=True)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        return path, kb.ask(QUESTION, options=options or AskOptions(session="new"))


def text_of(found: list[Section]) -> str:
    """All that is told."""
    return "\n".join(
        line for section in found for line in (section.title, *(row.text for row in section.rows))
    )


def go_to_passage(app: LocalragApp, name: str) -> BasisList:
    """Put the cursor on a row that leads to a passage."""
    found = app.screen.query_one(BasisList)
    rows = [found.chosen(place) for place in range(found.option_count)]
    found.highlighted = next(
        place
        for place, row in enumerate(rows)
        if row is not None and row.chunk is not None and name in row.text
    )
    return found


async def test_an_answer_is_explained_and_what_it_names_opens(tmp_path: Path) -> None:
    path, answer = answered(tmp_path)
    async with running(path) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        show_explain(ask_screen(app), answer, QUESTION)
        await sees(pilot, "What the model read")
        assert isinstance(app.screen, BesideScreen)
        text = screen_text(app)
        assert f"Asked: {QUESTION}" in text
        assert "Mode: mix, that is passages, entities and relations" in text
        assert "It was chosen by auto, since it asks for facts" in text
        assert "Of the documents: 100 % read, 3 of 3 passages" in text
        assert "Refusal test: " in text
        assert "below 22 %" in text
        found = app.screen.query_one(BasisList)
        await until(pilot, lambda: app.focused is found)
        await pilot.press("left")
        await sees(pilot, "▸ In short")
        assert "Asked:" not in screen_text(app)
        await pilot.press("enter")
        await sees(pilot, "▾ In short")
        await pilot.press("a", "G")
        await sees(pilot, "Answer complete")
        assert "▾ Time" in screen_text(app)
        await pilot.press("a")
        await sees(pilot, "▸ Passages: 1 read, 3 found")
        assert "▸ Claims: none used" in screen_text(app)
        await pilot.press("a", "y")
        assert app.clipboard.startswith("In short\n  Asked: ")
        assert "[1] harbour.md › The harbour\n    result #1 · words #1" in app.clipboard
        go_to_passage(app, "harbour.md")
        await pilot.press("enter")
        await sees(pilot, "▌ Ada Lund repaired")
        assert isinstance(app.focused, TextLines)
        await pilot.press("escape")
        await sees(pilot, "What the answer rests on")
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, Reader) and app.screen.is_mounted)
        await sees(pilot, "Built again from the texts that were read then.")
        assert "What the model is told" in screen_text(app)
        await pilot.press("y", "escape")
        assert app.clipboard.rstrip().endswith(QUESTION)
        found = app.screen.query_one(BasisList)
        rows = [found.chosen(place) for place in range(found.option_count)]
        found.highlighted = next(
            n for n, row in enumerate(rows) if row is not None and row.entity == "Ada Lund"
        )
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, GraphScreen) and app.screen.is_mounted)
        app.action_go("ask")
        await until(pilot, lambda: isinstance(app.screen, BesideScreen) and app.screen.is_mounted)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is ask_screen(app))


async def test_beside_a_wide_place_a_passage_lies_over_what_explains_it(tmp_path: Path) -> None:
    path, answer = answered(tmp_path)
    async with running(path, size=(140, 40)) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        screen = ask_screen(app)
        before = app.focused
        show_explain(screen, None, QUESTION, session=answer.session, number=1)
        await sees(pilot, "▾ Passages: 1 read, 3 found")
        assert app.screen is screen
        found = go_to_passage(app, "mill.md")
        await until(pilot, lambda: app.focused is found)
        await pilot.press("enter")
        await sees(pilot, "Passage 1 of 1")
        await until(pilot, lambda: isinstance(app.focused, TextLines))
        assert "▾ Passages" not in screen_text(app)
        await pilot.press("q")
        await sees(pilot, "▾ Passages: 1 read, 3 found")
        await until(pilot, lambda: app.focused is found)
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is before)
        show_explain(screen, None, QUESTION, session=999, number=1)
        await sees(pilot, "There is no conversation 999")


def test_a_stored_answer_says_the_same_as_the_one_that_was_just_given(tmp_path: Path) -> None:
    path, answer = answered(tmp_path)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        given = read_basis(kb, answer, QUESTION, None, None)
        stored = read_basis(kb, None, QUESTION, answer.session, 1)
        assert (given.session, given.number) == (answer.session, 1)
        assert (stored.mode, stored.coverage, stored.statements) == ("mix", (3, 3), given.statements)
        told = [row for row in sections(given) if row.title.startswith(("Passages", "What the model"))]
        assert told == [
            row for row in sections(stored) if row.title.startswith(("Passages", "What the model"))
        ]
        bare = replace(answer, session=None, explanation=None)
        unknown = read_basis(kb, bare, QUESTION, None, None)
        assert "! How this answer came about was not kept." in text_of(sections(unknown))
        kb.delete("harbour.md")
        gone = read_basis(kb, None, QUESTION, answer.session, 1)
        assert "! How this answer came about is not known, or not any more." in text_of(sections(gone))


EXPLANATION: dict[str, Any] = {
    "question": "written out",
    "mode": "local",
    "asked": "",
    "why": "",
    "keywords": {"high": [], "low": ["bridge\x1b[31m"], "by": "model"},
    "candidates": {
        "chunk": [
            {"id": n, "chosen": n + 1, "places": {"vector": [n + 1, 0.5]}, "label": f"text {n}"}
            for n in range(15)
        ]
        + [{"id": 90, "chosen": 0, "places": {}, "label": "in other", "base": "other"}],
        "entity": [],
        "relation": [{"id": 1, "chosen": 0, "places": {"graph": [3, 0.25]}, "label": "Ada - bridge"}],
    },
    "milliseconds": {"search": 1200.0},
    "context": {
        "budget": 900,
        "used": {"passages": 300, "history": 100, "prompt": 500, "answer": 200},
        "shown": [
            {"number": 1, "kind": "chunk", "id": 3, "start": 5, "end": 9, "base": "", "label": "text 3"}
        ],
        "cut": [
            {"kind": "chunk", "id": 4, "why": "room", "base": "", "label": "text 4"},
            {"kind": "entity", "id": 2, "why": "shown", "base": "", "label": "Ada"},
        ],
        "notes": ["Two earlier questions were left out."],
    },
    "style": "flexible",
    "model": "small",
    "call": {
        "prompt_tokens": 500,
        "output_tokens": 30,
        "temperature": 0.7,
        "seed": 4,
        "finish": "length",
        "prompt_sha256": "ab" * 32,
    },
    "certainty": None,
    "filter": {"tags": ["x"]},
    "seconds": {"total": 3.25},
}


def basis(**changes: Any) -> Basis:
    return replace(Basis("Which one?", explanation=EXPLANATION), **changes)


def test_every_part_is_told_in_words() -> None:
    checks = (
        SentenceCheck("It stood.", (1, 2), "supported"),
        SentenceCheck("It fell in 1912.", (), "not", ("1912",)),
    )
    text = text_of(
        sections(
            basis(
                rewritten="written out",
                steps=(("Who built it?", "Ada"), ("Where?", "")),
                checks=checks,
                notes=("A note.",),
                coverage=(1, 4),
                kept="2026-01-02T03:04:05",
            )
        )
    )
    for words in (
        "Searched as: written out",
        "Looked up first: Who built it? Ada",
        "Looked up first: Where? nothing was found",
        "Mode: local, that is the entities that the question names",
        "Things searched for: bridge (named by the model)",
        "Only a part of the documents was searched",
        "Of the documents: 25 % read, 1 of 4 passages",
        "Refusal test: not made for this answer",
        "A kept answer, written 2026-01-02 03:04 UTC",
        "What the model read: 500 tokens",
        "Passages     ███████░░░░░    300",
        "Said before  ██░░░░░░░░░░    100",
        "Instructions ██░░░░░░░░░░    100",
        "At most 900 for passages, entities and relations, and 200 for the answer.",
        "Two earlier questions were left out.",
        "Passages: 1 read, 16 found",
        "[1] text 3\n    result #4 · meaning #4 (0.5)",
        "Entities: none found\nNo entity was found for this question.",
        "Ada - bridge\n    found, not taken · graph #3 (0.25)",
        "passage: text 4\n    there was no room for it",
        "entity: Ada\n    a better passage shows the same text",
        "Sentences checked: 1 of 2 supported",
        "It fell in 1912.\n    no source: not found in the source; not there: 1912",
        "Style: flexible: general knowledge is allowed and marked",
        "Each word was drawn by chance, seed 4, temperature 0.7",
        "End: it was cut off at its longest length",
        "Searching       ████░░░░░░░░ 1.2 s",
        "Answer complete ████████████ 3.2 s",
        "Notes: 1\nA note.",
    ):
        assert words in text
    assert "\x1b" not in text


def test_rows_lead_to_what_was_read_and_never_into_another_knowledge_base() -> None:
    (passages,) = (section for section in sections(basis()) if section.title.startswith("Passages"))
    first = passages.rows[0]
    assert (first.chunk, first.span, first.strong) == (3, (5, 9), True)
    assert [row.chunk for row in passages.rows if row.text.startswith("in other")] == [None]


def test_where_no_model_read_anything_that_is_said(tmp_path: Path) -> None:
    bare = EXPLANATION | {"context": {}, "model": "", "call": {}, "seconds": {}, "milliseconds": {}}
    text = text_of(sections(basis(explanation=bare)))
    assert "What the model read: nothing" in text
    assert "Model: none asked" in text
    assert "Left out: nothing" in text
    assert "Time: not known" in text
    path = library(tmp_path, indexed=True)
    with KnowledgeBase.open(path, engines=engines()) as kb:
        table = kb.ask("List all documents.")
        found = sections(read_basis(kb, table, "List all documents.", None, None))
    assert table.table is not None
    text = text_of(found)
    assert "Mode: table, that is a list or a count" in text
    assert "From the tables of the knowledge base, without a model" in text
    abstained = Answer("Which?", "", True, "mix", "", Coverage(0, 0), (), "en")
    with KnowledgeBase.open(path, engines=engines()) as kb:
        assert "hold no answer" in text_of(sections(read_basis(kb, abstained, "Which?", None, None)))


@pytest.mark.parametrize(
    ("value", "whole", "drawn"),
    [(0, 10, "░░░░"), (1, 100, "█░░░"), (5, 10, "██░░"), (20, 10, "████"), (1, 0, "█░░░")],
)
def test_a_bar_never_shows_something_as_nothing(value: float, whole: float, drawn: str) -> None:
    assert bar(value, whole, 4) == drawn


async def test_long_sections_show_their_rest_and_a_prompt_that_cannot_be_built_is_said(
    tmp_path: Path,
) -> None:
    path, answer = answered(tmp_path, AskOptions())
    explanation = answer.explanation
    assert explanation is not None
    unnamed = replace(answer, explanation=None, session=None)
    async with running(path, size=(60, 24)) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        show_explain(ask_screen(app), unnamed, QUESTION)
        await sees(pilot, "! How this answer came about was not kept.")
        found = app.screen.query_one(BasisList)
        found.show(sections(basis()))
        await sees(pilot, "▾ Passages: 1 read, 16 found")
        rows = found.option_count
        found.highlighted = next(
            place for place in range(rows) if str(found.get_option_at_index(place).prompt) == "  … and 4 more"
        )
        await until(pilot, lambda: app.focused is found)
        await pilot.press("enter")
        await until(pilot, lambda: found.option_count == rows + 3)
        await pilot.press("p")
        await sees(pilot, "No model was asked")
        await pilot.press("escape")
        show_explain(ask_screen(app), answer, QUESTION)
        await sees(pilot, "▾ What the model read")
        await until(pilot, lambda: isinstance(app.focused, BasisList))
        await pilot.press("p")
        await sees(pilot, "Built again from what is found now.")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 20), (140, 40)])
async def test_the_panel_fits_every_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    path, answer = answered(tmp_path)
    async with running(path, size=size) as (app, pilot):
        await until(pilot, lambda: app.doings.status is not None)
        show_explain(ask_screen(app), answer, QUESTION)
        await sees(pilot, "▾ What the model read")
        await sees(pilot, "esc Close")
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())
        assert "Asked: Who repaired" in screen_text(app)
