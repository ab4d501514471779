"""What a reader gets to see of an answer while it streams: marks behind sentences, each one checked."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from localrag.answering.citing import Citing
from localrag.retrieval.context import Source
from localrag.retrieval.types import Passage


def source(number: int, text: str, document: str) -> Source:
    return Source(number, Passage(number, number, document, None, "", 0, len(text), text, 1.0, ()))


SOURCES = (
    source(1, "The Halden Bridge crosses the Orla. Tomas Berg repaired it in 1931 with steel.", "bridge.md"),
    source(2, "The old mill stands above the Orla. Marta Lind bought it in 1934.", "mill.md"),
    source(3, "2005年，陈玉兰把茶馆交给了她的徒弟林小川。", "tea.md"),
)
QUESTION = "Who repaired the Halden Bridge?"


def written(
    text: str,
    pieces: int = 1_000,
    *,
    sources: tuple[Source, ...] = SOURCES,
    question: str = QUESTION,
    language: str = "en",
    maximum: int = 5,
    listed: tuple[int, ...] = (),
) -> tuple[str, Citing]:
    citing = Citing(
        sources,
        question=question,
        language=language,
        maximum=maximum,
        refusal="[no-context]",
        general="[General Knowledge]",
    )
    shown = "".join(citing.feed(text[start : start + pieces]) for start in range(0, len(text), pieces))
    return shown + citing.finish(listed), citing


@pytest.mark.parametrize("pieces", [1, 2, 5, 1_000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # Marks where the model wrote none, and the right ones where it wrote wrong ones.
        (
            "Tomas Berg repaired it. Marta Lind bought the mill.",
            "Tomas Berg repaired it [1]. Marta Lind bought the mill [2].",
        ),
        ("Tomas Berg [2] repaired it [3].", "Tomas Berg repaired it [1]."),
        (
            "Tomas Berg repaired it. [1] Marta Lind bought the mill. [2]",
            "Tomas Berg repaired it [1]. Marta Lind bought the mill [2].",
        ),
        (
            "Tomas Berg repaired it [1]; Marta Lind bought the mill [2].",
            "Tomas Berg repaired it [1]; Marta Lind bought the mill [2].",
        ),
        ("Tomas Berg repaired it【1】。", "Tomas Berg repaired it [1]。"),
        ("Tomas Berg repaired it [1][1] [1].", "Tomas Berg repaired it [1]."),
        ("Tomas Berg repaired it [99999999999999999999].", "Tomas Berg repaired it [1]."),
        # What has no support is told.
        ("Tomas Berg repaired it in 1935.", "Tomas Berg repaired it in 1935 [1] [unverified]."),
        (
            "Herring is caught in autumn. Tomas Berg repaired it.",
            "Herring is caught in autumn [unverified]. Tomas Berg repaired it [1].",
        ),
        # Markdown stays what it is.
        (
            "- Tomas Berg repaired it\n- Marta Lind bought the mill",
            "- Tomas Berg repaired it [1]\n- Marta Lind bought the mill [2]",
        ),
        ("**Tomas Berg** repaired **it.**", "**Tomas Berg** repaired **it [1].**"),
        (
            "# Repairs\n\nThe people:\n\nTomas Berg repaired it.",
            "# Repairs\n\nThe people:\n\nTomas Berg repaired it [1].",
        ),
        (
            "| Who | When |\n|---|---|\n| Tomas Berg | 1931 |\n| Marta Lind | 1934 |",
            "| Who | When |\n|---|---|\n| Tomas Berg | 1931 [1] |\n| Marta Lind | 1934 [2] |",
        ),
        ("```\nx = [2]\n```\nTomas Berg repaired it.", "```\nx = [2]\n```\nTomas Berg repaired it [1]."),
        # No link, no forged label, no forged mark of ours.
        ("Tomas Berg repaired it [1](http://a.b/c).", "Tomas Berg repaired it [1] (http://a.b/c)."),
        ("Tomas Berg [DC] repaired [unverified] it.", "Tomas Berg repaired it [1]."),
        # General knowledge is not checked.
        (
            "Water is wet [General Knowledge]. Tomas Berg did.",
            "Water is wet [General Knowledge]. Tomas Berg did [1].",
        ),
        (
            "Water is wet. [General Knowledge] Tomas Berg did.",
            "Water is wet [General Knowledge]. Tomas Berg did [1].",
        ),
        ("  Tomas Berg.  \n", "Tomas Berg [1]."),
        ("Dr. Tomas Berg paid 3.5 e.g. in 1931.", "Dr. Tomas Berg paid 3.5 e.g. in 1931 [1] [unverified]."),
        ("", ""),
    ],
)
def test_what_is_shown(text: str, shown: str, pieces: int) -> None:
    assert written(text, pieces)[0] == shown


def test_text_is_shown_as_it_comes_and_a_mark_as_soon_as_the_sentence_has_ended() -> None:
    citing = Citing(SOURCES, question=QUESTION, language="en", maximum=5)
    assert citing.feed("Tomas Berg ") == "Tomas Berg"
    assert citing.feed("repaired it.") == " repaired it"
    assert citing.feed(" Mar") == ""
    assert citing.feed("ta Lind ") == " [1]. Marta Lind"
    assert citing.finish() == " [2]"


def test_the_mark_of_an_unsupported_sentence_is_in_the_language_of_the_answer() -> None:
    text, citing = written("2006年陈玉兰把茶馆交给了徒弟。", question="谁？", language="zh")
    assert text == "2006年陈玉兰把茶馆交给了徒弟[1] [未证实]。"
    assert [(item.verdict, item.missing) for item in citing.checks] == [("partly", ("2006年",))]


def test_checks_tell_of_each_sentence() -> None:
    _, citing = written("Tomas Berg repaired it [1]. So it is [General Knowledge]. Cod is a fish. Yes.")
    found = [(item.text, item.references, item.verdict) for item in citing.checks]
    assert found[:3] == [
        ("Tomas Berg repaired it.", (1,), "supported"),
        ("So it is.", (), "unchecked"),
        ("Cod is a fish.", (), "not"),
    ]


def test_a_sentence_in_another_script_than_all_sources_is_marked_only_for_what_can_be_compared() -> None:
    sources = SOURCES[:2]
    text, citing = written("桥修好了。", sources=sources, question="桥怎么了？", language="zh")
    assert text == "桥修好了。"
    assert [item.verdict for item in citing.checks] == ["unchecked"]
    assert written("桥在1950年修好了。", sources=sources, question="桥？", language="zh")[0].endswith(
        " [未证实]。"
    )
    assert (
        written("桥修好了。", sources=sources, question="桥？", language="zh", listed=(2,))[0]
        == "桥修好了[1]。"
    )


def test_a_refusal_is_cited_and_checked_by_nobody() -> None:
    text, citing = written("Sorry, the bridge is not there. [no-context]")
    assert text == "Sorry, the bridge is not there."
    assert citing.refused
    assert (citing.checks, citing.references.labels) == ((), ())


def test_a_part_that_cannot_be_answered_leaves_what_was_said_with_its_source() -> None:
    text, citing = written("Tomas Berg repaired it. The rest is not there. [no-context]")
    assert text == "Tomas Berg repaired it [1]. The rest is not there."
    assert not citing.refused
    assert citing.references.labels == ("[DC] bridge.md",)


def test_numbers_that_the_model_lists_count_where_nothing_else_tells() -> None:
    assert written("Die Reparatur.", listed=(2, 77))[0].startswith("Die Reparatur [1]")
    assert written("Tomas Berg did.", listed=(2,))[1].references.labels == ("[DC] bridge.md",)


def test_a_source_without_room_in_the_list_still_supports_its_sentence() -> None:
    text, citing = written("Tomas Berg repaired it. Marta Lind bought the mill in 1934.", maximum=1)
    assert text == "Tomas Berg repaired it [1]. Marta Lind bought the mill in 1934."
    assert [item.verdict for item in citing.checks] == ["supported", "supported"]


def test_a_last_sentence_that_was_cut_off_is_not_checked() -> None:
    for whole, mark in ((True, " [unverified]"), (False, "")):
        citing = Citing(SOURCES, question=QUESTION, language="en", maximum=5)
        shown = citing.feed("In 19 Tomas Berg repaired it") + citing.finish(whole=whole)
        assert shown == f"In 19 Tomas Berg repaired it [1]{mark}"
    assert [item.verdict for item in citing.checks] == ["unchecked"]


def test_without_sources_nothing_is_checked() -> None:
    text, citing = written("Water is wet. [General Knowledge] It is so [1].", sources=())
    assert text == "Water is wet [General Knowledge]. It is so."
    assert [item.verdict for item in citing.checks] == ["unchecked"]


WORDS = [
    "Tomas Berg ",
    "repaired ",
    "it",
    "[1]",
    " [2]",
    "[99]",
    ". ",
    ".",
    "\n",
    "- ",
    "Marta Lind",
    "1934",
    "1935",
]
WORDS += [
    "。",
    "茶馆",
    "`",
    "```\n",
    "【3】",
    "[",
    "]",
    "| ",
    "|\n",
    "# ",
    "[DC]",
    "[General Knowledge]",
    " the mill",
]
WORDS += [
    "[no-context]",
    "(see)",
    "! ",
    "…",
    "e.g. ",
    "3.5 ",
    '"',
    "[1, 2]",
    "[unverified]",
    "Mr. ",
    "*",
    ": ",
]
_GROUP = re.compile(r"[\[【]\s*\d+(?:\s*,\s*\d+)*\s*[\]】]")
_UNFINISHED = re.compile(r"[\[【][\s\d,]*\Z")
_MARKS = re.compile(r"\[(?:DC|unverified|General Knowledge|no-context)\]|\s")


def _bare(text: str) -> str:
    return _MARKS.sub("", _GROUP.sub("", text))


@example('.…茶馆*# : # Tomas Berg `[99]"\n[1]\n', 6)
@example("[\n", 1)
@example("[1, ", 2)
@example("! ! Tomas Berg Tomas Berg 1934Tomas Berg ", 1)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join), st.integers(1, 9))
def test_pieces_make_no_difference_and_no_word_is_lost(text: str, pieces: int) -> None:
    shown, citing = written(text, pieces)
    whole, at_once = written(text)
    assert (shown, citing.checks, citing.refused) == (whole, at_once.checks, at_once.refused)
    assert citing.references.labels == at_once.references.labels
    if "`" not in text:
        cited = {int(number) for number in re.findall(r"\[(\d+)\]", shown)}
        assert cited <= set(range(1, len(citing.references.labels) + 1))
        assert not re.search(r"\[\d+\]\(", shown)
        assert _bare(shown) == _bare(_UNFINISHED.sub("", text))


def test_long_runs_of_signs_take_no_time_to_speak_of() -> None:
    for text in ("." * 2_000 + "a", "a. " * 700, ": " * 1_000, "[" * 2_000, "]" * 2_000, "\n" * 2_000):
        written(text, 7)
