"""Typed settings: defaults, then the settings file, then the environment, then flags; each knows its origin.

The file is TOML with one table per section; the environment names a setting as LOCALRAG_SECTION__NAME.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
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
    TuiSettings,
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

    tui: TuiSettings = field(default_factory=TuiSettings)
    """How the application in the terminal looks, and its keys."""

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
    settings = Settings()
    for given in _given(file, os.environ if environment is None else environment, flags or {}):
        settings = _set(settings, *given)
    return settings


def load_usable_settings(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
) -> tuple[Settings, tuple[SettingsError, ...]]:
    """Like `load_settings`, but what has no meaning is left out and returned with the settings.

    For programs with a person before them, who can put it right there.
    """
    settings, wrong = Settings(), list[SettingsError]()
    given = _given(file, os.environ if environment is None else environment, flags or {}, wrong)
    for section, key, value, origin in given:
        try:
            settings = _set(settings, section, key, value, origin)
        except SettingsError as error:
            wrong.append(error)
    return settings, tuple(wrong)


def _given(
    file: Path | None,
    environment: Mapping[str, str],
    flags: Mapping[str, object],
    wrong: list[SettingsError] | None = None,
) -> Iterator[tuple[str, str, object, str]]:
    """Section, key, value and origin of all that was given; what counts more comes later.

    What is wrong with the file as a whole is put into `wrong`, or raised without that.
    """
    try:
        yield from _in_file(file, wrong)
    except SettingsError as error:
        if wrong is None:
            raise
        wrong.append(error)
    for name, text in sorted(environment.items()):
        if name.startswith(PREFIX) and "__" in name:
            section, _, key = name[len(PREFIX) :].lower().partition("__")
            yield section, key, text, f"variable {name}"
    for dotted, value in flags.items():
        if value is not None:
            section, _, key = dotted.partition(".")
            yield section, key, value, "flag"


def _in_file(file: Path | None, wrong: list[SettingsError] | None) -> Iterator[tuple[str, str, object, str]]:
    path = settings_file() if file is None else file
    named = os.environ.get(f"{PREFIX}CONFIG")
    if file is None and named and (path.is_dir() or not path.exists()):
        raise SettingsError(
            f"The settings file {path} is not there.", f"Correct the variable {PREFIX}CONFIG."
        )
    if not path.is_file():
        return
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            f"The settings file {path} cannot be read: {error}.", "Correct or remove it."
        ) from error
    for section, values in data.items():
        if not isinstance(values, dict):
            stray = SettingsError(
                f"{path}: {section!r} stands outside a section.", "Put it under a heading such as [engine]."
            )
            if wrong is None:
                raise stray
            wrong.append(stray)
            continue
        for key, value in values.items():
            yield section, key, value, str(path)


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


def check_value(settings: Settings, name: str, value: object) -> Settings:
    """A copy of `settings` with `section.name` as the person's file would give it.

    Raises `SettingsError` if it cannot be that.
    """
    section, _, key = name.partition(".")
    changed = _set(settings, section, key, value, "what was typed")
    return replace(changed, origins={**changed.origins, name: str(settings_file())})


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
    if isinstance(default, Mapping):
        if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
            raise TypeError(value)
        return dict(value)
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
    if isinstance(default, Mapping):
        return "a table of texts, in the settings file only"
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
