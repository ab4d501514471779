"""`localrag ask`: answers a question, streamed, with the places that the answer comes from."""

from __future__ import annotations

import contextlib
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.machine import measure_first, tell_notes
from localrag.cli.stopping import stoppable
from localrag.errors import Cancelled, UsageError
from localrag.plain import PlainStream, plain

if TYPE_CHECKING:
    from rich.status import Status

    from localrag.answering.types import Answer, AskEvent
    from localrag.retrieval.types import Coverage

MODES = ("mix", "naive")


@click.command(short_help="Answer a question, with the places it comes from.")
@click.argument("question", nargs=-1, required=True)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="mix",
    show_default=True,
    help="mix: passages, entities and relations; naive: passages only.",
)
@click.option("--sources", is_flag=True, help="Also print the text of every cited place.")
@engine_options
@kb_option
@json_option
@pass_invocation
def ask(invocation: Invocation, question: tuple[str, ...], mode: str, sources: bool) -> int:
    """Answer QUESTION from the knowledge base, in the question's language.

    The answer appears as it is written; the list of references under it names the documents ([DC]), entities
    and relations ([KG]) that it rests on. If the knowledge base holds no answer, that is what it says; the
    exit code is 0 then too, and --json has "abstained": true. The question - is read from stdin; a question
    that begins with a dash stands behind two dashes.

    Texts can be asked about as soon as they are added. What the model has read by then is in "coverage".

    \b
    Examples:
      localrag ask "Who wrote to Anna, and why?"
      localrag ask --mode naive --sources "What does the contract say about heating?"
      localrag ask --json - < question.txt
    """
    text = _question(question)
    with invocation.knowledge_base() as kb, stoppable("Stopping.") as stop:
        measure_first(kb, stop, quiet=invocation.json)
        answer: Answer | None = None
        with (
            _Page(quiet=invocation.json) as page,
            contextlib.closing(kb.stream(text, mode=mode, cancel=stop.event)) as events,
        ):
            for event in events:
                answer = page.show(event) or answer
        if answer is None or stop.asked:
            raise Cancelled("Stopped before the answer was complete.")
        if invocation.json:
            output.put_json(answer.to_json())
        elif sources:
            _put_sources(answer)
        _tell_notes(answer)
        tell_notes(kb)
    return 0


def _question(words: tuple[str, ...]) -> str:
    if words == ("-",):
        # Bytes, so that a text in another encoding than the terminal's does no harm.
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    text = " ".join(words)
    if not text.strip():
        raise UsageError("The question is empty.", 'Write it behind the command: localrag ask "Who is Anna?"')
    return text


class _Page:
    """Writes the answer to stdout piece by piece, with a line about the reading before it on a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._clean = PlainStream()
        self._last = "\n"
        self._status: Status | None = None
        if not quiet and output.is_terminal(sys.stderr) and output.is_terminal(sys.stdout):
            self._status = output.stderr_console().status("Looking through the texts")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_status()
        if not self._quiet:
            self._put(self._clean.finish())
            self._put("" if self._last == "\n" else "\n")

    def show(self, event: AskEvent) -> Answer | None:
        """Show one event; returns the answer when it is the last."""
        from localrag.answering.types import Answer, AnswerText, Found, Reading

        if isinstance(event, Answer):
            return event
        if isinstance(event, AnswerText) and not self._quiet:
            self._end_status()
            self._put(self._clean.feed(event.text))
        elif isinstance(event, Found):
            found = output.number(len(event.retrieved.passages), "passage")
            self._update(f"Found {found}; the model is reading")
        elif isinstance(event, Reading) and event.total:
            rate = f", {event.rate:.0f} tokens a second" if event.rate else ""
            self._update(f"The model is reading: {100 * event.done // event.total} %{rate}")
        return None

    def _put(self, text: str) -> None:
        if text:
            output.put(text, end="")
            self._last = text[-1]

    def _update(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


def _put_sources(answer: Answer) -> None:
    for citation in answer.citations:
        place = f"characters {citation.start}-{citation.end}"
        if citation.page is not None:
            place = f"page {citation.page}, {place}"
        if citation.kind != "document":
            place = f"{citation.document}, {place}"
        output.put(f"\n[{citation.number}] {plain(citation.label)}: {plain(place)}")
        output.put_text("\n".join(f"    {line}".rstrip() for line in citation.text.splitlines()))


def _tell_notes(answer: Answer) -> None:
    for note in answer.retrieved.notes if answer.retrieved is not None else ():
        output.say(note)
    coverage = coverage_sentence(answer.coverage)
    if coverage:
        output.say(coverage)


def coverage_sentence(coverage: Coverage) -> str:
    """How much the model has read, in words; empty if it has read everything."""
    if coverage.read >= coverage.total:
        return ""
    chunks = output.number(coverage.total, "chunk")
    return f"The model has read {coverage.read:,} of {chunks}; localrag index reads the rest."
