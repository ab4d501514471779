"""Prompt files: the ones that ship, what a damaged one says, and text that tries to be a placeholder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.errors import PromptError
from localrag.prompts import INPUTS, Prompt, load, parse

NAMES = (
    "extraction_system",
    "extraction_user",
    "extraction_continue",
    "extraction_examples",
    "rag_response",
    "naive_response",
    "naive_response_flexible",
    "fail_response",
)
SHIPPED = [(language, name) for language in ("en", "zh") for name in NAMES]
SEED_INPUTS = {
    "extraction_system": {
        "entity_types",
        "tuple_delimiter",
        "record_delimiter",
        "completion_delimiter",
        "language",
        "examples",
    },
    "extraction_user": {"completion_delimiter", "language", "input_text"},
    "extraction_continue": {"completion_delimiter", "language"},
    "extraction_examples": {"tuple_delimiter", "record_delimiter", "completion_delimiter"},
    "rag_response": {"history", "context_data", "response_type", "user_prompt"},
    "naive_response": {"history", "content_data", "response_type", "user_prompt"},
    "naive_response_flexible": {"history", "content_data", "response_type", "user_prompt"},
    "fail_response": set(),
}


def prompt(body: str, inputs: str = "query, history") -> Prompt:
    return parse(f"---\ndescription: For a test.\ninputs: {inputs}\n---\n{body}\n", "en", "test")


@pytest.mark.parametrize(("language", "name"), SHIPPED)
def test_every_prompt_ships_with_its_inputs(language: str, name: str) -> None:
    loaded = load("lightrag", language, name)
    assert set(loaded.inputs) == SEED_INPUTS[name]
    assert loaded.description
    assert len(loaded.hash) == 64
    values = {item: f"«{item}»" for item in loaded.inputs}
    filled = loaded.render(**values)
    assert all(value in filled for value in values.values())
    assert not any(f"{{{item}}}" in filled for item in INPUTS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_refusal_is_worded_as_the_fail_response(language: str) -> None:
    refusal = load("lightrag", language, "fail_response").render()
    assert refusal.endswith("[no-context]")
    for name in ("rag_response", "naive_response"):
        assert refusal in load("lightrag", language, name).text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_general_knowledge_is_marked_in_the_flexible_answer_alone(language: str) -> None:
    assert "[General Knowledge]" in load("lightrag", language, "naive_response_flexible").text
    assert "[General Knowledge]" not in load("lightrag", language, "naive_response").text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_context_comes_behind_the_shared_instructions(language: str) -> None:
    for name, data in (("rag_response", "context_data"), ("naive_response", "content_data")):
        loaded = load("lightrag", language, name)
        inputs = {item: "?" for item in loaded.inputs} | {data: "DATA", "history": "HISTORY"}
        shared, own = loaded.pieces(inputs, (data, "history", "user_prompt"))
        assert shared.shared
        assert not own.shared
        assert "[no-context]" in shared.text
        assert own.text.endswith("DATA")


def test_inserted_text_is_not_searched_again() -> None:
    filled = prompt("Q: {query}\nH: {history}").render(query="{history} {query} {0} %s", history="{query}")
    assert filled == "Q: {history} {query} {0} %s\nH: {query}"


def test_other_braces_stay() -> None:
    body = 'Write {"name": {x}} or {} or {{}} or {Query} for {query}{history}'
    assert (
        prompt(body).render(query="1", history="2") == 'Write {"name": {x}} or {} or {{}} or {Query} for 12'
    )


@given(st.text(), st.text())
def test_any_value_arrives_as_it_is(query: str, history: str) -> None:
    assert prompt("<{query}|{history}>").render(query=query, history=history) == f"<{query}|{history}>"


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.sampled_from([(), ("query",), ("history",), ("query", "history")]),
)
def test_pieces_joined_are_the_rendered_text(query: str, history: str, variable: tuple[str, ...]) -> None:
    loaded = prompt("a {query} b {history} c {query}")
    pieces = loaded.pieces({"query": query, "history": history}, variable)
    assert "".join(piece.text for piece in pieces) == loaded.render(query=query, history=history)
    assert [piece.shared for piece in pieces] in ([True], [True, False])


def test_nothing_is_shared_behind_the_first_variable_input() -> None:
    pieces = prompt("a {query} b {history} c").pieces({"query": "Q", "history": "H"}, ("query",))
    assert [(piece.text, piece.shared) for piece in pieces] == [("a ", True), ("Q b H c", False)]


def test_inputs_that_a_prompt_does_not_use_are_ignored_and_missing_ones_named() -> None:
    assert prompt("{query}", "query").render(query="1", history="2") == "1"
    with pytest.raises(PromptError, match=r"\{query\}"):
        prompt("{query}", "query").render(history="2")


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ("no front matter", 1, "does not begin with ---"),
        ("---\ndescription: x\ninputs:\n", 4, "does not end with ---"),
        ("---\ndescription x\n---\nbody", 2, "no colon"),
        ("---\ndescription: x\nauthor: y\n---\nbody", 3, "'author' is none of"),
        ("---\ndescription: x\ndescription: y\n---\nbody", 3, "given twice"),
        ("---\ndescription: x\n---\nbody", 1, "no inputs"),
        ("---\ninputs:\n---\nbody", 1, "no description"),
        ("---\ndescription: x\ninputs: qeury\n---\nbody", 3, "'qeury' is no input"),
        ("---\ndescription: x\ninputs: query, query\n---\n{query}", 3, "listed twice"),
        ("---\ndescription: x\ninputs: query\n---\nbody", 3, "query is not used"),
        ("---\ndescription: x\ninputs:\n---\nbody\nand {query}", 6, "{query} is used but not among"),
        ("---\ndescription: x\ninputs:\n---\n\n \n", 4, "no text behind"),
        ("", 1, "does not begin with ---"),
    ],
)
def test_a_damaged_file_names_line_and_cause(text: str, line: int, cause: str) -> None:
    with pytest.raises(PromptError) as caught:
        parse(text, "en", "broken")
    assert f"line {line}:" in caught.value.message
    assert cause in caught.value.message


def test_files_of_a_person_are_read_from_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "lightrag" / "en"
    folder.mkdir(parents=True)
    text = "---\r\ndescription: Mine.\r\ninputs: query\r\n---\r\nAsk {query}.\r\n"
    (folder / "mine.md").write_bytes(b"\xef\xbb\xbf" + text.encode())
    loaded = load("lightrag", "en", "mine", tmp_path)
    assert loaded.render(query="this") == "Ask this."
    assert loaded.name == "mine"
    assert loaded.hash == prompt("Ask {query}.", "query").hash


def test_a_prompt_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="extraction_sytsem"):
        load("lightrag", "en", "extraction_sytsem", tmp_path)


def test_what_lies_in_the_persons_folder_is_never_left_out_in_silence(tmp_path: Path) -> None:
    assert load("lightrag", "en", "fail_response", tmp_path) == load("lightrag", "en", "fail_response")
    own = tmp_path / "lightrag" / "en" / "fail_response.md"
    own.parent.mkdir(parents=True)
    own.write_text("---\ndescription: Mine.\ninputs:\n---\nI do not know.\n", "utf-8")
    with pytest.raises(PromptError, match=r"line 6: the text must end with \[no-context\]"):
        load("lightrag", "en", "fail_response", tmp_path)
    own.unlink()
    own.symlink_to(tmp_path / "gone.md")
    with pytest.raises(PromptError, match="cannot be read"):
        load("lightrag", "en", "fail_response", tmp_path)
    own.unlink()
    own.mkdir()
    with pytest.raises(PromptError, match="cannot be read"):
        load("lightrag", "en", "fail_response", tmp_path)


def test_a_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "lightrag" / "zh"
    folder.mkdir(parents=True)
    (folder / "mine.md").write_bytes("---\ndescription: x\ninputs:\n---\n好\n".encode("gb18030"))
    with pytest.raises(PromptError, match="line 5: it is not UTF-8"):
        load("lightrag", "zh", "mine", tmp_path)


@pytest.mark.parametrize("part", ["..", "../en", "EN", "", "a/b", "en\x00"])
def test_a_name_is_no_way_out_of_the_folder(part: str) -> None:
    for parts in ((part, "en", "x"), ("lightrag", part, "x"), ("lightrag", "en", part)):
        with pytest.raises(PromptError):
            load(*parts)
