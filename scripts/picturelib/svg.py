"""Makes a picture of what stands on the screen that loads nothing from anywhere."""

import re

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_ADDRESS = re.compile(r"https?://(?!www\.w3\.org/)[^\s\"')<]+")

FONTS = "Fira Code, DejaVu Sans Mono, Menlo, Consolas, Noto Sans Mono CJK SC, monospace"
"""Fonts that a machine may have; every run of text says how wide it is, so any of them fits."""


def self_contained(svg: str) -> str:
    """The picture without the fonts that it would fetch."""
    clean = _COMMENT.sub("", _FONT_FACE.sub("", svg))
    clean = clean.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    return re.sub(r"[ \t]+\n", "\n", clean)


def foreign_addresses(svg: str) -> list[str]:
    """Addresses in a style or a link of the picture; text on the screen may name some, that loads nothing."""
    styles = "".join(re.findall(r"<style>.*?</style>", svg, re.DOTALL))
    links = " ".join(re.findall(r"(?:href|src)=\"[^\"]*\"", svg))
    return _ADDRESS.findall(styles + links)
