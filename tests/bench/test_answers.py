"""A whole measure on tiny sets: real files and searches, a scripted model."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.answering.types import Citation
from localrag.bench import answers_run
from localrag.bench.answers import Asked, Row, as_json, measure, measure_checks, split
from localrag.bench.answers_asking import CONTROLS, Asker, How
from localrag.bench.answers_data import load_answer_sets
from localrag.bench.answers_run import Pace
from localrag.engine.programs import Decide
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.settings import Settings
from localrag.store.database import Store
from tests.bench.questions import PASSAGES, tiered, write_questions

Write = Callable[[GenerationRequest], str]
SAID = {"who repaired": "Tomas Berg [1]", "Where was": "Lund [1]", "Sundays": "No [1]", "colour": "Red [1]"}


def by_question(request: GenerationRequest) -> str:
    """What the scripted model says; it never would refuse."""
    if isinstance(request.program, Decide):
        return request.program.options[-1]
    asked = request.messages[-1].text
    return next((said for part, said in SAID.items() if part.casefold() in asked.casefold()), "Nothing")


class Bench:
    """A measure in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = write_questions(folder, "own", passages=tiered(PASSAGES))
        self.settings = Settings()

    def run(
        self,
        write: Write = by_question,
        controls: tuple[str, ...] = CONTROLS,
        *,
        dump: io.StringIO | None = None,
        fail: Callable[[GenerationRequest], bool] | None = None,
        **pace: Any,
    ) -> tuple[list[Row], ScriptedModel]:
        """The rows of all questions, and the model that was asked."""
        model = ScriptedModel(write, fail=fail)
        engines = Engines(self.settings, model, ScriptedEmbedder())
        sets = load_answer_sets(self.folder, ["own"], "M")
        asked = Asked(sets, [How(name, self.settings) for name in controls])
        return measure(asked, self.settings, engines, Pace(**pace), dump), model


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A folder with one set, and a cache of its own; the program stays the same whoever works on it."""
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(answers_run, "_program", lambda: "this")
    return Bench(tmp_path / "data")


def prompts(model: ScriptedModel) -> list[str]:
    """What the model was asked to answer."""
    return [
        "".join(message.text for message in request.messages)
        for request in model.calls
        if request.task == "answer"
    ]


def test_each_way_gives_the_model_what_it_says(bench: Bench) -> None:
    read = {}
    for control in CONTROLS:
        rows, model = bench.run(controls=(control,))
        [prompt] = [text for text in prompts(model) if "man born" in text]
        read[control] = {row["id"] for row in PASSAGES if row["text"] in prompt}
        [item] = [item for item in rows[0].items if item.question.id == "q-born"]
        assert set(item.outcome.shown) == read[control]
    assert read["none"] == set()
    assert read["gold"] == {"p-bridge", "p-berg"}
    assert read["chunks"] == {row["id"] for row in PASSAGES}
    assert read["localrag"] >= {"p-bridge"}


def test_the_figures_of_a_whole_measure(bench: Bench) -> None:
    dump = io.StringIO()
    rows, _ = bench.run(dump=dump)
    data = as_json(rows)
    assert list(data["answers"]["own"]) == list(CONTROLS)
    gold = data["answers"]["own"]["gold"]
    # Two of three are right; what has no answer is given no passage, and refused without the model.
    assert gold["em"] == gold["contains"] == pytest.approx(2 / 3, abs=1e-4)
    assert (gold["questions"], gold["refused"], gold["refused_answerable"]) == (4, 1.0, 0.0)
    assert gold["context_recall"] == 1.0
    assert gold["dangling"] == gold["failed"] == 0
    none = data["answers"]["own"]["none"]
    assert (none["em"], none["cited"], none["refused"]) == (gold["em"], 0.0, 0.0)
    assert data["differences"]["own"]["localrag-none"]["em"]["mean"] == pytest.approx(
        data["answers"]["own"]["localrag"]["em"] - none["em"], abs=1e-4
    )
    assert data["closed"]["own"]["em"] is None
    lines = [json.loads(line) for line in dump.getvalue().splitlines()]
    assert [(line["control"], line["id"]) for line in lines] == [
        (control, name) for control in CONTROLS for name in ("q-who", "q-born", "q-sunday", "q-colour")
    ]
    [line] = [line for line in lines if line["control"] == "gold" and line["id"] == "q-who"]
    assert (line["said"], line["em"], line["cited"]) == ("Tomas Berg", 1.0, ["p-bridge"])
    assert line["answer_in_cited"] is True


def test_a_look_that_refuses_is_the_product_s_alone(bench: Bench) -> None:
    def refusing(request: GenerationRequest) -> str:
        return request.program.options[0] if isinstance(request.program, Decide) else by_question(request)

    bench.settings = replace(bench.settings, answering=replace(bench.settings.answering, refuse_below=100))
    rows, _ = bench.run(refusing, ("chunks", "gold", "localrag"))
    refused = {row.control: row.figures()["refused_answerable"] for row in rows}
    assert refused == {"chunks": 0.0, "gold": 0.0, "localrag": 1.0}


def test_the_first_word_is_timed_alone_and_the_rest_together(bench: Bench) -> None:
    rows, _ = bench.run(controls=("chunks",))
    alone = [item.outcome.first_word is not None for item in rows[0].items]
    assert alone == [True, True, True, False]
    assert all(item.outcome.seconds > 0 for item in rows[0].items)


def test_a_measure_that_was_stopped_goes_on(bench: Bench) -> None:
    pace = Pace()

    def stopping(request: GenerationRequest) -> str:
        if "Sundays" in request.messages[-1].text:
            pace.stop.set()
        return by_question(request)

    with pytest.raises(Cancelled, match="The measure was stopped"):
        bench.run(stopping, ("chunks",), stop=pace.stop)
    steps: list[tuple[str, int, int]] = []
    rows, model = bench.run(controls=("chunks",), on_step=lambda *step: steps.append(step))
    assert len(prompts(model)) == 2
    assert steps[-3:] == [("own, chunks", done, 4) for done in (2, 3, 4)]
    assert [item.question.id for item in rows[0].items] == ["q-who", "q-born", "q-sunday", "q-colour"]
    again, model = bench.run(controls=("chunks",))
    assert not prompts(model)
    assert again == rows
    _, model = bench.run(controls=("chunks",), fresh=True)
    assert len(prompts(model)) == 4


def test_a_line_that_was_cut_off_is_asked_again(bench: Bench, tmp_path: Path) -> None:
    rows, _ = bench.run(controls=("chunks",))
    [kept] = (tmp_path / "cache" / "bench" / "answers").rglob("*.jsonl")
    kept.write_bytes(kept.read_bytes()[:-40])
    again, model = bench.run(controls=("chunks",))
    assert len(prompts(model)) == 1
    assert [item.said for item in again[0].items] == [item.said for item in rows[0].items]
    assert [json.loads(line)["id"] for line in kept.read_text().splitlines()] == [
        item.question.id for item in rows[0].items
    ]


def test_other_settings_and_another_program_begin_anew(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(controls=("chunks",))
    monkeypatch.setattr(answers_run, "_program", lambda: "another")
    assert len(prompts(bench.run(controls=("chunks",))[1])) == 4
    bench.settings = replace(bench.settings, retrieval=replace(bench.settings.retrieval, order="best-last"))
    assert len(prompts(bench.run(controls=("chunks",))[1])) == 4
    assert not prompts(bench.run(controls=("chunks",))[1])


def test_a_question_that_changed_is_asked_again(bench: Bench) -> None:
    bench.run(controls=("none",))
    file = bench.folder / "own" / "questions.jsonl"
    file.write_text(file.read_text().replace("Which colour", "What colour"), encoding="utf-8")
    [prompt] = prompts(bench.run(controls=("none",))[1])
    assert "What colour" in prompt


def test_an_answer_that_fails_is_told_and_not_kept(bench: Bench) -> None:
    def fails(request: GenerationRequest) -> bool:
        return "Sundays" in request.messages[-1].text

    rows, _ = bench.run(controls=("chunks",), fail=fails)
    assert rows[0].figures()["failed"] == 1
    [item] = [item for item in rows[0].items if item.outcome.error]
    assert (item.question.id, item.said, item.score.f1) == ("q-sunday", "", 0.0)
    assert "scripted failure" in item.outcome.error
    rows, model = bench.run(controls=("chunks",))
    assert rows[0].figures()["failed"] == 0
    assert len(prompts(model)) == 1


def test_what_points_to_nothing_is_counted(bench: Bench, tmp_path: Path) -> None:
    bench.run(controls=("none",))
    [data] = load_answer_sets(bench.folder, ["own"], "M")
    [file] = (tmp_path / "cache" / "bench").rglob("plain.localrag")
    with Store.open(file, read_only=True) as store:
        engines = Engines(bench.settings, ScriptedModel(), ScriptedEmbedder())
        asker = Asker(store, data, engines, How("localrag", bench.settings), None)
        row = store.documents.list()[0]
        text = store.documents.text(row.id)
        good = Citation(1, f"[DC] {row.path}", "document", row.path, None, 0, 9, text[:9])
        shifted = replace(good, number=2, start=1, end=10)
        unknown = replace(good, number=3, document="other.md")
        without = Citation(4, "[KG] Berg", "entity", "", None, 0, 0, "")

        def count(answer: str, *citations: Citation) -> int:
            return asker.dangling(answer, citations)

        listed = "\n\n### References\n- [DC] a [9].md\n"
        assert count(f"So it is [1].{listed}", good) == 0
        assert count(f"So it is [1][2].{listed}", good) == 1
        assert count("So it is.", good, shifted, unknown, without) == 3
        assert count("所以[1][7]。\n\n### 参考资料\n- [DC] [8].md\n", good) == 1


def test_nothing_is_written_into_the_knowledge_base(bench: Bench, tmp_path: Path) -> None:
    bench.run()
    [file] = (tmp_path / "cache" / "bench").rglob("plain.localrag")
    with Store.open(file, read_only=True) as store:
        assert store.journal.totals().generations == 0
        assert store.talk.sessions(1) == []


def test_a_program_is_known_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n", encoding="utf-8")
    before = answers_run._digest_of([file])
    file.write_text("x = 2\n", encoding="utf-8")
    assert answers_run._digest_of([file]) != before


def test_sets_of_claims_are_told_apart_and_checked(tmp_path: Path) -> None:
    write_questions(tmp_path, "own")
    claim = {
        "id": "c1",
        "claim": "Tomas Berg repaired the Halden Bridge in 1931.",
        "label": "supported",
        "evidence": ["The Old Mill burned.", "In 1931 Tomas Berg repaired the Halden Bridge."],
        "supporting": [[1]],
    }
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "claims.jsonl").write_text(json.dumps(claim) + "\n", encoding="utf-8")
    assert split(tmp_path, []) == ([], ["claims"])
    assert split(tmp_path, ["own"]) == (["own"], [])
    assert split(tmp_path, ["own", "claims"]) == (["own"], ["claims"])
    dump = io.StringIO()
    told = measure_checks(tmp_path, ["claims"], dump)
    assert told["claims"]["accuracy"] == told["claims"]["sentence_f1"] == 1.0
    assert json.loads(dump.getvalue())["set"] == "claims"
