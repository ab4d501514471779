"""Open data for measures, read from a folder of sets; nothing of it lies in this repository."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from localrag.errors import UsageError


@dataclass(frozen=True)
class DataPassage:
    """One text of a set."""

    id: str
    """The set's own id."""

    title: str
    """Its title, possibly empty."""

    text: str
    """The text."""


def passages(folder: Path, set_name: str, tier: str, limit: int = 0) -> list[DataPassage]:
    """The passages of a set's tier (`XS`, `S` or `M`, nested), in the file's order; 0 is all.

    Raises `UsageError` if the folder has no such set or the tier is empty.
    """
    path = folder / set_name / "corpus.jsonl"
    if not path.is_file():
        raise UsageError(
            f"There is no {set_name}/corpus.jsonl in {folder}.", "Give the folder of the sets with --data."
        )
    allowed = {"XS": {"XS"}, "S": {"XS", "S"}}.get(tier.upper())
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            if allowed is None or row.get("tier") in allowed:
                found.append(DataPassage(str(row["id"]), str(row.get("title", "")), str(row["text"])))
        except (ValueError, KeyError, AttributeError) as error:
            raise UsageError(f"Line {number} of {path} is not a passage: {error}.") from error
    if not found:
        raise UsageError(f"{set_name} has no passages of tier {tier}.")
    return found[:limit] if limit else found
