"""Builds the call that answers a question, so that it fits the model's real context."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.engine.programs import CitedText
from localrag.engine.types import INTERACTIVE, GenerationRequest, LanguageModel, Message, Piece
from localrag.errors import PromptTooLong
from localrag.prompts import Prompt, load
from localrag.prompts.personal import own_prompts
from localrag.retrieval.context import Context, build_context
from localrag.retrieval.types import Retrieved
from localrag.sections import AnsweringSettings
from localrag.settings import Settings

TASK = "answer"
"""Name of the task in requests and in the journal."""

REFUSAL = "[no-context]"
"""Mark that ends an answer which says that the knowledge base holds none."""

_FAMILY = "lightrag"
_LEAST_CONTEXT = 96
_SHRINK = 0.9
_HEADINGS = {"en": "References", "zh": "参考资料"}
_NOTHING = {"en": "none", "zh": "无"}
_NO_WISHES = "n/a"
_RESPONSE_TYPES_IN_CHINESE = {AnsweringSettings().response_type: "几句话"}


@dataclass(frozen=True)
class Prepared:
    """A call and what its numbers mean."""

    request: GenerationRequest
    """The call."""

    context: Context
    """The numbered sources that the prompt holds."""


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


def prepare(retrieved: Retrieved, language: str, settings: Settings, model: LanguageModel) -> Prepared:
    """The call that answers `retrieved.question` in its language from what was retrieved.

    The context takes at most `retrieval.context_tokens`, and no more than the model's context leaves beside
    instructions, question and answer. Raises `PromptTooLong` if the question leaves no room for any text.
    """
    draft = _Draft(retrieved, prompt_language(language), settings)
    n_ctx = model.describe().n_ctx
    # A small context still has room to read and to answer.
    max_tokens = min(settings.answering.max_tokens, max(1, n_ctx // 3))
    bare = model.count_prompt(draft.messages(Context("", ())))
    room = n_ctx - max_tokens - bare
    budget = min(settings.retrieval.context_tokens, room)
    while budget >= _LEAST_CONTEXT:
        context = build_context(retrieved, model.count, budget)
        messages = draft.messages(context)
        if context.empty:
            break
        if model.count_prompt(messages) + max_tokens <= n_ctx:
            return Prepared(_request(messages, context, language, settings, max_tokens), context)
        # Joined, parts can have a few tokens more than apart.
        budget = int(budget * _SHRINK)
    raise PromptTooLong(
        f"The question and its instructions have {bare} tokens, which with {max_tokens} for the answer "
        f"leaves {max(room, 0)} of the {n_ctx} of the model's context for the documents.",
        "Ask with fewer words, or set engine.n_ctx higher.",
    )


class _Draft:
    """The messages of a call, for any context."""

    def __init__(self, retrieved: Retrieved, code: str, settings: Settings) -> None:
        self._question = retrieved.question
        self._code = code
        self._settings = settings.answering
        name = "naive_response" if retrieved.mode == "naive" else "rag_response"
        self._prompt: Prompt = load(_FAMILY, code, name, own_prompts(settings))

    def messages(self, context: Context) -> tuple[Message, ...]:
        """Instructions and context as the system's message, the question as the person's."""
        inputs = {
            "response_type": self._response_type(),
            "user_prompt": _NO_WISHES,
            "history": _NOTHING[self._code],
            "context_data": context.json,
            "content_data": context.json,
        }
        pieces = self._prompt.pieces(inputs, ("context_data", "content_data"))
        return Message("system", pieces), Message("user", (Piece(self._question),))

    def _response_type(self) -> str:
        wanted = self._settings.response_type
        return _RESPONSE_TYPES_IN_CHINESE.get(wanted, wanted) if self._code == "zh" else wanted


def _request(
    messages: tuple[Message, ...], context: Context, language: str, settings: Settings, max_tokens: int
) -> GenerationRequest:
    sources = len(context.sources)
    program = CitedText(
        sources=sources,
        max_sources=min(settings.answering.max_citations, sources),
        heading=heading(language),
        refusal=REFUSAL,
    )
    return GenerationRequest(TASK, messages, program, max_tokens, priority=INTERACTIVE, stream=True)
