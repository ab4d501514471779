"""Tests of `localrag entities suggest` and `keep-apart`, and of merges in `entities show`."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.resolving import resolve
from localrag.sections import ResolutionSettings
from localrag.store import Store
from tests.cli.conftest import Run, json_of
from tests.store.test_merges import ORGANIZATION, read


@pytest.fixture
def knowledge(folder: Path) -> Path:
    """A knowledge base with one surely merged name and a suggestion."""
    path = folder / "notes.localrag"
    with Store.create(path) as store:
        read(store, "a.txt", "Sherlock Holmes. Mr. Holmes.", ["Sherlock Holmes", "Mr. Holmes"])
        read(store, "d.txt", "The United Nations.", [("United Nations", ORGANIZATION)])
        read(store, "e.txt", "The UN met.", [("UN", ORGANIZATION)])
        resolve(store, ResolutionSettings())
    return path


def test_what_was_merged_and_what_may_be_one_is_shown(run: Run, knowledge: Path) -> None:
    shown = run("entities", "show", "Sherlock Holmes").stdout
    assert "Mr. Holmes (part of the other name)" in " ".join(shown.split())
    view = json_of(run("entities", "show", "Sherlock Holmes", "--json"))
    assert view["merged"][0]["name"] == "Mr. Holmes"
    listed = run("entities", "suggest").stdout
    assert "UN" in listed
    assert "United Nations" in listed
    assert "initials" in listed
    (row,) = [
        row for row in json_of(run("entities", "suggest", "--json"))["suggestions"] if row["name"] == "UN"
    ]
    assert row["into"] == "United Nations"
    assert row["number"] >= 1


def test_a_suggestion_is_accepted_rejected_and_taken_back(run: Run, knowledge: Path) -> None:
    said = run("entities", "suggest", "--accept", "1").stderr
    assert "Merge “UN” into “United Nations”." in said
    assert "localrag entities undo 1" in said
    assert "Nothing is suggested" in run("entities", "suggest").stderr
    run("entities", "undo")
    made = json_of(run("entities", "suggest", "--reject", "1", "--json"))["decisions"]
    assert [item["kind"] for item in made] == ["entity.apart"]
    assert json_of(run("entities", "suggest", "--json")) == {"suggestions": []}
    assert "There is no suggestion 1." in run("entities", "suggest", "--accept", "1", code=2).stderr
    assert "Keep “UN” and “United Nations” apart." in run("entities", "log").stdout


def test_names_that_are_hostile_to_terminals_are_shown_as_text(run: Run, folder: Path) -> None:
    with Store.create(folder / "notes.localrag") as store:
        for number, name in enumerate(("Kvern \x1b[31m[red]Bay", "Kvern \x1b[31m[red]Bay Works")):
            read(store, f"{number}.txt", "They met.", [(name, ORGANIZATION)])
        resolve(store, ResolutionSettings())
    shown = run("entities", "suggest").stdout
    assert "\x1b[31m" not in shown
    assert "[red]Bay" in shown
    assert "\x1b[31m" not in run("entities", "suggest", "--accept", "1").stderr


def test_names_are_kept_apart(run: Run, knowledge: Path) -> None:
    said = run("entities", "keep-apart", "Holmes", "Sherlock Holmes").stderr
    assert "Keep “Mr. Holmes” and “Sherlock Holmes” apart. 1 mention moved." in said
    assert "Merged       none" in run("entities", "show", "Sherlock Holmes").stdout
    assert "There is no entity" in run("entities", "keep-apart", "Nobody", "Holmes", code=2).stderr
