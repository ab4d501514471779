"""The pictures of the application: they load nothing from anywhere, and one of each size is drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.picturelib.svg import foreign_addresses, self_contained

ROOT = Path(__file__).parent.parent.parent

FETCHED = """<svg xmlns="http://www.w3.org/2000/svg">
<!-- Made with https://example.org -->
<style>
@font-face {
    font-family: "Fira Code";
    src: local("FiraCode"), url("https://cdn.example.org/fira.woff2") format("woff2");
}
.m { font-family: Fira Code, monospace; }
</style>
<text>see https://example.org/page</text></svg>"""


def test_nothing_is_fetched_by_a_picture() -> None:
    assert foreign_addresses(FETCHED) == ["https://cdn.example.org/fira.woff2"]
    clean = self_contained(FETCHED)
    assert foreign_addresses(clean) == []
    assert "@font-face" not in clean
    assert "see https://example.org/page" in clean, "what stands on the screen is kept"
    assert foreign_addresses('<image href="http://example.org/a.png"/>') == ["http://example.org/a.png"]


def test_the_pictures_that_are_kept_fetch_nothing_and_are_small() -> None:
    kept = sorted((ROOT / "docs" / "screens").glob("*.svg"))
    assert len(kept) > 20
    for file in kept:
        text = file.read_text(encoding="utf-8")
        assert foreign_addresses(text) == [], file.name
        assert len(text) < 1_000_000, file.name
        assert str(ROOT) not in text, file.name
    assert {file.stem.rpartition("-")[2] for file in kept} == {"80x24", "140x40"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="not here: a shell script")
def test_a_scene_is_drawn_at_both_sizes(tmp_path: Path) -> None:
    command = [str(ROOT / "scripts" / "screenshots"), "--out", str(tmp_path), "--only", "opening"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"opening-80x24.svg", "opening-140x40.svg"}
    assert "Guided&#160;start" in (tmp_path / "opening-80x24.svg").read_text(encoding="utf-8")
    wrong = subprocess.run([*command[:-1], "nothing"], capture_output=True, text=True, timeout=100)
    assert wrong.returncode == 2
