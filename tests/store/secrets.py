"""A document whose words are in every table, and a look for them in every byte of a file.

Each word stands in one place only, so that a word that is found tells where it was left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from localrag.store import Store
from localrag.store.merges import mark
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport
from localrag.store.rows import EntityMention, GenerationRow, NewChunk, Reading, Reject, RelationMention
from localrag.store.talk_rows import NewCitation
from tests.store.helpers import add, document, embed_missing, name_words, session_of

BODY = "quokkaesque xylographer ZQ-77881 Straßenkröte\n魑魅魍魉 and ภาษาลับ"
TEXT = {
    "body": ("quokkaesque", "xylographer", "zq-77881", "77881", "q-7", "straßenkröte", "strassenkrote"),
    "Chinese": ("魑魅", "魅魍", "魍魉"),
    "Thai": ("ภาษ", "าลั"),
    "heading": ("glockenspielish",),
    "title": ("palimpsestic",),
}
"""Words of the document itself, by where they stand; in lower case, as the full text has them."""

READ = {
    "entity name": ("marzipanius", "青丘"),
    "entity description": ("vexillological",),
    "relation description": ("hippogriffish",),
    "relation keywords": ("numismatical",),
    "claim": ("embezzlemental",),
    "claim type": ("skulduggerous",),
    "alias": ("pseudonymical",),
    "reject": ("sesquipedal", "troglodytic"),
    "generation output": ("brobdingnag",),
    "prompt": ("glyptotheca",),
    "summary": ("synoptical", "precisian"),
    "report": ("compendious", "gazettish", "findingly", "annotatish"),
    "report generation": ("reportorial",),
}
"""Words that a model wrote of what it read in the document."""

ANSWERED = {
    "answer generation": ("responsorial",),
    "kept answer": ("kedgereeing",),
    "citation": ("quokkaesque",),
    "citation label": ("labellatish",),
    "trace": ("marginaliac",),
}
"""Words of answers that rested on the document."""


def tell_secrets(store: Store) -> int:
    """Add a document, read it, sum it up, report, answer and talk about it; returns its id."""
    start = BODY.index("\n") + 1
    chunks = [
        NewChunk(0, start - 1, "Glockenspielish", None, 9, "en", BODY[: start - 1]),
        NewChunk(start, len(BODY), "", None, 9, "zh", BODY[start:]),
    ]
    new = document("secret.txt", BODY)
    document_id = store.documents.add(type(new)(**{**vars(new), "title": "Palimpsestic"}), chunks)
    name_words(store, document_id)
    for chunk in store.chunks.of_document(document_id):
        read_secrets(store, chunk.id)
    with store.transaction():
        mark(session_of(store), [document_id])
    answer_secrets(store, document_id)
    embed_missing(store)
    return document_id


def read_secrets(store: Store, chunk_id: int) -> None:
    """Record what is found in a chunk, and write summaries and reports from it."""
    said = Reading(
        (
            EntityMention("Marzipanius", "marzipanius", "Person", "vexillological"),
            EntityMention("Marzipanius Vonda", "marzipanius vonda", "Person", ""),
            EntityMention("青丘", "青丘", "Place", ""),
            EntityMention("Kept", "kept", "Thing", "vexillological too"),
        ),
        (RelationMention("marzipanius", "kept", "numismatical", "hippogriffish"),),
    )
    rejects = [Reject("entity", "sesquipedal", "troglodytic")]
    store.graph.record(chunk_id, said, _call(store, "extraction", "brobdingnag"), rejects)
    claim = NewClaim("marzipanius", "skulduggerous", "SUSPECTED", "embezzlemental", ((0, 3),), "kept")
    store.claims.record(chunk_id, [claim], _call(store, "claims", "brobdingnag"))
    store.aliases.put(chunk_id, "marzipanius", "Pseudonymical", "pseudonymical")
    # The short name means the full one from here on.
    store.merges.bring_up()
    ids = [row.id for row in store.graph.find_by_keys(["marzipanius", "青丘", "kept"])]
    (relation, *_) = store.graph.relations_of(ids, 1)
    for entity_id in ids:
        store.summaries.put("entity", entity_id, "synoptical", _call(store, "summary", "precisian"))
    store.summaries.put("relation", relation.id, "synoptical", _call(store, "summary", "precisian"))
    (community_id,) = store.reports.put_communities([NewCommunity(0, tuple(ids))])
    assert community_id is not None
    store.reports.put(
        community_id,
        NewReport(
            "compendious",
            "gazettish",
            (Finding("findingly", "annotatish", (("claim", store.claims.of_chunk(chunk_id)[0].id),)),),
            sources=(("entity", ids[0]), ("relation", relation.id)),
        ),
        _call(store, "report", "reportorial"),
        store.reports.chunks_of(community_id),
    )


def answer_secrets(store: Store, document_id: int) -> None:
    """Keep an answer that rests on a document, and a message that cites it."""
    chunk, *_ = store.chunks.of_document(document_id)
    path = store.documents.get(document_id).path
    call = store.journal.add_generation(_call(store, "answer", "responsorial"), [chunk.id])
    store.answers.put("k", "Who?", json.dumps("kedgereeing"), revision=store.revision(), generation_id=call)
    talk = store.talk.create("A talk")
    store.talk.add(talk, "user", "What did the person ask of zanzibarine things?")
    citations = [
        NewCitation(1, "[DC] secret.txt", "document", path, None, chunk.start, chunk.end, chunk.text),
        NewCitation(
            2,
            "[KG] Labellatish",
            "entity",
            path,
            None,
            chunk.start,
            chunk.start + 11,
            chunk.text[:11],
            chunk.id,
        ),
    ]
    said = store.talk.add(talk, "assistant", "They said so.", citations=citations, generation_id=call)
    store.traces.put(said, {"question": "marginaliac"}, [chunk.id])


def keep_something(store: Store) -> int:
    """A document that stays and speaks of one entity that the secret one speaks of too."""
    kept = add(store, "kept.txt", "Ordinary words remain here.\n普通的词")
    for chunk in store.chunks.of_document(kept):
        said = Reading((EntityMention("Kept", "kept", "Thing", "It stays."),))
        store.graph.record(chunk.id, said, _call(store, "extraction", "kept output"))
    return kept


def _call(store: Store, task: str, output: str) -> GenerationRow:
    prompt = store.journal.put_prompt(f"glyptotheca {output}" if "kept" not in output else "ordinary prompt")
    return GenerationRow(task, prompt, "model", "{}", 100, 7, 50, "stop", output)


def words_of(*groups: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Each word with the place where it stood."""
    return {word: where for group in groups for where, words in group.items() for word in words}


def found_in(folder: Path, words: dict[str, str]) -> list[str]:
    """Where words are left in the files of a folder, in any spelling of letters and encoding."""
    found = []
    for file in sorted(item for item in folder.rglob("*") if item.is_file()):
        content = file.read_bytes()
        for text, encoding in _readings(content):
            found += [
                f"{where}: {word} in {file.name} as {encoding}"
                for word, where in words.items()
                if word in text
            ]
    return found


def _readings(content: bytes) -> Iterable[tuple[str, str]]:
    """The bytes as text, lower-cased, in every encoding that SQLite or Python may have written."""
    yield content.decode("utf-8", "ignore").lower(), "UTF-8"
    for start in (0, 1):
        for encoding in ("utf-16-le", "utf-16-be"):
            yield content[start:].decode(encoding, "ignore").lower(), encoding
