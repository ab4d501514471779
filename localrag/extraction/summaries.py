"""Summaries of what many passages say of one thing: when one is needed, what is asked, what comes of it.

Short lists need no model: they are read joined. Longer ones are cut into batches that fit, each batch is
summarised, then the summaries, until one is left. What a summary says is compared with what it was made from.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localrag.documents.sentences import split
from localrag.documents.tokens import estimate
from localrag.engine.programs import FreeText
from localrag.engine.types import Generation, GenerationRequest, Message
from localrag.extraction.languages import (
    AUTO,
    PROMPT_LANGUAGES,
    check_language,
    language_name,
    prompt_language,
    written_language,
)
from localrag.extraction.spans import clean, one_line
from localrag.prompts import Prompt, load
from localrag.prompts.contracts import VARIABLE
from localrag.sections import ExtractionSettings, SummarySettings
from localrag.store.summary_rows import Said, Saying
from localrag.store.wording import distinct, likeness, spread

TASK = "summary"
"""Name of the task in requests and in the journal."""

_PROMPT = "summarize_descriptions"
_KINDS = {
    "en": {"entity": "entity", "relation": "relationship"},
    "zh": {"entity": "实体", "relation": "关系"},
}
_SPARE = 1.5
"""Tokens that may be written for each token that is asked for, so that a last sentence is not cut off."""

_CHARS = {"en": 6, "zh": 2}
"""Most characters for each token that is asked for."""

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[\w,;:)\"”'’])\s+[\"“'‘(]?([A-ZÀ-ÖØ-Þ][\w-]*)")
_SAME = 4
"""Letters that two forms of a name share, such as Norway and Norwegian."""

_NOUNS_IN_CAPITALS = ("de",)
_MARKUP = re.compile(r"\*\*|__|^[#>*\-\s]+")
_STOP = re.compile(r"[.!?…。！？][\"'”’」』）)]*$")


@dataclass(frozen=True)
class Item:
    """One description as it is put before the model."""

    text: str
    """The description, on one line."""

    type: str = ""
    """The type of thing that it speaks of, where the list has several; they may be several things then."""

    @property
    def line(self) -> str:
        """The item as a line of JSON."""
        fields = {"type": self.type} if self.type else {}
        return json.dumps({**fields, "description": self.text}, ensure_ascii=False)


@dataclass(frozen=True)
class Subject:
    """What is summed up."""

    kind: str
    """`entity` or `relation`."""

    name: str
    """The entity's name, or both names of a relation."""

    language: str
    """The language of most of its passages."""


class Summarizer:
    """Says which lists need a model, makes requests and reads results; has no state."""

    def __init__(
        self, extraction: ExtractionSettings, summaries: SummarySettings, directory: Path | None = None
    ) -> None:
        """Load the prompts: those in `directory` in place of those that ship.

        Raises `PromptError` for a missing or damaged prompt and `SettingsError` for an unknown language.
        """
        check_language(extraction.language)
        self._language = extraction.language
        self._settings = summaries
        family = "graphrag" if extraction.profile == "graphrag" else "lightrag"
        self._prompts: dict[str, Prompt] = {
            code: load(family, code, _PROMPT, directory) for code in PROMPT_LANGUAGES
        }

    def needed(self, said: Said) -> bool:
        """Whether these descriptions are too many or too long to be read joined.

        What a person wrote stands for all of them; then none is needed.
        """
        texts = distinct(saying.text for saying in said.sayings)
        if said.own or len(texts) < 2:
            return False
        if len(texts) > self._settings.join_count:
            return True
        return estimate(" ".join(texts)) > self._settings.join_tokens

    def subject(self, said: Said) -> Subject:
        """What a request is about."""
        name = f"{said.name} → {said.target}" if said.target else said.name
        counts = Counter(saying.language for saying in said.sayings)
        language = min(counts, key=lambda code: (-counts[code], code)) if counts else "en"
        return Subject(said.kind, one_line(clean(name)), language)

    def items(self, said: Said) -> list[Item]:
        """The different descriptions, at most so many as the settings allow, evenly spread over all.

        Where the passages give the thing several types, it may be several things of one name: then those of
        one type stand together and each tells its type, the most frequent first.
        """
        first: dict[str, Saying] = {}
        for saying in said.sayings:
            first.setdefault(likeness(saying.text), saying)
        first.pop("", None)
        types = Counter(saying.type for saying in said.sayings)
        order = {name: place for place, (name, _) in enumerate(types.most_common())}
        sayings = sorted(first.values(), key=lambda saying: order[saying.type])
        several = len({saying.type for saying in sayings}) > 1
        items = [Item(one_line(clean(s.text)), s.type if several else "") for s in sayings]
        return spread(items, self._settings.descriptions)

    def request(self, subject: Subject, items: Sequence[Item]) -> GenerationRequest:
        """The call that makes one text of several descriptions."""
        code = prompt_language(self._language, subject.language)
        inputs = {
            "description_type": _KINDS[code][subject.kind],
            "description_name": subject.name,
            "entity_name": subject.name,
            "description_list": "\n".join(item.line for item in items),
            "summary_length": str(self._settings.length),
            "language": language_name(self._language, subject.language),
        }
        return GenerationRequest(
            task=TASK,
            messages=(Message("user", self._prompts[code].pieces(inputs, VARIABLE)),),
            program=FreeText(max_chars=self._settings.length * _CHARS[code], one_line=True),
            max_tokens=self.budget,
        )

    @property
    def budget(self) -> int:
        """Most tokens that a call writes."""
        return int(self._settings.length * _SPARE) + 8

    def read(self, subject: Subject, items: Sequence[Item], generation: Generation) -> str:
        """The summary that a generation holds: whole sentences that name nothing and count nothing that the
        descriptions do not; empty if there is none."""
        text = one_line(clean(_MARKUP.sub("", generation.text)))
        sentences = [text[start:end] for start, end in split(text)]
        if sentences and not _STOP.search(sentences[-1]):
            # The budget ended it, or the model did: a list of words is no sentence.
            rest = sentences.pop()
            sentences = sentences or ([f"{rest}…"] if generation.finish == "length" else [rest])
        source = " ".join([subject.name, *(f"{item.type} {item.text}" for item in items)])
        names = self._language == AUTO or written_language(self._language, "") == subject.language
        check = names and subject.language not in _NOUNS_IN_CAPITALS
        kept = [sentence for sentence in sentences if _supported(sentence, source, names=check)]
        between = "" if prompt_language(self._language, subject.language) == "zh" else " "
        return between.join(kept)


def batches(sizes: Sequence[int], room: int) -> list[range]:
    """Cut a list into runs that fit: as many items as go into `room` together, and never fewer than two.

    The same sizes always give the same runs. A last item alone is a run of one. With more than two items
    there are fewer runs than items, so summing up runs and then their sums comes to an end.
    """
    runs: list[range] = []
    start, used = 0, 0
    for place, size in enumerate(sizes):
        if place - start >= 2 and used + size > room:
            runs.append(range(start, place))
            start, used = place, 0
        used += size
    if start < len(sizes):
        runs.append(range(start, len(sizes)))
    return runs


def common_type(items: Sequence[Item]) -> str:
    """The type that all of the items share; empty if they share none."""
    types = {item.type for item in items}
    return types.pop() if len(types) == 1 else ""


def _supported(sentence: str, source: str, *, names: bool) -> bool:
    """Whether the numbers of a sentence, and the names that are told by their capital, are in the source."""
    there = set(_NUMBER.findall(source))
    if any(number not in there for number in _NUMBER.findall(sentence)):
        return False
    low = source.casefold()
    return not names or all(name.casefold()[:_SAME] in low for name in _NAME.findall(sentence))
