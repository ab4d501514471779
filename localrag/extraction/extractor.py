"""One chunk's extraction: what the model is asked, and what its answer means.

What is read depends on the chunk and the settings alone. Names are spans of the chunk: the grammar offers
no others, and an engine that writes without a grammar has them rejected here.
"""

from __future__ import annotations

import re
from pathlib import Path

from localrag.engine.names import capitals
from localrag.engine.programs import Program
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import PromptError, SettingsError
from localrag.extraction.candidates import MAX_CANDIDATES, find_candidates
from localrag.extraction.compact import NAMES, budget, compact_program, parse_compact
from localrag.extraction.delimiters import Delimiters
from localrag.extraction.program import Limits, Shape, records_program
from localrag.extraction.pronouns import is_pronoun
from localrag.extraction.spans import clean, locate, one_line
from localrag.extraction.types import OWN_TYPES, TypeWords, relation_types, type_words
from localrag.extraction.wire import TYPE_MARK, EntityRecord, Form, Records, RelationRecord, parse
from localrag.graph.names import fold
from localrag.prompts import Prompt, load
from localrag.sections import ExtractionSettings
from localrag.store.rows import ChunkRow, EntityMention, Reading, Reject, RelationMention

TASK = "extraction"
"""Name of the task in requests and in the journal."""

_COMPACT = "compact"
_GRAPHRAG = "graphrag"
PROFILES = ("lightrag", _GRAPHRAG, _COMPACT)
"""How a chunk can be read."""

_PROMPT_LANGUAGES = ("en", "zh")
_MAX_KEYWORDS, _MAX_KEYWORD_WORDS = 5, 4
_KEYWORD_BORDER = re.compile(r"[,;，；、]")

_LANGUAGES_IN_ENGLISH = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew",
    "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean",
    "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian",
    "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


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
        if settings.language not in ("auto", *_PROMPT_LANGUAGES):
            raise SettingsError(
                f"extraction.language cannot be {settings.language!r}.", "It is auto, en or zh."
            )
        self._settings = settings
        self._delimiters = Delimiters(
            settings.tuple_delimiter, settings.record_delimiter, settings.completion_delimiter
        )
        self._form: Form = "graphrag" if settings.profile == _GRAPHRAG else "lightrag"
        upper = self._form == "graphrag"
        self._types = {
            code: type_words(settings.entity_types, code, upper=upper) for code in _PROMPT_LANGUAGES
        }
        self._relation_types = relation_types(settings.relation_types)
        self._relation_words = {word.casefold(): word for word in self._relation_types}
        names = ("extraction_system", "extraction_examples", "extraction_user")
        self._prompts = {
            (code, name): load(settings.profile, code, name, directory)
            for code in _PROMPT_LANGUAGES
            for name in (*names, *(("relation_types",) if self._relation_types else ()))
        }
        for code in _PROMPT_LANGUAGES:
            self._expect_text(code)

    def _expect_text(self, code: str) -> None:
        """Raise `PromptError` if the text to read is put into none of the prompts."""
        sent = [self._prompts[code, name] for name in ("extraction_system", "extraction_user")]
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
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts in use, for the journal."""
        return tuple(self._prompts.values())

    def names(self, chunk: ChunkRow) -> tuple[str, ...]:
        """The names that the chunk offers, in order of appearance; without any there is nothing to do."""
        limit = NAMES if self.profile == _COMPACT else MAX_CANDIDATES
        return tuple(candidate.text for candidate in find_candidates(chunk.text, limit))

    def request(self, chunk: ChunkRow) -> GenerationRequest:
        """The call that reads a chunk.

        Everything but the chunk's text is shared by all chunks of one language. Control characters of the
        text, but newline and tab, are blanks in the prompt.
        """
        code = self._prompt_language(chunk)
        inputs = self._inputs(chunk, code)
        system = self._prompts[code, "extraction_system"].pieces(inputs, ("input_text",))
        user = self._prompts[code, "extraction_user"]
        program, budget = self._program(chunk, code)
        if self._relation_types:
            system = self._with_relation_types(system, inputs, code)
        return GenerationRequest(
            task=TASK,
            messages=(
                Message("system", system),
                Message("user", user.pieces(inputs, ("input_text",))),
            ),
            program=program,
            max_tokens=budget,
        )

    def _with_relation_types(
        self, system: tuple[Piece, ...], inputs: dict[str, str], code: str
    ) -> tuple[Piece, ...]:
        """The instructions with the closed list: behind them, but before anything of the chunk."""
        types = self._prompts[code, "relation_types"].render(**inputs)
        shared = tuple(piece for piece in system if piece.shared)
        own = tuple(piece for piece in system if not piece.shared)
        return (*shared, Piece(f"\n\n{types}" if not own else f"{types}\n\n", shared=True), *own)

    def _program(self, chunk: ChunkRow, code: str) -> tuple[Program, int]:
        """What may be written about a chunk, and in how many tokens."""
        names, types = self.names(chunk), self._types[code].shown
        if self.profile == _COMPACT:
            lean = compact_program(names, types, chunk.tokens, self._settings, code, self._relation_types)
            return lean, budget(lean, self._settings)
        shape = Shape(self._delimiters, self._form, code, self._relation_types)
        return records_program(names, types, self._limits(code), shape), self._settings.max_tokens

    def read(self, chunk: ChunkRow, generation: Generation) -> tuple[Reading, list[Reject]]:
        """What a generation says about a chunk, and what of it cannot be stored.

        Every record is in one of the two: parsed = entities + relations + rejects. A generation that was
        ended by its budget keeps its complete records, the one that was cut off is a reject. After an error
        or a cancellation the complete records are returned too, with one more reject of kind `generation`
        that says why; the caller decides whether to store them or to mark the chunk as failed.
        """
        records = self._records(chunk, generation)
        rejects = list(records.rejects)
        entities = self._entities(chunk, records, rejects)
        names = {entity.key for entity in entities}
        relations = self._relations(records, names, rejects)
        if generation.finish in ("error", "cancelled"):
            reason = generation.error or "the reading was stopped"
            rejects.append(Reject("generation", "", reason))
        return Reading(tuple(entities), tuple(relations)), rejects

    def _records(self, chunk: ChunkRow, generation: Generation) -> Records:
        if self.profile == _COMPACT:
            return parse_compact(generation, self._relation_types)
        shown = {capitals(name): name for name in self.names(chunk)} if self._form == "graphrag" else {}
        return parse(generation.text, self._delimiters, self._form, names=shown)

    def _entities(self, chunk: ChunkRow, records: Records, rejects: list[Reject]) -> list[EntityMention]:
        words = self._types[self._prompt_language(chunk)]
        entities = []
        for record in records.entities:
            mention = _mention(chunk.text, record, words)
            if mention is None:
                rejects.append(Reject("entity", _shown(record), "the name is not in the text"))
            elif is_pronoun(mention.name):
                rejects.append(Reject("entity", _shown(record), "the name is a pronoun"))
            else:
                entities.append(mention)
        return entities

    def _prompt_language(self, chunk: ChunkRow) -> str:
        if self._settings.language != "auto":
            return self._settings.language
        return "zh" if chunk.language.lower().startswith("zh") else "en"

    def _inputs(self, chunk: ChunkRow, code: str) -> dict[str, str]:
        between = "、" if code == "zh" else ", "
        inputs = {
            "entity_types": self._listed_types(code, between),
            "relation_types": between.join(self._relation_types),
            "tuple_delimiter": self._delimiters.fields,
            "record_delimiter": self._delimiters.records,
            "completion_delimiter": self._delimiters.completion,
            "language": self._language(chunk, code),
            "input_text": clean(chunk.text),
        }
        inputs["examples"] = self._prompts[code, "extraction_examples"].render(**inputs)
        return inputs

    def _listed_types(self, code: str, between: str) -> str:
        """The types as they stand in a prompt, which names Other itself."""
        words = self._types[code].shown
        return between.join(words[:-1] or words) or OWN_TYPES[code]

    def _relations(self, records: Records, keys: set[str], rejects: list[Reject]) -> list[RelationMention]:
        relations = []
        for record in records.relations:
            source, target = fold(record.source), fold(record.target)
            words, description = self._words(record)
            if source not in keys or target not in keys:
                rejects.append(Reject("relation", _shown(record), "an end is not in the text"))
            elif self._relation_types and not words:
                rejects.append(Reject("relation", _shown(record), "its type is not in the list"))
            else:
                relations.append(RelationMention(source, target, words, description, record.strength))
        return relations

    def _words(self, record: RelationRecord) -> tuple[str, str]:
        """The keywords and the description of a relation; with a closed list, its type alone."""
        if not self._relation_types:
            return keywords(record.keywords), record.description
        word, description = record.keywords, record.description
        if self._form == "graphrag":
            word, _, description = record.description.partition(TYPE_MARK)
        return self._relation_words.get(one_line(word).casefold(), ""), description

    def _language(self, chunk: ChunkRow, code: str) -> str:
        """The language of descriptions, in words of the prompt's language."""
        if code == "zh":
            return "中文"
        if self._settings.language == "en":
            return "English"
        return _LANGUAGES_IN_ENGLISH.get(chunk.language.lower().split("-")[0], "the language of the text")

    def _limits(self, code: str) -> Limits:
        # A Chinese character says as much as two or three letters and costs about as many tokens as four.
        width = 2 if code == "zh" else 1
        return Limits(
            entities=self._settings.max_entities,
            relations=self._settings.max_relations,
            description=max(self._settings.max_description // width, 1),
        )


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
