"""Finds the model that ranks passages: one is used only if the settings name it."""

from __future__ import annotations

from pathlib import Path

from localrag import settings
from localrag.engine.gguf import inspect
from localrag.engine.gguf_format import shown_name
from localrag.errors import ModelInvalid, ModelNotFound

_POOLING = "rank"


def find_reranker(name_or_path: str) -> Path:
    """The file of the model that ranks: a file in a folder of models, with or without its ending, or a path.

    Raises `ModelNotFound` if it is not there, and `ModelInvalid` if it is damaged or does not rank texts.
    """
    wanted = name_or_path.strip()
    for folder in settings.model_folders():
        for name in (wanted, f"{wanted}.gguf"):
            if Path(name).name == name and (folder / name).is_file():
                return _ranking(folder / name)
    path = Path(wanted).expanduser()
    if path.is_file():
        return _ranking(path)
    raise ModelNotFound(
        f"The reranker {shown_name(Path(wanted))} is not there.",
        "models.reranker takes the path of a GGUF file with rank pooling, or its name in a folder of models.",
    )


def _ranking(path: Path) -> Path:
    if inspect(path).pooling != _POOLING:
        raise ModelInvalid(
            f"{shown_name(path)} does not rank texts.", "models.reranker takes a model with rank pooling."
        )
    return path
