"""After a change most chunks are the same, no chunk is a scrap, and nothing of the text is left out."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents import tokens
from localrag.documents.chunking import SLACK, ChunkSpan, chunk
from localrag.documents.reading import Heading, markdown_headings
from localrag.documents.recutting import LEAST, SPARED, recut, shared
from tests.examples import examples

WORDS = ("harbour", "bridge", "mill", "river", "letter", "museum", "engineer", "workshop", "poet", "canal")
SIZE, OVERLAP = 80, 10


def sentence(rng: random.Random, chinese: bool) -> str:
    if chinese:
        return (
            "".join(
                rng.choice("青石镇江边茶馆桥工程师信诗人博物图书钢冬天旧绿北七")
                for _ in range(rng.randint(8, 30))
            )
            + "。"
        )
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(4, 18))).capitalize() + "."


def long_text(rng: random.Random, style: str, count: int = 400) -> str:
    chinese = style == "chinese"
    parts = [sentence(rng, chinese) for _ in range(count)]
    if style == "headings":
        return "\n\n".join(f"# Part {n}\n\n{' '.join(parts[n : n + 15])}" for n in range(0, count, 15))
    if style == "paragraphs":
        return "\n\n".join(" ".join(parts[n : n + 5]) for n in range(0, count, 5))
    return ("" if chinese else " ").join(parts)


def headings(text: str) -> tuple[Heading, ...]:
    return tuple(markdown_headings(text))


def new_ones(text: str, spans: list[ChunkSpan], before: list[str]) -> int:
    return sum((Counter(text[span.start : span.end] for span in spans) - Counter(before)).values())


def sound(text: str, spans: list[ChunkSpan]) -> None:
    """What holds for every way to cut."""
    covered: set[int] = set()
    for number, span in enumerate(spans):
        assert text[span.start : span.end].strip() == text[span.start : span.end] != ""
        assert span.tokens == tokens.estimate(text[span.start : span.end]) <= SIZE * SLACK
        covered.update(range(span.start, span.end))
        if number:
            before = spans[number - 1]
            assert before.start < span.start
            assert before.end < span.end
            assert span.start >= before.end or tokens.weigh(text[span.start : before.end]) <= OVERLAP + 1
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())


@pytest.mark.parametrize("style", ["running", "paragraphs", "headings", "chinese"])
@pytest.mark.parametrize("seed", range(3))
def test_many_edits_change_few_chunks_each(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed}")
    text = long_text(rng, style)
    before = [text[span.start : span.end] for span in chunk(text, headings(text), SIZE, OVERLAP)]
    fresh = [tokens.estimate(part) for part in before]
    text = f"{sentence(rng, style == 'chinese')} {text}"
    for _ in range(15):
        spans = recut(text, headings(text), SIZE, OVERLAP, before)
        sound(text, spans)
        assert new_ones(text, spans, before) <= 5
        assert min(span.tokens for span in spans) >= min(SIZE * LEAST * 0.75, min(fresh))
        before = [text[span.start : span.end] for span in spans]
        place, kind = rng.randrange(len(text)), rng.random()
        if kind < 0.4:
            text = text[:place] + sentence(rng, style == "chinese") + text[place:]
        elif kind < 0.7:
            text = text[:place] + text[place + rng.randint(1, 150) :]
        else:
            text = text[:place] + "X" + text[place + 1 :]


def test_fresh_cutting_would_change_many() -> None:
    """The reason for all this; if it no longer holds, recutting can go."""
    worst = 0
    for seed in range(8):
        rng = random.Random(seed)
        text = long_text(rng, "running")
        before = [text[span.start : span.end] for span in chunk(text, (), SIZE, OVERLAP)]
        text = f"{sentence(rng, False)} {text}"
        worst = max(worst, new_ones(text, chunk(text, (), SIZE, OVERLAP), before))
        assert new_ones(text, recut(text, (), SIZE, OVERLAP, before), before) <= 3
    assert worst > 10


def test_a_moved_section_keeps_its_chunks() -> None:
    rng = random.Random(7)
    parts = [long_text(rng, "running", 60) for _ in range(4)]
    text = "\n\n".join(parts)
    before = [text[span.start : span.end] for span in chunk(text, (), SIZE, OVERLAP)]
    moved = "\n\n".join((parts[0], parts[2], parts[3], parts[1]))
    spans = recut(moved, (), SIZE, OVERLAP, before)
    sound(moved, spans)
    assert new_ones(moved, spans, before) < len(before) / 2


def test_few_changes_are_cut_as_ever() -> None:
    rng = random.Random(3)
    text = long_text(rng, "headings")
    spans = chunk(text, headings(text), SIZE, OVERLAP)
    before = [text[span.start : span.end] for span in spans]
    assert recut(text, headings(text), SIZE, OVERLAP, before) == spans
    assert recut(text, headings(text), SIZE, OVERLAP, []) == spans
    changed = f"{text} The end has come."
    fresh = chunk(changed, headings(changed), SIZE, OVERLAP)
    assert new_ones(changed, fresh, before) <= SPARED
    assert recut(changed, headings(changed), SIZE, OVERLAP, before) == fresh


def test_another_size_is_not_held_up_by_what_was() -> None:
    rng = random.Random(5)
    text = long_text(rng, "paragraphs")
    before = [text[span.start : span.end] for span in chunk(text, (), 400, 40)]
    spans = recut(text, (), SIZE, OVERLAP, before)
    assert spans == chunk(text, (), SIZE, OVERLAP)


REPEATED = st.lists(
    st.sampled_from(("The sea is calm.", "Yes.", "It is the same as ever.", "海很平静。")), max_size=60
)


@settings(max_examples=examples(150), deadline=None)
@given(REPEATED, REPEATED, st.integers(0, 60), st.integers(0, 60), st.sampled_from((" ", "\n\n", "")))
def test_any_text_is_cut_whole(one: list[str], other: list[str], cut: int, drop: int, gap: str) -> None:
    """Also where the same sentences come again and again."""
    text = gap.join(one)
    before = [text[span.start : span.end] for span in chunk(text, (), SIZE, OVERLAP)]
    changed = gap.join([*one[:cut], *other, *one[cut + drop :]])
    spans = recut(changed, (), SIZE, OVERLAP, before)
    sound(changed, spans)
    assert new_ones(changed, spans, before) <= new_ones(changed, chunk(changed, (), SIZE, OVERLAP), before)


def test_a_huge_text_of_one_line_takes_no_time() -> None:
    text = "The same line.\n" * 20_000
    before = [text[span.start : span.end] for span in chunk(text, (), SIZE, OVERLAP)]
    spans = recut("Something new. " + text, (), SIZE, OVERLAP, before)
    assert new_ones("Something new. " + text, spans, before) <= 3


def test_what_two_texts_share() -> None:
    chunks = [f"Sentence number {number} of the text." for number in range(10)]
    whole = " ".join(chunks)
    assert shared(whole, chunks) > 0.9
    assert 0.4 < shared(" ".join(chunks[:5]), chunks) <= 0.5
    assert shared(whole + " Other things follow here." * 40, chunks) < 0.5
    assert shared("Nothing of it.", chunks) == 0.0
    assert shared("", chunks) == 0.0
    assert shared(whole, []) == 0.0
