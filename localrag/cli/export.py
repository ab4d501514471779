"""`localrag export`: a copy of the knowledge base that is whole or not there."""

from __future__ import annotations

from pathlib import Path

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, NamedPath, json_option, kb_option, pass_invocation
from localrag.cli.stopping import stoppable


@click.command(short_help="Write a copy of the knowledge base to a file.")
@click.argument("target", type=NamedPath(), metavar="FILE")
@click.option("--force", is_flag=True, help="Replace FILE if it is a knowledge base.")
@kb_option
@json_option
@pass_invocation
def export(invocation: Invocation, target: Path, force: bool) -> None:
    """Write a copy of the knowledge base to FILE, also while other programs work with it.

    The copy is one compact file, checked before it gets its name: it is whole or not there. It can be opened
    on any machine that has localrag.

    \b
    Examples:
      localrag export backup.localrag
      localrag export /media/stick/notes.localrag --force
    """
    from localrag import filing

    source = invocation.kb_path()
    with stoppable("Stopping; no copy is made. Ctrl-c again ends at once.") as stop:
        size = filing.export(source, target, overwrite=force, cancel=stop.event)
    if invocation.json:
        output.put_json({"source": str(source), "path": str(target), "size": size})
        return
    output.say(f"Wrote {target} ({output.size(size)}).")
