"""Finds what stands by a verb to an entity, such as who works for it, in what passages say of both.

The words must stand in this order in one sentence: the one who does it, the verb, the other one; or, with a
passive, the other way round. What only stands in the same sentence does not count.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from localrag.answering.tables_kinds import words
from localrag.documents import sentences
from localrag.store.aggregates import StatedLink, TextPlace

_APART = 80
"""Most characters between one name and the verb, or the verb and the other name."""

_IRREGULAR = {
    "buy": "bought", "sell": "sold", "write": "wrote|written", "found": "found|founded", "build": "built",
    "make": "made", "win": "won", "lead": "led", "run": "ran|run", "teach": "taught", "leave": "left",
    "meet": "met", "own": "own", "know": "knew|known", "give": "gave|given", "take": "took|taken",
    "hold": "held", "begin": "began|begun", "draw": "drew|drawn", "sing": "sang|sung", "speak": "spoke",
    "study": "studied", "marry": "married", "carry": "carried", "lose": "lost", "send": "sent",
    "bring": "brought", "think": "thought", "find": "found", "grow": "grew|grown", "fight": "fought",
}  # fmt: skip
_NO_VERBS = words(
    "is are was were be been being am do does did have has had can could will would shall should may might "
    "must mention mentions name names mean means say says said look looks like likes know knows think thinks "
    "happen there in of to on at by with and or the a"
)


def linked(
    links: Iterable[StatedLink],
    names: Sequence[str],
    verb: str,
    *,
    forth: bool,
    types: Collection[str] | None,
) -> dict[int, TextPlace]:
    """Entities that stand by the verb to the one of these names, each with the sentence that says so.

    `forth`: the named one does it. `types`, if given, are the only types that count.
    """
    pattern = _verb_pattern(verb)
    if pattern is None:
        return {}
    found: dict[int, TextPlace] = {}
    for link in links:
        if link.entity_id in found or (types is not None and link.type not in types):
            continue
        place = _stated(link, names, pattern, forth=forth)
        if place is not None:
            found[link.entity_id] = place
    return found


def _verb_pattern(verb: str) -> str | None:
    """All forms of a verb with its preposition; None for a word that says nothing of two things."""
    word, _, preposition = verb.partition(" ")
    if word in _NO_VERBS or len(word) < 3:
        return None
    stem = _stem(word)
    forms = [rf"{re.escape(stem)}(?:s|es|ed|d|ing|{re.escape(stem[-1])}ed|{re.escape(stem[-1])}ing)?"]
    if stem.endswith("y"):
        forms.append(rf"{re.escape(stem[:-1])}(?:ies|ied)")
    if stem.endswith("e"):
        forms.append(rf"{re.escape(stem[:-1])}ing")
    forms.extend(_IRREGULAR.get(stem, "").split("|") if stem in _IRREGULAR else [])
    verbs = rf"\b(?:{'|'.join(forms)})\b"
    return rf"{verbs} {re.escape(preposition)}\b" if preposition else verbs


def _stem(word: str) -> str:
    for stem, past in _IRREGULAR.items():
        if word in past.split("|") or word in (f"{stem}s", f"{stem}es", stem):
            return stem
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("ied"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "ches", "shes", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    if word.endswith("ed") and len(word) > 4:
        return word[:-2]
    return word


def _stated(link: StatedLink, names: Sequence[str], verb: str, *, forth: bool) -> TextPlace | None:
    """The first sentence of a passage in which one does what the verb says to the other."""
    own = "|".join(re.escape(name) for name in names if len(name) > 1)
    if not own or not link.name:
        return None
    other = re.escape(link.name)
    doer, done = (own, other) if forth else (other, own)
    near = rf"(?:(?!\b(?:not|never|no)\b)[^.;:!?]){{0,{_APART}}}?"
    active = re.compile(
        rf"(?<![\w-])(?:{doer})(?![\w-]){near}{verb}{near}(?<![\w-])(?:{done})(?![\w-])", re.IGNORECASE
    )
    passive = re.compile(
        rf"(?<![\w-])(?:{done})(?![\w-]){near}\b(?:is|are|was|were|been) (?:\w+ ){{0,2}}?{verb} by {near}"
        rf"(?<![\w-])(?:{doer})(?![\w-])",
        re.IGNORECASE,
    )
    backwards = re.compile(rf"\b(?:is|are|was|were|been|being) (?:\w+ ){{0,2}}?{verb} by\b", re.IGNORECASE)
    for left, right in sentences.split(link.text):
        sentence = link.text[left:right]
        if passive.search(sentence) or (active.search(sentence) and not backwards.search(sentence)):
            place = link.place
            return TextPlace(
                place.chunk_id,
                place.document_id,
                place.document,
                place.page,
                place.heading,
                place.start + left,
                place.start + right,
            )
    return None
