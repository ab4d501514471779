"""Index runs that look through chunks again: one reading of several calls, in one run of the engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest, LanguageModel, ModelDescription
from localrag.engines import Engines
from localrag.extraction.extractor import QUESTION, TASK
from localrag.filing import verify
from localrag.indexing import ChunkFailed, ChunkRead, IndexEvent, Note
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import RECORDS
from tests.indexing.helpers import report_of
from tests.store.helpers import logical_rows, session_of

MORE = {
    "Halden Bridge crosses": (
        "(entity<|>Orla<|>location<|>The Orla is a river.)##\n"
        "(relationship<|>Halden Bridge<|>Orla<|>place<|>The bridge crosses it.)##\n"
        "<|COMPLETE|>"
    ),
    "old mill stands": "(entity<|>Nobody There<|>person<|>x)##\n<|COMPLETE|>",
}
"""What a second pass finds, by the text; in all others it finds nothing."""


class Gleaner(ScriptedModel):
    """Reads the library as `RECORDS` says, and finds `MORE` when it is asked again."""

    def __init__(self, yes: float = 0.9, *, decides: bool = True, **options: Any) -> None:
        super().__init__(self._answer, **options)
        self.runs = 0
        self._yes = yes
        self._decides = decides

    def _answer(self, request: GenerationRequest) -> str:
        if request.task == QUESTION:
            return "YES"
        text = request.messages[1].text
        known = MORE if len(request.messages) > 2 else RECORDS
        return next((records for part, records in known.items() if part in text), "<|COMPLETE|>")

    def describe(self) -> ModelDescription:
        return replace(super().describe(), decides=self._decides)

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        self.runs += 1
        for index, event in super().run(requests):
            if isinstance(event, Generation) and event.probabilities:
                event = replace(event, probabilities=(self._yes, 1 - self._yes))
            yield index, event


def run(
    kb: KnowledgeBase,
    model: LanguageModel,
    mode: str = "once",
    cancel: threading.Event | None = None,
    **more: Any,
) -> list[IndexEvent]:
    """Index with gleaning."""
    settings = Settings(extraction=ExtractionSettings(profile="lightrag", gleaning=mode, **more))
    engines = Engines(settings, model, ScriptedEmbedder())
    with KnowledgeBase.open(kb.path, settings=settings, engines=engines) as opened:
        return list(opened.index(cancel))


def calls(kb: KnowledgeBase) -> list[tuple[str, str, int]]:
    """Document, task and count of parsed records of each call, in the order of chunks."""
    with Store.open(kb.path, read_only=True) as store:
        return [
            tuple(row)
            for row in session_of(store).rows(
                "SELECT d.path, g.task, g.parsed FROM generations g JOIN chunks c ON c.id = g.chunk_id "
                "JOIN documents d ON d.id = c.document_id ORDER BY d.path, c.ordinal, g.id"
            )
        ]


def test_all_calls_of_a_chunk_are_one_reading(waiting: KnowledgeBase) -> None:
    events = run(waiting, Gleaner())
    report = report_of(events)
    assert (report.read, report.failed) == (4, 0)
    bridge = next(e for e in events if isinstance(e, ChunkRead) and e.document == "bridge.md")
    assert bridge.entities == ("Halden Bridge", "Marta Lind", "Tomas Berg", "Kvern Works", "Orla")
    assert (bridge.relations, bridge.rejects) == (3, 0)
    assert [row[1:] for row in calls(waiting) if row[0] == "bridge.md"] == [
        (TASK, 6),
        (QUESTION, 0),
        (TASK, 2),
    ]
    assert [row[1:] for row in calls(waiting) if row[0] == "mill.txt"] == [
        (TASK, 3),
        (QUESTION, 0),
        (TASK, 1),
    ]
    status = waiting.status()
    assert status.journal.parsed == status.journal.stored + status.journal.rejected
    assert status.journal.rejected == 1
    assert verify(waiting.path).ok


def test_the_follow_ups_are_in_the_same_run_of_the_engine_and_go_first(waiting: KnowledgeBase) -> None:
    model = Gleaner()
    run(waiting, model)
    assert model.runs == 1
    assert [request.task for request in model.calls] == [TASK, QUESTION, TASK] * 4
    for begin in range(0, len(model.calls), 3):
        first, question, further = model.calls[begin : begin + 3]
        assert question.messages[:2] == further.messages[:2] == first.messages


def test_the_journal_keeps_what_was_asked_and_decided(waiting: KnowledgeBase) -> None:
    run(waiting, Gleaner(0.8))
    with Store.open(waiting.path, read_only=True) as store:
        rows = session_of(store).rows("SELECT task, prompt_hash, parameters, output FROM generations")
        prompts = {store.journal.prompt(row[1]) for row in rows}
        decided = [(json.loads(row[2]), row[3]) for row in rows if row[0] == QUESTION]
    assert len(decided) == 4
    for parameters, output in decided:
        assert output == "YES"
        assert parameters["probabilities"] == pytest.approx({"YES": 0.8, "NO": 0.2})
    asked = [prompt for prompt in prompts if "YES or NO" in prompt]
    assert len(asked) == 1
    assert any("may still be missing" in prompt for prompt in prompts)
    # No text of a document is kept with the prompts.
    assert not any("Halden" in prompt or "陈玉兰" in prompt for prompt in prompts)


def test_the_threshold_and_the_mode_are_those_of_the_settings(waiting: KnowledgeBase) -> None:
    run(waiting, Gleaner(0.4))
    assert {row[1] for row in calls(waiting)} == {TASK, QUESTION}
    assert len(calls(waiting)) == 8


def test_without_gleaning_nothing_is_asked(waiting: KnowledgeBase) -> None:
    model = Gleaner()
    run(waiting, model, "off")
    assert [request.task for request in model.calls] == [TASK] * 4


class Stops(Gleaner):
    """Is interrupted when it is asked for a call of this number."""

    def __init__(self, cancel: threading.Event, number: int) -> None:
        super().__init__()
        self._cancel, self._number = cancel, number

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        for index, event in super().run(requests):
            if index >= self._number:
                self._cancel.set()
            yield index, event


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_an_interruption_between_two_calls_leaves_the_chunk_to_the_next_run(
    waiting: KnowledgeBase, library: Path, tmp_path: Path, number: int
) -> None:
    whole = tmp_path / "whole.localrag"
    with KnowledgeBase.create(whole) as other:
        other.add([library])
        run(other, Gleaner())
    cancel = threading.Event()
    run(waiting, Stops(cancel, number), cancel=cancel)
    coverage = waiting.status().coverage
    assert coverage.read < coverage.total
    # A chunk has all of its calls or none.
    assert len(calls(waiting)) == 3 * coverage.read
    assert verify(waiting.path).ok
    run(waiting, Gleaner())
    with Store.open(waiting.path) as mended, Store.open(whole) as untouched:
        assert logical_rows(mended) == logical_rows(untouched)


def test_a_server_that_cannot_decide_is_told_of_once_and_reads_without(waiting: KnowledgeBase) -> None:
    model = Gleaner(decides=False)
    events = run(waiting, model, "until-no")
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len([note for note in notes if "gleaning is off" in note]) == 1
    assert [request.task for request in model.calls] == [TASK] * 4
    assert report_of(events).read == 4


def test_such_a_server_can_look_again_without_asking(waiting: KnowledgeBase) -> None:
    model = Gleaner(decides=False)
    events = run(waiting, model, "once", gleaning_threshold=0)
    assert not [event for event in events if isinstance(event, Note)]
    assert [request.task for request in model.calls] == [TASK, TASK] * 4


@pytest.mark.parametrize("task", [TASK, QUESTION])
def test_a_follow_up_that_fails_is_told_once_and_costs_no_reading(waiting: KnowledgeBase, task: str) -> None:
    model = Gleaner(fail=lambda request: len(request.messages) > 2 and request.task == task)
    events = run(waiting, model)
    assert not [event for event in events if isinstance(event, ChunkFailed)]
    assert report_of(events).read == 4
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len([note for note in notes if "scripted failure" in note]) == 1
    status = waiting.status()
    assert status.journal.rejected == 4
    assert status.journal.parsed == status.journal.stored + status.journal.rejected
    assert verify(waiting.path).ok


def test_a_deleted_document_takes_all_of_its_calls_with_it(waiting: KnowledgeBase, tmp_path: Path) -> None:
    run(waiting, Gleaner())
    assert len(calls(waiting)) == 12
    waiting.delete("bridge.md")
    with Store.open(waiting.path, read_only=True) as store:
        names = session_of(store).column("SELECT name FROM entities")
    assert len(calls(waiting)) == 9
    assert "Orla" not in names
    assert verify(waiting.path).ok


def test_a_chunk_that_is_read_again_keeps_nothing_of_the_calls_before(waiting: KnowledgeBase) -> None:
    run(waiting, Gleaner())
    with Store.open(waiting.path) as store:
        session = session_of(store)
        with session.transaction():
            session.run("UPDATE chunks SET state = 'pending'")
    run(waiting, Gleaner(), "off")
    assert {row[1] for row in calls(waiting)} == {TASK}
    assert len(calls(waiting)) == 4
    assert verify(waiting.path).ok
