"""A built wheel carries prompts, catalogue and sample, and finds them without a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*build, "-w", str(folder), str(ROOT)], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("localrag-*.whl")
    return built


def test_the_wheel_holds_what_ships_and_no_models(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "localrag/_data/models/catalogue.toml" in names
    for language in ("en", "zh"):
        assert f"localrag/_data/prompts/lightrag/{language}/extraction_system.md" in names
    assert "localrag/tui/localrag.tcss" in names
    assert "localrag/web/page/terminal.html" in names
    assert "localrag/py.typed" in names
    assert sum(name.startswith("localrag/sample/texts/") for name in names) == 12
    assert not any(name.endswith(".gguf") or name.startswith(("tests/", "scripts/")) for name in names)


def test_an_installed_wheel_finds_its_files(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(target),
    ]
    subprocess.run([*install, str(wheel)], check=True, timeout=250)
    program = (
        "import json, localrag;"
        "from localrag.settings import data_path;"
        "from localrag.prompts import load;"
        "from localrag.catalogue.listing import catalogue;"
        "from localrag.sample import sample_folder;"
        "print(json.dumps([localrag.__file__, str(data_path('models', 'catalogue.toml')),"
        " load('lightrag', 'zh', 'rag_response').text[:5], catalogue().entries[0].name,"
        " len(list(sample_folder().iterdir()))]))"
    )
    paths = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    module, catalogue_file, prompt, model, texts = json.loads(done.stdout)
    assert Path(module).is_relative_to(target)
    assert Path(catalogue_file).is_relative_to(target / "localrag" / "_data")
    assert prompt
    assert model
    assert texts == 12


def test_a_checkout_finds_its_files() -> None:
    from localrag.settings import data_path

    assert data_path("models", "catalogue.toml") == ROOT / "models" / "catalogue.toml"
    assert data_path("prompts", "lightrag", "en") == ROOT / "prompts" / "lightrag" / "en"
