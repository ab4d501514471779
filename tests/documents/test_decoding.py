"""Bytes in every encoding to well-formed text, and what is no text refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.documents.decoding import decode
from localrag.errors import DocumentError
from tests.corpus.make import CHINESE, ENGLISH, TRADITIONAL
from tests.examples import examples

RUSSIAN = "Лодка стояла у старого причала, и никто не помнил, кому она принадлежит.\n"
JAPANESE = "灯台の近くに小さな家がありました。カメラは見つかりました。\n"
KOREAN = "작은 마을에 오래된 등대가 있었습니다. 사람들은 바다를 보았다.\n"
GERMAN = "Die Fähre fährt über den Fluß – “früh” um 8 Uhr für 5 €.\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ENGLISH, "utf-8"),
        (CHINESE, "utf-8"),
        (CHINESE, "gb18030"),
        (TRADITIONAL, "gb18030"),
        (TRADITIONAL, "big5hkscs"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (GERMAN, "cp1252"),
        ("Zażółć gęślą jaźń w Łodzi.\n", "cp1250"),
        (ENGLISH, "utf-16-le"),
        (ENGLISH, "utf-16-be"),
        (GERMAN, "utf-16-le"),
        (CHINESE, "utf-16-le"),
        (TRADITIONAL, "utf-16-be"),
        (RUSSIAN, "utf-16-be"),
    ],
)
def test_text_without_a_mark(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.replaced) == (text, encoding, 0)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\0\0\xfe\xff", "utf-32-be"),
        (b"\x84\x31\x95\x33", "gb18030"),
    ],
)
@pytest.mark.parametrize("text", ["", "a", CHINESE])
def test_a_mark_decides_and_is_no_text(mark: bytes, encoding: str, text: str) -> None:
    decoded = decode(mark + text.encode(encoding))
    assert decoded.text == text
    assert decoded.encoding in (encoding, "utf-8")
    assert decoded.replaced == 0


def test_only_the_mark_at_the_beginning_is_dropped() -> None:
    assert decode("\ufeffa\ufeffb".encode()).text == "a\ufeffb"


def test_short_texts_in_the_encodings_of_chinese() -> None:
    for text, encoding in (("你好，我是中国人", "gb18030"), ("你好，我是中國人", "big5hkscs")):
        assert decode(text.encode(encoding)).text == text


def test_one_accent_in_a_long_ascii_file() -> None:
    text = ENGLISH * 5_000 + "Café Müller\n"
    assert decode(text.encode("cp1252")).text == text


def test_lines_in_two_encodings() -> None:
    data = (CHINESE * 4).encode() + CHINESE.encode("gb18030") + ENGLISH.encode()
    decoded = decode(data)
    assert decoded.text == CHINESE * 5 + ENGLISH
    assert decoded.encoding == "utf-8+gb18030"


def test_a_utf8_line_in_an_older_file() -> None:
    data = (CHINESE * 6).encode("gb18030") + CHINESE.encode()
    assert decode(data).text == CHINESE * 7


def test_a_damaged_byte_does_not_turn_the_line_into_another_encoding() -> None:
    data = CHINESE.encode()
    decoded = decode(data[:30] + b"\xff" + data[30:])
    assert decoded.text == CHINESE[:10] + "\ufffd" + CHINESE[10:]
    assert (decoded.encoding, decoded.replaced) == ("utf-8", 1)


def test_a_character_cut_off_at_the_end_is_no_reason_to_refuse() -> None:
    assert decode((CHINESE * 3).encode().rstrip()[:-1]).text == (CHINESE * 3).rstrip()[:-1] + "\ufffd"
    assert decode((CHINESE * 3).encode("gb18030")[:-2]).text.startswith(CHINESE * 2)


def test_nuls_and_surrogates_are_replaced_and_counted() -> None:
    lone = "\ud83d".encode("utf-8", "surrogatepass")
    decoded = decode(b"one\0two" + lone + b"three\0, and enough text around it")
    assert decoded.text.startswith("one\ufffdtwo\ufffdthree\ufffd,")
    assert decoded.replaced == 3


def test_halves_of_a_pair_are_put_together() -> None:
    halves = "\ud83c\udfee".encode("utf-8", "surrogatepass")
    assert decode(b"a " + halves).text == "a \U0001f3ee"


def test_line_ends_and_other_controls() -> None:
    assert decode(b"a\r\nb\rc\n\x1b[31m\x07\x0c").text == "a\nb\nc\n\x1b[31m\x07\x0c"


@pytest.mark.parametrize("size", [100, 500, 5_000, 300_000])
def test_noise_is_refused(size: int) -> None:
    for seed in range(10):
        with pytest.raises(DocumentError, match="binary"):
            decode(random.Random(seed).randbytes(size))


@pytest.mark.parametrize(
    "start", ["GIF89a is a format.", "BZh is no word.", "GGUF files hold models.", "PK is short."]
)
def test_text_that_begins_like_a_signature_is_text(start: str) -> None:
    assert decode(start.encode()).text == start


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_well_formed_text_or_refused(data: bytes) -> None:
    try:
        decoded = decode(data)
    except DocumentError:
        return
    decoded.text.encode("utf-8")
    assert "\0" not in decoded.text
    assert "\r" not in decoded.text
    assert decoded.replaced == decoded.text.count("\ufffd")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=200))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(b"\xef\xbb\xbf" + text.encode()).text == text
