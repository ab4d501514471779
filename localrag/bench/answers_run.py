"""Asks the questions of a set in one way, several at once, and keeps every answer.

Each question goes the product's own way; the ways differ in what the model gets to read. What is kept is
known by all that it depends on, the program's own text included, so a measure that was stopped goes on, and
one of a changed program begins anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

import localrag
from localrag.bench.answers_asking import Asker, How, Outcome
from localrag.bench.answers_data import AnswerQuestion, AnswerSet
from localrag.bench.retrieval_build import Step
from localrag.engines import Engines
from localrag.errors import Cancelled, LocalragError
from localrag.settings import Settings, cache_dir, data_path, prompts_dir
from localrag.store.database import Store

_ALONE = 3
"""Questions that are asked one by one before the others: how long a person waits for the first word."""

_NOT_ASKED = ("bench", "cli", "tui")
"""Parts of the program that no answer depends on."""


@dataclass(frozen=True)
class Pace:
    """How the questions are asked."""

    together: int = 8
    """How many at once."""

    fresh: bool = False
    """Whether to ask again what was answered before."""

    stop: threading.Event = field(default_factory=threading.Event)
    """Stops it when it is set."""

    on_step: Step = lambda text, done, total: None
    """Is told how far it is."""


def run_folder(settings: Settings, engines: Engines, embedder: str) -> Path:
    """Where the answers of this program, with these settings and models, are kept.

    `embedder` is the fingerprint of the embedding model. Starts the language model.
    """
    about = {
        "program": _program(),
        "prompts": _digest_of(sorted(prompts_dir(settings).rglob("*.md"))),
        "settings": {**asdict(settings), "origins": None},
        "model": engines.model.describe().fingerprint,
        "embedder": embedder,
    }
    text = json.dumps(about, sort_keys=True, default=str)
    return cache_dir() / "bench" / "answers" / hashlib.sha256(text.encode()).hexdigest()[:32]


def answer_all(
    path: Path, data: AnswerSet, how: How, engines: Engines, folder: Path, pace: Pace
) -> list[Outcome]:
    """The outcome of each question of a set, in their order, from the knowledge base at `path`.

    An answer that could not be written is among them with the reason, and is not kept. Raises `Cancelled`;
    what was answered until then is kept in `folder`.
    """
    kept = _Kept(folder / f"{how.control}-{_name(path, data, how)}.jsonl", fresh=pace.fresh)
    done = {question.id: row for question in data.questions if (row := kept.get(question)) is not None}
    missing = [question for question in data.questions if question.id not in done]
    label = f"{data.name}, {how.control}"
    pace.on_step(label, len(done), len(data.questions))
    alone = _ALONE if len(missing) == len(data.questions) else 0
    for batch, together in ((missing[:alone], 1), (missing[alone:], pace.together)):
        for outcome in _asked(path, data, batch, how, engines, together, pace.stop):
            done[outcome.id] = outcome
            kept.add(outcome)
            pace.on_step(label, len(done), len(data.questions))
    return [done[question.id] for question in data.questions]


def _asked(
    path: Path,
    data: AnswerSet,
    questions: Sequence[AnswerQuestion],
    how: How,
    engines: Engines,
    together: int,
    cancel: threading.Event,
) -> Iterator[Outcome]:
    """The outcomes as they come. What passed since the one before is what each of them took."""
    waiting: queue.SimpleQueue[AnswerQuestion] = queue.SimpleQueue()
    for question in questions:
        waiting.put(question)
    arrived: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
    halt = threading.Event()

    def work() -> None:
        try:
            with Store.open(path, read_only=True) as store:
                asker = Asker(store, data, engines, how, cancel)
                while not halt.is_set():
                    arrived.put(_ask(asker, waiting.get_nowait()))
        except queue.Empty:
            return
        except BaseException as error:  # noqa: BLE001 - it is raised where the outcomes are waited for
            arrived.put(error)

    began, spent = time.monotonic(), _processor()
    for number in range(min(together, len(questions))):
        threading.Thread(target=work, name=f"localrag-bench-{number}", daemon=True).start()
    try:
        for _ in questions:
            found = arrived.get()
            if isinstance(found, Cancelled):
                raise Cancelled(
                    "The measure was stopped.", "What was answered is kept; the same command goes on."
                ) from found
            if isinstance(found, BaseException):
                raise found
            now, used = time.monotonic(), _processor()
            alone = found.first_word if together == 1 else None
            yield replace(found, first_word=alone, seconds=now - began, processor=used - spent)
            began, spent = now, used
    finally:
        halt.set()


def _ask(asker: Asker, question: AnswerQuestion) -> Outcome:
    try:
        return asker.ask(question)
    except Cancelled:
        raise
    except LocalragError as error:
        return Outcome(question.id, question.text, error=error.message)


class _Kept:
    """The answers of one set in one way, in a file that grows by a line for each."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self._path = path
        self._rows: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh or not path.exists():
            path.write_text("", encoding="utf-8")
            return
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            # The last line is cut off where the measure was killed; its question is asked again.
            with suppress(ValueError):
                row = json.loads(line)
                self._rows[row["id"]] = row
        self._write_anew()

    def get(self, question: AnswerQuestion) -> Outcome | None:
        """The outcome of a question, if it was answered before."""
        row = self._rows.get(question.id)
        return None if row is None or row["question"] != question.text else Outcome.from_json(row)

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, if there is an answer."""
        if not outcome.error:
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(_line(outcome.to_json()))

    def _write_anew(self) -> None:
        part = self._path.with_suffix(".part")
        part.write_text("".join(map(_line, self._rows.values())), encoding="utf-8", newline="\n")
        part.replace(self._path)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _name(path: Path, data: AnswerSet, how: How) -> str:
    """What tells these questions to this file in this way from others."""
    texts = [asdict(passage) for passage in data.passages.passages]
    about = [path.name, texts, how.style, how.mode]
    text = json.dumps(about, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _program() -> str:
    """A hash of all that answers are made by: the program's text and the prompts that ship."""
    root = Path(localrag.__file__).parent
    own = [file for file in root.rglob("*.py") if file.relative_to(root).parts[0] not in _NOT_ASKED]
    names = ("answers_run.py", "answers_asking.py", "answers_scores.py", "chinese.py")
    asking = [Path(__file__).with_name(name) for name in names]
    return _digest_of([*sorted(own), *asking, *sorted(data_path("prompts").rglob("*.md"))])


def _digest_of(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(os.fsencode(file.name) + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _processor() -> float:
    """Processor seconds of this process and all that it started so far."""
    total = 0.0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total
