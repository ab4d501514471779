"""`ask` and `search`: options, conversations, kept answers, explanations, prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.cli.answer_page import BEST, found_lines
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.settings import Settings
from tests.cli.conftest import Run, Scripted, cited, json_of
from tests.conftest import reader

QUESTION = "Who built the Halden Bridge?"
FOLLOW = "And who repaired it?"
WRITTEN = "Who repaired the Halden Bridge?"


@pytest.fixture(autouse=True)
def writer(scripted: Scripted) -> None:
    """A model that writes follow-up questions out."""
    answer = cited("Marta Lind built it")

    def write(request: GenerationRequest) -> str:
        return WRITTEN if request.task == "rewrite" else answer(request)

    scripted.model = reader(write)


def test_a_conversation_goes_on_and_shows_how_a_question_was_put(run: Run, read_kb: Path) -> None:
    first = run("ask", "--session", "new", QUESTION)
    assert "Conversation 1; go on with: localrag ask --continue" in first.stderr
    second = run("ask", "--continue", FOLLOW)
    assert f"Asked as: {WRITTEN}" in second.stderr
    assert WRITTEN not in second.stdout
    data = json_of(run("ask", "--session", "1", "--json", FOLLOW))
    assert (data["session"], data["rewritten"]) == (1, WRITTEN)
    shown = json_of(run("sessions", "show", "1", "--json"))
    assert [row["role"] for row in shown["messages"]] == ["user", "assistant"] * 3


def test_a_kept_answer_says_so_and_can_be_written_anew(run: Run, read_kb: Path) -> None:
    assert "Kept answer" not in run("ask", QUESTION).stderr
    again = run("ask", QUESTION)
    assert "Kept answer of 20" in again.stderr
    assert "Marta Lind built it [1]" in again.stdout
    assert json_of(run("ask", "--json", QUESTION))["kept"]
    assert json_of(run("ask", "--json", "--fresh", QUESTION))["kept"] == ""


def test_explain_tells_how_the_answer_came_about(run: Run, read_kb: Path) -> None:
    text = run("ask", "--explain", "--mode", "mix", QUESTION).stdout
    assert text.index("Marta Lind built it [1]") < text.index("How this answer came about")
    for word in ("Mode", "Model", "Room", "Tokens", "Time", "passages", "bridge.md", "fulltext", "[1]"):
        assert word in text
    data = json_of(run("ask", "--explain", "--json", "--mode", "mix", QUESTION))["explain"]
    assert data["mode"] == "mix"
    assert data["model"] == "scripted"
    assert data["call"]["prompt_tokens"] > 0
    best = data["candidates"]["chunk"][0]
    assert best["chosen"] == 1
    assert best["label"].startswith("bridge.md")
    assert best["places"]["fulltext"][0] >= 1
    assert data["context"]["shown"][0]["label"].startswith("bridge.md")
    assert data["context"]["budget"] > 0
    assert "granite" not in str(data), "an explanation holds no text of a document"


def test_without_explain_json_has_no_explanation(run: Run, read_kb: Path) -> None:
    assert "explain" not in json_of(run("ask", "--json", QUESTION))


def test_context_and_prompt_are_shown_without_the_model_writing(
    run: Run, read_kb: Path, scripted: Scripted
) -> None:
    assert scripted.model is not None
    context = run("ask", "--context-only", QUESTION).stdout
    assert "Marta Lind built it in 1931" in context
    assert "Use only" not in context
    prompt = run("ask", "--prompt-only", QUESTION).stdout
    assert prompt.startswith("--- system\n")
    assert prompt.rstrip().endswith(QUESTION)
    assert context.strip() in prompt
    messages = json_of(run("ask", "--prompt-only", "--json", QUESTION))["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert scripted.model.calls == []
    run("ask", QUESTION)
    (request,) = (call for call in scripted.model.calls if call.task == "answer")
    assert [message.text for message in request.messages] == [message["text"] for message in messages]


def test_search_shows_what_is_found_without_a_language_model(
    run: Run, read_kb: Path, scripted: Scripted
) -> None:
    scripted.model = None
    text = run("search", "--mode", "mix", "Who built the Halden Bridge?")
    assert "1. bridge.md" in text.stdout
    assert "Marta Lind" in text.stdout
    assert "Mode: mix." in text.stderr
    data = json_of(run("search", "--json", "--limit", "1", "--mode", "naive", QUESTION))
    assert [row["document"] for row in data["passages"]] == ["bridge.md"]
    assert data["entities"] == []
    passage = data["passages"][0]
    assert set(passage) >= {"heading", "page", "start", "end", "score", "sources", "text", "base"}
    assert "Nothing was found" in run("search", "--until", "1990", QUESTION).stderr


def test_search_reads_stdin_and_takes_words_without_quotes(run: Run, read_kb: Path) -> None:
    assert "bridge.md" in run("search", "-", stdin=f"{QUESTION}\n").stdout
    assert "bridge.md" in run("search", "Halden", "bridge").stdout
    assert "empty" in run("search", " ", code=2).stderr


@pytest.mark.parametrize("command", ["ask", "search"])
def test_filters_hold(run: Run, read_kb: Path, command: str) -> None:
    run("tag", "add", "water", "mill.txt")
    for words in (("--document", "mill.txt"), ("--tag", "water"), ("--media", "txt", "--document", "mill*")):
        found = json_of(run(command, "--json", *words, "Who bought the old mill above the river Orla?"))
        rows = found["passages"] if command == "search" else found["citations"]
        assert {row["document"] for row in rows} == {"mill.txt"}
        assert json_of(run("search", "--json", *words, QUESTION))["passages"][0]["document"] == "mill.txt"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--tag", "nosuch"), "No document has the tag"),
        (("--type", "nosuch"), "No entity is of the type"),
        (("--from", "yesterday"), "is no day"),
        (("--document", "nosuch.md"), "nosuch.md"),
        (("--folder", "nosuch"), "No document with text lies in"),
        (("--media", "nosuch"), "No document is of the kind"),
        (("--claim-status", "MAYBE"), "There is no status"),
        (("--base", "nosuch.localrag"), "nosuch"),
        (("--session", "9"), "There is no conversation 9"),
        (("--session", "x"), "There is no conversation 'x'"),
        (("--continue",), "There is no conversation yet"),
        (("--continue", "--session", "3"), "--session is given as"),
        (("--strict", "--style", "flexible"), "--style is given as"),
        (("--mode", "nosuch"), "nosuch"),
        (("--seed", "-1"), "-1"),
    ],
)
def test_wrong_input_is_one_sentence(run: Run, read_kb: Path, words: tuple[str, ...], sentence: str) -> None:
    result = run("ask", *words, QUESTION, code=3 if "--base" in words else 2)
    assert sentence in result.stderr
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) <= 2


def test_options_reach_the_prompt(run: Run, read_kb: Path) -> None:
    prompt = run(
        "ask",
        "--prompt-only",
        "--response-type",
        "one word",
        "--user-prompt",
        "Call her Ms {query}.",
        QUESTION,
    ).stdout
    assert "one word" in prompt
    assert "Call her Ms {query}." in prompt
    flexible = run("ask", "--prompt-only", "--flexible", QUESTION).stdout
    assert "General Knowledge" in flexible
    assert "General Knowledge" not in prompt


def test_what_was_said_before_reaches_the_prompt(run: Run, read_kb: Path) -> None:
    run("ask", "--session", "new", QUESTION)
    prompt = run("ask", "--continue", "--prompt-only", FOLLOW).stdout
    assert prompt.rstrip().endswith(WRITTEN)
    assert QUESTION in prompt
    assert len(json_of(run("sessions", "list", "--json"))["sessions"]) == 1
    assert json_of(run("sessions", "list", "--json"))["sessions"][0]["messages"] == 2


def test_the_mode_that_was_taken_is_told_with_its_reason(run: Run, read_kb: Path) -> None:
    assert "Mode: mix (auto: " in run("ask", QUESTION).stderr
    assert "Mode: mix (auto: " in run("ask", QUESTION).stderr, "of a kept answer too"
    assert "Mode: naive." in run("ask", "--mode", "naive", QUESTION).stderr
    assert "Mode: mix (auto: " in run("search", QUESTION).stderr


def test_what_is_found_at_once_is_a_few_lines_that_fit(read_kb: Path) -> None:
    with KnowledgeBase.open(read_kb, engines=Engines(Settings(), reader(), ScriptedEmbedder())) as kb:
        found = kb.search(QUESTION, mode="mix")
    lines = found_lines(found, 80)
    assert lines[0].startswith("· bridge.md › The Bridge of Halden: The Halden Bridge crosses the")
    assert lines[-1].startswith("· Names: ")
    assert "Halden Bridge" in lines[-1]
    assert 2 <= len(lines) <= BEST + 1
    assert all(len(line) <= 82 for line in lines)
