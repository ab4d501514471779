"""How many tokens each part of a prompt may take: so that it fits the model, and is read soon.

What is the same in every prompt is in the cache already; what has to be read anew is kept so short that the
first word comes within the time that the settings name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from localrag.answering.options import Turn
from localrag.documents import sentences
from localrag.engines import Engines
from localrag.retrieval.context import Count
from localrag.settings import Settings

UNMEASURED = 100.0
"""Tokens that a model here is taken to read in a second as long as nobody has measured."""

LEAST = 256
"""Tokens of context that are always read, however slow the machine is."""

_DECISION = 48
_ANSWER_PART = 3
_SPEAKERS = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}
_NOTHING = {"en": "none", "zh": "无"}


@dataclass(frozen=True)
class Budget:
    """Tokens of the parts of one prompt."""

    reading: float
    """Most tokens that are read anew: context, history, wishes, question."""

    answer: int
    """Most tokens of the answer."""


@dataclass(frozen=True)
class Kept:
    """A text of a person, cut to its share."""

    text: str
    """What is left, ready for the prompt."""

    notes: tuple[str, ...] = ()
    """What was cut, in sentences."""


def reading_rate(engines: Engines) -> float:
    """Tokens a second that the language model reads here; without end for a server's or a given one."""
    fingerprint, tuning = engines.measured()
    if not fingerprint:
        return math.inf
    return tuning.read_rate if tuning is not None and tuning.read_rate > 0 else UNMEASURED


def budget_of(settings: Settings, n_ctx: int, rate: float, *, long: bool = False) -> Budget:
    """What a prompt and its answer may take in a context of `n_ctx` tokens, read at `rate`.

    `long` asks for a long answer. A small context still has room to read and to answer.
    """
    wanted = settings.answering.max_tokens * (2 if long else 1)
    answer = min(wanted, max(1, n_ctx // _ANSWER_PART))
    retrieval = settings.retrieval
    if retrieval.context_tokens:
        return Budget(math.inf, answer)
    return Budget(max(rate * settings.answering.first_word - _DECISION, LEAST), answer)


def most_context(settings: Settings, reading: float, others: int) -> int:
    """Most tokens of context beside `others` that are read anew too."""
    retrieval = settings.retrieval
    if retrieval.context_tokens:
        return retrieval.context_tokens
    return int(min(retrieval.context_most, max(reading - others, LEAST)))


def kept_wishes(wishes: str, count: Count, room: float) -> Kept:
    """A person's further wishes, cut behind the last sentence that fits."""
    text = wishes.strip()
    if not text or count([text])[0] <= room:
        return Kept(text)
    cut = _first_sentences(text, count, room)
    return Kept(cut, ("The wishes were too long for the prompt; what comes last was left out.",))


def kept_history(history: Sequence[Turn], language: str, count: Count, room: float) -> Kept:
    """The newest turns that fit, oldest first in the text; `language` is that of the prompt.

    The answer of the newest is cut behind a sentence if it does not fit alone.
    """
    user, assistant = _SPEAKERS[language]
    lines = [f"{user}{_flat(turn.question)}\n{assistant}{_flat(turn.answer)}\n" for turn in history]
    kept: list[str] = []
    left = room
    for text, cost in reversed(list(zip(lines, count(lines) if lines else [], strict=True))):
        if cost > left:
            break
        kept.insert(0, text)
        left -= cost
    if lines and not kept and (newest := _first_sentences(lines[-1], count, room)):
        return Kept(newest, _dropped(len(lines) - 1, shortened=True))
    return Kept("".join(kept).strip() or _NOTHING[language], _dropped(len(lines) - len(kept)))


def _dropped(turns: int, *, shortened: bool = False) -> tuple[str, ...]:
    notes = []
    if turns:
        notes.append(f"The oldest {turns} of the earlier questions were left out.")
    if shortened:
        notes.append("The last answer was shortened.")
    return tuple(notes)


def _flat(text: str) -> str:
    """A turn without blank lines, which part the turns."""
    return "\n".join(line for line in text.strip().splitlines() if line.strip())


def _first_sentences(text: str, count: Count, room: float) -> str:
    ends = [end for _, end in sentences.split(text)]
    parts = [text[:end] for end in ends]
    fitting = [part for part, cost in zip(parts, count(parts) if parts else [], strict=True) if cost <= room]
    return fitting[-1].strip() if fitting else ""
