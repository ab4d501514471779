"""Says what an answer rests on, in sections of rows; nothing here is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localrag.plain import plain
from localrag.tui.words import count, share

if TYPE_CHECKING:
    from localrag.answering.checking import SentenceCheck
    from localrag.answering.tables_types import TableAnswer
    from localrag.tui.basis import Basis

MOST = 12
"""Rows of a section that are shown at first."""

_BAR = 12
_KINDS = (
    ("chunk", "Passages", "passage"),
    ("entity", "Entities", "entity"),
    ("relation", "Relations", "relation"),
)
_MODES = {
    "mix": "passages, entities and relations, found by all searches",
    "naive": "passages alone",
    "local": "the entities that the question names, and what they are linked to",
    "global": "the relations that fit its themes",
    "hybrid": "local and global together",
    "path": "what leads from one entity of the question to another",
    "bypass": "an answer from what the model knows, without a search",
    "drift": "reports about the themes first, then what they lead to",
    "communities": "reports about the themes of the documents",
    "table": "a list or a count from the tables of the knowledge base",
}
_SEARCHES = {
    "fulltext": "words",
    "vector": "meaning",
    "keywords": "keywords",
    "name": "name",
    "graph": "graph",
    "names": "shared names",
    "walk": "walk",
    "path": "path",
    "rerank": "reranker",
}
_WHY = {
    "room": "there was no room for it",
    "shortened": "only the sentences near the question's words were read",
    "shown": "a better passage shows the same text",
}
_BY = {"words": "the words of the question", "model": "the model", "person": "you"}
_VERDICTS = {
    "supported": "the source says so",
    "partly": "the source says a part of it",
    "not": "not found in the source",
    "unchecked": "could not be checked",
}
_PARTS = (
    ("passages", "Passages"),
    ("entities", "Entities"),
    ("relations", "Relations"),
    ("history", "Said before"),
    ("wishes", "Your wishes"),
)
_STEPS = {
    "names": "Question's names",
    "keywords": "Keywords",
    "query": "Question's meaning",
    "search": "Searching",
    "rerank": "Reranking",
    "total": "Searching in all",
}
_TIMES = {"retrieval": "Found", "first_text": "First word", "total": "Answer complete"}
_ENDS = {
    "stop": "it ended by itself",
    "length": "it was cut off at its longest length",
    "cancelled": "it was stopped",
    "error": "the model failed",
}


@dataclass(frozen=True)
class Row:
    """One thing that is told."""

    text: str
    """What it says, harmless; may have several lines."""

    chunk: int | None = None
    """The chunk that is opened from it."""

    span: tuple[int, int] | None = None
    """The stretch of the document that was read of it."""

    strong: bool = False
    """Whether it was read by the model, where others were only found."""

    entity: str = ""
    """The name of the entity that is opened from it."""


@dataclass(frozen=True)
class Section:
    """Rows under a heading, which can be folded."""

    title: str
    """The heading; says what is below, also when it is folded."""

    rows: tuple[Row, ...]
    """What it holds; never empty: where there is nothing, it says so."""

    folded: bool = True
    """Whether it is folded at first."""


def sections(basis: Basis, refuse_below: int = 0) -> list[Section]:
    """What is told of an answer; `refuse_below` is the certainty in percent below which none is written."""
    data = basis.explanation
    found = [_summary(basis, refuse_below)]
    if basis.table is not None:
        found.append(_table(basis.table))
    if data:
        found.append(_room(data))
        found += [_candidates(data, *kind) for kind in _KINDS]
        found.append(_claims(basis))
        found.append(_cut(data))
    if basis.checks:
        found.append(_checks(basis.checks))
    if data:
        found += [_model(data), _times(data)]
    if basis.notes:
        found.append(Section(f"Notes: {len(basis.notes)}", tuple(Row(plain(note)) for note in basis.notes)))
    return found


def _summary(basis: Basis, refuse_below: int) -> Section:
    data = basis.explanation
    lines = [f"Asked: {plain(basis.asked)}"]
    if basis.rewritten:
        lines.append(f"Searched as: {plain(basis.rewritten)}")
    for asked, named in basis.steps:
        lines.append(f"Looked up first: {plain(asked)} {plain(named) or 'nothing was found'}")
    lines += _mode(str(data.get("mode", "")) or basis.mode, data)
    lines += list(_keywords(data))
    if data.get("filter"):
        lines.append("Only a part of the documents was searched, by the filter of the question.")
    if basis.coverage is not None:
        lines.append(f"Of the documents: {_coverage(*basis.coverage)}")
    lines.append(_certainty(data, refuse_below))
    if basis.abstained:
        lines.append("The documents were found to hold no answer.")
    if basis.kept:
        lines.append(
            f"A kept answer, written {basis.kept[:10]} {basis.kept[11:16]} UTC from the same content."
        )
    if basis.unknown:
        lines.append(f"! {basis.unknown}")
    return Section("In short", tuple(Row(line) for line in lines if line), folded=False)


def _mode(mode: str, data: Mapping[str, Any]) -> Iterator[str]:
    about = f", that is {_MODES[mode]}" if mode in _MODES else ""
    yield f"Mode: {plain(mode) or 'not known'}{about}"
    if data.get("asked"):
        why = f", since {plain(data['why'])}" if data["why"] else ""
        yield f"It was chosen by {plain(data['asked'])}{why}"


def _coverage(read: int, total: int) -> str:
    return f"{share(read, total)}, {read:,} of {count(total, 'passage')}" if total else share(read, total)


def _keywords(data: Mapping[str, Any]) -> Iterator[str]:
    words = data.get("keywords") or {}
    by = plain(_BY.get(words.get("by", ""), str(words.get("by", ""))))
    for name, title in (("high", "Themes"), ("low", "Things")):
        if words.get(name):
            yield f"{title} searched for: {', '.join(map(plain, words[name]))} (named by {by})"


def _certainty(data: Mapping[str, Any], refuse_below: int) -> str:
    if not data or data.get("certainty") is None:
        return "Refusal test: not made for this answer" if data else ""
    bound = f"; below {refuse_below} % no answer is written" if data.get("style") == "strict" else ""
    return f"Refusal test: {100 * data['certainty']:.0f} % sure that what was found holds the answer{bound}"


def _table(table: TableAnswer) -> Section:
    rows = [Row(plain(table.title)), Row(f"{count(len(table.rows), 'row')}, counted: {table.total:,}")]
    rows += [Row(plain(table.note))] if table.note else []
    if table.provisional:
        rows.append(Row("The model has not read the texts, so names are told by their form alone."))
    return Section("From the tables of the knowledge base, without a model", tuple(rows), folded=False)


def _room(data: Mapping[str, Any]) -> Section:
    context = data["context"]
    used = context.get("used") or {}
    if not used:
        return Section("What the model read: nothing", (Row("The model read nothing from the documents."),))
    prompt = max(used.get("prompt", 0), 1)
    known = {name: used.get(name, 0) for name, _ in _PARTS}
    rest = max(prompt - sum(known.values()), 0)
    titles = [*_PARTS, ("rest", "Instructions")]
    width = max(len(title) for _, title in titles)
    rows = [
        Row(f"{title:<{width}} {bar(value, prompt)} {value:>6,}")
        for name, title in titles
        if (value := {**known, "rest": rest}[name]) or name in ("passages", "entities", "relations")
    ]
    rows.append(
        Row(
            f"Tokens. At most {context.get('budget', 0):,} for passages, entities and relations, and "
            f"{used.get('answer', 0):,} for the answer."
        )
    )
    rows += [Row(plain(note)) for note in context.get("notes", ())]
    return Section(f"What the model read: {used.get('prompt', 0):,} tokens", tuple(rows), folded=False)


def bar(value: float, whole: float, width: int = _BAR) -> str:
    """A share as a bar; something is never shown as nothing."""
    part = round(width * value / whole) if whole > 0 else 0
    part = min(max(part, 1 if value > 0 else 0), width)
    return "█" * part + "░" * (width - part)


def _candidates(data: Mapping[str, Any], kind: str, title: str, one: str) -> Section:
    """What was found of a kind: what the model read first, each with its place in every search."""
    found = data["candidates"].get(kind, ())
    read = _numbers(data, kind)
    if not found:
        return Section(f"{title}: none found", (Row(f"No {one} was found for this question."),))
    ordered = [*(row for row in found if row["id"] in read), *(row for row in found if row["id"] not in read)]
    rows = [_candidate(row, kind, read.get(row["id"], {})) for row in ordered]
    return Section(f"{title}: {len(read)} read, {len(found):,} found", tuple(rows), folded=kind != "chunk")


def _candidate(row: Mapping[str, Any], kind: str, shown: Mapping[str, Any]) -> Row:
    marks = f"[{shown['number']}] " if shown else ""
    places = [
        f"{_SEARCHES.get(name, plain(name))} #{place[0]:.0f} ({place[1]:.3g})"
        for name, place in row["places"].items()
    ]
    taken = [f"result #{row['chosen']}"] if row["chosen"] else ["found, not taken"]
    text = f"{marks}{plain(row['label'])}\n    {' · '.join([*taken, *places])}"
    here = not row.get("base")
    return Row(
        text,
        chunk=row["id"] if kind == "chunk" and here else None,
        span=(shown["start"], shown["end"]) if shown else None,
        strong=bool(shown),
        entity=row["label"] if kind == "entity" and here else "",
    )


def _numbers(data: Mapping[str, Any], kind: str) -> dict[int, Mapping[str, Any]]:
    """What the model read of a kind, by its row."""
    shown = data["context"].get("shown", ()) if data["context"] else ()
    found: dict[int, Mapping[str, Any]] = {}
    for row in shown:
        if row["kind"] == kind and not row.get("base"):
            found.setdefault(row["id"], row)
    return found


def _claims(basis: Basis) -> Section:
    if basis.table is not None and "claim" in basis.table.columns:
        return Section("Claims: in the table", (Row("The table above lists claims."),))
    words = "The model reads no claims; questions that list or count them are answered from a table."
    return Section("Claims: none used", (Row(words),))


def _cut(data: Mapping[str, Any]) -> Section:
    cut = data["context"].get("cut", ()) if data["context"] else ()
    if not cut:
        return Section("Left out: nothing", (Row("All that was found for the prompt was read as a whole."),))
    names = {kind: one for kind, _, one in _KINDS}
    rows = [
        Row(
            f"{names.get(row['kind'], plain(row['kind']))}: {plain(row['label'])}\n"
            f"    {_WHY.get(row['why'], plain(row['why']))}",
            row["id"] if row["kind"] == "chunk" and not row.get("base") else None,
        )
        for row in cut
    ]
    return Section(f"Left out or shortened: {len(cut)}", tuple(rows))


def _checks(checks: Sequence[SentenceCheck]) -> Section:
    rows = []
    for item in checks:
        marks = "".join(f"[{number}]" for number in item.references) or "no source"
        words = _VERDICTS.get(item.verdict, item.verdict)
        if item.missing:
            words += f"; not there: {', '.join(map(plain, item.missing))}"
        rows.append(Row(f"{plain(item.text)}\n    {marks}: {words}"))
    good = sum(item.verdict == "supported" for item in checks)
    return Section(f"Sentences checked: {good} of {len(checks)} supported", tuple(rows))


def _model(data: Mapping[str, Any]) -> Section:
    call = data["call"]
    if not data["model"] or not call:
        return Section("Model: none asked", (Row("No model wrote this answer."),))
    style = {
        "strict": "strict: from the documents alone",
        "flexible": "flexible: general knowledge is allowed and marked",
    }
    rows = [f"Model: {plain(data['model'])}", f"Style: {style.get(data['style'], plain(data['style']))}"]
    rows.append(f"Tokens: {call['prompt_tokens']:,} read, {call['output_tokens']:,} written")
    drawn = f"drawn by chance, seed {call['seed']}, temperature {call['temperature']:g}"
    likeliest = f"always the likeliest one, so it can be repeated; seed {call['seed']}"
    rows.append(f"Each word was {drawn if call['temperature'] else likeliest}")
    rows.append(f"End: {_ENDS.get(call['finish'], plain(str(call['finish'])))}")
    rows.append(f"Prompt: sha256 {plain(str(call['prompt_sha256']))[:16]}…; p shows it in full")
    words = f"Model: {plain(data['model'])}, {call['output_tokens']:,} tokens written"
    return Section(words, tuple(Row(row) for row in rows))


def _times(data: Mapping[str, Any]) -> Section:
    steps = {name: value / 1000 for name, value in data["milliseconds"].items()}
    whole = dict(data["seconds"])
    if not steps and not whole:
        return Section("Time: not known", (Row("The times of this answer were not kept."),))
    longest = max([*steps.values(), *whole.values()])
    shown = [(_STEPS.get(name, plain(name)), value) for name, value in steps.items()]
    shown += [(_TIMES.get(name, plain(name)), value) for name, value in whole.items()]
    width = max(len(title) for title, _ in shown)
    rows = [Row(f"{title:<{width}} {bar(value, longest)} {_seconds(value)}") for title, value in shown]
    total = f": {_seconds(whole['total'])}" if "total" in whole else ""
    return Section(f"Time{total}", tuple(rows))


def _seconds(value: float) -> str:
    return f"{1000 * value:,.0f} ms" if value < 1 else f"{value:,.1f} s"
