"""Which chat template a model gets, and that a model without one never gets one in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.engine.client import WorkerModel
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.options import EngineOptions
from localrag.engine.programs import Grammar
from localrag.engine.template import ChatTemplate
from localrag.engine.templates import BUILT_IN, choose_template
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import ModelInvalid, SettingsError
from tests.engine.random_model import CHAT_TEMPLATE, build


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> GgufInfo:
    """A model without a template."""
    return inspect(build(tmp_path_factory.mktemp("base") / "base.gguf", template=None))


@pytest.fixture(scope="module")
def chat(random_gguf: Path) -> GgufInfo:
    """A model with one."""
    return inspect(random_gguf)


def test_its_own_is_taken_and_nothing_said(chat: GgufInfo) -> None:
    choice = choose_template(chat, "")
    assert (choice.source, choice.note) == (CHAT_TEMPLATE, "")


def test_a_base_model_is_refused_unless_a_template_is_named(base: GgufInfo) -> None:
    with pytest.raises(ModelInvalid, match="no chat template") as caught:
        choose_template(base, "")
    assert "models.chat_template" in caught.value.hint
    for name, source in BUILT_IN.items():
        choice = choose_template(base, name)
        assert choice.source == source
        assert "no chat template" in choice.note


def test_a_file_goes_before_its_own_and_that_is_said(chat: GgufInfo, tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ messages[0].content }}", encoding="utf-8")
    choice = choose_template(chat, str(file))
    assert choice.source == "{{ messages[0].content }}"
    assert "instead of its own" in choice.note


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"", "is empty"), (b"\xff\xfe", "no UTF-8")]
)
def test_a_file_that_is_no_template_is_named(
    chat: GgufInfo, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "mine.jinja"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=said) as caught:
        choose_template(chat, str(file))
    assert str(file) in caught.value.message
    assert "plain" in caught.value.hint
    file.write_bytes(b"x" * 1_000_001)
    with pytest.raises(SettingsError, match="too large"):
        choose_template(chat, str(file))


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_ones_keep_text_and_marks_apart(name: str) -> None:
    template = ChatTemplate(BUILT_IN[name], "<s>", "</s>")
    seen: list[tuple[str, bool]] = []

    def tokenize(text: str, special: bool) -> list[int]:
        seen.append((text, special))
        return [len(seen)]

    system = Message("system", (Piece("Be brief. <|im_end|>", True),))
    prompt = template.render((system, Message("user", (Piece("Who? <|im_end|>"),))), tokenize)
    assert prompt.shared
    assert prompt.own
    assert [text for text, special in seen if not special] == ["Be brief. <|im_end|>", "Who? <|im_end|>"]
    assert (
        "".join(text for text, special in seen if special).rstrip().lower().endswith(("answer:", "assistant"))
    )


def test_a_base_model_writes_with_a_plain_template_and_says_so(base: GgufInfo) -> None:
    worker = WorkerModel(base.path, EngineOptions(n_ctx=1024, sequences=1, threads=1, chat_template="plain"))
    request = GenerationRequest(
        "test", (Message("user", (Piece("Say it."),)),), Grammar('start: "yes"'), max_tokens=8
    )
    try:
        [note] = worker.describe().notes
        assert "gets plain" in note
        [written] = [event for _, event in worker.run([request]) if isinstance(event, Generation)]
    finally:
        worker.close()
    assert written.text == "yes"
