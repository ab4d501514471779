"""`localrag doctor`: looks at everything that localrag needs on this machine and says how to mend it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.errors import KnowledgeBaseAmbiguous, KnowledgeBaseNotFound

if TYPE_CHECKING:
    from localrag.checkup import CheckResult


@click.command(short_help="Check this machine and say what to mend.")
@kb_option
@json_option
@pass_invocation
def doctor(invocation: Invocation) -> int:
    """Check Python, SQLite, llama.cpp, models, memory, disk, settings and the knowledge base.

    Every line that is not ok comes with a remedy. Exit code 1: something will not work. The build of
    llama.cpp is tried with a real prompt in a process of its own, which takes some seconds.

    \b
    Examples:
      localrag doctor
      localrag doctor --json
    """
    results = list(_checks(invocation))
    failed = sum(result.state == "fail" for result in results)
    warned = sum(result.state == "warn" for result in results)
    if invocation.json:
        output.put_json({"ok": not failed, "checks": [result.to_json() for result in results]})
        return 1 if failed else 0
    _put_results(results)
    if failed or warned:
        output.say(f"{output.number(failed, 'failure')}, {output.number(warned, 'warning')}.")
    else:
        output.say("All is well.")
    return 1 if failed else 0


def _checks(invocation: Invocation) -> Iterator[CheckResult]:
    from localrag.checkup import CheckResult
    from localrag.checkup.machine import check_knowledge_base
    from localrag.checkup.run import run_checks

    yield from run_checks(invocation.settings, Path.cwd(), output.say)
    try:
        path = invocation.kb_path()
    except (KnowledgeBaseNotFound, KnowledgeBaseAmbiguous) as error:
        if invocation.named_kb() is not None:
            yield CheckResult("Knowledge base", "fail", error.message, error.hint)
        return
    yield check_knowledge_base(path)


_MARKS = {"ok": "ok", "warn": "warning", "fail": "FAILED"}


def _put_results(results: Sequence[CheckResult]) -> None:
    rows = []
    for result in results:
        rows.append((_MARKS[result.state], result.name, result.detail))
        if result.remedy:
            rows.append(("", "", f"-> {result.remedy}"))
    output.put_table(["", "what", "found"], rows)
