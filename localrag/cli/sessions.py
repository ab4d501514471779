"""`localrag sessions`: the conversations that are kept in the knowledge base."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localrag.cli import output
from localrag.cli.explaining import put_explanation
from localrag.cli.invocation import (
    Invocation,
    NamedPath,
    engine_options,
    json_option,
    kb_option,
    pass_invocation,
)
from localrag.cli.prompting import put_prompt
from localrag.errors import UsageError
from localrag.plain import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from localrag.store.talk_rows import CitationRow, MessageRow, SessionRow


@click.group(short_help="Show, search, export and delete conversations.")
def sessions() -> None:
    """Show, search, export and delete conversations. A conversation begins with ask --session new.

    Conversations are named by their number, as `list` shows it, or `last`.

    \b
    Examples:
      localrag sessions list
      localrag sessions show last
    """


@sessions.command("list", short_help="List conversations.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Most conversations.")
@kb_option
@json_option
@pass_invocation
def list_sessions(invocation: Invocation, limit: int | None) -> None:
    """List conversations, the one in which something was said last first.

    \b
    Example:
      localrag sessions list --limit 10
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = kb.sessions.list(limit)
    _put_sessions(invocation, rows, "There is no conversation yet. Begin one: localrag ask --session new ...")


@sessions.command(short_help="Find conversations by their words.")
@click.argument("words", nargs=-1, required=True)
@kb_option
@json_option
@pass_invocation
def search(invocation: Invocation, words: tuple[str, ...]) -> None:
    """List conversations in whose title and messages all WORDS occur, whatever their case.

    \b
    Example:
      localrag sessions search bridge 1931
    """
    with invocation.knowledge_base(read_only=True) as kb:
        rows = kb.sessions.search(" ".join(words))
    _put_sessions(invocation, rows, "No conversation has all these words.")


@sessions.command(short_help="Print a conversation, or how an answer came about.")
@click.argument("session", metavar="ID")
@click.option("--explain", type=click.IntRange(1), metavar="N", help="How answer N of it came about.")
@click.option("--prompt", is_flag=True, help="With --explain: print the prompt of the answer, and stop.")
@click.option("--sources", is_flag=True, help="Also print the text of every cited place.")
@engine_options
@kb_option
@json_option
@pass_invocation
def show(invocation: Invocation, session: str, explain: int | None, prompt: bool, sources: bool) -> None:
    """Print conversation ID, with what each answer rests on and whether that is still there.

    How an answer came about (--explain) is known as long as no document that it rests on was deleted. Its
    prompt is built again, by the same question and options; it is said if the texts have changed since.

    \b
    Examples:
      localrag sessions show 3
      localrag sessions show last --explain 2
      localrag sessions show last --explain 2 --prompt
    """
    if prompt and explain is None:
        raise UsageError("--prompt needs to know of which answer.", "Say --explain N --prompt.")
    with invocation.knowledge_base(read_only=True) as kb:
        if prompt:
            prompted, same = kb.prompt_of(_named(session), explain)
            put_prompt(invocation, prompted, whole=True)
            if not same:
                output.warn("The texts or the settings have changed since: this is the prompt as it is now.")
            return
        named = _named(session)
        row, messages = kb.sessions.get(named), kb.sessions.messages(named)
        data = kb.sessions.explanation(named, explain) if explain is not None else {}
    if explain is not None:
        _put_explained(invocation, data)
    elif invocation.json:
        output.put_json(asdict(row) | {"messages": [_message_json(message) for message in messages]})
    else:
        output.put_text(f"{row.title} (conversation {row.id}, {_day(row.created_at)})")
        for message in messages:
            _put_message(message, sources=sources)


@sessions.command(short_help="Give a conversation another title.")
@click.argument("session", metavar="ID")
@click.argument("title", nargs=-1, required=True)
@kb_option
@json_option
@pass_invocation
def rename(invocation: Invocation, session: str, title: tuple[str, ...]) -> None:
    """Give conversation ID the title TITLE.

    \b
    Example:
      localrag sessions rename 3 The bridge of Halden
    """
    with invocation.knowledge_base() as kb:
        row = kb.sessions.get(_named(session))
        kb.sessions.rename(row.id, " ".join(title))
        row = kb.sessions.get(row.id)
    if invocation.json:
        output.put_json(asdict(row))
        return
    output.say(f"Conversation {row.id} is called {row.title} now.")


@sessions.command(short_help="Write a conversation as Markdown.")
@click.argument("session", metavar="ID")
@click.option("--output", "target", type=NamedPath(), metavar="FILE", help="Write to FILE, not to stdout.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@kb_option
@json_option
@pass_invocation
def export(invocation: Invocation, session: str, target: Path | None, force: bool) -> None:
    """Write conversation ID as Markdown, with the text of every cited place.

    \b
    Example:
      localrag sessions export last --output bridge.md
    """
    with invocation.knowledge_base(read_only=True) as kb:
        row = kb.sessions.get(_named(session))
        text = kb.sessions.markdown(row.id)
    if target is not None:
        _write(target, text, force=force)
    if invocation.json:
        data: dict[str, Any] = {"id": row.id, "title": row.title}
        output.put_json(data | ({"path": str(target)} if target is not None else {"markdown": text}))
    elif target is not None:
        output.say(f"Wrote {target}.")
    else:
        output.put_text(text.rstrip("\n"))


@sessions.command(short_help="Delete conversations.")
@click.argument("session", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@kb_option
@json_option
@pass_invocation
def delete(invocation: Invocation, session: tuple[str, ...], yes: bool) -> None:
    """Delete conversations with all that was said in them, and the model's calls behind it.

    \b
    Example:
      localrag sessions delete 3 4 --yes
    """
    with invocation.knowledge_base() as kb:
        rows = list({row.id: row for row in (kb.sessions.get(_named(name)) for name in session)}.values())
        if not yes:
            _confirm(rows)
        for row in rows:
            kb.sessions.delete(row.id)
    if invocation.json:
        output.put_json({"deleted": [asdict(row) for row in rows]})
        return
    for row in rows:
        output.say(f"Deleted conversation {row.id}: {row.title}.")


def _confirm(rows: Sequence[SessionRow]) -> None:
    """Ask the person. Raises `UsageError` where nobody can answer."""
    what = ", ".join(f"{row.id} ({plain(row.title)})" for row in rows)
    if not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(f"This deletes for good: conversation {what}.", "Say so with --yes.")
    click.confirm(f"Delete conversation {what} for good?", abort=True, err=True)


def _named(session: str) -> int | str:
    return int(session) if session.isdecimal() and session.isascii() else session


def _put_sessions(invocation: Invocation, rows: Sequence[SessionRow], none: str) -> None:
    if invocation.json:
        output.put_json({"sessions": [asdict(row) for row in rows]})
    elif rows:
        output.put_table(
            [("id", "right"), "last change", ("messages", "right"), "title"],
            [(str(row.id), _day(row.changed_at), f"{row.messages:,}", row.title) for row in rows],
        )
    else:
        output.say(none)


def _put_explained(invocation: Invocation, data: dict[str, Any]) -> None:
    if invocation.json:
        output.put_json(data)
    else:
        put_explanation(data)


def _put_message(message: MessageRow, *, sources: bool) -> None:
    if message.role == "user":
        output.put_text(f"\n> {message.text}")
        if rewritten := message.details.get("rewritten"):
            output.put_text(f"  (searched as: {rewritten})")
        return
    output.put_text(f"\n{message.text.rstrip()}")
    if message.state != "whole":
        output.put_text(f"({'stopped' if message.state == 'stopped' else 'failed'} before its end)")
    for citation in message.citations:
        if sources or citation.gone:
            _put_citation(citation)


def _put_citation(citation: CitationRow) -> None:
    label = citation.label or "a source"
    if citation.gone:
        output.put_text(f"[{citation.number}] {label}: gone or changed since")
        return
    output.put_text(f"[{citation.number}] {label}: {citation.document}, {citation.start}-{citation.end}")
    output.put_text("\n".join(f"    {line}".rstrip() for line in citation.text.splitlines()))


def _message_json(message: MessageRow) -> dict[str, Any]:
    return {
        "id": message.id,
        "role": message.role,
        "state": message.state,
        "created_at": message.created_at,
        "text": message.text,
        "details": dict(message.details),
        "citations": [asdict(citation) for citation in message.citations],
    }


def _write(target: Path, text: str, *, force: bool) -> None:
    """Write a file that only its owner can read. Raises `UsageError` if it is there and may not be replaced,
    or cannot be written."""
    flags = os.O_CREAT | os.O_WRONLY | (os.O_TRUNC if force else os.O_EXCL)
    try:
        descriptor = os.open(target, flags, 0o600)
    except FileExistsError:
        raise UsageError(f"{target} is there already.", "Say --force to replace it.") from None
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror or error}.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def _day(text: str) -> str:
    """A stored time as this machine's."""
    from datetime import datetime

    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
