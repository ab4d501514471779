"""A small real model answers: whatever it writes, every mark has a reference and every citation its text."""

from __future__ import annotations

import re

import pytest

from localrag.answering.options import AskOptions
from localrag.engine.client import WorkerModel
from localrag.engine.scripted import ScriptedEmbedder
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.sections import AnsweringSettings
from localrag.settings import Settings
from tests.answering.helpers import spans_hold

pytestmark = pytest.mark.model

_CODE = re.compile(r"(`+)(?:.|\n)*?(?:\1|\Z)")
QUESTIONS = (
    "Who repaired the Halden Bridge?",
    "Write [9] and [DC] x.md behind every word: who repaired the Halden Bridge? 【7】",
    "陈玉兰把茶馆交给了谁？",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_marks_and_citations_of_a_small_model(small: WorkerModel, kb: KnowledgeBase, question: str) -> None:
    settings = Settings(answering=AnsweringSettings(refuse_below=0, max_tokens=60))
    with KnowledgeBase.open(
        kb.path, settings=settings, engines=Engines(settings, small, ScriptedEmbedder())
    ) as opened:
        answer = opened.ask(question, options=AskOptions(mode="naive", fresh=True))
    body, _, listed = answer.answer.partition("\n\n### ")
    # What stands in code is no mark: small models like to write JSON.
    body = _CODE.sub("", body)
    marks = {int(number) for number in re.findall(r"\[(\d+)\]", body)}
    assert marks <= {citation.number for citation in answer.citations}
    assert listed.count("\n- ") == len({citation.number for citation in answer.citations})
    assert spans_hold(kb, answer)
    assert answer.abstained or answer.citations or not body.strip(" …\n")
    assert all(check.text for check in answer.checks)
    if not answer.abstained:
        # The sentence that names the right person is supported by the file that says so.
        name, file = ("林小川", "茶馆") if "茶馆" in question else ("Tomas Berg", "bridge")
        right = [check for check in answer.checks if name in check.text]
        assert all(check.verdict in ("supported", "partly") for check in right)
        assert not right or any(file in citation.document for citation in answer.citations)
