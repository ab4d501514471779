"""Index runs: told as they go, only what is new, never stopped by one chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest
from localrag.engines import Engines
from localrag.errors import (
    KnowledgeBaseReadOnly,
    ModelNotFound,
    SettingsError,
)
from localrag.indexing import (
    ChunkFailed,
    ChunkRead,
    Embedded,
    Finished,
    Progress,
    Started,
)
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings, ModelSettings
from localrag.settings import Settings
from localrag.store.database import Store
from tests.conftest import reader
from tests.indexing.helpers import bare, chunks_of, report_of, run


def test_events_tell_the_run_from_its_beginning_to_its_end(waiting: KnowledgeBase) -> None:
    events = run(waiting)
    assert bare(events[0]) == Started(chunks_to_read=4, chunks_to_embed=4, documents=4)
    assert events[1] == Embedded(4, 4, "chunks")
    read = [event for event in events if isinstance(event, ChunkRead)]
    by_document = {event.document: event for event in read}
    assert sorted(by_document) == ["bridge.md", "library.txt", "mill.txt", "茶馆.md"]
    bridge = by_document["bridge.md"]
    assert bridge.entities == ("Halden Bridge", "Marta Lind", "Tomas Berg", "Kvern Works")
    assert (bridge.relations, bridge.rejects, bridge.ordinal) == (2, 0, 0)
    assert [event.what for event in events if isinstance(event, Embedded)] == [
        "chunks",
        "entities",
        "relations",
    ]
    report = report_of(events)
    assert (report.read, report.failed, report.cancelled) == (4, 0, False)
    status = waiting.status()
    assert (report.entities, report.relations) == (status.graph.entities, status.graph.relations)
    assert {row.status for row in status.documents} == {"indexed"}
    assert status.coverage.share == 1.0
    vectors = status.vectors
    assert (vectors.chunks, vectors.entities, vectors.relations) == (4, report.entities, report.relations)
    assert status.journal.parsed == status.journal.stored + status.journal.rejected


def test_a_second_run_has_nothing_to_do(waiting: KnowledgeBase) -> None:
    run(waiting)
    model, embedder = reader(), ScriptedEmbedder()
    events = run(waiting, model, embedder)
    assert [type(event) for event in events] == [Started, Finished]
    assert events[0] == Started(0, 0, 0)
    assert model.calls == []
    assert embedder.calls == 0


def test_only_what_is_new_is_read(waiting: KnowledgeBase, library: Path) -> None:
    run(waiting)
    (library / "new.txt").write_text("Olga Ness painted the Halden Bridge green.")
    waiting.add([library])
    model = reader()
    events = run(waiting, model)
    assert len(model.calls) == 1
    assert bare(events[0]) == Started(1, 1, 1)


def test_chunks_are_stored_before_they_are_told(waiting: KnowledgeBase) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with Store.open(waiting.path) as other, KnowledgeBase.open(waiting.path, engines=engines) as opened:
        told = 0
        for event in opened.index():
            if isinstance(event, ChunkRead):
                told += 1
                assert other.chunks.count().read == told
                assert other.chunks.get(event.chunk_id).state == "read"
            elif isinstance(event, Embedded) and event.what == "chunks":
                assert other.info().counts["chunk_vectors"] == event.done


def test_prompts_follow_the_language_of_the_chunk(waiting: KnowledgeBase) -> None:
    model = reader()
    run(waiting, model)
    chinese = [call for call in model.calls if "临江茶馆由" in call.messages[-1].text + call.messages[0].text]
    english = [call for call in model.calls if call not in chinese]
    assert len(chinese) == 1
    assert len(english) == 3
    assert chinese[0].messages[0].pieces[0].text != english[0].messages[0].pieces[0].text
    shared = {call.messages[0].pieces[0] for call in english}
    assert len(shared) == 1
    assert shared.pop().shared


def test_a_failed_chunk_stops_nothing_and_is_tried_once_more(waiting: KnowledgeBase) -> None:
    def poisoned(request: GenerationRequest) -> bool:
        return any("old mill" in message.text for message in request.messages)

    model = reader(fail=poisoned)
    events = run(waiting, model)
    (failed,) = [event for event in events if isinstance(event, ChunkFailed)]
    assert (failed.document, failed.reason) == ("mill.txt", "scripted failure")
    report = report_of(events)
    assert (report.read, report.failed) == (3, 1)
    assert len(model.calls) == 4  # once in a run
    assert waiting.status().chunks.failed == 1
    assert report_of(run(waiting, reader(fail=poisoned))).failed == 1
    assert report_of(run(waiting, reader())).read == 0  # twice is enough
    row = next(row for row in waiting.status().documents if row.path == "mill.txt")
    assert (row.status, row.failed) == ("indexed", 1)
    assert row.reason


def test_a_chunk_without_usable_output_has_failed(waiting: KnowledgeBase) -> None:
    class Endless(ScriptedModel):
        def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
            for index, _ in enumerate(requests):
                yield index, Generation("(entity<|>Mar", (), "length", 9, 0, 900, 0, 1, "m", "h")

    events = run(waiting, Endless())
    assert report_of(events).failed == 4
    assert all("900 tokens" in event.reason for event in events if isinstance(event, ChunkFailed))


def test_rejects_are_counted_and_kept(waiting: KnowledgeBase) -> None:
    bad = (
        "(entity<|>Marta Lind<|>person<|>Someone.)##\n(entity<|>Nobody Here<|>person<|>Invented.)##\n"
        "(relationship<|>Marta Lind<|>Nobody Here<|>x<|>y)##\n<|COMPLETE|>"
    )
    events = run(waiting, ScriptedModel(lambda request: bad))
    assert report_of(events).rejects > 0
    totals = waiting.status().journal
    assert totals.parsed == totals.stored + totals.rejected
    assert totals.rejected == report_of(events).rejects


def test_a_chunk_without_a_name_needs_no_model(empty_kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("—\n\n…\n")
    empty_kb.add([tmp_path / "plain.txt"])
    model = reader()
    events = run(empty_kb, model)
    assert model.calls == []
    assert report_of(events).read == empty_kb.status().chunks.total
    assert {row.status for row in empty_kb.status().documents} == {"indexed"}


def test_progress_tells_rates_and_the_time_left(waiting: KnowledgeBase) -> None:
    waiting_chunks = [row for one in waiting.status().documents for row in chunks_of(waiting, one.id)]
    events = run(waiting, reader(delay=0.02))
    progress = [event for event in events if isinstance(event, Progress)]
    assert [event.read for event in progress] == sorted(event.read for event in progress)
    assert {event.total for event in progress} == {4}
    assert progress[-1].read == 4
    assert progress[-1].seconds_left == 0
    assert progress[-1].prefill_rate == 100.0
    first = next(event for event in progress if event.read == 1)
    assert first.seconds_left is not None
    assert 0 < first.seconds_left < 5
    # The time left goes by length: the longest chunk comes first, so what is left is less than three of it.
    tokens = [row.tokens for row in waiting_chunks]
    left = (sum(tokens) - max(tokens)) / max(tokens)
    assert 60 * left / first.seconds_left == pytest.approx(first.chunks_per_minute, rel=0.2)


def test_more_chunks_than_wait_at_once_are_all_read_in_one_run(
    empty_kb: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for n in range(100):
        (folder / f"{n:03}.txt").write_text(f"The keeper Nora Vik wrote entry {n} of the log.")
    empty_kb.add([folder])

    def odd(request: GenerationRequest) -> bool:
        return any("entry 7 " in message.text for message in request.messages)

    model = ScriptedModel(fail=odd)
    report = report_of(run(empty_kb, model))
    assert (report.read, report.failed) == (99, 1)
    assert len(model.calls) == 100


def test_no_language_model_is_an_error_after_the_vectors(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str, role: str) -> Path:
        raise ModelNotFound("No model that reads and answers is installed.", "Pull one.")

    monkeypatch.setattr("localrag.engines.find_model", nothing)
    engines = Engines(Settings(), None, ScriptedEmbedder())
    with (
        KnowledgeBase.open(waiting.path, engines=engines) as opened,
        pytest.raises(ModelNotFound) as error,
    ):
        list(opened.index())
    assert error.value.exit_code == 3
    assert error.value.hint
    assert waiting.status().vectors.chunks == 4


def test_a_document_that_goes_while_it_is_read_is_no_error(waiting: KnowledgeBase) -> None:
    def write(request: GenerationRequest) -> str:
        with Store.open(waiting.path) as other:
            for row in other.documents.list():
                if row.path == "mill.txt":
                    other.documents.delete(row.id)
        return "<|COMPLETE|>"

    report = report_of(run(waiting, ScriptedModel(write)))
    assert not report.cancelled
    assert waiting.status().chunks.total == 3
    assert waiting.status().chunks.pending == 0


def test_a_read_only_file_is_not_indexed(kb: KnowledgeBase) -> None:
    with KnowledgeBase.open(kb.path, read_only=True) as opened, pytest.raises(KnowledgeBaseReadOnly):
        opened.index()


def test_a_setting_without_meaning_is_told_at_once(waiting: KnowledgeBase) -> None:
    settings = Settings(extraction=ExtractionSettings(language="klingon"))
    engines = Engines(settings, reader(), ScriptedEmbedder())
    with (
        KnowledgeBase.open(waiting.path, settings=settings, engines=engines) as opened,
        pytest.raises(SettingsError, match="klingon"),
    ):
        opened.index()
    assert waiting.status().vectors.chunks == 0


def test_an_embedding_model_that_was_named_and_is_not_there_is_told(waiting: KnowledgeBase) -> None:
    settings = Settings(models=ModelSettings(embed="nonexistent"))
    engines = Engines(settings, model=reader())
    with (
        KnowledgeBase.open(waiting.path, settings=settings, engines=engines) as kb,
        pytest.raises(ModelNotFound, match="nonexistent"),
    ):
        list(kb.index())
    assert waiting.status().coverage.read == 0


def test_what_is_put_in_while_the_model_reads_gets_its_vectors_too(
    waiting: KnowledgeBase, library: Path
) -> None:
    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with KnowledgeBase.open(waiting.path, engines=engines) as opened:
        put_in = False
        for event in opened.index():
            if isinstance(event, ChunkRead) and not put_in:
                put_in = True
                (library / "new.txt").write_text("Olga Ness painted the Halden Bridge green.")
                waiting.add([library])
        status = opened.status()
    assert put_in
    assert (status.coverage.read, status.coverage.total) == (5, 5)
    assert status.vectors.chunks == 5
