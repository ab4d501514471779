"""Adds, checks and removes model files."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localrag import settings
from localrag.catalogue.checks import Checks
from localrag.catalogue.entries import CatalogueEntry, Role
from localrag.catalogue.files import (
    copy_hashed,
    free_bytes,
    hash_file,
    is_disk_full,
    megabytes,
    move_into_place,
)
from localrag.catalogue.installed import InstalledModel, named_model, reason_of, suitable_role
from localrag.catalogue.listing import catalogue
from localrag.catalogue.pull import DIFFERENT, OnProgress, PullProgress
from localrag.engine.gguf import GgufInfo, inspect
from localrag.engine.gguf_format import shown_name
from localrag.errors import ModelError, ModelInvalid, ModelNotFound

_SPARE_BYTES: Final = 64 << 20
_MAX_STEM: Final = 100


@dataclass(frozen=True)
class VerifyResult:
    """What checking a model file found."""

    name: str
    """Name of the model."""

    path: Path
    """The file."""

    ok: bool
    """Whether it is whole and unchanged."""

    sha256: str
    """Its hash now."""

    expected: str
    """The hash that it should have; empty if none was known before."""

    reason: str
    """What is wrong; empty if `ok`."""


def add_model(
    file: Path, progress: OnProgress | None = None, models_dir: Path | None = None
) -> InstalledModel:
    """Copy a GGUF file into the models folder, after looking into it.

    A file that lies there already is only checked; a file of the catalogue gets the catalogue's name; another
    file of the same name gets a number. Raises `ModelInvalid` with the reason if it is truncated, foreign or
    of no use, `ModelNotFound` if it does not exist, and `ModelError` if it cannot be copied.
    """
    info = inspect(file)
    role = suitable_role(info)
    folder = models_dir or settings.models_dir()
    partial = folder / f"{_plain_stem(file)}.gguf.partial"
    if free_bytes(folder) < info.size + _SPARE_BYTES:
        raise _no_room(info, folder)
    report = progress or (lambda _: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.resolve().parent == folder.resolve():
            return _take_over(file, role, report)
        sha256 = copy_hashed(
            file, partial, lambda done: report(PullProgress(done, info.size, "copy", "copying"))
        )
        # The stick may have been pulled out, or the file may have changed under the copy.
        if inspect(partial).fingerprint != info.fingerprint:
            raise ModelInvalid(f"{shown_name(file)} changed while it was copied.", "Add it again.")
        return _name_copy(partial, sha256, role)
    except OSError as error:
        if is_disk_full(error):
            raise _no_room(info, folder) from error
        raise ModelError(
            f"{shown_name(file)} cannot be copied: {error.strerror or error}.",
            "Check the file and the rights of the models folder.",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def verify_model(name: str, progress: OnProgress | None = None) -> VerifyResult:
    """Hash a model's file again and compare; raises `ModelNotFound` if it is not installed.

    A file of the catalogue is compared with the catalogue, another with what it was when it was added or
    first verified. What `progress` raises stops the check, and nothing is kept of it.
    """
    model = named_model(name)
    checks = Checks(settings.models_dir())
    before = checks.last(model.path)
    expected = model.entry.sha256 if model.entry else before.sha256 if before else ""
    report = progress or (lambda _: None)
    try:
        total = model.path.stat().st_size
        sha256 = hash_file(
            model.path, lambda done: report(PullProgress(done, total, "check", "checking the file"))
        )
    except OSError as error:
        raise ModelError(f"{shown_name(model.path)} cannot be read: {error.strerror or error}.") from error
    reason = ""
    if expected and sha256 != expected:
        reason = DIFFERENT if model.entry else "it has changed since it was added"
    else:
        try:
            suitable_role(inspect(model.path))
        except ModelError as error:
            reason = reason_of(error, model.path)
    checks.remember(
        model.path, sha256=expected or sha256, verified=not reason, role=model.role, reason=reason
    )
    return VerifyResult(model.name, model.path, not reason, sha256, expected, reason)


def remove_model(name: str) -> InstalledModel:
    """Delete a model's file, and what an unfinished pull of it left; returns what was deleted.

    Raises `ModelNotFound` if there is nothing of that name in the models folders, and `ModelError` if the
    system refuses.
    """
    try:
        model = named_model(name)
    except ModelNotFound:
        model = _leftovers(name)
    try:
        model.path.unlink(missing_ok=True)
        if model.entry:
            _partial(model.entry).unlink(missing_ok=True)
            shutil.rmtree(_downloads(model.entry), ignore_errors=True)
    except OSError as error:
        raise ModelError(
            f"{shown_name(model.path)} cannot be removed: {error.strerror or error}.",
            "Check the rights of the folder, and that nothing uses the model.",
        ) from error
    Checks(settings.models_dir()).forget(model.path)
    return model


def unfinished(entry: CatalogueEntry) -> int:
    """Bytes that a pull of a model which was not fetched to the end has left; 0 if there are none."""
    files = [_partial(entry), *_downloads(entry).glob("part*")]
    found = 0
    for path in files:
        try:
            found += path.stat().st_size
        except OSError:
            continue  # a pull that goes on has just joined it
    return found


def _downloads(entry: CatalogueEntry) -> Path:
    return settings.cache_dir() / "downloads" / entry.name


def _partial(entry: CatalogueEntry) -> Path:
    return settings.models_dir() / f"{entry.file}.partial"


def _leftovers(name: str) -> InstalledModel:
    entry = next((e for e in catalogue().entries if name.strip().casefold() in (e.name, e.file)), None)
    if entry and (_partial(entry).exists() or _downloads(entry).exists()):
        files = [_partial(entry), *_downloads(entry).rglob("*")]
        size = sum(path.stat().st_size for path in files if path.is_file())
        path = settings.models_dir() / entry.file
        return InstalledModel(
            entry.name, path, size, entry.role, entry, False, "it was not fetched to the end"
        )
    raise ModelNotFound(
        f"No model called {shown_name(Path(name))} is installed.",
        "`localrag models list` shows what there is.",
    )


def _plain_stem(file: Path) -> str:
    """A file name that every system takes, from one that may hold anything."""
    stem = file.name[:-5] if file.name.casefold().endswith(".gguf") else file.name
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:_MAX_STEM] or "model"


def _no_room(info: GgufInfo, folder: Path) -> ModelError:
    return ModelError(
        f"There is too little room for {shown_name(info.path)}: {megabytes(info.size)} needed, "
        f"{megabytes(free_bytes(folder))} free.",
        "Make room, or put the models on another disk by setting LOCALRAG_CACHE to a folder there.",
    )


def _take_over(file: Path, role: Role, report: OnProgress) -> InstalledModel:
    """A file that was put into the models folder by hand: hash it and keep the hash."""
    size = file.stat().st_size
    sha256 = hash_file(file, lambda done: report(PullProgress(done, size, "check", "checking the file")))
    entry = catalogue().by_file(file.name)
    verified = None if entry is None else sha256 == entry.sha256
    reason = "" if verified is not False else DIFFERENT
    Checks(file.parent).remember(file, sha256=sha256, verified=verified, role=role, reason=reason)
    return InstalledModel(entry.name if entry else file.stem, file, size, role, entry, verified, reason)


def _name_copy(partial: Path, sha256: str, role: Role) -> InstalledModel:
    """Give a checked copy a name that no other file has; a file of the catalogue gets its own."""
    checks = Checks(partial.parent)
    entry = catalogue().by_hash(sha256)
    stem = entry.file.removesuffix(".gguf") if entry else partial.name.removesuffix(".gguf.partial")
    target, number = partial.with_name(f"{stem}.gguf"), 1
    while entry is None and (target.exists() or catalogue().by_file(target.name)):
        if target.exists() and hash_file(target) == sha256:
            break
        number += 1
        target = partial.with_name(f"{stem}-{number}.gguf")
    move_into_place(partial, target)
    verified = True if entry else None
    checks.remember(target, sha256=sha256, verified=verified, role=role)
    name = entry.name if entry else target.stem
    return InstalledModel(name, target, target.stat().st_size, role, entry, verified)
