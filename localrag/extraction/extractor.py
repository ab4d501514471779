"""One chunk's extraction: what the model is asked, and what its answer means.

What is read depends on the chunk and the settings alone. Names are spans of the chunk: the grammar offers
no others, and an engine that writes without a grammar has them rejected here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from localrag.engine import decisions
from localrag.engine.names import capitals
from localrag.engine.programs import Program
from localrag.engine.types import BACKGROUND, Generation, GenerationRequest, Message, Piece
from localrag.errors import PromptError, SettingsError
from localrag.extraction.candidates import MAX_CANDIDATES, Candidate, find_candidates
from localrag.extraction.compact import (
    NAMES,
    budget,
    compact_program,
    further_budget,
    further_program,
    parse_compact,
)
from localrag.extraction.delimiters import Delimiters
from localrag.extraction.filling import filled
from localrag.extraction.languages import (
    PROMPT_LANGUAGES,
    changes_script,
    check_language,
    language_name,
    prompt_language,
)
from localrag.extraction.program import Limits, Shape, Taken, offers_records, records_program, with_taken
from localrag.extraction.pronouns import is_pronoun
from localrag.extraction.spans import clean, locate, one_line, writable
from localrag.extraction.types import (
    OWN_TYPES,
    TypeWords,
    relation_types,
    relation_words,
    type_words,
)
from localrag.extraction.wire import TYPE_MARK, EntityRecord, Form, Records, RelationRecord, parse
from localrag.graph.names import fold
from localrag.prompts import Prompt, load
from localrag.sections import ExtractionSettings
from localrag.store.rows import ChunkRow, EntityMention, Reading, Reject, RelationMention

TASK = "extraction"
"""Name of the task in requests and in the journal."""

QUESTION = "gleaning"
"""The same for the question whether another pass is worth it."""

YES, NO = "YES", "NO"
"""The answers to it."""

_SYSTEM, _USER, _EXAMPLES = "extraction_system", "extraction_user", "extraction_examples"
_CONTINUE, _LOOP = "extraction_continue", "extraction_loop"
_NOTHING = Reading()
MAX_ENTITIES, MAX_RELATIONS = 12, 10
"""Most records of a chunk in the profiles with descriptions, where the settings say nothing."""

_COMPACT = "compact"
_GRAPHRAG = "graphrag"
PROFILES = ("lightrag", _GRAPHRAG, _COMPACT)
"""How a chunk can be read."""

_MAX_KEYWORDS, _MAX_KEYWORD_WORDS = 5, 4
_KEYWORD_BORDER = re.compile(r"[,;，；、]")


class Extractor:
    """Makes requests for chunks and readings from their results; has no state, so threads may share it."""

    def __init__(self, settings: ExtractionSettings, directory: Path | None = None) -> None:
        """Load the prompts of the settings' profile: those in `directory` in place of those that ship.

        Raises `PromptError` for a missing or damaged prompt and `SettingsError` for a setting that has no
        meaning.
        """
        if settings.profile not in PROFILES:
            raise SettingsError(
                f"There is no extraction profile {settings.profile!r}.", f"Profiles: {', '.join(PROFILES)}."
            )
        check_language(settings.language)
        self._settings = settings
        self._delimiters = Delimiters(
            settings.tuple_delimiter, settings.record_delimiter, settings.completion_delimiter
        )
        self._form: Form = "graphrag" if settings.profile == _GRAPHRAG else "lightrag"
        upper = self._form == "graphrag"
        self._types = {
            code: type_words(settings.entity_types, code, upper=upper) for code in PROMPT_LANGUAGES
        }
        given = relation_types(settings.relation_types)
        shown = relation_words(given)
        self._relation_types = tuple(shown)
        self._relation_words = {word.casefold(): word for word in given}
        self._relation_words |= {word.casefold(): name for word, name in shown.items()}
        names = [_SYSTEM, _EXAMPLES, _USER]
        names += ["relation_types"] if self._relation_types else []
        names += [_CONTINUE, _LOOP] if settings.gleaning != "off" else []
        self._prompts = {
            (code, name): load(settings.profile, code, name, directory)
            for code in PROMPT_LANGUAGES
            for name in names
        }
        for code in PROMPT_LANGUAGES:
            self._expect_text(code)

    def _expect_text(self, code: str) -> None:
        """Raise `PromptError` if the text to read is put into none of the prompts."""
        sent = [self._prompts[code, name] for name in (_SYSTEM, _USER)]
        if not any("input_text" in prompt.inputs for prompt in sent):
            raise PromptError(
                f"The prompts {self.profile}/{code}/extraction_system and …_user lack {{input_text}}.",
                "Put it into one of them, at the end.",
            )

    @property
    def profile(self) -> str:
        """The profile of the settings."""
        return self._settings.profile

    @property
    def settings(self) -> ExtractionSettings:
        """The settings that this was made with."""
        return self._settings

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts in use, for the journal."""
        return tuple(self._prompts.values())

    def names(self, chunk: ChunkRow) -> tuple[str, ...]:
        """The names that the chunk offers, in order of appearance; without any there is nothing to do."""
        return tuple(candidate.text for candidate in self._candidates(chunk))

    def _candidates(self, chunk: ChunkRow) -> tuple[Candidate, ...]:
        limit = NAMES if self.profile == _COMPACT else MAX_CANDIDATES
        found = _found(chunk.text, limit, self._settings.entity_types)
        return tuple(candidate for candidate in found if len(candidate.text) <= self._settings.max_name)

    def request(self, chunk: ChunkRow) -> GenerationRequest:
        """The call that reads a chunk.

        Everything but the chunk's text is shared by all chunks of one language. Control characters of the
        text, but newline and tab, are blanks in the prompt.
        """
        program, budget = self._program(chunk, self._prompt_language(chunk))
        return GenerationRequest(TASK, self._conversation(chunk), program, budget)

    def question(self, chunk: ChunkRow, written: Sequence[str]) -> GenerationRequest:
        """The call that decides, between `YES` and `NO`, whether what was `written` about a chunk, pass by
        pass, lacks something."""
        messages = self._conversation(chunk, written, _LOOP)
        return replace(decisions.request(messages, (YES, NO), BACKGROUND), task=QUESTION)

    def further(self, chunk: ChunkRow, written: Sequence[str], before: Reading) -> GenerationRequest | None:
        """The call that looks through a chunk once more; None if there is nothing left to write.

        `written` is what the passes wrote, and `before` what of it is stored: that can be referred to and
        not written again. What was cut off, or rejected, is offered again.
        """
        program, budget = self._program(chunk, self._prompt_language(chunk), before)
        if not offers_records(program):
            return None
        return GenerationRequest(TASK, self._conversation(chunk, written, _CONTINUE), program, budget)

    def _conversation(
        self, chunk: ChunkRow, written: Sequence[str] = (), asked: str = ""
    ) -> tuple[Message, ...]:
        """Instructions and text; behind them what was written, pass by pass, and what is asked then.

        A later call begins with exactly the messages of the earlier ones, so that an engine need not read
        them again.
        """
        code = self._prompt_language(chunk)
        inputs = self._inputs(chunk, code)
        system = self._prompts[code, _SYSTEM].pieces(inputs, ("input_text",))
        if self._relation_types:
            system = self._with_relation_types(system, inputs, code)
        messages = [
            Message("system", system),
            Message("user", self._prompts[code, _USER].pieces(inputs, ("input_text",))),
        ]
        for number, text in enumerate(written):
            if number:
                messages.append(self._turn(code, _CONTINUE, inputs))
            messages.append(Message("assistant", (Piece(text),)))
        if asked:
            messages.append(self._turn(code, asked, inputs))
        return tuple(messages)

    def _turn(self, code: str, name: str, inputs: dict[str, str]) -> Message:
        return Message("user", (Piece(self._prompts[code, name].render(**inputs)),))

    def _with_relation_types(
        self, system: tuple[Piece, ...], inputs: dict[str, str], code: str
    ) -> tuple[Piece, ...]:
        """The instructions with the closed list: behind them, but before anything of the chunk."""
        types = self._prompts[code, "relation_types"].render(**inputs)
        shared = tuple(piece for piece in system if piece.shared)
        own = tuple(piece for piece in system if not piece.shared)
        return (*shared, Piece(f"\n\n{types}" if not own else f"{types}\n\n", shared=True), *own)

    def _program(self, chunk: ChunkRow, code: str, before: Reading = _NOTHING) -> tuple[Program, int]:
        """What may be written about a chunk in addition to `before`, and in how many tokens."""
        keys = {entity.key for entity in before.entities}
        types, taken, settings = self._types[code].shown, self._taken(before), self._settings
        if self.profile == _COMPACT and not taken.names:
            weighed = compact_program(
                self._candidates(chunk), types, chunk.text, settings, code, self._relation_types
            )
            return weighed, budget(weighed, settings)
        names = tuple(name for name in self.names(chunk) if fold(name) not in keys)
        if self.profile == _COMPACT:
            lean = further_program(names, types, settings, code, self._relation_types)
            lean = with_taken(lean, taken, lean.max_relations)
            return lean, further_budget(lean, settings)
        latin = changes_script(settings.language, chunk.language)
        shape = Shape(self._delimiters, self._form, code, self._relation_types, latin)
        return records_program(names, types, self._limits(code), shape, taken), self._settings.max_tokens

    def _taken(self, before: Reading) -> Taken:
        """What was written, as far as it can stand in a record: an engine without grammars may have written
        names that cannot."""
        firsts = "" if self.profile == _COMPACT else self._delimiters.firsts
        names = {
            entity.key: entity.name
            for entity in before.entities
            if writable(entity.name) and not any(char in entity.name for char in firsts)
        }
        pairs = ((relation.source_key, relation.target_key) for relation in before.relations)
        joined = [pair for pair in pairs if names.keys() >= set(pair)]
        return Taken(tuple(names.values()), tuple((names[left], names[right]) for left, right in joined))

    def read(
        self, chunk: ChunkRow, generation: Generation, before: Reading = _NOTHING
    ) -> tuple[Reading, list[Reject]]:
        """What a generation says about a chunk, and what of it cannot be stored.

        `before` is what the passes before this one found: relations may have ends there, and what is there
        is rejected here. The reading holds what is new.
        Every record is in one of the two: parsed = entities + relations + rejects. A generation that was
        ended by its budget keeps its complete records, the one that was cut off is a reject. After an error
        or a cancellation the complete records are returned too, with one more reject of kind `generation`
        that says why; the caller decides whether to store them or to mark the chunk as failed.
        """
        records = self._records(chunk, generation, before)
        rejects = list(records.rejects)
        entities = self._entities(chunk, records, {entity.key for entity in before.entities}, rejects)
        relations = self._relations(records, entities, before, rejects)
        if generation.finish in ("error", "cancelled"):
            reason = generation.error or "the reading was stopped"
            rejects.append(Reject("generation", "", reason))
        reading = Reading(tuple(entities), tuple(relations))
        most = self._settings.max_description
        compact = self.profile == _COMPACT
        return filled(reading, before, chunk.text, chunk.language, most, describe=compact), rejects

    def _records(self, chunk: ChunkRow, generation: Generation, before: Reading) -> Records:
        if self.profile == _COMPACT:
            return parse_compact(generation, self._relation_types)
        known = [entity.name for entity in before.entities]
        offered = (*self.names(chunk), *known) if self._form == "graphrag" else ()
        shown = {capitals(name): name for name in offered}
        return parse(generation.text, self._delimiters, self._form, known, shown)

    def _entities(
        self, chunk: ChunkRow, records: Records, known: set[str], rejects: list[Reject]
    ) -> list[EntityMention]:
        words = self._types[self._prompt_language(chunk)]
        entities: list[EntityMention] = []
        for record in records.entities:
            mention = _mention(chunk.text, record, words)
            if mention is None:
                rejects.append(Reject("entity", _shown(record), "the name is not in the text"))
            elif is_pronoun(mention.name):
                rejects.append(Reject("entity", _shown(record), "the name is a pronoun"))
            elif mention.key in known:
                rejects.append(Reject("entity", _shown(record), "this entity was written before"))
            else:
                known.add(mention.key)
                entities.append(mention)
        return entities

    def _prompt_language(self, chunk: ChunkRow) -> str:
        return prompt_language(self._settings.language, chunk.language)

    def _inputs(self, chunk: ChunkRow, code: str) -> dict[str, str]:
        between = "、" if code == "zh" else ", "
        inputs = {
            "entity_types": self._listed_types(code, between),
            "relation_types": between.join(self._relation_types),
            "tuple_delimiter": self._delimiters.fields,
            "record_delimiter": self._delimiters.records,
            "completion_delimiter": self._delimiters.completion,
            "language": language_name(self._settings.language, chunk.language, chunk.text),
            "input_text": clean(chunk.text),
        }
        inputs["examples"] = self._prompts[code, _EXAMPLES].render(**inputs)
        return inputs

    def _listed_types(self, code: str, between: str) -> str:
        """The types as they stand in a prompt, which names Other itself."""
        words = self._types[code].shown
        return between.join(words[:-1] or words) or OWN_TYPES[code]

    def _relations(
        self, records: Records, entities: Iterable[EntityMention], before: Reading, rejects: list[Reject]
    ) -> list[RelationMention]:
        keys = {entity.key for entity in (*before.entities, *entities)}
        pairs = {self._pair(relation.source_key, relation.target_key) for relation in before.relations}
        relations = []
        for record in records.relations:
            source, target = fold(record.source), fold(record.target)
            words, description = self._words(record)
            pair = self._pair(source, target)
            if source not in keys or target not in keys:
                rejects.append(Reject("relation", _shown(record), "an end is not in the text"))
            elif pair in pairs:
                rejects.append(Reject("relation", _shown(record), "this pair was written before"))
            elif self._relation_types and not words:
                rejects.append(Reject("relation", _shown(record), "its type is not in the list"))
            else:
                pairs.add(pair)
                relations.append(RelationMention(source, target, words, description, record.strength))
        return relations

    def _pair(self, source: str, target: str) -> tuple[str, str]:
        """What counts as the same pair: in GraphRAG's form both directions of two names are two."""
        return (source, target) if self._form == "graphrag" or source <= target else (target, source)

    def _words(self, record: RelationRecord) -> tuple[str, str]:
        """The keywords and the description of a relation; with a closed list, its type alone."""
        if not self._relation_types:
            return keywords(record.keywords), record.description
        word, description = record.keywords, record.description
        if self._form == "graphrag":
            word, _, description = record.description.partition(TYPE_MARK)
        return self._relation_words.get(one_line(word).casefold(), ""), description

    def _limits(self, code: str) -> Limits:
        # A Chinese character says as much as two or three letters and costs about as many tokens as four.
        width = 2 if code == "zh" else 1
        return Limits(
            entities=self._settings.max_entities or MAX_ENTITIES,
            relations=MAX_RELATIONS if self._settings.max_relations < 0 else self._settings.max_relations,
            description=max(self._settings.max_description // width, 1),
            keywords=self._settings.max_keywords,
        )


@lru_cache(maxsize=256)
def _found(text: str, limit: int, types: tuple[str, ...]) -> tuple[Candidate, ...]:
    """The names that a text offers; kept, since a chunk is looked at before and after the model reads it."""
    return find_candidates(text, limit, types)


def keywords(text: str) -> str:
    """Keywords parted by `, `: blanks folded, each once whatever its case, at most five, no sentences."""
    found: dict[str, str] = {}
    for part in _KEYWORD_BORDER.split(text):
        word = one_line(part).strip(" .。")
        if word and word.count(" ") < _MAX_KEYWORD_WORDS:
            found.setdefault(word.casefold(), word)
    return ", ".join(list(found.values())[:_MAX_KEYWORDS])


def _mention(text: str, record: EntityRecord, words: TypeWords) -> EntityMention | None:
    """The mention that a record means; None if the text does not hold the name."""
    start, end = locate(text, record.name)
    if start < 0:
        return None
    name = one_line(clean(text[start:end]))
    return EntityMention(name, fold(name), words.store(record.type), record.description, start, end)


def _shown(record: EntityRecord | RelationRecord) -> str:
    names = [record.name] if isinstance(record, EntityRecord) else [record.source, record.target]
    return " | ".join([*names, record.description])[:500]
