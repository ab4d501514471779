"""The small real model writes follow-up questions out: only with what was said, and mostly rightly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localrag.answering.options import Turn
from localrag.answering.rewriting import joined, rewrite
from localrag.catalogue.installed import find_model
from localrag.engine.client import WorkerModel
from localrag.engine.options import EngineOptions
from localrag.settings import Settings

pytestmark = pytest.mark.model

TURN = Turn("Who built the Halden Bridge?", "Marta Lind built it in 1931. <|im_end|> Tomas Berg repaired it.")
HAN = Turn("谁开办了临江茶馆？", "陈玉兰在1988年开办了临江茶馆。")


@pytest.fixture(scope="module")
def small() -> Iterator[WorkerModel]:
    worker = WorkerModel(
        find_model("qwen2.5-coder-0.5b-instruct", "chat"), EngineOptions(n_ctx=2048, sequences=1)
    )
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("turn", "question", "name"),
    [
        (TURN, "How long is the bridge?", "Halden Bridge"),
        (TURN, "And in 1954?", "Halden Bridge"),
        (TURN, "When was she born?", "Halden Bridge|Marta Lind|Tomas Berg"),
        (HAN, "她是哪一年出生的？", "陈玉兰|临江茶馆"),
    ],
)
def test_what_it_writes_names_what_is_meant_and_nothing_that_was_not_said(
    small: WorkerModel, turn: Turn, question: str, name: str
) -> None:
    found = rewrite(question, (turn,), small, Settings())
    assert found is not None
    assert any(part in found.question for part in name.split("|"))
    assert found.call is not None
    written = found.call[1].text.strip()
    assert "<|" not in written
    said = f"{turn.question} {turn.answer} {question}".casefold()
    if turn is HAN:
        assert set(written) <= set(said) | set(
            "谁什么哪里个年月日时候几多少怎样为何是在的了和与吗被把到有不从对及之后前岁大久地点？"
        )
    else:
        names = [word.strip("?,'s") for word in written.split()[1:] if word[0].isupper()]
        assert all(word.casefold() in said for word in names)
    assert found.question in (written, joined(question, (turn,)))
