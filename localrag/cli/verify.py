"""`localrag verify`: looks through the whole file for anything that is wrong."""

from __future__ import annotations

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar
from localrag.cli.stopping import stoppable


@click.command(short_help="Check the whole file for damage.")
@kb_option
@json_option
@pass_invocation
def verify(invocation: Invocation) -> int:
    """Check the whole file: its structure, the links between its rows, that passages, mentions and quotes are
    what stands in the texts, full text, vectors, and that all counts add up.

    Nothing is changed. The exit code is 1 if anything is wrong; `localrag repair` then mends what it can.

    \b
    Examples:
      localrag verify
      localrag verify --kb backup.localrag --json | jq .problems
    """
    from localrag import filing

    path = invocation.kb_path()
    with stoppable("Stopping; nothing was changed.") as stop, Bar(quiet=invocation.json) as bar:
        report = filing.verify(path, lambda step: bar.begin(f"Checking {step}", 0), stop.event)
    for note in report.notes:
        output.warn(note)
    if invocation.json:
        output.put_json(
            {"path": str(path), "ok": report.ok, "problems": [*report.problems], "notes": [*report.notes]}
        )
    elif report.ok:
        output.say(f"{path} is in order.")
    else:
        for problem in report.problems:
            output.put_text(problem)
        output.say(f"{output.number(len(report.problems), 'problem')}. Next: localrag repair")
    return 0 if report.ok else 1
