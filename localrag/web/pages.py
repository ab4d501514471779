"""What a browser is given: the page with the terminal, the words of a refusal, and what a page may load."""

from __future__ import annotations

import html
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent / "page"
"""Our own page and its style sheet."""


def headers(host: str = "") -> dict[str, str]:
    """Headers of every answer: nothing is loaded from, sent to or shown inside anything but this server.

    `host` is the name that the terminal's page was asked for; other pages connect to nothing.
    """
    rules = {
        "default-src": "'none'",
        "script-src": "'self'",
        # The terminal in the page writes its cells' styles itself.
        "style-src": "'self' 'unsafe-inline'",
        "font-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' ws://{host}" if host else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }


def terminal_page(host: str, title: str) -> str:
    """The page that holds the terminal."""
    return _fill("terminal.html", socket=f"ws://{host}/ws", title=title)


def refusal_page(words: str, hint: str) -> str:
    """A page that says why nothing is shown."""
    return _fill("refusal.html", words=words, hint=hint)


def _fill(name: str, **values: str) -> str:
    template = Template((FOLDER / name).read_text(encoding="utf-8"))
    return template.substitute({key: html.escape(value) for key, value in values.items()})
