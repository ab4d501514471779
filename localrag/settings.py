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
from localrag.sections import (
    AnsweringSettings,
    ChunkingSettings,
    ClaimSettings,
    EngineSettings,
    ExtractionSettings,
    ModelSettings,
    PromptSettings,
    RemoteSettings,
    ResolutionSettings,
    RetrievalSettings,
    SummarySettings,
)

PREFIX = "LOCALRAG_"


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

    claims: ClaimSettings = field(default_factory=ClaimSettings)
    """How claims are read."""

    summaries: SummarySettings = field(default_factory=SummarySettings)
    """When and how descriptions are summed up."""

    resolution: ResolutionSettings = field(default_factory=ResolutionSettings)
    """Which names are taken for one."""

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
