"""One chunk's claims: what the model is asked, and what its answer means.

A claim rests on a sentence that speaks of its subject, which it quotes by its number, and, unless the
settings leave the days to the model, was at a time that the sentence names. All that is in the grammar; an
engine that writes without one has the rest rejected here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from localrag.engine.claim_program import RESERVED, ClaimRecords, ClaimSentence
from localrag.engine.names import capitals
from localrag.engine.steps import inside_set
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import SettingsError
from localrag.extraction.claim_sentences import SpokenSentence, numbered_sentences, spoken_sentences
from localrag.extraction.claim_wire import CLAIM, ClaimRecord, parse_claims
from localrag.extraction.claim_words import as_written, impossible_days
from localrag.extraction.delimiters import Delimiters
from localrag.extraction.languages import PROMPT_LANGUAGES, language_name, prompt_language
from localrag.extraction.spans import FORBIDDEN, clean, one_line, writable
from localrag.graph.names import fold
from localrag.prompts import Prompt, load
from localrag.sections import ClaimSettings, ExtractionSettings
from localrag.store.report_rows import ClaimName, NewClaim
from localrag.store.rows import ChunkRow, Reject

TASK = "claims"
"""Begins the name of the task in requests and in the journal; a mark of what was asked for follows."""

_FAMILY = "graphrag"
_MAX_TYPE = 40
_MAX_QUOTES = 3
_HAN_TYPE = "[一-龥]{2,8}"
_HAN_EXCLUDED = r"<>|#()\x00-\x1f\x7f-\x9f"


@dataclass(frozen=True)
class ClaimReading:
    """What a generation claims."""

    claims: tuple[NewClaim, ...]
    """To be stored."""

    rejects: tuple[Reject, ...]
    """What was written besides, each with a reason."""

    swapped: int = 0
    """In how many of the claims start and end were exchanged."""

    undated: int = 0
    """From how many of the claims a date was taken that no quoted sentence names."""


class ClaimReader:
    """Makes requests for chunks and claims from their results; has no state, so threads may share it."""

    def __init__(
        self, settings: ClaimSettings, extraction: ExtractionSettings, directory: Path | None = None
    ) -> None:
        """Load the prompts: those in `directory` in place of those that ship.

        Raises `PromptError` for a missing or damaged prompt, `SettingsError` for a setting without meaning.
        """
        self._settings = settings
        self._language = extraction.language
        self._delimiters = Delimiters(
            extraction.tuple_delimiter, extraction.record_delimiter, extraction.completion_delimiter
        )
        self._types = _claim_types(settings.types, self._delimiters)
        if not settings.description.strip():
            raise SettingsError(
                "claims.description is empty, so that no claim counts.", "Say in words which claims count."
            )
        self._specs = [one_line(text) for text in settings.entity_specs if text.strip()]
        self._wanted = {fold(text) for text in self._specs}
        names = ("claim_extraction", "claim_examples", "claim_user")
        self._prompts = {
            (code, name): load(_FAMILY, code, name, directory)
            for code in PROMPT_LANGUAGES
            for name in (*names, *(("claim_types",) if self._types else ()))
        }

    @property
    def task(self) -> str:
        """The task in the journal: the same for the same specification, whatever the bounds and the model."""
        digest = hashlib.sha256(json.dumps(self.asked, sort_keys=True).encode("ascii"))
        return f"{TASK}/{digest.hexdigest()[:12]}"

    @property
    def asked(self) -> dict[str, object]:
        """The specification as JSON-ready data, for the journal."""
        return {
            "entities": self._specs,
            "about": one_line(self._settings.description),
            "types": list(self._types),
            "dates": self._settings.dates,
        }

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts in use, for the journal."""
        return tuple(self._prompts.values())

    def subjects(self, names: Sequence[ClaimName]) -> tuple[ClaimName, ...]:
        """Those of a chunk's names that claims can be about; without any there is nothing to ask."""
        return tuple(
            name
            for name in names
            if not self._wanted or self._wanted & {name.key, name.entity_key, fold(name.type)}
        )

    def request(self, chunk: ChunkRow, names: Sequence[ClaimName]) -> GenerationRequest:
        """The call that reads the claims of a chunk in which these names were read.

        Everything but the chunk's sentences and names is shared by all chunks of one language.
        """
        code = prompt_language(self._language, chunk.language)
        inputs = self._inputs(chunk, code, names)
        system = self._prompts[code, "claim_extraction"].pieces(inputs, ("input_text",))
        if self._types:
            types = Piece(f"\n\n{self._prompts[code, 'claim_types'].render(**inputs)}\n\n", shared=True)
            own = [piece for piece in system if not piece.shared]
            system = (*(piece for piece in system if piece.shared), types, *own)
        user = self._prompts[code, "claim_user"].pieces(inputs, ("input_text", "entity_names"))
        return GenerationRequest(
            task=self.task,
            messages=(Message("system", system), Message("user", user)),
            program=self._program(chunk, code, names),
            max_tokens=self._settings.max_tokens,
        )

    def read(self, chunk: ChunkRow, names: Sequence[ClaimName], generation: Generation) -> ClaimReading:
        """What a generation claims, and what of it cannot be stored.

        Every record is in one of the two. A generation that was ended by its budget keeps its complete
        records; the one that was cut off is a reject.
        """
        records = parse_claims(generation.text, self._delimiters)
        rejects = list(records.rejects)
        sentences = spoken_sentences(chunk.text, chunk.language, names)
        undated = 0
        about = _by_shown(self.subjects(names))
        concerned = _by_shown(names)
        claims: list[NewClaim] = []
        for record in records.claims:
            made = self._claim(record, about, concerned, sentences, chunk.text)
            if isinstance(made, str):
                rejects.append(_rejected(record, made))
                continue
            dated, made = made, self._supported(made, sentences)
            undated += dated != made
            before = next((known for known in claims if _is_same(known, made)), None)
            if before is None:
                claims.append(made)
                continue
            rejects.append(_rejected(record, "this claim was written before"))
            # Joined claims do not keep all of their quotes, and no date without the words that name it.
            claims[claims.index(before)] = self._supported(_joined(before, made), sentences)
        return ClaimReading(tuple(claims), tuple(rejects), records.swapped, undated)

    def _supported(self, claim: NewClaim, sentences: Sequence[SpokenSentence]) -> NewClaim:
        """The claim, without its date if no sentence that it quotes names that.

        Small models take a time of the passage for claims that are near it: where no quoted sentence named
        the time, it was mostly wrong. With `free` dates every time is the model's own, and is left to it.
        """
        when = (claim.start_date, claim.end_date)
        if when == ("", "") or self._settings.dates == "free":
            return claim
        quoted = (sentence for sentence in sentences if sentence.span in claim.quotes)
        if any((period.start, period.end) == when for sentence in quoted for period in sentence.periods):
            return claim
        return replace(claim, start_date="", end_date="")

    def _claim(
        self,
        record: ClaimRecord,
        about: dict[str, ClaimName],
        concerned: dict[str, ClaimName],
        sentences: Sequence[SpokenSentence],
        text: str,
    ) -> NewClaim | str:
        """The claim to store; else why it cannot be."""
        subject = about.get(capitals(record.subject))
        object_ = concerned.get(capitals(record.object)) if record.object else None
        if subject is None:
            return "its subject is none of the entities that claims are about"
        if record.object and object_ is None:
            return "its object is not an entity of the passage"
        if object_ is not None and subject.entity_key == object_.entity_key:
            return "it is about one entity twice"
        if self._types and capitals(record.type) not in self._types:
            return "its type is not in the list"
        if capitals(record.type) in RESERVED:
            return "its type is none"
        if capitals(record.description) in RESERVED:
            return "it says nothing"
        if not all(1 <= number <= len(sentences) for number in record.quotes):
            return "it quotes a sentence that the passage does not have"
        quoted = [sentences[number - 1] for number in sorted(record.quotes[:_MAX_QUOTES])]
        if not any(subject.key in sentence.speaks_of for sentence in quoted):
            return "no sentence that it quotes speaks of its subject"
        if impossible_days(record.description, " ".join(text[slice(*sentence.span)] for sentence in quoted)):
            return "it names a day that the calendar does not have"
        return NewClaim(
            subject_key=subject.key,
            type=capitals(record.type),
            status=record.status,
            description=as_written(record.description, text),
            quotes=tuple(sentence.span for sentence in quoted),
            object_key=object_.key if object_ is not None else "",
            start_date=record.start,
            end_date=record.end,
        )

    def _program(self, chunk: ChunkRow, code: str, names: Sequence[ClaimName]) -> ClaimRecords:
        # A Chinese character says as much as two or three letters.
        bound = max(self._settings.max_description // (2 if code == "zh" else 1), 1)
        shown = _by_shown(names)
        sentences = spoken_sentences(chunk.text, chunk.language, names)
        program = ClaimRecords(
            subjects=tuple(_by_shown(self.subjects(names))),
            objects=tuple(shown),
            sentences=tuple(_offered(sentence, shown) for sentence in sentences),
            alike=_alike(shown),
            types=self._types,
            free_dates=self._settings.dates == "free",
            description_chars=bound,
            maximum=self._settings.max_claims,
            max_quotes=_MAX_QUOTES,
            tuple_delimiter=self._delimiters.fields,
            record_delimiter=self._delimiters.records,
            completion_delimiter=self._delimiters.completion,
        )
        if code != "zh":
            return program
        out = _HAN_EXCLUDED + inside_set("".join(c for c in self._delimiters.firsts if c not in FORBIDDEN))
        inside = f"([^。！？{out}]|\\([^。！？{out}]{{0,40}}\\))"
        pattern = f"[^ 。！？{out}]{inside}{{0,{max(bound - 2, 0)}}}[。！？]?"
        return replace(program, type_pattern=_HAN_TYPE, description_pattern=pattern)

    def _inputs(self, chunk: ChunkRow, code: str, names: Sequence[ClaimName]) -> dict[str, str]:
        between = "、" if code == "zh" else ", "
        everyone = "所有实体" if code == "zh" else "all entities"
        text = clean(chunk.text)
        sentences = (one_line(text[start:end]) for start, end in numbered_sentences(chunk.text))
        inputs = {
            "entity_specs": between.join(self._specs) or everyone,
            "claim_description": one_line(self._settings.description),
            "claim_types": between.join(self._types),
            "tuple_delimiter": self._delimiters.fields,
            "record_delimiter": self._delimiters.records,
            "completion_delimiter": self._delimiters.completion,
            "language": language_name(self._language, chunk.language),
            "entity_names": between.join(_by_shown(self.subjects(names))),
            "input_text": "\n".join(f"{number} {text}" for number, text in enumerate(sentences, 1)),
        }
        inputs["examples"] = self._prompts[code, "claim_examples"].render(**inputs)
        return inputs


def _by_shown(names: Sequence[ClaimName]) -> dict[str, ClaimName]:
    """Names as records show them; of several that look the same the first."""
    shown: dict[str, ClaimName] = {}
    for name in names:
        text = capitals(one_line(name.name))
        if writable(text):
            shown.setdefault(text, name)
    return shown


def _offered(sentence: SpokenSentence, shown: dict[str, ClaimName]) -> ClaimSentence:
    """What a claim that rests on a sentence can say."""
    periods = dict.fromkeys((period.start, period.end) for period in sentence.periods)
    names = tuple(text for text, name in shown.items() if name.key in sentence.speaks_of)
    return ClaimSentence(names, tuple(periods))


def _alike(shown: dict[str, ClaimName]) -> tuple[tuple[str, ...], ...]:
    """The names of entities that have several."""
    groups: dict[str, list[str]] = {}
    for text, name in shown.items():
        groups.setdefault(name.entity_key, []).append(text)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _claim_types(given: Sequence[str], delimiters: Delimiters) -> tuple[str, ...]:
    """The types of the setting's list, in capitals. Raises `SettingsError` for one that cannot be written."""
    found: dict[str, None] = {}
    for text in given:
        shown = capitals(one_line(text))
        if not writable(shown) or len(shown) > _MAX_TYPE or set(shown) & set(delimiters.firsts):
            raise SettingsError(
                f"The claim type {text!r} cannot be used.",
                f"Write one line of at most {_MAX_TYPE} characters without < > | # and single parentheses.",
            )
        if shown in RESERVED:
            raise SettingsError(
                f"The claim type {text!r} cannot be used.",
                "It says whether a claim is so, not what it claims.",
            )
        found[shown] = None
    return tuple(found)


def _is_same(left: NewClaim, right: NewClaim) -> bool:
    """Whether two claims say the same, in the same words or of the same first quote."""
    about = [(claim.subject_key, claim.object_key, claim.type, claim.status) for claim in (left, right)]
    return about[0] == about[1] and (
        fold(left.description) == fold(right.description) or left.quotes[0] == right.quotes[0]
    )


def _joined(first: NewClaim, again: NewClaim) -> NewClaim:
    """A claim with more quotes, and if it has none the time, of one that says the same."""
    more = [quote for quote in again.quotes if quote not in first.quotes]
    quotes = tuple(sorted([*first.quotes, *more][:_MAX_QUOTES]))
    if first.start_date or first.end_date:
        return replace(first, quotes=quotes)
    return replace(first, quotes=quotes, start_date=again.start_date, end_date=again.end_date)


def _rejected(record: ClaimRecord, reason: str) -> Reject:
    shown = f"{record.subject} → {record.object or '-'}: {record.type}: {record.description}"
    return Reject(CLAIM, shown[:500], reason)
