"""Builds the call that answers a question, so that it fits the model's real context and is read soon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from localrag.answering import forms
from localrag.answering.budgeting import Budget, budget_of, kept_history, kept_wishes, most_context
from localrag.answering.options import AskOptions, Style, Turn
from localrag.engine.programs import CitedText, FreeText
from localrag.engine.types import INTERACTIVE, GenerationRequest, LanguageModel, Message, Piece
from localrag.errors import PromptTooLong
from localrag.prompts import Prompt, load
from localrag.prompts.personal import own_prompts
from localrag.retrieval.context import Context, ContextTrace, Shares, build_context
from localrag.retrieval.types import BYPASS, Retrieved
from localrag.settings import Settings

TASK = "answer"
"""Name of the task in requests and in the journal."""

REFUSAL = "[no-context]"
"""Mark that ends an answer which says that the knowledge base holds none."""

GENERAL = "[General Knowledge]"
"""Mark behind what a flexible answer says without a source."""

_FAMILY = "lightrag"
_LEAST_CONTEXT = 96
_SHRINK = 0.9
_CHARS_PER_TOKEN = 8
_HEADINGS = {"en": "References", "zh": "参考资料"}
_NOTHING = {"en": "none", "zh": "无"}
_NO_WISHES = "n/a"


@dataclass(frozen=True)
class Prepared:
    """A call and what its numbers mean."""

    request: GenerationRequest
    """The call."""

    context: Context
    """The numbered sources that the prompt holds; nothing with the mode `bypass`."""

    trace: ContextTrace
    """What each part of the prompt takes, and what was cut."""

    style: Style
    """Whether general knowledge is allowed."""


def prompt_language(language: str) -> str:
    """Language of the prompt for a question's language: prompts are in English and Chinese."""
    return "zh" if language == "zh" else "en"


def heading(language: str) -> str:
    """The heading of the list of references, with the blank line before it."""
    return f"\n\n### {_HEADINGS[prompt_language(language)]}\n"


def fail_response(language: str, settings: Settings | None = None) -> str:
    """What is said where the knowledge base holds no answer: in a person's own words, if there are any."""
    own = own_prompts(settings) if settings is not None else None
    return load(_FAMILY, prompt_language(language), "fail_response", own).render()


def style_of(options: AskOptions, settings: Settings) -> Style:
    """How a question is answered: as the person says, else as the settings do."""
    return options.style or ("flexible" if settings.answering.style == "flexible" else "strict")


def prepare(
    retrieved: Retrieved,
    language: str,
    settings: Settings,
    model: LanguageModel,
    *,
    options: AskOptions | None = None,
    history: Sequence[Turn] = (),
    rate: float = math.inf,
) -> Prepared:
    """The call that answers `retrieved.question` in its language from what was retrieved.

    The context takes what the settings allow, at a reading `rate` in tokens a second, and no more than the
    model's context leaves beside instructions, history, question and answer. Raises `PromptTooLong` if the
    question leaves no room for any text.
    """
    draft = _Draft(retrieved, prompt_language(language), settings, options or AskOptions())
    n_ctx = model.describe().n_ctx
    budget = budget_of(settings, n_ctx, rate, long=forms.is_long(draft.form))
    notes = draft.fill(history, settings, model, min(budget.reading, n_ctx - budget.answer))
    bare = model.count_prompt(draft.messages(Context("", ())))
    fixed = sum(
        model.count([piece.text for piece in draft.messages(Context("", ()))[0].pieces if piece.shared])
    )
    room = n_ctx - budget.answer - bare
    if draft.bare:
        if room < 0:
            raise _too_long(bare, budget, room, n_ctx)
        return draft.prepared(Context("{}", ()), bare, budget, language, notes)
    most = min(most_context(settings, budget.reading, max(bare - fixed, 0)), room)
    while most >= _LEAST_CONTEXT:
        context = build_context(
            retrieved,
            model.count,
            most,
            shares=_shares(settings),
            order="best-last" if settings.retrieval.order == "best-last" else "best-first",
            trim=settings.retrieval.trim,
        )
        if context.empty:
            break
        size = model.count_prompt(draft.messages(context))
        if size + budget.answer <= n_ctx:
            return draft.prepared(context, size, budget, language, notes)
        # Joined, parts can have a few tokens more than apart.
        most = int(most * _SHRINK)
    raise _too_long(bare, budget, room, n_ctx)


def _too_long(bare: int, budget: Budget, room: int, n_ctx: int) -> PromptTooLong:
    return PromptTooLong(
        f"The question and its instructions have {bare} tokens, which with {budget.answer} for the answer "
        f"leaves {max(room, 0)} of the {n_ctx} of the model's context for the documents.",
        "Ask with fewer words, or set engine.n_ctx higher.",
    )


def _shares(settings: Settings) -> Shares:
    retrieval = settings.retrieval
    return Shares(retrieval.passages_share, retrieval.entities_share, retrieval.relations_share)


class _Draft:
    """The messages of a call, for any context."""

    def __init__(self, retrieved: Retrieved, code: str, settings: Settings, options: AskOptions) -> None:
        self._question = retrieved.question
        self._code = code
        self._answering = settings.answering
        self._options = options
        self._own = own_prompts(settings)
        self.bypass = retrieved.mode == BYPASS
        self.bare = self.bypass or retrieved.empty
        """Whether there is nothing to lay before the model."""
        self.style: Style = "flexible" if self.bypass else style_of(options, settings)
        self.form = options.response_type or settings.answering.response_type
        """What was asked for as the answer's form."""
        self._prompt: Prompt = load(_FAMILY, code, self._name(retrieved.mode), self._own)
        self._wishes = _NO_WISHES
        self._history = _NOTHING[code]
        self._sizes: dict[str, int] = {}

    def _name(self, mode: str) -> str:
        if self.style == "flexible":
            return "naive_response_flexible"
        return "naive_response" if mode == "naive" else "rag_response"

    def fill(
        self, history: Sequence[Turn], settings: Settings, model: LanguageModel, room: float
    ) -> tuple[str, ...]:
        """Put in what was said before and the wishes, each cut to its share; returns what was cut."""
        share = settings.answering
        wishes = kept_wishes(self._options.user_prompt, model.count, room * share.wishes_share / 100)
        said = kept_history(history, self._code, model.count, room * share.history_share / 100)
        self._wishes = wishes.text or _NO_WISHES
        self._history = said.text
        self._sizes = dict(zip(("wishes", "history"), model.count([self._wishes, said.text]), strict=True))
        return (*wishes.notes, *said.notes)

    def messages(self, context: Context) -> tuple[Message, ...]:
        """Instructions and context as the system's message, the question as the person's."""
        asked = Message("user", (Piece(self._question),))
        if self.bypass:
            return self._plain(asked)
        inputs = {
            "response_type": forms.in_words(self.form, self._code),
            "user_prompt": self._wishes,
            "history": self._history,
            "context_data": context.json,
            "content_data": context.json,
        }
        # A person's own words are not kept on disk with the fixed part.
        variable = {"context_data", "content_data"}
        variable |= {"user_prompt"} if self._wishes != _NO_WISHES else set()
        variable |= {"history"} if self._history != _NOTHING[self._code] else set()
        variable |= set() if forms.is_known(self.form) else {"response_type"}
        return Message("system", self._prompt.pieces(inputs, variable)), asked

    def _plain(self, asked: Message) -> tuple[Message, ...]:
        """Without documents: the person's words alone, and what was said before."""
        said = [
            text for text in (self._history, self._wishes) if text not in (_NOTHING[self._code], _NO_WISHES)
        ]
        if not said:
            return (asked,)
        return Message("system", (Piece("\n\n".join(said)),)), asked

    def prepared(
        self, context: Context, size: int, budget: Budget, language: str, notes: tuple[str, ...]
    ) -> Prepared:
        """The call for a context with which the prompt has `size` tokens."""
        program = CitedText(
            sources=len(context.sources),
            max_sources=min(self._answering.max_citations, len(context.sources)),
            heading=heading(language),
            refusal=REFUSAL if self.style == "strict" else "",
            marks=(GENERAL,) if self.style == "flexible" else (),
            max_chars=budget.answer * _CHARS_PER_TOKEN,
        )
        options = self._options
        request = GenerationRequest(
            TASK,
            self.messages(context),
            program if context.sources else FreeText(program.max_chars),
            budget.answer,
            temperature=0.0 if options.seed is None else 0.7,
            seed=options.seed or 0,
            priority=INTERACTIVE,
            stream=True,
        )
        used = {**context.trace.used, **self._sizes, "prompt": size, "answer": budget.answer}
        trace = replace(context.trace, used=used, notes=notes)
        return Prepared(request, context, trace, self.style)
