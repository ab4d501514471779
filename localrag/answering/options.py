"""How a question is to be answered: mode, style, form, filters, conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from localrag.store.claim_rows import ClaimTest
from localrag.store.filters import Filter

Style = Literal["strict", "flexible"]


@dataclass(frozen=True)
class Turn:
    """One question of a conversation with its answer."""

    question: str
    """What the person asked."""

    answer: str
    """What was answered, without its list of references."""


@dataclass(frozen=True)
class AskOptions:
    """What a person can choose with a question; what is None comes from the settings."""

    mode: str = "auto"
    """One of `retrieval.types.MODES`."""

    style: Style | None = None
    """`strict` answers from the knowledge base alone; `flexible` may add marked general knowledge."""

    response_type: str | None = None
    """The form of the answer, in words, such as `a few sentences`."""

    user_prompt: str = ""
    """Further wishes, in words."""

    filter: Filter = field(default_factory=Filter)
    """What text, entities, relations and citations are narrowed to."""

    keywords: Literal["auto", "model", "words"] | None = None
    """Who finds keywords, as in `RetrievalOptions`."""

    rerank: bool | None = None
    """Whether the reranker puts the best passages in order, if there is one."""

    steps: bool | None = None
    """Whether what the question only describes is looked up first."""

    limit: int | None = None
    """Most passages that are found."""

    bases: tuple[Path, ...] = ()
    """Further knowledge bases that are searched with this one; their sources carry their names."""

    session: int | str | None = None
    """The conversation that the question belongs to, and is stored in: its id, `new` or `last`."""

    history: tuple[Turn, ...] = ()
    """What was said before, where there is no session."""

    replaces: int | None = None
    """The question of the session, by the id of its message, whose place this one takes, with whatever was
    written of its answer; for one that was not answered."""

    fresh: bool = False
    """Whether to write anew although an answer is kept."""

    seed: int | None = None
    """For answers drawn by chance; None writes the likeliest text."""


_ELSEWHERE = ("session", "history", "replaces", "fresh")
"""Options that say nothing of how the answer is found and written, or are kept in another place."""


def to_json(options: AskOptions) -> dict[str, Any]:
    """Options for keeping with a question: those that are not as usual, without session and history."""
    usual = asdict(AskOptions())
    given = {**asdict(options), "bases": [str(path.absolute()) for path in options.bases]}
    narrowed = {name: value for name, value in given["filter"].items() if value != usual["filter"][name]}
    for name, value in narrowed.items():
        narrowed[name] = value.isoformat() if isinstance(value, datetime) else value
    given["filter"] = narrowed
    usual |= {"filter": {}, "bases": []}
    return {name: value for name, value in given.items() if value != usual[name] and name not in _ELSEWHERE}


def from_json(data: Mapping[str, Any]) -> AskOptions:
    """Undo `to_json`. What another version of localrag has kept and this one does not know is left out."""
    known = {item.name for item in fields(AskOptions)} - {*_ELSEWHERE, "filter", "bases"}
    options = AskOptions(**{name: value for name, value in data.items() if name in known})
    bases = tuple(Path(path) for path in data.get("bases", ()))
    return replace(options, filter=_filter(data.get("filter", {})), bases=bases)


def _filter(data: Mapping[str, Any]) -> Filter:
    values: dict[str, Any] = {}
    for name in (item.name for item in fields(Filter) if item.name in data):
        value = data[name]
        if name.endswith(("_from", "_until")):
            values[name] = datetime.fromisoformat(value)
        elif isinstance(value, Mapping):
            values[name] = ClaimTest(**{part: tuple(words) for part, words in value.items()})
        else:
            values[name] = tuple(value) if isinstance(value, list) else value
    return Filter(**values)
