"""Change of the embedding model: it goes on after any end, nothing is lost, and questions are answered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import Embedder, EmbeddingSpace, TextKind
from localrag.engines import Engines
from localrag.errors import (
    EmbeddingSpaceMismatch,
    EngineCrashed,
    EngineError,
    KnowledgeBaseBusy,
    KnowledgeBaseReadOnly,
    ModelNotFound,
    UsageError,
)
from localrag.indexing import Embedded, Note
from localrag.indexing.vectors import TOGETHER
from localrag.kb import KnowledgeBase
from localrag.reembedding import Reembedded, ReembedEvent, ReembedReport, ReembedStarted, reembed
from localrag.sections import ModelSettings
from localrag.settings import Settings
from localrag.store.database import Store
from localrag.store.space_rows import SpaceProgress
from tests.conftest import Stopper, reader
from tests.examples import examples
from tests.indexing.helpers import report_of as index_report
from tests.store.helpers import add_lines, entity, generation, logical_rows, quick_store, reading, relation

OLD, NEW, SIBLING = "scripted", "new", "sibling"
LINES = 100
TOTAL = LINES + 40 + 20


def new_embedder(name: str = NEW) -> ScriptedEmbedder:
    return ScriptedEmbedder(64 if name == SIBLING else 32, name)


def engines(others: dict[str, Embedder] | None = None, named: str = "") -> Engines:
    """The old model is the configured one, others are on this machine too."""
    chosen = Settings(models=ModelSettings(embed=named))
    return Engines(chosen, reader("It is in the texts."), ScriptedEmbedder(), others or {})


def write(store: Store, lines: int = LINES, entities: int = 40) -> None:
    """Chunks, entities and relations, without vectors."""
    ids = add_lines(store, *(f"Line {number} tells of herons and reeds" for number in range(lines)))
    for number in range(0, entities, 2):
        names = f"Name {number}", f"Name {number + 1}"
        said = reading([entity(name, "Was there.") for name in names], [relation(*names, "Met.")])
        store.graph.record(ids[number % lines], said, generation())


def finished(events: Sequence[ReembedEvent]) -> ReembedReport:
    assert isinstance(events[-1], Reembedded)
    return events[-1].report


def model_of(store: Store) -> str:
    space = store.vectors.active_space()
    assert space is not None
    return space.model


def run(store: Store, embedder: Embedder | None = None, named: str = NEW) -> ReembedReport:
    return finished(list(reembed(store, engines({named: embedder or new_embedder(named)}), named)))


def embed_all(store: Store, embedder: ScriptedEmbedder) -> None:
    """All vectors at once, without the code under test."""
    space_id = store.vectors.ensure_space(embedder.space)
    for kind in ("chunk", "entity", "relation"):
        ids = store.vectors.missing(space_id, kind)
        if ids:
            texts = store.vectors.texts(kind, ids)
            store.vectors.put(space_id, kind, ids, embedder.embed(texts, "passage"), texts=texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed file with vectors of the old model."""
    made = tmp_path / "r.localrag"
    with Store.create(made) as store:
        write(store)
        embed_all(store, ScriptedEmbedder())
    return made


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


def expected(tmp_path: Path, embedder: ScriptedEmbedder) -> dict[str, object]:
    """The rows of a file that had the new model from the start."""
    with Store.create(tmp_path / "from-the-start.localrag") as store:
        write(store)
        embed_all(store, embedder)
        return dict(logical_rows(store))


@pytest.mark.parametrize("name", [NEW, SIBLING], ids=["another dimension", "the same dimension"])
def test_afterwards_the_file_is_as_if_it_had_the_new_model_from_the_start(
    store: Store, tmp_path: Path, name: str
) -> None:
    events = list(reembed(store, engines({name: new_embedder(name)}), name))
    assert events[0] == ReembedStarted(name, OLD, 0, TOTAL)
    report = finished(events)
    assert (report.model, report.before, report.made, report.left_out) == (name, OLD, TOTAL, 0)
    assert (report.switched, report.already, report.cancelled) == (True, False, False)
    assert {event.what for event in events if isinstance(event, Embedded)} == {
        "chunks",
        "entities",
        "relations",
    }
    assert logical_rows(store) == expected(tmp_path, new_embedder(name))
    assert store.check() == []


def test_the_same_model_is_told_and_nothing_is_done(store: Store) -> None:
    before, revision = logical_rows(store), store.revision()
    report = finished(list(reembed(store, engines())))
    assert (report.already, report.switched, report.made, report.model) == (True, False, 0, OLD)
    # Another name, the same fingerprint: the vectors would be the same.
    report = finished(list(reembed(store, engines({"alias": ScriptedEmbedder()}), "alias")))
    assert report.already
    assert (logical_rows(store), store.revision()) == (before, revision)


def test_a_file_without_vectors_gets_them(tmp_path: Path) -> None:
    with Store.create(tmp_path / "n.localrag") as store:
        write(store)
        events = list(reembed(store, engines({NEW: new_embedder()}), NEW))
        assert events[0] == ReembedStarted(NEW, "", 0, TOTAL)
        assert (finished(events).made, finished(events).before) == (TOTAL, "")
        assert model_of(store) == NEW
        assert logical_rows(store) == expected(tmp_path, new_embedder())


def test_search_answers_from_the_old_vectors_until_the_switch(kb: KnowledgeBase) -> None:
    question = "Who repaired the Halden Bridge after the flood?"
    others: dict[str, Embedder] = {NEW: new_embedder()}
    with KnowledgeBase.open(kb.path, engines=engines(others)) as changing:
        before, revision = kb.search(question), kb.status().revision
        seen = 0
        for event in changing.reembed(NEW):
            if isinstance(event, Embedded):
                assert kb.search(question) == changing.search(question) == before
                assert kb.status().revision == revision
                building = kb.status().vectors.building
                assert building is not None
                assert (building.model, building.done > seen) == (NEW, True)
                seen = building.done
                assert kb.status().vectors.chunks == kb.status().chunks.total
        assert seen == kb.status().vectors.chunks + kb.status().graph.entities + kb.status().graph.relations
        assert kb.status().vectors.building is None
        after = changing.search(question)
    assert kb.status().vectors.model == NEW
    assert after.passages[0].document == before.passages[0].document
    assert "vector" in after.passages[0].sources
    assert after.notes == ()
    # The program that has the old model only goes on with words, and says why.
    (note,) = kb.search(question).notes
    assert "made by new" in note
    assert "localrag reembed" in note


def test_what_is_added_meanwhile_gets_both_vectors_before_the_switch(store: Store, path: Path) -> None:
    events = reembed(store, engines({NEW: new_embedder()}), NEW)
    for event in events:
        if isinstance(event, Embedded) and event.what == "relations":
            break
    with KnowledgeBase.open(path, engines=engines()) as other:
        with Store.open(path) as second:
            add_lines(second, "A late line about otters", "Another late line")
        assert index_report(list(other.index())).failed == 0
        assert other.status().vectors.chunks == LINES + 2
        assert other.search("otters").passages[0].text == "A late line about otters"
    finished(list(events))
    assert model_of(store) == NEW
    space = store.vectors.active_space()
    assert space is not None
    assert store.vectors.count_missing(space.id, "chunk") == 0
    assert store.vectors.count_vectors(space.id).chunk == LINES + 2


def test_a_stop_keeps_what_was_made_and_the_next_run_goes_on(store: Store, tmp_path: Path) -> None:
    cancel = threading.Event()
    embedder = new_embedder()
    events: list[ReembedEvent] = []
    for event in reembed(store, engines({NEW: embedder}), NEW, cancel):
        events.append(event)
        if isinstance(event, Embedded):
            cancel.set()
    report = finished(events)
    assert (report.cancelled, report.switched, report.made) == (True, False, TOGETHER)
    assert store.vectors.building_progress() == SpaceProgress(NEW, TOGETHER, TOTAL)
    assert model_of(store) == OLD
    # Nobody need name the model again.
    again = list(reembed(store, engines({NEW: embedder})))
    assert again[0] == ReembedStarted(NEW, OLD, TOGETHER, TOTAL)
    assert finished(again).made == TOTAL - TOGETHER
    assert embedder.calls == TOTAL
    assert logical_rows(store) == expected(tmp_path, new_embedder())


def test_a_stop_does_not_wait_for_a_model_that_hangs(store: Store, stopper: Stopper) -> None:
    class Hanging(ScriptedEmbedder):
        def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
            stopper.hang()
            return super().embed(texts, kind)

    report = finished(list(reembed(store, engines({NEW: Hanging(32, NEW)}), NEW, stopper.cancel)))
    assert stopper.took() < 2
    assert report.cancelled
    assert model_of(store) == OLD


KILLED = """
import os, signal, sys
from pathlib import Path
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.indexing import Embedded
from localrag.reembedding import reembed
from localrag.store.database import Store
from localrag.store.spaces import Spaces

path, where, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dies(function, at):
    seen = []
    def wrapped(*args, **kwargs):
        seen.append(1)
        if len(seen) == at:
            die()
        return function(*args, **kwargs)
    return wrapped

class Mortal(ScriptedEmbedder):
    def embed(self, texts, kind):
        made = super().embed(texts, kind)
        if where == "embedding":
            self.batches = getattr(self, "batches", 0) + 1
            if self.batches == count:
                die()
        return made

if where == "switching":
    Spaces._drop = dies(Spaces._drop, 1)
if where == "switched":
    real = Spaces.finish_building
    Spaces.finish_building = lambda *args: real(*args) and die()
with Store.open(path) as store:
    seen = 0
    for event in reembed(store, Engines(None, None, ScriptedEmbedder(), {"new": Mortal(32, "new")}), "new"):
        if isinstance(event, Embedded) and where == "stored":
            seen += 1
            if seen == count:
                die()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="not here: no SIGKILL")
@pytest.mark.parametrize(
    ("where", "count", "kept"),
    [
        ("embedding", 1, 0),
        ("embedding", 3, 2 * TOGETHER),
        ("embedding", 6, LINES + TOGETHER),
        ("stored", 1, TOGETHER),
        ("stored", 4, LINES),
        ("stored", 7, TOTAL),
        ("switching", 1, TOTAL),
    ],
)
def test_a_killed_run_goes_on(path: Path, tmp_path: Path, where: str, count: int, kept: int) -> None:
    killed(path, where, count)
    with Store.open(path) as store:
        assert store.check() == []
        assert model_of(store) == OLD
        assert store.vectors.building_progress() == SpaceProgress(NEW, kept, TOTAL)
        with KnowledgeBase.open(path, engines=engines()) as kb:
            assert "vector" in kb.search("herons and reeds").passages[0].sources
        embedder = new_embedder()
        report = finished(list(reembed(store, engines({NEW: embedder}))))
        assert report.switched
        assert embedder.calls == report.made == TOTAL - kept
        assert logical_rows(store) == expected(tmp_path, new_embedder())
    assert [item.name for item in path.parent.glob("r.*")] == [path.name]


def killed(path: Path, where: str, count: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), where, str(count)],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="not here: no SIGKILL")
def test_killed_right_after_the_switch_it_is_done(path: Path, tmp_path: Path) -> None:
    killed(path, "switched", 1)
    with Store.open(path) as store:
        assert finished(list(reembed(store, engines({NEW: new_embedder()}), NEW))).already
        assert logical_rows(store) == expected(tmp_path, new_embedder())


class Picky(ScriptedEmbedder):
    """Refuses some texts, and with them their batch."""

    def __init__(self, *refused: str) -> None:
        super().__init__(32, NEW)
        self.refused = refused

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        if any(part in text for text in texts for part in self.refused):
            raise EngineError("It has no direction.")
        return super().embed(texts, kind)


def test_single_texts_that_the_model_refuses_are_told_and_do_not_keep_the_switch(store: Store) -> None:
    refused = [f"Line {number} " for number in (3, 5, 40, 41, 99)]
    events = list(reembed(store, engines({NEW: Picky(*refused)}), NEW))
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len(notes) == len(refused)
    assert all("It has no direction." in note for note in notes)
    report = finished(events)
    assert (report.switched, report.left_out, report.made) == (True, 5, TOTAL - 5)
    assert store.vectors.missing(store.vectors.spaces()[0].id, "chunk") == [4, 6, 41, 42, 100]
    # The index run after it tries them once more.
    with KnowledgeBase.open(store.path, engines=Engines(None, reader(), new_embedder())) as kb:
        list(kb.index())
        assert kb.status().vectors.chunks == LINES


def test_a_model_that_refuses_everything_does_not_take_over(store: Store) -> None:
    with pytest.raises(EngineError, match="new makes no vectors of several texts in a row") as error:
        run(store, Picky(""))
    assert "reembed --cancel" in error.value.hint
    assert model_of(store) == OLD
    assert run(store).switched


class Dying(ScriptedEmbedder):
    """A model whose process dies after some batches."""

    def __init__(self, batches: int) -> None:
        super().__init__(32, NEW)
        self.batches = batches

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        self.batches -= 1
        if self.batches < 0:
            raise EngineCrashed("The engine died.")
        return super().embed(texts, kind)


def test_an_engine_that_dies_loses_nothing(store: Store) -> None:
    with pytest.raises(EngineError, match="The engine died"):
        run(store, Dying(2))
    assert store.vectors.building_progress() == SpaceProgress(NEW, 2 * TOGETHER, TOTAL)
    assert run(store).made == TOTAL - 2 * TOGETHER


def test_a_model_that_cannot_be_had_is_told_and_nothing_is_begun(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(ScriptedEmbedder):
        @property
        def space(self) -> EmbeddingSpace:
            raise EngineCrashed("The file is no model.")

    with pytest.raises(EngineCrashed, match="no model"):
        run(store, Broken(32, NEW))
    with pytest.raises(ModelNotFound, match="absent"):
        list(reembed(store, engines(), "absent"))
    assert len(store.vectors.spaces()) == 1


def test_another_change_is_refused_until_the_first_is_dropped(store: Store) -> None:
    both: dict[str, Embedder] = {NEW: new_embedder(), SIBLING: new_embedder(SIBLING)}
    begun = reembed(store, engines(both), NEW)
    next(event for event in begun if isinstance(event, Embedded))
    begun.close()
    with pytest.raises(UsageError, match="new, are half made"):
        list(reembed(store, engines(both), SIBLING))
    events = list(reembed(store, engines(both | {OLD: ScriptedEmbedder()}), OLD))
    assert finished(events).already
    assert [type(event) for event in events] == [Note, Reembedded]
    with pytest.raises(ModelNotFound, match="new are half made, and that model is not here"):
        list(reembed(store, engines()))
    with KnowledgeBase.open(store.path, engines=engines(both)) as kb:
        assert kb.cancel_reembedding() == SpaceProgress(NEW, TOGETHER, TOTAL)
        assert kb.cancel_reembedding() is None
    assert run(store, named=SIBLING).switched


def test_a_change_that_another_program_drops_ends_with_a_sentence(store: Store, path: Path) -> None:
    events = reembed(store, engines({NEW: new_embedder()}), NEW)
    next(event for event in events if isinstance(event, Embedded))
    with Store.open(path) as other:
        other.vectors.drop_building()
        # The id of the dropped space must not be taken for another model's.
        other.vectors.begin_building(new_embedder(SIBLING).space)
    with pytest.raises(UsageError, match="dropped by another program"):
        list(events)
    assert model_of(store) == OLD
    assert store.vectors.building_progress() == SpaceProgress(SIBLING, 0, TOTAL)


def test_a_second_program_is_told_that_the_first_is_at_it(store: Store, path: Path) -> None:
    events = reembed(store, engines({NEW: new_embedder()}), NEW)
    next(event for event in events if isinstance(event, Embedded))
    with KnowledgeBase.open(path, engines=engines({NEW: new_embedder()})) as other:
        for change in (lambda: list(other.reembed(NEW)), other.cancel_reembedding):
            with pytest.raises(KnowledgeBaseBusy, match="re-embedded by another program"):
                change()
    assert finished(list(events)).switched


def test_where_no_lock_can_be_had_two_programs_both_end_well(
    store: Store, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no folder").touch()
    monkeypatch.setenv("LOCALRAG_STATE", str(tmp_path / "no folder"))
    with Store.open(path) as other:
        first = reembed(store, engines({NEW: new_embedder()}), NEW)
        second = reembed(other, engines({NEW: new_embedder()}), NEW)
        reports = []
        open_: list[Iterator[ReembedEvent]] = [first, second]
        while open_:
            for events in list(open_):
                event = next(events)
                if isinstance(event, Reembedded):
                    reports.append(event.report)
                    open_.remove(events)
        assert [report.switched for report in reports] == [True, True]
        assert model_of(store) == model_of(other) == NEW
        assert store.check() == []


def test_an_index_run_that_the_switch_overtakes_says_so_and_mixes_nothing(
    store: Store, path: Path, tmp_path: Path
) -> None:
    with Store.open(path) as second:
        add_lines(second, *(f"Late line {number}" for number in range(2 * TOGETHER)))
    with KnowledgeBase.open(path, engines=engines()) as kb:
        events = kb.index()
        first = next(event for event in events if isinstance(event, Embedded))
        assert first.done == TOGETHER
        assert run(store).switched
        rest = list(events)
        assert any("replaced or dropped" in event.text for event in rest if isinstance(event, Note))
        assert index_report(rest).failed == 0
    space = store.vectors.active_space()
    assert space is not None
    assert (space.model, store.vectors.count_vectors(space.id).chunk) == (NEW, LINES + 2 * TOGETHER)
    assert len(store.vectors.spaces()) == 1


def test_index_refuses_the_other_model_both_ways_with_the_command_that_helps(path: Path) -> None:
    def refused(named: str, configured: Embedder) -> EmbeddingSpaceMismatch:
        chosen = Engines(Settings(models=ModelSettings(embed=named)), reader(), configured)
        with (
            KnowledgeBase.open(
                path, settings=Settings(models=ModelSettings(embed=named)), engines=chosen
            ) as kb,
            pytest.raises(EmbeddingSpaceMismatch) as error,
        ):
            list(kb.index())
        return error.value

    before = refused("my new.gguf", new_embedder())
    assert "made by scripted" in before.message
    assert "localrag reembed --embed-model 'my new.gguf'" in before.hint
    with Store.open(path) as store:
        run(store)
    after = refused(OLD, ScriptedEmbedder())
    assert "made by new" in after.message
    assert "localrag reembed --embed-model scripted" in after.hint


def test_index_takes_the_files_own_model_where_the_settings_name_none(path: Path) -> None:
    others: dict[str, Embedder] = {NEW: new_embedder(), OLD: ScriptedEmbedder()}
    with Store.open(path) as store:
        run(store)
        add_lines(store, "A new line")
    with KnowledgeBase.open(path, engines=engines(others)) as kb:
        list(kb.index())
        assert kb.status().vectors.chunks == LINES + 1
    named = Settings(models=ModelSettings(embed=OLD))
    with (
        KnowledgeBase.open(path, settings=named, engines=engines(others, OLD)) as kb,
        pytest.raises(EmbeddingSpaceMismatch),
    ):
        list(kb.index())


@pytest.mark.parametrize("named", ["", OLD])
def test_questions_use_the_files_own_model_if_it_is_here(path: Path, named: str) -> None:
    with Store.open(path) as store:
        run(store)
    chosen = engines({NEW: new_embedder()}, named)
    with KnowledgeBase.open(path, settings=Settings(models=ModelSettings(embed=named)), engines=chosen) as kb:
        found = kb.search("herons and reeds")
        assert "vector" in found.passages[0].sources
        # Who named another model is told; who left the choice to us got the right one.
        assert len(found.notes) == bool(named)
        assert all("scripted" in note and "vectors of new" in note for note in found.notes)


def test_a_model_of_the_same_name_that_makes_other_vectors_is_not_used(path: Path) -> None:
    with Store.open(path) as store:
        run(store)
    impostor = ScriptedEmbedder(16, NEW)
    with KnowledgeBase.open(path, engines=engines({NEW: impostor})) as kb:
        found = kb.search("herons and reeds")
        assert "vector" not in found.passages[0].sources
        assert "Only words and names were searched" in found.notes[0]
        assert impostor.calls == 0


def test_a_question_that_meets_the_switch_is_answered(
    path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Switching(ScriptedEmbedder):
        """Lets another program end its change between the question's vector and the search."""

        def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
            if kind == "query" and model_of(store) == OLD:
                done.append(run(store))
            return super().embed(texts, kind)

    done: list[ReembedReport] = []
    with KnowledgeBase.open(path, engines=Engines(None, reader(), Switching())) as kb:
        monkeypatch.setattr("localrag.answering.fitting.wait_for", lambda function, cancel: function())
        found = kb.search("herons and reeds")
    assert done[0].switched
    assert found.passages
    assert "Only words and names were searched" in found.notes[0]


def test_it_stands_still_when_background_work_does(store: Store) -> None:
    chosen = engines({NEW: new_embedder()})
    chosen.pause_background()
    seen: list[ReembedEvent] = []
    resumed: list[float] = []

    def resume() -> None:
        resumed.append(time.monotonic())
        chosen.resume_background()

    threading.Timer(0.4, resume).start()
    for event in reembed(store, chosen, NEW):
        seen.append(event)
        if isinstance(event, Embedded) and len(seen) == 2:
            assert time.monotonic() >= resumed[0]
    assert finished(seen).switched


def test_a_file_that_cannot_be_written_is_told_at_once(path: Path) -> None:
    with KnowledgeBase.open(path, read_only=True, engines=engines({NEW: new_embedder()})) as kb:
        for change in (lambda: kb.reembed(NEW), kb.cancel_reembedding):
            with pytest.raises(KnowledgeBaseReadOnly):
                change()


Step = tuple[str, int]


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(("add", "delete", "record", "batch", "index", "again")), st.integers(0, 5)),
        max_size=12,
    )
)
def test_whatever_happens_meanwhile_the_file_ends_as_if_the_new_model_had_been_there_always(
    steps: list[Step],
) -> None:
    def change(store: Store, place: int, step: Step) -> None:
        what, number = step
        documents = [row.id for row in store.documents.list()]
        if what == "add":
            # The name of a document follows from its text, so each has one of its own.
            add_lines(store, f"step {place}", *(f"line {line} of {number}" for line in range(20 * number)))
        elif what == "delete" and documents:
            store.documents.delete(documents[number % len(documents)])
        elif what == "record":
            for chunk in store.chunks.pending(number):
                said = reading([entity(f"Name {number}", chunk.text), entity("Hub", chunk.text)])
                store.graph.record(chunk.id, said, generation())

    with quick_store() as store:
        add_lines(store, *(f"line {line}" for line in range(40)))
        embed_all(store, ScriptedEmbedder())
        chosen = engines({NEW: new_embedder()})
        events = reembed(store, chosen, NEW)
        for place, step in enumerate(steps):
            change(store, place, step)
            if step[0] == "batch":
                for _ in range(step[1]):
                    next(events, None)
            elif step[0] == "index" and model_of(store) == OLD:
                embed_all(store, ScriptedEmbedder())
            elif step[0] == "again":
                events.close()
                events = reembed(store, chosen, NEW)
        list(events)
        finished(list(reembed(store, chosen, NEW)))
        embed_all(store, new_embedder())
        assert store.check() == []
        changed = logical_rows(store)
    with quick_store() as store:
        add_lines(store, *(f"line {line}" for line in range(40)))
        for place, step in enumerate(steps):
            change(store, place, step)
        embed_all(store, new_embedder())
        assert logical_rows(store) == changed
