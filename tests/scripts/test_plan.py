"""What the set-up says before it starts, and that it does not start without room."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.setuplib.errors import SetupError
from scripts.setuplib.machine import MB, Machine
from scripts.setuplib.models import Model
from scripts.setuplib.plan import Plan, announce, check_disk, parse_options

MODEL = Model("chat", "chat.gguf", 1000 * MB, 1100 * MB)
ALL = Plan(
    environment=True, build=True, wheel=True, project=True, models=(MODEL,), absent=(MODEL,), proof=True
)
NOTHING = Plan(environment=False, build=False, wheel=False, project=False, models=(), absent=(), proof=False)


def test_the_announcement_names_work_disk_and_time(machine: Machine) -> None:
    text = announce(ALL, machine, Path("/repository"), Path("/cache"), free=lambda path: 5000 * MB)
    assert "llama.cpp, built for this processor" in text
    assert "4 cores" in text
    assert "model chat: 1.1 GB" in text
    assert "/repository (5.0 GB free)" in text
    assert "/cache (5.0 GB free)" in text
    assert "Time: about" in text


def test_what_is_there_is_not_announced(machine: Machine) -> None:
    plan = Plan(environment=False, build=False, wheel=True, project=False, models=(), absent=(), proof=False)
    text = announce(plan, machine, Path("/repository"), Path("/cache"), free=lambda path: 5000 * MB)
    assert "build from the cache" in text
    assert "model" not in text
    assert "/cache" not in text
    assert not plan.nothing
    assert NOTHING.nothing


def test_room_is_asked_for_where_it_is_needed() -> None:
    assert NOTHING.repository_room() == NOTHING.cache_room() == 0
    assert ALL.cache_room() >= MODEL.size + MODEL.download
    developers = Plan(True, True, True, True, (MODEL,), (MODEL,), True, development=True)
    assert developers.repository_room() > ALL.repository_room()


def test_two_disks_are_checked_apart() -> None:
    def free(path: Path) -> int:
        return {"/repository": 9000, "/cache": 100}[str(path)] * MB

    with pytest.raises(SetupError, match="disk of /cache") as caught:
        check_disk(ALL, Path("/repository"), Path("/cache"), free, disk=lambda path: hash(path))
    assert "LOCALRAG_CACHE" in caught.value.hint
    assert "100 MB are free" in caught.value.message


def test_one_disk_has_to_hold_both() -> None:
    repository, cache = Path("/repository"), Path("/cache")
    both = ALL.repository_room() + ALL.cache_room()
    with pytest.raises(SetupError, match="not enough room"):
        check_disk(ALL, repository, cache, lambda path: both - MB, disk=lambda path: 1)
    check_disk(ALL, repository, cache, lambda path: both + 500 * MB, disk=lambda path: 1)


def test_nothing_to_do_needs_no_room() -> None:
    check_disk(NOTHING, Path("/repository"), Path("/cache"), lambda path: 0, disk=lambda path: 1)


def test_options() -> None:
    plain = parse_options([])
    assert (plain.accelerator, plain.models, plain.dev, plain.rebuild) == (None, "starter", False, False)
    assert parse_options(["--cuda", "--models", "test", "--dev"]).accelerator == "cuda"
    for wrong in (["--cuda", "--metal"], ["--models", "all"], ["--mod", "test"], ["stray"]):
        with pytest.raises(SystemExit) as caught:
            parse_options(wrong)
        assert caught.value.code == 2


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_options(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    for word in (
        "--cuda",
        "--metal",
        "--vulkan",
        "--cpu",
        "--models",
        "--dev",
        "--rebuild",
        "LOCALRAG_CACHE",
    ):
        assert word in printed
