"""What a new document and a deletion cost where there are very many entities; prints it, asserts no speed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localrag.graph.names import fold
from localrag.store import Store
from tests.store.helpers import session_of
from tests.store.test_merges import derived, entity_of, read

ENTITIES = 100_000
A_DOCUMENT = 20
_SOUNDS = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "on")]


def names(count: int, dice: random.Random) -> list[tuple[str, str]]:
    """Names of persons, organisations and places, many of which share words, each with its type."""
    word = [" ".join(dice.choices(_SOUNDS, k=3)).replace(" ", "").title() for _ in range(count // 5)]
    found: dict[str, str] = {}
    while len(found) < count:
        first, last = dice.choice(word), dice.choice(word)
        kind = dice.choice(("person", "person", "organization", "place"))
        tail = {"person": "", "organization": " Works", "place": " Bay"}[kind]
        found[f"{first} {last}{tail}"] = kind
    return list(found.items())


def fill(store: Store, found: list[tuple[str, str]]) -> None:
    """Put names in by the table, as readings would leave them."""
    session = session_of(store)
    with store.transaction():
        entities, mentions = {}, []
        for number in range(0, len(found), A_DOCUMENT):
            part = found[number : number + A_DOCUMENT]
            text = ", ".join(name for name, _ in part)
            document_id = session.insert(
                "INSERT INTO documents (root, path, sha256, size, mtime, media_type, title, language, "
                "status, reason, added_at, characters, text) "
                "VALUES ('r', ?, '', 0, 0, '', '', '', 'indexed', '', '', ?, ?)",
                [str(number), len(text), text],
            )
            chunk_id = session.insert(
                "INSERT INTO chunks (document_id, ordinal, char_start, char_end, heading, tokens, language, "
                "state, text) VALUES (?, 0, 0, ?, '', 1, 'en', 'read', ?)",
                [document_id, len(text), text],
            )
            for name, kind in part:
                entities[fold(name)] = (name, kind)
                mentions.append((chunk_id, fold(name), name, kind))
        session.run_many(
            "INSERT INTO entities (key, name, type) VALUES (?, ?, ?)",
            [(key, *row) for key, row in entities.items()],
        )
        session.run_many(
            "INSERT INTO mentions (chunk_id, entity_id, key, name, char_start, char_end, type, description) "
            "SELECT ?1, id, ?2, ?3, -1, -1, ?4, '' FROM entities WHERE key = ?2",
            mentions,
        )


def timed(what: str, act: Callable[[], object]) -> None:
    """Do something and print what it cost."""
    wall, processor = time.perf_counter(), time.process_time()
    act()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{what}: {processor * 1000:,.0f} ms of the processor, {wall * 1000:,.0f} ms in all")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_new_document_among_very_many_entities(tmp_path: Path) -> None:
    dice = random.Random(5)
    found = names(ENTITIES, dice)
    with Store.create(tmp_path / "large.localrag") as store:
        session_of(store).database.execute("PRAGMA synchronous = OFF")
        fill(store, found)
        timed(f"all {ENTITIES:,} entities", store.merges.bring_up)
        before = derived(store)
        new = [f"Marta {name}" for name, kind in dice.sample(found, 15) if kind == "person"]
        text = "Marta Lindqvist-Ashgrove met Mrs. Lindqvist-Ashgrove. " + ", ".join(new)
        for round_ in range(3):
            held: list[str | tuple[str, str]] = [
                "Marta Lindqvist-Ashgrove",
                "Mrs. Lindqvist-Ashgrove",
                *new,
                *dice.sample(found, 10),
            ]
            document = read(store, f"new-{round_}.txt", text, held)
            timed(f"a document with {len(held)} names", store.merges.bring_up)
            assert entity_of(store, document, "Mrs. Lindqvist-Ashgrove") == "Marta Lindqvist-Ashgrove"
            timed("its deletion", lambda document=document: store.documents.delete(document))  # type: ignore[misc]
        assert derived(store) == before
