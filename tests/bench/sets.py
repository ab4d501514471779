"""Tiny sets of our own making, in the form of the open ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HARBOUR: dict[str, Any] = {
    "id": "h1",
    "text": "Ada Lund of the Merrow Bridge Company repaired the Harbour Bridge in Tarn. Lund lived in Tarn.",
    "entities": [
        {"name": "Ada Lund", "type": "PER", "aliases": ["Lund"]},
        {"name": "Merrow Bridge Company", "type": "ORG"},
        {"name": "the Harbour Bridge", "type": "THING"},
        {"name": "Tarn", "type": "LOC"},
    ],
    "relations": [
        {"head": "Ada Lund", "tail": "Merrow Bridge Company", "type": "works for"},
        {"head": "Ada Lund", "tail": "Tarn", "type": "lives in"},
    ],
    "tier": "S",
}
MILL: dict[str, Any] = {
    "id": "h2",
    "text": "Piet Koster bought the Old Mill.",
    "entities": [{"name": "Piet Koster", "type": "PER"}, {"name": "Old Mill", "type": "THING"}],
    "relations": [{"head": "Piet Koster", "tail": "Old Mill", "type": "owns"}],
    "tier": "M",
}
TEA: dict[str, Any] = {
    "id": "t1",
    "text": "青石集团收购了临江茶馆。",
    "entities": [{"name": "青石集团", "type": "ORG"}, {"name": "临江茶馆", "type": "ORG"}],
    "relations": [{"head": "青石集团", "tail": "临江茶馆", "type": "收购"}],
    "tier": "S",
}
SCHEMA: dict[str, dict[str, object]] = {
    "entity_types": {"PER": "person", "ORG": "organisation", "LOC": "location", "THING": "a thing, and more"},
    "relation_types": {"works for": "a person works there", "lives in": 1, "owns": 1},
}


def write_set(folder: Path, name: str, rows: list[dict[str, Any]], schema: object = None) -> Path:
    """A set in a folder of sets; returns the latter."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (own / "extraction.jsonl").write_text(lines + "\n", encoding="utf-8")
    if schema is not None:
        (own / "schema.json").write_text(json.dumps(schema, ensure_ascii=False), encoding="utf-8")
    return folder
