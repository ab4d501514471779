"""Tests of `localrag reembed`, and of what other commands say of a change of the embedding model."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import TextKind
from localrag.errors import EngineError
from localrag.store.database import Store
from tests.cli.conftest import Run, Scripted, json_of, start
from tests.store.helpers import add_lines

SLOW = """
import sys, time
from localrag import engines
from localrag.cli.main import main
from localrag.engine.scripted import ScriptedEmbedder

class Slow(ScriptedEmbedder):
    def embed(self, texts, kind):
        time.sleep(0.3)
        return super().embed(texts, kind)

real = engines.Engines
engines.Engines = lambda settings: real(settings, None, ScriptedEmbedder(), {"new": Slow(32, "new")})
sys.exit(main())
"""


class Stubborn(ScriptedEmbedder):
    """Refuses every text after the first few."""

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        if kind == "passage" and self.calls >= 2:
            raise EngineError("It has no direction.")
        return super().embed(texts, kind)


@pytest.fixture
def new(scripted: Scripted) -> ScriptedEmbedder:
    """Another embedding model that is on this machine."""
    made = ScriptedEmbedder(32, "new")
    scripted.others["new"] = made
    return made


def test_the_whole_change(run: Run, read_kb: Path, new: ScriptedEmbedder) -> None:
    done = run("reembed", "--embed-model", "new")
    assert done.stdout == ""
    assert "Making" in done.stderr
    assert "Questions use those of scripted meanwhile" in done.stderr
    assert "Questions are searched with new now; those of scripted are gone." in done.stderr
    vectors = json_of(run("status", "--json"))["vectors"]
    assert (vectors["model"], vectors["dimension"], vectors["chunks"], vectors["building"]) == (
        "new",
        32,
        4,
        None,
    )
    assert "made by new already; nothing was changed" in run("reembed", "--embed-model", "new").stderr
    assert "Only words" not in run("ask", "Who built the Halden Bridge?").stderr


def test_programs_get_the_report(run: Run, read_kb: Path, new: ScriptedEmbedder) -> None:
    result = run("reembed", "--embed-model", "new", "--json")
    report = json_of(result)
    assert report.pop("seconds") >= 0
    assert report == {
        "model": "new",
        "before": "scripted",
        "made": new.calls,
        "left_out": 0,
        "switched": True,
        "already": False,
        "cancelled": False,
    }


def test_index_names_the_command_and_the_command_helps(
    run: Run, read_kb: Path, scripted: Scripted, new: ScriptedEmbedder
) -> None:
    scripted.embedder, scripted.others = new, {"new": new, "scripted": ScriptedEmbedder()}
    refused = run("index", "--embed-model", "new", code=1)
    assert "made by scripted" in refused.stderr
    command = refused.stderr.split("Make new vectors: localrag ")[1].split(". Or")[0]
    assert command == "reembed --embed-model new"
    run(*command.split())
    assert "is read already" in run("index", "--embed-model", "new").stderr
    # With the old model in the settings it is the same the other way round.
    scripted.embedder = ScriptedEmbedder()
    again = run("index", "--embed-model", "scripted", code=1)
    assert "localrag reembed --embed-model scripted" in again.stderr


def test_ask_tells_that_it_uses_another_model_than_the_settings_name(
    run: Run, read_kb: Path, new: ScriptedEmbedder
) -> None:
    run("reembed", "--embed-model", "new")
    told = run("ask", "--embed-model", "scripted", "Who built the Halden Bridge?")
    assert "The settings name the embedding model scripted" in told.stderr
    assert "the vectors of new, so that one was used" in told.stderr
    assert "Marta Lind" in told.stdout


def test_settings_that_still_name_the_old_model_are_mentioned(
    run: Run, read_kb: Path, new: ScriptedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALRAG_MODELS__EMBED", "scripted")
    told = run("reembed", "--embed-model", "new")
    assert "The setting models.embed names scripted" in told.stderr
    assert "localrag index will refuse it" in told.stderr
    monkeypatch.setenv("LOCALRAG_MODELS__EMBED", "NEW")
    assert "setting" not in run("reembed", "--embed-model", "new").stderr


def begin(path: Path, made: int) -> None:
    """Leave a change half made."""
    new = ScriptedEmbedder(32, "new")
    with Store.open(path) as store:
        space_id = store.vectors.begin_building(new.space)
        ids = store.vectors.missing(space_id, "chunk", made)
        texts = store.vectors.texts("chunk", ids)
        store.vectors.put(space_id, "chunk", ids, new.embed(texts, "passage"), texts=texts)


def test_a_change_that_is_half_made_is_shown_and_can_be_dropped(
    run: Run, read_kb: Path, new: ScriptedEmbedder
) -> None:
    begin(read_kb, 3)
    state = run("status").stdout
    assert "4 of 4 chunks, by scripted" in state
    assert "3 of " in state
    assert "vectors of the new model, new; localrag reembed goes on" in state
    building = json_of(run("status", "--json"))["vectors"]["building"]
    assert (building["model"], building["done"]) == ("new", 3)
    assert "Only words" not in run("ask", "Who built the Halden Bridge?").stderr
    assert "Dropped 3 new vectors of new. The old ones stay in use." in run("reembed", "--cancel").stderr
    assert "No new vectors are half made" in run("reembed", "--cancel").stderr
    assert json_of(run("reembed", "--cancel", "--json")) == {"dropped": None}
    begin(read_kb, 2)
    assert json_of(run("reembed", "--cancel", "--json"))["dropped"]["done"] == 2
    assert "Change of model" not in run("status").stdout


def test_without_a_name_it_goes_on(run: Run, read_kb: Path, new: ScriptedEmbedder) -> None:
    begin(read_kb, 3)
    assert "3 are there from before" in run("reembed").stderr
    assert json_of(run("status", "--json"))["vectors"]["model"] == "new"


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--embed-model", "absent"], 3, "not installed"),
        (["--embed-model", "x", "--cancel"], 2, "Leave the name out"),
        (["--threads", "-1"], 2, "--threads"),
        (["new"], 2, "unexpected extra argument"),
    ],
)
def test_wrong_input_gets_a_sentence(
    run: Run, read_kb: Path, new: ScriptedEmbedder, words: list[str], code: int, part: str
) -> None:
    assert part in run("reembed", *words, code=code).stderr
    assert json.loads(run("reembed", *words, "--json", code=code).stdout)["error"]["message"]


def test_a_name_with_control_characters_does_no_harm(run: Run, read_kb: Path) -> None:
    result = run("reembed", "--embed-model", "\x1b[31mred\x07", code=3)
    assert "\x1b" not in result.stderr
    assert "\x07" not in result.stderr


def test_a_model_that_refuses_is_told_and_the_old_one_stays(
    run: Run, folder: Path, scripted: Scripted
) -> None:
    run("init", "n")
    with Store.open(folder / "n.localrag") as store:
        add_lines(store, *(f"line {number}" for number in range(40)))
    run("index")
    scripted.others["new"] = Stubborn(32, "new")
    result = run("reembed", "--embed-model", "new", code=1)
    assert "new makes no vectors of several texts in a row: It has no direction." in result.stderr
    assert "localrag reembed --cancel" in result.stderr
    assert json_of(run("status", "--json"))["vectors"]["model"] == "scripted"


def test_texts_that_got_no_vector_make_it_done_in_part(run: Run, read_kb: Path, scripted: Scripted) -> None:
    class Picky(ScriptedEmbedder):
        def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
            if any("old mill stands" in text for text in texts):
                raise EngineError("It has no direction.")
            return super().embed(texts, kind)

    scripted.others["new"] = Picky(32, "new")
    result = run("reembed", "--embed-model", "new", code=5)
    assert "mill.txt: chunk 1 got no vector" in result.stderr
    assert "1 text got none and can be found by their words only" in result.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="not here: no SIGKILL")
def test_ctrl_c_keeps_what_was_made(run: Run, folder: Path, new: ScriptedEmbedder) -> None:
    run("init", "n")
    with Store.open(folder / "n.localrag") as store:
        add_lines(store, *(f"line {number}" for number in range(400)))
    run("index")
    child = start("reembed", "--embed-model", "new", program=("-c", SLOW))
    assert child.stderr is not None
    for line in child.stderr:
        if "New vectors of chunks" in line:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == ""
    assert "are made and kept; questions use the old ones meanwhile" in err
    building = json_of(run("status", "--json"))["vectors"]["building"]
    assert 0 < building["done"] < 400
    run("reembed")
    assert new.calls == building["total"] - building["done"]
    assert json_of(run("status", "--json"))["vectors"]["model"] == "new"
