"""Where sentences end, and that no text is lost between them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings

from localrag.documents import sentences
from localrag.documents.clusters import clings
from tests.documents.texts import texts, without_space
from tests.examples import examples


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences.split(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["The ferry left.", "It was late!", "Was it?", "Yes."],
        ["Dr. Rook met Mr. J. R. Smith and Prof. Lind at St. Ives.", "They rowed."],
        ["It costs 3.50 crowns, i.e. more than version 2.0.1 of it.", "See example.org for it."],
        ["He lives in the U.S. Navy yard.", "He left the U.S.", "The ship stayed."],
        ["We met at 5 p.m. on Monday.", "It rained at 6 p.m.", "Then we left."],
        ["It is No. 7 in the list.", "She said no.", "Nobody heard."],
        ["Plan B.", "The end of it was near.", "In 1974.", "Years later."],
        ["“Are you coming?” she asked.", "“No.”", "He sat down."],
        ["(It rained.)", "We left...", "And so on… or not.", "Nobody… knows."],
        ["One fact.[1]", "Another fact.[2][13]", "**Bold end.**", "*Slanted.*", "Last"],
        ["Hey! is a song, and Who? was a book.", "Etc. etc. and so forth."],
        ["Am 3. Oktober kam er.", "Dann ging er."],
        ["Is it so?!", "¿Verdad?", "«Oui.»", "Fin."],
        ["He left on 14 Nov. 1974 with Grey Gull Ltd. Holdings.", "He came back."],
        ["Лодка стояла у причала.", "Никто не знал чья."],
    ],
)
def test_sentences_of_latin_scripts(expected: list[str]) -> None:
    assert pieces(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["灯塔亮了。", "船回来了！", "真的吗？"],
        ["他说：“你好。”", "然后走了。"],
        ["「真的嗎？」", "『是的。』", "他說。"],
        ["真的吗？！", "是的！！", "好。"],
        ["我……我不知道。", "他走了很远很远的路……", "后来回来了。"],
        ["“他走了……”", "她没有说话。"],
        ["长3.5米，宽2.0米。", "版本2.0发布了。"],
        ["（完。）", "再见。"],
        ["他问：“谁？”，没有人回答。", "走吧。"],
        ["灯は見えた。", "船は帰った。"],
        ['他说："好。"', "她走了。"],
        ["他走了。", '"你好。"', "她说。"],
        ["三趾鹬号（Sanderling）开航了!", "大家很高兴?", "是的"],
        ["यह सच है।", "वह गया।"],
    ],
)
def test_sentences_of_scripts_without_blanks(expected: list[str]) -> None:
    joined = (" " if expected[0].startswith("यह") else "").join(expected)
    assert pieces(joined) == expected


def test_a_line_break_inside_a_paragraph_is_a_blank() -> None:
    assert pieces("One sentence goes\nover two lines. Next\none.\n\nNew block") == [
        "One sentence goes\nover two lines.",
        "Next\none.",
        "New block",
    ]


def test_blocks_of_markdown() -> None:
    text = (
        "# Title. With stop\nText\n- item one\n  goes on. Two\n* b\n1. First\n2) second\n"
        "| 1. x | y. Z |\n| c | d |\n---\n> quote\n"
    )
    assert pieces(text) == [
        "# Title. With stop",
        "Text",
        "- item one\n  goes on.",
        "Two",
        "* b",
        "1. First",
        "2) second",
        "| 1. x | y. Z |",
        "| c | d |",
        "---",
        "> quote",
    ]


def test_code_is_cut_by_lines() -> None:
    assert pieces("Look:\n```py\n# one. Two\nx = 1\n\n  y\n```\nAfter. This") == [
        "Look:",
        "```py",
        "# one. Two",
        "x = 1",
        "y",
        "```",
        "After.",
        "This",
    ]


def test_prose_behind_a_stray_line_of_tildes_is_still_cut() -> None:
    sentence = "This is an ordinary sentence of some length that nobody would call code. "
    assert len(pieces("~~~~~~\n" + sentence * 4)) == 5


def test_records_letters_and_conversations_are_cut_by_lines() -> None:
    text = (
        "Time: today\nAnna: Are you\nBram: Yes\n\n18:40 Wind\n19:05 Ship seen\n2018-09-12 Meeting\n"
        "一、鳗鱼\n二、海草"
    )
    assert pieces(text) == [
        "Time: today",
        "Anna: Are you",
        "Bram: Yes",
        "18:40 Wind",
        "19:05 Ship seen",
        "2018-09-12 Meeting",
        "一、鳗鱼",
        "二、海草",
    ]


def test_a_chinese_paragraph_begins_with_a_wide_blank() -> None:
    assert pieces("　　第一段没有句号\n　　第二段") == ["第一段没有句号", "第二段"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000\t\f"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert sentences.split(text) == []


@settings(max_examples=examples(300), deadline=None)
@given(texts)
def test_spans_cover_all_text_in_order(text: str) -> None:
    spans = sentences.split(text)
    last = 0
    for start, end in spans:
        assert last <= start < end
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        last = end
    assert "".join(without_space(text[start:end]) for start, end in spans) == without_space(text)
    assert spans == sentences.split(text)


@settings(max_examples=examples(200), deadline=None)
@given(texts)
def test_no_cut_parts_a_mark_from_its_letter(text: str) -> None:
    for start, _ in sentences.split(text):
        assert start == 0 or text[start - 1].isspace() or not clings(text[start])


@pytest.mark.parametrize(
    "text",
    [
        "." * 100_000,
        "a. " * 30_000,
        "`" * 100_000,
        "`" * 50_000 + " x " + "`" * 50_000,
        '。"' * 50_000,
        " " * 100_000 + "x",
        "-" * 100_000 + "x",
        "[1]" * 30_000,
        ".[1" * 30_000,
        "x\n" * 50_000,
    ],
    ids=lambda text: ascii(text[:4]),
)
def test_hostile_lines_take_no_longer_than_ordinary_ones(text: str) -> None:
    began = time.process_time()
    sentences.split(text)
    assert time.process_time() - began < 2
