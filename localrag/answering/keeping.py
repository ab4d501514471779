"""Keeps answers, and gives them again to the same question as long as nothing has changed that they rest on.

An answer's key is a hash of the question, all options, what was said before, the model, every setting, every
prompt and the other knowledge bases that were searched; the store ties it to the revision of the content. So
a change of any of them is a miss, and an answer that is given again is the one that would be written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from localrag.answering.checking import SentenceCheck
from localrag.answering.explaining import Explanation
from localrag.answering.options import AskOptions, Turn
from localrag.answering.types import Answer, Citation, Step
from localrag.engines import Engines
from localrag.errors import KnowledgeBaseError, LocalragError
from localrag.prompts.personal import LANGUAGES, PromptFolder, read
from localrag.retrieval.types import Coverage
from localrag.settings import Settings, prompts_dir
from localrag.store.database import Store

VERSION = 2
"""Raised when answers are written otherwise than before, so that older ones are not given any more."""

_PROMPTS = "lightrag"


@dataclass(frozen=True)
class KeptAnswer:
    """An answer as it was kept."""

    answer: Answer
    """The answer; its `kept` says when it was written."""

    generation_id: int
    """The call that wrote it."""

    chunks: tuple[int, ...] = ()
    """The chunks that the model was shown."""


class Keeper:
    """Keeps the answers of one file."""

    def __init__(self, store: Store, engines: Engines, settings: Settings) -> None:
        self._store = store
        self._engines = engines
        self._settings = settings

    def key(self, question: str, options: AskOptions, history: Sequence[Turn]) -> str:
        """The key of an answer; empty where answers cannot be kept, since something that they rest on may
        change unseen.

        That is so for a knowledge base that cannot be opened, and for the model of a server, which may be
        another one tomorrow under the same name. Raises `PromptError` if a prompt cannot be read. Touches
        no file that belongs to the calling thread.
        """
        bases = _marks_of(options.bases)
        if bases is None or self._settings.remote.url or not self._engines.has_model():
            return ""
        told = {
            "version": VERSION,
            "question": question,
            "options": asdict(replace(options, session=None, history=(), fresh=False, bases=())),
            "history": [asdict(turn) for turn in history],
            "bases": bases,
            "model": self._fingerprint(),
            "embedder": self._engines.has_embedder(),
            "settings": {**asdict(self._settings), "origins": None},
            "prompts": self._prompts(),
        }
        text = json.dumps(told, ensure_ascii=True, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, key: str) -> KeptAnswer | None:
        """The answer with this key, if the content is as it was when the answer was written."""
        row = self._store.answers.get(key) if key else None
        if row is None:
            return None
        try:
            data = json.loads(row.answer)
            answer = _from_json(data, row.question, row.created_at)
            return KeptAnswer(answer, data["generation_id"], tuple(data["chunks"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            # Not what this program has written: it is written anew.
            return None

    def put(
        self, key: str, answer: Answer, *, revision: int, generation_id: int | None, chunks: Sequence[int]
    ) -> None:
        """Keep an answer that a call wrote from chunks, if the content is still as it was. An answer is not
        lost because it cannot be kept."""
        if not key or generation_id is None or self._store.read_only:
            return
        origin = {"generation_id": generation_id, "chunks": list(chunks)}
        text = json.dumps({**_to_json(answer), **origin}, ensure_ascii=False)
        with contextlib.suppress(KnowledgeBaseError):
            self._store.answers.put(
                key, answer.question, text, revision=revision, generation_id=generation_id
            )

    def _fingerprint(self) -> str:
        """The model that would write; one of this machine is not started for that."""
        return self._engines.measured()[0] or self._engines.model.describe().fingerprint

    def _prompts(self) -> str:
        """A hash of all prompts that a question may use, the person's own in their place."""
        folder = PromptFolder(prompts_dir(self._settings))
        digest = hashlib.sha256()
        for name in folder.names():
            if name.startswith(f"{_PROMPTS}/") and name.split("/")[1] in LANGUAGES:
                digest.update(hashlib.sha256(read(folder.entry(name))).digest())
        return digest.hexdigest()


def _marks_of(bases: Sequence[Path]) -> list[tuple[str, int, int, int]] | None:
    """Which files other knowledge bases are, and their revisions; None if one cannot be told."""
    marks = []
    for path in bases:
        try:
            file = path.stat()
            with Store.open(path, read_only=True) as store:
                marks.append((str(path.absolute()), file.st_dev, file.st_ino, store.revision()))
        except (LocalragError, OSError):
            # Whoever searches it is told what is wrong with it.
            return None
    return marks


def _to_json(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.answer,
        "abstained": answer.abstained,
        "mode": answer.mode,
        "model": answer.model,
        "coverage": asdict(answer.coverage),
        "citations": [asdict(citation) for citation in answer.citations],
        "language": answer.language,
        "rewritten": answer.rewritten,
        "steps": [asdict(step) for step in answer.steps],
        "notes": list(answer.notes),
        "checks": [check.to_json() for check in answer.checks],
        "explanation": answer.explanation.to_json() if answer.explanation else None,
    }


def _from_json(data: Mapping[str, Any], question: str, created_at: str) -> Answer:
    explanation = data["explanation"]
    return Answer(
        question=question,
        answer=data["answer"],
        abstained=data["abstained"],
        mode=data["mode"],
        model=data["model"],
        coverage=Coverage(**data["coverage"]),
        citations=tuple(Citation(**citation) for citation in data["citations"]),
        language=data["language"],
        rewritten=data["rewritten"],
        steps=tuple(_step(step) for step in data["steps"]),
        kept=created_at,
        notes=tuple(data["notes"]),
        checks=tuple(_check(check) for check in data["checks"]),
        explanation=Explanation.from_json(explanation) if explanation else None,
    )


def _step(data: Mapping[str, Any]) -> Step:
    return Step(
        data["question"], data["answer"], tuple(Citation(**citation) for citation in data["citations"])
    )


def _check(data: Mapping[str, Any]) -> SentenceCheck:
    return SentenceCheck(data["text"], tuple(data["references"]), data["verdict"], tuple(data["missing"]))
