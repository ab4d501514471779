"""Puts to use what a person set about the application: colours, movement, keys; and changes settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual import constants
from textual.message_pump import MessagePump

from localrag.errors import SettingsError
from localrag.plain import plain
from localrag.settings import Settings, load_usable_settings, settings_file
from localrag.tui import themes
from localrag.tui.disk import on_disk
from localrag.tui.words import Fault

if TYPE_CHECKING:
    from localrag.settings_writing import Value
    from localrag.tui.app import LocalragApp

Read = tuple[Settings, tuple[SettingsError, ...]]
"""Settings, and what of them could not be used."""

_TOLD_SECONDS = 20.0
_MOST_TOLD = 4


def dress(app: LocalragApp, troubles: Sequence[str] = ()) -> None:
    """Put colours, movement and keys to use as the settings have them, when the application starts.

    `troubles` is what was wrong with the settings; with what is wrong with colours and keys it is told once.
    """
    themes.register(app)
    said = [*troubles, *put_to_use(app, app.settings)]
    if not app.settings.tui.keys:
        tell(app, said)
        return

    def check() -> list[str]:
        from localrag.tui import keymap

        return keymap.troubles(keymap.catalogue(), app.settings.tui.keys)

    on_disk(app, app, check, lambda found: tell(app, [*said, *found]))


def put_to_use(app: LocalragApp, settings: Settings) -> list[str]:
    """Show the colours and obey the keys of the settings; returns what of them cannot be."""
    tui = settings.tui
    app.animation_level = "none" if tui.reduced_motion else constants.TEXTUAL_ANIMATIONS
    set_keys(app, tui.keys)
    if not tui.theme:
        return []
    if tui.theme not in app.available_themes:
        return [f"There are no colours called {plain(tui.theme)}; the usual ones are shown."]
    app.theme = tui.theme
    return []


def set_keys(app: LocalragApp, own: Mapping[str, str]) -> None:
    """Obey a person's own keys."""
    from localrag.tui.keymap import applied

    app.set_keymap(applied(own))


def tell(app: LocalragApp, troubles: Sequence[str]) -> None:
    """Say in one notification what is wrong with the settings, and that the rest is used."""
    if not troubles:
        return
    more = len(troubles) - _MOST_TOLD
    lines = [plain(text) for text in troubles[:_MOST_TOLD]]
    lines += [f"And {more} more."] if more > 0 else []
    lines.append("Everything else is used. The place Settings shows them all.")
    app.notify("\n".join(lines), title="Settings", severity="warning", timeout=_TOLD_SECONDS, markup=False)


def change_setting(
    app: LocalragApp,
    target: MessagePump,
    name: str,
    value: Value | None,
    done: Callable[[bool], object],
    failed: Callable[[Fault], object] | None = None,
) -> None:
    """Write one setting into the person's file, or take it out with None, and use it.

    `done` hears whether it is used already; False if a model must be started anew for it and work goes on.
    """

    def job() -> Read:
        from localrag.settings_writing import write_setting

        write_setting(settings_file(), name, value)
        return load_usable_settings()

    on_disk(app, target, job, lambda read: done(use_settings(app, *read)), failed)


def read_settings(app: LocalragApp, target: MessagePump, done: Callable[[bool], object]) -> None:
    """Read the settings anew, since something else may have changed their file, and use them."""
    on_disk(app, target, load_usable_settings, lambda read: done(use_settings(app, *read)))


def use_settings(app: LocalragApp, settings: Settings, wrong: Sequence[SettingsError] = ()) -> bool:
    """Use other settings from now on; whether models can follow at once."""
    app.setting_troubles = tuple(str(error) for error in wrong)
    before, app.settings = app.settings, settings
    if before.tui != settings.tui:
        put_to_use(app, settings)
        if not settings.tui.theme and before.tui.theme:
            app.theme = app.usual_theme
    if app.session is not None:
        return app.session.take_settings(settings)
    app.take_settings(settings)
    return True
