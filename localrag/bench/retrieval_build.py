"""Makes the knowledge bases that the measure of retrieval searches, once for each set, and keeps them.

They are made by the calls that everyone uses: passages become Markdown files, which are added and indexed.
What is kept lies in the cache folder and is known by all that it depends on; what was begun is gone on with.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath

from localrag.bench.data import DataPassage
from localrag.bench.retrieval_data import QuestionSet
from localrag.engines import Engines
from localrag.errors import Cancelled
from localrag.indexing.events import Embedded, Progress
from localrag.indexing.vectors import VectorStage
from localrag.kb import KnowledgeBase
from localrag.settings import Settings, cache_dir
from localrag.store.database import Store
from localrag.store.migrations import FORMAT

Step = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much."""


class Builder:
    """Makes and opens the knowledge bases of one run of the measure."""

    def __init__(self, settings: Settings, engines: Engines, on_step: Step, cancel: threading.Event) -> None:
        self._settings = settings
        self._engines = engines
        self._step = on_step
        self._cancel = cancel

    def plain(self, data: QuestionSet) -> Path:
        """The file of a set with vectors and without a model's reading.

        Raises `Cancelled`, and what `add` and the embedding model raise.
        """
        folder = self._folder(data.passages)
        path = folder / "plain.localrag"
        folder.mkdir(parents=True, exist_ok=True)
        self._fill(path, data)
        self._embed(path, data.name)
        return path

    def read(self, data: QuestionSet) -> Path:
        """The file of a set that the model has read, as far as it can be; resumed where it was stopped.

        Raises `Cancelled`, and what `index` raises.
        """
        plain = self.plain(data)
        model = self._engines.model.describe().fingerprint
        asked = f"{model} {asdict(self._settings.extraction)} {asdict(self._settings.resolution)}"
        path = plain.with_name(f"read-{_digest(asked)[:16]}.localrag")
        if not path.exists():
            part = path.with_suffix(".part")
            shutil.copyfile(plain, part)
            part.replace(path)
        with KnowledgeBase.open(path, settings=self._settings, engines=self._engines) as kb:
            for event in kb.index(self._cancel):
                if isinstance(event, Progress):
                    self._step(f"Reading {data.name}", event.read, event.total)
        self._check()
        return path

    def _fill(self, path: Path, data: QuestionSet) -> None:
        """Add the passages that are not there yet."""
        if path.exists():
            with Store.open(path, read_only=True) as store:
                if len(store.documents.list()) == len(data.passages):
                    return
            path.unlink()
        self._step(f"Adding {data.name}", 0, len(data.passages))
        part = path.with_suffix(".part")
        part.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="localrag-bench-") as name:
            for number, passage in enumerate(data.passages):
                # Numbers and not the set's ids, which are no paths.
                (Path(name) / f"{number:06d}.md").write_text(_as_markdown(passage), encoding="utf-8")
            with KnowledgeBase.create(part, settings=self._settings, engines=self._engines) as kb:
                kb.add([Path(name)], cancel=self._cancel)
        self._check()
        part.replace(path)

    def _embed(self, path: Path, name: str) -> None:
        with Store.open(path) as store:
            stage = VectorStage(store, self._engines.embedder, self._cancel)
            if stage.missing("chunk"):
                for event in stage.run("chunk"):
                    if isinstance(event, Embedded):
                        self._step(f"Vectors of {name}", event.done, event.total)

    def _folder(self, passages: Sequence[DataPassage]) -> Path:
        """Where the files of these passages are kept, whatever set they come from."""
        texts = "\0".join(f"{passage.title}\0{passage.text}" for passage in passages)
        about = f"{FORMAT} {self._engines.embedder.space.fingerprint} {asdict(self._settings.chunking)}"
        return cache_dir() / "bench" / _digest(f"{about} {_digest(texts)}")[:32]

    def _check(self) -> None:
        if self._cancel.is_set():
            raise Cancelled("The measure was stopped.", "What was done is kept; the same command goes on.")


def places_of(store: Store, data: QuestionSet) -> dict[int, str]:
    """The set's passage that each document of its knowledge base was made of."""
    return {row.id: data.passages[int(PurePath(row.path).stem)].id for row in store.documents.list()}


def _as_markdown(passage: DataPassage) -> str:
    title = " ".join(passage.title.split())
    return f"# {title}\n\n{passage.text}\n" if title else f"{passage.text}\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
