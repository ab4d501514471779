"""Tiny sets of questions of our own making, in the form of the open ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PASSAGES: list[dict[str, Any]] = [
    {"id": "p-bridge", "title": "Halden Bridge", "text": "Tomas Berg repaired the Halden Bridge in 1931."},
    {"id": "p-berg", "title": "Tomas Berg", "text": "Tomas Berg was born in Ravel. He kept bees."},
    {"id": "p-mill", "title": "Old Mill", "text": "Piet Koster bought the Old Mill from the town of Ravel."},
    {"id": "p-ferry", "title": "Ferry", "text": "The ferry to Oster runs twice a day, but not on Sundays."},
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q-who",
        "question": "Who repaired the Halden Bridge?",
        "answers": ["Tomas Berg", "Berg"],
        "supporting_ids": ["p-bridge"],
        "tier": "S",
    },
    {
        "id": "q-born",
        "question": "Where was the man born who repaired the Halden Bridge?",
        "answers": ["Ravel"],
        "supporting_ids": ["p-bridge", "p-berg"],
        "tier": "S",
    },
    {
        "id": "q-sunday",
        "question": "Does the ferry to Oster run on Sundays?",
        "answers": ["No"],
        "supporting_ids": ["p-ferry"],
        "tier": "M",
    },
    {
        "id": "q-colour",
        "question": "Which colour has the Old Mill?",
        "answers": ["Insufficient information"],
        "supporting_ids": [],
        "type": "Null",
        "tier": "S",
    },
]


def write_questions(
    folder: Path,
    name: str,
    questions: list[dict[str, Any]] | None = None,
    passages: list[dict[str, Any]] | None = None,
) -> Path:
    """A set in a folder of sets; returns the latter."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    for file, rows in (("corpus", passages or PASSAGES), ("questions", questions or QUESTIONS)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (own / f"{file}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def tiered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, each in the small run."""
    return [{**row, "tier": "S"} for row in rows]
