"""`localrag bench store`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_of


def test_what_it_prints_for_programs_and_for_people(run: Run, folder: Path) -> None:
    found = json_of(run("bench", "store", "--sizes", "200", "--keep", "kept", "--json"))
    assert found["dimension"] == 384
    (row,) = found["sizes"]
    assert row["chunks"] == 200
    names = "insert_s knn_ms knn_filtered_ms hybrid_ms cold_ms fulltext_ms recall_at_20 size_mb peak_rss_mb"
    for name in names.split():
        assert row[name] > 0, name
    assert [path.name for path in (folder / "kept").iterdir()] == ["generated-200.localrag"]
    shown = run("bench", "store", "--sizes", " 150, ").stdout
    assert "Nearest 20 vectors" in shown
    assert "100.0% by vectors" in shown


@pytest.mark.parametrize("sizes", ["", "0", "-5", "ten", "1e4", "10;20", "٣", "1" * 30])
def test_wrong_sizes_are_refused(run: Run, sizes: str) -> None:
    assert "--sizes takes whole numbers" in run("bench", "store", "--sizes", sizes, code=2).stderr
