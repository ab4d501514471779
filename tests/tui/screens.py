"""Compares what stands on a screen with a stored text, line by line.

A stored text lies in tests/tui/screens/, one for each size. With LOCALRAG_UPDATE_SCREENS=1 the texts are
written anew instead; then look at every difference before you keep it.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.widget import Widget

FOLDER = Path(__file__).parent / "screens"
UPDATE = "LOCALRAG_UPDATE_SCREENS"


def lines_of(app: Any, within: Widget | None = None) -> list[str]:
    """What stands on the screen, or in the part of it that a widget takes, without blanks at the end."""
    strips = app.screen._compositor.render_strips()
    if within is not None:
        region = within.region
        strips = [strip.crop(region.x, region.right) for strip in strips[region.y : region.bottom]]
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def compare(
    app: Any,
    name: str,
    differing: Mapping[str, str] | None = None,
    *,
    within: Widget | None = None,
    folder: Path = FOLDER,
) -> None:
    """Fail with the differing lines unless the screen, or a widget on it, is as it was stored.

    `differing` maps patterns of what is never the same, such as times, to words that stand for it.
    """
    width, height = app.size
    lines = lines_of(app, within)
    for pattern, words in (differing or {}).items():
        lines = [re.sub(pattern, words, line) for line in lines]
    file = folder / f"{name}-{width}x{height}.txt"
    if os.environ.get(UPDATE):
        folder.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return
    assert file.exists(), f"{file.name} is not stored yet; {UPDATE}=1 writes it"
    stored = file.read_text(encoding="utf-8").splitlines()
    difference = "\n".join(difflib.unified_diff(stored, lines, "stored", "now", lineterm=""))
    assert not difference, f"{name} at {width}x{height} is not what was stored:\n{difference}"
