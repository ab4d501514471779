"""What parts the fields and records of a model's output, and which such marks can be told from text.

A field never holds the first character of a delimiter (the grammars see to it), so whatever a document or a
model says, no field can hold a delimiter. A name of the text that has such a character is not offered.
"""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import dataclass

from localrag.errors import SettingsError
from localrag.prompts.checking import CONTROL_TOKEN

MAX_DELIMITER = 20
"""Most characters of a delimiter."""

_HINT = "Use for example <|> between fields, ## behind records and <|COMPLETE|> at the end."
_IN_MOST_TEXTS = frozenset(".,;:!?'-&%$\"“”‘’，。、；：！？《》「」·…—")


@dataclass(frozen=True)
class Delimiters:
    """What parts fields and records."""

    fields: str = "<|>"
    """Between the fields of a record."""

    records: str = "##"
    """Behind each record."""

    completion: str = "<|COMPLETE|>"
    """Behind the last record."""

    def __post_init__(self) -> None:
        """Raises `SettingsError`, with the reason, for marks that cannot be told from text or each other."""
        named = {
            "extraction.tuple_delimiter": self.fields,
            "extraction.record_delimiter": self.records,
            "extraction.completion_delimiter": self.completion,
        }
        for name, text in named.items():
            reason = _unusable(text)
            if reason:
                raise SettingsError(f"{name} cannot be {text!r}: {reason}.", _HINT)
        for (name, text), (other, within) in itertools.permutations(named.items(), 2):
            if text == within:
                raise SettingsError(f"{name} and {other} are the same: {text!r}.", _HINT)
            if text in within:
                raise SettingsError(f"{other} ({within!r}) contains {name} ({text!r}).", _HINT)
            # An empty field leaves two delimiters side by side.
            if text != self.fields and text in self.fields * 2:
                raise SettingsError(f"{name} ({text!r}) appears where two {self.fields!r} meet.", _HINT)

    @property
    def firsts(self) -> str:
        """The characters with which they begin, each once."""
        return "".join(dict.fromkeys(text[0] for text in (self.fields, self.records, self.completion)))


def _unusable(text: str) -> str:
    """Why a text can be no delimiter; empty if it can."""
    if not text:
        return "it is empty"
    if len(text) > MAX_DELIMITER:
        return f"it is longer than {MAX_DELIMITER} characters"
    if any(char.isspace() for char in text):
        return "it holds a blank or a line break"
    if any(unicodedata.category(char).startswith("C") for char in text):
        return "it holds a control character"
    if "(" in text or ")" in text:
        return "it holds a parenthesis, and records stand in parentheses"
    if CONTROL_TOKEN.fullmatch(text):
        return "it is a control token of chat templates"
    if text.isalnum():
        return "it consists of letters or digits, as words do"
    if text[0].isalnum() or text[0] in _IN_MOST_TEXTS:
        return f"it begins with {text[0]!r}, which most texts hold"
    return ""


USUAL = Delimiters()
"""Those of the settings' defaults."""
