"""Full text: every script is found, every user text is harmless, and the rows follow the chunks."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.terms import MAX_TERMS, codes_of, fold, terms_of, words_of
from tests.examples import examples
from tests.store.helpers import add, add_lines, chunks_of, document, logical_rows, session_of

LINES = (
    "The quick brown ok fox",
    "The quick brown fox only",
    "知识图谱用于检索增强生成",
    "한국어 형태소 분석기",
    "日本語のテキストを検索する",
    "Error ORA-01555: snapshot too old, see version 1.0.21",
    "Written in C++ and C#, not in C",
    "The café in Zürich serves crème brûlée",
    "ภาษาไทยไม่มีช่องว่าง",
    "Call getUserName() from http_client.py",
    "हिन्दी भाषा में लिखा",
    "小猫坐在窗台上",
    "ＦＵＬＬ　ｗｉｄｔｈ ２０２３年",
    "An arrow → points 😀",
    "Ubuntu 20.04 and 22.04 are multi-agent ready",
    "Ελληνικά: η Αθήνα",
    "مُحَمَّد كتب الرسالة",
    "Жёлтый дом",
)


@pytest.fixture
def library(store: Store) -> Store:
    """The lines above as chunks 1, 2, ..."""
    add_lines(store, *LINES)
    return store


def found(store: Store, query: str, ids: list[int] | None = None) -> list[int]:
    return [hit.id for hit in store.fulltext.search(query, 10, ids)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("quick ok", [1, 2]),
        ("ok", [1]),
        ("知识", [3]),
        ("图谱", [3]),
        ("知识图", [3]),
        ("检索增强", [3]),
        ("什么是知识图谱？", [3]),
        ("谱", [3]),
        ("知", [3]),
        ("成", [3]),
        ("猫", [12]),
        ("上", [12]),
        ("형태", [4]),
        ("형태소", [4]),
        ("한국", [4]),
        ("검색 분석기", [4]),
        ("検索", [5]),
        ("テキスト", [5]),
        ("ﾃｷｽﾄ", [5]),
        ("ORA-01555", [6]),
        ("ora-01555?", [6]),
        ("01555", [6]),
        ("1555", [6]),
        ("1.0.21", [6]),
        ("1.0", [6]),
        ("C++", [7]),
        ("c#", [7]),
        ("cafe zurich", [8]),
        ("CRÈME", [8]),
        ("ภาษาไทย", [9]),
        ("ช่องว่าง", [9]),
        ("ไท", [9]),
        ("username", [10]),
        ("getUserName", [10]),
        ("user name", [10]),
        ("http_client.py", [10]),
        ("client", [10]),
        ("हिन्दी", [11]),
        ("full WIDTH", [13]),
        ("2023", [13]),
        ("２０２３年", [13]),
        ("→", [14]),
        ("😀", [14]),
        ("20.04", [15]),
        ("multi-agent", [15]),
        ("αθηνα", [16]),
        ("ΑΘΉΝΑ", [16]),
        ("محمد", [17]),
        ("желтый", [18]),
    ],
)
def test_every_script_and_code_is_found(library: Store, query: str, first: list[int]) -> None:
    assert found(library, query)[: len(first)] == first


@pytest.mark.parametrize(
    ("query", "only"),
    [
        ("C++", [7]),
        ("c#", [7]),
        ("C++ c#", [7]),
        ("1.0.21", [6]),
        ("猫", [12]),
        ("the", [1, 2, 8]),
        ("检", [3]),
    ],
)
def test_nothing_else_is_found(library: Store, query: str, only: list[int]) -> None:
    assert sorted(found(library, query)) == only


@pytest.mark.parametrize(
    "query", ["", " ", "\n\t", "zebra", "斑马", "知道", "ZZ-99", "%", "_", "!", "\\", "."]
)
def test_what_is_not_there_is_not_found(library: Store, query: str) -> None:
    hits = found(library, query)
    assert all(query.strip() and query.strip() in LINES[number - 1] for number in hits)


@pytest.mark.parametrize(
    "query",
    [
        "who's",
        "20.04",
        "@nasa",
        "why?",
        '"',
        "'",
        '""',
        "AND",
        "OR NOT NEAR",
        "NEAR(a b, 3)",
        "text: quick",
        "quick*",
        "^quick",
        "-quick",
        "(quick",
        "quick)",
        "{quick brown}",
        "chunk_words MATCH 'x'",
        "'; DROP TABLE chunks; --",
        "a\0b",
        "\ud800",
        "\udfff quick",
        "%s {} {0} <|im_end|>",
        "\x1b[31m",
        "*" * 100,
        "+" * 100,
        "a-" * 50,
        "\u0301\u0301",
        "\u200b",
        "\ue000\uf8ff",
        "ﷺ",
        "İstanbul",
    ],
)
def test_no_query_raises(library: Store, query: str) -> None:
    library.fulltext.search(query, 5)
    assert library.check() == []


@settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(), max_size=30) | st.text("\"*()^:-+{}'AND OR知ก. c", max_size=20))
def test_no_random_query_raises(library: Store, query: str) -> None:
    hits = library.fulltext.search(query, 5)
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.parametrize("unit", ["word ", "知识图谱", "ORA-1 ", "x", "ภาษาไทย", "'\"", "aB", "1.-", "😀"])
def test_a_query_of_20000_characters_is_answered(library: Store, unit: str) -> None:
    started = time.monotonic()
    library.fulltext.search((unit * 20000)[:20000], 5)
    assert time.monotonic() - started < 3


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=25))
def test_a_text_is_found_by_itself(store: Store, text: str) -> None:
    """Whatever the index takes as a term, the question must give as one."""
    if not text.strip():
        return
    number = len(store.documents.list())
    line = " ".join(text.split())
    store.documents.add(document(f"{number}.txt", line), chunks_of(line))
    ids = [row.id for row in store.chunks.of_document(number + 1)]
    terms = terms_of(line)
    if ids and (terms.words or terms.codes):
        assert [hit.id for hit in store.fulltext.search(line, 5, ids)] == ids


def test_function_words_do_not_decide(store: Store) -> None:
    add_lines(store, "What is the of and to in a", "Herons nest", "什么是怎么如何", "苍鹭筑巢")
    assert found(store, "what is the nest of herons?")[0] == 2
    assert 1 not in found(store, "what is the nest of herons?")
    assert found(store, "what is the") == [1]
    assert found(store, "什么是苍鹭") == [4]
    assert found(store, "什么") == [3]


def test_more_matching_terms_are_better_and_scores_fall(store: Store) -> None:
    add_lines(store, "red", "red green", "red green blue", "grey", "black", "white", "brown", "pink")
    hits = store.fulltext.search("red green blue", 10)
    assert [hit.id for hit in hits] == [3, 2, 1]
    assert 2.0 >= hits[0].score > hits[1].score > hits[2].score > 0


def test_the_filter_works_before_the_cut(store: Store) -> None:
    ids = add_lines(store, *["herring herring herring"] * 300, "one herring among very many other words here")
    assert ids[-1] not in found(store, "herring")
    assert found(store, "herring", [ids[-1]]) == [ids[-1]]
    assert found(store, "herring", ids[-3:])[0] in ids[-3:]
    assert found(store, "→", ids) == []
    assert found(store, "herring", []) == []
    assert store.fulltext.search("herring", 0) == []
    assert [hit.id for hit in store.fulltext.search("herring", 3)] == ids[:3]


def test_headings_are_searched_too(store: Store) -> None:
    text = "Turn the valve."
    store.documents.add(document("a.md", text), chunks_of(text, heading="Boiler › 安装"))
    assert found(store, "boiler") == found(store, "安装") == [1]
    store.documents.delete(1)
    assert found(store, "boiler") == []


def test_rows_come_and_go_with_the_chunks(store: Store) -> None:
    document_id = add(store, "a.txt", "anchors\nropes")
    assert found(store, "ropes") == [2]
    store.documents.replace(document_id, document("a.txt", "sails"), chunks_of("sails"))
    assert found(store, "ropes") == []
    assert found(store, "sails") == [3]
    store.documents.delete(document_id)
    assert found(store, "sails") == []
    for table in ("chunk_words", "chunk_codes"):
        assert session_of(store).value(f"SELECT count(*) FROM {table}_docsize") == 0


def test_rebuilding_gives_the_same_rows(library: Store) -> None:
    before = logical_rows(library)
    library.fulltext.rebuild()
    assert logical_rows(library) == before
    with library.transaction():
        session_of(library).run("INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')")
    assert found(library, "quick") == []
    assert library.check() == [f"Full text (chunk_words): {len(LINES)} passages are missing, 0 are too many."]
    library.fulltext.rebuild()
    assert logical_rows(library) == before


def test_rows_made_by_other_rules_are_made_anew_at_opening(library: Store) -> None:
    with library.transaction():
        session_of(library).run("INSERT INTO chunk_codes (chunk_codes) VALUES ('delete-all')")
        session_of(library).run("UPDATE meta SET terms_version = -1")
    with Store.open(library.path) as again:
        assert found(again, "1555") == [6]


def test_folding() -> None:
    assert fold("ＦＵＬＬ Straße ÉCOLE ﬁn Σίσυφος") == "full strasse ecole fin σισυφοσ"
    assert fold("が ガ ｶﾞ 한국") == "が ガ ガ 한국"


def test_terms() -> None:
    assert words_of("知识图谱 a猫b") == "知识 识图 图谱 谱 a 猫 b"
    assert codes_of("see ORA-01555 (v2), state-of-the-art 知识 สวัสดี 1999 «R2D2»") == "ora-01555 v2 r2d2 สวัสดี"
    assert terms_of("the and of").words == ('"the"', '"and"', '"of"')
    assert terms_of("Tell me about the otters").words == ('"otters"',)
    assert len(terms_of(" ".join(f"w{n}" for n in range(500))).words) == MAX_TERMS
    assert terms_of("→").signs == ("→",)
    assert terms_of("→ fox").signs == ()
