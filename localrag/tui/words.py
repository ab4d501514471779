"""What the application says: states, counts, rates and times in words; nothing here touches a widget."""

from __future__ import annotations

from dataclasses import dataclass

IDLE = "Engine idle"
_MINUTE = 60
_HOUR = 3600
_KILO = 1024


@dataclass(frozen=True)
class Fault:
    """Something that went wrong, ready to be shown."""

    message: str
    """One sentence."""

    hint: str = ""
    """What to do next; may be empty."""

    @property
    def text(self) -> str:
        """Both, on two lines."""
        return f"{self.message}\n{self.hint}".strip()


@dataclass(frozen=True)
class IndexState:
    """How far an index run is."""

    read: int = 0
    """Chunks read so far in this knowledge base."""

    total: int = 0
    """Chunks in this knowledge base; 0 while it is not known."""

    rate: float = 0.0
    """Tokens per second, 0 while unknown."""

    seconds_left: float | None = None
    """Time left, None while it cannot be told."""

    doing: str = ""
    """Words that go before the numbers, for a stage without chunks."""

    paused: bool = False
    """Whether it stands still because a person wants that."""

    stands: bool = False
    """Whether it stands still while a question is answered."""


def count(number: int, one: str, many: str = "") -> str:
    """`1 document`, `12 documents`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """A rough time: `8 s`, `3 min`, `2 h 10 min`."""
    whole = max(0, round(seconds))
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{round(whole / _MINUTE)} min"
    hours, rest = divmod(round(whole / _MINUTE), _MINUTE)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def size(number: int) -> str:
    """A file size: `4 KB`, `2.1 MB`."""
    value = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if value < _KILO or unit == "GB":
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= _KILO
    raise AssertionError("unreachable")


def share(read: int, total: int) -> str:
    """How much was read: `40 % read`; never 100 % before all is, never 0 % after something is."""
    if total <= 0:
        return "nothing to read"
    percent = round(100 * read / total)
    percent = min(percent, 99) if read < total else 100
    return f"{max(percent, 1) if read else 0} % read"


def document_state(status: str, read: int, failed: int, chunks: int) -> str:
    """The word for a document's state."""
    return "reading" if status == "waiting" and 0 < read + failed < chunks else status


def index_words(state: IndexState) -> str:
    """An index run in one line."""
    parts = [state.doing or f"Reading: {state.read:,} of {state.total:,} chunks"]
    if state.paused or state.stands:
        why = "paused" if state.paused else "waits for the answer"
        return " · ".join(("Index " + why, *parts))
    if state.rate:
        parts.append(f"{state.rate:.0f} tokens/s")
    if state.seconds_left is not None:
        parts.append(f"{duration(state.seconds_left)} left")
    return " · ".join(parts)


def engine_words(asking: str, index: IndexState | None, stopping: str = "", adding: str = "") -> str:
    """What the engine does, for the status line. `asking` is empty while no question is open."""
    parts = [asking] if asking else []
    if stopping:
        parts.append(stopping)
    elif index is not None:
        parts.append(index_words(index))
    if adding:
        parts.append(adding)
    return " │ ".join(parts) if parts else IDLE
