"""Entry of the command line: the group of all commands, its help, and what becomes of every error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import click

from localrag import __version__
from localrag.cli import output
from localrag.cli.add import add
from localrag.cli.aliases import aliases
from localrag.cli.ask import ask
from localrag.cli.bench import bench
from localrag.cli.claims import claims
from localrag.cli.delete import delete
from localrag.cli.doctor import doctor
from localrag.cli.entities import entities
from localrag.cli.export import export
from localrag.cli.index import index
from localrag.cli.info import info
from localrag.cli.init import init
from localrag.cli.invocation import Invocation, kb_option, pass_invocation
from localrag.cli.machine import tune_machine
from localrag.cli.merge import merge
from localrag.cli.models import models
from localrag.cli.prompts import prompts
from localrag.cli.reembed import reembed
from localrag.cli.relations import relations
from localrag.cli.repair import repair
from localrag.cli.retry import retry
from localrag.cli.search import search
from localrag.cli.sessions import sessions
from localrag.cli.status import status
from localrag.cli.stopping import INTERRUPTED
from localrag.cli.summaries import summarize
from localrag.cli.sync import sync
from localrag.cli.tag import tag
from localrag.cli.vacuum import vacuum
from localrag.cli.verify import verify
from localrag.cli.web import web
from localrag.errors import Cancelled, LocalragError

TRACEBACK_VARIABLE = "LOCALRAG_TRACEBACK"

_NO_NUMBERS = {
    " is not a valid float.": " is not a number.",
    " is not a valid float range.": " is not a number.",
    " is not a valid integer.": " is not a whole number.",
    " is not a valid integer range.": " is not a whole number.",
}
"""How the command line's parser ends a sentence about a value, and what is said for that."""

_SECTIONS = (
    ("From texts to answers, in this order", ("init", "add", "index", "ask")),
    ("Look and talk", ("search", "sessions", "web")),
    ("Change what is there", ("sync", "delete", "reembed", "retry", "summarize")),
    ("Put right what was read", ("entities", "relations", "claims", "aliases", "tag")),
    ("The file", ("info", "export", "merge", "verify", "repair", "vacuum")),
    ("What is there", ("status", "models", "prompts", "doctor", "tune-machine", "bench")),
)

_EPILOG = """\b
Exit codes:
  0    done; an answer that says it found nothing counts as done
  1    it failed
  2    the command was not understood, or cannot be met as written
  3    something is missing: a knowledge base, a model, texts; the hint says how to get it
  4    busy, or not writable
  5    done in part: some files or chunks failed, the rest is in
  130  stopped with ctrl-c; what was done is kept

\b
Data goes to stdout, talk to stderr. With --json stdout holds one JSON document; an error
is {"error": {"kind", "message", "hint"}} there, and its sentence is on stderr all the same.
Models run on this machine; only `localrag models pull` uses the network.
"""


class CommandLine(click.Group):
    """The group of all commands; it shows them in the order of use and turns errors into sentences."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        for heading, names in _SECTIONS:
            commands = [(name, self.commands[name]) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(name, command.get_short_help_str(70)) for name, command in commands])

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command line and leave with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words[: words.index("--") if "--" in words else None]
        extra["standalone_mode"] = False
        sys.exit(_guarded(lambda: super(CommandLine, self).main(args, *rest, **extra), as_json=as_json))


def _guarded(run: Callable[[], object], *, as_json: bool) -> int:
    """The exit code of `run`, whose expected errors are told in a sentence and a hint."""
    try:
        code = run()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Cancelled as error:
        return _show_stop(error.message, as_json=as_json)
    except LocalragError as error:
        output.show_error(type(error).__name__, error.message, error.hint, as_json=as_json)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _show_usage_error(error, as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return _show_stop("Stopped.", as_json=as_json)
    except OSError as error:
        if error.errno == errno.EPIPE:
            _drop_stdout()
            return 1
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        if isinstance(error, FileNotFoundError) and not error.filename and _stands_nowhere():
            sentence, hint = "The folder that this command runs in was deleted.", "Go to another folder."
        else:
            sentence, hint = _os_sentence(error), ""
        output.show_error("OSError", sentence, hint, as_json=as_json)
        return 1


def _show_stop(message: str, *, as_json: bool) -> int:
    output.say(message)
    if as_json:
        output.put_json({"error": {"kind": "Cancelled", "message": message, "hint": ""}})
    return INTERRUPTED


def _show_usage_error(error: click.ClickException, *, as_json: bool) -> int:
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"Usage: {error.ctx.command_path} --help tells more."
    output.show_error("UsageError", _in_our_words(error.format_message()), hint, as_json=as_json)
    return error.exit_code


def _in_our_words(message: str) -> str:
    """What the parser says of a value that is no number, said so that anybody understands it."""
    for theirs, ours in _NO_NUMBERS.items():
        if message.endswith(theirs):
            return f"{message.removesuffix(theirs)}{ours}"
    return message


def _stands_nowhere() -> bool:
    """Whether the folder that the command runs in is gone."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _os_sentence(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{reason}: {error.filename}." if error.filename else f"{reason}."


def _drop_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush is quiet too."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        output.put(f"localrag {__version__}")
        context.exit()


@click.group(
    cls=CommandLine,
    name="localrag",
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
)
@kb_option
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Print the version and leave.",
)
@pass_invocation
@click.pass_context
def cli(context: click.Context, invocation: Invocation) -> None:
    """Keeps your texts in one file and answers questions about them, with a model on this machine.

    Without a command, localrag opens its application in the terminal. Step by step it goes like this:

    \b
      localrag init notes.localrag        make the file
      localrag add letters/ report.md     put texts and folders in
      localrag index                      let the model read them (ctrl-c stops, index goes on)
      localrag ask "Who wrote to Anna?"   an answer, with the places it comes from

    `localrag COMMAND --help` explains a command and gives an example.
    """
    if context.invoked_subcommand is not None:
        return
    if not (sys.stdin and sys.stdin.isatty() and output.is_terminal(sys.stdout)):
        output.put(context.get_help())
        return
    from localrag.settings import load_usable_settings
    from localrag.tui.app import run

    # A mistake in the settings must not keep out the one place where it can be put right.
    settings, wrong = load_usable_settings(flags=invocation.flags)
    run(invocation.named_kb(), settings, [str(error) for error in wrong])


for _command in (
    init,
    add,
    index,
    ask,
    search,
    sessions,
    sync,
    delete,
    reembed,
    retry,
    entities,
    relations,
    claims,
    aliases,
    tag,
    status,
    models,
    prompts,
    doctor,
    tune_machine,
    bench,
    info,
    export,
    merge,
    verify,
    repair,
    summarize,
    vacuum,
    web,
):
    cli.add_command(_command)


def _tell_unexpected(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """The last resort for errors that nobody foresaw: one line, and how to see more."""
    if os.environ.get(TRACEBACK_VARIABLE):
        sys.__excepthook__(kind, error, traceback)
        return
    words = sys.argv[1:]
    output.show_error(
        kind.__name__,
        f"localrag met an error that it did not expect: {kind.__name__}: {error}",
        f"Set {TRACEBACK_VARIABLE}=1 and try again to see where, for a report.",
        as_json="--json" in words,
    )


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    sys.excepthook = _tell_unexpected
    # A program that was started with a stream closed has None there.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding does not have must not end the program.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    return int(cli.main(prog_name="localrag") or 0)
