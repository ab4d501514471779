"""Deleting a document leaves what would be there without it, in every table and in every byte."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from localrag.store import Store
from localrag.store.rows import EntityMention, Reading, Reject, RelationMention
from tests.store.helpers import (
    add,
    chunks_of,
    document,
    embed_missing,
    entity,
    entity_view,
    files_beside,
    generation,
    logical_rows,
    quick_store,
    reading,
    relation,
    session_of,
)

NAMES = ("Ada", "ADA", "Bruno", "Café Nord", "图书馆", "C++")
WORDS = st.sampled_from(("harbour", "知识图谱", "C++", "ORA-01555", "ภาษาไทย", "the", "Ada", "café"))
TEXTS = st.sampled_from(("", "Builds boats.", "Lives on the coast.", "住在海边。"))


@dataclass(frozen=True)
class Plan:
    """A document with what the model will find in each of its chunks."""

    lines: tuple[str, ...]
    readings: tuple[tuple[Reading, int], ...]
    failing: frozenset[int]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    lines = draw(st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=3))
    readings = []
    for _ in lines:
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
        keys = sorted({mention.key for mention in mentions} | {"ghost"})
        relations = draw(
            st.lists(
                st.builds(
                    RelationMention,
                    st.sampled_from(keys),
                    st.sampled_from(keys),
                    st.sampled_from(("", "sea, boats", "boats")),
                    TEXTS,
                    st.sampled_from((None, 3.0)),
                ),
                max_size=3,
            )
        )
        readings.append((Reading(tuple(mentions), tuple(relations)), draw(st.integers(0, 2))))
    failing = draw(st.frozensets(st.integers(0, 2), max_size=1))
    return Plan(tuple(lines), tuple(readings), failing)


def read_document(store: Store, document_id: int, plan: Plan) -> None:
    """Record what the plan says of each chunk, and let some fail."""
    for chunk, (said, rejected) in zip(store.chunks.of_document(document_id), plan.readings, strict=True):
        if chunk.ordinal in plan.failing:
            store.chunks.mark_failed(chunk.id, "failed")
            continue
        prompt = store.journal.put_prompt(f"Read this: {chunk.text}")
        rejects = [Reject("entity", f"{chunk.text} {number}", "why") for number in range(rejected)]
        store.graph.record(chunk.id, said, generation(chunk.text, prompt_hash=prompt), rejects)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(plans(), st.booleans()), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_deleting_is_as_if_it_had_never_been_added(
    documents: list[tuple[Plan, bool]], reversed_reading: bool, embedded_before: bool
) -> None:
    """index(A + B), delete B equals index(A) in all rows but for ids, times and revision."""
    with quick_store() as store:
        ids = [
            add(store, f"{number}.txt", "\n".join(plan.lines)) for number, (plan, _) in enumerate(documents)
        ]
        order = list(zip(ids, documents, strict=True))
        for document_id, (plan, _) in reversed(order) if reversed_reading else order:
            read_document(store, document_id, plan)
        if embedded_before:
            embed_missing(store)
        for document_id, (_, kept) in order:
            if not kept:
                store.documents.delete(document_id)
        embed_missing(store)
        both, seen, totals = logical_rows(store), entity_view(store), store.journal.totals()
        assert store.check() == []
        assert totals.parsed == totals.stored + totals.rejected
    with quick_store() as store:
        for number, (plan, kept) in enumerate(documents):
            if kept:
                read_document(store, add(store, f"{number}.txt", "\n".join(plan.lines)), plan)
        embed_missing(store)
        assert logical_rows(store) == both
        assert entity_view(store) == seen
        assert store.journal.totals() == totals


def test_no_byte_of_a_deleted_document_is_left(path: Path) -> None:
    with Store.create(path) as store:
        add(store, "kept.txt", "Ordinary words remain here.\n普通的词")
        secret = add(store, "zanzibarine.txt", "quokkaesque xylographer ZQ-77881\n魑魅魍魉\nภาษาลับ")
        for number, chunk in enumerate(store.chunks.of_document(secret)):
            prompt = store.journal.put_prompt(f"glyptotheca {number}")
            said = reading(
                [entity("Marzipanius", "vexillological"), entity("Kept", "", "Thing")],
                [relation("Marzipanius", "Kept", "hippogriffish", "numismatical")],
            )
            rejects = [Reject("entity", "sesquipedal", "troglodytic")]
            store.graph.record(chunk.id, said, generation("brobdingnag", prompt_hash=prompt), rejects)
        (kept, *_) = store.chunks.of_document(1)
        store.graph.record(kept.id, reading([entity("Kept", "", "Thing")]), generation())
        embed_missing(store)
        store.documents.delete(secret)
        assert store.check() == []
    assert files_beside(path) == [path.name]
    content = path.read_bytes().lower()
    words = """
        zanzibarine quokkaesque xylographer zq-77881 77881 q-7 魑魅 魅魍 魍魉 ภาษ าลั marzipanius
        vexillological hippogriffish numismatical sesquipedal troglodytic brobdingnag glyptotheca
    """
    for word in words.split():
        assert word.encode() not in content, word
    assert "普通".encode() in content


def test_deleting_keeps_the_ids_of_what_stays(store: Store) -> None:
    one, two = add(store, "a.txt", "a"), add(store, "b.txt", "b")
    for document_id in (one, two):
        (chunk,) = store.chunks.of_document(document_id)
        said = reading([entity("Ada"), entity("Bruno")], [relation("Ada", "Bruno")])
        store.graph.record(chunk.id, said, generation())
    store.documents.delete(one)
    assert [row.mentions for row in store.graph.entities([1, 2])] == [1, 1]
    assert store.graph.relation(1).weight == 1


def test_a_summary_goes_with_a_source_but_stays_when_one_is_added(store: Store) -> None:
    ids = [add(store, f"{name}.txt", name) for name in ("a", "b")]
    chunks = [store.chunks.of_document(document_id)[0].id for document_id in ids]
    store.graph.record(chunks[0], reading([entity("Ada", "One.")]), generation())
    session = session_of(store)
    with store.transaction():
        session.run("UPDATE entities SET summary = 'All of it.', dirty = 0")
    store.graph.record(chunks[1], reading([entity("Ada", "Two.")]), generation())
    assert store.graph.entity(1).summary == "All of it."
    assert session.value("SELECT dirty FROM entities") == 1
    store.documents.delete(ids[1])
    assert store.graph.entity(1).summary == ""


def test_replacing_a_document_removes_what_the_old_text_said(store: Store) -> None:
    document_id = add(store, "a.txt", "old text")
    (chunk,) = store.chunks.of_document(document_id)
    store.graph.record(chunk.id, reading([entity("Ada")]), generation(), [Reject("entity", "x", "y")])
    embed_missing(store)
    store.documents.replace(document_id, document("a.txt", "new text"), chunks_of("new text"))
    counts = store.info().counts
    for table in ("entities", "mentions", "generations", "rejects", "chunk_vectors", "entity_vectors"):
        assert counts[table] == 0
    assert store.documents.get(document_id).status == "waiting"
