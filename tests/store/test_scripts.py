"""Full text in every script: whatever stands in a text is found by what people type for it.

The properties compare with an oracle of their own that cuts texts into terms by a plain definition and knows
nothing of the index.
"""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.function_words import ALL as FUNCTION_WORDS
from localrag.store.terms import codes_of, fold, terms_of, words_of
from tests.examples import examples
from tests.store.helpers import add, add_lines, chunks_of, document, logical_rows, quick_store, session_of


def finds(store: Store, query: str, chunk_id: int) -> bool:
    return chunk_id in [hit.id for hit in store.fulltext.search(query, 50)]


SAME = [
    # One and two characters of Chinese, anywhere in a run.
    ("知识图谱用于检索增强生成", "知 | 谱 | 成 | 知识 | 图谱 | 识图 | 生成 | 知识图 | 检索增强生成"),
    ("他在用Python写代码", "用 | 他在 | 代码 | python | 写代码 | Python代码"),
    ("他说：“再见。”", "说 | 再见 | “再见。” | 他说:再见"),
    # Rare and astral Han, iteration marks, variation selectors, compatibility forms.
    ("𠀀𠀁字 𰻞𰻞麺", "𠀀 | 𠀀𠀁 | 𠀁字 | 𰻞 | 𰻞麺"),
    ("佐々木さんと人々", "佐々木 | 々 | 人々 | 佐々"),
    ("葛\U000e0100城市の﨑と神", "葛城 | 葛\U000e0100城 | 葛 | 﨑 | 神"),
    # Kana: full and half width, voiced marks apart, long vowels, small letters.
    ("日本語のテキストを検索する", "テキスト | ﾃｷｽﾄ | 検索 | の | する | スト"),
    ("ｶﾞﾗｽとパン", "ガラス | ガ | ガラ | ガラス"),
    ("コーヒーとラーメン", "コーヒー | ー | ラーメン | ヒー"),
    # Hangul: syllables, prefixes, particles, decomposed input, jamo.
    ("한국어 형태소를 분석한다", "형태 | 형태소 | 한국어는 | 분석 | 소 | 한 | 형태소"),
    ("ㅋㅋ 재밌다", "ㅋㅋ | ㅋ | 재밌"),
    # Scripts without blanks.
    ("ภาษาไทยไม่มีช่องว่าง", "ภาษา | ไทย | ไท | ช่องว่าง | ภ | ไม่มี"),
    ("ປະເທດລາວ", "ປະເທດ | ລາວ | ລາ"),
    ("မြန်မာဘာသာစကား", "မြန်မာ | ဘာသာ | စကား"),
    ("ភាសាខ្មែរ", "ភាសា | ខ្មែរ | ខ្"),
    ("ปี ๒๕๖๖ ราคา ٢٠ и ۲۰۲۳", "2566 | ๒๕๖๖ | 20 | 2023 | ปี"),
    # Words with vowel signs, in all their letters.
    ("हिन्दी भाषा में लिखा।", "हिन्दी | भाषा | लिखा | लिखा। | । | में"),
    ("தமிழ் மொழி, తెలుగు భాష", "தமிழ் | மொழி | తెలుగు | భాష"),
    ("བོད་སྐད་ཡིག", "བོད | སྐད | བོད་སྐད"),
    # Arabic and Hebrew with and without points, tatweel, forms of presentation, joiners.
    ("مُحَمَّد كـتب الرسالة أمس", "محمد | مُحَمَّد | كتب | امس | ﻣﺤﻤﺪ"),
    ("می\u200cخواهم کتاب", "میخواهم | می\u200cخواهم | کتاب"),
    ("שָׁלוֹם עֲלֵיכֶם", "שלום | עליכם | שָׁלוֹם"),
    # Latin and its neighbours.
    (
        "Die Straße am Fluß, ﬁnal ſoft STRASSENBAHN",
        "Strasse | STRASSE | straße | fluss | final | soft | ﬁnal",
    ),
    (
        "İstanbul, IĞDIR ve Isparta; ısı",
        "istanbul | İSTANBUL | iğdır | ığdır | ısparta | ISPARTA | isi | ISI",
    ),
    ("Đà Nẵng và Hồ Chí Minh, phở", "da nang | Đà Nẵng | đà nẵng | ho chi minh | pho | PHỞ"),
    ("Đà Nẵng, crème brûlée", "Nẵng | nang | crème | brulee"),
    ("Łódź, Øresund, œuvre, Æther, þing", "lodz | oresund | oeuvre | aether | ŁÓDŹ | œuvre | thing"),
    ("пʼять років, ёлка", "п'ять | пʼять | елка | ЁЛКА"),
    ("Ελληνικά: η Αθήνα, Σίσυφος", "αθηνα | ΑΘΉΝΑ | σισυφος | ΣΊΣΥΦΟΣ"),
    (
        "Donau\u00addampf\u00adschiff und zero\u200bwidth \ufeffBOM",
        "Donaudampfschiff | donau\u00addampfschiff | zerowidth | bom",
    ),
    ("ＦＵＬＬ　ｗｉｄｔｈ ２０２３年 Ｃ＋＋", "full | FULL WIDTH | 2023 | ２０２３年 | c++ | Ｃ＋＋"),
    ("The word¹ and Brand™, area 5m² of H₂O", "word | brand | Brand™ | h2o | 5m | word¹"),
    # Codes.
    ("Error ORA-01555: snapshot", "ORA-01555 | ora-01555 | ORA‑01555 | 01555 | 1555 | ORA | RA-015"),
    ("Written in C++, C#, F# and .NET", "C++ | c# | F# | .NET | net | C++ c# | (C++)"),
    ("Uses Visual-C++/Visual-C# and ASP.NET", "C# | C++ | .NET | asp | visual-c# | ASP.NET"),
    ("see v1.2.3, not 20.04!", "v1.2.3 | 1.2.3 | 1.2 | v1 | 20.04 | v1.2"),
    (
        "call my_snake_case and getUserName()",
        "my_snake_case | snake | snake_case | getUserName | username | getuser | user",
    ),
    (
        "XMLHttpRequest on iPhone with __init__",
        "http | xmlhttp | XMLHttpRequest | iphone | IPHONE | __init__ | init",
    ),
    (
        "in /usr/local/lib or C:\\Users\\anna",
        "/usr/local/lib | local/lib | usr | C:\\Users\\anna | users | /usr",
    ),
    ("mail anna.berg@example.org now", "anna.berg@example.org | @example | berg | example.org | anna"),
    ("commit 3f2a9c1d7e04b5a6 fixed", "3f2a9c1d7e04b5a6 | 3f2a9c1 | 9C1D7E | commit"),
    ("AT&T, R&D and rock'n'roll; O'Brien", "AT&T | r&d | rock'n'roll | O'Brien | o’brien | brien"),
    ("使用C++编程和ORA-01555错误", "C++ | 编程 | ORA-01555 | 用C++ | 错误"),
    ("#hashtag $100 50% a/b @nasa", "#hashtag | hashtag | 100 | $100 | 50% | 50 | a/b | @nasa | nasa"),
    # What is no letter, alone.
    ("A plain ❤ only", "❤ | ❤\ufe0f"),
    (
        "An arrow → points ❤\ufe0f to 😀 and 👨\u200d👩\u200d👧",
        "→ | 😀 | ❤ | ❤\ufe0f | 👨\u200d👩\u200d👧 | 👩",
    ),
    ("100% of _all_ [x] ! and \\", "% | ! | \\ | [x] | _all_"),
]
"""A text, and what must find it, parted by bars."""


@pytest.mark.parametrize(("text", "queries"), SAME, ids=[text[:20] for text, _ in SAME])
def test_what_stands_in_a_text_is_found(store: Store, text: str, queries: str) -> None:
    add_lines(store, "zebra", text, "quagga")
    for query in queries.split(" | "):
        hits = [hit.id for hit in store.fulltext.search(query, 10)]
        assert hits == [2], query


@pytest.mark.parametrize(("text", "queries"), SAME, ids=[text[:20] for text, _ in SAME])
def test_it_is_found_beside_other_words_too(store: Store, text: str, queries: str) -> None:
    add_lines(store, "zebra", text)
    for query in queries.split(" | "):
        if not (terms_of(query).words or terms_of(query).codes) or fold(query.strip("_")) in FUNCTION_WORDS:
            continue  # signs and function words say nothing beside words
        for asked in (f"zebra {query}", f"{query} zebra", f"斑马 {query}", f"what is the {query}?"):
            assert finds(store, asked, 2), asked


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("知识图谱", "只是"),
        ("图像和知己", "知识"),
        ("한국 음식", "분석"),
        ("การเดินทาง", "ภาษาไทย"),
        ("The cup", "C++"),
        ("Written in C", "C#"),
        ("version 12.05", "20.04"),
        ("quick brown fox", "ok"),
        ("ordinary", "or*"),
        ("any text", "NOT any2"),
        ("a % b", "→"),
    ],
)
def test_what_does_not_stand_there_is_not_found(store: Store, text: str, query: str) -> None:
    add_lines(store, text)
    assert store.fulltext.search(query, 5) == []


def test_the_wrong_results_of_trigrams_do_not_happen(store: Store) -> None:
    """The table of what unicode61 and trigram get wrong when they are used alone."""
    add_lines(
        store,
        "知识图谱用于检索增强生成",
        "한국어 형태소 분석기",
        "quick brown ok fox",
        "quick brown fox only",
    )
    assert finds(store, "知识", 1)
    assert finds(store, "图谱", 1)
    assert finds(store, "知识图", 1)
    assert finds(store, "检索增强", 1)
    assert finds(store, "형태", 2)
    assert finds(store, "형태소", 2)
    # Trigrams forget a word of two letters, so both foxes were equal.
    assert [hit.id for hit in store.fulltext.search("quick ok", 5)] == [3, 4]
    first, second = store.fulltext.search("quick ok", 5)
    assert first.score > second.score


OPERATORS = [
    ("AND", "This AND that"),
    ("OR", "This OR that"),
    ("NOT", "Do NOT"),
    ("NEAR", "Stay NEAR me"),
    ("NEAR(stay me, 2)", "Stay close to me"),
    ("herons*", "Herons nest"),
    ("^herons", "All the herons"),
    ("-herons", "Herons nest"),
    ("text:herons", "Herons nest"),
    ("{text}: herons", "Herons nest"),
    ("herons + nest", "Herons nest"),
    ('"herons" nest"', "Herons nest"),
    ("herons' nest", "Herons nest"),
    ("herons AND", "Herons nest"),
    ("(herons", "Herons nest"),
    ("chunk_words MATCH 'herons'", "Herons nest"),
    ("herons; DROP TABLE chunks; --", "Herons nest"),
]


@pytest.mark.parametrize(("query", "text"), OPERATORS, ids=[query for query, _ in OPERATORS])
def test_operators_are_words_like_others(store: Store, query: str, text: str) -> None:
    add_lines(store, "zebra", text)
    assert finds(store, query, 2)
    assert not finds(store, query, 1)


def test_a_sign_in_a_heading_is_found(store: Store) -> None:
    store.documents.add(document("a.md", "Turn it."), chunks_of("Turn it.", heading="Boiler → 100 %"))
    assert finds(store, "→", 1)
    assert finds(store, "%", 1)


def test_folding_of_what_people_type_otherwise() -> None:
    assert fold("Đ Ł Ø Œuvre Æ ı ʼ ٣๕") == "d l o oeuvre ae i ' 35"
    assert fold("Donau\u00addampf \u200bx\ufeff 葛\U000e0100") == "donaudampf x 葛"
    assert fold("हिन्दी ไทย が") == "हिन्दी ไทย が"
    assert words_of("人々") == "人々 々"
    assert words_of("ไทย") == "ไท ทย ย"
    assert codes_of("ไทย C#") == "c# ไทย"
    assert terms_of("ไท fox").words == ('"ไท"', '"fox"')


# Properties ------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    """
    the Herons ok a Müller naïve STRASSE weiß Ørsted ﬁsh İzmir đường œuvre Жёлтый Αθήνα مُحَمَّد كـتاب
    שָׁלוֹם हिन्दी தமிழ் 知识 图谱 々 𠀀 検索 テキスト ﾃｷｽﾄ ー 형태소 를 ㅋㅋ ภาษาไทย ไท ก မြန်မာ
    ខ្មែរ བོད་སྐད ORA-01555 C++ C# F# .NET v1.2.3 20.04 snake_case getUserName XMLHttp a_b AT&T x=y
    3f2a9c 1984 ２０２３ ٢٠ x² anna@b.org /usr/lib C:\\x #tag $5 50% e.g. U.S.A. who's rock'n'roll
    co-op - -- ... ( ) [x] "q" “z” 《书》 → 😀 ❤\ufe0f ™ ∑ Donau\u00addampf zero\u200bwidth
    می\u200cخواهم が x̂y \ufeff ́ \u200d \U000e0100 * ^ : { } AND NEAR
    """.split()  # noqa: SIM905
)
CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cn"])
GLUED = st.lists(PIECES | st.text(CHARACTERS, max_size=3), min_size=1, max_size=8)
TEXTS = st.tuples(
    GLUED, st.lists(st.sampled_from(["", " ", "", "\u3000", "-", ". "]), min_size=8, max_size=8)
).map(lambda parts: "".join(piece + gap for piece, gap in zip(*parts, strict=False)))

BIGRAM_SCRIPTS = re.compile(
    r"HIRAGANA|KATAKANA|CJK UNIFIED|CJK COMPATIBILITY IDEOGRAPH|HANGUL SYLLABLE|^THAI CHARACTER|^LAO LETTER"
)


def script_of(char: str) -> str:
    """`run` in scripts that are searched in any part, `word` for other letters, marks and digits, or ``."""
    if char == "\u30fb":  # the dot between words, a sign
        return ""
    if BIGRAM_SCRIPTS.search(unicodedata.name(char, "")) and unicodedata.category(char)[0] in "LM":
        return "run"
    return "word" if unicodedata.category(char)[0] in "LNM" else ""


def is_invisible(char: str) -> bool:
    """Whether nobody sees it: a format character, or one of the block that is set aside for such."""
    return unicodedata.category(char) == "Cf" or 0xE0000 <= ord(char) <= 0xE0FFF


def spans(text: str) -> list[tuple[str, str]]:
    """The runs and words of a text, each as long as it can be."""
    found: list[tuple[str, str]] = []
    for char in text:
        kind = script_of(char)
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + char)
        else:
            found.append((kind, char))
    return [(kind, span) for kind, span in found if kind]


def terms_in(text: str, place: int, length: int) -> list[str]:
    """What must be found, by definition: every word that stands free, every part of a run, every code,
    and what lies between two letters or digits of a code and has a digit itself."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", text) if not is_invisible(c))
    terms = []
    for kind, span in spans(visible):
        if kind == "word" and any(unicodedata.category(c)[0] in "LN" for c in span):
            terms.append(span)
        elif kind == "run":
            start = place % len(span)
            part = span[start : start + length]
            if unicodedata.category(part[0])[0] == "L":
                terms.append(part)
    for piece in visible.split():
        if piece.isascii() and re.fullmatch(r"[A-Za-z0-9.+#@/_:&-]*[A-Za-z0-9+#]", piece):
            core = piece.lstrip("_:")
            if re.search("[0-9]", core) and not core.isdigit():
                inner = [i for i, c in enumerate(core) if c.isalnum()]
                start = inner[place % len(inner)]
                end = inner[-1] + 1
                if end - start >= 3 and re.search("[0-9]", core[start:end]):
                    terms.append(core[start:end])
            if any(c.isalnum() for c in core):
                terms.append(core)
    return terms


@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(TEXTS, st.integers(0, 9), st.integers(1, 4), st.booleans())
@example("知识 图谱", 0, 1, False)
@example("Visual-C#", 0, 1, True)
@example("word¹ लिखा।", 0, 1, True)
def test_every_term_of_any_text_is_found(
    store: Store, text: str, place: int, length: int, beside: bool
) -> None:
    line = " ".join(text.split())
    assume(line)
    ids = [row.id for row in store.chunks.of_document(add(store, f"{len(store.documents.list())}.txt", line))]
    assume(len(ids) == 1)
    for term in terms_in(line, place, length):
        if beside and set(re.findall(r"\w+", fold(term))) <= FUNCTION_WORDS:
            continue
        hits = store.fulltext.search(f"zebra {term}" if beside else term, 50, ids)
        assert [hit.id for hit in hits] == ids, (term, terms_of(term))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_a_text_that_is_removed_leaves_no_term_behind(texts: list[str]) -> None:
    with quick_store() as store:
        add_lines(store, "anchor 锚 ORA-1")
        before = logical_rows(store)
        lines = [" ".join(text.split()) or "x" for text in texts]
        store.documents.add(
            document("t.txt", "\n".join(lines)), chunks_of("\n".join(lines), heading=lines[0])
        )
        store.documents.delete(2)
        assert logical_rows(store) == before
        for table in ("chunk_words", "chunk_codes"):
            session_of(store).rows(f"SELECT count(*) FROM {table}_docsize")
            with store.transaction():
                session_of(store).run(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")


@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(TEXTS | st.text(st.characters(), max_size=40))
def test_no_query_raises_and_no_hit_is_without_reason(store: Store, query: str) -> None:
    if not store.chunks.count().total:
        add_lines(store, "知识图谱 C++ ORA-01555 the quick brown fox", "ภาษาไทย 형태소 → 100%")
    hits = store.fulltext.search(query, 5)
    assert all(0 < hit.score <= 2 for hit in hits)
