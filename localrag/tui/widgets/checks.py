"""Checks of this machine in a list: each appears as it ends, with what was found and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from localrag.plain import plain
from localrag.tui.messages import call
from localrag.tui.screens.dialogs import Reader
from localrag.tui.widgets.lines import Column, LineList, Row, Toned
from localrag.tui.words import Fault, count
from localrag.tui.work import plain_lane

if TYPE_CHECKING:
    from localrag.checkup import CheckResult
    from localrag.tui.app import LocalragApp

Checks = Callable[[Callable[[str], None]], "Iterator[CheckResult]"]
"""Makes the results one after the other, in a working thread; its argument hears what takes long."""

WORDS = {"ok": "ok", "warn": "warning", "fail": "FAILED"}
_TONES = {"ok": "good", "warn": "busy", "fail": "bad"}


class ChecksPane(Vertical):
    """The list, and below it the whole of the check at the cursor."""

    HELP = """
    Each line is a check of something that localrag needs: **ok**, **warning** (it works, but not as well as
    it could) or **FAILED** (something will not work). Below stands what was found, and what to do about it.
    **enter** shows it in full, **r** checks again, **y** copies a report for others: it names no path, no
    address and no knowledge base of yours.
    """

    app: LocalragApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "check", "Check again", id="checks.again", tooltip="Run all checks again"),
        Binding("y", "copy", "Copy report", id="checks.copy", tooltip="Copy a report without private names"),
    ]

    class Ended(Message):
        """All checks have ended."""

        def __init__(self, results: tuple[CheckResult, ...]) -> None:
            super().__init__()
            self.results = results

    class Shown(Message):
        """Another check is at the cursor; None without any."""

        def __init__(self, result: CheckResult | None) -> None:
            super().__init__()
            self.result = result

    def __init__(self, checks: Checks) -> None:
        super().__init__(classes="checks")
        self._checks = checks
        self._run = 0
        self.results: list[CheckResult] = []
        """What has ended so far, in order."""
        self.running = False
        """Whether checks are going on."""

    def compose(self) -> ComposeResult:
        """How it stands, the list, the details."""
        yield Static("", classes="checks-state", markup=False)
        yield LineList(
            [
                Column("state", "State", 8, sorts=False),
                Column("name", "What", sorts=False, share=2),
                Column("found", "Found", sorts=False, share=5),
            ],
            classes="checks-list",
        )
        with VerticalScroll(classes="checks-details", can_focus=False):
            yield Static("", classes="checks-about", markup=False)

    @property
    def lines(self) -> LineList:
        """The list."""
        return self.query_one(LineList)

    @property
    def result(self) -> CheckResult | None:
        """The check at the cursor."""
        return self.results[self.lines.cursor] if self.lines.cursor < len(self.results) else None

    def action_check(self) -> None:
        """Run all checks, in a thread of their own."""
        if self.running:
            return
        self.running = True
        self._run += 1
        run, checks = self._run, self._checks
        self.results = []
        self._show_list()
        self._say("Checking")

        def job(_: None) -> None:
            for result in checks(lambda text: call(self, lambda: self._say(text))):
                # Bound now: the loop goes on before the call is made.
                call(self, lambda result=result: self._take(run, result))  # type: ignore[misc]
            call(self, self._end)

        lane = plain_lane("checks")
        lane.submit(job, lambda fault: call(self, lambda: self._fail(fault)))
        lane.submit(lambda _: lane.close(), lambda fault: None)

    def _take(self, run: int, result: CheckResult) -> None:
        if run == self._run:
            self.results.append(result)
            self._show_list()

    def _fail(self, fault: Fault) -> None:
        self.running = False
        self._say(fault.text)

    def _end(self) -> None:
        self.running = False
        self._say(summary(self.results))
        first = next((n for n, result in enumerate(self.results) if result.state != "ok"), None)
        if first is not None and self.lines.cursor == 0:
            self.lines.move_to(first)
        self.post_message(self.Ended(tuple(self.results)))

    def _show_list(self) -> None:
        rows = self.results
        self.lines.show(len(rows), lambda index: _cells(rows[index]))

    def _say(self, words: str) -> None:
        self.query_one(".checks-state", Static).update(Content(plain(words)))

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        result = self.result
        self.query_one(".checks-about", Static).update(Content(about(result)) if result else "")
        self.post_message(self.Shown(result))

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        event.stop()
        result = self.result
        if result is not None:
            self.app.push_screen(Reader(result.name, WORDS[result.state], about(result)))

    def action_copy(self) -> None:
        """Copy a report that can be sent to others."""
        from localrag import __version__
        from localrag.checkup.run import report

        private = [self.app.folder, *([self.app.session.path] if self.app.session else [])]
        self.app.copy_to_clipboard(report(__version__, self.results, private))
        self.notify("A report without paths, addresses and names of yours was copied.")


def summary(results: list[CheckResult]) -> str:
    """How it stands, in a sentence."""
    failed = sum(result.state == "fail" for result in results)
    warned = sum(result.state == "warn" for result in results)
    if not failed and not warned:
        return f"All is well: {count(len(results), 'check')} passed."
    parts = [count(failed, "failure")] if failed else []
    parts += [count(warned, "warning")] if warned else []
    return f"{' and '.join(parts)} in {count(len(results), 'check')}. The lines below say what to do."


def about(result: CheckResult) -> str:
    """A check in full."""
    remedy = f"\nWhat to do: {plain(result.remedy)}" if result.remedy else ""
    return f"{plain(result.name)}: {plain(result.detail)}{remedy}"


def _cells(result: CheckResult) -> Row:
    tone = _TONES[result.state]
    return [Toned(WORDS[result.state], tone), result.name, result.detail]  # type: ignore[arg-type]
