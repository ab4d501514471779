"""Random knowledge bases for the property of exact origin: what is in them, and how they come about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.curation_rows import (
    AddAlias,
    AddTag,
    Decision,
    DeleteEntity,
    DocumentRef,
    EditEntity,
    MergeEntities,
    RenameEntity,
)
from localrag.store.report_rows import NewClaim, NewCommunity, NewReport, SummaryKind
from localrag.store.rows import EntityMention, FurtherCall, GenerationRow, Reading, Reject, RelationMention
from localrag.store.talk_rows import CitationKind, NewCitation
from tests.store.helpers import add, document, name_words, session_of

NAMES = ("Ada", "ADA", "Ada Lind", "Bruno", "Café Nord", "图书馆", "C++")
WORDS = st.sampled_from(("harbour", "知识图谱", "C++", "ORA-01555", "ภาษาไทย", "the", "Ada", "café"))
TEXTS = st.sampled_from(("", "Builds boats.", "Lives on the coast.", "住在海边。"))
KINDS: tuple[SummaryKind, ...] = ("entity", "relation")
DECISIONS: tuple[Decision, ...] = (
    MergeEntities(("bruno",), ("Bruno",), "ada", "Ada"),
    DeleteEntity("c++", "C++"),
    RenameEntity("图书馆", "Library", "library", "图书馆"),
    EditEntity("ada", "A person of whom much is known."),
    AddAlias("bruno", "the baker", "The Baker", "Bruno"),
    AddTag(DocumentRef("library", "0.txt", ""), "Boats"),
    AddTag(DocumentRef("library", "1.txt", ""), "Coast"),
)


@dataclass(frozen=True)
class Said:
    """What the model finds in one chunk."""

    reading: Reading
    claims: tuple[NewClaim, ...]
    alias: str
    rejected: int
    fails: bool


@dataclass(frozen=True)
class Plan:
    """A document: a line for each chunk with what is found in it."""

    number: int
    lines: tuple[str, ...]
    said: tuple[Said, ...]

    @property
    def path(self) -> str:
        """Its name."""
        return f"{self.number}.txt"


@dataclass(frozen=True)
class Question:
    """A question that was answered from some chunks of some documents."""

    text: str
    documents: tuple[int, ...]
    kind: CitationKind


@dataclass(frozen=True)
class World:
    """Documents, and all that is done with them."""

    plans: tuple[Plan, ...]
    order: tuple[tuple[int, int], ...]
    """The chunks as document and ordinal, in the order in which they are read."""
    questions: tuple[Question, ...]
    gone: frozenset[int]
    """Documents that are deleted at the end."""
    again: tuple[int, ...]
    """Documents that are deleted and added once more before, in this order."""
    decisions: tuple[Decision, ...]
    decided_late: bool
    renewed_before: bool
    """Whether summaries, reports and vectors were made before the deletion too."""

    def without(self) -> World:
        """The world in which only what stays was ever there."""
        last = [plan for plan in self.plans if plan.number not in {*self.again, *self.gone}]
        last += [self.plans[number] for number in self.again if number not in self.gone]
        questions = tuple(item for item in self.questions if self.survives(item))
        order = tuple(pair for pair in self.order if pair[0] not in self.gone)
        return replace(self, plans=tuple(last), order=order, questions=questions, gone=frozenset(), again=())

    def survives(self, question: Question) -> bool:
        """Whether all the chunks that a question was answered from stayed."""
        empty = {plan.number for plan in self.plans if not plan.lines}
        return not ({*self.gone, *self.again} - empty) & set(question.documents)


@st.composite
def _said(draw: st.DrawFn) -> Said:
    mentions = draw(
        st.lists(
            st.builds(
                lambda name, kind, text: EntityMention(name, name.casefold(), kind, text, -1, -1),
                st.sampled_from(NAMES),
                st.sampled_from(("Person", "Place")),
                TEXTS,
            ),
            max_size=4,
        )
    )
    keys = st.sampled_from(sorted({mention.key for mention in mentions} | {"ghost"}))
    keywords = st.sampled_from(("", "sea, boats", "boats"))
    relations = draw(
        st.lists(
            st.builds(RelationMention, keys, keys, keywords, TEXTS, st.sampled_from((None, 3.0))), max_size=3
        )
    )
    claims = draw(
        st.lists(
            st.builds(
                NewClaim,
                keys,
                st.sampled_from(("FRAUD", "破产")),
                st.sampled_from(("TRUE", "SUSPECTED")),
                TEXTS,
                st.sampled_from((((0, 1),), ((0, 1), (0, 2)), ((0, 5000),))),
                st.one_of(st.just(""), keys),
                st.sampled_from(("", "2022-01-10", "2022-13-45")),
            ),
            max_size=3,
        )
    )
    alias = draw(st.sampled_from(("", "the engineer", "工程师")))
    fails = draw(st.sampled_from((False, False, False, True)))
    return Said(
        Reading(tuple(mentions), tuple(relations)), tuple(claims), alias, draw(st.integers(0, 2)), fails
    )


@st.composite
def _plan(draw: st.DrawFn, number: int) -> Plan:
    lines = draw(st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=3))
    return Plan(number, tuple(lines), tuple(draw(_said()) for _ in lines))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Any world of one to four documents."""
    plans = tuple(draw(_plan(number)) for number in range(draw(st.integers(1, 4))))
    numbers = st.integers(0, len(plans) - 1)
    chunks = [(plan.number, ordinal) for plan in plans for ordinal in range(len(plan.lines))]
    questions = st.builds(
        Question,
        st.sampled_from(("Who builds boats?", "谁住在海边？", "What is C++?")),
        st.lists(numbers, min_size=1, max_size=2, unique=True).map(tuple),
        st.sampled_from(("document", "entity", "relation")),
    )
    return World(
        plans=plans,
        order=tuple(draw(st.permutations(chunks))),
        questions=tuple(draw(st.lists(questions, max_size=3))),
        gone=draw(st.frozensets(numbers)),
        again=tuple(draw(st.lists(numbers, max_size=2, unique=True))),
        decisions=tuple(draw(st.lists(st.sampled_from(DECISIONS), max_size=2, unique=True))),
        decided_late=draw(st.booleans()),
        renewed_before=draw(st.booleans()),
    )


def live(store: Store, world: World, embed: object = None) -> None:
    """Let all of it happen. `embed` is called to make what vectors are missing."""
    ids = {plan.number: _put(store, plan.path, plan.lines) for plan in world.plans}
    if not world.decided_late:
        decide(store, world)
    read(store, world, ids, world.order)
    if world.renewed_before:
        renew(store)
        if callable(embed):
            embed(store)
    for question in world.questions:
        ask(store, question, ids)
    for number in world.again:
        store.documents.delete(ids[number])
        ids[number] = _put(store, f"{number}.txt", _plan_of(world, number).lines)
        read(store, world, ids, [pair for pair in world.order if pair[0] == number])
    if world.decided_late:
        decide(store, world)
    for number in sorted(world.gone):
        store.documents.delete(ids[number])
    renew(store)
    if callable(embed):
        embed(store)


def _put(store: Store, path: str, lines: Sequence[str]) -> int:
    """Add a document, with the names that its words are."""
    document_id = add(store, path, "\n".join(lines))
    name_words(store, document_id)
    return document_id


def _plan_of(world: World, number: int) -> Plan:
    return next(plan for plan in world.plans if plan.number == number)


def decide(store: Store, world: World) -> None:
    """Make the decisions of the person."""
    for decision in world.decisions:
        store.decisions.add(decision)


def read(store: Store, world: World, ids: dict[int, int], order: Iterable[tuple[int, int]]) -> None:
    """Record what is found in the chunks, in this order; some fail."""
    for number, ordinal in order:
        chunk = store.chunks.of_document(ids[number])[ordinal]
        said = _plan_of(world, number).said[ordinal]
        if said.fails:
            store.chunks.mark_failed(chunk.id, "failed")
            continue
        rejects = [Reject("entity", f"{chunk.text} {count}", "why") for count in range(said.rejected)]
        first, further = said.reading, []
        if rejects:
            # Read in two passes.
            first = Reading(said.reading.entities[:1])
            rest = Reading(said.reading.entities[1:], said.reading.relations)
            further = [FurtherCall(_call(store, "extraction", f"more of {chunk.text}"), rest)]
        store.graph.record(chunk.id, first, _call(store, "extraction", chunk.text), rejects, further)
        store.claims.record(chunk.id, said.claims, _call(store, "claims", f"claims of {chunk.text}"))
        if said.alias and said.reading.entities:
            key = said.reading.entities[0].key
            store.aliases.put(chunk.id, key, said.alias, said.alias.casefold())


def ask(store: Store, question: Question, ids: dict[int, int]) -> None:
    """Keep an answer and a message with citations, all resting on the first chunks of the documents."""
    there = [ids[number] for number in question.documents if number in ids]
    chunks = [chunk for document_id in there for chunk in store.chunks.of_document(document_id)[:2]]
    if not chunks:
        return
    answer = f"{question.text} {' '.join(chunk.text for chunk in chunks)}"
    key = hashlib.sha256(f"{question}".encode()).hexdigest()
    call = store.journal.add_generation(_call(store, "answer", answer), [chunk.id for chunk in chunks])
    assert store.answers.put(
        key, question.text, json.dumps(answer), revision=store.revision(), generation_id=call
    )
    talk = store.talk.sessions()
    session_id = talk[0].id if talk else store.talk.create("Boats")
    citations = [
        NewCitation(
            number,
            f"[KG] {chunk.text}" if question.kind != "document" else f"[DC] {number}",
            question.kind,
            store.documents.get(chunk.document_id).path,
            None,
            chunk.start,
            chunk.end,
            chunk.text,
            chunk.id if number % 2 else None,
        )
        for number, chunk in enumerate(chunks, 1)
    ]
    said = store.talk.add(session_id, "assistant", key, citations=citations, generation_id=call)
    assert store.traces.put(said, {"mode": "mix"}, [chunk.id for chunk in chunks])


def renew(store: Store) -> None:
    """Bring automatic merges up to date, and write all summaries and reports that are pending, as a model
    would that always writes the same."""
    store.merges.bring_up()
    for kind in KINDS:
        for row_id in store.summaries.dirty(kind, least=0):
            descriptions = _descriptions(store, kind, row_id)
            if len(descriptions) > 1:
                text = f"In short: {' | '.join(descriptions)}"
                store.summaries.put(kind, row_id, text, _call(store, "summary", text))
            else:
                store.summaries.settle(kind, row_id)
    ids = store.reports.put_communities(_communities(store))
    assert None not in ids
    for community_id in store.reports.dirty():
        facts = store.reports.facts(community_id)
        report = NewReport(
            f"About {facts.title}", facts.summary, facts.findings, 5.0, "It matters.", facts.sources
        )
        sources = store.reports.chunks_of(community_id)
        text = json.dumps([report.title, report.summary])
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert store.reports.put(community_id, report, _call(store, "report", text), sources, digest)


def _descriptions(store: Store, kind: SummaryKind, row_id: int) -> list[str]:
    table = "mentions" if kind == "entity" else "relation_mentions"
    return session_of(store).column(
        f"SELECT DISTINCT description FROM {table} WHERE {kind}_id = ? AND description <> '' ORDER BY 1",
        [row_id],
    )


def _communities(store: Store) -> Sequence[NewCommunity]:
    """Two levels: all that hangs together, and within it what has the same type."""
    graph = store.graph.top_entities(1000)
    component = {row.id: row.id for row in graph}
    for relation in store.graph.relations_of(list(component), 1000):
        one, other = component[relation.source_id], component[relation.target_id]
        component = {row: (one if part == other else part) for row, part in component.items()}
    found: list[NewCommunity] = []
    for part in sorted(set(component.values())):
        rows = [row for row in graph if component[row.id] == part]
        parent = len(found)
        found.append(NewCommunity(0, tuple(row.id for row in rows)))
        for kind in sorted({row.type for row in rows}):
            found.append(NewCommunity(1, tuple(row.id for row in rows if row.type == kind), parent))
    return found


def _call(store: Store, task: str, output: str) -> GenerationRow:
    prompt = store.journal.put_prompt(f"Do the {task} of: {output}")
    return GenerationRow(task, prompt, "model", "{}", 100, 7, 50, "stop", output)


def message_key(question: Question) -> str:
    """The text of the message that answers a question."""
    return hashlib.sha256(f"{question}".encode()).hexdigest()


__all__ = ["Plan", "Question", "World", "document", "live", "message_key", "read", "renew", "worlds"]
