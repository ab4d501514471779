"""How an answer came about, laid out for people: mode, keywords, candidates, what was read, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localrag.cli import output

MOST = 12
"""Candidates of a kind that are shown; --json has all."""

_KINDS = (("chunk", "passages"), ("entity", "entities"), ("relation", "relations"))
_WHY = {
    "room": "no room for it",
    "shortened": "only a part of it",
    "shown": "a better one shows the same text",
}


def put_explanation(data: Mapping[str, Any]) -> None:
    """Write an explanation, as `KnowledgeBase.explain` gives it, to stdout."""
    output.put("\nHow this answer came about")
    output.put_facts(_facts(data))
    for kind, name in _KINDS:
        _put_candidates(data["candidates"].get(kind, ()), _read(data, kind), name)
    cut = data["context"].get("cut", ()) if data["context"] else ()
    if cut:
        output.put("Found and cut")
        output.put_table(
            ["what", "name", "why"],
            [(row["kind"], _shortened(row["label"]), _WHY.get(row["why"], row["why"])) for row in cut],
        )
    for note in data["context"].get("notes", ()) if data["context"] else ():
        output.put_text(note)


def _facts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    words = data["keywords"]
    mode = data["mode"]
    if data["asked"]:
        mode += f" ({data['asked']}{': ' + data['why'] if data['why'] else ''})"
    facts = [("Searched", data["question"]), ("Mode", mode)]
    for name, title in (("high", "Themes"), ("low", "Things")):
        if words[name]:
            facts.append((title, f"{', '.join(words[name])} (by {_BY.get(words['by'], words['by'])})"))
    facts += [("Looked up", f"{step['question']} {step['answer']}") for step in data.get("steps", ())]
    if data["model"]:
        facts.append(
            ("Model", ", ".join(part for part in (data["model"], data["style"], _drawn(data)) if part))
        )
    if data["context"]:
        facts.append(("Room", _room(data["context"])))
    if data["call"]:
        call = data["call"]
        facts.append(("Tokens", f"{call['prompt_tokens']:,} read, {call['output_tokens']:,} written"))
    if data["certainty"] is not None:
        facts.append(("Certainty", f"{100 * data['certainty']:.0f} % that what was found holds the answer"))
    facts.append(("Time", _times(data)))
    return facts


_BY = {"words": "the words of the question", "model": "the model", "person": "you"}


def _drawn(data: Mapping[str, Any]) -> str:
    call = data["call"]
    if not call:
        return ""
    return f"seed {call['seed']}" if call["temperature"] else "the likeliest text"


def _room(context: Mapping[str, Any]) -> str:
    used = context.get("used", {})
    parts = [f"{name} {count:,}" for name, count in used.items() if count]
    return f"{', '.join(parts)} tokens; at most {context.get('budget', 0):,} for what was found"


def _times(data: Mapping[str, Any]) -> str:
    steps = [f"{name} {value:,.0f} ms" for name, value in data["milliseconds"].items() if value >= 0.5]
    whole = [f"{_AT.get(name, name)} {value:,.2f} s" for name, value in data["seconds"].items()]
    return "; ".join(part for part in (", ".join(steps), ", ".join(whole)) if part)


_AT = {"retrieval": "found after", "first_text": "first word after", "total": "done after"}


def _read(data: Mapping[str, Any], kind: str) -> dict[int, list[int]]:
    """The numbers in the prompt of rows of a kind."""
    found: dict[int, list[int]] = {}
    for row in data["context"].get("shown", ()) if data["context"] else ():
        if row["kind"] == kind:
            found.setdefault(row["id"], []).append(row["number"])
    return found


def _put_candidates(rows: Sequence[Mapping[str, Any]], read: Mapping[int, list[int]], name: str) -> None:
    """A table of the best candidates: place in the result, number in the prompt, place in each search."""
    if not rows:
        return
    searches = list(dict.fromkeys(search for row in rows for search in row["places"]))
    shown = rows[:MOST]
    output.put_table(
        [("place", "right"), ("read as", "right"), name, *((search, "right") for search in searches)],
        [
            (
                str(row["chosen"] or ""),
                ", ".join(f"[{number}]" for number in read.get(row["id"], ())),
                _shortened(row["label"]),
                *(_place(row["places"].get(search)) for search in searches),
            )
            for row in shown
        ],
        title=f"Best {len(shown)} of {len(rows):,} {name}; in each search the place and the score",
    )


def _place(place: Sequence[float] | None) -> str:
    return f"{place[0]:.0f}  {place[1]:.3g}" if place else ""


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
