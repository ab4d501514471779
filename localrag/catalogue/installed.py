"""The model files on this machine: which there are, what each can do, and which one is meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localrag import settings
from localrag.catalogue.checks import Check, Checks
from localrag.catalogue.entries import FOREIGN_PREFERENCE, CatalogueEntry, Role
from localrag.catalogue.listing import catalogue
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.gguf_format import shown_name
from localrag.errors import ModelError, ModelInvalid, ModelNotFound

RANKS: Final = "it ranks texts and does nothing else; name it in the setting models.reranker"
"""Why a model with rank pooling is none of those that are listed."""

_DEFAULT_LIMIT: Final = 512


@dataclass(frozen=True)
class InstalledModel:
    """A model file that can be used."""

    name: str
    """What people type: the catalogue's name, or the file's without its ending."""

    path: Path
    """The file."""

    size: int
    """Its bytes."""

    role: Role
    """`chat` reads and answers, `embed` makes vectors."""

    entry: CatalogueEntry | None
    """Its catalogue entry; None for a file that people brought."""

    verified: bool | None
    """Whether its hash is the expected one; None if that was not checked, or nothing is expected."""

    reason: str = ""
    """Why it is not right, if `verified` is False."""


@dataclass(frozen=True)
class UnusableFile:
    """A .gguf file in a models folder that cannot serve."""

    path: Path
    """The file."""

    reason: str
    """Why not, as the end of a sentence."""


@dataclass(frozen=True)
class EmbeddingProfile:
    """How an embedding model wants to be used."""

    pooling: str
    """`mean`, `cls` or `last`."""

    query_prefix: str
    """Put before a question."""

    passage_prefix: str
    """Put before a text that is searched."""

    limit: int
    """Tokens after which a text is cut."""


def installed() -> list[InstalledModel]:
    """All usable models, chat first, the preferred first; of one name the first folder's."""
    models: dict[str, InstalledModel] = {}
    for path in _files():
        found = _look(path)
        if isinstance(found, InstalledModel):
            models.setdefault(found.name, found)
    return sorted(models.values(), key=lambda model: (model.role, _rank(model)))


def unusable() -> list[UnusableFile]:
    """Files in the models folders that cannot serve, each with the reason."""
    return [found for path in _files() if isinstance(found := _look(path), UnusableFile)]


def find_model(name_or_path: str, role: Role) -> Path:
    """The file of the model that settings or a person named; empty takes the best installed one.

    A name is a catalogue name, a file name with or without its ending, or a path. Raises `ModelNotFound` with
    what to type if it is not there, and `ModelInvalid` if it is damaged or of the other role.
    """
    wanted = name_or_path.strip()
    models = installed()
    if not wanted:
        return _best(models, role).path
    for model in models:
        if _is_called(model, wanted):
            return _usable(model, role).path
    path = Path(wanted).expanduser()
    if path.is_file():
        _require_role(suitable_role(inspect(path)), role, shown_name(path))
        return path
    entry = next((e for e in catalogue().entries if wanted.casefold() in (e.name, e.file)), None)
    hint = (
        f"Bring it with `localrag models pull {entry.name}`."
        if entry
        else "`localrag models list` shows what there is; bring a file with `localrag models add FILE`."
    )
    raise ModelNotFound(f"The model {shown_name(Path(wanted))} is not installed.", hint)


def find_embedding_model(name: str) -> Path | None:
    """The installed embedding model that a knowledge base names; None if it is not here.

    The name comes out of a file that others may have made, so unlike `find_model` this never takes it for a
    path. It may be the one that the model's file gives itself.
    """
    wanted = name.strip()
    models = [model for model in installed() if model.role == "embed" and model.verified is not False]
    for model in models:
        if _is_called(model, wanted):
            return model.path
    for model in models:
        if wanted and inspect(model.path).name.casefold() == wanted.casefold():
            return model.path
    return None


def named_model(name: str) -> InstalledModel:
    """The installed model of that name, usable or not; raises `ModelNotFound`."""
    wanted = name.strip()
    for model in installed():
        if _is_called(model, wanted):
            return model
    for file in unusable():
        if wanted.casefold() in (file.path.name.casefold(), file.path.stem.casefold()):
            return InstalledModel(
                file.path.stem, file.path, file.path.stat().st_size, "chat", None, False, file.reason
            )
    raise ModelNotFound(
        f"No model called {shown_name(Path(wanted))} is installed.",
        "`localrag models list` shows what there is.",
    )


def embedding_profile(path: Path) -> EmbeddingProfile:
    """How the embedding model in a file is to be used, from the catalogue, else from the file itself.

    Raises `ModelInvalid` if the file is no embedding model.
    """
    entry = catalogue().by_file(path.name)
    if entry is not None and entry.role == "embed":
        return EmbeddingProfile(entry.pooling, entry.query_prefix, entry.passage_prefix, entry.limit)
    info = inspect(path)
    _require_role(suitable_role(info), "embed", shown_name(path))
    known = catalogue().known_as(path.stem) or catalogue().known_as(info.name)
    return EmbeddingProfile(
        pooling=info.pooling or "",
        query_prefix=known.query_prefix if known else "",
        passage_prefix=known.passage_prefix if known else "",
        limit=min(info.context_length or _DEFAULT_LIMIT, _DEFAULT_LIMIT),
    )


def suitable_role(info: GgufInfo) -> Role:
    """The role that a file can serve; raises `ModelInvalid` with the reason if it can serve none."""
    reason = ""
    if info.kind != "model":
        reason = f"it is a part for another model ({info.kind}), not a model"
    elif info.splits > 1:
        reason = f"it is one of {info.splits} files of a split model; join them into one first"
    elif not info.tokenizer or info.tokenizer == "none" or not info.vocabulary:
        reason = "it has no tokenizer, so it is not a model for text"
    elif info.pooling == "rank":
        reason = RANKS
    elif info.is_embedding and info.pooling is None:
        reason = "it is an embedding model whose file does not say how vectors are pooled"
    if reason:
        raise ModelInvalid(f"{shown_name(info.path)} cannot be used: {reason}.", "Take another file.")
    return "embed" if info.is_embedding else "chat"


def _files() -> list[Path]:
    found = []
    for folder in settings.model_folders():
        try:
            found += sorted(p for p in folder.iterdir() if p.suffix.casefold() == ".gguf" and p.is_file())
        except OSError:
            continue  # the folder does not exist yet, or is not ours to read
    return found


def _look(path: Path) -> InstalledModel | UnusableFile:
    """What a file is, from what is remembered of it, or else by looking into it once."""
    checks = Checks(settings.models_dir())
    check = checks.get(path)
    entry = catalogue().by_file(path.name)
    size = path.stat().st_size
    if entry is not None:
        if size != entry.size:
            reason = f"it has {size:,} of {entry.size:,} bytes"
            return InstalledModel(entry.name, path, size, entry.role, entry, False, reason)
        verified, reason = (check.verified, check.reason) if check and check.sha256 else (None, "")
        return InstalledModel(entry.name, path, size, entry.role, entry, verified, reason)
    if check is None:
        check = _first_look(path, checks)
    if check.role not in ("chat", "embed"):
        return UnusableFile(path, check.reason)
    role: Role = "chat" if check.role == "chat" else "embed"
    return InstalledModel(path.stem, path, size, role, None, check.verified, check.reason)


def _first_look(path: Path, checks: Checks) -> Check:
    role, reason = "", ""
    try:
        role = suitable_role(inspect(path))
    except ModelError as error:
        reason = reason_of(error, path)
    # A hash from before, if the file has changed since, is kept for `verify`.
    before = checks.last(path)
    checks.remember(path, sha256=before.sha256 if before else "", role=role, reason=reason)
    return Check(0, 0, "", None, role, reason)


def reason_of(error: ModelError, path: Path) -> str:
    """Why a file cannot serve, as the end of a sentence that has already named it."""
    text = error.message.removeprefix(f"{shown_name(path)} ").removeprefix("cannot be used: ").rstrip(".")
    return text if text.startswith("it ") else f"it {text}"


def _rank(model: InstalledModel) -> tuple[bool, int, str]:
    """Place in the order of preference; what only tests use comes last."""
    if model.entry is None:
        return False, FOREIGN_PREFERENCE, model.name
    return model.entry.tests_only, model.entry.preference, model.name


def _best(models: Sequence[InstalledModel], role: Role) -> InstalledModel:
    usable = [model for model in models if model.role == role and model.verified is not False]
    if usable:
        return min(usable, key=_rank)
    default = catalogue().of_role(role)[0]
    what = "reads and answers" if role == "chat" else "makes vectors"
    raise ModelNotFound(
        f"No model that {what} is installed.", f"Bring one with `localrag models pull {default.name}`."
    )


def _is_called(model: InstalledModel, wanted: str) -> bool:
    names = (model.name, model.path.name, model.path.stem, str(model.path))
    return wanted.casefold() in {name.casefold() for name in names}


def _usable(model: InstalledModel, role: Role) -> InstalledModel:
    _require_role(model.role, role, model.name)
    if model.verified is False:
        hint = f"localrag models pull {model.name}" if model.entry else "localrag models add FILE"
        raise ModelInvalid(
            f"The file of {model.name} is damaged: {model.reason}.", f"Bring it again with `{hint}`."
        )
    return model


def _require_role(actual: Role, wanted: Role, name: str) -> None:
    if actual != wanted:
        does = {"chat": "reads and answers", "embed": "makes vectors"}
        raise ModelInvalid(
            f"{name} {does[actual]}; a model that {does[wanted]} is needed here.",
            "`localrag models list` shows which model does what.",
        )
