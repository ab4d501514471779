"""What a call took and how it went wrong, told from what the engine and the reading say."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import cast

import pytest

from localrag.bench.extraction_data import load_set
from localrag.bench.extraction_run import cost_of, in_loop, is_unusable, read_set
from localrag.bench.extraction_scores import Share, tally
from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.engine.programs import FreeText
from localrag.engine.types import Event, Generation, GenerationRequest
from localrag.errors import Cancelled
from localrag.extraction.gleaning import Call, Kind
from localrag.extraction.wire import parse
from localrag.sections import ChunkingSettings, ExtractionSettings
from localrag.store.rows import Reject
from tests.bench.sets import HARBOUR, SCHEMA, TEA, write_set
from tests.engine.random_model import build

REQUEST = GenerationRequest("extraction", (), FreeText(), 10)
LOOP = "Ada | person\nTarn | place\n" + "Ada -> Tarn | lives in\n" * 4 + "Ada -> Ta"


def call(
    text: str = "x | person\n",
    finish: str = "stop",
    rejects: tuple[Reject, ...] = (),
    kind: Kind = "pass",
    probabilities: tuple[float, ...] = (),
    rolled_back: int = 0,
) -> Call:
    made = Generation(
        text=text,
        segments=(),
        finish=finish,  # type: ignore[arg-type]
        prompt_tokens=120,
        shared_tokens=100,
        output_tokens=7,
        forced_tokens=0,
        milliseconds=1,
        model="",
        prompt_hash="",
        probabilities=probabilities,
        rolled_back_tokens=rolled_back,
    )
    return Call(kind, REQUEST, made, rejects=rejects)


def test_tokens_of_a_shared_prefix_do_not_count_as_computed() -> None:
    cost = cost_of(call())
    assert (cost.prompt_tokens, cost.shared_tokens, cost.output_tokens, cost.calls) == (20, 100, 7, 1)


@pytest.mark.parametrize(
    ("made", "bad"),
    [
        (call(), False),
        (call(text=" \n"), True),
        (call(finish="error"), True),
        (call(rejects=(Reject("record", "x", "it is neither an entity nor a relationship"),)), True),
        (call(rejects=(Reject("relation", "x", "it has 3 fields instead of 4"),)), True),
        (call(rejects=(Reject("record", "x", "a reason that nobody thought of"),)), True),
        (call(finish="length", rejects=(Reject("record", "x", "the record was cut off"),)), False),
        (call(finish="length", rejects=(Reject("entity", "x", "it was cut off before its end"),)), False),
        (call(rejects=(Reject("entity", "x", "the name is not in the text"),)), False),
        (call(rejects=(Reject("entity", "it", "the name is a pronoun"),)), False),
        (call(rejects=(Reject("entity", "x", "this entity was written before"),)), False),
        (call(text="", kind="question", probabilities=(0.3, 0.7)), False),
        (call(text="", kind="question"), True),
    ],
)
def test_what_is_unusable(made: Call, bad: bool) -> None:
    assert is_unusable(made) is bad
    assert cost_of(made).unusable == bad


def test_every_reason_that_the_reader_of_records_gives_is_told_apart() -> None:
    text = (
        "(entity<|>Ada<|>person<|>x)##(entity<|>ADA<|>person<|>y)##(relationship<|>Ada<|>Eve<|>k<|>d)##"
        "(relationship<|>Ada<|>Ada<|>k<|>d)##(entity<|>Bob<|>person)##nonsense##(entity<|>Cut"
    )
    faults = {reject.reason for reject in parse(text).rejects if is_unusable(call(rejects=(reject,)))}
    assert faults == {"it has 2 fields instead of 3", "it is neither an entity nor a relationship"}
    assert sum(cost_of(call(rejects=(reject,))).orphans for reject in parse(text).rejects) == 1


def test_names_and_ends_that_were_left_out_are_counted() -> None:
    cost = cost_of(
        call(
            rejects=(
                Reject("entity", "Eve", "the name is not in the text"),
                Reject("relation", "Eve -> Ada", "an end is not in the text"),
                Reject("relation", "Ada -> Bob", "'Bob' is not one of the entities"),
                Reject("relation", "Ada -> Bob", "this pair was written before"),
            )
        )
    )
    assert (cost.invented, cost.orphans) == (1, 2)


def test_a_runaway_is_a_loop_that_only_the_bound_ended() -> None:
    runaway = cost_of(call(LOOP, "length"))
    assert (runaway.cut, runaway.runaway) == (1, 1)
    long = cost_of(call("Ada | person\nTarn | place\nAda -> Tarn | lives in\nAda -> Mi", "length"))
    assert (long.cut, long.runaway) == (1, 0)
    ended = cost_of(call(LOOP, rolled_back=9))
    assert (ended.cut, ended.runaway, ended.looped) == (0, 0, 1)


def test_loops_are_seen_within_a_line_and_line_by_line() -> None:
    assert in_loop(LOOP)
    assert in_loop("the ferry and the ferry and the ferry and the ferry and the ferry and the ferry and ")
    assert in_loop("a | b\nlong first line of three\nanother one\n" * 3)
    assert not in_loop("Ada | person\nTarn | place\nMill | thing\n")
    assert not in_loop("")


class Scripted:
    """Answers every call with the same text, and keeps what it was asked."""

    pid = None

    def __init__(self, answer: str) -> None:
        self._answer = answer
        self.asked: list[GenerationRequest] = []

    def describe(self) -> None:
        """Nothing is loaded."""

    def run(self, requests: Iterable[GenerationRequest]) -> Generator[tuple[int, Event]]:
        for index, request in enumerate(requests):
            self.asked.append(request)
            yield index, Generation(self._answer, (), "stop", 9, 0, 9, 0, 1, "", "")


ANSWER = (
    "(entity<|>Ada Lund<|>{}<|>She repaired it.)##(entity<|>Tarn<|>{}<|>A town.)##"
    "(relationship<|>Ada Lund<|>Tarn<|>{}<|>She lived there.)##<|COMPLETE|>"
)


def test_the_sets_types_are_given_in_words_and_come_back_as_the_set_writes_them(tmp_path: Path) -> None:
    gold = load_set(write_set(tmp_path, "own", [HARBOUR], SCHEMA), "own", "S")
    settings = ExtractionSettings(profile="lightrag")
    typed = Scripted(ANSWER.format("person", "location", "Lives In"))
    run = read_set(cast(WorkerModel, typed), gold, settings, ChunkingSettings(), schema=True)
    (passage,) = run.passages
    assert passage.entity_types == ("person", "organisation", "location", "THING")
    assert passage.relation_types == ("lives in", "works for", "owns")
    assert "organisation" in typed.asked[0].messages[0].text
    assert [entity.type for entity in passage.found.entities] == ["PER", "LOC"]
    assert [relation.type for relation in passage.found.relations] == ["lives in"]
    counts = tally(gold.items[0], passage.found)
    assert (counts.typed_found, counts.relations_found) == (Share(2, 4), Share(1, 2))
    plain = Scripted(ANSWER.format("person", "location", "home"))
    run = read_set(cast(WorkerModel, plain), gold, settings, ChunkingSettings(), schema=False)
    (passage,) = run.passages
    # The settings' own types are no types of the set.
    assert passage.entity_types == settings.entity_types
    assert [entity.type for entity in passage.found.entities] == ["person", "location"]
    assert tally(gold.items[0], passage.found).typed_found == Share(0, 4)


def test_passages_are_cut_and_read_as_the_product_does(tmp_path: Path) -> None:
    names = "Ada Lund met Piet Koster at the Old Mill in Tarn. " * 40
    long = {**HARBOUR, "id": "long", "text": names}
    nameless = {**HARBOUR, "id": "nameless", "text": "?"}
    folder = write_set(tmp_path / "data", "own", [HARBOUR, long, nameless, TEA], SCHEMA)
    gold = load_set(folder, "own", "M")
    settings = ExtractionSettings(profile="compact")
    file = build(tmp_path / "random.gguf", context=16384)
    model = WorkerModel(file, EngineOptions(n_ctx=8192, sequences=2))
    done: list[int] = []
    try:
        run = read_set(model, gold, settings, ChunkingSettings(), schema=False, progress=done.append)
    finally:
        model.close()
    assert [passage.item.id for passage in run.passages] == ["h1", "long", "nameless", "t1"]
    assert done == sorted(done)
    assert done[-1] == 4
    calls = [passage.found.cost.calls for passage in run.passages]
    # A long passage is cut and is one passage still; one that names nothing costs nothing.
    assert [calls[0], calls[2], calls[3]] == [1, 0, 1]
    assert calls[1] == len(run.passages[1].chunks) > 1
    assert run.passages[1].item.text.startswith(run.passages[1].chunks[0][0].text)
    assert run.seconds > 0
    assert run.cpu_seconds > 0


def test_a_reading_can_be_stopped(tmp_path: Path) -> None:
    gold = load_set(write_set(tmp_path, "own", [HARBOUR]), "own", "S")
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        read_set(
            cast(WorkerModel, Scripted("")),
            gold,
            ExtractionSettings(),
            ChunkingSettings(),
            schema=False,
            cancel=stop,
        )
