"""Scores the graphs that another program made of the same passages, and sets them beside this one's.

Another program's results are a folder with a file `SET.jsonl` for each set, a line for each passage:
`{"id", "entities": [{"name", "type"}], "relations": [{"source", "target"}], "orphans": [name, ...],
"dropped", "seconds", "cpu_seconds", "calls": [{"prompt_tokens", "output_tokens", "finish", "text"}, ...]}`,
where `orphans` are entities that are there only because a relation named them, and `dropped` counts rows that
the program could not use. As a module it prints the JSON that `localrag bench extraction --peer` takes.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import reduce
from pathlib import Path
from typing import Any

from localrag.bench.extraction import Measured, Progress, Way, cell, measure, only
from localrag.bench.extraction_data import FILE, GoldSet, load_set
from localrag.bench.extraction_figures import Figures, figures, further
from localrag.bench.extraction_run import in_loop
from localrag.bench.extraction_scores import Cost, FoundEntity, FoundItem, FoundRelation, Tally, tally
from localrag.engine.client import WorkerModel
from localrag.errors import LocalragError, UsageError

_COMPARED = ("entity_p", "entity_r", "entity_f1", "pair_recall", "seconds_per_passage")


def score(gold: GoldSet, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What another program's graphs are worth: `ids`, `figures`, `further` and what it had to drop.

    Raises `KeyError`, `TypeError` or `ValueError` for results that have another form, and `UsageError` if
    none belongs to the set.
    """
    by_id = {str(row["id"]): row for row in results}
    chosen = only(gold, list(by_id))
    if not chosen.items:
        raise UsageError(f"None of the results belongs to {gold.name}.", "Were they made with other data?")
    total, seconds, cpu, dropped = Tally(), 0.0, 0.0, 0
    for item in chosen.items:
        row = by_id[item.id]
        total += tally(item, _found(row))
        seconds += float(row["seconds"])
        cpu += float(row["cpu_seconds"])
        dropped += int(row["dropped"])
    count = len(chosen.items)
    return {
        "ids": [item.id for item in chosen.items],
        "figures": asdict(figures(chosen, total, count, seconds, schema=False)),
        "further": asdict(further(chosen, total, count, cpu, schema=False)),
        "dropped_rows": dropped,
    }


def _found(row: Mapping[str, Any]) -> FoundItem:
    entities: dict[str, FoundEntity] = {}
    for entity in row["entities"]:
        name = str(entity["name"])
        entities.setdefault(name, FoundEntity(name, frozenset((name,)), str(entity.get("type", ""))))
    calls = [_cost(call) for call in row["calls"]]
    cost = reduce(Cost.__add__, calls, Cost())
    if row["dropped"] and not cost.unusable:
        # It does not say in which of its calls the rows stood.
        cost += Cost(unusable=1)
    return FoundItem(
        id=str(row["id"]),
        entities=tuple(entities.values()),
        relations=tuple(FoundRelation(str(r["source"]), str(r["target"])) for r in row["relations"]),
        cost=cost,
        assumed=frozenset(map(str, row["orphans"])),
    )


def _cost(call: Mapping[str, Any]) -> Cost:
    cut = call["finish"] == "length"
    return Cost(
        calls=1,
        unusable=int(not str(call["text"]).strip()),
        cut=int(cut),
        runaway=int(cut and in_loop(str(call["text"]))),
        prompt_tokens=int(call["prompt_tokens"]),
        output_tokens=int(call["output_tokens"]),
    )


def read_peers(paths: Iterable[Path]) -> dict[str, dict[str, dict[str, Any]]]:
    """What this module printed, by program and by set. Raises `UsageError` for another file."""
    peers: dict[str, dict[str, dict[str, Any]]] = {}
    for path in paths:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            for name, sets in found.items():
                peers.setdefault(str(name), {}).update({str(key): _checked(one) for key, one in sets.items()})
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.", "Give another --peer.") from error
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            raise UsageError(
                f"{path} holds no scores of another program.", "scripts/bench-lightrag makes such a file."
            ) from error
    return peers


def _checked(one: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of a set. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    names = [field.name for field in fields(Figures)]
    figures_ = {name: None if one["figures"][name] is None else float(one["figures"][name]) for name in names}
    float(one["further"]["cpu_seconds_per_passage"])
    return {**one, "ids": [str(id_) for id_ in one["ids"]], "figures": figures_}


def beside(peer: Mapping[str, Any], own: Measured) -> dict[str, Any]:
    """Another program's scores of a set with ours of the same passages."""
    told, ours = peer["figures"], asdict(own.figures)
    taken, spent = own.figures.seconds_per_passage, peer["further"].get("cpu_seconds_per_passage")
    cpu = own.further.cpu_seconds_per_passage
    return {
        **peer,
        "profile": own.settings.profile,
        "gleaning": own.settings.gleaning,
        "localrag": {"figures": ours, "further": asdict(own.further)},
        "difference": {name: _less(ours[name], told.get(name)) for name in _COMPARED},
        "times_as_fast": round(told["seconds_per_passage"] / taken, 1) if taken else None,
        "times_less_cpu": round(spent / cpu, 1) if spent and cpu else None,
    }


def compare(
    peers: Mapping[str, Mapping[str, dict[str, Any]]],
    model: WorkerModel,
    data: Path,
    names: Iterable[str],
    way: Way,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> tuple[dict[str, dict[str, Any]], list[Measured]]:
    """Read the passages that other programs read, of the sets of these names, and set the scores beside.

    Returns these by program and by set, and our runs. Raises what `measure` does, and `UsageError` if a
    program's passages are not in the data.
    """
    found: dict[str, dict[str, Any]] = {}
    runs: dict[tuple[str, tuple[str, ...]], Measured] = {}
    wanted = set(names)
    for peer, sets in peers.items():
        for name, scores in sets.items():
            if name not in wanted:
                continue
            key = (name, tuple(scores["ids"]))
            if key not in runs:
                gold = only(load_set(data, name, "M"), scores["ids"])
                if len(gold.items) != len(set(scores["ids"])):
                    raise UsageError(f"{name} lacks passages that {peer} read.", "Give the same --data.")
                runs[key] = measure(model, gold, way, schema=False, progress=progress, cancel=cancel)
            found.setdefault(peer, {})[name] = beside(scores, runs[key])
    return found, list(runs.values())


def rows(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """The comparison as the cells of a table, a line for each program."""
    for peer, sets in found.items():
        for name, scores in sets.items():
            for program, told in ((peer, scores), ("localrag", scores["localrag"])):
                values, more = told["figures"], told["further"]
                yield (
                    name,
                    program,
                    str(len(scores["ids"])),
                    *(cell(values[key]) for key in ("entity_f1", "pair_recall", "seconds_per_passage")),
                    cell(more["cpu_seconds_per_passage"]),
                )


def _less(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else round(ours - theirs, 4)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the scores of a folder of results; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m localrag.bench.extraction_peers", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--results", type=Path, required=True, help="folder of the results")
    parser.add_argument("--name", required=True, help="what the other program is called")
    options = parser.parse_args(arguments)
    try:
        sets = {}
        for path in sorted(options.results.glob("*.jsonl")):
            if (options.data / path.stem / FILE).is_file():
                sets[path.stem] = score(load_set(options.data, path.stem, "M"), _lines(path))
    except LocalragError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print(json.dumps({options.name: sets}, ensure_ascii=False, indent=2))
    return 0


def _lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; one that an interruption cut is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            print(f"A line of {path.name} is cut off and left out.", file=sys.stderr)
    return rows


if __name__ == "__main__":
    sys.exit(main())
