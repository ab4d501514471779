"""The line at the bottom that names the few keys that matter now."""

from __future__ import annotations

from typing import TypeAlias

from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer

Shown: TypeAlias = list[tuple[Binding, bool, str]]


class KeyLine(Footer):
    """Textual's footer, made anew only when other keys are to be shown, and without keeping the old ones."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._shown: Shown | None = None

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Called often, as after every step of the focus; mostly nothing is different."""
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            shown = [
                (active.binding, active.enabled, active.tooltip)
                for active in screen.active_bindings.values()
                if active.binding.show
            ]
            if shown == self._shown:
                return
            self._shown = shown
        super().bindings_changed(screen)

    async def recompose(self) -> None:
        """Make the keys anew, and let go of those that were shown: each had bound itself to this line."""
        await super().recompose()
        self.mutate_reactive(Footer.compact)
