"""Writing summaries: most connected first, in parts that fit, each stored at once, as exact as the rest."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest, LanguageModel
from localrag.engines import Engines
from localrag.errors import EngineError, KnowledgeBaseReadOnly, ModelNotFound, SettingsError, UsageError
from localrag.indexing.events import Embedded, Note
from localrag.indexing.summary_events import SummariesPlanned, SummaryFailed, SummaryWritten
from localrag.kb import KnowledgeBase
from localrag.sections import ExtractionSettings, ModelSettings, SummarySettings
from localrag.settings import Settings
from localrag.store import Store
from localrag.store.curation_rows import EditEntity, RenameEntity
from localrag.summarising import Summarised, SummariseEvent, SummaryReport, summarise
from tests.engine.random_model import build
from tests.examples import examples
from tests.store.helpers import (
    add,
    add_lines,
    embed_missing,
    entity,
    generation,
    logical_rows,
    quick_store,
    reading,
    relation,
    session_of,
)
from tests.store.test_exactness import differences
from tests.store.worlds import World, read, worlds

SMALL = SummarySettings(join_count=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the empty file lies."""
    return tmp_path / "empty.localrag"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An empty file."""
    with Store.create(path) as made:
        yield made


def lines(request: GenerationRequest) -> list[str]:
    """The descriptions in a request."""
    prompt = request.messages[0].text
    return [json.loads(line)["description"] for line in prompt.splitlines() if line.startswith("{")]


def first_words(request: GenerationRequest) -> str:
    """A summary as a model might write it: something of each description."""
    return " ".join(f"{text.split()[0].strip('.')} of it." for text in lines(request))


def writer(answer: Callable[[GenerationRequest], str] = first_words, **options: object) -> ScriptedModel:
    return ScriptedModel(answer, **options)  # type: ignore[arg-type]


def run(
    store: Store,
    model: LanguageModel | None,
    values: SummarySettings = SMALL,
    cancel: threading.Event | None = None,
    embedder: ScriptedEmbedder | None = None,
    **bounds: float,
) -> list[SummariseEvent]:
    """Summarise with this model; gives all events."""
    nothing = ModelSettings(chat="nothing", embed="nothing")
    chosen = Settings(models=nothing, summaries=values)
    engines = Engines(chosen, model, embedder)
    return list(summarise(store, engines, chosen, cancel, **bounds))  # type: ignore[arg-type]


def report_of(events: list[SummariseEvent]) -> SummaryReport:
    assert isinstance(events[-1], Summarised)
    return events[-1].report


def say(store: Store, name: str, *texts: str) -> list[int]:
    """Let each text be said of the name in a chunk of its own."""
    chunks = add_lines(store, *(f"{name} {' '.join(text.split())}" for text in texts))
    for chunk, text in zip(chunks, texts, strict=True):
        store.graph.record(chunk, reading([entity(name, text)]), generation())
    return chunks


def numbered(count: int, word: str = "Text") -> list[str]:
    return [f"{word}{number} is what passage {number} says." for number in range(count)]


def summary(store: Store, key: str) -> str:
    return store.graph.find_by_keys([key])[0].summary


def test_long_lists_are_summed_up_and_short_ones_left(store: Store) -> None:
    say(store, "Ada", *numbered(5))
    say(store, "Bo", "Bakes.", "Sings.")
    say(store, "Cy", "Rows.")
    model = writer()
    events = run(store, model, SummarySettings(join_count=3))
    assert events[0] == SummariesPlanned(total=1, waiting=1, joined=1)
    (written,) = [event for event in events if isinstance(event, SummaryWritten)]
    assert (written.kind, written.name, written.descriptions, written.calls) == ("entity", "Ada", 5, 1)
    assert (written.done, written.total) == (1, 1)
    assert summary(store, "ada") == "Text0 of it. Text1 of it. Text2 of it. Text3 of it. Text4 of it."
    row = store.graph.find_by_keys(["bo"])[0]
    assert (row.summary, row.descriptions) == ("", ("Bakes.", "Sings."))
    report = report_of(events)
    assert (report.written, report.failed, report.joined, report.left, report.calls) == (1, 0, 1, 0, 1)
    assert store.check() == []
    # The call names the chunks, and its prompt is kept without any text of them.
    session = session_of(store)
    assert session.value("SELECT count(*) FROM generation_sources") == 5
    kept = session.value(
        "SELECT p.text FROM prompts p JOIN generations g ON g.prompt_hash = p.hash WHERE g.task = 'summary'"
    )
    assert "Sum up what they say" in kept
    assert "Text0" not in kept


def test_nothing_is_done_twice_and_only_what_changed_is_done_again(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    say(store, "Bo", *numbered(3, "Word"))
    assert report_of(run(store, writer())).written == 2
    model = writer()
    again = run(store, model)
    assert (again[0], model.calls) == (SummariesPlanned(0, 0, 0), [])
    say(store, "Bo", "Late is he.")
    model = writer()
    assert report_of(run(store, model)).written == 1
    assert lines(model.calls[0])[-1] == "Late is he."
    assert summary(store, "bo").endswith("Late of it.")


def test_what_is_connected_most_comes_first_and_limits_keep_the_rest(store: Store) -> None:
    for count, name in ((3, "Three"), (5, "Five"), (2, "Two"), (4, "Four")):
        say(store, name, *numbered(count, name))
    (one, two) = add_lines(store, "rel", "rel again")
    for chunk, text in ((one, "Two meets Five."), (two, "Five leaves Two.")):
        mentions = reading([entity("Two"), entity("Five")], [relation("Two", "Five", text)])
        store.graph.record(chunk, mentions, generation())
    first = run(store, writer(), limit=2)
    assert first[0] == SummariesPlanned(total=2, waiting=5, joined=0)
    assert [event.name for event in first if isinstance(event, SummaryWritten)] == ["Five", "Two"]
    assert report_of(first).left == 3
    rest = run(store, writer())
    assert [event.name for event in rest if isinstance(event, SummaryWritten)] == [
        "Four",
        "Three",
        "Two → Five",
    ]
    assert report_of(run(store, writer(), limit=0)).written == 0


def test_long_lists_are_summed_up_in_parts_and_the_parts_once_more(store: Store) -> None:
    say(store, "Ada", *numbered(60))
    model = writer(lambda request: lines(request)[0] if len(lines(request)) > 1 else "One.")
    events = run(store, model, SummarySettings(join_count=1, input_tokens=200))
    (written,) = [event for event in events if isinstance(event, SummaryWritten)]
    assert written.calls == len(model.calls) > 4
    level_one = [text for call in model.calls for text in lines(call) if text in numbered(60)]
    assert set(numbered(60)) <= set(level_one)
    # All calls stand in the journal as one.
    session = session_of(store)
    rows = session.rows("SELECT prompt_tokens, parameters FROM generations WHERE task = 'summary'")
    assert len(rows) == 1
    assert rows[0][0] == sum(model.count([call.messages[0].text])[0] for call in model.calls)
    assert json.loads(rows[0][1])["calls"] == len(model.calls)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=400), min_size=2, max_size=25),
    st.integers(100, 400),
    st.integers(700, 1500),
)
def test_every_call_fits_whatever_the_descriptions_are(texts: list[str], room: int, n_ctx: int) -> None:
    with quick_store() as store:
        say(store, "Ada", *texts)
        model = writer(lambda request: "In short.", n_ctx=n_ctx)
        events = run(store, model, SummarySettings(join_count=1, input_tokens=room, length=40))
        failed = [event for event in events if isinstance(event, SummaryFailed)]
        assert failed == []
        for call in model.calls:
            assert model.count_prompt(call.messages) + call.max_tokens <= n_ctx
            listed = [line for line in call.messages[0].text.split("\n") if line.startswith("{")]
            assert sum(model.count(listed)) <= room
            assert len(listed) >= 2


def test_a_context_that_holds_nothing_is_told_with_numbers(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    with pytest.raises(EngineError, match=r"too small for summaries.*engine\.n_ctx"):
        run(store, writer(n_ctx=300))


def test_a_failed_summary_stops_nothing_and_is_tried_by_the_next_run(store: Store) -> None:
    say(store, "Ada", *numbered(4))
    say(store, "Bo", *numbered(3, "Word"))

    def ada(request: GenerationRequest) -> bool:
        return "Ada" in request.messages[0].text

    events = run(store, writer(fail=ada))
    (failed,) = [event for event in events if isinstance(event, SummaryFailed)]
    assert (failed.name, failed.reason) == ("Ada", "scripted failure")
    report = report_of(events)
    assert (report.written, report.failed) == (1, 1)
    assert summary(store, "ada") == ""
    assert report_of(run(store, writer())).written == 1


def test_a_failed_part_gives_up_the_rest_of_its_list(store: Store) -> None:
    say(store, "Ada", *numbered(60))
    model = writer(fail=lambda request: "Text0" in request.messages[0].text)
    report = report_of(run(store, model, SummarySettings(join_count=1, input_tokens=200)))
    assert (report.written, report.failed) == (0, 1)
    assert len(model.calls) == 1


def test_what_the_descriptions_do_not_bear_out_is_no_summary(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    events = run(store, writer(lambda request: "She owns 77 boats."))
    (failed,) = [event for event in events if isinstance(event, SummaryFailed)]
    assert "not in the descriptions" in failed.reason
    assert summary(store, "ada") == ""
    # The same would be written again, so it is left until something changes.
    assert run(store, writer())[0] == SummariesPlanned(0, 0, 0)


def test_a_part_of_which_nothing_can_be_used_does_not_lose_the_others(store: Store) -> None:
    say(store, "Ada", *numbered(60))

    def some(request: GenerationRequest) -> str:
        return (
            "She owns 777 boats."
            if "Text0" in request.messages[0].text and len(calls) < 2
            else first_words(request)
        )

    model = writer(some)
    calls = model.calls
    assert report_of(run(store, model, SummarySettings(join_count=1, input_tokens=200))).written == 1
    assert "777" not in summary(store, "ada")


def test_a_stop_keeps_what_is_written_and_the_next_run_goes_on(store: Store) -> None:
    for name in ("A", "B", "C", "D"):
        say(store, name, *numbered(3, name))
    cancel = threading.Event()

    class Stopping(ScriptedModel):
        def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
            for count, pair in enumerate(super().run(requests)):
                yield pair
                if count == 3:
                    cancel.set()

    first = run(store, Stopping(first_words), cancel=cancel)
    report = report_of(first)
    assert report.cancelled
    assert 2 <= report.written < 4
    assert report.left == 4 - report.written
    second = report_of(run(store, writer()))
    assert (second.written, second.cancelled) == (report.left, False)


def test_time_ends_a_run_without_an_error(store: Store) -> None:
    for name in ("A", "B", "C"):
        say(store, name, *numbered(3, name))
    report = report_of(run(store, writer(delay=0.05), minutes=0.06 / 60))
    assert not report.cancelled
    assert 0 < report.written < 3
    assert report.left == 3 - report.written


def test_a_document_that_goes_meanwhile_takes_its_summary_along(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    document_id = store.documents.list()[0].id

    def gone(request: GenerationRequest) -> str:
        with Store.open(store.path) as other:
            other.documents.delete(document_id)
        return first_words(request)

    for texts in (numbered(2, "Other"),):
        say(store, "Ada", *texts)
    events = run(store, writer(gone))
    (failed,) = [event for event in events if isinstance(event, SummaryFailed)]
    assert "deleted meanwhile" in failed.reason
    assert summary(store, "ada") == ""
    assert session_of(store).value("SELECT count(*) FROM prompts WHERE text LIKE '%Sum up what%'") == 0
    assert "Text0" not in str(logical_rows(store))


def test_vectors_are_made_of_the_summaries(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    embedder = ScriptedEmbedder()
    space = store.vectors.ensure_space(embedder.space)
    before = embedder.calls
    events = run(store, writer(), embedder=embedder)
    assert [event.what for event in events if isinstance(event, Embedded)] == ["entities"]
    assert embedder.calls > before
    assert store.vectors.count_missing(space, "entity") == 0


def test_without_an_embedding_model_a_note_says_so(store: Store) -> None:
    say(store, "Ada", *numbered(3))
    embed_missing(store)
    (note,) = [event for event in run(store, writer()) if isinstance(event, Note)]
    assert "localrag index will make them" in note.text


def test_a_model_is_needed_only_where_there_is_something_to_do(store: Store) -> None:
    say(store, "Bo", "Bakes.", "Sings.")
    assert report_of(run(store, None, SummarySettings())).joined == 1
    say(store, "Bo", *numbered(20))
    with pytest.raises(ModelNotFound):
        run(store, None, SummarySettings())


def test_bounds_without_meaning_and_files_that_cannot_be_written_are_refused(
    store: Store, path: Path
) -> None:
    for bounds in ({"limit": -1}, {"minutes": 0}, {"minutes": float("nan")}):
        with pytest.raises(UsageError):
            run(store, writer(), **bounds)
    with Store.open(path, read_only=True) as closed, pytest.raises(KnowledgeBaseReadOnly):
        run(closed, writer())
    with pytest.raises(SettingsError):
        summarise(store, Engines(Settings()), Settings(extraction=ExtractionSettings(language="xx")))


def test_what_a_person_wrote_is_never_summed_up(store: Store) -> None:
    say(store, "Ada", *numbered(4))
    run(store, writer())
    store.decisions.add(EditEntity("ada", "A person of whom much is known."))
    model = writer()
    run(store, model)
    assert model.calls == []
    assert store.graph.find_by_keys(["ada"])[0].descriptions == ("A person of whom much is known.",)
    store.decisions.undo()
    store.decisions.add(RenameEntity("ada", "Ada Lind", "ada lind", "Ada"))
    model = writer()
    assert report_of(run(store, model)).written == 1
    assert "Ada Lind" in model.calls[0].messages[0].text


def test_a_knowledge_base_does_it_too(read_library: KnowledgeBase) -> None:
    events = list(read_library.summarize())
    assert isinstance(events[-1], Summarised)
    assert (events[-1].report.joined, events[-1].report.written) == (1, 0)


@pytest.fixture
def read_library(waiting: KnowledgeBase) -> Iterator[KnowledgeBase]:
    """The library, read."""
    from tests.conftest import reader

    engines = Engines(Settings(), reader(), ScriptedEmbedder())
    with KnowledgeBase.open(waiting.path, engines=engines) as kb:
        list(kb.index())
        yield kb


def lived(world: World, before: bool) -> tuple[dict[str, list[tuple[object, ...]]], list[str]]:
    """The rows after the world's documents were read, some deleted, and everything summed up by the stage."""

    def told(request: GenerationRequest) -> str:
        # Everything that it was given, so that a word which stays although its source went is seen.
        return " ".join(re.findall(r"\w+", " ".join([request.messages[0].text, *lines(request)]))[-40:]) + "."

    with quick_store() as store:
        ids = {plan.number: add(store, plan.path, "\n".join(plan.lines)) for plan in world.plans}
        read(store, world, ids, world.order)
        if before:
            run(store, writer(told))
        for number in sorted(world.gone):
            store.documents.delete(ids[number])
        run(store, writer(told))
        return logical_rows(store), store.check()


@settings(max_examples=examples(24), deadline=None)
@given(worlds(), st.booleans())
def test_summaries_are_as_if_a_deleted_document_had_never_been_there(world: World, before: bool) -> None:
    # A document that comes back changes the order of what is summed up; `lived` brings none back.
    world = replace(world, again=())
    rows, problems = lived(world, before)
    alone, _ = lived(world.without(), False)
    assert problems == []
    assert differences(alone, rows) == {}


def test_a_result_without_text_is_no_summary(store: Store) -> None:
    say(store, "Ada", *numbered(3))

    class Silent(ScriptedModel):
        def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
            for index, event in super().run(requests):
                yield index, event if not isinstance(event, Generation) else _emptied(event)

    assert report_of(run(store, Silent(first_words))).failed == 1


def _emptied(made: Generation) -> Generation:
    return Generation("", (), "length", 10, 5, 20, 3, 40, made.model, made.prompt_hash)


def test_a_model_that_knows_nothing_writes_one_bounded_line(store: Store, tmp_path: Path) -> None:
    say(store, "Ada", *numbered(20))
    say(store, "Bo", *numbered(3, "Word"))
    seen: list[Generation] = []

    class Watched(WorkerModel):
        def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
            for index, event in super().run(requests):
                seen.extend([event] if isinstance(event, Generation) else [])
                yield index, event

    values = SummarySettings(join_count=1, input_tokens=400, length=20)
    model = Watched(
        build(tmp_path / "random.gguf", context=4096), EngineOptions(n_ctx=4096, sequences=3, threads=1)
    )
    with contextlib.closing(model):
        report = report_of(run(store, model, values))
    # Whatever came of it, every call fitted and nothing is left half done.
    assert (report.written + report.failed, report.left) == (2, 0)
    assert len(seen) > 3
    assert all(made.finish in ("stop", "length") for made in seen)
    for made in seen:
        assert 0 < len(made.text) <= 20 * 6
        assert not set("\n\r\t") & set(made.text)
        assert made.text[0] not in ' {}[]<>|#*`"-\\'
    assert store.check() == []
