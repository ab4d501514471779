"""Writes a follow-up question out, so that it can be searched without what was said before.

The model writes under a grammar that holds the words of the conversation and of the question (of Chinese the
characters) and no others but those that say nothing by themselves: so it has to put a name in place of `she`,
and cannot bring in one that was never said. What it writes is taken only if it still asks what was asked;
else the last question is put before this one, which finds the same passages.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.answering.followups import content_words, is_follow_up
from localrag.answering.options import Turn
from localrag.documents import language, sentences
from localrag.engine.programs import Grammar
from localrag.engine.steps import alternatives
from localrag.engine.types import (
    INTERACTIVE,
    Generation,
    GenerationRequest,
    LanguageModel,
    Message,
)
from localrag.errors import Cancelled, EngineError
from localrag.prompts import load
from localrag.prompts.personal import own_prompts
from localrag.settings import Settings
from localrag.stopping import stoppable
from localrag.store.function_words import ENGLISH

TASK = "rewrite"
"""Name of the task in requests and in the journal."""

TURNS = 3
"""Questions and answers looked back at."""

_LONGEST = 2_000
"""Characters of a question above which it is its own context."""

_OF_ANSWER = 500
_MAX_TOKENS = 96
_MOST_WORDS = 40
_MOST_CHARACTERS = 80
_SIGNS = {"en": ("Q: ", "A: "), "zh": ("问：", "答：")}
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_WORD = re.compile(r"\w")
_HAN_UNIT = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]|[A-Za-z0-9]+(?:[-.][A-Za-z0-9]+)*|[《》“”·]")
_AROUND = '.,;:!?"()[]{}<>“”„«»…*_`#|'
_LITTLE_HAN = "谁什么哪里个年月日时候几多少怎样为何是在的了和与吗被把到有不从对及之后前岁大久地点"
_HAN_REFERRING = frozenset("他她它这那该此其呢這該")
_REFERRING = frozenset(
    {
        *("he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their", "theirs", "this"),
        *("these", "those", "himself", "herself", "itself", "themselves"),
    }
)
_BARE = _REFERRING | {
    *("that", "there", "then", "one", "ones", "same", "former", "latter", "and", "but", "also", "else"),
    *("other", "another", "second", "first", "tell", "more", "go", "explain", "exactly"),
}
_ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how)\b|谁|什么|哪|几|多少|怎|为什么|何|多久|多大", re.I
)
_YES_OR_NO = frozenset(
    {
        *("did", "does", "do", "is", "are", "was", "were", "has", "have", "had", "can", "could", "will"),
        *("would", "should", "may", "might"),
    }
)
_EXTRA = (
    *("Who", "Whom", "Whose", "What", "Which", "When", "Where", "Why", "How", "Did", "Does", "Do", "Was"),
    *("Were", "Is", "Are", "Has", "Have", "Had", "Can", "Could", "Will", "Would", "In", "At", "On", "To"),
    *("From", "With", "For", "Of", "By", "The", "A", "between", "during", "after", "before", "until"),
    *("since", "happen", "many", "much", "long", "old", "year", "name", "mean", "called", "like"),
)


@dataclass(frozen=True)
class Rewriting:
    """A follow-up question written out."""

    question: str
    """The question that can be searched by itself."""

    call: tuple[GenerationRequest, Generation] | None = None
    """The model's call, for the journal; None if it failed."""


def rewrite(
    question: str,
    history: Sequence[Turn],
    model: LanguageModel,
    settings: Settings,
    cancel: threading.Event | None = None,
) -> Rewriting | None:
    """The question written out with what was said before; None if it stands alone.

    Never raises for a model that fails: then the last question is put before this one. Raises `Cancelled`,
    and `PromptError` if the person's own prompt is damaged.
    """
    turns = tuple(history[-TURNS:])
    said = "\n".join(f"{turn.question}\n{turn.answer}" for turn in turns)
    if len(question) > _LONGEST or not is_follow_up(question, said):
        return None
    request = _request(question, turns, said, settings)
    generation = _run(request, model, cancel)
    if generation is None:
        return Rewriting(joined(question, turns))
    written = _tidied(generation.text) if generation.finish == "stop" else ""
    same = asks_the_same(question, written, turns[-1].question)
    kept = written if same else joined(question, turns)
    return Rewriting(kept, (request, generation))


def joined(question: str, history: Sequence[Turn]) -> str:
    """The question behind the one before it, which is what can be had without a model."""
    return f"{history[-1].question.strip()} {question}" if history else question


def asks_the_same(question: str, written: str, last: str = "") -> bool:
    """Whether a written question asks all that a follow-up question asks, and says more.

    What it asks for (who, when, how many) must be asked by the follow-up; one that does not say, such as "And
    in 1912?", means what the `last` question asked for.
    """
    if not written or len(written) > _LONGEST:
        return False
    asked, found = _asked_for(question), _asked_for(written)
    if not asked <= found or (last and not found <= (asked or _asked_for(last))):
        return False
    first = question.split()[0].casefold()
    if first in _YES_OR_NO and not written.casefold().startswith(f"{first} "):
        return False
    before, after = _parts(question), _parts(written)
    kept = [part for part in before if any(part[:4] in other or other in part for other in after)]
    if _HAN.search(question):
        # A character more or less is no matter: 出生 and 出生于 are the same.
        return len(kept) >= 0.7 * len(before) and bool(set(after) - set(before))
    return len(kept) == len(before) and bool(set(after) - set(before))


def _asked_for(text: str) -> set[str]:
    return {match.casefold() for match in _ASKING.findall(text)}


def _parts(text: str) -> list[str]:
    """What a question says: its content words, or its Han characters without those that say nothing."""
    if _HAN.search(text):
        han = [char for part in content_words(text) for char in _HAN_UNIT.findall(part.casefold())]
        return [char for char in dict.fromkeys(han) if char not in _HAN_REFERRING]
    words = [word.casefold().removesuffix("'s") for word in content_words(text)]
    return [word for word in dict.fromkeys(words) if word not in _BARE]


def _run(
    request: GenerationRequest, model: LanguageModel, cancel: threading.Event | None
) -> Generation | None:
    """The model's call; None if the engine failed. Raises `Cancelled`."""
    generation: Generation | None = None
    try:
        with contextlib.closing(stoppable(model.stream(request), cancel)) as events:
            for event in events:
                if isinstance(event, Generation):
                    generation = event
    except Cancelled:
        raise
    except EngineError:
        return None
    if generation is not None and generation.finish == "cancelled":
        raise Cancelled("The answer was stopped.", "Ask again.")
    return generation


def _request(question: str, turns: Sequence[Turn], said: str, settings: Settings) -> GenerationRequest:
    code = "zh" if language.detect(question) == "zh" or _HAN.search(question) else "en"
    prompt = load("lightrag", code, "rewrite", own_prompts(settings))
    inputs = {"history": _laid_out(turns, code), "query": question}
    message = Message("user", prompt.pieces(inputs, ("history", "query")))
    lark = _han_grammar(f"{said}\n{question}") if code == "zh" else _grammar(f"{said}\n{question}")
    return GenerationRequest(TASK, (message,), Grammar(lark), _MAX_TOKENS, priority=INTERACTIVE)


def _laid_out(turns: Sequence[Turn], code: str) -> str:
    """The conversation as lines, long answers cut at the end of a sentence."""
    ask, answer = _SIGNS[code]
    lines = []
    for turn in turns:
        lines.append(f"{ask}{' '.join(turn.question.split())}")
        if turn.answer.strip():
            lines.append(f"{answer}{_short(' '.join(turn.answer.split()))}")
    return "\n".join(lines)


def _short(text: str) -> str:
    if len(text) <= _OF_ANSWER:
        return text
    ends = [end for _, end in sentences.split(text) if end <= _OF_ANSWER]
    return text[: ends[-1]] if ends else f"{text[:_OF_ANSWER]}…"


def _grammar(said: str) -> str:
    """A question of words that were said, and of words that say nothing by themselves."""
    words = {bare for word in said.split() if _WORD.search(bare := word.strip(_AROUND).removesuffix("'s"))}
    words |= {word.lower() for word in words if word.lower() in ENGLISH} | ENGLISH | set(_EXTRA)
    usable = sorted(word for word in words if word.casefold() not in _REFERRING and len(word) <= 60)
    return (
        f'start: ITEM (" " ITEM){{1,{_MOST_WORDS}}} "?"\nITEM: WORD "\'s"? ","?\n'
        f"WORD: {alternatives(usable)}\n"
    )


def _han_grammar(said: str) -> str:
    """A question of characters and codes that were said, and of characters that say little."""
    units = {*_HAN_UNIT.findall(said), *_LITTLE_HAN} - _HAN_REFERRING
    usable = sorted(unit for unit in units if len(unit) <= 60)
    return f'start: UNIT{{2,{_MOST_CHARACTERS}}} "？"\nUNIT: {alternatives(usable)}\n'


def _tidied(text: str) -> str:
    return " ".join(text.split())
