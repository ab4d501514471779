"""The colours of the application: Textual's own, and two of high contrast."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import App
from textual.theme import Theme

HIGH_DARK = Theme(
    name="high-contrast-dark",
    primary="#ffff00",
    secondary="#00ffff",
    accent="#00ffff",
    warning="#ffaf00",
    error="#ff8787",
    success="#5fff5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    boost="#303030",
    dark=True,
    luminosity_spread=0.05,
    variables={
        "text-muted": "#e4e4e4",
        "foreground-muted": "#e4e4e4",
        "footer-key-foreground": "#ffff00",
        "block-cursor-background": "#ffff00",
        "block-cursor-foreground": "#000000",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#585858",
        "block-cursor-blurred-foreground": "#ffffff",
        "input-selection-background": "#005fff",
        "border": "#ffffff",
        "border-blurred": "#bcbcbc",
    },
)
"""White and yellow on black."""

HIGH_LIGHT = Theme(
    name="high-contrast-light",
    primary="#00008b",
    secondary="#5f005f",
    accent="#5f005f",
    warning="#7a4100",
    error="#9b0000",
    success="#005200",
    foreground="#000000",
    background="#ffffff",
    surface="#ffffff",
    panel="#eeeeee",
    boost="#dadada",
    dark=False,
    luminosity_spread=0.05,
    variables={
        "text-muted": "#1c1c1c",
        "foreground-muted": "#1c1c1c",
        "footer-key-foreground": "#00008b",
        "block-cursor-background": "#00008b",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#c6c6c6",
        "block-cursor-blurred-foreground": "#000000",
        "input-selection-background": "#afd7ff",
        "border": "#000000",
        "border-blurred": "#4e4e4e",
    },
)
"""Black and dark blue on white."""

_FIRST = {
    "textual-dark": ("Dark", "the usual colours"),
    "textual-light": ("Light", "for bright rooms"),
    "high-contrast-dark": ("High contrast, dark", "white and yellow on black"),
    "high-contrast-light": ("High contrast, light", "black and blue on white"),
    "ansi-dark": ("The terminal's own, dark", "the sixteen colours of your terminal"),
    "ansi-light": ("The terminal's own, light", "the sixteen colours of your terminal"),
}


@dataclass(frozen=True)
class Look:
    """Colours that can be chosen."""

    name: str
    """Name of the theme."""

    title: str
    """What a person reads."""

    about: str
    """A few words on it; may be empty."""


def register(app: App[None]) -> None:
    """Let the application know the themes that are not Textual's."""
    app.register_theme(HIGH_DARK)
    app.register_theme(HIGH_LIGHT)


def looks(app: App[None]) -> list[Look]:
    """What can be chosen, the most useful first."""
    known = app.available_themes
    first = [Look(name, title, about) for name, (title, about) in _FIRST.items() if name in known]
    others = (Look(name, name.replace("-", " ").capitalize(), "") for name in sorted(known))
    return first + [look for look in others if look.name not in _FIRST]


def without_colours(app: App[None]) -> bool:
    """Whether the person asked for none, with the variable NO_COLOR."""
    return app.no_color
