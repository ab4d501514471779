"""The two ways in which the set-up ends early."""

from __future__ import annotations

from pathlib import Path


class SetupError(Exception):
    """The set-up cannot go on: a sentence for a person, and what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class CommandFailed(SetupError):
    """A program that the set-up ran has failed."""

    def __init__(self, what: str, returncode: int, log: Path, tail: list[str]) -> None:
        super().__init__(f"{what} failed (exit code {returncode}).")
        self.what = what
        self.returncode = returncode
        self.log = log
        self.tail = tail


class Stopped(BaseException):
    """The person, or the system on the person's behalf, stopped the set-up with a signal."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number
