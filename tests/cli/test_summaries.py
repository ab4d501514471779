"""Tests of `localrag summarize`, and of summaries as part of `localrag index`."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.store.database import Store
from tests.cli.conftest import Run, Scripted, json_of
from tests.conftest import reader
from tests.store.helpers import add_lines, entity, generation, reading


def written(request: GenerationRequest) -> str:
    return "It rows." if request.task == "summary" else "<|COMPLETE|>"


@pytest.fixture
def many(read_kb: Path, scripted: Scripted) -> Path:
    """The library, with two entities of which much is said, and a model that sums it up."""
    with Store.open(read_kb) as store:
        for name, count in (("Ada \x1b[1mLind", 15), ("Bo", 14)):
            chunks = add_lines(store, *(f"{name} {number}" for number in range(count)))
            for number, chunk in enumerate(chunks):
                store.graph.record(chunk, reading([entity(name, f"It rows {number} miles.")]), generation())
    scripted.model = ScriptedModel(written)
    return read_kb


def test_summaries_are_written_and_shown(run: Run, many: Path) -> None:
    before = run("entities", "show", "Bo").stdout
    assert "It rows 3 miles." in before
    done = run("summarize")
    assert done.stdout == ""
    assert "Writing 2 summaries. Ctrl-c stops" in done.stderr
    assert "Wrote 2 summaries in 2 calls of the model" in done.stderr
    assert "\x1b" not in done.stderr
    after = run("entities", "show", "Bo").stdout
    assert "It rows." in after
    assert "It rows 3 miles. It rows 4 miles." not in after
    assert "No descriptions are so many" in run("summarize").stderr


def test_limits_leave_the_rest_for_later(run: Run, many: Path) -> None:
    done = run("summarize", "--limit", "1")
    assert "Writing 1 summary of 2 that wait." in done.stderr
    assert "1 wait; the same command goes on with them." in done.stderr
    report = json_of(run("summarize", "--json", "--minutes", "5"))
    assert report.pop("seconds") >= 0
    assert report == {"written": 1, "failed": 0, "joined": 0, "left": 0, "calls": 1, "cancelled": False}


def test_what_fails_is_told_and_the_exit_code_says_so(run: Run, many: Path, scripted: Scripted) -> None:
    scripted.model = ScriptedModel(written, fail=lambda request: "Bo" in request.messages[0].text)
    done = run("summarize", code=5)
    assert "Bo: no summary. scripted failure" in done.stderr
    assert "Wrote 1 summary in" in done.stderr
    assert "1 could not be written; the descriptions stay as they are." in done.stderr


@pytest.mark.parametrize("words", [("--limit", "-1"), ("--minutes", "0"), ("--minutes", "x"), ("surplus",)])
def test_wrong_words_are_refused(run: Run, many: Path, words: tuple[str, ...]) -> None:
    result = run("summarize", *words, code=2)
    assert result.stdout == ""
    assert result.stderr.count("\n") <= 3


def test_without_a_model_the_hint_says_how_to_get_one(run: Run, many: Path, scripted: Scripted) -> None:
    scripted.model = None
    assert "localrag models" in run("summarize", code=3).stderr


def test_index_writes_them_if_the_settings_say_so(
    run: Run, many: Path, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.model = reader(written)
    assert "summaries" not in run("index").stderr
    assert "It rows 3 miles." in run("entities", "show", "Bo").stdout
    monkeypatch.setenv("LOCALRAG_SUMMARIES__AT_INDEX", "true")
    done = run("index")
    assert "2 summaries written." in done.stderr
    assert "It rows." in run("entities", "show", "Bo").stdout
    assert json_of(run("index", "--json"))["summaries"] == 0
    # A count of tokens is for reading.
    with Store.open(many) as store:
        (chunk,) = add_lines(store, "Bo once more")
        store.graph.record(chunk, reading([entity("Bo", "It rests.")]), generation())
    assert json_of(run("index", "--json", "--budget-tokens", "5000"))["summaries"] == 0
    assert json_of(run("index", "--json", "--minutes", "5"))["summaries"] == 1
    # Without a model for them the rest is done all the same.
    with Store.open(many) as store:
        (chunk,) = add_lines(store, "Bo for ever")
        store.graph.record(chunk, reading([entity("Bo", "It sleeps.")]), generation())
    scripted.model = None
    assert "Summaries wait for a model that reads." in run("index").stderr
