"""The measure of extraction: open sets with marked entities and relations, read by this installation.

Each set is read twice: with the settings' own types, from which everything comes that needs none, and with
the set's types, from which only the figures about types come.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import repeat
from pathlib import Path
from typing import Any, TextIO

from localrag.bench.extraction_claims import ClaimCounts, read_claims
from localrag.bench.extraction_data import GoldItem, GoldSet
from localrag.bench.extraction_figures import Figures, Further, figures, further
from localrag.bench.extraction_run import Passage, Run, read_set
from localrag.bench.extraction_scores import Tally, match, tally
from localrag.engine.client import WorkerModel
from localrag.extraction.claims import ClaimReader
from localrag.graph import resolution
from localrag.sections import ChunkingSettings, ExtractionSettings

Progress = Callable[[str, int, int], None]
"""Told what is being read, how many passages are done, and of how many."""


@dataclass(frozen=True)
class Way:
    """How sets are read."""

    extraction: ExtractionSettings
    """Profile, types, gleaning and bounds."""

    chunking: ChunkingSettings
    """How passages are cut."""

    automatic: bool = True
    """Whether names that surely mean the same are merged."""

    claims: ClaimReader | None = None
    """What reads claims of the passages too, if they are wanted."""


@dataclass(frozen=True)
class Measured:
    """One set as it was read once under one profile."""

    gold: GoldSet
    """What is marked in it."""

    settings: ExtractionSettings
    """How it was read."""

    schema: bool
    """Whether the model was given the set's types."""

    run: Run
    """What came of it."""

    figures: Figures
    """What is told of it."""

    further: Further
    """More of the same."""

    claims: ClaimCounts | None = None
    """What came of the claims, if they were read."""

    def more(self) -> dict[str, Any]:
        """The closer look, as in the JSON."""
        claims = None if self.claims is None else self.claims.as_json()
        return {**asdict(self.further), "claims": claims, "given": self.given()}

    def given(self) -> dict[str, Any]:
        """The types that the model was given, as in the JSON."""
        entities = {passage.entity_types for passage in self.run.passages}
        relations = {passage.relation_types for passage in self.run.passages}
        return {
            "entity_types": sorted(set[str]().union(*entities)),
            "entity_types_vary": len(entities) > 1,
            "relation_types": sorted(set[str]().union(*relations)),
            "relation_types_vary": len(relations) > 1,
        }

    def as_json(self) -> dict[str, Any]:
        """An entry of `runs`."""
        return {
            "set": self.gold.name,
            "profile": self.settings.profile,
            "gleaning": self.settings.gleaning,
            "types": "schema" if self.schema else "settings",
            "figures": asdict(self.figures),
            "further": self.more(),
        }


def measure(
    model: WorkerModel,
    gold: GoldSet,
    way: Way,
    *,
    schema: bool,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Measured:
    """Read a set and score it.

    Raises `Cancelled` if `cancel` is set meanwhile, and what the engine raises.
    """
    label = f"{gold.name} ({way.extraction.profile}{', with its types' if schema else ''})"
    if progress is not None:
        progress(label, 0, len(gold.items))

    def done(count: int) -> None:
        if progress is not None:
            progress(label, count, len(gold.items))

    run = read_set(model, gold, way.extraction, way.chunking, schema=schema, progress=done, cancel=cancel)
    nodes: Iterable[Iterable[frozenset[str]] | None] = merged(run.passages) if way.automatic else repeat(None)
    counts = (tally(p.item, p.found, own) for p, own in zip(run.passages, nodes, strict=False))
    total = reduce(Tally.__add__, counts, Tally())
    count = len(gold.items)
    claims = None
    if way.claims is not None and not schema:
        if progress is not None:
            progress(f"claims of {gold.name}", 0, 0)
        claims = read_claims(model, run.passages, way.claims, cancel)
    return Measured(
        gold,
        way.extraction,
        schema,
        run,
        figures(gold, total, count, run.seconds, schema=schema),
        further(gold, total, count, run.cpu_seconds, schema=schema),
        claims,
    )


def measure_all(
    model: WorkerModel,
    golds: Sequence[GoldSet],
    ways: Sequence[Way],
    *,
    typed: bool,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    dump: TextIO | None = None,
) -> list[tuple[Measured, Measured | None]]:
    """Read each set in each of the ways, and with `typed` once more with the set's own types.

    What is extracted is written to `dump` set by set. A set that can tell nothing about types is read once.
    Raises what `measure` does.
    """
    pairs = []
    for gold in golds:
        for way in ways:
            runs = []
            for schema in (False, True) if typed and gold.exhaustive else (False,):
                run = measure(model, gold, way, schema=schema, progress=progress, cancel=cancel)
                if dump is not None:
                    write_dump(dump, run)
                runs.append(run)
            pairs.append((runs[0], runs[1] if len(runs) > 1 else None))
    return pairs


def merged(passages: Sequence[Passage]) -> list[list[frozenset[str]]]:
    """The nodes of each passage's graph after the automatic merges, each as the keys that it holds.

    The passages are merged together, each as a document of its own, as they would be in one knowledge base.
    """
    read = [
        resolution.Passage(
            document=passage.item.id,
            text=passage.item.text,
            mentions=tuple((e.key, e.name, e.type) for e in passage.entities),
            pairs=tuple((r.source_key, r.target_key) for r in passage.relations),
        )
        for passage in passages
    ]
    found = []
    for meanings in resolution.clusters(read):
        nodes: dict[str, set[str]] = {}
        for key, meant in meanings.items():
            nodes.setdefault(meant, set()).add(key)
        found.append([frozenset(keys) for keys in nodes.values()])
    return found


def with_types(plain: Measured, typed: Measured | None) -> Figures:
    """The figures of a set: those about types from the run that was given them, all others from the other."""
    if typed is None:
        return plain.figures
    return replace(plain.figures, typed_f1=typed.figures.typed_f1, relation_f1=typed.figures.relation_f1)


def as_json(
    pairs: Iterable[tuple[Measured, Measured | None]],
    about: dict[str, Any],
    others: Iterable[Measured] = (),
    peers: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The documented JSON: `about` at the top, then what each set gave under each profile.

    `pairs` are the runs with the settings' types and, where there were any, with the sets' own.
    """
    sets: dict[str, dict[str, Any]] = {}
    more: dict[str, dict[str, Any]] = {}
    runs = []
    for plain, typed in pairs:
        name, profile = plain.gold.name, plain.settings.profile
        sets.setdefault(name, {})[profile] = asdict(with_types(plain, typed))
        more.setdefault(name, {})[profile] = plain.more()
        runs += [typed.as_json()] if typed is not None else []
    runs += [other.as_json() for other in others]
    return {**about, "sets": sets, "further": more, "runs": runs, "peers": peers or {}}


def write_dump(file: TextIO, measured: Measured) -> None:
    """Write a line of JSON for each passage: what was extracted, what is marked, and how they compare."""
    for passage in measured.run.passages:
        row = {
            "set": measured.gold.name,
            "profile": measured.settings.profile,
            "gleaning": measured.settings.gleaning,
            "types": "schema" if measured.schema else "settings",
            **_passage(passage),
        }
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    file.flush()


def _passage(passage: Passage) -> dict[str, Any]:
    matches = match(passage.item, passage.found)
    return {
        "id": passage.item.id,
        "text": passage.item.text,
        "entities": [asdict(entity) for entity in passage.entities],
        "relations": [asdict(relation) for relation in passage.relations],
        "rejects": [asdict(reject) for reject in passage.rejects],
        "failure": passage.failure,
        "given": {
            "entity_types": list(passage.entity_types),
            "relation_types": list(passage.relation_types),
        },
        "gold": _gold(passage.item),
        "hits": list(matches.hits),
        "missed": list(matches.missed),
        "wrong": list(matches.wrong),
        "cost": asdict(passage.found.cost),
    }


def _gold(item: GoldItem) -> dict[str, Any]:
    entities = [{"name": e.name, "names": sorted(e.names), "types": sorted(e.types)} for e in item.entities]
    relations = [
        {"head": item.entities[head].name, "type": type_, "tail": item.entities[tail].name}
        for head, type_, tail in sorted(item.relations)
    ]
    return {"entities": entities, "relations": relations}


def only(gold: GoldSet, ids: Sequence[str]) -> GoldSet:
    """The set with the passages of these ids alone, in its own order."""
    wanted = set(ids)
    return replace(gold, items=tuple(item for item in gold.items if item.id in wanted))


def open_dump(path: Path) -> TextIO:
    """A new file for the dump. Raises `OSError`."""
    return path.open("w", encoding="utf-8", newline="\n")


def rows(measured: Iterable[tuple[Measured, Measured | None]]) -> Iterator[tuple[str, ...]]:
    """The figures as the cells of a table."""
    for plain, typed in measured:
        told = with_types(plain, typed)
        yield (
            plain.gold.name,
            plain.settings.profile,
            " / ".join(cell(v) for v in (told.entity_p, told.entity_r, told.entity_f1)),
            cell(told.typed_f1),
            cell(told.pair_recall),
            cell(told.relation_f1),
            cell(told.nodes_per_gold),
            f"{told.seconds_per_passage:.2f}",
            f"{told.tokens_per_passage:.0f}",
        )


def health(measured: Iterable[tuple[Measured, Measured | None]]) -> Iterator[tuple[str, ...]]:
    """What must be zero, as the cells of a table."""
    for plain, _ in measured:
        told = plain.figures
        shares = (
            told.invented_share,
            told.unusable_share,
            told.orphan_share,
            told.runaway_share,
            plain.further.cut_share,
        )
        yield (plain.gold.name, plain.settings.profile, *(f"{share:.1%}" for share in shares))


def cell(value: float | None) -> str:
    """A figure in a table."""
    return "–" if value is None else f"{value:.3f}"
