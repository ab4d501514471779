"""Settings: where each value comes from, and what is refused before it reaches native code."""

from __future__ import annotations

from pathlib import Path

import pytest

from localrag.errors import SettingsError
from localrag.sections import AnsweringSettings, EngineSettings
from localrag.settings import load_settings


def test_flags_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[engine]\nthreads = 2\nbatch = 128\nsequences = 3\n")
    environment = {"LOCALRAG_ENGINE__THREADS": "4", "LOCALRAG_ENGINE__BATCH": "256"}
    settings = load_settings(file, environment, {"engine.threads": 6, "engine.n_ctx": None})
    assert settings.engine == EngineSettings(threads=6, sequences=3, batch=256)
    assert settings.origin("engine.threads") == "flag"
    assert settings.origin("engine.batch") == "variable LOCALRAG_ENGINE__BATCH"
    assert settings.origin("engine.sequences") == str(file)
    assert settings.origin("engine.n_ctx") == "default"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine.batch", "-1"),
        ("engine.batch", "1"),
        ("engine.n_ctx", "1"),
        ("engine.n_ctx", "-4"),
        ("engine.sequences", "-1"),
        ("engine.sequences", "400"),
        ("engine.threads", "-2"),
        ("engine.gpu_layers", "-2"),
        ("extraction.max_entities", "-1"),
        ("extraction.max_tokens", "0"),
        ("retrieval.passages", "0"),
        ("retrieval.context_tokens", "5"),
        ("answering.max_tokens", "0"),
        ("answering.max_citations", "0"),
        ("answering.max_citations", "21"),
        ("engine.batch", "many"),
        ("engine.width", "-1"),
        ("engine.ubatch", "8"),
        ("engine.kv_type", "q3"),
        ("engine.flash_attention", "maybe"),
        ("engine.tune", "sometimes"),
        ("engine.split_mode", "half"),
        ("engine.tensor_split", "3,one"),
        ("engine.tensor_split", "3,-1"),
        ("engine.tensor_split", "0,0"),
        ("engine.main_gpu", "-1"),
        ("engine.speed", "1"),
        ("motor.batch", "1"),
    ],
)
def test_a_value_without_meaning_is_refused_with_its_name_and_origin(
    tmp_path: Path, name: str, value: str
) -> None:
    section, _, key = name.partition(".")
    variable = f"LOCALRAG_{section.upper()}__{key.upper()}"
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path / "none.toml", {variable: value})
    assert variable in caught.value.message
    assert caught.value.hint


def test_words_and_lists_of_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        '[engine]\nkv_type = "q8_0"\ndevices = ["CUDA0", "CUDA1"]\nsplit_mode = "row"\ntune = "off"\n'
    )
    settings = load_settings(file, {"LOCALRAG_ENGINE__TENSOR_SPLIT": "3, 1.5"})
    engine = settings.engine
    assert (engine.kv_type, engine.flash_attention, engine.tune) == ("q8_0", "auto", "off")
    assert (engine.devices, engine.split_mode) == (("CUDA0", "CUDA1"), "row")
    assert engine.tensor_split == ("3", "1.5")
    assert EngineSettings().tune == "auto"


def test_programs_cannot_make_settings_without_meaning_either() -> None:
    with pytest.raises(ValueError, match="from 1 to 20"):
        AnsweringSettings(max_citations=0)
    assert EngineSettings(n_ctx=0).n_ctx == 0


@pytest.mark.parametrize("text", ["engine = 3", "[engine", "[engine]\nthreads = 1.5"])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"settings\.toml"):
        load_settings(file, {})


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_settings_file_that_is_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LOCALRAG_CONFIG", str(tmp_path / name))
    with pytest.raises(SettingsError, match="is not there"):
        load_settings()
