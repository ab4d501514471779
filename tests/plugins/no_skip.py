"""Pytest plugin: with LOCALRAG_NO_SKIP=1 a skipped test counts as failed and shows why it was skipped.

On a person's machine a test may be skipped because a program or a model is not there. Where all of them
have been installed, as in CI, a skip hides a hole. A reason that begins with `not here:` tells of something
that no installation changes, such as another operating system, and stays a skip.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

VARIABLE = "LOCALRAG_NO_SKIP"
EXEMPT = "not here:"


def forbidden(environment: dict[str, str] | os._Environ[str]) -> bool:
    """Whether skips are failures in this run."""
    return environment.get(VARIABLE, "") not in {"", "0"}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a module that is skipped as a whole into an error."""
    report = yield
    _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome != "skipped" or not forbidden(os.environ):
        return
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not reason.startswith(EXEMPT):
        report.outcome = "failed"
        report.longrepr = f"Skipped although {VARIABLE} is set: {reason}"
