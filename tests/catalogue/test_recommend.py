"""What is recommended follows the machine."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from localrag import settings
from localrag.catalogue import recommend
from localrag.catalogue.listing import catalogue
from localrag.catalogue.recommend import Machine, Recommendation


def on(memory_mb: int, disk_free_mb: int = 50_000) -> list[Recommendation]:
    return recommend.recommend(Machine(memory_mb, memory_mb // 2, 4, 8, disk_free_mb))


@pytest.mark.parametrize(
    ("memory_mb", "chat", "embed"),
    [
        (2_000, "qwen2.5-coder-0.5b-instruct", "all-minilm-l6-v2"),
        (4_000, "qwen2.5-coder-0.5b-instruct", "multilingual-e5-small"),
        (8_000, "qwen2.5-coder-1.5b-instruct", "multilingual-e5-small"),
        (64_000, "qwen2.5-coder-1.5b-instruct", "multilingual-e5-small"),
    ],
)
def test_each_role_gets_a_model_that_can_be_pulled(
    cache: Path, memory_mb: int, chat: str, embed: str
) -> None:
    names = {found.role: found.name for found in on(memory_mb) if found.obtainable}
    assert names == {"chat": chat, "embed": embed}
    for name in names.values():
        assert catalogue().get(name)


@pytest.mark.parametrize(
    ("memory_mb", "titles"),
    [
        (4_000, []),
        (8_000, ["Qwen2.5-1.5B-Instruct Q4_K_M", "bge-m3 Q8_0"]),
        (16_000, ["Qwen3-4B-Instruct-2507 Q4_K_M", "Qwen3-Embedding-0.6B Q8_0"]),
        (32_000, ["Qwen2.5-7B-Instruct Q4_K_M", "Qwen3-Embedding-0.6B Q8_0"]),
    ],
)
def test_better_ones_to_bring(cache: Path, memory_mb: int, titles: list[str]) -> None:
    assert [found.name for found in on(memory_mb) if not found.obtainable] == titles


def test_a_small_machine_is_told_so(cache: Path) -> None:
    chat, embed = on(2_000)
    assert "only 2000 MB" in chat.why
    assert "English only" in embed.why
    assert "English, Chinese" in on(8_000)[0].why


def test_a_full_disk_is_told(cache: Path) -> None:
    assert "not enough disk" in on(8_000, disk_free_mb=500)[0].why
    assert "not enough disk" not in on(8_000)[0].why


def test_what_is_installed_is_marked(cache: Path) -> None:
    assert not any(found.installed for found in on(8_000))
    entry = catalogue().get("multilingual-e5-small")
    settings.models_dir().mkdir(parents=True)
    with (settings.models_dir() / entry.file).open("wb") as file:
        file.truncate(entry.size)
    assert [found.name for found in on(8_000) if found.installed] == [entry.name]


def test_this_machine(cache: Path) -> None:
    machine = recommend.machine()
    assert 0 < machine.memory_available_mb <= machine.memory_mb
    assert 1 <= machine.cores <= machine.cores_logical
    assert machine.disk_free_mb > 0
    assert recommend.recommend(machine)


def test_a_containers_limit_counts(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(recommend, "_CGROUP_LIMITS", (tmp_path / "none", limit))
    limit.write_text("max\n")
    assert recommend.machine().memory_mb == psutil.virtual_memory().total >> 20
    limit.write_text(f"{600 << 20}\n")
    assert recommend.machine().memory_mb == 600
    assert recommend.machine().memory_available_mb <= 600
