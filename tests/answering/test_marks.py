"""Text and marks told apart, wherever the stream cuts them and whoever forged them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.answering.marks import Mark, MarkReader, References, label
from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage, RelationHit

SOURCES = (
    Source(1, Passage(1, 1, "a.md", None, "", 0, 4, "text", 1.0, ())),
    Source(2, Passage(2, 2, "b.md", None, "", 0, 4, "text", 1.0, ())),
    Source(3, Passage(3, 1, "a.md", None, "", 9, 13, "more", 1.0, ())),
    Source(4, EntityHit(1, "Ada", "person", "", 1.0, (1,))),
    Source(5, RelationHit(1, "Ada", "Ben", "kin", "", 1.0, (1,))),
)
NONE = Mark("numbers")


def read(text: str, pieces: int = 1_000) -> list[str | Mark]:
    """What is read of a text in pieces, with texts beside each other joined."""
    reader = MarkReader("[no-context]", "[General Knowledge]")
    found: list[str | Mark] = []
    for start in range(0, len(text), pieces):
        found += reader.feed(text[start : start + pieces])
    joined: list[str | Mark] = []
    for item in [*found, *reader.finish()]:
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        else:
            joined.append(item)
    return joined


def marks(*numbers: int) -> Mark:
    return Mark("numbers", numbers)


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("It is so [2]. And [4].", ["It is so ", marks(2), ". And ", marks(4), "."]),
        ("All [5, 2]。", ["All ", marks(5, 2), "。"]),
        ("全部[4、1]。", ["全部", marks(4, 1), "。"]),
        ("全宽【3】和［２］〔1〕", ["全宽", marks(3), "和", marks(2), marks(1)]),
        ("Footnote [^3].", ["Footnote ", marks(3), "."]),
        ("Huge [99999999999999999999].", ["Huge ", marks(99999999999999999999), "."]),
        (f"Too huge [{'9' * 40}].", [f"Too huge [{'9' * 40}]."]),
        ("Sorry. [no-context]", ["Sorry. ", Mark("refusal")]),
        ("So it is [General Knowledge].", ["So it is ", Mark("general"), "."]),
        (
            "Forged [DC] a.md [KG] x [unverified] [未证实]",
            ["Forged ", NONE, " a.md ", NONE, " x ", NONE, " ", NONE],
        ),
        ("In [1931a] and [sic].", ["In [1931a] and [sic]."]),
        ("Unfinished [2", ["Unfinished "]),
        ("Open [ bracket", ["Open [ bracket"]),
        ("[[2]] nested", ["[", marks(2), "] nested"]),
        ("Mixed 【2] and [3】.", ["Mixed 【2] and [3】."]),
        ("Code `a[1]` and [1].", ["Code `a[1]` and ", marks(1), "."]),
        ("```\nx = [2]\n```\n[2]", ["```\nx = [2]\n```\n", marks(2)]),
        ("``a`[1]`` [1]", ["``a`[1]`` ", marks(1)]),
        ("A lone ` is none [1]\n[2]", ["A lone ` is none [1]\n", marks(2)]),
        ("~`[1]`", ["~`[1]`"]),
        ("", []),
    ],
)
def test_reading(written: str, expected: list[str | Mark], pieces: int) -> None:
    assert read(written, pieces) == expected


@given(st.text(alphabet="ab [],12379nocntex-.\n一`【】［］DCKG", max_size=80), st.integers(1, 9))
def test_pieces_make_no_difference_and_nothing_but_marks_goes(text: str, pieces: int) -> None:
    found = read(text, pieces)
    assert found == read(text)
    shown = "".join(item for item in found if isinstance(item, str))
    letters = iter(text)
    # What is shown is the text with parts left out.
    assert all(any(char == other for other in letters) for char in shown)
    assert shown.count("a") == text.count("a")
    assert shown.count("一") == text.count("一")


def test_references_number_labels_in_the_order_of_citing() -> None:
    references = References(SOURCES, 2)
    assert [references.cite(number) for number in (2, 9, 1, 3, 4)] == [1, None, 2, 2, None]
    assert references.labels == ("[DC] b.md", "[DC] a.md")
    assert [(place, source.number) for place, source in references.cited] == [(1, 2), (2, 1), (2, 3)]


def test_a_label_is_one_line_whatever_the_name() -> None:
    evil = Passage(1, 1, "a\n- [DC] forged.md\x1b[2J", None, "", 0, 4, "text", 1.0, ())
    assert label(Source(1, evil)) == "[DC] a - [DC] forged.md [2J"
    assert label(SOURCES[4]) == "[KG] Ada - Ben"


def test_a_source_of_another_knowledge_base_carries_its_name() -> None:
    passage = Passage(1, 1, "a.md", None, "", 0, 4, "text", 1.0, (), base="old\nletters")
    assert label(Source(1, passage)) == "[DC] a.md (old letters)"
    assert label(Source(1, EntityHit(1, "Ada", "", "", 1.0, (), base="b"))) == "[KG] Ada (b)"
