"""Loops: what is one, what is none, and what becomes of the output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from localrag.engine.job import Job
from localrag.engine.programs import CitedText, Field, FreeText, LeanRecords, Record, Records
from localrag.engine.repetition import RecordWatch, TextWatch, loop_within, periodic_tail
from tests.engine.desk import Desk, chance, scripted

NAMES = ("Mira Holt", "Sele", "Norhaven", "the ferry", "R. Dane", "Ann Lee", "Kell", "Brono")


@pytest.fixture(scope="module")
def desk(random_gguf: Path) -> Desk:
    return Desk(random_gguf)


def records(maximum: int = 8) -> Records:
    return Records(
        (
            Record("entity", (Field("name", "new", NAMES), Field("about", "text", max_chars=200)), maximum),
            Record(
                "link",
                (Field("a", "used"), Field("b", "used"), Field("words", "text", max_chars=120)),
                maximum,
            ),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "history, history, history, history, history, history",
        "the sea and the boat went out, and the sea and the boat went out and the sea and the boat went out",
        "港口办公室的港口办公室的港口办公室的港口办公室的",
        "a town of the north coast, a city of the north coast, a place of the north coast",
    ],
)
def test_a_record_that_goes_in_circles_is_seen(text: str) -> None:
    start = loop_within(text)
    assert start is not None
    assert 0 < start < len(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the king of France, the king of Spain and the king of Prussia met at the river",
        "New York, New York",
        "A lighthouse keeper who wrote the hour of every ship into a log for thirty years.",
        "灯塔看守人把每艘船经过的时间写进日志，灯塔在岛的北端。",
        "2019, 2020, 2021, 2022",
    ],
)
def test_a_record_that_says_something_is_left_alone(text: str) -> None:
    assert all(loop_within(text[:end]) is None for end in range(len(text) + 1))


def test_a_unit_needs_its_number_of_times_and_its_weight() -> None:
    assert periodic_tail("abcabcabc", times=3, least=6) == 3
    assert periodic_tail("abcabcabc", times=4, least=6) is None
    assert periodic_tail("abcabcabc", times=3, least=7) is None
    assert periodic_tail("-" * 100, times=3, least=6) is None
    assert periodic_tail("-" * 300, times=3, least=6) == 1


def test_records_that_all_say_the_same_end_their_kind() -> None:
    watch = RecordWatch()
    same = "A person who is mentioned in the text of the passage."
    answers = [watch.repeated("entity", f"{same}") for _ in range(4)]
    assert answers == [False, False, False, True]
    # Another kind is counted on its own, and something new begins the count again.
    assert not watch.repeated("link", same)
    assert not watch.repeated("entity", "The town where the ferry lands every evening at nine.")
    assert not watch.repeated("entity", same)


def test_a_name_in_a_text_makes_it_another(desk: Desk) -> None:
    script = "".join(f"(entity<|>{name}<|>{name} lives in the north.)##\n" for name in NAMES)
    result = desk.run(records(), scripted(script + "<|COMPLETE|>"), max_tokens=2000)
    assert len(result["segments"]) == len(NAMES) + 1
    assert result["rolled_back_tokens"] == 0


def test_trivial_changes_do_not_hide_a_repetition() -> None:
    watch = RecordWatch()
    texts = [f"Event number {n} in the long history of the harbour office." for n in range(1980, 1990)]
    assert [watch.repeated("entity", text) for text in texts].index(True) == 3


def test_short_phrases_may_come_again() -> None:
    watch = RecordWatch()
    answers = [watch.repeated("link", "member of") for _ in range(7)]
    assert answers == [False] * 6 + [True]


def test_text_ends_where_its_sentences_come_again() -> None:
    text = "The lamp was lit at six. The keeper went home. "
    watch = TextWatch()
    assert watch.loop(text) is None
    assert watch.loop(text * 2 + "The lamp was lit at six. The keeper ") in (None, len(text))
    assert watch.loop(text * 3) == len(text)


def test_a_numbered_list_of_one_sentence_is_a_loop() -> None:
    text = "".join(f"{n}. The harbour office sent a letter to the island [{n}].\n" for n in range(1, 6))
    start = TextWatch().loop(text)
    assert start == text.index("2. ")


@pytest.mark.parametrize(
    "text",
    [
        "The ferry leaves at nine. It returns at ten. The last one leaves at noon. It returns at one.",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |\n",
        "Yes. Yes, it is. Yes, the ferry leaves at nine.",
        "最后一班渡轮九点开。渡轮十点回来。灯塔在岛的北端。",
    ],
)
def test_honest_text_is_no_loop(text: str) -> None:
    watch = TextWatch()
    assert all(watch.loop(text[:end]) is None for end in range(1, len(text) + 1))


LOOP = "keeps the light and keeps the light and keeps the light and keeps the light and keeps the light and"


def test_a_looping_description_is_shortened_once(desk: Desk) -> None:
    script = f"(entity<|>Sele<|>a town)##\n(entity<|>Mira Holt<|>{LOOP}"
    result = desk.run(records(), scripted(script))
    entities = [text for kind, text in result["segments"] if kind == "entity"]
    assert entities[:2] == ["(entity<|>Sele<|>a town)##\n", "(entity<|>Mira Holt<|>keeps the light and)##\n"]
    assert result["rolled_back_tokens"] > 10


def test_the_second_loop_takes_its_record_back_and_goes_on_to_the_next_kind(desk: Desk) -> None:
    whole = "(entity<|>Sele<|>keeps the light and)##\n(entity<|>Kell<|>a port)##\n"
    shortened = whole.replace("keeps the light and", LOOP)
    seen: list[str] = []

    def score(desk: Desk, job: Job, cache: list[int]) -> NDArray[np.float32]:
        written = b"".join(desk.model.token_bytes(token) for token in cache[4:]).decode("utf-8", "replace")
        seen.append(written)
        behind = written.startswith("(entity<|>Sele<|>keeps the light and)")
        return scripted(f"{whole}(entity<|>Mira Holt<|>{LOOP}" if behind else shortened)(desk, job, cache)

    result = desk.run(records(), score)
    names = [text.split("<|>")[1] for kind, text in result["segments"] if kind == "entity"]
    assert names == ["Sele", "Kell"]
    assert result["finish"] == "stop"
    # The record was there and is gone, and no entity follows.
    assert any("Mira" in text for text in seen)
    assert "Mira" not in result["text"]
    assert result["text"].endswith("<|COMPLETE|>")


def test_a_name_counts_only_in_the_text_field(desk: Desk) -> None:
    """Together with the name field it stands there three times, which is no loop of the text."""
    about = "Mira Holt of Sele is known as Mira Holt of Sele"
    program = Records(
        (Record("entity", (Field("name", "new", ("Mira Holt of Sele",)), Field("about", "text")), 2),)
    )
    script = f"(entity<|>Mira Holt of Sele<|>{about})##\n<|COMPLETE|>"
    assert desk.run(program, scripted(script))["text"] == script


def test_a_looping_relation_is_shortened_with_its_first_half_in_place(desk: Desk) -> None:
    script = (
        "(entity<|>Sele<|>a town)##\n(entity<|>Kell<|>a port)##\n"
        "(link<|>Sele<|>Kell<|>near, near, near, near, near, near, near, near, near, near, near, near"
    )
    result = desk.run(records(), scripted(script))
    assert result["segments"][2] == ("link", "(link<|>Sele<|>Kell<|>near)##\n")
    assert result["segments"][-1] == ("complete", "<|COMPLETE|>")


def test_the_fourth_record_of_one_text_is_taken_back(desk: Desk) -> None:
    about = "A person or place that is mentioned in the passage above."
    script = "".join(f"(entity<|>{name}<|>{about})##\n" for name in NAMES)
    result = desk.run(records(), scripted(script), max_tokens=2000)
    entities = [text for kind, text in result["segments"] if kind == "entity"]
    assert len(entities) == 3
    assert result["rolled_back_tokens"] > 0
    assert result["finish"] == "stop"


def test_lean_relations_of_one_phrase_end_the_list(desk: Desk) -> None:
    lines = "".join(f"{name} | place\n" for name in NAMES) + "END\n"
    phrase = "is a place in the same passage as"
    links = "".join(f"{NAMES[0]} -> {name} | {phrase}\n" for name in NAMES[1:])
    result = desk.run(LeanRecords(NAMES, ("place",)), scripted(lines + links), max_tokens=2000)
    kinds = [kind for kind, _ in result["segments"]]
    assert kinds.count("relationship") == 6
    assert result["rolled_back_tokens"] > 0
    assert kinds[-1] == "end"
    assert result["text"].endswith("\nEND")


def test_looping_free_text_ends_behind_its_first_round(desk: Desk) -> None:
    first = "The lamp was lit at six. The keeper went home to his daughter. "
    result = desk.run(FreeText(), scripted(first * 8), max_tokens=4000)
    assert result["text"] == first.rstrip()
    assert result["finish"] == "stop"
    assert result["rolled_back_tokens"] > 0


def test_free_text_may_repeat_itself_where_that_is_wanted(desk: Desk) -> None:
    script = "ha " * 100
    result = desk.run(FreeText(repeats=True), scripted(script), max_tokens=4000)
    assert result["text"] == script


def test_a_looping_answer_goes_on_to_its_sources(desk: Desk) -> None:
    first = "The ferry of the island leaves at nine in the evening. "
    program = CitedText(sources=3)
    result = desk.run(program, scripted(first * 9), max_tokens=4000)
    assert [name for name, _ in result["segments"]] == ["body", "sources"]
    assert result["segments"][0][1] == first.rstrip()
    cited = "The ferry of the island leaves at nine in the evening [2]. "
    result = desk.run(program, scripted(cited * 9), max_tokens=4000)
    assert result["segments"] == [("body", cited.rstrip())]


def test_marks_without_end_are_not_cut_in_the_middle(desk: Desk) -> None:
    result = desk.run(CitedText(sources=3), scripted("It is so [1]" + "[1]" * 200), max_tokens=4000)
    body = result["segments"][0][1]
    assert body.count("[") == body.count("]")
    assert len(body) < 40


@pytest.mark.parametrize(
    "script",
    [
        "The lamp was lit at six. The keeper went home to his daughter. " * 8,
        "Once upon a time. " + "and then they went on and on " * 40,
        "A plain text that ends by itself, without any loop.",
        "海" * 3 + "灯塔看守人把每艘船经过的时间写进日志。" * 9,
    ],
)
def test_what_was_streamed_is_the_text_whatever_was_taken_back(desk: Desk, script: str) -> None:
    result = desk.run(FreeText(), scripted(script), max_tokens=4000, stream=True)
    # The desk has compared the pieces with the text.
    assert script.startswith(result["text"])
    assert len(result["text"]) < 130
    result = desk.run(CitedText(sources=2), scripted(script), max_tokens=4000, stream=True)
    assert result["finish"] == "stop"


@pytest.mark.parametrize("seed", range(30))
def test_cache_and_output_agree_whatever_happens(desk: Desk, seed: int) -> None:
    """The desk checks them at every token; records by chance, with a bias to end fields soon."""
    for program in (records(), LeanRecords(NAMES, ("place", "person"), loose=bool(seed % 2)), FreeText()):
        result = desk.run(program, chance(seed), max_tokens=600, stream=bool(seed % 3), temperature=seed % 2)
        assert not result["error"]
