"""Decisions one by one: what they do, what later readings make of them, and taking them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from localrag.errors import KnowledgeBaseError, KnowledgeBaseReadOnly, UsageError
from localrag.store import Store, resolution
from localrag.store.curation_rows import (
    AddAlias,
    AddTag,
    Decision,
    DeleteEntity,
    DeleteRelation,
    DocumentRef,
    EditEntity,
    EditRelation,
    MergeEntities,
    MergeRelations,
    RemoveAlias,
    RemoveTag,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
    Where,
)
from localrag.store.followed_rows import Place
from localrag.store.rows import EntityMention
from tests.store.curation import Said, record, view
from tests.store.helpers import (
    add,
    add_lines,
    chunks_of,
    document,
    embed_missing,
    entity,
    generation,
    reading,
    relation,
    session_of,
)


@pytest.fixture(autouse=True)
def _in_order(store: Store) -> Iterator[None]:
    """Whatever a test did, the file is what its decisions make of it."""
    yield
    assert resolution.problems(session_of(store)) == []


def merge(keys: str, into: str) -> MergeEntities:
    """Merge entities given by keys parted by blanks; names are the keys with capitals."""
    parts = tuple(keys.split())
    return MergeEntities(parts, tuple(part.title() for part in parts), into, into.title())


def names(store: Store) -> dict[str, int]:
    """Entities with the number of their mentions."""
    rows = store.graph.top_entities(100)
    return {row.name: len(store.graph.mentions_of(row.id)) for row in rows}


def pairs(store: Store) -> list[tuple[str, str]]:
    """Relations by the names of their ends."""
    ids = session_of(store).column("SELECT id FROM relations ORDER BY id")
    return sorted((row.source, row.target) for row in store.graph.relations(ids))


def say(store: Store, *entities: str, relations: str = "", kind: str = "Person") -> int:
    """Store a passage that mentions entities, with relations such as `a-b c-d`; returns its chunk."""
    number = store.info().counts["documents"]
    (chunk,) = add_lines(store, f"line {number}")
    said = [relation(source, target, "d") for source, target in map(_halves, relations.split())]
    store.graph.record(chunk, reading([entity(name, "", kind) for name in entities], said), generation())
    return chunk


def _halves(pair: str) -> tuple[str, str]:
    source, _, target = pair.partition("-")
    return source, target


def test_merged_entities_are_one_with_the_name_and_type_of_the_one_that_stays(store: Store) -> None:
    say(store, "Ada", "Bo")
    say(store, "Ada")
    say(store, "Bo", kind="Ship")
    say(store, "Bo", kind="Ship")
    change = store.decisions.add(merge("bo", "ada"))
    assert (change.mentions, change.relation_mentions) == (3, 0)
    assert names(store) == {"Ada": 5}
    (row,) = store.graph.top_entities(5)
    assert row.type == "Person"
    assert {mention.type for mention in store.graph.mentions_of(row.id)} == {"Person", "Ship"}
    assert [alias.name for alias in store.aliases.list(row.id)] == ["Bo"]
    assert [found.name for found in store.graph.find_by_keys(["bo", "ada"])] == ["Ada"]
    say(store, "Bo", "Cy")
    assert names(store) == {"Ada": 6, "Cy": 1}
    store.decisions.undo()
    assert names(store) == {"Ada": 2, "Bo": 4, "Cy": 1}
    assert store.aliases.list() == []


def test_a_chain_follows_and_loses_its_first_link(store: Store) -> None:
    say(store, "Ada", "Bo", "Cy")
    first = store.decisions.add(merge("ada", "bo")).id
    store.decisions.add(merge("bo", "cy"))
    assert names(store) == {"Cy": 3}
    assert store.graph.find_by_keys(["ada"])[0].name == "Cy"
    store.decisions.undo(first)
    assert names(store) == {"Ada": 1, "Cy": 2}
    say(store, "Ada", "Bo")
    assert names(store) == {"Ada": 2, "Cy": 3}


def test_relations_among_merged_entities_hide_and_come_back(store: Store) -> None:
    say(store, "Ada", "Bo", "Cy", relations="Ada-Bo Bo-Ada Bo-Cy Cy-Ada")
    change = store.decisions.add(merge("bo", "ada"))
    assert change.relation_mentions == 3
    assert pairs(store) == [("Ada", "Cy"), ("Cy", "Ada")]
    say(store, "Bo", "Ada", relations="Bo-Ada")
    assert pairs(store) == [("Ada", "Cy"), ("Cy", "Ada")]
    totals = store.journal.totals()
    assert totals.parsed == totals.stored + totals.rejected
    assert totals.rejected == 0
    store.decisions.undo()
    assert pairs(store) == [("Ada", "Bo"), ("Bo", "Ada"), ("Bo", "Cy"), ("Cy", "Ada")]


def test_a_merge_after_a_split_takes_the_rest_alone(store: Store) -> None:
    say(store, "Mercury", kind="Planet")
    say(store, "Mercury", "Venus", relations="Mercury-Venus", kind="God")
    store.decisions.add(SplitEntity("mercury", "mercury god", "Mercury (god)", Where(types=("GOD",))))
    assert names(store) == {"Mercury": 1, "Mercury (god)": 1, "Venus": 1}
    assert pairs(store) == [("Mercury (god)", "Venus")]
    store.decisions.add(merge("mercury", "venus"))
    assert names(store) == {"Mercury (god)": 1, "Venus": 2}
    say(store, "Mercury", kind="God")
    say(store, "Mercury", kind="Metal")
    assert names(store) == {"Mercury (god)": 2, "Venus": 3}


def test_a_split_by_writing_parts_what_one_passage_says(store: Store) -> None:
    (chunk,) = add_lines(store, "a")
    said = [EntityMention(name, "apple", "Thing", "") for name in ("apples", "Apple")]
    store.graph.record(
        chunk, reading([*said, entity("Tree")], [relation("apple", "Tree", "grow")]), generation()
    )
    store.decisions.add(SplitEntity("apple", "apple inc", "Apple Inc.", Where(names=("Apple",))))
    assert names(store) == {"Apple Inc.": 1, "Tree": 1, "apples": 1}
    # The relation belongs to the first of the two.
    assert pairs(store) == [("apples", "Tree")]
    store.decisions.add(DeleteEntity("apple", "apples"))
    assert pairs(store) == [("Apple Inc.", "Tree")]


def test_a_split_by_document_knows_the_document_again(store: Store) -> None:
    text = "Ada."
    ids = [add(store, path, f"{text} {path}") for path in ("a.txt", "b.txt")]
    for document_id in ids:
        record(store, store.chunks.of_document(document_id)[0].id, Said(reading([entity("Ada")]), (), ()))
    row = store.documents.get(ids[1])
    named = DocumentRef(row.root, row.path, row.sha256)
    store.decisions.add(SplitEntity("ada", "ada two", "Ada Two", Where(documents=(named,))))
    assert names(store) == {"Ada": 1, "Ada Two": 1}
    place = store.documents.places(ids[1])[0]
    store.documents.move(ids[1], Place("elsewhere", "c.txt", place.size, place.mtime))
    store.documents.replace(ids[1], document("c.txt", "Other.", root="elsewhere"), chunks_of("Other."))
    record(store, store.chunks.of_document(ids[1])[0].id, Said(reading([entity("Ada")]), (), ()))
    assert names(store) == {"Ada": 1, "Ada Two": 1}
    store.documents.delete(ids[1])
    # Other content at the place that it moved away from is another document; the content of then is the same.
    for path, content, expected in (
        ("b.txt", "New.", {"Ada": 2}),
        ("d.txt", f"{text} b.txt", {"Ada": 2, "Ada Two": 1}),
    ):
        again = add(store, path, content)
        record(store, store.chunks.of_document(again)[0].id, Said(reading([entity("Ada")]), (), ()))
        assert names(store) == expected


def test_a_split_by_document_takes_a_document_that_comes_to_lie_there(store: Store) -> None:
    chunk = say(store, "Ada")
    say(store, "Ada")
    where = Where(documents=(DocumentRef("library", "later.txt"),))
    store.decisions.add(SplitEntity("ada", "ada two", "Ada Two", where))
    assert names(store) == {"Ada": 2}
    document_id = store.chunks.get(chunk).document_id
    store.documents.add_place(document_id, Place("library", "later.txt", 1, 1.0))
    assert names(store) == {"Ada": 1, "Ada Two": 1}


def test_a_deleted_entity_stays_deleted_for_whoever_names_it(store: Store) -> None:
    say(store, "Ada", "Bo", relations="Ada-Bo")
    store.decisions.add(DeleteEntity("ada", "Ada"))
    chunk = say(store, "Ada", "Bo", relations="Ada-Bo")
    assert names(store) == {"Bo": 2}
    assert pairs(store) == []
    assert [row.name for row in store.graph.chunk_entities(chunk)] == ["Bo"]
    assert store.graph.find_by_keys(["ada"]) == []
    store.decisions.undo()
    assert names(store) == {"Ada": 2, "Bo": 2}
    assert pairs(store) == [("Ada", "Bo")]
    assert store.graph.relation(session_of(store).value("SELECT id FROM relations")).weight == 2


def test_a_renamed_entity_is_found_by_both_names_and_takes_the_new_one(store: Store) -> None:
    say(store, "Ada", "Bo", relations="Ada-Bo")
    embed_missing(store)
    store.decisions.add(RenameEntity("ada", "Ada Lovelace", "ada lovelace", "Ada"))
    assert pairs(store) == [("Ada Lovelace", "Bo")]
    # The texts that the vectors were made from are other ones now.
    assert embed_missing(store) == 2
    say(store, "Ada Lovelace", "Ada")
    assert names(store) == {"Ada Lovelace": 3, "Bo": 1}
    found = store.graph.find_named(["ada", "ada lovelace"])
    assert [(key, row.name) for key, row in found] == [
        ("ada", "Ada Lovelace"),
        ("ada lovelace", "Ada Lovelace"),
    ]
    assert [alias.name for alias in store.aliases.list()] == ["Ada"]
    store.decisions.undo()
    assert names(store) == {"Ada": 2, "Ada Lovelace": 1, "Bo": 1}


def test_types_and_descriptions_of_a_person_stand_before_what_was_read(store: Store) -> None:
    (chunk,) = add_lines(store, "a")
    store.graph.record(chunk, reading([entity("Ada", "Read.")]), generation())
    store.decisions.add(RetypeEntity("ada", "Author"))
    store.decisions.add(EditEntity("ada", "Own words."))
    (row,) = store.graph.top_entities(1)
    assert (row.type, row.descriptions, row.summary) == ("Author", ("Own words.",), "")
    assert store.vectors.texts("entity", [row.id]) == ["Ada\nOwn words."]
    store.documents.delete(1)
    (chunk,) = add_lines(store, "b")
    store.graph.record(chunk, reading([entity("Ada", "Read again.")]), generation())
    (row,) = store.graph.top_entities(1)
    assert (row.type, row.descriptions) == ("Author", ("Own words.",))
    store.decisions.add(EditEntity("ada", ""))
    assert store.graph.entity(row.id).descriptions == ("Read again.",)
    # What a person wrote goes along into the one that it becomes part of.
    store.decisions.undo()
    say(store, "Bo")
    store.decisions.add(merge("ada", "bo"))
    assert store.graph.find_by_keys(["ada"])[0].descriptions == ("Own words.",)


def test_relations_are_merged_reversed_split_edited_and_deleted(store: Store) -> None:
    chunks = [say(store, "Ada", "Bo", "Cy") for _ in range(2)]
    for chunk, words in zip(chunks, ("sea, boat", "land"), strict=True):
        said = reading([entity("Ada"), entity("Bo"), entity("Cy")], [relation("Ada", "Bo", words, words)])
        store.graph.record(chunk, said, generation())
    store.decisions.add(SplitRelation(("ada", "bo"), ("ada", "cy"), Where(keywords=("Boat",))))
    assert pairs(store) == [("Ada", "Bo"), ("Ada", "Cy")]
    store.decisions.add(ReverseRelation(("ada", "cy")))
    assert pairs(store) == [("Ada", "Bo"), ("Cy", "Ada")]
    store.decisions.add(MergeRelations((("cy", "ada"),), ("ada", "bo")))
    assert pairs(store) == [("Ada", "Bo")]
    store.decisions.add(EditRelation(("ada", "bo"), "own, words", None))
    (row,) = store.graph.relations(session_of(store).column("SELECT id FROM relations"))
    assert (row.keywords, row.description, row.weight) == ("own, words", "sea, boat; land", 2)
    assert store.vectors.texts("relation", [row.id]) == ["own, words\tAda\tBo\tsea, boat land"]
    # Its words follow an end that becomes part of another entity.
    store.decisions.add(merge("bo", "cy"))
    (row,) = store.graph.relations(session_of(store).column("SELECT id FROM relations"))
    assert (row.target, row.keywords) == ("Cy", "own, words")
    store.decisions.add(DeleteRelation(("ada", "cy")))
    say(store, "Ada", "Bo", relations="Ada-Bo")
    assert pairs(store) == []
    for _ in range(6):
        store.decisions.undo()
    assert pairs(store) == [("Ada", "Bo")]
    assert store.graph.relations([row.id]) == [] or store.graph.relation(row.id).keywords != "own, words"


def test_words_of_a_person_go_along_with_a_relation_that_is_turned_round(store: Store) -> None:
    say(store, "Ada", "Bo", relations="Ada-Bo")
    store.decisions.add(EditRelation(("ada", "bo"), "own", "Own words."))
    store.decisions.add(ReverseRelation(("ada", "bo")))
    (row,) = store.graph.relations(session_of(store).column("SELECT id FROM relations"))
    assert (row.source, row.keywords, row.description) == ("Bo", "own", "Own words.")


def test_words_that_went_along_a_chain_go_back_with_its_first_link(store: Store) -> None:
    say(store, "Ada", "Bo", "Cy")
    store.decisions.add(EditEntity("ada", "Own words."))
    first = store.decisions.add(merge("ada", "bo")).id
    store.decisions.add(merge("bo", "cy"))
    assert store.graph.find_by_keys(["cy"])[0].descriptions == ("Own words.",)
    store.decisions.undo(first)
    described = {row.name: row.descriptions for row in store.graph.top_entities(5)}
    assert described == {"Ada": ("Own words.",), "Cy": ()}
    store.decisions.add(merge("ada", "cy"))
    assert store.graph.find_by_keys(["cy"])[0].descriptions == ("Own words.",)
    store.decisions.undo(1)
    assert store.graph.find_by_keys(["cy"])[0].descriptions == ()


def test_claims_and_aliases_of_passages_follow_their_entities(store: Store) -> None:
    (chunk,) = add_lines(store, "Ada met Bo.")
    said = reading([entity("Ada"), entity("Bo")])
    record(store, chunk, Said(said, (("bo", "ada"),), (("bo", "boss"),)))
    say(store, "Cy")
    store.decisions.add(merge("bo", "cy"))
    (claim,) = store.claims.of_chunk(chunk)
    assert (claim.subject, claim.object) == ("Cy", "Ada")
    assert store.graph.find_by_keys(["boss"])[0].name == "Cy"
    store.decisions.add(DeleteEntity("ada", "Ada"))
    assert store.claims.of_chunk(chunk)[0].object_id is None
    store.decisions.undo()
    store.decisions.undo()
    (claim,) = store.claims.of_chunk(chunk)
    assert (claim.subject, claim.object) == ("Bo", "Ada")
    assert store.graph.find_by_keys(["boss"])[0].name == "Bo"


def test_a_relation_moved_to_entities_that_are_gone_waits_for_them(store: Store) -> None:
    say(store, "Ada", "Bo", relations="Ada-Bo")
    chunk = say(store, "Cy", "Di")
    store.decisions.add(MergeRelations((("ada", "bo"),), ("cy", "di")))
    assert pairs(store) == [("Cy", "Di")]
    store.graph.record(chunk, reading([entity("Cy")]), generation())
    assert pairs(store) == []
    say(store, "Di")
    assert pairs(store) == [("Cy", "Di")]


def test_decisions_about_what_is_not_there_wait(store: Store) -> None:
    assert store.decisions.add(merge("ada", "bo")).mentions == 0
    store.decisions.add(AddAlias("bo", "bobo", "Bobo", "Bo"))
    assert store.aliases.list() == []
    say(store, "Ada")
    assert names(store) == {"Bo": 1}
    assert [alias.name for alias in store.aliases.list()] == ["Ada", "Bobo"]
    store.documents.delete(1)
    assert store.aliases.list() == []
    say(store, "Bobo")
    assert names(store) == {"Bo": 1}


def test_aliases_are_added_and_removed(store: Store) -> None:
    chunk = say(store, "Ada")
    store.decisions.add(AddAlias("ada", "countess", "Countess", "Ada"))
    say(store, "Countess")
    assert names(store) == {"Ada": 2}
    store.decisions.add(RemoveAlias("ada", "countess", "Countess"))
    assert names(store) == {"Ada": 1, "Countess": 1}
    assert store.aliases.list() == []
    store.decisions.undo()
    assert names(store) == {"Ada": 2}
    assert store.aliases.put(chunk, "ada", "A. L.", "a l")
    assert not store.aliases.put(chunk, "ada", "A. L.", "a l")
    assert not store.aliases.put(chunk, "bo", "B.", "b")
    assert store.graph.find_by_keys(["a l"])[0].name == "Ada"
    store.decisions.add(RemoveAlias("ada", "a l", "A. L."))
    assert store.graph.find_by_keys(["a l"]) == []
    store.decisions.undo()
    store.graph.record(chunk, reading([entity("Ada")]), generation())
    assert store.graph.find_by_keys(["a l"]) == []
    with pytest.raises(UsageError, match="needs a name"):
        store.aliases.put(chunk, "ada", " ", "x")


def test_what_most_passages_call_so_is_meant_unless_a_person_says(store: Store) -> None:
    chunks = [say(store, "Ada", "Bo") for _ in range(2)]
    for chunk in chunks:
        store.aliases.put(chunk, "bo", "Boss", "boss")
    store.aliases.put(chunks[0], "ada", "Boss", "boss")
    assert store.graph.find_by_keys(["boss"])[0].name == "Bo"
    store.decisions.add(AddAlias("ada", "boss", "Boss", "Ada"))
    assert store.graph.find_by_keys(["boss"])[0].name == "Ada"
    say(store, "Bo")
    store.decisions.undo()
    say(store, "Boss")
    assert store.graph.find_by_keys(["boss"])[0].name == "Boss"


def test_tags_stay_with_a_document_that_changes_moves_and_comes_back(store: Store) -> None:
    document_id = add(store, "a.txt", "One.")
    other = add(store, "b.txt", "Two.")
    row = store.documents.get(document_id)
    named = DocumentRef(row.root, row.path, row.sha256)
    assert store.decisions.add(AddTag(named, "Ｗork  Hard")).documents == 1
    assert store.tags.of_document(document_id) == ["Ｗork  Hard"]
    assert [(tag.tag, tag.documents) for tag in store.tags.list()] == [("work hard", (document_id,))]
    store.documents.replace(document_id, document("a.txt", "Three."), chunks_of("Three."))
    assert store.tags.of_document(document_id) == ["Ｗork  Hard"]
    store.documents.delete(document_id)
    assert store.tags.list() == []
    # The same content at another place is the same document; so is another content at the same place.
    twin = add(store, "c/d.txt", "One.")
    assert store.tags.of_document(twin) == ["Ｗork  Hard"]
    again = add(store, "a.txt", "Four.")
    assert store.tags.of_document(again) == ["Ｗork  Hard"]
    place = store.documents.places(again)[0]
    store.documents.move(again, Place("moved", "e.txt", place.size, place.mtime))
    store.documents.replace(again, document("e.txt", "Five.", root="moved"), chunks_of("Five."))
    assert store.tags.of_document(again) == ["Ｗork  Hard"]
    assert store.tags.of_document(other) == []
    row = store.documents.get(again)
    store.decisions.add(RemoveTag(DocumentRef(row.root, row.path, row.sha256), "WORK hard"))
    assert store.tags.of_document(again) == []
    store.decisions.undo()
    assert store.tags.of_document(again) == ["Ｗork  Hard"]


def test_documents_that_swap_their_places_keep_their_own_tags(store: Store) -> None:
    ids = [add(store, path, path) for path in ("a.txt", "b.txt")]
    for document_id, tag in zip(ids, ("first", "second"), strict=True):
        row = store.documents.get(document_id)
        store.decisions.add(AddTag(DocumentRef(row.root, row.path), tag))
    places = [store.documents.places(document_id)[0] for document_id in ids]
    store.documents.arrange({ids[0]: [places[1]], ids[1]: [places[0]]})
    assert [store.tags.of_document(document_id) for document_id in ids] == [["first"], ["second"]]


def test_empty_files_are_no_copies_of_each_other(store: Store) -> None:
    ids = [add(store, path, "") for path in ("a.txt", "b.txt")]
    row = store.documents.get(ids[0])
    store.decisions.add(AddTag(DocumentRef(row.root, row.path, row.sha256), "empty"))
    ids.append(add(store, "c.txt", ""))
    assert [store.tags.of_document(document_id) for document_id in ids] == [["empty"], [], []]


def test_undoing_needs_something_to_undo(store: Store) -> None:
    with pytest.raises(UsageError, match="no decision to take back"):
        store.decisions.undo()
    with pytest.raises(UsageError, match="no decision 7"):
        store.decisions.undo(7)
    made = store.decisions.add(DeleteEntity("ada", "Ada"))
    store.decisions.undo(made.id)
    with pytest.raises(UsageError, match="taken back already"):
        store.decisions.undo(made.id)
    (row,) = store.decisions.list()
    assert row.undone_at
    assert row.decision == DeleteEntity("ada", "Ada")


@pytest.mark.parametrize(
    "decision",
    [
        merge("ada", "ada"),
        MergeEntities((), (), "ada", "Ada"),
        MergeEntities(("ada", "bo"), ("Ada",), "cy", "Cy"),
        SplitEntity("ada", "ada", "Ada", Where(names=("Ada",))),
        SplitEntity("ada", "bo", "Bo", Where()),
        AddAlias("ada", "ada", "Ada", "Ada"),
        DeleteEntity("", ""),
        MergeRelations((("ada", "bo"),), ("ada", "bo")),
        DeleteRelation(("ada", "ada")),
        AddTag(DocumentRef("root", ""), "tag"),
        AddTag(DocumentRef("root", "path"), ""),
    ],
)
def test_what_makes_no_sense_is_not_decided(store: Store, decision: Decision) -> None:
    with pytest.raises(UsageError, match="cannot be decided"):
        store.decisions.add(decision)
    assert store.decisions.list() == []
    assert session_of(store).value("SELECT decided FROM meta") == 0


@pytest.mark.parametrize(
    "name",
    ["C++", "C#", "图书馆", "a\"b'); DROP TABLE decisions;--", "a\0b\x1b[2J", "x\udfff", "n" * 1_000_000],
    ids=["c++", "c#", "chinese", "quotes", "control", "surrogate", "long"],
)
def test_any_name_that_a_text_has_can_be_decided_about(store: Store, name: str) -> None:
    say(store, name, "Bo", relations="")
    (key,) = [row.key for row in store.graph.top_entities(5) if row.name != "Bo"]
    before = view(store)
    store.decisions.add(MergeEntities((key,), (name,), "bo", "Bo"))
    assert names(store) == {"Bo": 2}
    assert store.graph.find_by_keys([key])[0].name == "Bo"
    store.decisions.undo()
    assert view(store) == before


def test_a_read_only_file_is_not_decided_about(store: Store) -> None:
    say(store, "Ada")
    with Store.open(store.path, read_only=True) as reader, pytest.raises(KnowledgeBaseReadOnly):
        reader.decisions.add(DeleteEntity("ada", "Ada"))
    with Store.open(store.path, read_only=True) as reader, pytest.raises(KnowledgeBaseReadOnly):
        reader.decisions.undo()


def test_a_second_program_obeys_at_once_and_a_change_that_is_rolled_back_is_none(store: Store) -> None:
    chunk = say(store, "Ada")
    with Store.open(store.path) as other:
        other.decisions.add(merge("ada", "bo"))
        store.graph.record(chunk, reading([entity("Ada")]), generation())
        assert names(store) == {"Bo": 1}
        with suppress(RuntimeError), other.transaction():
            other.decisions.add(DeleteEntity("bo", "Bo"))
            assert names(other) == {}
            raise RuntimeError
        other.graph.record(chunk, reading([entity("Ada")]), generation())
        assert names(other) == {"Bo": 1}
        other.decisions.undo()
    assert names(store) == {"Ada": 1}


def test_the_order_is_that_of_time_whatever_the_clock_and_the_ids_say(store: Store) -> None:
    session = session_of(store)
    store.decisions.add(merge("ada", "bo"))
    with store.transaction():
        session.run("UPDATE decisions SET made_at = '2999-01-01T00:00:00.000000+00:00'")
    store.decisions.add(merge("bo", "cy"))
    times = [row.made_at for row in store.decisions.list()]
    assert times == ["2999-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000001+00:00"]
    say(store, "Ada")
    assert names(store) == {"Cy": 1}
    # A log that was joined from another file has its own order.
    with store.transaction():
        session.run("UPDATE decisions SET made_at = '2000-01-01T00:00:00.000000+00:00' WHERE id = 2")
    resolution.reassign(session)
    assert names(store) == {"Bo": 1}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("entity.melt", "{}"),
        ("entity.delete", "[]"),
        ("entity.delete", '{"key": 3}'),
        ("entity.merge", "[" * 100_000),
        ("entity.merge", '{"keys": "ada", "names": [], "into": "b", "name": "B"}'),
        ("relation.delete", '{"pair": ["a"]}'),
        ("entity.split", '{"key": "a", "into": "b", "name": "B", "where": {"names": [3]}}'),
    ],
)
def test_a_damaged_log_is_told_of(store: Store, kind: str, arguments: str) -> None:
    session = session_of(store)
    with store.transaction():
        session.run(
            "INSERT INTO decisions (uuid, kind, arguments, made_at) VALUES ('u', ?, ?, '2020')",
            [kind, arguments],
        )
    with pytest.raises(KnowledgeBaseError, match="decision"):
        store.decisions.list()
    with pytest.raises(KnowledgeBaseError, match="decision"):
        resolution.reassign(session)
    with store.transaction():
        session.run("DELETE FROM decisions")


def test_problems_are_found_and_put_right(store: Store) -> None:
    say(store, "Ada", "Bo", relations="Ada-Bo")
    say(store, "Cy")
    store.decisions.add(merge("cy", "ada"))
    store.decisions.add(EditEntity("ada", "Own words."))
    session, right = session_of(store), view(store)
    with store.transaction():
        session.run("UPDATE mentions SET entity_id = NULL WHERE key = 'cy'")
        session.run("UPDATE relation_mentions SET relation_id = NULL")
        session.run("UPDATE entities SET description = 'Wrong.', type = 'x'")
        session.run("DELETE FROM entity_aliases")
    assert len(resolution.problems(session)) == 4
    moved = resolution.reassign(session)
    assert (moved.mentions, moved.relation_mentions) == (1, 1)
    assert view(store) == right
