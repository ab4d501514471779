"""Writes a knowledge base of the present format, with rows in every table, as a file for later tests.

Run it once when a format is final, before the next one is begun:

    python -m tests.store.files.make

It writes `format-N.localrag.gz` beside this module, and nothing if that is there.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from localrag.graph.names import fold
from localrag.store import Store
from localrag.store.curation_rows import AddTag, DocumentRef, EditEntity, MergeEntities, SplitEntity, Where
from localrag.store.followed_rows import Place, RootRow
from localrag.store.migrations import FORMAT, TABLES
from localrag.store.report_rows import Finding, NewClaim, NewCommunity, NewReport
from localrag.store.rows import EntityMention, Reading, Reject, RelationMention
from localrag.store.talk_rows import NewCitation
from tests.store.helpers import add, embed_missing, generation, name_words

TEXTS = {
    "bridge.md": "Marta Lind built the Halden Bridge in 1931\nThe bridge crosses the river Orla",
    "mill.txt": "Marta Lind bought the old mill\nM. Lind made a workshop of it",
    "茶馆.md": "陈玉兰在青石镇开办了临江茶馆\n茶馆的院子里有一棵银杏树",
    "codes.txt": "Error ORA-01555 was seen in C++ code\nThis passage could not be read",
}
NAMES = ("Marta Lind", "M. Lind", "Halden Bridge", "Orla", "陈玉兰", "临江茶馆", "青石镇", "ORA-01555")


def main() -> int:
    """Write the file; returns the exit code."""
    target = Path(__file__).parent / f"format-{FORMAT}.localrag.gz"
    if target.exists():
        print(f"{target.name} is there already.")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stored.localrag"
        with Store.create(path) as store:
            fill(store)
            problems = store.check()
            counts = store.info().counts
        empty = sorted(table for table in TABLES if not counts[table])
        if problems or empty:
            print(*problems, *(f"{table} is empty." for table in empty), sep="\n")
            return 1
        # Without the time of the making in it, so that the same content gives the same file.
        target.write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
    print(f"Wrote {target.name} ({target.stat().st_size:,} bytes).")
    return 0


def fill(store: Store) -> None:
    """Put something into every table."""
    store.roots.put(RootRow("/library", include=("*.md", "*.txt"), exclude=("drafts/**",)))
    for path, text in TEXTS.items():
        name_words(store, add(store, path, text))
    store.documents.add_place(1, Place("/backup", "old/bridge.md", 74, 1700000000.5))
    prompt = store.journal.put_prompt("Read this passage.")
    *chunks, last = store.chunks.pending()
    for chunk in chunks:
        store.graph.record(
            chunk.id,
            _reading(chunk.text),
            generation(f"read {chunk.id}", prompt_hash=prompt),
            [Reject("entity", "?", "It has no name.")],
        )
    store.chunks.mark_failed(last.id, "The model wrote nothing.")
    _merge(store)
    _decide(store)
    _sum_up(store)
    embed_missing(store)
    _talk(store)


def _reading(text: str) -> Reading:
    found = [name for name in NAMES if name in text]
    mentions = tuple(
        EntityMention(
            name,
            fold(name),
            "Person" if "Lind" in name or name == "陈玉兰" else "Thing",
            f"{name} is named here.",
            text.find(name),
            text.find(name) + len(name),
        )
        for name in found
    )
    relations = tuple(
        RelationMention(fold(found[0]), fold(name), "work, place", "They are named together.", 3.0, 0, 5)
        for name in found[1:]
    )
    return Reading(mentions, relations)


def _merge(store: Store) -> None:
    """Names that are merged by themselves, in a document and everywhere, and one that is looked at later."""
    store.merges.bring_up()
    first, *_ = store.chunks.of_document(1)
    store.graph.record(
        first.id, _reading(first.text), generation("again", prompt_hash=store.journal.put_prompt("Again."))
    )


def _decide(store: Store) -> None:
    store.decisions.add(MergeEntities(("m lind",), ("M. Lind",), "marta lind", "Marta Lind"))
    store.decisions.add(EditEntity("orla", "A river."))
    store.decisions.add(AddTag(DocumentRef("library", "bridge.md"), "Bridges"))
    store.decisions.add(SplitEntity("orla", "orla river", "Orla (river)", Where(names=("Orla",))))
    store.decisions.undo()


def _sum_up(store: Store) -> None:
    """Claims, aliases, summaries, communities and reports."""
    store.claims.record(
        1,
        [
            NewClaim(
                "marta lind", "BUILDING", "TRUE", "She built a bridge.", ((0, 10),), "halden bridge", "1931"
            )
        ],
        replace(generation("claims"), task="claims"),
    )
    store.aliases.put(1, "halden bridge", "The Bridge", "the bridge")
    marta = store.graph.find_by_keys(["marta lind"])[0]
    store.summaries.put("entity", marta.id, "She built and bought.", replace(generation("s"), task="summary"))
    first = store.graph.top_entities(3)
    (community, *_) = store.reports.put_communities([NewCommunity(0, tuple(row.id for row in first))])
    assert community is not None
    store.reports.put(
        community,
        NewReport(
            "Buildings",
            "Who built what.",
            (Finding("A bridge", "It stands."),),
            5.0,
            "Few.",
            (("entity", marta.id),),
        ),
        replace(generation("report"), task="report"),
        [1],
    )


def _talk(store: Store) -> None:
    """A conversation whose answer is kept."""
    session = store.talk.create("About the bridge")
    store.talk.add(session, "user", "Who built it?")
    call = store.journal.add_generation(replace(generation("Marta Lind [1]."), task="answer"), [1])
    text = "Marta Lind built the Halden Bridge"
    cited = NewCitation(1, "[1] bridge.md", "document", "bridge.md", None, 0, len(text), text, 1)
    said = store.talk.add(session, "assistant", "Marta Lind [1].", citations=[cited], generation_id=call)
    store.traces.put(said, {"question": "Who built it?"}, [1])
    store.answers.put("key", "Who built it?", "{}", revision=store.revision(), generation_id=call)


if __name__ == "__main__":
    sys.exit(main())
