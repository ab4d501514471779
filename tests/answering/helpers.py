"""What the tests of answers share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from localrag.answering.types import Answer, AskEvent
from localrag.engine.programs import CitedText
from localrag.engine.types import GenerationRequest
from localrag.kb import KnowledgeBase

Ask = Callable[..., list[AskEvent]]


QUESTION = "Who repaired the Halden Bridge?"


def context_of(request: GenerationRequest) -> dict[str, list[dict[str, Any]]]:
    """The context that a prompt holds."""
    text = request.messages[0].text
    data, _ = json.JSONDecoder().raw_decode(text, text.index('{"'))
    assert isinstance(data, dict)
    return data


def number_of(request: GenerationRequest, document: str) -> int:
    """The number that a document has in the prompt's context."""
    return int(next(item["id"] for item in context_of(request)["passages"] if item["document"] == document))


def number_of_name(request: GenerationRequest, group: str, name: str) -> int:
    """The number of an entity or a relation."""
    return int(next(item["id"] for item in context_of(request)[group] if name in item.values()))


def sources_of(request: GenerationRequest) -> int:
    assert isinstance(request.program, CitedText)
    return request.program.sources


def last(events: list[AskEvent]) -> Answer:
    assert isinstance(events[-1], Answer)
    return events[-1]


def spans_hold(kb: KnowledgeBase, answer: Answer) -> bool:
    texts = {row.path: kb.document_text(row.id) for row in kb.status().documents}
    return all(
        texts[citation.document][citation.start : citation.end] == citation.text and citation.text
        for citation in answer.citations
    )
