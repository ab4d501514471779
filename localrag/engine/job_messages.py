"""Messages of a worker about its jobs: how they go, and the result of one that never ran."""

from __future__ import annotations

from collections.abc import Sequence

from localrag.engine.job import Job, JobRequest
from localrag.engine.prefixes import Prefix


def progress(
    jobs: Sequence[Job],
    waiting: int,
    rates: tuple[float, float],
    first: Job | None,
    prefix: Prefix | None,
) -> dict[str, object]:
    """How the `jobs` go that run, at these rates of reading and writing.

    `first` is the one with the highest priority, with its `prefix`; both are None if none runs.
    """
    total = done = 0
    if first is not None and prefix is not None:
        prompt = first.request.prompt
        total = len(prompt.shared) + len(prompt.own)
        # A job waits for its prefix before it has anything of its own.
        done = prefix.done if first.past < 0 else total - len(first.prompt_left)
    writing = any(not job.reading and job.past >= 0 for job in jobs)
    read, written = rates
    return {
        "event": "progress",
        "phase": "idle" if not jobs else "decode" if writing else "prefill",
        "running": len(jobs),
        "waiting": waiting,
        "prefill_rate": round(read, 1),
        "decode_rate": round(written, 1),
        "prompt_done": done,
        "prompt_total": total,
        "urgent": any(job.request.priority > 0 for job in jobs),
    }


def empty_result(request: JobRequest, finish: str, error: str, model: str) -> dict[str, object]:
    """The message for a request that never ran."""
    return {
        "event": "done",
        "id": request.id,
        "text": "",
        "segments": [],
        "finish": finish,
        "prompt_tokens": len(request.prompt.shared) + len(request.prompt.own),
        "shared_tokens": 0,
        "output_tokens": 0,
        "forced_tokens": 0,
        "milliseconds": 0,
        "model": model,
        "prompt_hash": "",
        "error": error,
    }
