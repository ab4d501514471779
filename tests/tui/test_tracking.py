"""What an index run tells becomes what the place of reading shows, and its words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localrag.indexing import (
    ChunkFailed,
    ChunkRead,
    ClaimsFailed,
    ClaimsRead,
    ClaimsStarted,
    Embedded,
    Estimate,
    Finished,
    IndexReport,
    InHand,
    Link,
    Note,
    Progress,
    Started,
)
from localrag.indexing.ahead import Ahead, WaitingDocument
from localrag.indexing.summary_events import SummariesPlanned, SummaryFailed, SummaryPace, SummaryWritten
from localrag.settings import Settings
from localrag.store.space_rows import VectorCounts
from localrag.tui import tracking
from localrag.tui.index_run import index_state
from localrag.tui.index_words import (
    about,
    bar,
    fault_text,
    how_words,
    progress_text,
    ready_text,
    report_text,
    speed_words,
    vector_words,
)
from localrag.tui.run_state import RunState, Stage
from localrag.tui.tracking import Tracker
from localrag.tui.words import Fault, index_words

READ = ChunkRead(
    7,
    "ha\x1b[31mrbour.md",
    2,
    ("Ada Lund", "Harbour"),
    1,
    0,
    0.5,
    ("person", "place"),
    (Link("Ada Lund", "Harbour", "repaired"),),
    3,
)
REPORT = IndexReport(
    read=2, failed=1, entities=9, relations=4, rejects=0, seconds=75, cancelled=False, tokens=1234
)


def progress(read: int, **more: object) -> Progress:
    return replace(Progress(read, 8, 210.0, 14.0, 3.4, 480.0), **more)  # type: ignore[arg-type]


def states(run: RunState) -> dict[str, str]:
    return {stage.key: stage.state for stage in run.stages}


def test_a_run_goes_through_its_stages() -> None:
    tracker = Tracker(claims=True, summaries=True, clock=lambda: 100.0)
    tracker.doing("Measuring")
    assert tracker.state.doing == "Measuring"
    tracker.take(Started(8, 4, 2))
    assert states(tracker.state) == dict.fromkeys(
        ("chunks", "reading", "summaries", "entities", "relations", "claims"), "ahead"
    )
    assert index_words(index_state(tracker.state)) == "Starting the model"
    tracker.take(Embedded(2, 4, "chunks"))
    assert index_words(index_state(tracker.state)) == "Vectors of text: 2 of 4 chunks"
    tracker.take(progress(1, looks=3))
    run = tracker.state
    assert run.stage == Stage("reading", 1, 8, "now", "3 second looks")
    assert index_words(index_state(run)) == "Reading: 1 of 8 chunks · 14 tokens/s · 8 min left"
    tracker.take(READ)
    tracker.take(SummariesPlanned(5, 9, 1))
    tracker.take(SummaryPace(1, 5, 20.0, 60.0))
    assert (tracker.state.write_rate, tracker.state.read_rate, tracker.state.seconds_left) == (
        20.0,
        0.0,
        60.0,
    )
    tracker.take(SummaryWritten("entity", 1, "Ada Lund", 14, 1, 2, 5))
    tracker.take(SummaryFailed("entity", 2, "Harbour", "no", 3, 5))
    tracker.take(Embedded(1, 1, "entities"))
    tracker.take(ClaimsStarted(3))
    tracker.take(ClaimsRead(7, "harbour.md", 2, 1, 0, 0, 0, 0.1, ("Ada Lund repaired it.",)))
    tracker.take(ClaimsFailed(8, "mill.md", 0, "too long"))
    tracker.take(progress(2, in_hand=(InHand(9, "mill.md", 0, "", None),), spent=900))
    run = tracker.state
    assert run.stage == Stage("claims", 2, 8, "now")
    assert states(run)["reading"] == states(run)["summaries"] == states(run)["entities"] == "done"
    assert run.counts == {"entity": 2, "relation": 1, "summary": 1, "claim": 1}
    assert [failed.reason for failed in run.failed] == ["Its claims: too long", "No summary: no"]
    assert tracker.take(Finished(REPORT)) is REPORT
    assert states(tracker.state)["relations"] == "off"
    assert (tracker.state.hands, tracker.state.tokens, tracker.state.began) == ((), 1234, 100.0)


def test_stages_that_will_not_come_are_left_out_and_a_stop_leaves_them_where_they_are() -> None:
    tracker = Tracker()
    tracker.take(Started(8, 0, 2))
    assert states(tracker.state) == {
        "chunks": "off",
        "reading": "ahead",
        "entities": "ahead",
        "relations": "ahead",
    }
    tracker.take(progress(1))
    tracker.take(Finished(replace(REPORT, cancelled=True)))
    assert states(tracker.state)["reading"] == "now"


def test_what_is_found_comes_newest_first_is_bounded_and_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "MOST_FOUND", 4)
    tracker = Tracker()
    for _ in range(3):
        tracker.take(READ)
    run = tracker.state
    assert [(item.number, item.kind, item.name, item.other) for item in run.found] == [
        (9, "relation", "Ada Lund", "Harbour"),
        (8, "entity", "Harbour", ""),
        (7, "entity", "Ada Lund", ""),
        (6, "relation", "Ada Lund", "Harbour"),
    ]
    assert run.found[0].document == "harbour.md"
    assert run.found[0].document_id == 3
    assert run.counts == {"entity": 6, "relation": 3}


def test_failures_and_notes_are_kept() -> None:
    tracker = Tracker()
    tracker.take(ChunkFailed(4, "mill.md", "The model wrote\x07 nothing.", 1, left_out=True, document_id=2))
    tracker.take(Note("No vectors."))
    run = tracker.state
    assert (run.failures, run.notes) == (1, ("No vectors.",))
    assert (run.failed[0].reason, run.failed[0].chunk_id, run.failed[0].left_out) == (
        "The model wrote nothing.",
        4,
        True,
    )


def test_what_is_in_hand_is_told_by_page_heading_or_place() -> None:
    tracker = Tracker()
    hands = (
        InHand(1, "a.pdf", 0, "Bridges", 3),
        InHand(2, "b.md", 4, "", None, looks=1),
        *(InHand(n, "c.md", n, "", None) for n in range(3, 20)),
    )
    tracker.take(progress(1, in_hand=hands))
    text = progress_text(tracker.state, 76, 0.0, hands=2).plain
    assert "Now: a.pdf, page 3, Bridges\nNow: b.md, part 5 (once more)  and 17 more" in text


@pytest.mark.parametrize(
    ("done", "total", "drawn"), [(0, 8, "░░░░"), (8, 8, "████"), (3, 8, "█▌░░"), (0, 0, "░░░░")]
)
def test_a_bar_shows_the_share(done: int, total: int, drawn: str) -> None:
    assert bar(done, total, 4) == drawn


def test_a_bar_is_never_full_before_all_is_done_and_never_wider() -> None:
    assert bar(9999, 10000, 4) == "███▉"
    assert {len(bar(done, 77, 13)) for done in range(80)} == {13}
    assert bar(1, 2, 0) == ""


@pytest.mark.parametrize("width", [20, 40, 56, 76, 130])
def test_lines_of_stages_fit_their_width(width: int) -> None:
    run = RunState(
        stages=(Stage("reading", 123456, 1234567, "now", "99,999 second looks"), Stage("relations", 0, 5)),
        per_minute=3.0,
    )
    lines = progress_text(run, width, 5.0, adding=("a" * 200, 1, 9)).plain.split("\n")
    assert all(len(line) <= width for line in lines[1:4])
    assert ("░" in lines[2]) == (width > 50)


def test_the_head_says_what_stands_in_the_way() -> None:
    run = RunState(stages=(Stage("reading", 2, 8, "now"),), seconds_left=480, read_rate=100, per_minute=2)
    assert progress_text(run, 76, 0).plain.startswith("Reading: about 8 min left")
    assert progress_text(run, 76, 0, paused=True).plain.startswith("Paused: Reading.")
    waits = replace(run, stands=True)
    assert progress_text(waits, 76, 0).plain.startswith("Waits while a question is answered: Reading")
    assert "tokens/s" in speed_words(run, 0)
    assert "tokens/s" not in speed_words(waits, 0)
    assert index_words(index_state(waits)).startswith("Index waits for the answer · Reading: 2 of 8")
    later = replace(run, stages=(*run.stages, Stage("relations")))
    assert "Vectors of relations" in progress_text(later, 76, 0).plain
    assert "Vectors of relations" not in progress_text(later, 76, 0, short=True).plain
    assert progress_text(run, 76, 0, stopping=True).plain.startswith("Stopping. What was read is kept.")


ESTIMATE = Estimate(12, 4000, 24, 12345, 3456, 720.0, "machine")
AHEAD = Ahead(
    ESTIMATE, (WaitingDocument(1, "a.md", 12, 12, 4000, 1),), True, VectorCounts(12, 0, 0), True, left_out=2
)


def test_what_lies_ahead_in_words() -> None:
    text = ready_text(AHEAD, Settings()).plain
    assert "12 chunks of 1 document wait to be read." in text
    assert "About 12 min on this machine, by what was measured here: 24 calls of the model" in text
    assert "about 12,000 tokens to read and 3,500 to write" in text
    assert "Vectors to make: of 12 chunks, and of what is found." in text
    assert "2 chunks failed and are left out" in text
    assert "profile compact, no second look, no claims, no summaries" in text
    assert "What a run does" in ready_text(AHEAD, Settings(), explain=True).plain
    unknown = replace(AHEAD, estimate=replace(ESTIMATE, seconds=None), embedder=False)
    text = ready_text(unknown, Settings()).plain
    assert "How long it takes is known once" in text
    assert "No embedding model is installed" in text
    done = replace(AHEAD, estimate=replace(ESTIMATE, chunks=0), documents=(), missing=VectorCounts())
    assert ready_text(done, Settings()).plain.startswith("Everything that was added is read.\nAll vectors")
    assert vector_words(replace(AHEAD, missing=VectorCounts(1, 2, 1))).startswith(
        "Vectors to make: of 1 chunk, 2 entities, 1 relation"
    )


def test_how_it_reads_follows_the_settings() -> None:
    usual = Settings()
    wanted = replace(
        usual,
        claims=replace(usual.claims, at_index=True),
        extraction=replace(usual.extraction, profile="graphrag", gleaning="until-no"),
    )
    assert how_words(wanted).startswith("profile graphrag, up to 3 second looks, with claims, no summaries.")


def test_what_came_of_a_run_in_words() -> None:
    run = RunState(counts={"entity": 5, "relation": 1}, stages=(Stage("reading", 3, 8, "now"),))
    text = report_text(REPORT, run).plain
    assert text.startswith("Done.\nThis run: 2 chunks read in 1 min, 1 failed, 5 names and 1 relation found")
    assert text.endswith("The file holds 9 entities and 4 relations now.")
    assert report_text(replace(REPORT, cancelled=True), None).plain.startswith(
        "Stopped. What was read is kept"
    )
    assert report_text(replace(REPORT, reason="tokens"), None).plain.startswith("The budget of the run")
    broken = fault_text(Fault("The engine died.", "Ask."), run).plain
    assert broken == (
        "The index run ended early.\nThe engine died.\nAsk.\n"
        "Kept: 3 chunks read in this run. Press b to try again."
    )


def test_counts_are_rounded_to_what_is_known() -> None:
    assert [about(number) for number in (7, 99, 123, 12345, 987654)] == [
        "7",
        "99",
        "120",
        "12,000",
        "990,000",
    ]
