"""What `index` says of the work ahead, of a budget, and of what is left when it is used up."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from localrag.cli import output
from localrag.errors import UsageError

if TYPE_CHECKING:
    from localrag.indexing import Budget, Estimate, IndexReport

MORE = "Summaries come on top."
"""Said where the settings want what an estimate does not hold: it is not known what will be summed up."""

_BASIS = {
    "readings": "as earlier readings in this file took",
    "machine": "by what was measured of this machine",
}


def budget_of(minutes: float | None, tokens: int | None, *, watch: bool, estimate: bool) -> Budget:
    """The budget that two options give. Raises `UsageError` for one that is none or fits nothing."""
    from localrag.indexing import Budget

    budget = Budget(minutes, tokens)
    if budget.limited and watch:
        raise UsageError("--watch has no end, so it takes no budget.", "Leave one of the two out.")
    if estimate and (budget.limited or watch):
        raise UsageError("--estimate does nothing, so it takes neither a budget nor --watch.")
    return budget


def in_words(estimate: Estimate) -> str:
    """An estimate in a sentence or two."""
    calls = output.number(estimate.calls, "call")
    if estimate.claim_chunks:
        calls += f", the claims of {output.number(estimate.claim_chunks, 'chunk')} among them"
    said = (
        f"Ahead: {calls}, about {_rounded(estimate.prompt_tokens)} tokens to read and "
        f"{_rounded(estimate.written_tokens)} to write"
    )
    if estimate.seconds is None:
        return f"{said}. How long it takes is not known until this machine is measured or chunks are read."
    return f"{said}; about {output.duration(estimate.seconds)}, {_BASIS[estimate.basis]}."


def as_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate for programs."""
    return asdict(estimate) | {"tokens": estimate.tokens}


def budget_end(report: IndexReport) -> str:
    """What is said when a budget ended the run."""
    what = "time" if report.reason == "minutes" else "tokens"
    are = "is" if what == "time" else "are"
    if not report.left:
        return f"The {what} {are} used up; all chunks are read, and the next run does what else is left."
    left = output.number(report.left, "chunk is", "chunks are")
    if not report.read and not report.failed:
        return f"The {what} {are} used up before a chunk was read; {left} left. The next run goes on."
    return f"The {what} {are} used up; {left} left. The same command goes on from here."


def _rounded(count: int) -> str:
    """A count to two digits: more would pretend to know them."""
    if count < 100:
        return str(count)
    scale: int = 10 ** (len(str(count)) - 2)
    return f"{round(count / scale) * scale:,}"
