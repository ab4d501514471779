"""What was measured of this machine: plain data, what it holds for, and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from localrag.engine import machine
from localrag.engine.gguf import GgufInfo
from localrag.engine.kv_cache import TYPES
from localrag.engine.options import EngineOptions
from localrag.settings import state_dir

_FORM: Final = 1
_FILE: Final = "machine.json"
_MOST_KEPT: Final = 64
"""Results kept; the oldest go first, since every model and build has its own."""


@dataclass(frozen=True)
class Subject:
    """What a result holds for. If any of this changes, it has to be measured anew."""

    model: str
    """Fingerprint of the model."""

    build: str
    """Identity of the native build."""

    processor: str
    """Name of the processor."""

    cores: str
    """Usable cores: physical/logical."""

    threads: int
    """Threads that the settings ask for; 0 if they leave it open."""

    offload: str
    """Where the model's layers go; empty for the processor."""

    @property
    def key(self) -> str:
        """The name under which the result is kept."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class ReadRate:
    """How fast one text is read."""

    tokens: int
    """Tokens of a step."""

    threads: int
    """Threads."""

    kv_type: str
    """Type of the cache."""

    rate: float
    """Tokens per second."""


@dataclass(frozen=True)
class WriteRate:
    """How fast many texts are written together."""

    sequences: int
    """Texts, each with one token in a step."""

    cells: int
    """Tokens that each has behind it."""

    threads: int
    """Threads."""

    kv_type: str
    """Type of the cache."""

    milliseconds: float
    """Time of a step."""

    rate: float
    """Tokens per second, all texts together."""


@dataclass(frozen=True)
class Tuning:
    """The result of measuring a model on this machine, and what follows from it."""

    model_name: str
    """Name of the model, for people."""

    threads: int = 0
    """Threads to use; 0 if it was not found out."""

    sequences: int = 0
    """Texts to read together; 0 if it was not found out."""

    width: int = 0
    """Most tokens of a writing step; 0 if it was not found out."""

    batch: int = 0
    """Most tokens of a reading step; 0 if it was not found out."""

    kv_type: str = ""
    """Type of the cache; empty if it was not found out."""

    read_rate: float = 0.0
    """Tokens read per second with these values."""

    write_rate: float = 0.0
    """Tokens written per second with these values, all texts together."""

    reads: tuple[ReadRate, ...] = ()
    """What was measured of reading."""

    writes: tuple[WriteRate, ...] = ()
    """What was measured of writing."""

    reasons: tuple[str, ...] = ()
    """Why each value was chosen, in sentences."""

    seconds: float = 0.0
    """How long it took."""

    measured_at: str = ""
    """When, as an ISO time."""

    others: float = 0.0
    """Share of the processor that other programs took meanwhile, from 0 to 1."""

    failed: str = ""
    """Why there are no values; it is not tried again by itself then."""


BUSY: Final = 0.25
"""If other programs take more of the processor, a measurement says little and is made again one day."""


def subject(info: GgufInfo, options: EngineOptions) -> Subject:
    """What a measurement of a model with these options would hold for."""
    offload = ""
    if options.gpu_layers:
        how = (options.devices, options.split_mode, options.tensor_split, options.main_gpu)
        offload = json.dumps((options.gpu_layers, *how))
    return Subject(
        model=info.fingerprint,
        build=machine.native_build(),
        processor=machine.processor(),
        cores=f"{machine.physical_cores()}/{machine.logical_cores()}",
        threads=options.threads,
        offload=offload,
    )


def in_words(tuning: Tuning) -> str:
    """A measurement in a sentence for people."""
    if tuning.failed:
        return f"This machine could not be measured, so usual values are taken: {tuning.failed}"
    if not tuning.sequences:
        return "The model is too slow here to be measured, so usual values are taken."
    threads = "1 thread" if tuning.threads == 1 else f"{tuning.threads} threads"
    texts = "1 text" if tuning.sequences == 1 else f"{tuning.sequences} texts"
    return (
        f"Measured: {threads}, {texts} together, cache {tuning.kv_type}; reads {tuning.read_rate:.0f} and "
        f"writes {tuning.write_rate:.0f} tokens a second."
    )


def results_file() -> Path:
    """The file of all results."""
    return state_dir() / _FILE


def stored(wanted: Subject) -> Tuning | None:
    """The result for `wanted`, or None if there is none that can be read."""
    entry = _read().get(wanted.key)
    return _tuning(entry.get("result")) if isinstance(entry, dict) else None


def save(about: Subject, tuning: Tuning) -> None:
    """Keep a result in place of an older one for the same. Raises `OSError` if the file cannot be written."""
    results = {key: entry for key, entry in _read().items() if key != about.key}
    for oldest in list(results)[: max(0, len(results) - _MOST_KEPT + 1)]:
        del results[oldest]
    results[about.key] = {"for": asdict(about), "result": asdict(tuning)}
    path = results_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{_FILE}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"form": _FORM, "results": results}, file, indent=1, ensure_ascii=False)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def damage() -> str:
    """What is wrong with the file of results, for people; empty if nothing is."""
    try:
        data = json.loads(results_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{results_file()} cannot be read: {error.strerror or error}"
    except ValueError:
        return f"{results_file()} is damaged; the next measurement replaces it"
    if not isinstance(data, dict) or data.get("form") != _FORM:
        return f"{results_file()} was written by another version; the next measurement replaces it"
    return ""


def _read() -> dict[str, Any]:
    """All entries by key, oldest first; none from a file that `damage` complains of."""
    if damage() or not results_file().exists():
        return {}
    results = json.loads(results_file().read_text(encoding="utf-8")).get("results")
    return results if isinstance(results, dict) else {}


def to_message(tuning: Tuning) -> dict[str, Any]:
    """A result as plain data."""
    return asdict(tuning)


def from_message(data: Mapping[str, Any]) -> Tuning:
    """Undo `to_message`. Raises `ValueError` if it is none of ours."""
    tuning = _tuning(data)
    if tuning is None:
        raise ValueError("not a measurement")
    return tuning


def _tuning(data: object) -> Tuning | None:
    """A result read from outside; None if it has not the right form, since values go to native code."""
    if not isinstance(data, Mapping):
        return None
    try:
        values = {item.name: data[item.name] for item in fields(Tuning)}
        values["reads"] = tuple(ReadRate(**row) for row in values["reads"])
        values["writes"] = tuple(WriteRate(**row) for row in values["writes"])
        values["reasons"] = tuple(str(reason) for reason in values["reasons"])
        tuning = Tuning(**values)
    except (KeyError, TypeError, ValueError):
        return None
    numbers = (tuning.threads, tuning.sequences, tuning.width, tuning.batch)
    bounds = (1024, 250, 8192, 8192)
    if not all(type(n) is int and 0 <= n <= most for n, most in zip(numbers, bounds, strict=True)):
        return None
    texts = (tuning.model_name, tuning.kv_type, tuning.measured_at, tuning.failed)
    if not all(isinstance(text, str) for text in texts) or tuning.kv_type not in ("", *TYPES):
        return None
    return tuning
