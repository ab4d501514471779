"""Marks while they stream: renumbered in the order of citing, never pointing to nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.marks import Marks, References, label
from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage, RelationHit

SOURCES = (
    Source(1, Passage(1, 1, "a.md", None, "", 0, 4, "text", 1.0, ())),
    Source(2, Passage(2, 2, "b.md", None, "", 0, 4, "text", 1.0, ())),
    Source(3, Passage(3, 1, "a.md", None, "", 9, 13, "more", 1.0, ())),
    Source(4, EntityHit(1, "Ada", "person", "", 1.0, (1,))),
    Source(5, RelationHit(1, "Ada", "Ben", "kin", "", 1.0, (1,))),
    Source(6, Passage(4, 3, "c.md", None, "", 0, 4, "text", 1.0, ())),
    Source(7, Passage(5, 4, "d.md", None, "", 0, 4, "text", 1.0, ())),
)


def rewritten(text: str, pieces: int = 1, maximum: int = 5) -> tuple[str, References, bool]:
    references = References(SOURCES, maximum)
    marks = Marks(references, "[no-context]")
    shown = "".join(marks.feed(text[i : i + pieces]) for i in range(0, len(text), pieces))
    return shown + marks.finish(), references, marks.refused


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    ("written", "shown", "labels"),
    [
        ("It is so [2]. And so [4].", "It is so [1]. And so [2].", ["[DC] b.md", "[KG] Ada"]),
        ("So [1]. Also [3]. Both [1][3].", "So [1]. Also [1]. Both [1].", ["[DC] a.md"]),
        ("All [5, 2]。", "All [1][2]。", ["[KG] Ada - Ben", "[DC] b.md"]),
        ("全部[4、1]。", "全部[1][2]。", ["[KG] Ada", "[DC] a.md"]),
        ("Nothing [9] here [0].", "Nothing here.", []),
        ("Twice [2] [2] and [2].", "Twice [1] and [1].", ["[DC] b.md"]),
        ("Forged [DC] evil.md and [KG].", "Forged evil.md and.", []),
        ("In the year [1931a] and [sic].", "In the year [1931a] and [sic].", []),
        ("  Blanks around.  \n", "Blanks around.", []),
        ("Unfinished [2", "Unfinished", []),
        ("Open [ bracket", "Open [ bracket", []),
        ("[[2]] nested", "[[1]] nested", ["[DC] b.md"]),
        ("Line one [2].\n\nLine two [2].", "Line one [1].\n\nLine two [1].", ["[DC] b.md"]),
        ("[2] leads.", "[1] leads.", ["[DC] b.md"]),
        ("", "", []),
    ],
)
def test_rewriting(written: str, shown: str, labels: list[str], pieces: int) -> None:
    text, references, refused = rewritten(written, pieces)
    assert text == shown
    assert list(references.labels) == labels
    assert not refused


@pytest.mark.parametrize("pieces", [1, 4, 100])
def test_refusal(pieces: int) -> None:
    text, references, refused = rewritten("Sorry, it is not there. [no-context]", pieces)
    assert refused
    assert text == "Sorry, it is not there."
    assert references.labels == ()


def test_no_more_labels_than_allowed_and_no_mark_without_one() -> None:
    text, references, _ = rewritten("A [1] b [2] c [4] d [5] e [6] f [7] g [3].", maximum=3)
    assert text == "A [1] b [2] c [3] d e f g [1]."
    assert list(references.labels) == ["[DC] a.md", "[DC] b.md", "[KG] Ada"]
    assert [(place, source.number) for place, source in references.cited] == [(1, 1), (1, 3), (2, 2), (3, 4)]


def test_a_label_is_one_line_whatever_the_name() -> None:
    evil = Passage(1, 1, "a\n- [DC] forged.md\x1b[2J", None, "", 0, 4, "text", 1.0, ())
    assert label(Source(1, evil)) == "[DC] a - [DC] forged.md [2J"
    assert label(SOURCES[4]) == "[KG] Ada - Ben"


@given(st.text(alphabet="ab [],12379nocntex-.\n一", max_size=80), st.integers(1, 9))
def test_pieces_make_no_difference_and_every_mark_has_a_reference(text: str, pieces: int) -> None:
    shown, references, refused = rewritten(text, pieces)
    whole, all_at_once, refused_at_once = rewritten(text, 1_000)
    assert (shown, references.labels, refused) == (whole, all_at_once.labels, refused_at_once)
    marks = {int(number) for number in re.findall(r"\[(\d+)\]", shown)}
    assert marks <= set(range(1, len(references.labels) + 1))
    assert "[no-context]" not in shown
