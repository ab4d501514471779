"""Random readings and decisions, and a view of the file without ids, for the tests of decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

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
    KeepApart,
    MergeEntities,
    MergeRelations,
    Pair,
    RemoveAlias,
    RemoveTag,
    RenameEntity,
    RetypeEntity,
    ReverseRelation,
    SplitEntity,
    SplitRelation,
    Where,
)
from localrag.store.report_rows import NewClaim
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import add, document, generation, logical_rows, session_of

NAMES = ("Ada", "ADA", "Bo", "C++", "东京", "Eve's")
KEYS = tuple(dict.fromkeys(name.casefold() for name in NAMES))
PATHS = ("0.txt", "1.txt", "2.txt")
TEXTS = tuple(f"First of {path}.\nSecond of {path}." for path in PATHS)


@dataclass(frozen=True)
class Said:
    """What is found in one chunk."""

    reading: Reading
    """Entities and relations."""

    claims: tuple[tuple[str, str], ...]
    """Claims by subject and object; an empty object is none."""

    aliases: tuple[tuple[str, str], ...]
    """Aliases by the entity's key and their own."""


@st.composite
def readings(draw: st.DrawFn) -> Said:
    """What is found in one chunk."""
    mentions = draw(
        st.lists(
            st.builds(
                lambda name, kind, text: EntityMention(name, name.casefold(), kind, text),
                st.sampled_from(NAMES),
                st.sampled_from(("Person", "Place")),
                st.sampled_from(("", "Builds boats.", "住在海边。")),
            ),
            max_size=4,
        )
    )
    keys = sorted({mention.key for mention in mentions})
    if not keys:
        return Said(Reading(), (), ())
    key = st.sampled_from(keys)
    relations = draw(
        st.lists(
            st.builds(RelationMention, key, key, st.sampled_from(("", "sea", "Sea, boat")), st.just("text")),
            max_size=3,
        )
    )
    claims = draw(st.lists(st.tuples(key, st.one_of(st.just(""), key)), max_size=1))
    aliases = draw(st.lists(st.tuples(key, st.sampled_from(("alias", *KEYS))), max_size=1))
    return Said(Reading(tuple(mentions), tuple(relations)), tuple(claims), tuple(aliases))


plans = st.lists(st.tuples(readings(), readings()), min_size=len(PATHS), max_size=len(PATHS))
"""Two chunks for each of the documents."""

_key = st.sampled_from((*KEYS, "new"))
_pair: st.SearchStrategy[Pair] = st.tuples(_key, _key).filter(lambda pair: pair[0] != pair[1])


def ref(number: int, *, by_hash: bool = False) -> DocumentRef:
    """One of the documents, named by its place or by its content."""
    made = document(PATHS[number], TEXTS[number])
    return DocumentRef("elsewhere", "x", made.sha256) if by_hash else DocumentRef(made.root, made.path, "")


_documents = st.builds(lambda number, by_hash: ref(number, by_hash=by_hash), st.integers(0, 2), st.booleans())
_where = st.builds(
    Where,
    st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    st.lists(st.sampled_from(("PERSON", "Place")), max_size=1).map(tuple),
    st.just(()),
    st.lists(_documents, max_size=1).map(tuple),
).filter(lambda where: where != Where())
_relation_where = st.one_of(
    st.builds(lambda word: Where(keywords=(word,)), st.sampled_from(("sea", "boat"))),
    st.builds(lambda where: Where(documents=(where,)), _documents),
)
_text = st.sampled_from(("", "Own words."))


def _merge(keys: list[str], into: str) -> MergeEntities:
    others = tuple(key for key in dict.fromkeys(keys) if key != into) or ("other",)
    return MergeEntities(others, tuple(key.upper() for key in others), into, into.upper())


entity_decisions: st.SearchStrategy[Decision] = st.one_of(
    st.builds(_merge, st.lists(_key, min_size=1, max_size=2), _key),
    st.builds(lambda pair, where: SplitEntity(pair[0], pair[1], pair[1].title(), where), _pair, _where),
    st.builds(lambda pair: RenameEntity(pair[0], pair[1].title(), pair[1], pair[0]), _pair),
    st.builds(RetypeEntity, _key, st.sampled_from(("Ship", "Person"))),
    st.builds(EditEntity, _key, _text),
    st.builds(lambda key: DeleteEntity(key, key), _key),
    st.builds(lambda pair: KeepApart(pair, pair), _pair),
    st.builds(lambda pair: AddAlias(pair[0], pair[1], pair[1], pair[0].upper()), _pair),
    st.builds(lambda key: AddAlias(key, "alias", "Alias", key.upper()), _key),
    st.builds(lambda pair: RemoveAlias(pair[0], pair[1], pair[1]), _pair),
    st.builds(lambda key: RemoveAlias(key, "alias", "Alias"), _key),
)
relation_decisions: st.SearchStrategy[Decision] = st.one_of(
    st.tuples(_pair, _pair)
    .filter(lambda two: two[0] != two[1])
    .map(lambda two: MergeRelations(two[:1], two[1])),
    st.builds(ReverseRelation, _pair),
    st.tuples(_pair, _pair, _relation_where)
    .filter(lambda made: made[0] != made[1])
    .map(lambda made: SplitRelation(*made)),
    st.builds(EditRelation, _pair, st.one_of(st.none(), _text), st.one_of(st.none(), _text)),
    st.builds(DeleteRelation, _pair),
)
tag_decisions: st.SearchStrategy[Decision] = st.one_of(
    st.builds(AddTag, _documents, st.sampled_from(("Work", "WORK", "旅行"))),
    st.builds(RemoveTag, _documents, st.sampled_from(("work", "旅行"))),
)
decisions = st.lists(st.one_of(entity_decisions, relation_decisions, tag_decisions), max_size=6)
"""Decisions in any order, about what is there and what is not."""


def read(store: Store, number: int, plan: tuple[Said, Said]) -> int:
    """Add one of the documents with what is found in it; returns its id."""
    document_id = add(store, PATHS[number], TEXTS[number])
    for chunk, said in zip(store.chunks.of_document(document_id), plan, strict=True):
        record(store, chunk.id, said)
    return document_id


def record(store: Store, chunk_id: int, said: Said) -> None:
    """Store what is found in a chunk."""
    store.graph.record(chunk_id, said.reading, generation())
    claims = [
        NewClaim(subject, "deed", "TRUE", "It was done.", ((0, 5),), other) for subject, other in said.claims
    ]
    if claims:
        call = generation()
        store.claims.record(chunk_id, claims, type(call)(**{**vars(call), "task": "claims"}))
    for entity_key, alias in said.aliases:
        store.aliases.put(chunk_id, entity_key, alias.upper(), alias)


def view(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows but ids, times and the log itself; also what the file says of its own order."""
    rows = logical_rows(store)
    del rows["decisions"]
    problems = (*store.check(), *resolution.problems(session_of(store)))
    return rows | {"in order": [(sentence,) for sentence in problems]}
