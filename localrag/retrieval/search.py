"""Finds what may answer a question, by one of the modes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from localrag.engine.types import Embedder, LanguageModel
from localrag.errors import UsageError
from localrag.retrieval.auto import choose
from localrag.retrieval.finding import Finding
from localrag.retrieval.fusion import Fused
from localrag.retrieval.global_ import global_
from localrag.retrieval.graph_search import entity_rows
from localrag.retrieval.hybrid import hybrid
from localrag.retrieval.keywords import keywords_of
from localrag.retrieval.local import local
from localrag.retrieval.mentions import named_entities
from localrag.retrieval.mix import mix
from localrag.retrieval.naive import naive
from localrag.retrieval.passages import LEAST_SHARE, as_passages
from localrag.retrieval.path import path
from localrag.retrieval.query import Query, make_query
from localrag.retrieval.rerank import Reranking, reranked
from localrag.retrieval.scope import Scope, scope_of
from localrag.retrieval.trace import Kind, Tracer
from localrag.retrieval.types import BYPASS, MODES, Coverage, Keywords, RetrievalOptions, Retrieved
from localrag.sections import RetrievalSettings
from localrag.store.database import Store
from localrag.store.space_rows import Hit

Finder = Callable[[Store, Query, RetrievalSettings], Finding]

_FINDERS: Mapping[str, Finder] = {
    "naive": naive,
    "local": local,
    "global": global_,
    "hybrid": hybrid,
    "mix": mix,
    "path": path,
}

_STANDS_IN = {"drift": "mix", "communities": "global"}
"""Modes that wait for the graph's communities, and which answers meanwhile."""

_LIVES_ON_KEYWORDS = ("local", "global", "hybrid")
_NAMES = 60
_KNOWN = 8

NOTHING_WITHIN = "No passage is within the filter."
"""What is told where a filter leaves nothing."""


@dataclass(frozen=True)
class Tools:
    """What a search can use beside the file and the embedding model; each is asked for when it is needed."""

    model: Callable[[], LanguageModel] | None = None
    """The language model, for keywords; None leaves them to the words of the question."""

    reranker: Callable[[], Reranking] | None = None
    """The model that reads question and passage together; None leaves the order as it is."""

    own_prompts: Path | None = None
    """A person's own prompts."""

    cancel: threading.Event | None = None
    """Stops the model."""


NO_TOOLS = Tools()
"""Nothing but file and embedding model."""


def check_mode(mode: str) -> None:
    """Raises `UsageError` for a mode that there is not, naming those that there are."""
    if mode not in MODES:
        raise UsageError(f"There is no mode {mode!r}.", f"Modes: {', '.join(MODES)}.")


def asks_model(options: RetrievalOptions, settings: RetrievalSettings, asked: str) -> bool:
    """Whether the model is to find the keywords of a question that was asked in the mode `asked`."""
    wanted = options.keywords or settings.keywords
    return wanted == "model" or (wanted == "auto" and _STANDS_IN.get(asked, asked) in _LIVES_ON_KEYWORDS)


class Retriever:
    """Searches one file. Without an embedder it searches words and names only, and says so."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: RetrievalSettings,
        tools: Tools = NO_TOOLS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._tools = tools

    def retrieve(self, question: str, options: RetrievalOptions | str = "mix") -> Retrieved:
        """The passages, entities and relations for a question, each best first; nothing if nothing fits.

        `options` may be the name of a mode. Raises `UsageError` for an unknown mode, `Cancelled`, and
        `PromptError` if a person's own prompt for keywords is damaged.
        """
        wanted = RetrievalOptions(mode=options) if isinstance(options, str) else options
        check_mode(wanted.mode)
        return _Search(self._store, self._embedder, self._settings, self._tools, question, wanted).result()


class _Search:
    """One question on its way."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: RetrievalSettings,
        tools: Tools,
        question: str,
        options: RetrievalOptions,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = limited(settings, options)
        self._tools = tools
        self._question = question
        self._options = options
        self._tracer = Tracer()
        self._notes: list[str] = []
        self._named: tuple[Hit, ...] = ()

    def result(self) -> Retrieved:
        """What is found."""
        scope = scope_of(self._store, self._options.filter)
        names = self._names(scope)
        mode, why = self._mode(names)
        counts = self._store.chunks.count()
        bare = Retrieved(
            question=self._question,
            mode=mode,
            passages=(),
            entities=(),
            relations=(),
            coverage=Coverage(counts.read, counts.total),
            asked=self._options.mode if self._options.mode != mode else "",
            why=why,
        )
        if mode == BYPASS:
            return replace(bare, trace=self._tracer.trace({}), notes=tuple(self._notes))
        if scope.empty:
            self._notes.append(NOTHING_WITHIN)
            return replace(bare, trace=self._tracer.trace({}), notes=tuple(self._notes))
        with self._tracer.step("keywords"):
            keywords = self._keywords(mode, names)
        return self._found(bare, self._query(scope, keywords, mode))

    def _names(self, scope: Scope) -> tuple[str, ...]:
        """The known entities that the question names, as they are called within the scope."""
        with self._tracer.step("names"):
            found = named_entities(self._store, self._question, _NAMES, scope.entities)
            self._named = tuple(hit for _, hit in found)
            rows = [row for row, _ in found[:_KNOWN]]
            if scope.chunks is not None:
                rows = entity_rows(self._store, scope, [row.id for row in rows])
            return tuple(row.name for row in rows)

    def _mode(self, names: tuple[str, ...]) -> tuple[str, str]:
        asked = self._options.mode
        if asked in _STANDS_IN:
            mode = _STANDS_IN[asked]
            self._notes.append(f"Mode {asked} needs reports about communities; mode {mode} answered.")
            return mode, ""
        if asked != "auto":
            return asked, ""
        choice = choose(self._question, names)
        return choice.mode, choice.why

    def _keywords(self, mode: str, names: tuple[str, ...]) -> Keywords:
        given = self._options.given
        if given is not None:
            return given if given.by != "none" else replace(given, by="person")
        by_model = asks_model(self._options, self._settings, self._options.mode)
        model = self._tools.model if by_model else None
        found, reason = keywords_of(self._question, names, model, self._tools.own_prompts, self._tools.cancel)
        if reason:
            self._notes.append(reason)
        return found

    def _query(self, scope: Scope, keywords: Keywords, mode: str) -> Query:
        """The question with its vector; vectors of keywords cost time, so only where they are lived on."""
        embedded: tuple[str, ...] = ()
        if mode in _LIVES_ON_KEYWORDS or keywords.by in ("model", "person"):
            embedded = (*keywords.low, *keywords.high)
        with self._tracer.step("query"):
            query = make_query(
                self._store,
                self._embedder,
                self._question,
                scope=scope,
                keywords=keywords,
                embedded=embedded,
            )
            return replace(query, named=self._named)

    def _found(self, bare: Retrieved, query: Query) -> Retrieved:
        finder = _FINDERS[bare.mode]
        try:
            finding = self._searched(finder, query)
        except UsageError:
            if query.vector is None or self._store.vectors.has_space(query.space_id):
                raise
            # Another program has just changed the file to another embedding model.
            query = self._query(query.scope, query.keywords, bare.mode)
            finding = self._searched(finder, query)
        for kind, rankings in finding.rankings.items():
            self._tracer.add(kind, rankings)
        chunks = self._read_again(self._near_best(finding))
        passages = as_passages(self._store, chunks, self._settings.passages, least=0.0)
        chosen: dict[Kind, list[int]] = {
            "chunk": [item.chunk_id for item in passages],
            "entity": [item.id for item in finding.entities],
            "relation": [item.id for item in finding.relations],
        }
        mode = finding.mode or bare.mode
        return replace(
            bare,
            mode=mode,
            asked=bare.asked or (bare.mode if mode != bare.mode else ""),
            passages=passages,
            entities=finding.entities,
            relations=finding.relations,
            keywords=query.keywords,
            notes=(*self._notes, *query.notes, *finding.notes),
            trace=self._tracer.trace(chosen),
        )

    def _searched(self, finder: Finder, query: Query) -> Finding:
        with self._tracer.step("search"):
            return finder(self._store, query, self._settings)

    def _near_best(self, finding: Finding) -> list[Fused]:
        """The chunks that are good enough to be read."""
        if finding.passing is not None:
            return list(finding.chunks[: finding.passing])
        best = finding.chunks[0].score if finding.chunks else 0.0
        return [item for item in finding.chunks if item.score >= LEAST_SHARE * best]

    def _read_again(self, chunks: list[Fused]) -> list[Fused]:
        """The chunks in the order of the reranker, if there is one and it is wanted."""
        wanted = self._settings.rerank if self._options.rerank is None else self._options.rerank
        if not wanted or self._tools.reranker is None:
            return chunks
        with self._tracer.step("rerank"):
            order, hits, note = reranked(self._store, self._question, chunks, self._tools.reranker)
        self._tracer.add("chunk", {"rerank": hits})
        self._notes += [note] if note else []
        return order


def limited(settings: RetrievalSettings, options: RetrievalOptions) -> RetrievalSettings:
    """The settings with the limits of the question."""
    limits = {name: getattr(options, name) for name in ("passages", "entities", "relations")}
    return replace(settings, **{name: value for name, value in limits.items() if value is not None})
