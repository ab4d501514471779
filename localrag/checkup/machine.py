"""Checks of what localrag needs on this machine: each looks at one thing and says how to mend it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localrag.checkup.base import CheckResult, State
from localrag.errors import (
    KnowledgeBaseBusy,
    KnowledgeBaseNotFound,
    LocalragError,
    NewerFormat,
    NotAKnowledgeBase,
)

if TYPE_CHECKING:
    from localrag.settings import Settings

OLDEST_PYTHON = (3, 11)
PROBE_SECONDS = 300
LOW_DISK = 2_000_000_000
SETUP = "Run scripts/setup, which builds llama.cpp for this processor."


def check_python() -> CheckResult:
    """Whether this Python is new enough."""
    version = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return CheckResult("Python", "fail", version, "Install Python 3.11 or newer.")
    return CheckResult("Python", "ok", version)


def check_sqlite() -> Iterator[CheckResult]:
    """Which SQLite there is and what it can do."""
    from localrag.store.sqlite import capabilities

    found = capabilities()
    yield CheckResult("SQLite", "ok", f"{found.sqlite_version}, from the module {found.module}")
    if found.fts5:
        yield CheckResult("Full text search", "ok", "FTS5")
    else:
        yield CheckResult(
            "Full text search", "fail", "This SQLite has no FTS5.", "Install the package pysqlite3."
        )
    searched = f"vectors are searched with {found.search_path}"
    if found.vec_version is not None:
        yield CheckResult("Vector search", "ok", f"sqlite-vec {found.vec_version}; {searched}")
    elif found.extension_loading:
        yield CheckResult(
            "Vector search",
            "warn",
            f"sqlite-vec does not load; {searched}, which is slower on large knowledge bases",
            "Install the package sqlite-vec.",
        )
    else:
        yield CheckResult(
            "Vector search",
            "warn",
            f"this SQLite loads no extensions; {searched}, which is slower on large knowledge bases",
            "Install the package pysqlite3 where it has a build for your machine, or another Python.",
        )


def check_llama(model: Path | None = None, command: Sequence[str] | None = None) -> CheckResult:
    """Whether llama.cpp loads, which features of the processor it was built for, and whether it works.

    It is asked in a child process (`command`), because a build for another processor ends the process. With
    `model`, a chat model's file, it reads a real prompt: some broken builds die of nothing less.
    """
    name = "llama.cpp"
    asked = [*(command or (sys.executable, "-m", "localrag.engine.probe")), *([str(model)] if model else [])]
    try:
        child = subprocess.run(
            asked, capture_output=True, timeout=PROBE_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return CheckResult(name, "fail", f"It did not answer within {PROBE_SECONDS} seconds.", SETUP)
    except OSError as error:
        return CheckResult(name, "fail", f"It could not be asked: {error.strerror}.", SETUP)
    report = _last_json(child.stdout.decode("utf-8", "replace"))
    if child.returncode < 0 or report is None:
        return CheckResult(name, "fail", _how_it_ended(child.returncode, child.stderr), SETUP)
    built = (
        f"llama-cpp-python {report.get('llama_cpp', '?')}; {_features(str(report.get('system_info', '')))}"
    )
    if report.get("ok"):
        rate = report.get("tokens_per_second")
        tried = f"; tried with {report.get('model')}, which wrote {rate} tokens a second" if rate else ""
        return CheckResult(name, "ok", f"{built}{tried}")
    if report.get("text"):
        # A model that cannot count is no proof of a broken build.
        detail = f"{built}; {report.get('model')} did not go on counting but wrote {report['text']!r}"
        return CheckResult(name, "warn", detail, f"Try another model, or: {SETUP}")
    return CheckResult(name, "fail", str(report.get("error") or "It does not load."), SETUP)


def _last_json(text: str) -> dict[str, Any] | None:
    """The last line that is a JSON object; a build may print lines of its own before."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                value = json.loads(line)
            except ValueError:
                return None
            return value if isinstance(value, dict) else None
    return None


def _how_it_ended(code: int, errors: bytes) -> str:
    if code < 0:
        return f"It ended by signal {-code} while it was loading; the build does not fit this processor."
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return f"It cannot be loaded: {lines[-1]}" if lines else f"It ended with code {code} and said nothing."


def _features(system_info: str) -> str:
    """The features that are on, of a line such as `CPU : SSE3 = 1 | AVX = 1 | AVX512 = 0 | ...`."""
    names = []
    for part in system_info.replace(":", "|").split("|"):
        name, equals, value = part.partition("=")
        if equals and value.strip() not in {"", "0"}:
            names.append(name.strip())
    return f"built with {', '.join(names)}" if names else system_info.strip() or "no features are known"


def check_settings(load: Callable[[], Settings]) -> CheckResult:
    """Whether the settings can be read; names those that are no defaults."""
    from localrag.settings import settings_file

    try:
        settings = load()
    except LocalragError as error:
        return CheckResult("Settings", "fail", error.message, error.hint)
    path = settings_file()
    where = str(path) if path.is_file() else f"no file ({path} would be read)"
    changed = ", ".join(f"{name} by {origin}" for name, origin in sorted(settings.origins.items()))
    return CheckResult("Settings", "ok", f"{where}; {changed or 'all values are defaults'}")


def check_models(settings: Settings) -> Iterator[CheckResult]:
    """Whether there is a usable model for each job."""
    from localrag.catalogue.entries import Role
    from localrag.catalogue.installed import RANKS, find_model, installed, unusable
    from localrag.catalogue.rerankers import find_reranker

    here = {model.path: model for model in installed()}
    jobs: list[tuple[str, Role, str]] = [
        ("Model that reads and answers", "chat", settings.models.chat),
        ("Model that makes vectors", "embed", settings.models.embed),
    ]
    remote: dict[Role, str] = {"chat": settings.remote.url, "embed": settings.remote.embed_url}
    for name, role, chosen in jobs:
        if remote[role]:
            continue  # `check_remote` says more of it
        try:
            path = find_model(chosen, role)
        except LocalragError as error:
            # Without vectors, words and names are searched all the same.
            state: State = "fail" if role == "chat" else "warn"
            yield CheckResult(name, state, error.message, error.hint, mend="models")
            continue
        model = here.get(path)
        checked = "its hash is right" if model is not None and model.verified else "its hash was not checked"
        yield CheckResult(name, "ok", f"{model.name if model else path}; {checked}")
    for damaged in here.values():
        if damaged.verified is False:
            again = f"localrag models pull {damaged.name}" if damaged.entry else "localrag models add FILE"
            yield CheckResult("Model file", "warn", f"{damaged.name}: {damaged.reason}", again, mend="models")
    ranking: Path | None = None
    if settings.models.reranker.strip():
        name = "Model that ranks passages"
        try:
            ranking = find_reranker(settings.models.reranker)
            yield CheckResult(name, "ok", ranking.name)
        except LocalragError as error:
            # Without it passages stay in the order of the search.
            yield CheckResult(name, "warn", error.message, error.hint)
    for file in unusable():
        if file.path == ranking:
            continue
        hint = "" if file.reason == RANKS else f"Delete {file.path}."
        yield CheckResult("Model file", "warn", f"{file.path.name}: {file.reason}", hint)


def check_memory(needed_mb: int = 0) -> CheckResult:
    """Whether `needed_mb` MiB of memory are free."""
    from localrag.catalogue.recommend import machine

    here = machine()
    detail = f"{here.memory_available_mb:,} of {here.memory_mb:,} MB are free; {here.cores} cores"
    if needed_mb > here.memory_available_mb:
        return CheckResult(
            "Memory",
            "warn",
            f"{detail}; the models want about {needed_mb:,} MB",
            "Close other programs, or take a smaller model: localrag models recommend",
        )
    return CheckResult("Memory", "ok", detail)


def check_disk(folders: Sequence[Path]) -> Iterator[CheckResult]:
    """Whether the disks of `folders` have room and can be written; one result a disk."""
    seen: set[int] = set()
    for folder in folders:
        existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        if not os.access(existing, os.W_OK):
            remedy = "Change its permissions; another folder for models is set with LOCALRAG_CACHE."
            yield CheckResult("Disk", "warn", f"{folder} cannot be written", remedy)
            continue
        device = existing.stat().st_dev
        if device in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(existing).free
        if free < LOW_DISK:
            remedy = "A model takes 0.1 to 2 GB; make room."
            yield CheckResult("Disk", "warn", f"only {_gigabytes(free)} are free for {folder}", remedy)
        else:
            yield CheckResult("Disk", "ok", f"{_gigabytes(free)} are free for {folder}")


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def check_data() -> CheckResult:
    """Whether the prompts and the catalogue of models are in place."""
    from localrag.settings import data_path

    try:
        for parts in (
            ("prompts", "lightrag", "en"),
            ("prompts", "lightrag", "zh"),
            ("models", "catalogue.toml"),
        ):
            data_path(*parts)
    except LocalragError as error:
        return CheckResult("Prompts", "fail", error.message, error.hint)
    return CheckResult("Prompts", "ok", "prompts and the catalogue of models are in place")


def check_knowledge_base(path: Path) -> CheckResult:
    """Whether the file is whole."""
    from localrag.store.database import Store

    name = "Knowledge base"
    try:
        with Store.open(path, read_only=True) as store:
            problems = store.check()
    except (KnowledgeBaseNotFound, NotAKnowledgeBase, NewerFormat, KnowledgeBaseBusy) as error:
        return CheckResult(name, "fail", error.message, error.hint)
    except LocalragError as error:
        return CheckResult(name, "fail", error.message, error.hint, mend="repair")
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        remedy = "Go back to a copy, or mend it: localrag repair"
        return CheckResult(name, "fail", f"{path}: {problems[0]}{more}", remedy, mend="repair")
    return CheckResult(name, "ok", f"{path} is whole")
