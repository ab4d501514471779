"""How an answer came about: what was found by which search, what the model got to read, what it took.

An explanation holds ids, numbers, the words of the question and the names that its steps found, and no other
text of a document, so it can be kept with an answer: it goes with any chunk that the model was shown. Whoever
shows it asks for the names behind the ids then; what has gone has none any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from localrag.answering.options import AskOptions, from_json, to_json
from localrag.retrieval.scope import Scope, scope_of
from localrag.retrieval.trace import KINDS, Kind, Trace
from localrag.retrieval.types import Keywords, Retrieved
from localrag.store.database import Store
from localrag.store.graph_rows import EntityRow, RelationRow

GONE = "(gone since)"
"""Stands for what an id led to once."""

_SHOWN = ("number", "kind", "id", "start", "end", "base")
_CUT = ("kind", "id", "why", "base")


@dataclass(frozen=True)
class Explanation:
    """How one answer came about."""

    question: str
    """The question as it was searched."""

    mode: str
    """The mode that was used."""

    asked: str = ""
    """The mode that was asked for, where it was another one."""

    why: str = ""
    """Why `auto` took the mode, as part of a sentence."""

    keywords: Keywords = field(default_factory=Keywords)
    """What was searched for beside the question as a whole."""

    trace: Trace = field(default_factory=Trace)
    """All candidates with their place in each search, and what each step took."""

    context: Mapping[str, Any] = field(default_factory=dict)
    """What the model got to read and what was cut: a `ContextTrace` as JSON; empty if it read nothing."""

    style: str = ""
    """`strict` or `flexible`; empty if no model was asked."""

    model: str = ""
    """Name of the model; empty if none was asked."""

    call: Mapping[str, Any] = field(default_factory=dict)
    """The model's call in numbers: `prompt_tokens`, `output_tokens`, `temperature`, `seed`, `finish`, and
    `prompt_sha256`, the hash of the prompt's token ids; empty if none was asked."""

    certainty: float | None = None
    """How sure it is that what was found holds the answer, from 0 to 1; None if that was not looked at."""

    steps: tuple[Mapping[str, Any], ...] = ()
    """What was looked up first: `question`, `answer` and `documents` of each; the chunks that the model was
    shown for them count as shown."""

    narrowed: Mapping[str, Any] = field(default_factory=dict)
    """The filter of the question, as `options.to_json` has it; empty without one."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall time: `retrieval`, `first_text`, `total`."""

    def to_json(self) -> dict[str, Any]:
        """The explanation for programs and for keeping."""
        words = self.keywords
        return {
            "question": self.question,
            "mode": self.mode,
            "asked": self.asked,
            "why": self.why,
            "keywords": {"high": list(words.high), "low": list(words.low), "by": words.by},
            **self.trace.to_json(),
            "context": dict(self.context),
            "style": self.style,
            "model": self.model,
            "call": dict(self.call),
            "certainty": None if self.certainty is None else round(self.certainty, 4),
            "steps": [dict(step) for step in self.steps],
            "filter": dict(self.narrowed),
            "seconds": {name: round(value, 3) for name, value in self.seconds.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Explanation:
        """Undo `to_json`."""
        words = data["keywords"]
        return cls(
            question=data["question"],
            mode=data["mode"],
            asked=data["asked"],
            why=data["why"],
            keywords=Keywords(tuple(words["high"]), tuple(words["low"]), words["by"]),
            trace=Trace.from_json(data),
            context=data["context"],
            style=data["style"],
            model=data["model"],
            call=data["call"],
            certainty=data["certainty"],
            steps=tuple(data.get("steps", ())),
            narrowed=data["filter"],
            seconds=data["seconds"],
        )


def explained(retrieved: Retrieved, options: AskOptions | None = None) -> Explanation:
    """What is known when the search is done."""
    return Explanation(
        narrowed=to_json(options).get("filter", {}) if options is not None else {},
        question=retrieved.question,
        mode=retrieved.mode,
        asked=retrieved.asked,
        why=retrieved.why,
        keywords=retrieved.keywords,
        trace=retrieved.trace,
    )


def without_names(explanation: Explanation) -> Explanation:
    """The explanation for keeping: without keywords that the question does not hold, which are names out of
    documents that may be deleted."""
    folded = explanation.question.casefold()

    def said(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for word in words if word.casefold() in folded)

    words = explanation.keywords
    return replace(explanation, keywords=replace(words, high=said(words.high), low=said(words.low)))


def named(store: Store, explanation: Explanation) -> dict[str, Any]:
    """The explanation as JSON with the names behind its ids, as far as they are still there.

    Every candidate and every row of the context gets a `label`: a document's path with heading or page, an
    entity's name, the two names of a relation. What lies in another knowledge base is named by that. With a
    filter, names are those that the passages within it use.
    """
    data = explanation.to_json()
    context = dict(data["context"])
    if context:
        context["shown"] = [dict(zip(_SHOWN, row, strict=True)) for row in context["shown"]]
        context["cut"] = [dict(zip(_CUT, row, strict=True)) for row in context["cut"]]
    rows = [(kind, row) for kind in KINDS for row in data["candidates"].get(kind, ())]
    rows += [(row["kind"], row) for name in ("shown", "cut") for row in context.get(name, ())]
    names = _Names(store, scope_of(store, from_json({"filter": explanation.narrowed}).filter))
    for kind in KINDS:
        names.look_up(kind, [row["id"] for of, row in rows if of == kind and not row.get("base")])
    for kind, row in rows:
        row["label"] = f"in {row['base']}" if row.get("base") else names.label(kind, row["id"])
    return {**data, "context": context}


class _Names:
    """The names behind ids, looked up together."""

    def __init__(self, store: Store, scope: Scope) -> None:
        self._store = store
        self._allowed = scope.chunks
        self._labels: dict[tuple[str, int], str] = {}
        self._paths: dict[int, str] = {}

    def look_up(self, kind: Kind, ids: list[int]) -> None:
        """Learn the names of some rows."""
        if kind == "chunk":
            for chunk in self._store.chunks.many(ids):
                where = chunk.heading or (f"page {chunk.page}" if chunk.page is not None else "")
                path = self._path(chunk.document_id)
                self._labels[kind, chunk.id] = f"{path} › {where}" if where else path
        elif kind == "entity":
            for entity in self._entities(ids):
                self._labels[kind, entity.id] = entity.name
        else:
            for relation in self._relations(ids):
                self._labels[kind, relation.id] = f"{relation.source} - {relation.target}"

    def label(self, kind: str, row_id: int) -> str:
        """The name of a row."""
        return self._labels.get((kind, row_id), GONE)

    def _entities(self, ids: list[int]) -> list[EntityRow]:
        if self._allowed is None:
            return self._store.graph.entities(ids)
        return self._store.narrowed.entities(ids, self._allowed)

    def _relations(self, ids: list[int]) -> list[RelationRow]:
        if self._allowed is None:
            return self._store.graph.relations(ids)
        return self._store.narrowed.relations(ids, self._allowed)

    def _path(self, document_id: int) -> str:
        if document_id not in self._paths:
            self._paths[document_id] = self._store.documents.get(document_id).path
        return self._paths[document_id]
