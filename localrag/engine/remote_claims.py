"""Claims at servers whose chats cannot go on inside an answer: all of them in one call.

The call's grammar, or its JSON schema, is looser than the worker's: nothing in it keeps a claim from coming
twice. What comes back is taken record by record under the worker's own grammars; records that break them are
left out. With days of the model's own an end before its start is exchanged with it.
"""

from __future__ import annotations

import json
from typing import Any

from localrag.engine.claim_program import NONE, STATUSES, ClaimRecords
from localrag.engine.claims import ClaimsDriver
from localrag.engine.gbnf import to_gbnf
from localrag.engine.iso_dates import MIDNIGHT, any_day
from localrag.engine.remote_json import Ask, object_schema
from localrag.engine.remote_writing import Written
from localrag.engine.steps import inside_set
from localrag.errors import ConstraintError

_SAFE = r'"\\\x00-\x1f\x7f-\x9f'
_KEYS = ("sentence", "subject", "object", "type", "status", "time", "description")


def claims_gbnf(program: ClaimRecords) -> str:
    """The grammar of the call."""
    return to_gbnf(ClaimsDriver(program).whole())


def claims_ask(program: ClaimRecords) -> Ask | None:
    """The call under a schema; None if nothing can be claimed."""
    driver = ClaimsDriver(program)
    people = driver.people()
    if not people:
        return None
    firsts = {text[0] for text in (program.tuple_delimiter, program.record_delimiter)}
    taboo = inside_set("".join(sorted({program.completion_delimiter[0], *firsts} - set("<>|#"))))
    plain = rf"[^()<>|#{taboo}{_SAFE}]"
    chars = program.description_chars
    day = {"type": "string", "pattern": f"^({any_day()}{MIDNIGHT}|{NONE})$"}
    places: dict[str, list[int]] = {}
    """The sentences that each subject can be claimed by."""
    objects: dict[str, dict[str, None]] = {}
    for number, subjects in people.items():
        for subject, partners in subjects.items():
            places.setdefault(subject, []).append(number)
            objects.setdefault(subject, {}).update(dict.fromkeys(partners))
    items = []
    for subject, numbers in places.items():
        times: dict[str, Any] = {
            "enum": list(dict.fromkeys(time for number in numbers for time in driver.times(number)))
        }
        if program.free_dates:
            times = {"type": "array", "items": day, "minItems": 2, "maxItems": 2}
        kind: dict[str, Any] = {"type": "string", "pattern": f"^{program.type_pattern}$"}
        items.append(
            object_schema(
                {
                    "sentence": {"type": "integer", "enum": numbers},
                    "subject": {"enum": [subject]},
                    "object": {"enum": list(objects[subject])},
                    "type": {"enum": list(program.types)} if program.types else kind,
                    "status": {"enum": list(STATUSES)},
                    "time": times,
                    "description": {
                        "type": "string",
                        "pattern": f"^[^ ()<>|#{taboo}{_SAFE}]{plain}{{0,{chars - 1}}}$",
                    },
                }
            )
        )
    item = items[0] if len(items) == 1 else {"anyOf": items}
    shown = ", ".join(f'"{key}": …' for key in _KEYS)
    return Ask(
        object_schema({"claims": {"type": "array", "items": item, "maxItems": program.maximum}}),
        f'Write the claims as JSON instead of the form above: {{"claims": [{{{shown}}}, …]}}. '
        "An empty list says that there is none.",
    )


def claims_lines(program: ClaimRecords, text: str) -> list[str]:
    """The records, unchecked, that JSON means. Raises `ConstraintError` for other JSON."""
    try:
        claims = json.loads(text)["claims"]
        return [_line(program, [claim[key] for key in _KEYS]) for claim in claims]
    except (ValueError, TypeError, LookupError) as error:
        raise ConstraintError(f"The JSON holds no claims: {type(error).__name__}.") from error


def take_claims(program: ClaimRecords, written: Written, lines: list[str]) -> None:
    """Take the records that keep the grammar, in their order."""
    for line in lines:
        if written.step is not None:
            written.take(_in_order(program, line))


def split_claims(program: ClaimRecords, text: str) -> list[str]:
    """The whole records of a text."""
    closing = f"){program.record_delimiter}\n"
    return [f"{part}{closing}" for part in text.split(closing)[:-1]]


def _line(program: ClaimRecords, values: list[Any]) -> str:
    """The record that JSON means. What the schema cannot tie to the sentence is left out where it does not
    belong there: the object, the time."""
    sentence, subject, object_, type_, status, time, description = values
    between = program.tuple_delimiter
    when = time if isinstance(time, str) else between.join(time)
    driver = ClaimsDriver(program)
    if object_ not in driver.people().get(sentence, {}).get(subject, [object_]):
        object_ = NONE
    if not program.free_dates and when not in driver.times(sentence):
        when = between.join((NONE, NONE))
    fields = between.join((subject, object_, type_, status, when, description, str(sentence)))
    return f"{sentence} ({fields}){program.record_delimiter}\n"


def _in_order(program: ClaimRecords, line: str) -> str:
    """The record with its start before its end."""
    fields = line.split(program.tuple_delimiter)
    if program.free_dates and len(fields) == 8 and NONE not in fields[4:6] and fields[5] < fields[4]:
        fields[4:6] = fields[5], fields[4]
    return program.tuple_delimiter.join(fields)
