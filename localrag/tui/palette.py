"""The palette of commands: every action that can be done now, by its name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.screen import Screen

from localrag.tui.places import PLACES
from localrag.tui.screens.dialogs import Confirm

if TYPE_CHECKING:
    from localrag.tui.app import LocalragApp


def commands(app: LocalragApp, screen: Screen[object]) -> Iterable[SystemCommand]:
    """Every key that works now by its name, and every place."""
    yield SystemCommand("Help", "Explain the screen and its keys", app.action_help)
    yield SystemCommand("Quit", "End localrag", app.action_quit)
    yield SystemCommand("Theme", "Choose the colours", app.action_change_theme)
    yield SystemCommand("Guided start", "Set up step by step", app.action_guided_start)
    if app.session is not None:
        yield SystemCommand("Open another knowledge base", "Close this one", app.action_leave_file)
        for item in PLACES:
            yield SystemCommand(f"Go to {item.title}", item.about, partial(app.action_go, item.name))
    known = {"app.help", "app.quit", "app.palette", *(f"go.{item.name}" for item in PLACES)}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id and active.enabled and binding.id not in known:
            known.add(binding.id)
            about = f"{binding.tooltip or binding.description}  ({binding.key})"
            title = f"{screen.BINDING_GROUP_TITLE or 'localrag'}: {binding.description}"
            yield SystemCommand(title, about, partial(app.run_action, binding.action, active.node))


def leave_file(app: LocalragApp) -> None:
    """Close this knowledge base and choose another; asks first while something is being stored."""
    session = app.session
    if session is None:
        return

    def leave_if(sure: bool | None) -> None:
        if sure:
            app.leave_session()

    if session.index_run.active or session.additions.active:
        question = "Something is still being read or added. Stop it? What is done so far is kept."
        app.push_screen(Confirm(question, "Stop it", "Keep going"), leave_if)
    else:
        app.leave_session()
