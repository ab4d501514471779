"""Work on the disk that needs no knowledge base, such as settings and prompts, in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from textual.message_pump import MessagePump

from localrag.tui.messages import call
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp

T = TypeVar("T")


def on_disk(
    app: LocalragApp,
    target: MessagePump,
    job: Callable[[], T],
    done: Callable[[T], object],
    failed: Callable[[Fault], object] | None = None,
) -> None:
    """Do `job` in the thread for files and give its result to `done` in the thread of `target`.

    Without `failed` a fault is shown as a notification. Nothing is called once the target has gone.
    """

    def work(_: None) -> None:
        result = job()
        call(target, lambda: done(result))

    def on_fault(fault: Fault) -> None:
        call(target, lambda: failed(fault) if failed is not None else app.show_fault(fault))

    app.files.submit(work, on_fault)
