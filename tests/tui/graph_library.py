"""A small library whose entities, relations and claims were read, for the tests of the graph place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from localrag.graph.names import fold
from localrag.store.database import Store
from localrag.store.report_rows import NewClaim, NewCommunity
from localrag.store.rows import EntityMention, Reading, RelationMention
from tests.store.helpers import generation
from tests.tui.support import library

TEXTS = {
    "bridge.md": "Marta Lind designed the Halden Bridge in 1931. The Kvern Works built the Halden Bridge.",
    "letters.md": "Marta Lind wrote letters to Karin Voss for years. Karin Voss lived in Oslo.",
    "museum.md": "Ida Lind founded the Halden Museum. The Halden Museum shows drawings of Marta Lind.",
    "sister.md": "Ida Lind was the sister of Marta Lind. M. Lind is how she signed.",
    "council.md": "The City Council paid for the Halden Bridge. Piet Koster sat on the City Council.",
    "far.md": "Piet Koster owned the Old Mill. 陈玉兰 painted the Old Mill.",
    "second.md": "Marta Lind designed the Halden Bridge, as all know. Marta Lind was fined.",
}
"""By path."""

TYPES = {
    "Marta Lind": "person",
    "M. Lind": "person",
    "Halden Bridge": "bridge",
    "Kvern Works": "organization",
    "Karin Voss": "person",
    "Ida Lind": "person",
    "Halden Museum": "place",
    "City Council": "organization",
    "Piet Koster": "person",
    "Old Mill": "place",
    "陈玉兰": "person",
    "Oslo": "place",
}
"""By name."""

RELATIONS = {
    "bridge.md": [
        ("Marta Lind", "Halden Bridge", "designed", "Marta Lind designed the Halden Bridge."),
        ("Kvern Works", "Halden Bridge", "built", "The Kvern Works built it."),
    ],
    "letters.md": [
        ("Marta Lind", "Karin Voss", "wrote letters to", "She wrote to her for years."),
        ("Karin Voss", "Oslo", "lived in", ""),
    ],
    "museum.md": [
        ("Ida Lind", "Halden Museum", "founded", "Ida Lind founded it."),
        ("Halden Museum", "Marta Lind", "shows drawings of", "It shows her drawings."),
    ],
    "sister.md": [("Ida Lind", "Marta Lind", "sister of", "They were sisters.")],
    "council.md": [
        ("City Council", "Halden Bridge", "paid for", "The council paid for it."),
        ("Piet Koster", "City Council", "sat on", ""),
    ],
    "far.md": [
        ("Piet Koster", "Old Mill", "owned", ""),
        ("陈玉兰", "Old Mill", "painted", ""),
    ],
    "second.md": [("Marta Lind", "Halden Bridge", "designed", "All know that she designed it.")],
}
"""By the document that states them: source, target, keyword, description."""


def read_library(folder: Path, *, communities: bool = False) -> Path:
    """The library with all that was read in it; no model is asked."""
    path = library(folder, TEXTS)
    with Store.open(path) as store:
        for row in store.documents.list():
            for chunk in store.chunks.of_document(row.id):
                store.graph.record(chunk.id, _reading(row.path, chunk.text), generation())
                if row.path in ("bridge.md", "second.md"):
                    store.claims.record(
                        chunk.id, _claims(row.path, chunk.text), replace(generation(), task="claims/x")
                    )
        if communities:
            members = [
                entity.id for entity in store.graph.find_by_keys([fold("Marta Lind"), fold("Ida Lind")])
            ]
            store.reports.put_communities([NewCommunity(0, tuple(members))])
    return path


def entity_id(path: Path, name: str) -> int:
    """The entity with a name."""
    with Store.open(path) as store:
        return store.graph.find_by_keys([fold(name)])[0].id


def _reading(document: str, text: str) -> Reading:
    mentions = []
    for name, kind in TYPES.items():
        start = text.find(name)
        if start >= 0:
            mentions.append(
                EntityMention(name, fold(name), kind, f"{name} is told of.", start, start + len(name))
            )
    relations = tuple(
        RelationMention(fold(source), fold(target), keyword, said)
        for source, target, keyword, said in RELATIONS[document]
    )
    return Reading(tuple(mentions), relations)


def _claims(document: str, text: str) -> list[NewClaim]:
    marta = fold("Marta Lind")
    if document == "bridge.md":
        quote = (0, text.index(".") + 1)
        said = NewClaim(marta, "WORK", "TRUE", "She designed it.", (quote,), fold("Halden Bridge"))
        return [replace(said, start_date="1931-01-01", end_date="1931-12-31")]
    start = text.index("Marta Lind was fined")
    return [NewClaim(marta, "FINE", "SUSPECTED", "She was fined.", ((start, len(text)),))]
