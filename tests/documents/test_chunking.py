"""That chunks hold all text, keep their limits, and break at the best places."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents import chunking, tokens
from localrag.documents.chunking import ChunkSpan, chunk
from localrag.documents.clusters import JOINER, clings
from localrag.documents.reading import Heading, markdown_headings
from localrag.errors import SettingsError
from tests.documents.texts import prose, texts, without_space
from tests.examples import examples

SENTENCE = "The keeper wrote down the wind and the weather of the day. "
CHINESE = "看守人每天把风和天气写在本子上。"


def cut(text: str, size: int = 320, overlap: int = 32) -> list[ChunkSpan]:
    return chunk(text, list(markdown_headings(text)), size, overlap)


@settings(max_examples=examples(300), deadline=None)
@given(texts, st.integers(16, 80), st.integers(0, 8))
def test_chunks_hold_all_text_within_their_limits(text: str, size: int, overlap: int) -> None:
    spans = cut(text, size, overlap)
    done, kept = 0, []
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        assert span.end > done
        assert not text[span.start].isspace()
        assert not text[span.end - 1].isspace()
        assert span.tokens == tokens.estimate(text[span.start : span.end])
        assert span.tokens <= size * chunking.SLACK
        kept.append(text[max(span.start, done) : span.end])
        done = span.end
    assert without_space("".join(kept)) == without_space(text)
    assert spans == cut(text, size, overlap)


def test_a_family_that_fills_most_of_a_part_stays_together() -> None:
    text = "Dr. Rook 👨\u200d👩\u200d👧 Dr. Rook Dr. Rook "
    assert any("👨\u200d👩\u200d👧" in text[span.start : span.end] for span in cut(text, 16, 0))


@settings(max_examples=examples(200), deadline=None)
@given(prose, st.integers(16, 60))
def test_no_cut_parts_a_cluster(text: str, size: int) -> None:
    for span in cut(text, size, 0):
        for offset in (span.start, span.end):
            if 0 < offset < len(text) and not text[offset - 1].isspace():
                assert not clings(text[offset])
                assert text[offset - 1] != JOINER


@settings(max_examples=examples(150), deadline=None)
@given(
    texts,
    st.lists(st.builds(Heading, st.integers(-5, 400), st.integers(1, 6), st.text(min_size=1, max_size=20))),
)
def test_any_headings_do_no_harm(text: str, headings: list[Heading]) -> None:
    spans = chunk(text, headings, 40, 8)
    done = 0
    kept = []
    for span in spans:
        kept.append(text[max(span.start, done) : span.end])
        done = span.end
    assert without_space("".join(kept)) == without_space(text)


@pytest.mark.parametrize("text", ["", " \n\n\t", "\u3000"])
def test_no_text_has_no_chunks(text: str) -> None:
    assert chunk(text) == []


def test_a_short_text_is_one_chunk() -> None:
    assert cut("  One line.\n") == [ChunkSpan(2, 11, "", tokens.estimate("One line."))]


def test_a_text_a_little_over_the_size_leaves_no_scrap() -> None:
    text = (SENTENCE * 26).strip()
    assert 320 < tokens.estimate(text) <= 400
    assert len(cut(text)) == 1


def test_two_chunks_are_about_equal() -> None:
    spans = cut(SENTENCE * 34, overlap=0)
    assert len(spans) == 2
    assert abs(spans[0].tokens - spans[1].tokens) < 30


def test_whole_sentences_are_repeated() -> None:
    text = "".join(f"Sentence {number} tells of the wind and the sea. " for number in range(80))
    spans = cut(text)
    assert len(spans) > 2
    for before, after in itertools.pairwise(spans):
        shared = text[after.start : before.end]
        assert shared.startswith("Sentence")
        assert shared.endswith("sea.")
        assert 0 < tokens.estimate(shared) <= 32


def test_chunks_end_with_sentences() -> None:
    for text, stop in ((SENTENCE * 200, "."), (CHINESE * 200, "。")):
        assert {text[span.end - 1] for span in cut(text)} == {stop}


def test_paragraphs_stay_together_where_it_costs_little() -> None:
    paragraph = SENTENCE * 5
    text = "\n\n".join([paragraph.strip()] * 12)
    spans = cut(text, overlap=0)
    assert all(text.startswith("\n\n", span.end) or span.end == len(text) for span in spans)


def test_a_heading_goes_with_its_text_and_its_path_with_the_chunk() -> None:
    text = (
        f"# Harbour\n\n{SENTENCE * 16}\n\n## History\n\n{SENTENCE * 16}\n\n### War\n\n{SENTENCE * 18}"
        f"\n\n## Today\n\n{SENTENCE * 20}"
    )
    spans = cut(text, overlap=0)
    assert [span.heading for span in spans] == [
        "Harbour",
        "Harbour › History",
        "Harbour › History › War",
        "Harbour › Today",
    ]
    assert [text[span.start :].split("\n")[0] for span in spans] == [
        "# Harbour",
        "## History",
        "### War",
        "## Today",
    ]


def test_sections_in_one_chunk_have_the_path_that_they_share() -> None:
    assert [span.heading for span in cut("# A\n\nx\n\n## B\n\ny\n\n## C\n\nz")] == ["A"]
    assert [span.heading for span in cut("## B\n\ny\n\n## C\n\nz")] == ["B"]
    assert [span.heading for span in cut("Intro\n\n## C\n\nz")] == [""]


def test_an_underlined_heading_is_not_parted_from_its_text() -> None:
    filler = SENTENCE * 22
    text = f"{filler}\n\nThe Light\n=========\n\n{SENTENCE * 10}"
    spans = cut(text, overlap=0)
    assert text[spans[1].start :].startswith("The Light\n===")
    assert spans[1].heading == "The Light"


def test_a_heading_is_never_the_end_of_a_chunk() -> None:
    text = "".join(f"## Part {number}\n\n{SENTENCE * 7}\n\n" for number in range(40))
    for span in cut(text):
        assert not text[span.start : span.end].splitlines()[-1].startswith("#")


@pytest.mark.parametrize(
    "text",
    [
        "word " * 10_000,
        "x" * 50_000,
        "中" * 50_000,
        "海沟里的灯笼，" * 7_000,
        "0123456789" * 5_000,
        "\u0301" * 5_000,
        "👨‍👩‍👧" * 3_000,
        "𠀀" * 10_000,
        "a" + " " * 50_000 + "b",
        "aGVsbG8" * 7_000,
    ],
    ids=lambda text: ascii(text[:3]),
)
def test_a_line_of_50000_characters_is_cut_within_the_limit(text: str) -> None:
    spans = cut(text)
    assert max(span.tokens for span in spans) <= 400
    assert without_space("".join(text[span.start : span.end] for span in spans)) == without_space(text)


def test_a_long_sentence_is_cut_at_clauses() -> None:
    text = "the boat went out and nobody saw it again, " * 60
    assert {text[span.end - 1] for span in cut(text)[:-1]} == {","}
    chinese = "船出了港再也没有人见过它，" * 80
    assert {chinese[span.end - 1] for span in cut(chinese)[:-1]} == {"，"}


def test_a_part_of_a_sentence_is_not_repeated() -> None:
    spans = cut("word " * 2_000)
    assert all(before.end <= after.start for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize(("size", "overlap"), [(15, 0), (0, 0), (-1, 0), (100, 51), (100, -1)])
def test_sizes_that_make_no_sense_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(SettingsError):
        chunk("text", (), size, overlap)


def test_the_headings_above_a_place() -> None:
    text = "Intro.\n\n# Harbour\n\nBoats.\n\n## Cranes\n\nOld.\n\n# Mill\n\nFlour.\n"
    headings = list(markdown_headings(text))
    above = {
        word: chunking.path_at(headings, text.index(word)) for word in ("Intro", "Boats", "Old", "Flour")
    }
    assert above == {"Intro": "", "Boats": "Harbour", "Old": "Harbour › Cranes", "Flour": "Mill"}
    assert chunking.path_at([], 5) == ""
