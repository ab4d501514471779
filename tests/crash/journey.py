"""In the child: what a person does with a knowledge base, stage by stage, on scripted models.

Each stage is what the person would type again after a crash, so it may be begun any number of times. The
models write down every request in a file outside the knowledge base.

    python -m tests.crash.journey FOLDER STAGE STOP
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localrag import filing
from localrag.curating.entities import EntityDesk
from localrag.curating.tags import TagDesk
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import Event, Generation, GenerationRequest, ProgressEvent, TextKind
from localrag.engines import Engines
from localrag.errors import KnowledgeBaseExists
from localrag.indexing import vectors
from localrag.kb import KnowledgeBase
from localrag.sections import ChunkingSettings
from localrag.settings import Settings
from localrag.store import Store
from tests.crash.steps import Steps

MARK = re.compile(r"mark-[a-z]\d")
IN_FLIGHT = 3
"""Requests that the model has in hand at a time, and texts of one batch of vectors."""

FAILING = ("mark-b2", "mark-z2")
"""Passages that the model never manages to read."""

SETTINGS = Settings(chunking=ChunkingSettings(size=48, overlap=0))
OTHER = "other"
"""Name of a second embedding model."""

_MTIME = 1_700_000_000


@dataclass(frozen=True)
class Place:
    """The folder of one run and what lies in it."""

    folder: Path
    """All of it."""

    @property
    def kb(self) -> Path:
        """The knowledge base, alone in its folder."""
        return self.folder / "kb" / "notes.localrag"

    @property
    def library(self) -> Path:
        """The texts."""
        return self.folder / "library"

    @property
    def copy(self) -> Path:
        """Where the knowledge base is exported to, alone in its folder."""
        return self.folder / "copy" / "copy.localrag"

    @property
    def requests(self) -> Path:
        """What the models were asked, a line each: `read mark-a1`, `embed …`."""
        return self.folder / "requests.txt"

    @property
    def steps(self) -> Path:
        """The steps of the last process."""
        return self.folder / "steps.txt"

    def note(self, line: str) -> None:
        """Write a line into `requests`, so that it is there whatever comes next."""
        handle = os.open(self.requests, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(handle, f"{line}\n".encode())
        os.close(handle)


class LoggedModel(ScriptedModel):
    """A model that has several requests in hand at a time, as the real one has."""

    def __init__(self, place: Place) -> None:
        super().__init__(fail=lambda request: mark_of(request) in FAILING)
        self._place = place

    def run(self, requests: Iterable[GenerationRequest]) -> Iterator[tuple[int, Event]]:
        """Draw a few, answer the first of them, and draw again."""
        coming = iter(requests)
        flying: deque[tuple[int, Generation]] = deque()
        index = 0
        while True:
            while len(flying) < IN_FLIGHT and (request := next(coming, None)) is not None:
                self._place.note(f"read {mark_of(request)}")
                flying.append((index, self._generate(request)))
                index += 1
            if not flying:
                return
            yield flying.popleft()
            yield -1, ProgressEvent("decode", 1, 0, 100.0, 50.0)


class LoggedEmbedder(ScriptedEmbedder):
    """Writes down every text."""

    def __init__(self, place: Place, dimension: int = 16, name: str = "scripted") -> None:
        super().__init__(dimension, name)
        self._place = place

    def embed(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """As ever."""
        for text in texts:
            self._place.note(f"embed {self.space.dimension} {' '.join(text.split())}")
        return super().embed(texts, kind)


def mark_of(request: GenerationRequest) -> str:
    """The mark of the passage that is to be read."""
    found = MARK.findall(request.messages[-1].text) or MARK.findall(request.messages[0].text)
    return found[0] if found else "none"


def texts() -> dict[str, str]:
    """The library as it is at first, a mark in every passage."""
    english = [
        f"## Part {number}\n\nThe keeper Nora Vik wrote mark-{name}{number} in the log of Merrow Point, "
        f"and Edda Thorne{number % 3} signed it. The ferry Curlew was seen by Nora Vik.\n"
        for name in "ab"
        for number in range(1, 5)
    ]
    chinese = [
        f"## 第{number}章\n\n陈玉兰在青石镇开办了临江茶馆 mark-z{number}，林小川是陈玉兰的徒弟。"
        f"茶馆在每周五晚上请人说书。\n"
        for number in range(1, 4)
    ]
    return {
        "log.md": "# Log\n\n" + "\n".join(english[:4]),
        "book.md": "# Book\n\n" + "\n".join(english[4:]),
        "茶馆.md": "# 茶馆\n\n" + "\n".join(chinese),
        "note.txt": "Olga Ness painted the Halden Bridge mark-n1 green. Marta Lind built the bridge.\n",
    }


def write(place: Place, name: str, text: str) -> None:
    """Write a text with a fixed time, so that all runs find the same file."""
    place.library.mkdir(exist_ok=True)
    path = place.library / name
    path.write_text(text, encoding="utf-8")
    os.utime(path, (_MTIME + len(text), _MTIME + len(text)))


def opened(place: Place) -> KnowledgeBase:
    """The knowledge base with models that write down what they are asked."""
    others = {OTHER: LoggedEmbedder(place, 24, OTHER)}
    engines = Engines(SETTINGS, LoggedModel(place), LoggedEmbedder(place), others)
    return KnowledgeBase.open(place.kb, settings=SETTINGS, engines=engines)


def create(place: Place) -> None:
    """`localrag init`, which says so if that was done already."""
    with contextlib.suppress(KnowledgeBaseExists):
        KnowledgeBase.create(place.kb, settings=SETTINGS).close()
    opened(place).close()


def add(place: Place) -> None:
    """`localrag add library`."""
    for name, text in texts().items():
        write(place, name, text)
    with opened(place) as kb:
        kb.add([place.library])


def index(place: Place) -> None:
    """`localrag index` until nothing is left: what failed is tried once more by the second run."""
    with opened(place) as kb:
        for _ in range(2):
            for _ in kb.index():
                pass


def change(place: Place) -> None:
    """One text is changed in the middle, one is new, one cannot be read any more; all are added again."""
    changed = texts()["log.md"].replace("The ferry Curlew was seen", "The bark Heron, mark-c1, was seen", 1)
    write(place, "log.md", changed)
    write(place, "new.txt", "Ida Lind opened the museum of Varn mark-n2 in 1972, and Nora Vik came.\n")
    (place.library / "bad.txt").write_bytes(b"\x00\x01\x02\xff" * 40)
    os.utime(place.library / "bad.txt", (_MTIME, _MTIME))
    with opened(place) as kb:
        kb.add([place.library])


def delete(place: Place) -> None:
    """`localrag delete book.md`."""
    with opened(place) as kb:
        if any(row.path == "book.md" for row in kb.status().documents):
            kb.delete("book.md")


def sync(place: Place) -> None:
    """One text is changed, one is moved and changed, one gone, one is a copy; `localrag sync`."""
    changed = (place.library / "log.md").read_text(encoding="utf-8").replace("signed it", "signed, mark-d1,")
    write(place, "log.md", changed)
    moved = place.library / "note.txt"
    if moved.exists():
        moved.rename(place.library / "moved.txt")
    write(place, "copy.md", texts()["茶馆.md"])
    (place.library / "new.txt").unlink(missing_ok=True)
    with opened(place) as kb:
        kb.sync()


def decide(place: Place) -> None:
    """Three decisions of a person, who looks into the log to see which were made before the crash."""
    with Store.open(place.kb) as store:
        desk = EntityDesk(store)
        made = len(store.decisions.list())
        if made < 1:
            desk.merge(["Marta Lind"], "Olga Ness")
        if made < 2:
            desk.delete("Halden Bridge")
        if made < 3:
            TagDesk(store).add("sea", ["log.md"])


def retry(place: Place) -> None:
    """`localrag retry --all`: the passages that failed wait to be read then."""
    with opened(place) as kb:
        kb.retry(everything=True)


def export(place: Place) -> None:
    """`localrag export copy.localrag --force`."""
    place.copy.parent.mkdir(exist_ok=True)
    with opened(place) as kb:
        kb.export(place.copy, overwrite=True)


def reembed(place: Place) -> None:
    """`localrag reembed`, which goes on where it was."""
    with opened(place) as kb:
        for _ in kb.reembed(OTHER):
            pass


def vacuum(place: Place) -> None:
    """`localrag vacuum`."""
    filing.vacuum(place.kb)


def merge(place: Place) -> None:
    """`localrag merge copy.localrag`: what was deleted since it was made is there again."""
    with opened(place) as kb:
        kb.merge([place.copy])


STAGES: dict[str, Callable[[Place], None]] = {
    "create": create,
    "add": add,
    "index": index,
    "change": change,
    "index again": index,
    "sync": sync,
    "decide": decide,
    "index at last": index,
    "retry": retry,
    "export": export,
    "delete": delete,
    "merge": merge,
    "reembed": reembed,
    "vacuum": vacuum,
}
"""What is done, in this order."""


def upgrade(place: Place) -> None:
    """Any command on a file of an older format."""
    Store.open(place.kb).close()


ALONE: dict[str, Callable[[Place], None]] = {"upgrade": upgrade}
"""What is done with files of their own."""


def main(folder: str, stage: str, stop: str) -> None:
    """Do one stage, to be killed at `stop` if that is a step of it."""
    place = Place(Path(folder))
    vectors.TOGETHER = IN_FLIGHT
    place.kb.parent.mkdir(exist_ok=True)
    Steps(place.steps, (place.kb.parent, place.copy.parent), stop).watch()
    (STAGES | ALONE)[stage](place)


if __name__ == "__main__":
    main(*sys.argv[1:])
