"""What all questions have in common for an embedding model, so that it can be taken off a question's vector.

A question lies near other questions, and one in Chinese near other Chinese texts, whatever they ask. Without
that common part a question finds texts in other languages and further passages better. It is the mean vector
of some questions about nothing in particular, made once for each model and kept in the cache folder.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from localrag.engine.types import Embedder
from localrag.settings import cache_dir

QUESTIONS = (
    "What is this?",
    "Who was it?",
    "When did it happen?",
    "Where is it?",
    "Why was it done?",
    "How does it work?",
    "How many are there?",
    "Which one was the first?",
    "Who founded the company?",
    "What is the name of the place?",
    "In which year was the book published?",
    "Which of the two is older?",
    "What did they decide?",
    "How long did it take?",
    "Who is the father of the director of the film?",
    "What was the reason for the change?",
    "Which country does the river flow through?",
    "What is the difference between the two methods?",
    "When was the building finished?",
    "Who took part in the meeting?",
    "What does the word mean?",
    "Did she agree to the plan?",
    "How much does it cost?",
    "Where was the writer of the song born?",
    "这是什么？",
    "他是谁？",
    "这件事是什么时候发生的？",
    "它在哪里？",
    "为什么要这样做？",
    "它是怎样工作的？",
    "一共有多少个？",
    "哪一个是最早的？",
    "这家公司是谁创办的？",
    "这个地方叫什么名字？",
    "这本书是哪一年出版的？",
    "两者之中哪一个更早？",
    "他们作出了什么决定？",
    "用了多长时间？",
    "这部电影的导演的父亲是谁？",
    "改变的原因是什么？",
    "这条河流经哪个国家？",
    "两种方法有什么区别？",
    "这座建筑是什么时候完工的？",
    "谁参加了会议？",
    "这个词是什么意思？",
    "她同意这个计划吗？",
    "要花多少钱？",
    "这首歌的作者在哪里出生？",
)
"""Questions about nothing in particular, as many in English as in Chinese."""

Vector = NDArray[np.float32]

_SUFFIX = ".question"


def ordinary_question(embedder: Embedder) -> Vector:
    """The mean vector of `QUESTIONS`. Raises what the embedder raises."""
    space = embedder.space
    path = _path(space.fingerprint)
    kept = _read(path, space.dimension)
    if kept is None:
        kept = embedder.embed(QUESTIONS, "query").mean(axis=0, dtype=np.float64).astype("<f4")
        _write(path, kept)
    return kept


def _path(fingerprint: str) -> Path:
    about = "\0".join((fingerprint, *QUESTIONS))
    return cache_dir() / "questions" / f"{hashlib.sha256(about.encode()).hexdigest()[:32]}{_SUFFIX}"


def _read(path: Path, dimension: int) -> Vector | None:
    """What is kept; None if there is nothing, or not what it should be."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) != 4 * dimension:
        return None
    vector: Vector = np.frombuffer(data, dtype="<f4")
    return vector if np.isfinite(vector).all() else None


def _write(path: Path, vector: Vector) -> None:
    """Keep it, if the disk lets us; else it is made again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(vector.tobytes())
        os.replace(name, path)
