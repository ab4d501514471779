"""The linter: every kind of mistake is named with its line, and no good prompt is blamed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.documents.tokens import estimate
from localrag.prompts import Contract, Prompt, contract, parse
from localrag.prompts.checking import Remark, Room, remarks

ROOM = Room(2048, estimate)
USER, SYSTEM, RAG = "lightrag/extraction_user", "graphrag/extraction_system", "lightrag/rag_response"


def check(
    body: str,
    inputs: str,
    name: str = "lightrag/extraction_user",
    room: Room = ROOM,
    beside: dict[str, Prompt] | None = None,
) -> list[tuple[int, str, bool]]:
    family, _, part = name.partition("/")
    data = f"---\ndescription: x\ninputs: {inputs}\n---\n{body}\n".encode()
    others = beside or {}
    found = remarks(data, "en", part, contract(family, part), others.get, room)
    return [(remark.line, remark.text, remark.error) for remark in found]


def nothing(name: str) -> Prompt | None:
    """There is no other prompt."""
    return None


def other(body: str, inputs: str) -> Prompt:
    return parse(f"---\ndescription: x\ninputs: {inputs}\n---\n{body}\n", "en", "other")


@pytest.mark.parametrize(
    ("name", "body", "inputs", "line", "cause"),
    [
        (
            "lightrag/extraction_user",
            "Read {input_text} and {query}",
            "input_text, query",
            3,
            "not given the input query",
        ),
        (
            "lightrag/extraction_user",
            "Read {input_text} and {query}",
            "input_text",
            5,
            "{query} is used but not among",
        ),
        (
            "lightrag/extraction_user",
            "Read {input_txt}",
            "input_text",
            3,
            "not used in the text (line 5 has {input_txt})",
        ),
        ("lightrag/keywords", "Find words.", "", 3, "query is missing"),
        ("graphrag/community_report", "Write.", "", 3, "input_text is missing"),
        ("lightrag/fail_response", "No.", "", 6, "must end with [no-context]"),
        (USER, "Read.", "", 5, "input_text is missing here and in extraction_system"),
        (
            "lightrag/rag_response",
            "[no-context] {context_data} " + "word " * 2500,
            "context_data",
            5,
            "do not fit",
        ),
    ],
)
def test_errors(name: str, body: str, inputs: str, line: int, cause: str) -> None:
    found = check(body, inputs, name)
    errors = [(number, text) for number, text, is_error in found if is_error]
    assert errors
    assert errors[0][0] == line
    assert any(cause in text for _, text in errors)


def test_several_mistakes_are_all_named() -> None:
    found = check("Read {query}\nand {input_txt}", "input_text, qurey")
    assert [(line, is_error) for line, _, is_error in found] == [(3, True), (3, True), (5, True)]


MARKS = "{tuple_delimiter}{record_delimiter}{completion_delimiter}{entity_types}"
SHOWN = {
    "extraction_system": other(
        f"{MARKS}", "tuple_delimiter, record_delimiter, completion_delimiter, entity_types"
    )
}


@pytest.mark.parametrize(
    ("body", "inputs", "line", "cause"),
    [
        ("a\n<|im_start|>system\n{input_text}", "input_text", 6, "<|im_start|> looks like a control token"),
        ("[INST] {input_text}", "input_text", 5, "[INST] looks like"),
        ("</s> {input_text}", "input_text", 5, "</s> looks like"),
        ("<start_of_turn> {input_text}", "input_text", 5, "<start_of_turn> looks like"),
        ("{input_text}\n\n{input_text}", "input_text", 7, "a second time"),
        ("{input_text}" + " more words" * 40, "input_text", 5, "characters stand behind {input_text}"),
        ("Write it <|> so: {input_text}", "input_text", 5, "<|> is written out"),
        ("End <|COMPLETE|> {input_text}", "input_text", 5, "<|COMPLETE|> is written out"),
        ("{entity_type} {input_text}", "input_text", 5, "is {entity_types} meant?"),
        ("{input_text} " + "word " * 1200, "input_text", 5, "leave little room"),
    ],
)
def test_warnings(body: str, inputs: str, line: int, cause: str) -> None:
    found = check(body, inputs, beside=SHOWN)
    assert not any(is_error for _, _, is_error in found)
    assert any(number == line and cause in text for number, text, _ in found), found


def test_delimiters_that_the_model_is_not_shown() -> None:
    texts = [
        text
        for _, text, _ in check(
            "Write records about {entity_types}.", "entity_types", "graphrag/extraction_system"
        )
    ]
    assert len(texts) == 3
    assert all("does not occur" in text for text in texts)
    shown = {"extraction_examples": SHOWN["extraction_system"]}
    assert check("Write records.", "", SYSTEM, beside=shown) == []


def test_the_text_may_stand_in_the_other_prompt() -> None:
    beside = {"extraction_system": other("{input_text}", "input_text")}
    assert check("Now write.", "", beside=beside) == []


def test_an_answer_that_is_not_told_how_to_refuse() -> None:
    assert [
        text for _, text, _ in check("Answer: {context_data}", "context_data", "lightrag/rag_response")
    ] == ["[no-context] does not occur, so the model is not told to write it"]


@pytest.mark.parametrize(
    "body", ['Write {"a": {x}} {} {{input}} {Query} {0}', "a < b | c # d", "{input_text}"]
)
def test_braces_and_signs_are_no_mistakes(body: str) -> None:
    text = body if "{input_text}" in body else f"{body} {{input_text}}"
    assert check(text, "input_text", beside=SHOWN) == []


def test_what_is_not_utf8_is_named_with_its_line() -> None:
    data = "---\ndescription: x\ninputs:\n---\n好\n".encode("gb18030")
    (found,) = remarks(data, "zh", "extraction_user", None, nothing, ROOM)
    assert found == Remark(5, "it is not UTF-8", True)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_no_file_breaks_the_linter(data: bytes) -> None:
    rules = Contract(frozenset({"query"}), ("query",))
    for prefix in (b"", b"---\ndescription: x\ninputs: query\n---\n"):
        found = remarks(prefix + data, "en", "keywords", rules, nothing, ROOM)
        lines = (prefix + data).count(b"\n") + 1
        assert all(1 <= remark.line <= lines for remark in found)
