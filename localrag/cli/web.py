"""`localrag web`: the application in a browser on this machine."""

from __future__ import annotations

import click

from localrag.cli import output
from localrag.cli.invocation import Invocation, json_option, kb_option, pass_invocation
from localrag.cli.stopping import stoppable


@click.command(short_help="Open the application in a browser on this machine.")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address of this machine alone.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; without it any free one.")
@kb_option
@json_option
@pass_invocation
def web(invocation: Invocation, host: str, port: int) -> None:
    """Open the application in a browser on this machine.

    Prints an address that works once: the first browser that opens it may use localrag, and no other one
    can. Other machines cannot reach it, and the page loads nothing from elsewhere. Ctrl-c ends it.

    \b
    Examples:
      localrag web --kb notes.localrag
      localrag web --port 8765
    """
    from localrag.web.server import Server, listen

    def ready(address: str) -> None:
        if invocation.json:
            output.put_json({"address": address})
        else:
            output.put(address)
        output.say("Open this address in a browser of this machine; it works once. Ctrl-c ends localrag.")

    kb = invocation.kb_path() if invocation.named_kb() else None
    server = Server(listen(host, port), kb)
    with stoppable("Stopping.") as stop:
        server.run(stop.event, ready)
