"""Typed settings: defaults, then the settings file, then the environment, then flags; each knows its origin.

The file is TOML with one table per section; the environment names a setting as LOCALRAG_SECTION__NAME.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from localrag.errors import PromptError, SettingsError

PREFIX = "LOCALRAG_"


def _number(default: int, least: int, most: int, *, or_zero: bool = False) -> int:
    """A whole number within bounds; what lies outside would make the engine fail without a reason."""
    number: int = field(default=default, metadata={"least": least, "most": most, "or_zero": or_zero})
    return number


def _choice(*allowed: str) -> str:
    """One of some words; the first is the default."""
    word: str = field(default=allowed[0], metadata={"allowed": allowed})
    return word


class _Section:
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
class ModelSettings(_Section):
    """Which models are used."""

    chat: str = ""
    """Name or path of the model that reads and answers; empty takes the best one that is installed."""

    embed: str = ""
    """Name or path of the embedding model; empty takes the best one that is installed."""

    chat_template: str = ""
    """Template of the prompts instead of the model's own: a file in Jinja's dialect, or the name of a
    built-in one (`plain`, `chatml`). A model without a template of its own needs it."""


@dataclass(frozen=True)
class EngineSettings(_Section):
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
class RemoteSettings(_Section):
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
class ChunkingSettings(_Section):
    """How text is cut."""

    size: int = 320
    """Target size of a chunk in estimated tokens."""

    overlap: int = 32
    """Estimated tokens repeated from the chunk before, in whole sentences."""


@dataclass(frozen=True)
class ExtractionSettings(_Section):
    """How chunks are read."""

    profile: str = "lightrag"
    """How a chunk is read: `lightrag`, `graphrag` or `compact`, each with prompts and records of its own."""

    language: str = "auto"
    """Language of descriptions: `auto` is the chunk's own, else `en` or `zh`."""

    entity_types: tuple[str, ...] = (
        "person",
        "organization",
        "location",
        "event",
        "work",
        "product",
        "concept",
        "date",
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

    max_entities: int = _number(12, 1, 200)
    """Most entities in a chunk."""

    max_relations: int = _number(10, 0, 200)
    """Most relations in a chunk."""

    max_description: int = _number(160, 1, 1000)
    """Most characters of a description."""

    max_tokens: int = _number(900, 16, 100_000)
    """Most tokens written for a chunk."""


@dataclass(frozen=True)
class PromptSettings(_Section):
    """Where a person's own prompts lie."""

    directory: str = ""
    """Folder of prompts that take the place of those that ship; empty: `prompts` beside the settings file."""


@dataclass(frozen=True)
class RetrievalSettings(_Section):
    """What is put before the model with a question."""

    passages: int = _number(5, 1, 1000)
    """Most passages."""

    entities: int = _number(6, 0, 1000)
    """Most entities."""

    relations: int = _number(6, 0, 1000)
    """Most relations."""

    context_tokens: int = _number(1400, 96, 1_000_000)
    """Most tokens of passages, entities and relations together."""

    vector_cache_mb: int = _number(4096, 1, 100_000_000, or_zero=True)
    """MiB on disk for vectors in a form that is searched fast, of all knowledge bases together; 0 keeps
    nothing."""


@dataclass(frozen=True)
class AnsweringSettings(_Section):
    """How answers are written."""

    max_tokens: int = _number(400, 16, 100_000)
    """Most tokens of an answer."""

    max_citations: int = _number(5, 1, 5)
    """Most entries of the list of references."""

    response_type: str = "a few sentences"
    """What form the answer should have, in words."""


@dataclass(frozen=True)
class Settings:
    """All settings, by section."""

    models: ModelSettings = field(default_factory=ModelSettings)
    """Which models are used."""

    engine: EngineSettings = field(default_factory=EngineSettings)
    """How the engine runs."""

    remote: RemoteSettings = field(default_factory=RemoteSettings)
    """A server that reads and answers instead of this machine."""

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    """How text is cut."""

    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    """How chunks are read."""

    prompts: PromptSettings = field(default_factory=PromptSettings)
    """Where a person's own prompts lie."""

    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    """What is put before the model with a question."""

    answering: AnsweringSettings = field(default_factory=AnsweringSettings)
    """How answers are written."""

    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value that is no default came from, by `section.name`."""

    def origin(self, name: str) -> str:
        """Where the value of `section.name` came from: `default`, a file's path, a variable, or a flag."""
        return self.origins.get(name, "default")


def load_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> Settings:
    """Read the settings of this run.

    `file` defaults to `settings_file()`; one that is not there is no error, unless the variable
    LOCALRAG_CONFIG names it. `environment` defaults to the process's. `flags` maps `section.name` to a value
    that the command line gave; None values are ignored.
    Raises `SettingsError` for an unknown name or a value that does not fit.
    """
    path = settings_file() if file is None else file
    named = os.environ.get(f"{PREFIX}CONFIG")
    if file is None and named and (path.is_dir() or not path.exists()):
        raise SettingsError(
            f"The settings file {path} is not there.", f"Correct the variable {PREFIX}CONFIG."
        )
    settings = _apply_file(Settings(), path) if path.is_file() else Settings()
    for name, text in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(PREFIX) and "__" in name:
            section, _, key = name[len(PREFIX) :].lower().partition("__")
            settings = _set(settings, section, key, text, f"variable {name}")
    for dotted, value in (flags or {}).items():
        if value is not None:
            section, _, key = dotted.partition(".")
            settings = _set(settings, section, key, value, "flag")
    return settings


def _apply_file(settings: Settings, path: Path) -> Settings:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error}.", "Correct or remove it."
        ) from error
    for section, values in data.items():
        if not isinstance(values, dict):
            raise SettingsError(
                f"{path}: {section!r} stands outside a section.", "Put it under a heading such as [engine]."
            )
        for key, value in values.items():
            settings = _set(settings, section, key, value, str(path))
    return settings


def _set(settings: Settings, section: str, key: str, value: object, origin: str) -> Settings:
    """A copy of `settings` with one value changed, converted to the type of its default."""
    sections = [item.name for item in fields(Settings) if item.name != "origins"]
    if section not in sections:
        raise SettingsError(
            f"There is no section {section!r} ({origin}).", f"Sections: {', '.join(sections)}."
        )
    group = getattr(settings, section)
    names = [item.name for item in fields(group)]
    if key not in names:
        raise SettingsError(
            f"There is no setting {section}.{key} ({origin}).", f"In {section}: {', '.join(names)}."
        )
    refused = f"{section}.{key} cannot be {value!r} ({origin})."
    try:
        converted = _convert(value, getattr(group, key))
    except (TypeError, ValueError) as error:
        raise SettingsError(refused, f"It takes {_type_name(getattr(group, key))}.") from error
    try:
        changed: dict[str, Any] = {section: replace(group, **{key: converted})}
    except ValueError as error:
        raise SettingsError(refused, f"It takes {error}.") from error
    return replace(settings, **changed, origins={**settings.origins, f"{section}.{key}": origin})


def _convert(value: object, default: object) -> object:
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        if str(value).lower() in {"1", "true", "yes", "on"}:
            return True
        if str(value).lower() in {"0", "false", "no", "off"}:
            return False
        raise ValueError(value)
    if isinstance(default, int):
        if isinstance(value, (bool, float)):
            raise TypeError(value)
        return int(str(value))
    if isinstance(default, tuple):
        parts = value if isinstance(value, (list, tuple)) else str(value).split(",")
        return tuple(text for text in (str(part).strip() for part in parts) if text)
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _type_name(default: object) -> str:
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return "a whole number"
    return "a list of words" if isinstance(default, tuple) else "text"


def settings_file() -> Path:
    """Where the person's settings file lies, whether or not it exists."""
    return Path(
        os.environ.get(f"{PREFIX}CONFIG") or platformdirs.user_config_path("localrag") / "settings.toml"
    )


def prompts_dir(settings: Settings) -> Path:
    """Folder of the person's own prompts, whether or not it exists; a relative one counts from the settings
    file's folder."""
    named = os.path.expanduser(settings.prompts.directory)
    return settings_file().parent / (named or "prompts")


def cache_dir() -> Path:
    """Folder for models, builds and other things that can be fetched or made again."""
    return Path(os.environ.get(f"{PREFIX}CACHE") or platformdirs.user_cache_path("localrag"))


def state_dir() -> Path:
    """Folder for what localrag found out about this machine; deleting it costs a measurement."""
    return Path(os.environ.get(f"{PREFIX}STATE") or platformdirs.user_state_path("localrag"))


def models_dir() -> Path:
    """Folder into which models are pulled and added."""
    return cache_dir() / "models"


def model_folders() -> tuple[Path, ...]:
    """Folders in which model files are looked for: the cache, and `models/` of a checkout."""
    return models_dir(), _checkout() / "models"


def data_path(*parts: str) -> Path:
    """Path of a file that ships with localrag, such as `data_path("prompts", "lightrag", "en")`.

    In a wheel these lie inside the package, in a checkout beside it. Raises `PromptError` if it is missing.
    """
    inside = Path(__file__).parent / "_data"
    for base in (inside, _checkout()):
        path = base.joinpath(*parts)
        if path.exists():
            return path
    raise PromptError(f"{'/'.join(parts)} is missing from this installation.", "Install localrag again.")


def _checkout() -> Path:
    return Path(__file__).resolve().parent.parent
