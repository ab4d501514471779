"""Which models a set-up brings, what the catalogue says of them, and whether they are there already."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import SetupError
from .state import file_facts, read_json, write_json

SETS: dict[str, tuple[str, ...]] = {
    "none": (),
    "starter": ("qwen2.5-coder-1.5b-instruct", "multilingual-e5-small"),
    "test": ("qwen2.5-coder-0.5b-instruct", "all-minilm-l6-v2", "multilingual-e5-small"),
}
PROBES = ("qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct")
"""Models whose answer to the probe's prompt is known, the quickest first."""


@dataclass(frozen=True)
class Model:
    """A model of the catalogue."""

    name: str
    """Its name there."""

    file: str
    """Name of its file."""

    size: int
    """Bytes of the file."""

    download: int
    """Bytes that are fetched to make it."""


def load_catalogue(root: Path) -> dict[str, Model]:
    """The models of models/catalogue.toml by name."""
    path = root / "models" / "catalogue.toml"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"The list of models, {path}, cannot be read: {error}.", "Restore it from git."
        ) from error
    return {model.name: model for model in map(_model, content["model"])}


def _model(entry: dict[str, Any]) -> Model:
    download = sum(int(part["size"]) for part in entry["source"]["parts"])
    return Model(str(entry["name"]), str(entry["file"]), int(entry["size"]), download)


class Models:
    """The model files on this machine, and the record of which were fetched and verified."""

    def __init__(self, root: Path, cache: Path) -> None:
        self._catalogue = load_catalogue(root)
        self._folders = (cache / "models", root / "models")
        self._record = cache / "setup-models.json"

    def path(self, name: str) -> Path | None:
        """The file of a model, if it lies in one of the folders in its full size."""
        model = self._catalogue[name]
        for folder in self._folders:
            path = folder / model.file
            if path.is_file() and path.stat().st_size == model.size:
                return path
        return None

    def missing(self, names: tuple[str, ...]) -> tuple[Model, ...]:
        """Those that are not there, or not as they were when their check passed."""
        known = read_json(self._record)
        changed = [name for name in names if self.absent(name) or known.get(name) != self._facts(name)]
        return tuple(self._catalogue[name] for name in changed)

    def absent(self, name: str) -> bool:
        """Whether there is no such file at all."""
        return self.path(name) is None

    def note(self, names: tuple[str, ...]) -> None:
        """Write down that these were just verified."""
        facts = {name: self._facts(name) for name in names}
        write_json(self._record, read_json(self._record) | facts)

    def probe(self) -> Path | None:
        """A model that a build can be tried with."""
        return next((path for name in PROBES if (path := self.path(name))), None)

    def _facts(self, name: str) -> list[list[object]] | None:
        path = self.path(name)
        return file_facts([path]) if path else None
