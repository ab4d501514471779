"""What a person is shown of models: which are here, in use, recommended, or to be had; nothing is drawn here.

`look_at_models` reads disks and headers and is for a working thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from localrag.plain import plain
from localrag.settings import Settings
from localrag.tui.words import count, size

if TYPE_CHECKING:
    from localrag.catalogue.entries import CatalogueEntry, Role
    from localrag.catalogue.installed import InstalledModel
    from localrag.catalogue.recommend import Machine

State = Literal["in use", "installed", "damaged", "unfinished", "can be fetched", "bring a file", "unusable"]

JOBS = {"chat": "reads and answers", "embed": "makes vectors", "rank": "ranks passages", "": "nothing"}
"""What a model of each role does."""

ABOUT_JOBS = {
    "chat": "Reads documents and answers questions",
    "embed": "Makes vectors, for search by meaning",
    "rank": "Ranks passages (optional)",
}
"""The jobs that there are, for people. Reading for the graph and answering are done by one model."""


@dataclass(frozen=True)
class ModelRow:
    """A model in the list."""

    name: str
    """What it is called, harmless to show."""

    role: Literal["chat", "embed", "rank", ""]
    """What it does; empty if it can do nothing here."""

    state: State
    """Whether it is here, and whether it works."""

    recommended: bool = False
    """Whether it suits this machine best among those that can be fetched, or brought."""

    title: str = ""
    """Its name for people."""

    size: int = 0
    """Bytes of its file; 0 if that is not known."""

    fetched: int = 0
    """Bytes that an unfinished pull has left."""

    path: Path | None = None
    """Its file; None if it is not here."""

    verified: bool | None = None
    """Whether its hash is the expected one; None if that was not checked."""

    known: bool = False
    """Whether it is in the catalogue, so that it can be fetched."""

    why: str = ""
    """Why it is recommended, damaged or unusable, in a sentence."""

    facts: tuple[tuple[str, str], ...] = ()
    """Name and value of what else is known of it."""

    @property
    def here(self) -> bool:
        """Whether its file is here."""
        return self.path is not None

    @property
    def can_be_fetched(self) -> bool:
        """Whether fetching would bring something."""
        return self.known and self.state in ("can be fetched", "unfinished", "damaged")

    @property
    def can_be_used(self) -> bool:
        """Whether it can be chosen."""
        return self.state == "installed"


@dataclass(frozen=True)
class UsedModel:
    """What does a job now."""

    job: str
    """The job, for people."""

    role: str
    """`chat`, `embed` or `rank`."""

    name: str
    """The model, or the server; empty if there is none."""

    problem: str = ""
    """Why there is none, in a sentence."""


@dataclass(frozen=True)
class ModelsView:
    """All that the lists of models show."""

    rows: tuple[ModelRow, ...]
    """The models, those in use first."""

    used: tuple[UsedModel, ...]
    """One for each job."""

    machine: Machine
    """This computer."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Roles that a first start needs and that no model fills."""
        return tuple(item.role for item in self.used if item.role != "rank" and not item.name)

    @property
    def wanted(self) -> tuple[ModelRow, ...]:
        """The recommended models that can be fetched and do a job that nothing does yet."""
        return tuple(
            row for row in self.rows if row.recommended and row.can_be_fetched and row.role in self.missing
        )


def look_at_models(settings: Settings) -> ModelsView:
    """Look at the models of this machine. Raises `ModelError` if the catalogue itself cannot be read."""
    from localrag.catalogue.installed import RANKS, installed, unusable
    from localrag.catalogue.listing import catalogue
    from localrag.catalogue.recommend import machine, recommend

    here = machine()
    models = installed()
    used, in_use = _used(settings)
    advice = {item.name: item for item in recommend(here)}
    rows = []
    for model in models:
        advised = advice.get(model.name)
        rows.append(_installed_row(model, settings, model.path in in_use, advised.why if advised else ""))
    names = {model.name for model in models}
    for entry in catalogue().entries:
        if entry.name not in names and not entry.tests_only:
            advised = advice.get(entry.name)
            rows.append(_entry_row(entry, advised.why if advised else ""))
    for item in advice.values():
        if not item.obtainable and not item.installed:
            rows.append(
                ModelRow(plain(item.name), item.role, "bring a file", recommended=True, why=plain(item.why))
            )
    for file in unusable():
        ranks = file.reason == RANKS
        state: State = "in use" if file.path in in_use else "installed" if ranks else "unusable"
        rows.append(
            ModelRow(
                plain(file.path.stem),
                "rank" if ranks else "",
                state,
                size=_size(file.path),
                path=file.path,
                why="" if ranks else plain(f"It cannot be used: {file.reason}."),
            )
        )
    return ModelsView(tuple(sorted(rows, key=_place)), used, here)


def _used(settings: Settings) -> tuple[tuple[UsedModel, ...], set[Path]]:
    """What does each job, and the files that are in use."""
    from localrag.catalogue.installed import find_model, installed
    from localrag.catalogue.rerankers import find_reranker
    from localrag.errors import ModelError

    names = {model.path: model.name for model in installed()}
    found: list[UsedModel] = []
    files: set[Path] = set()
    jobs: tuple[tuple[Role, str, str], ...] = (
        ("chat", settings.models.chat, settings.remote.url),
        ("embed", settings.models.embed, settings.remote.embed_url),
    )
    for role, chosen, server in jobs:
        if server:
            found.append(UsedModel(ABOUT_JOBS[role], role, f"a server: {plain(server)}"))
            continue
        try:
            path = find_model(chosen, role)
        except ModelError as error:
            problem = plain(error.message) if chosen.strip() else "none yet"
            found.append(UsedModel(ABOUT_JOBS[role], role, "", problem))
            continue
        files.add(path)
        found.append(UsedModel(ABOUT_JOBS[role], role, plain(names.get(path, path.stem))))
    ranking = UsedModel(ABOUT_JOBS["rank"], "rank", "", "none, and search works without one")
    if settings.models.reranker.strip():
        try:
            path = find_reranker(settings.models.reranker)
            files.add(path)
            ranking = UsedModel(ABOUT_JOBS["rank"], "rank", plain(path.stem))
        except ModelError as error:
            ranking = UsedModel(ABOUT_JOBS["rank"], "rank", "", plain(error.message))
    return (*found, ranking), files


def _installed_row(model: InstalledModel, settings: Settings, used: bool, advice: str) -> ModelRow:
    state: State = "damaged" if model.verified is False else "in use" if used else "installed"
    why = f"It is damaged: {model.reason}." if state == "damaged" else advice
    facts = _entry_facts(model.entry) if model.entry else _file_facts(model.path)
    return ModelRow(
        plain(model.name),
        model.role,
        state,
        recommended=bool(advice),
        title=plain(model.entry.title) if model.entry else "",
        size=model.size,
        path=model.path,
        verified=model.verified,
        known=model.entry is not None,
        why=plain(why),
        facts=(*facts, *_speed(model, settings), ("File", plain(str(model.path)))),
    )


def _entry_row(entry: CatalogueEntry, advice: str) -> ModelRow:
    from localrag.catalogue.manage import unfinished

    fetched = unfinished(entry)
    return ModelRow(
        entry.name,
        entry.role,
        "unfinished" if fetched else "can be fetched",
        recommended=bool(advice),
        title=plain(entry.title),
        size=entry.size,
        fetched=fetched,
        known=True,
        why=plain(advice),
        facts=_entry_facts(entry),
    )


def _entry_facts(entry: CatalogueEntry) -> tuple[tuple[str, str], ...]:
    languages = ", ".join(entry.languages[:6])
    if len(entry.languages) > 6:
        languages += f" and {len(entry.languages) - 6} more"
    return (
        ("Licence", plain(entry.licence)),
        ("Languages", languages),
        ("Parameters", f"{_rounded(entry.parameters)}, {entry.quantisation}"),
        ("Context", count(entry.context, "token")),
        ("Memory", f"about {size(entry.memory_mb << 20)} while it works"),
        *((("To know", plain(entry.notes)),) if entry.notes else ()),
    )


def _file_facts(path: Path) -> tuple[tuple[str, str], ...]:
    """What a file that a person brought says of itself."""
    from localrag.engine.gguf import inspect
    from localrag.errors import ModelError

    try:
        found = inspect(path)
    except ModelError:
        return ()
    return (
        ("Licence", plain(found.licence or "the file does not say")),
        ("Parameters", f"{_rounded(found.parameters)}, {plain(found.quantisation)}"),
        (
            "Context",
            count(found.context_length, "token") if found.context_length else "the file does not say",
        ),
    )


def _speed(model: InstalledModel, settings: Settings) -> tuple[tuple[str, str], ...]:
    """How fast the model was measured to be on this machine."""
    if model.role != "chat" or model.verified is False:
        return ()
    from localrag.engine.gguf import inspect
    from localrag.engine.tuned import stored, subject
    from localrag.engines import Engines
    from localrag.errors import LocalragError

    try:
        known = stored(subject(inspect(model.path), Engines(settings).options()))
    except (LocalragError, OSError):
        return ()
    if known is None or not known.sequences:
        return (("Speed", "not measured on this machine yet"),)
    reads, writes = f"{known.read_rate:,.0f}", f"{known.write_rate:,.0f}"
    return (("Speed", f"reads {reads} and writes {writes} tokens a second on this machine"),)


def details(row: ModelRow) -> list[tuple[str, str]]:
    """Everything that is known of a model, as pairs for people."""
    does = JOBS[row.role] if row.role else "cannot be used"
    state = row.state
    words = f"{state}; recommended for this machine" if row.recommended else state
    found = [("Does", does), ("State", words)]
    if row.fetched:
        found.append(("Fetched", f"{size(row.fetched)} of {size(row.size)}; fetching goes on from there"))
    elif row.size:
        checked = {True: ", checked", False: ", damaged", None: ", not checked" if row.here else ""}
        found.append(("Size", f"{size(row.size)}{checked[row.verified]}"))
    if row.why:
        found.append(("Why", row.why))
    if row.state == "bring a file":
        found.append(("How", "Get its GGUF file on any machine, then press a here and name the file."))
    return [*found, *row.facts]


_ORDER: dict[State, int] = {
    "in use": 0,
    "damaged": 1,
    "installed": 2,
    "unfinished": 3,
    "can be fetched": 4,
    "bring a file": 5,
    "unusable": 6,
}
_ROLES = {"chat": 0, "embed": 1, "rank": 2, "": 3}


def _place(row: ModelRow) -> tuple[int, bool, int, str]:
    return _ORDER[row.state], not row.recommended, _ROLES[row.role], row.name


def _rounded(number: int) -> str:
    for unit, scale in (("billion", 1e9), ("million", 1e6)):
        if number >= scale:
            return f"{number / scale:.2g} {unit}" if number < 100 * scale else f"{number / scale:.0f} {unit}"
    return f"{number:,}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
