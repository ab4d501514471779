"""`localrag doctor`: looks at everything that localrag needs on this machine and says how to mend it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.errors import KnowledgeBaseAmbiguous, KnowledgeBaseNotFound, LocalragError

if TYPE_CHECKING:
    from localrag.cli.checks import CheckResult


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
    from localrag.cli import checks
    from localrag.cli.engine_checks import check_engine
    from localrag.cli.remote_checks import check_remote
    from localrag.settings import Settings, models_dir

    yield checks.check_python()
    yield from checks.check_sqlite()
    yield checks.check_data()
    yield checks.check_settings(invocation.settings)
    try:
        settings = invocation.settings()
    except LocalragError:
        settings = Settings()  # what is wrong with them was said above
    yield from checks.check_models(settings)
    yield from check_engine(settings)
    yield from check_remote(settings)
    tried, needed_mb = _engine_needs()
    output.say("Trying the build of llama.cpp.")
    yield checks.check_llama(tried)
    yield checks.check_memory(needed_mb)
    yield from checks.check_disk((models_dir(), Path.cwd()))
    try:
        path = invocation.kb_path()
    except (KnowledgeBaseNotFound, KnowledgeBaseAmbiguous) as error:
        if invocation.named_kb() is not None:
            yield checks.CheckResult("Knowledge base", "fail", error.message, error.hint)
        return
    yield checks.check_knowledge_base(path)


def _engine_needs() -> tuple[Path | None, int]:
    """The smallest chat model, to try the build with, and the memory that the models in use take."""
    from localrag.catalogue.installed import installed

    usable = [model for model in installed() if model.verified is not False]
    chat = [model for model in usable if model.role == "chat"]
    small = min(chat, key=lambda model: model.size, default=None)
    # `installed` lists the preferred of a role first.
    first = {model.role: model for model in reversed(usable)}
    needed = sum(model.entry.memory_mb if model.entry else model.size >> 20 for model in first.values())
    return (small.path if small else None), needed


_MARKS = {"ok": "ok", "warn": "warning", "fail": "FAILED"}


def _put_results(results: Sequence[CheckResult]) -> None:
    rows = []
    for result in results:
        rows.append((_MARKS[result.state], result.name, result.detail))
        if result.remedy:
            rows.append(("", "", f"-> {result.remedy}"))
    output.put_table(["", "what", "found"], rows)
