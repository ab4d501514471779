"""`localrag repair`: mends a file, or saves what can be read of a damaged one."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, NamedPath, json_option, kb_option, pass_invocation
from localrag.cli.progress import Bar


@click.command(short_help="Mend a damaged knowledge base.")
@click.option(
    "--output",
    "target",
    type=NamedPath(),
    metavar="FILE",
    help="Where to write what is saved of a file that cannot be mended in place.",
)
@kb_option
@json_option
@pass_invocation
def repair(invocation: Invocation, target: Path | None) -> int:
    """Mend the file: full text and all that is computed is made anew, rows that belong to nothing go, and
    vectors that cannot be right are dropped, so that the next `localrag index` makes them.

    If anything was wrong, the file as it was is kept beside it. A file whose pages are damaged is not
    touched: all that can be read is written to a new one. What was lost is listed; nothing is made up.

    \b
    Examples:
      localrag repair
      localrag repair --kb broken.localrag --output saved.localrag
    """
    from localrag import filing

    path = invocation.kb_path()
    with Bar(quiet=invocation.json) as bar:
        report = filing.repair(path, target, lambda step: bar.begin(f"Looking at {step}", 0))
    if invocation.json:
        output.put_json(
            {
                "path": str(report.path),
                "salvaged": report.salvaged,
                "found": [*report.found],
                "done": [*report.done],
                "lost": [*report.lost],
                "left": [*report.left],
            }
        )
    else:
        for title, sentences in (("Done", report.done), ("Lost", report.lost), ("Still wrong", report.left)):
            for sentence in sentences:
                output.put_text(f"{title}: {sentence}")
        if report.salvaged:
            output.say(f"Look at the new file: localrag status --kb {shlex.quote(str(report.path))}")
        elif not report.left:
            output.say(f"{report.path} is in order.")
    return 1 if report.left else 0
