"""One bad chunk stops no document, one bad document stops no run, and each is told with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from localrag.documents.reading import Document
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest
from localrag.engines import Engines
from localrag.errors import DiskFull, DocumentError, KnowledgeBaseBusy
from localrag.extraction.extractor import Extractor
from localrag.indexing import ChunkFailed, ChunkRead
from localrag.indexing.patience import patiently
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.graph import Graph
from localrag.store.rows import ChunkRow, FurtherCall, GenerationRow, Reading, Reject
from tests.conftest import TEXTS, reader
from tests.indexing.helpers import report_of, run
from tests.store.helpers import session_of

BAD = "old mill"
"""Words of the one passage that makes trouble."""


class Mute(ScriptedModel):
    """Writes nothing at all about one passage."""

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        for index, request in enumerate(requests):
            found = self._generate(request)
            if any(BAD in message.text for message in request.messages):
                found = Generation("", (), "stop", 9, 0, 0, 0, 1, "m", "h")
            yield index, found


def failing_read(
    self: Extractor, chunk: ChunkRow, generation: Generation, before: Reading
) -> tuple[Reading, list[Reject]]:
    if BAD in chunk.text:
        raise RecursionError("the parser lost its way")
    return _READ(self, chunk, generation, before)


def failing_names(self: Extractor, chunk: ChunkRow) -> tuple[str, ...]:
    if BAD in chunk.text:
        raise UnicodeError("no names can be cut")
    return _NAMES(self, chunk)


def failing_record(
    self: Graph,
    chunk_id: int,
    said: Reading,
    generation: GenerationRow,
    rejects: Iterable[Reject],
    further: Sequence[FurtherCall],
) -> bool:
    text = self._session.value("SELECT text FROM chunks WHERE id = ?", [chunk_id])
    if BAD in text:
        with self._session.transaction():
            self._session.run("UPDATE chunks SET char_start = -1 WHERE id = ?", [chunk_id])
    return _RECORD(self, chunk_id, said, generation, tuple(rejects), further)


_READ, _NAMES, _RECORD = Extractor.read, Extractor.names, Graph.record

FAULTS = {
    "the engine reports an error": (None, reader(fail=lambda r: any(BAD in m.text for m in r.messages))),
    "the model writes nothing": (None, Mute()),
    "the parser fails": (("localrag.extraction.extractor.Extractor.read", failing_read), None),
    "no request can be made": (("localrag.extraction.extractor.Extractor.names", failing_names), None),
    "a row cannot be stored": (("localrag.store.graph.Graph.record", failing_record), None),
}
REASONS = {
    "the engine reports an error": "scripted failure",
    "the model writes nothing": "The model wrote nothing.",
    "the parser fails": "RecursionError: the parser lost its way",
    "no request can be made": "UnicodeError: no names can be cut",
    "a row cannot be stored": "IntegrityError: ",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_bad_chunk_stops_nothing_and_is_tried_again(
    waiting: KnowledgeBase, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch, model = FAULTS[fault]
    with monkeypatch.context() as broken:
        if patch is not None:
            broken.setattr(*patch)
        events = run(waiting, model or reader())
    (failed,) = [event for event in events if isinstance(event, ChunkFailed)]
    assert failed.document == "mill.txt"
    assert REASONS[fault] in failed.reason
    assert {event.document for event in events if isinstance(event, ChunkRead)} == {*TEXTS} - {"mill.txt"}
    assert report_of(events).failed == 1
    (passage,) = waiting.failures()[1]
    assert (passage.attempts, passage.left_out, passage.waits) == (1, False, True)
    assert passage.reason == failed.reason
    (mill,) = [row for row in waiting.status().documents if row.path == "mill.txt"]
    assert (mill.status, mill.failed) == ("indexed", 1)
    assert failed.reason in mill.reason
    assert report_of(run(waiting)).read == 1
    assert waiting.failures() == ([], [])
    with Store.open(waiting.path) as store:
        assert store.check() == []


def test_an_error_of_the_program_itself_ends_the_run(
    waiting: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes wrong with every text is no text's fault, and must not mark them all as bad."""

    def fail(*args: object) -> None:
        raise ZeroDivisionError("a mistake in the program")

    monkeypatch.setattr("localrag.extraction.extractor.Extractor.read", fail)
    with pytest.raises(ZeroDivisionError):
        run(waiting)
    assert waiting.status().chunks.failed == 2


def test_bad_chunks_among_good_ones_end_no_run(
    empty_kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(20):
        word = BAD if number % 2 else "new mill"
        (folder / f"{number:02}.txt").write_text(f"The {word} of Nora Vik has number {number}.")
    empty_kb.add([folder])
    monkeypatch.setattr("localrag.extraction.extractor.Extractor.read", failing_read)
    report = report_of(run(empty_kb, ScriptedModel()))
    assert (report.read, report.failed) == (10, 10)


def test_a_file_that_disappears_while_files_are_added_stops_nothing(
    empty_kb: KnowledgeBase, library: Path
) -> None:
    gone = library / "mill.txt"
    report = empty_kb.add([library], on_event=lambda event: gone.unlink(missing_ok=True))
    assert report.added == 3
    assert {row.path for row in empty_kb.status().documents if row.status != "failed"} == {*TEXTS} - {
        gone.name
    }
    gone.write_text(TEXTS["mill.txt"])
    assert empty_kb.add([library]).failed == ()
    assert {row.path for row in empty_kb.status().documents} == {*TEXTS}
    assert empty_kb.failures() == ([], [])


def test_a_file_that_cannot_be_read_stops_nothing(
    empty_kb: KnowledgeBase, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from localrag.documents import reading

    def unreadable(path: Path) -> Document:
        if path.name == "mill.txt":
            raise DocumentError("Permission denied.")
        return _READ_FILE(path)

    _READ_FILE = reading.read
    with monkeypatch.context() as broken:
        broken.setattr(reading, "read", unreadable)
        report = empty_kb.add([library])
        assert (report.added, report.failed) == (3, (("mill.txt", "Permission denied."),))
        again = empty_kb.retry()
        assert again.files is not None
        assert len(again.files.failed) == 1
        assert empty_kb.failures()[0][0].reason == "Permission denied."
    empty_kb.retry(["mill.txt"])
    assert empty_kb.failures() == ([], [])
    assert len({row.root for row in empty_kb.status().documents}) == 1
    assert report_of(run(empty_kb)).read == 4


def test_a_failed_file_that_is_gone_is_told_and_kept(empty_kb: KnowledgeBase, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\x00\x01\x02\xff" * 40)
    empty_kb.add([bad])
    bad.unlink()
    report = empty_kb.retry()
    assert (report.files, len(report.missing)) == (None, 1)
    (file,) = empty_kb.failures()[0]
    assert file.reason == "The file is not there any more."


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_was_read(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02}.txt").write_text(
            f"The keeper Nora Vik{number} wrote entry {number} of the log."
        )
    engines = Engines(Settings(), ScriptedModel(), ScriptedEmbedder())
    with KnowledgeBase.create(tmp_path / "n.localrag", engines=engines) as kb:
        kb.add([folder])
        session = session_of(kb._store)
        pages = session.value("PRAGMA page_count")
        session.database.execute(f"PRAGMA max_page_count = {pages + 8}").fetchone()
        read: list[int] = []

        def index() -> None:
            read.extend(event.chunk_id for event in kb.index() if isinstance(event, ChunkRead))

        with pytest.raises(DiskFull) as full:
            index()
        assert "is full" in full.value.message
        assert 0 < len(read) < 40
        session.database.execute("PRAGMA max_page_count = 1000000").fetchone()
        counts = kb.status().chunks
        assert (counts.read, counts.failed) == (len(read), 0)
        assert report_of(list(kb.index())).read == 40 - len(read)
        assert kb._store.check() == []


def test_an_index_run_waits_for_another_writer_rather_than_lose_a_reading(waiting: KnowledgeBase) -> None:
    tries: list[int] = []

    def store() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise KnowledgeBaseBusy("Another program is writing.")
        return "stored"

    assert patiently(store, None) == "stored"
    assert len(tries) == 3
    tries.clear()
    with pytest.raises(KnowledgeBaseBusy):
        patiently(store, None, seconds=0.0)
    assert len(tries) == 1
