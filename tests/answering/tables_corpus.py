"""Small corpora for the tables: sixty people in thirty passages, read as the model would read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localrag.graph.names import fold
from localrag.store import Store
from localrag.store.curation_rows import MergeEntities
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import add, generation

FIRST = (
    *("Ada", "Bea", "Cleo", "Dora", "Edda", "Fina", "Gina", "Hetty", "Ilse", "Jana"),
    *("Karl", "Lutz", "Mats", "Nils", "Olof", "Piet", "Quin", "Rolf", "Sven", "Timo"),
)
LAST = ("Ahlers", "Brandt", "Carstens")
PEOPLE = tuple(f"{first} {last}" for last in LAST for first in FIRST)
"""Sixty names."""


def name(
    store: Store, chunk_id: int, names: Mapping[str, str], relations: Sequence[RelationMention] = ()
) -> None:
    """Note that the model found these names, each with its type, where they stand in a passage."""
    text = next(row.text for row in store.chunks.many([chunk_id]))
    mentions = []
    for spelt, kind in names.items():
        start = text.find(spelt)
        mentions.append(
            EntityMention(spelt, fold(spelt), kind, "", start, start + len(spelt) if start >= 0 else -1)
        )
    assert store.graph.record(chunk_id, Reading(tuple(mentions), tuple(relations)), generation())


def sixty(store: Store) -> list[int]:
    """Ten documents of three passages with two people each; every third person is an attorney."""
    chunks: list[int] = []
    for number in range(10):
        lines = []
        pairs = []
        for place in range(3):
            at = 2 * (3 * number + place)
            one, other = PEOPLE[at], PEOPLE[at + 1]
            role = "an attorney" if at % 6 == 0 else "a clerk"
            lines.append(f"{one}, {role} of the firm Hartwig, wrote to {other} in Lund about the harbour.")
            pairs.append((one, other))
        document = add(store, f"letters/box{number}.txt", "\n".join(lines))
        rows = store.chunks.of_document(document)
        for row, (one, other) in zip(rows, pairs, strict=True):
            name(
                store, row.id, {one: "person", other: "person", "Hartwig": "organization", "Lund": "location"}
            )
            chunks.append(row.id)
    return chunks


def harbour(store: Store) -> None:
    """Two English documents and a Chinese one, with other names for the same people."""
    first = add(
        store,
        "harbour.md",
        "Attorneys Marta Lind and Jonas Ek met the surveyor Rut Falk in Tarnby.\n"
        "Lind was the lawyer of the Tarn Institute. The attorney asked Otto Kern about the storm.\n"
        "Otto Kern is not an attorney. Pia Holm, a retired attorney, works for the Tarn Institute.\n"
        "Rut Falk worked for the Tarn Institute. Otto Kern wrote of the Tarn Institute.",
    )
    rows = store.chunks.of_document(first)
    person, organization, location = "person", "organization", "location"
    name(
        store, rows[0].id, {"Marta Lind": person, "Jonas Ek": person, "Rut Falk": person, "Tarnby": location}
    )
    name(store, rows[1].id, {"Lind": person, "Tarn Institute": organization, "Otto Kern": person})
    pia = RelationMention(fold("Pia Holm"), fold("Tarn Institute"), "works for", "")
    name(store, rows[2].id, {"Otto Kern": person, "Pia Holm": person, "Tarn Institute": organization}, [pia])
    rut = RelationMention(fold("Rut Falk"), fold("Tarn Institute"), "", "")
    otto = RelationMention(fold("Otto Kern"), fold("Tarn Institute"), "", "")
    name(
        store,
        rows[3].id,
        {"Rut Falk": person, "Tarn Institute": organization, "Otto Kern": person},
        [rut, otto],
    )
    store.decisions.add(MergeEntities((fold("Lind"),), ("Lind",), fold("Marta Lind"), "Marta Lind"))
    second = add(store, "notes/2019-log.md", "Jonas Ek sailed to Tarnby.\nNothing happened.")
    rows = store.chunks.of_document(second)
    name(store, rows[0].id, {"Jonas Ek": person, "Tarnby": location})
    name(store, rows[1].id, {})
    third = add(
        store, "港口.md", "律师张三和李四到了松江镇。\n王五是松江银行的一名律师。赵六不是律师，他认识张三。"
    )
    rows = store.chunks.of_document(third)
    name(store, rows[0].id, {"张三": person, "李四": person, "松江镇": location})
    name(store, rows[1].id, {"王五": person, "松江银行": organization, "赵六": person, "张三": person})
