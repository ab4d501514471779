"""Draws the scenes, each in an application of its own, at two sizes."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from picturelib.svg import foreign_addresses, self_contained

if TYPE_CHECKING:
    from picturelib.flows import Scene

ROOT = Path(__file__).parent.parent.parent

SIZES = ((80, 24), (140, 40))

MOST_BYTES = 1_000_000

_WORK = Path(tempfile.gettempdir()) / "kelsand"
_MARK = ".pictures-of-localrag"


def main() -> int:
    """Draw what the command line names."""
    parser = argparse.ArgumentParser(
        prog="scripts/screenshots",
        description="Draws the places of the application at 80x24 and 140x40, as SVG. Needs no model.",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "screens", help="folder of the pictures")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this scene")
    parser.add_argument("--text", action="store_true", help="also print what stands on each screen")
    words = parser.parse_args()
    _prepare()
    try:
        return asyncio.run(_draw_all(words.out, set(words.only), with_text=words.text))
    finally:
        shutil.rmtree(_WORK, ignore_errors=True)


def _prepare() -> None:
    """A folder whose name is the same every time, for it is seen; and nothing of this person's own."""
    if _WORK.exists() and not (_WORK / _MARK).exists():
        sys.exit(f"{_WORK} is in the way: move it, since the pictures are made there.")
    shutil.rmtree(_WORK, ignore_errors=True)
    _WORK.mkdir()
    (_WORK / _MARK).touch()
    (_WORK / "settings.toml").touch()
    for name in [name for name in os.environ if name.startswith(("LOCALRAG_", "TEXTUAL"))]:
        del os.environ[name]
    os.environ |= {
        "LOCALRAG_CONFIG": str(_WORK / "settings.toml"),
        "LOCALRAG_CACHE": str(_WORK / "cache"),
        "LOCALRAG_STATE": str(_WORK / "state"),
        "LOCALRAG_ENGINE__TUNE": "off",
        "COLORTERM": "truecolor",
    }
    os.environ.pop("NO_COLOR", None)


async def _draw_all(out: Path, only: set[str], *, with_text: bool) -> int:
    """Draw all scenes; those of one file in one application. Returns the exit code."""
    from picturelib.flows import SCENES

    unknown = only - {scene.name for scene in SCENES}
    if unknown:
        print(f"There is no scene {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for library in dict.fromkeys(scene.library for scene in SCENES):
        scenes = [scene for scene in SCENES if scene.library == library and (not only or scene.name in only)]
        if scenes:
            failed += await _draw_with(library, scenes, out, with_text=with_text)
    return 1 if failed else 0


async def _draw_with(library: str, scenes: list[Scene], out: Path, *, with_text: bool) -> int:
    """Draw the scenes of one file at every size; how many could not be drawn."""
    return sum([await _draw_at(size, library, scenes, out, with_text=with_text) for size in SIZES])


async def _draw_at(
    size: tuple[int, int], library: str, scenes: list[Scene], out: Path, *, with_text: bool
) -> int:
    """Draw the scenes in an application that has this size from the start, as a person's has."""
    from localrag.tui.app import LocalragApp
    from picturelib.flows import back, settle, text_of
    from picturelib.sample import SETTINGS, build, engines

    home = _WORK / "notes"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    os.chdir(home)
    kb = build(home, read=library == "read") if library else None
    app = LocalragApp(kb, SETTINGS, engines(0.8 if library == "new" else 0.0), folder=home)
    failed = 0
    try:
        async with app.run_test(size=size, notifications=True) as pilot:
            await settle(pilot)
            for scene in scenes:
                try:
                    await scene.act(pilot, app)
                    await settle(pilot)
                    _write(out, scene.name, size, app.export_screenshot(title="localrag"))
                    if with_text:
                        print(text_of(app), flush=True)
                except Exception as error:  # noqa: BLE001  # the other pictures are worth having
                    failed += 1
                    print(f"{scene.name}: {error}", file=sys.stderr)
                await back(pilot, app)
    finally:
        app.shut_down()
    return failed


def _elsewhere(path: str) -> str:
    """A path that stands for that of this folder and is as long, so that the picture keeps its lines."""
    return "~/localrag"[: len(path)].rjust(len(path), "…")


def _write(out: Path, name: str, size: tuple[int, int], drawn: str) -> None:
    """Keep a picture; raises `ValueError` for one that would load something or is too large."""
    picture = self_contained(drawn.replace(str(ROOT.resolve()), _elsewhere(str(ROOT.resolve()))))
    if foreign_addresses(picture):
        raise ValueError(f"the picture would load {foreign_addresses(picture)}")
    if len(picture.encode()) > MOST_BYTES:
        raise ValueError("the picture is too large")
    file = out / f"{name}-{size[0]}x{size[1]}.svg"
    file.write_text(picture, encoding="utf-8")
    print(file, flush=True)


if __name__ == "__main__":
    sys.exit(main())
