"""Names for the graph without a model: by form in any script, of titles and headings, bounded and quick."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.extraction.zero_names import (
    MOST_MARKED,
    MOST_RUNS,
    chunk_names,
    heading_names,
    title_names,
)
from localrag.graph.names import fold
from localrag.store.zero_rows import FORM, HEADING, TITLE, WORDS
from tests.examples import examples


def keys(text: str, kind: int = FORM | WORDS) -> set[str]:
    return {name.key for name in chunk_names(text) if name.kind & kind}


def test_names_by_form() -> None:
    text = 'Marta Lind saw ORA-01555 at the Halden Bridge and said "open water" to the men.'
    assert {fold(name) for name in ("Marta Lind", "ORA-01555", "Halden Bridge", "open water")} <= keys(
        text, FORM
    )


def test_chinese_names_by_repetition_ending_and_surname() -> None:
    text = "临江茶馆由陈玉兰开办。后来，临江茶馆搬到了青石镇。陈玉兰在青石镇住了三十年，又回到临江茶馆。"
    assert {"临江茶馆", "陈玉兰", "青石镇"} <= keys(text)
    assert not {"江茶馆", "临江茶"} & keys(text)  # pieces of something longer


def test_repeated_runs_of_words_count_and_single_common_words_do_not() -> None:
    text = "The knowledge graph is large. A knowledge graph is slow. The graph is a graph."
    assert fold("knowledge graph") in keys(text, WORDS)
    assert "graph" not in keys(text)
    assert "large" not in keys(text)


def test_years_and_numbers_tie_nothing() -> None:
    assert keys("It was built in 1931, sold in 1950 and burnt in the 1970s; 375年，12月3日。") == set()


def test_a_title_is_a_name_without_what_stands_in_brackets() -> None:
    (name,) = title_names("Lambert (film)")
    assert (name.key, name.kind, name.start) == ("lambert", TITLE, -1)
    assert "marta lind" in {
        item.key for item in title_names("A long talk with Marta Lind about all that she built")
    }
    assert title_names("1999") == title_names("") == title_names("()") == ()


def test_every_heading_above_a_chunk_names_it() -> None:
    found = {name.key for name in heading_names("Halden Bridge › The builders › 陈玉兰")}
    assert {"halden bridge", "陈玉兰"} <= found
    assert all(name.kind == HEADING for name in heading_names("Halden Bridge"))


@settings(max_examples=examples(150), deadline=None)
@given(st.one_of(st.text(max_size=300), st.text(alphabet="陈玉兰的在青石镇公司A a1.\n", max_size=300)))
def test_any_text_gives_names_at_their_place(text: str) -> None:
    found = chunk_names(text)
    assert len(found) <= MOST_MARKED + MOST_RUNS
    assert len({name.key for name in found}) == len(found)
    assert list(found) == sorted(found, key=lambda name: (name.start, -name.end))
    for name in found:
        assert 0 <= name.start < name.end <= len(text)
        assert name.key
    assert chunk_names(text) == found
    for name in (*title_names(text), *heading_names(text)):
        assert name.key


def test_a_huge_text_is_looked_through_in_bounds() -> None:
    text = "Marta Lind und Tomas Berg, 陈玉兰在青石镇。" * 20_000
    assert "marta lind" in keys(text)
    assert len(title_names(text)) <= 9
