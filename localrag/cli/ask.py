"""`localrag ask`: answers a question, streamed, with the places that the answer comes from."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from localrag.cli import output
from localrag.cli.answer_page import AnswerPage, put_sources, tell_notes_of
from localrag.cli.asking import MODES as MODES
from localrag.cli.asking import Asked, question_options
from localrag.cli.explaining import put_explanation
from localrag.cli.invocation import Invocation, engine_options, json_option, kb_option, pass_invocation
from localrag.cli.machine import measure_first, tell_notes
from localrag.cli.prompting import put_prompt
from localrag.cli.question import question_from
from localrag.cli.stopping import Stop, stoppable
from localrag.errors import Cancelled, UsageError

if TYPE_CHECKING:
    from localrag.answering.options import AskOptions
    from localrag.answering.types import Answer
    from localrag.kb import KnowledgeBase
    from localrag.retrieval.types import Coverage


@click.command(short_help="Answer a question, with the places it comes from.")
@click.argument("question", nargs=-1, required=True)
@question_options
@click.option(
    "--strict", "style", flag_value="strict", default=None, help="Answer from the knowledge base alone."
)
@click.option(
    "--flexible", "style", flag_value="flexible", help="General knowledge may be added, marked as such."
)
@click.option(
    "--style",
    "named_style",
    type=click.Choice(["strict", "flexible"]),
    help="The same as --strict or --flexible.",
)
@click.option(
    "--response-type", metavar="WORDS", help="Form of the answer, such as 'a bullet list' or 'one word'."
)
@click.option("--user-prompt", metavar="WORDS", default="", help="Further wishes for the answer.")
@click.option(
    "--session", metavar="ID", help="Conversation that the question belongs to: its number, new or last."
)
@click.option("--continue", "goes_on", is_flag=True, help="The same as --session last.")
@click.option(
    "--steps/--no-steps",
    default=None,
    help="Look up first what the question only describes, as in 'the town where the mill stands'.",
)
@click.option("--fresh", is_flag=True, help="Write the answer anew although one is kept.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), metavar="N", help="Draw the answer by chance.")
@click.option("--sources", is_flag=True, help="Also print the text of every cited place.")
@click.option("--explain", is_flag=True, help="Also print how the answer came about.")
@click.option("--context-only", is_flag=True, help="Print what the model would get to read, and stop.")
@click.option("--prompt-only", is_flag=True, help="Print the whole prompt, and stop.")
@engine_options
@kb_option
@json_option
@pass_invocation
def ask(
    invocation: Invocation,
    question: tuple[str, ...],
    asked: Asked,
    style: str | None,
    named_style: str | None,
    response_type: str | None,
    user_prompt: str,
    session: str | None,
    goes_on: bool,
    steps: bool | None,
    fresh: bool,
    seed: int | None,
    sources: bool,
    explain: bool,
    context_only: bool,
    prompt_only: bool,
) -> int:
    """Answer QUESTION from the knowledge base, in the question's language.

    The answer appears as it is written; the list of references under it names the documents ([DC]), entities
    and relations ([KG]) that it rests on. If the knowledge base holds no answer, that is what it says; the
    exit code is 0 then too, and --json has "abstained": true. The question - is read from stdin; a question
    that begins with a dash stands behind two dashes.

    In a conversation (--session) a question may refer to what was said before; it is then written out and
    searched in that form, which is shown. An answer is kept, and given again to the same question as long as
    nothing has changed that it rests on. Texts can be asked about as soon as they are added; what the model
    has read by then is in "coverage".

    \b
    Examples:
      localrag ask "Who wrote to Anna, and why?"
      localrag ask --session new "Who built the bridge?"
      localrag ask --continue "And when was she born?"
      localrag ask --tag work --from 2024 --response-type "a bullet list" "What was decided?"
      localrag ask --mode naive --explain "What does the contract say about heating?"
      localrag ask --json - < question.txt
    """
    text = question_from(question)
    more = {
        "style": _one(style, named_style, "--style"),
        "response_type": response_type,
        "user_prompt": user_prompt,
        "session": _session(_one("last" if goes_on else None, session, "--session")),
        "steps": steps,
        "fresh": fresh,
        "seed": seed,
    }
    with invocation.knowledge_base() as kb, stoppable("Stopping.") as stop:
        options = asked.options(kb, **more)
        measure_first(kb, stop, quiet=invocation.json)
        if context_only or prompt_only:
            prompted = kb.prompt(text, options=options, cancel=stop.event)
            put_prompt(invocation, prompted, whole=prompt_only)
            return 0
        answer = _answered(invocation, kb, text, options, stop)
        explanation = kb.explain(answer) if explain else {}
        if invocation.json:
            output.put_json(answer.to_json() | ({"explain": explanation} if explain else {}))
        elif sources:
            put_sources(answer.citations)
        if explanation and not invocation.json:
            put_explanation(explanation)
        tell_notes_of(answer)
        tell_notes(kb)
    return 0


def _answered(
    invocation: Invocation, kb: KnowledgeBase, text: str, options: AskOptions, stop: Stop
) -> Answer:
    """The answer, shown as it comes. Raises `Cancelled` if the person stopped it."""
    answer: Answer | None = None
    with (
        AnswerPage(quiet=invocation.json) as page,
        contextlib.closing(kb.stream(text, options=options, cancel=stop.event)) as events,
    ):
        for event in events:
            answer = page.show(event) or answer
    if answer is None or stop.asked:
        raise Cancelled("Stopped before the answer was complete.")
    return answer


def _one(first: str | None, second: str | None, name: str) -> str | None:
    """What is said once or twice the same. Raises `UsageError` if the two differ."""
    if first is not None and second is not None and first != second:
        raise UsageError(f"{name} is given as {first} and as {second}.", "Say one of them.")
    return first if first is not None else second


def _session(named: str | None) -> int | str | None:
    return int(named) if named is not None and named.isdecimal() and named.isascii() else named


def coverage_sentence(coverage: Coverage) -> str:
    """How much the model has read, in words; empty if it has read everything."""
    if coverage.read >= coverage.total:
        return ""
    chunks = output.number(coverage.total, "chunk")
    return f"The model has read {coverage.read:,} of {chunks}; localrag index reads the rest."
