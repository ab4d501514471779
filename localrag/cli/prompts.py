"""`localrag prompts`: shows, edits and checks what the model is told."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, pass_invocation
from localrag.errors import PromptError, UsageError

if TYPE_CHECKING:
    from localrag.prompts.checking import Remark, Room
    from localrag.prompts.personal import Entry, PromptFolder
    from localrag.settings import Settings

USUAL_CONTEXT = 4096
"""Tokens of context that a prompt is measured against where the settings leave the choice to localrag."""

FAULTY = 1
"""Exit code if a prompt cannot be used."""

_EDITOR_VARIABLES = ("VISUAL", "EDITOR")


@click.group(short_help="Show, edit and check what the model is told.")
def prompts() -> None:
    """Show, edit and check what the model is told: every prompt is a text file that may be changed.

    A prompt's name is FAMILY/LANGUAGE/NAME, such as lightrag/en/rag_response. Your own files lie in a folder
    of yours and take the place of those that ship; words in braces are filled in. Every knowledge base keeps
    the prompts that it was made with.

    \b
    Example:
      localrag prompts edit lightrag/en/rag_response
      localrag prompts check
    """


@prompts.command("list", short_help="List all prompts, and which of them are yours.")
@json_option
@pass_invocation
def list_prompts(invocation: Invocation) -> None:
    """List all prompts with what they are for, which of them are yours, and which cannot be used.

    \b
    Example:
      localrag prompts list
    """
    folder = _folder(invocation)
    rows = [_row(folder, name) for name in folder.names()]
    if invocation.json:
        output.put_json({"folder": str(folder.path), "prompts": rows, "unused": list(folder.strangers())})
        return
    shown = [(row["name"], _state(row), row["description"] or row["fault"]) for row in rows]
    output.put_table(["prompt", "whose", "what for"], shown)
    _tell_strangers(folder)


def _row(folder: PromptFolder, name: str) -> dict[str, Any]:
    entry = folder.entry(name)
    row: dict[str, Any] = {"name": name, "own": entry.own, "path": str(entry.path), "fault": ""}
    try:
        prompt = folder.prompt(name)
    except PromptError as error:
        return row | {"fault": error.message, "description": "", "inputs": [], "hash": ""}
    return row | {
        "description": prompt.description,
        "inputs": list(prompt.inputs),
        "hash": prompt.hash,
    }


def _state(row: dict[str, Any]) -> str:
    whose = "yours" if row["own"] else "localrag's"
    return f"{whose}, cannot be used" if row["fault"] else whose


@prompts.command("show", short_help="Print a prompt as it is used.")
@click.argument("name")
@click.option("--shipped", is_flag=True, help="Print the one that ships, even if you have your own.")
@json_option
@pass_invocation
def show(invocation: Invocation, name: str, shipped: bool) -> None:
    """Print the file of prompt NAME that is used: yours if there is one, else the one that ships.

    \b
    Examples:
      localrag prompts show lightrag/en/extraction_system
      localrag prompts show --shipped graphrag/zh/claim_extraction
    """
    from localrag.prompts.personal import read

    folder = _folder(invocation)
    entry = folder.entry(name, shipped=shipped)
    text = read(entry).decode("utf-8", "replace").removeprefix("\ufeff")
    if invocation.json:
        output.put_json({"name": entry.name, "own": entry.own, "path": str(entry.path), "text": text})
        return
    output.put_text(text.rstrip("\n"))


@prompts.command("edit", short_help="Open your own copy of a prompt in your editor.")
@click.argument("name")
@json_option
@pass_invocation
def edit(invocation: Invocation, name: str) -> int:
    """Open your own copy of prompt NAME in the editor of the variable VISUAL or EDITOR, then check it.

    The copy is made from the prompt that ships, unless you have one. A copy with mistakes is kept and the
    mistakes are named, so that nothing you wrote is lost; a copy that you left unchanged is removed again.

    \b
    Examples:
      localrag prompts edit lightrag/en/rag_response
      EDITOR=nano localrag prompts edit compact/zh/extraction_system
    """
    folder = _folder(invocation)
    entry = folder.entry(name)
    editor = _editor(folder, entry)
    path, new = folder.copy(entry.name)
    try:
        _run(editor, path, quiet=invocation.json)
    finally:
        kept = not (new and _unchanged(folder, entry.name, path))
        if not kept:
            folder.reset(entry.name)
    found = folder.check(entry.name, _room(invocation.settings()))
    if invocation.json:
        output.put_json({"name": entry.name, "path": str(path), "kept": kept} | _remarks_json(found))
    elif not kept:
        output.say("Nothing was changed; the prompt that ships stays in use.")
    else:
        output.say(f"Kept in {path}.")
        _say_remarks(entry.name, found)
    return FAULTY if any(remark.error for remark in found) else 0


def _unchanged(folder: PromptFolder, name: str, path: Path) -> bool:
    from localrag.prompts.personal import read

    try:
        return path.read_bytes() == read(folder.entry(name, shipped=True))
    except OSError:
        # An editor may have taken the file away; then there is no copy to remove.
        return False


def _editor(folder: PromptFolder, entry: Entry) -> list[str]:
    """The words with which the editor is called. Raises `UsageError` if none is named."""
    own = folder.path / f"{entry.name}.md"
    for variable in _EDITOR_VARIABLES:
        try:
            words = shlex.split(os.environ.get(variable, ""))
        except ValueError as error:
            raise UsageError(f"The variable {variable} cannot be understood: {error}.") from error
        if words:
            return words
    raise UsageError(
        "No editor is named.",
        f"Set the variable EDITOR, such as EDITOR=nano; or put your own text into {own}.",
    )


def _run(editor: list[str], path: Path, *, quiet: bool) -> None:
    try:
        # With --json stdout is for the document alone, so the editor gets stderr in its place.
        code = subprocess.run([*editor, str(path)], stdout=2 if quiet else None, check=False).returncode
    except OSError as error:
        raise UsageError(
            f"The editor {editor[0]} cannot be started: {error.strerror or error}.",
            "Name another one with the variable VISUAL or EDITOR.",
        ) from error
    if code:
        raise PromptError(f"The editor {editor[0]} ended with code {code}.", f"Your copy is {path}.")


@prompts.command("check", short_help="Look for mistakes in the prompts.")
@click.argument("name", required=False)
@json_option
@pass_invocation
def check(invocation: Invocation, name: str | None) -> int:
    """Look for mistakes in prompt NAME, or in all: each is told with its line and cause.

    An error makes a prompt unusable: an unknown or missing input, text that is not UTF-8, too many tokens. A
    warning costs time or quality: a control token of chat templates, an input that is put in twice or far
    before the end, a delimiter that the model is not shown.

    \b
    Examples:
      localrag prompts check
      localrag prompts check graphrag/en/extraction_system
    """
    folder = _folder(invocation)
    room = _room(invocation.settings())
    names = [folder.entry(name).name] if name else list(folder.names())
    found = {each: folder.check(each, room) for each in names}
    faulty = any(remark.error for remarks in found.values() for remark in remarks)
    if invocation.json:
        checked = [{"name": each} | _remarks_json(remarks) for each, remarks in found.items()]
        output.put_json({"prompts": checked, "unused": [] if name else list(folder.strangers())})
        return FAULTY if faulty else 0
    for each, remarks in found.items():
        if remarks:
            _say_remarks(each, remarks)
    if name is None:
        _tell_strangers(folder)
    if not any(found.values()):
        output.say(f"No mistakes in {output.number(len(names), 'prompt')}.")
    return FAULTY if faulty else 0


@prompts.command("reset", short_help="Remove your own copy of a prompt.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@pass_invocation
def reset(invocation: Invocation, name: str, yes: bool) -> None:
    """Remove your own copy of prompt NAME, so that the one that ships is used again.

    \b
    Example:
      localrag prompts reset lightrag/en/rag_response
    """
    folder = _folder(invocation)
    entry = folder.entry(name)
    if entry.own and not yes:
        if not (sys.stdin and sys.stdin.isatty()):
            raise UsageError(f"This removes {entry.path}.", "Say so with --yes.")
        click.confirm(f"Remove {entry.path}?", abort=True, err=True)
    removed = folder.reset(entry.name)
    if invocation.json:
        output.put_json({"name": entry.name, "removed": removed})
        return
    output.say(f"Removed {entry.path}." if removed else f"There is no copy of {entry.name} of your own.")


@prompts.command("path", short_help="Print the folder of your own prompts.")
@json_option
@pass_invocation
def path(invocation: Invocation) -> None:
    """Print the folder in which your own prompts lie, whether or not it exists.

    The setting prompts.directory names another one.

    \b
    Example:
      localrag prompts path
    """
    folder = _folder(invocation).path
    if invocation.json:
        output.put_json({"path": str(folder), "exists": folder.is_dir()})
        return
    output.put_text(str(folder))


def _folder(invocation: Invocation) -> PromptFolder:
    from localrag.prompts.personal import PromptFolder
    from localrag.settings import prompts_dir

    return PromptFolder(prompts_dir(invocation.settings()))


def _room(settings: Settings) -> Room:
    from localrag.documents.tokens import estimate
    from localrag.prompts.checking import Room

    context = settings.remote.context if settings.remote.url else settings.engine.n_ctx
    return Room(context or USUAL_CONTEXT, estimate)


def _remarks_json(found: tuple[Remark, ...]) -> dict[str, Any]:
    return {"usable": not any(remark.error for remark in found), "remarks": [asdict(one) for one in found]}


def _say_remarks(name: str, found: tuple[Remark, ...]) -> None:
    for remark in found:
        kind = "error" if remark.error else "warning"
        output.put_text(f"{name}, line {remark.line}: {kind}: {remark.text}.")
    if not found:
        output.say(f"No mistakes in {name}.")


def _tell_strangers(folder: PromptFolder) -> None:
    for name in folder.strangers():
        output.warn(f"{folder.path / name} is used by nothing; localrag prompts list has the names.")
