"""The sections of the settings: what can be set, its default, its bounds, what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


def _number(default: int, least: int, most: int, *, or_zero: bool = False) -> int:
    """A whole number within bounds; what lies outside would make the engine fail without a reason."""
    number: int = field(default=default, metadata={"least": least, "most": most, "or_zero": or_zero})
    return number


def _choice(*allowed: str) -> str:
    """One of some words; the first is the default."""
    word: str = field(default=allowed[0], metadata={"allowed": allowed})
    return word


class Section:
    """A section of the settings, which refuses values out of their bounds."""

    def __post_init__(self) -> None:
        """Raises `ValueError` that says what is allowed."""
        for item in fields(self):  # type: ignore[arg-type]
            bounds, value = item.metadata, getattr(self, item.name)
            if "allowed" in bounds and value not in bounds["allowed"]:
                raise ValueError(f"one of {', '.join(bounds['allowed'])}")
            if "least" not in bounds or (bounds["or_zero"] and value == 0):
                continue
            if not bounds["least"] <= value <= bounds["most"]:
                zero = "0 or " if bounds["or_zero"] else ""
                raise ValueError(f"{zero}a whole number from {bounds['least']} to {bounds['most']}")


@dataclass(frozen=True)
class ModelSettings(Section):
    """Which models are used."""

    chat: str = ""
    """Name or path of the model that reads and answers; empty takes the best one that is installed."""

    embed: str = ""
    """Name or path of the embedding model; empty takes the best one that is installed."""

    reranker: str = ""
    """Name or path of a model with rank pooling, which reads question and passage together; empty: none."""

    chat_template: str = ""
    """Template of the prompts instead of the model's own: a file in Jinja's dialect, or the name of a
    built-in one (`plain`, `chatml`). A model without a template of its own needs it."""


@dataclass(frozen=True)
class EngineSettings(Section):
    """How the engine runs."""

    threads: int = _number(0, 0, 1024)
    """Threads; 0 takes the physical cores."""

    sequences: int = _number(0, 0, 250)
    """Texts read together; 0 chooses by the machine."""

    n_ctx: int = _number(0, 512, 4_194_304, or_zero=True)
    """Tokens of context over all sequences; 0 chooses by model and memory."""

    batch: int = _number(0, 32, 8192, or_zero=True)
    """Most tokens in one step of the model; 0 chooses."""

    width: int = _number(0, 1, 8192, or_zero=True)
    """Most tokens of a step in which texts are written; 0 chooses. Below 64 on a processor."""

    prefix_mb: int = _number(512, 1, 1_000_000, or_zero=True)
    """MiB on disk for what the model makes of the fixed parts of prompts; 0 keeps nothing."""

    ubatch: int = _number(0, 32, 8192, or_zero=True)
    """Most tokens that are computed at once within a step; 0 takes the whole step."""

    kv_type: str = _choice("auto", "f16", "f32", "bf16", "q8_0", "q5_1", "q4_0")
    """Type of the numbers in the cache; `auto` chooses. The types that begin with q need flash attention."""

    flash_attention: str = _choice("auto", "on", "off")
    """Whether attention is computed without storing its scores; `auto` lets llama.cpp choose."""

    tune: str = _choice("auto", "off")
    """`auto` measures this machine once, when a model is first used; `off` never measures by itself."""

    gpu_layers: int = _number(0, -1, 10_000)
    """Layers put on a GPU; -1 puts all there if the build has one."""

    devices: tuple[str, ...] = ()
    """Names of the devices to use, as `localrag tune-machine` lists them; empty takes all."""

    split_mode: str = _choice("layer", "none", "row", "tensor")
    """How a model is split over several GPUs: by `layer`, by `row`, by `tensor`, or `none`: on one."""

    tensor_split: tuple[str, ...] = ()
    """Shares of the devices, such as `3,1`; empty splits by free memory."""

    main_gpu: int = _number(0, 0, 1024)
    """Number of the device that is used if `split_mode` is `none`."""

    hang_seconds: int = _number(180, 10, 86_400, or_zero=True)
    """Seconds without a sign of life after which an engine at work is ended and started again; 0 never."""

    def __post_init__(self) -> None:
        """Also refuses shares that are no numbers."""
        super().__post_init__()
        try:
            shares = [float(share) for share in self.tensor_split]
        except ValueError:
            raise ValueError("numbers that are 0 or larger, such as 3,1") from None
        if any(not 0 <= share < 1e9 for share in shares) or (shares and not sum(shares)):
            raise ValueError("numbers that are 0 or larger, such as 3,1")


@dataclass(frozen=True)
class RemoteSettings(Section):
    """A server that reads and answers instead of this machine. Nothing is sent to one that is not named.

    Its key, if it wants one, is the environment variable LOCALRAG_REMOTE_API_KEY; no file holds it.
    """

    url: str = ""
    """Address of the server of the language model, such as http://127.0.0.1:8080; empty: this machine."""

    dialect: str = _choice("llama-server", "openai")
    """How it is spoken to: `llama-server` or `openai` (vLLM, llama_cpp.server and others)."""

    model: str = ""
    """The model's name at the server; empty takes the only one that it serves."""

    context: int = _number(0, 512, 4_194_304, or_zero=True)
    """Tokens of one request, prompt and output together; 0 asks the server, which not every one can tell."""

    parallel: int = _number(0, 1, 256, or_zero=True)
    """Requests at a time; 0 takes the places of the server where it tells them, else 4."""

    first_token: int = _number(600, 1, 86_400)
    """Most seconds of silence before the first token."""

    silence: int = _number(60, 1, 86_400)
    """Most seconds of silence between two tokens."""

    retries: int = _number(5, 0, 20)
    """How often a call is tried again that found no server or a busy one."""

    plain_http: bool = False
    """Whether text may go unencrypted to an address that is neither loopback nor private."""

    embed_url: str = ""
    """Address of the server of the embedding model; empty: this machine."""

    embed_model: str = ""
    """The embedding model's name at its server; must be given with `embed_url`."""

    embed_query_prefix: str = ""
    """Put before a question that is embedded, as the model wants it."""

    embed_passage_prefix: str = ""
    """Put before a text that is embedded, as the model wants it."""


@dataclass(frozen=True)
class ChunkingSettings(Section):
    """How text is cut."""

    size: int = 320
    """Target size of a chunk in estimated tokens."""

    overlap: int = 32
    """Estimated tokens repeated from the chunk before, in whole sentences."""


@dataclass(frozen=True)
class ExtractionSettings(Section):
    """How chunks are read."""

    profile: str = "compact"
    """How a chunk is read: `compact`, `lightrag` or `graphrag`, each with prompts and records of its own."""

    language: str = "auto"
    """Language of descriptions: `auto` is the chunk's own, else a code such as `en`, `zh` or `de`."""

    entity_types: tuple[str, ...] = (
        "person",
        "organization",
        "location",
        "event",
        "work",
        "product",
        "concept",
    )
    """Types that an entity may have, besides Other; an empty list leaves the type to the model."""

    relation_types: tuple[str, ...] = ()
    """The only types that a relation may have; empty leaves its keywords to the model."""

    tuple_delimiter: str = "<|>"
    """What parts the fields of a record, in the profiles lightrag and graphrag."""

    record_delimiter: str = "##"
    """What ends a record there."""

    completion_delimiter: str = "<|COMPLETE|>"
    """What ends the last one."""

    max_entities: int = _number(0, 0, 200)
    """Most entities in a chunk; 0 chooses by the profile."""

    max_relations: int = _number(-1, -1, 200)
    """Most relations in a chunk; -1 chooses by the profile."""

    max_name: int = _number(80, 2, 80)
    """Most characters of a name; longer ones are not offered."""

    max_keywords: int = _number(40, 1, 200)
    """Most characters of a relation's keywords."""

    max_description: int = _number(160, 1, 1000)
    """Most characters of a description."""

    max_tokens: int = _number(900, 16, 100_000)
    """Most tokens written for a chunk in one pass."""

    gleaning: str = _choice("off", "once", "until-no")
    """Whether a chunk that was read is looked through again for what is missing: `off`, `once`, or
    `until-no`: until the model says that nothing is. The model is asked first, and each pass over a chunk
    has the bounds above."""

    gleaning_threshold: int = _number(50, 0, 100)
    """Percent that the model must give to yes when it is asked whether something is missing; 0 does not
    ask."""

    gleaning_passes: int = _number(3, 1, 20)
    """Most passes behind the first with `until-no`."""


@dataclass(frozen=True)
class ClaimSettings(Section):
    """How claims are read."""

    at_index: bool = False
    """Whether `index` reads claims too, of every chunk that it has read."""

    entity_specs: tuple[str, ...] = ()
    """Whom claims are about: names or types of entities; empty takes all entities."""

    description: str = "any claims or facts that could be relevant"
    """Which claims count, in words."""

    types: tuple[str, ...] = ()
    """The only types that a claim may have; empty leaves them to the model."""

    dates: str = _choice("text", "free")
    """When a claim was: `text` takes one of the times that the passage names, `free` any day that the model
    writes."""

    max_claims: int = _number(8, 1, 100)
    """Most claims in a chunk."""

    max_description: int = _number(200, 1, 1000)
    """Most characters of a description."""

    max_tokens: int = _number(900, 16, 100_000)
    """Most tokens written for a chunk."""


@dataclass(frozen=True)
class SummarySettings(Section):
    """When and how what many passages say of one thing is summed up."""

    at_index: bool = False
    """Whether `index` writes summaries too; `localrag summarize` does so whatever this says."""

    join_count: int = _number(12, 1, 10_000)
    """Most different descriptions that are read joined, without a model."""

    join_tokens: int = _number(300, 1, 100_000)
    """Most estimated tokens of descriptions that are read joined."""

    length: int = _number(80, 20, 2000)
    """Tokens that a summary is asked to have at most."""

    input_tokens: int = _number(1200, 100, 1_000_000)
    """Most tokens of descriptions in one call; longer lists are summed up in parts first."""

    descriptions: int = _number(200, 2, 1_000_000)
    """Most descriptions that a summary is made of; of more, so many are taken, evenly spread."""


@dataclass(frozen=True)
class CommunitySettings(Section):
    """How the graph is divided into communities, and what is written about each."""

    max_size: int = _number(10, 2, 1000)
    """Entities above which a community is divided again, as far as it falls into connected parts."""

    seed: int = _number(1, 0, 2**31 - 1)
    """Another seed may divide a graph in another way; the same one always divides it in the same way."""

    at_index: bool = True
    """Whether `index` divides the graph at its end, which takes no model; else it is done when needed."""

    reports_at_index: int = _number(0, 0, 100_000)
    """Reports that the model writes at the end of `index`, those that matter most first. The others are
    written when they are asked for; until then the facts stand in for them."""

    findings: int = _number(5, 1, 10)
    """Findings of a report at most; small models write few well."""

    context_tokens: int = _number(2_000, 500, 32_000)
    """Tokens of entities, relations and claims that the model gets to read for a report."""

    report_tokens: int = _number(700, 200, 4_000)
    """Tokens of a report at most; one that is cut off there is kept and marked."""


@dataclass(frozen=True)
class ResolutionSettings(Section):
    """Which names are taken for one."""

    automatic: bool = True
    """Whether `index` merges names that surely mean the same, such as Holmes and Sherlock Holmes in a
    document with one Holmes; what is less sure is only suggested. Off takes back what was merged so."""


@dataclass(frozen=True)
class PromptSettings(Section):
    """Where a person's own prompts lie."""

    directory: str = ""
    """Folder of prompts that take the place of those that ship; empty: `prompts` beside the settings file."""


@dataclass(frozen=True)
class RetrievalSettings(Section):
    """What is put before the model with a question."""

    passages: int = _number(8, 1, 1000)
    """Most passages."""

    entities: int = _number(6, 0, 1000)
    """Most entities."""

    relations: int = _number(6, 0, 1000)
    """Most relations."""

    keywords: str = _choice("auto", "model", "words")
    """Who finds the keywords of a question: the `model`, its `words` alone, or `auto`: the model in the modes
    local, global and hybrid, which live on them, and the words elsewhere, which takes no time."""

    rerank: bool = True
    """Whether the best passages are put in the order of `models.reranker`, if one is named."""

    context_tokens: int = _number(0, 96, 1_000_000, or_zero=True)
    """Most tokens of passages, entities and relations together; 0 takes as many as this machine reads in
    `answering.first_word` seconds, at most `context_most`."""

    context_most: int = _number(2000, 96, 1_000_000)
    """Most tokens of them on a fast machine, where `context_tokens` is 0."""

    passages_share: int = _number(70, 1, 100)
    """What passages get of these tokens, as a part of the three shares together. What one kind leaves goes to
    the others."""

    entities_share: int = _number(15, 0, 100)
    """What entities get, while passages wait for room."""

    relations_share: int = _number(15, 0, 100)
    """What relations get, while passages wait for room."""

    trim: bool = True
    """Whether passages behind the best two are shown as the sentences that have to do with the question and
    those beside them; off shows all passages whole."""

    order: str = _choice("best-first", "best-last")
    """Where the best passage stands: at the beginning, or at the end next to the question."""

    vector_cache_mb: int = _number(4096, 1, 100_000_000, or_zero=True)
    """MiB on disk for vectors in a form that is searched fast, of all knowledge bases together; 0 keeps
    nothing."""


@dataclass(frozen=True)
class AnsweringSettings(Section):
    """How answers are written."""

    style: str = _choice("strict", "flexible")
    """`strict` answers from the knowledge base alone and says when it cannot; `flexible` may add general
    knowledge, marked as such."""

    refuse_below: int = _number(22, 0, 100)
    """With `strict`: percent of certainty that what was found holds the answer, below which none is written;
    told by the question's words before the model reads. 0 leaves it to the model."""

    steps: bool = True
    """Whether what a question only describes, as in "the city where the museum is", is looked up first, each
    by a question of its own."""

    max_tokens: int = _number(400, 16, 100_000)
    """Most tokens of an answer; a report may have twice as many, none more than a third of the context."""

    first_word: int = _number(8, 1, 3600)
    """Seconds in which the first word should come; the context is made so short that it can."""

    history_share: int = _number(25, 0, 80)
    """Percent of the prompt that earlier questions and answers may take; the oldest are left out first."""

    wishes_share: int = _number(15, 1, 80)
    """Percent of the prompt that further wishes may take; what is longer is cut at the end of a sentence."""

    max_citations: int = _number(5, 1, 20)
    """Most entries of the list of references."""

    response_type: str = "a few sentences"
    """What form the answer should have: `short`, `sentences`, `list`, `table`, `report`, or other words."""


@dataclass(frozen=True)
class TuiSettings(Section):
    """How the application in the terminal looks, and its keys."""

    theme: str = ""
    """Name of the colours, as the place for settings lists them; empty takes dark ones."""

    reduced_motion: bool = False
    """Whether nothing glides or fades: the screen jumps to its next state at once."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of your own: the name of an action, such as `library.delete`, and its keys, such as `x,delete`."""
