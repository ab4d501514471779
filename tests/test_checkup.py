"""The checks of this machine as the screens run them: what each can be mended by, and which need no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag import settings
from localrag.checkup import CheckResult, machine, run
from localrag.settings import Settings


@pytest.fixture(autouse=True)
def nothing_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No model on this machine, and a build that needs not be tried."""
    monkeypatch.setenv("LOCALRAG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(settings, "model_folders", lambda: (tmp_path / "cache" / "models",))
    monkeypatch.setattr(machine, "check_llama", lambda model=None: CheckResult("llama.cpp", "ok", "built"))


def test_each_check_says_what_would_mend_it(tmp_path: Path) -> None:
    told: list[str] = []
    results = {result.name: result for result in run.run_checks(Settings, tmp_path, told.append)}
    assert told == [run.ENGINE]
    assert results["Model that reads and answers"].mend == "models"
    assert results["Memory"].mend == ""
    assert "mend" not in results["Memory"].to_json()
    broken = tmp_path / "broken.localrag"
    broken.write_text("no knowledge base")
    assert machine.check_knowledge_base(broken).mend == ""
    assert machine.check_knowledge_base(tmp_path / "lost.localrag").mend == ""


def test_a_damaged_knowledge_base_can_be_mended(tmp_path: Path, read_file: Path) -> None:
    data = bytearray(read_file.read_bytes())
    data[100:4096] = bytes(3996)
    path = tmp_path / "damaged.localrag"
    path.write_bytes(data)
    found = machine.check_knowledge_base(path)
    assert (found.state, found.mend) == ("fail", "repair")


def test_before_anything_is_set_up_models_are_not_asked_for(tmp_path: Path) -> None:
    names = [result.name for result in run.machine_checks(tmp_path)]
    assert names[0] == "Memory"
    assert names[-1] == "llama.cpp"
    assert not any("Model" in name for name in names)
