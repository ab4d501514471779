"""`localrag vacuum`: gives the room of what was deleted back to the disk."""

from __future__ import annotations

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.stopping import stoppable


@click.command(short_help="Make the file as small as what it holds.")
@kb_option
@json_option
@pass_invocation
def vacuum(invocation: Invocation) -> None:
    """Make the file as small as what it holds. Useful after much was deleted.

    For a while as much room again is needed beside the file, and no other program may have it open.

    \b
    Examples:
      localrag vacuum
      localrag vacuum --kb notes.localrag --json
    """
    from localrag import filing

    path = invocation.kb_path()
    with stoppable("Stopping; the file stays as it is.") as stop:
        report = filing.vacuum(path, stop.event)
    for note in report.notes:
        output.warn(note)
    if invocation.json:
        output.put_json({"path": str(path), "before": report.before, "after": report.after})
        return
    saved = report.before - report.after
    text = f"{output.size(saved)} given back" if saved > 0 else "there was nothing to give back"
    output.say(f"{path}: {output.size(report.before)} before, {output.size(report.after)} now; {text}.")
