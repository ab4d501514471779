"""Keywords of a question: general ones and specific ones, from the model under a grammar, or from its words.

The model writes two lists of short texts and can write nothing else. What it makes up is left out: a keyword
has to share a word with the question, in the question's own script. Without the model the words themselves
serve (question_words.py), so a mode that lives on keywords always has some.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from localrag.documents import language
from localrag.engine.programs import JsonSchema
from localrag.engine.types import INTERACTIVE, Generation, GenerationRequest, LanguageModel, Message
from localrag.errors import Cancelled, EngineError, ModelError
from localrag.extraction.languages import AUTO, language_name, prompt_language
from localrag.graph.names import fold
from localrag.prompts import load
from localrag.retrieval.question_words import by_words, is_small_talk
from localrag.retrieval.types import Keywords
from localrag.stopping import stoppable
from localrag.store.function_words import ALL as FUNCTION_WORDS

TASK = "keywords"
"""Name of the task in requests."""

MOST_HIGH = 5
"""Most general keywords."""

MOST_LOW = 8
"""Most specific ones."""

LONGEST = 60
"""Most characters of one."""

ASKED = 2_000
"""Characters of a question that the model reads."""

_HIGH, _LOW = "high_level_keywords", "low_level_keywords"
_MAX_TOKENS = 220
_STEM = 4
_WORD = re.compile(r"[^\W_]+")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3]")


def keywords_of(
    question: str,
    known: tuple[str, ...],
    model: Callable[[], LanguageModel] | None,
    own_prompts: Path | None = None,
    cancel: threading.Event | None = None,
) -> tuple[Keywords, str]:
    """The keywords of a question, and why they are not the model's; empty if they are, or were not wanted.

    `known` are names of entities in the question; `model` is None where the words are to serve. Raises
    `Cancelled`, and `PromptError` if a person's own prompt is damaged.
    """
    if model is None or (not known and is_small_talk(question)):
        return by_words(question, known), ""
    try:
        found = by_model(question, model(), own_prompts, cancel)
    except Cancelled:
        raise
    except (EngineError, ModelError) as error:
        reason = f"The model gave no keywords ({error.message.rstrip('.')}); words of the question served."
        return by_words(question, known), reason
    if found.empty:
        return by_words(question, known), "The model found no keywords; words of the question served."
    return found, ""


def by_model(
    question: str,
    model: LanguageModel,
    own_prompts: Path | None = None,
    cancel: threading.Event | None = None,
) -> Keywords:
    """What the model takes for keywords, without what the question does not hold; perhaps none.

    Raises `EngineError`, `ModelError`, `Cancelled`, `PromptError`.
    """
    request = keywords_request(question, own_prompts)
    with contextlib.closing(stoppable(model.stream(request), cancel)) as events:
        done = [event for event in events if isinstance(event, Generation)]
    if not done or done[-1].finish == "cancelled":
        raise Cancelled("Stopped.", "Ask again.")
    if done[-1].finish == "error":
        raise EngineError(done[-1].error or "no reason given")
    return read_keywords(done[-1].text, question)


def keywords_request(question: str, own_prompts: Path | None = None) -> GenerationRequest:
    """The call that asks for keywords. Raises `PromptError` if a person's own prompt is damaged."""
    spoken = language.detect(question)
    code = prompt_language(AUTO, spoken)
    examples = load("lightrag", code, "keywords_examples", own_prompts)
    named = language_name(AUTO, spoken, question)
    inputs = {
        "examples": examples.render(language=named).strip(),
        "language": named,
        "query": question[:ASKED],
    }
    prompt = load("lightrag", code, "keywords", own_prompts)
    pieces = prompt.pieces(inputs, ("language", "query"))
    return GenerationRequest(
        TASK, (Message("user", pieces),), JsonSchema(_schema()), _MAX_TOKENS, priority=INTERACTIVE
    )


def read_keywords(text: str, question: str) -> Keywords:
    """The two lists as the model wrote them, each keyword once and only where the question holds of it.

    Text that is no such JSON gives none: servers do not keep every grammar.
    """
    try:
        data = json.loads(text)
    except ValueError:
        return Keywords(by="model")
    if not isinstance(data, dict):
        return Keywords(by="model")
    terms = _terms(question)
    low = _kept(data.get(_LOW), terms, MOST_LOW)
    high = [word for word in _kept(data.get(_HIGH), terms, MOST_HIGH) if word not in low]
    return Keywords(tuple(high), tuple(low), "model")


def _schema() -> dict[str, Any]:
    def words(most: int) -> dict[str, Any]:
        item = {"type": "string", "minLength": 1, "maxLength": LONGEST}
        return {"type": "array", "items": item, "maxItems": most}

    return {
        "type": "object",
        "properties": {_HIGH: words(MOST_HIGH), _LOW: words(MOST_LOW)},
        "required": [_HIGH, _LOW],
        "additionalProperties": False,
    }


def _kept(value: object, terms: frozenset[str], most: int) -> list[str]:
    words = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    found: dict[str, str] = {}
    for word in words:
        text = " ".join(word.split())[:LONGEST]
        if (key := fold(text)) and _terms(text) & terms:
            found.setdefault(key, text)
    return list(found.values())[:most]


def _terms(text: str) -> frozenset[str]:
    """The beginnings of words and the pairs of wide characters, which other forms of a word share."""
    return frozenset(_each_term(text.casefold()))


def _each_term(text: str) -> Iterable[str]:
    for match in _WORD.finditer(text):
        word = match.group()
        if _WIDE.search(word):
            pairs = (word[place : place + 2] for place in range(max(len(word) - 1, 1)))
            yield from (pair for pair in pairs if pair not in FUNCTION_WORDS)
        elif word not in FUNCTION_WORDS:
            yield word[:_STEM]
