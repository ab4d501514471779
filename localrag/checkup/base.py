"""What a check of this machine found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class CheckResult:
    """What one check found."""

    name: str
    """What was looked at, for people."""

    state: State
    """`ok`; `warn`: it works, but not as well as it could; `fail`: something will not work."""

    detail: str
    """What was found."""

    remedy: str = ""
    """What to do about it; empty if it is ok."""

    mend: str = ""
    """What can be offered to do: `repair` the knowledge base, bring `models`, `measure` again."""

    def to_json(self) -> dict[str, str]:
        """The result for programs."""
        return {key: value for key, value in asdict(self).items() if key != "mend"}
