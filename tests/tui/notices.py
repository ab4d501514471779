"""Notes what the application tells in notifications, which go by themselves and are broken into lines."""

from __future__ import annotations

from typing import Any

from localrag.tui.app import LocalragApp


def noted(app: LocalragApp) -> list[str]:
    """From now on, all notifications of the application."""
    told: list[str] = []
    notify = app.notify

    def take(message: str, **more: Any) -> None:
        told.append(message)
        notify(message, **more)

    app.notify = take  # type: ignore[method-assign]
    return told


def says(told: list[str], words: str) -> bool:
    """Whether one of them has these words."""
    return any(words in message for message in told)
