"""A prompt as it is put before the model, printed without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from localrag.cli import output
from localrag.cli.invocation import Invocation

if TYPE_CHECKING:
    from localrag.answering.types import Prompted


def put_prompt(invocation: Invocation, prompted: Prompted, *, whole: bool) -> None:
    """Write the prompt, or the part that comes from the documents."""
    prepared = prompted.prepared
    messages = prepared.request.messages if prepared is not None else ()
    context = prepared.context.json if prepared is not None else ""
    if invocation.json:
        data: dict[str, Any] = {"question": prompted.question, "searched": prompted.retrieved.question}
        data |= {"mode": prompted.retrieved.mode, "notes": list(prompted.retrieved.notes)}
        if whole:
            data["messages"] = [{"role": message.role, "text": message.text} for message in messages]
        else:
            data["context"] = context
        output.put_json(data)
        return
    if prepared is None:
        output.say("Nothing was found, so no model would be asked.")
    elif whole:
        for message in messages:
            output.put(f"--- {message.role}")
            output.put_text(message.text)
    else:
        output.put_text(context)
    for note in prompted.retrieved.notes:
        output.say(note)
