"""The form in which sources stand in a prompt: a JSON object with a line for each, numbered through."""

from __future__ import annotations

import json
from collections.abc import Sequence

from localrag.documents import sentences
from localrag.retrieval.types import EntityHit, Passage, RelationHit

Item = Passage | EntityHit | RelationHit
"""What can stand in a context."""

WIDEST = 888
"""A number that takes as many tokens as any that is used."""

_DESCRIPTION = 300
_LONGEST_SENTENCE = 600


def layout(groups: Sequence[tuple[str, Sequence[str]]]) -> str:
    """A JSON object with one line an item, which costs fewer tokens than indented JSON."""
    parts = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in groups]
    return "{" + ",\n".join(parts) + "}"


def line(number: int, item: Item) -> str:
    """One item as JSON."""
    fields: dict[str, object] = {"id": number}
    if isinstance(item, Passage):
        fields["document"] = item.document
        if item.heading:
            fields["heading"] = item.heading
        fields["text"] = item.text
    elif isinstance(item, EntityHit):
        fields |= {"entity": item.name, "type": item.type}
    else:
        fields |= {"entity1": item.source, "entity2": item.target}
        if item.keywords:
            fields["keywords"] = item.keywords
    if not isinstance(item, Passage) and (told := short(item.description)):
        fields["description"] = told
    if item.base:
        fields["base"] = item.base
    return json.dumps(fields, ensure_ascii=False)


def short(text: str) -> str:
    """The first sentences of a description, so that there is room for others; the first is never cut.

    One that is too long for that says nothing in so little room and is left out.
    """
    if len(text) <= _DESCRIPTION:
        return text
    ends = [end for _, end in sentences.split(text)]
    fitting = [end for end in ends if end <= _DESCRIPTION]
    if fitting:
        return text[: fitting[-1]]
    return text[: ends[0]] if ends and ends[0] <= _LONGEST_SENTENCE else ""
