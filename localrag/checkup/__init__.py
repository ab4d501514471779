"""Looks at everything that localrag needs on this machine and says how to mend it."""

from localrag.checkup.base import CheckResult, State

__all__ = ["CheckResult", "State"]
