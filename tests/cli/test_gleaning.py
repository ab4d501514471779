"""`localrag index --gleaning`: what the option does to the calls, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, Scripted


@pytest.mark.parametrize(("mode", "asked"), [("off", 0), ("once", 4)])
def test_the_option_chooses_whether_chunks_are_looked_through_again(
    run: Run, library: Path, scripted: Scripted, mode: str, asked: int
) -> None:
    run("init", "a.localrag")
    run("index", library, "--gleaning", mode)
    assert scripted.settings[-1].extraction.gleaning == mode
    assert scripted.model is not None
    assert sum(request.task == "gleaning" for request in scripted.model.calls) == asked


def test_another_word_is_refused_with_the_ones_that_there_are(run: Run, library: Path) -> None:
    run("init", "a.localrag")
    result = run("index", library, "--gleaning", "twice", code=2)
    assert "off" in result.stderr
    assert "until-no" in result.stderr
