"""`localrag init`: makes an empty knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from localrag.cli import output
from localrag.cli.invocation import SUFFIX, Invocation, NamedPath, json_option, kb_option, pass_invocation


@click.command(short_help="Make an empty knowledge base.")
@click.argument("file", type=NamedPath(), required=False)
@kb_option
@json_option
@pass_invocation
def init(invocation: Invocation, file: Path | None) -> None:
    """Make an empty knowledge base in FILE.

    Everything goes into this one file: texts, what the model found in them, the index. It can be copied and
    carried like any other file. A name without an ending gets .localrag, by which the other commands find it.

    \b
    Example:
      localrag init notes.localrag
    """
    from localrag.kb import KnowledgeBase

    path = file if file is not None else invocation.named_kb()
    if path is None:
        raise click.UsageError("A file name is missing, such as: localrag init notes.localrag")
    if path.name in {"", ".."}:
        raise click.UsageError(f"{path} is a folder; a file name is needed, such as notes{SUFFIX}")
    if not path.suffix:
        path = path.with_name(path.name + SUFFIX)
    KnowledgeBase.create(path, settings=invocation.settings()).close()
    if invocation.json:
        output.put_json({"path": str(path), "created": True})
        return
    output.say(f"Made {path}. Next: localrag add FILE-OR-FOLDER")
    if path.suffix != SUFFIX:
        output.say(f"Its name does not end in {SUFFIX}, so every command needs: --kb {path}")
