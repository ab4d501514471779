"""One open knowledge base behind the places: every call that can block, made in threads of its own.

Lanes work side by side, each with its own `KnowledgeBase` on the same file: watching the state, looking
things up for a place, changing, asking, adding and indexing. They share one set of engines. What they have
to tell goes out as messages, or to the place that asked.

The modules that do the work bring NumPy and more, so they are imported inside the jobs: the first paint
does not wait for them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

from localrag.plain import plain
from localrag.settings import Settings
from localrag.tui.additions import Additions
from localrag.tui.index_run import IndexRun
from localrag.tui.messages import (
    Changed,
    IndexNote,
    ModelsChanged,
    Opened,
    OpenFailed,
    Refreshed,
    WentWrong,
    call,
)
from localrag.tui.questions import Questions
from localrag.tui.words import Fault
from localrag.tui.work import Lane, in_background

if TYPE_CHECKING:
    from localrag.engines import Engines
    from localrag.kb import KnowledgeBase

T = TypeVar("T")


class SharedEngines:
    """The engines of this run, made when a thread first needs them and closed once."""

    def __init__(self, settings: Settings, engines: Engines | None = None) -> None:
        self._settings = settings
        self._engines = engines
        self._given = engines is not None
        self._lock = threading.Lock()

    def get(self) -> Engines:
        """The engines; safe from any thread, and starts no model."""
        with self._lock:
            if self._engines is None:
                from localrag.engines import Engines

                self._engines = Engines(self._settings)
            return self._engines

    def take(self, settings: Settings) -> None:
        """Use other settings: the engines are made anew where models are started with them; may block."""
        with self._lock:
            before, self._settings = self._settings, settings
            parts = ("models", "engine", "remote")
            same = all(getattr(before, part) == getattr(settings, part) for part in parts)
            if self._given or self._engines is None or same:
                return
            old, self._engines = self._engines, None
        old.close()

    def close(self) -> None:
        """Stop what runs; may block."""
        with self._lock:
            engines = self._engines
        if engines is not None:
            engines.close()


class Session:
    """An open knowledge base. Its methods return at once; what comes of them is posted from any thread."""

    def __init__(
        self,
        path: Path,
        settings: Settings,
        engines: SharedEngines,
        *,
        create: bool = False,
    ) -> None:
        self.path = path
        self.settings = settings
        self._engines = engines
        self._post: Callable[[Message], None] = lambda message: None
        self._refreshing = False
        self._leaving = threading.Event()
        self._closed = False
        self._asked_for: dict[str, int] = {}
        self._watch = self._lane("watch", create=create)
        self._look = self._lane("look")
        self._change = self._lane("change")
        self.questions = Questions(self._lane("ask"), self._tell)
        """Asks, one question at a time."""
        self.additions = Additions(self._lane("add"), self._tell, self._leaving)
        """Adds files."""
        self.index_run = IndexRun(self._lane("index"), self._tell, lambda: self.settings)
        """Lets the model read."""

    def open(self, post: Callable[[Message], None]) -> None:
        """Open the file, or create it; ends with `Opened` or `OpenFailed`.

        From now on `post` gets all messages; it must be safe to call from any thread.
        """
        self._post = post

        def job(kb: KnowledgeBase) -> None:
            self._post(Opened(kb.status(), self._missing()))

        self._watch.submit(job, lambda fault: self._post(OpenFailed(fault)))

    def refresh(self) -> None:
        """Read the state anew, unless that is under way; ends with `Refreshed`."""
        if self._refreshing:
            return
        self._refreshing = True

        def job(kb: KnowledgeBase) -> None:
            status = kb.status()
            self._refreshing = False
            self._post(Refreshed(status))

        def on_fault(fault: Fault) -> None:
            self._refreshing = False
            self._post(WentWrong(fault))

        self._watch.submit(job, on_fault)

    def look_for_models(self) -> None:
        """Look anew whether a model can answer; ends with `ModelsChanged`."""

        def job(_: KnowledgeBase) -> None:
            self._post(ModelsChanged(self._missing()))

        self._watch.submit(job, lambda fault: self._post(WentWrong(fault)))

    def look(
        self,
        target: MessagePump,
        job: Callable[[KnowledgeBase], T],
        done: Callable[[T], object],
        failed: Callable[[Fault], object] | None = None,
        *,
        key: str = "",
    ) -> None:
        """Read something in a thread and give it to `done` in the thread of `target`, a screen or widget.

        `job` may only read. A newer call with the same `key` replaces an older one whose result has not
        come yet, so that typing never works through stale searches. Without `failed` a fault is shown as
        a notification. Nothing is called once the target has gone.
        """
        self._submit(self._look, target, job, done, failed, key)

    def change(
        self,
        target: MessagePump,
        job: Callable[[KnowledgeBase], T],
        done: Callable[[T], object],
        failed: Callable[[Fault], object] | None = None,
    ) -> None:
        """Like `look` for a job that writes; afterwards every place is told, and the state read anew."""

        def change(kb: KnowledgeBase) -> T:
            result = job(kb)
            self._post(Changed())
            self.refresh()
            return result

        self._submit(self._change, target, change, done, failed, "")

    def consult(
        self,
        target: MessagePump,
        job: Callable[[KnowledgeBase], T],
        done: Callable[[T], object],
        failed: Callable[[Fault], object] | None = None,
    ) -> None:
        """Like `look` for a job that needs the model: it waits for the question in hand."""
        self._submit(self.questions.lane, target, job, done, failed, "")

    def take_settings(self, settings: Settings) -> bool:
        """Use other settings from the next use on; false if models must stay as they are, since work goes on.

        Each lane opens the file anew before its next job, so that what runs ends with what it began with.
        """
        idle = not (self.questions.active or self.index_run.active or self.additions.active)
        self.settings = settings
        lanes = (
            self.questions.lane,
            self.additions.lane,
            self.index_run.lane,
            self._look,
            self._change,
            self._watch,
        )

        def renew() -> None:
            for lane in lanes:
                lane.renew()

        def take(_: KnowledgeBase) -> None:
            self._engines.take(settings)
            renew()

        if idle:
            self._change.submit(take, lambda fault: self._post(WentWrong(fault)))
        else:
            renew()
        return idle

    def close(self, seconds: float, *, with_engines: bool = True) -> bool:
        """Stop everything and close the file; blocks for at most about `seconds`. Whether all has ended.

        The engine is stopped when the lanes have ended or half of the time is over: a call that did not
        come back until then fails, and its thread ends with it. A second call does not wait again.
        """
        working = (self.questions.lane, self.additions.lane, self.index_run.lane, self._change, self._look)
        if self._closed:
            return all([lane.join(0.0) for lane in (*working, self._watch)])
        deadline = time.monotonic() + seconds
        self._leaving.set()
        self.questions.stop()
        self.index_run.stop()
        for lane in working:
            lane.close()
        for lane in working:
            lane.join(deadline - seconds / 2)
        if with_engines:
            in_background(self._engines.close).join(max(0.0, deadline - time.monotonic()))
        # The lane that watches goes last, since the last connection tidies the file up.
        self._watch.close()
        ended = all([lane.join(deadline) for lane in (*working, self._watch)])
        self._closed = True
        return ended

    def _submit(
        self,
        lane: Lane[KnowledgeBase],
        target: MessagePump,
        job: Callable[[KnowledgeBase], T],
        done: Callable[[T], object],
        failed: Callable[[Fault], object] | None,
        key: str,
    ) -> None:
        number = self._asked_for[key] = self._asked_for.get(key, 0) + 1

        def stale() -> bool:
            return bool(key) and self._asked_for[key] != number

        def tell(callback: Callable[[T], object], value: T) -> None:
            call(target, lambda: None if stale() else callback(value))

        def work(kb: KnowledgeBase) -> None:
            if not stale():
                tell(done, job(kb))

        def on_fault(fault: Fault) -> None:
            if failed is not None:
                call(target, lambda: None if stale() else failed(fault))
            else:
                self._post(WentWrong(fault))

        lane.submit(work, on_fault)

    def _tell(self, message: Message) -> None:
        """Post by whatever `open` was given; the runs are made before that."""
        self._post(message)

    def _lane(self, name: str, *, create: bool = False) -> Lane[KnowledgeBase]:
        def acquire() -> KnowledgeBase:
            from localrag.kb import KnowledgeBase

            make = KnowledgeBase.create if create else KnowledgeBase.open
            kb = make(self.path, settings=self.settings, engines=self._engines.get())
            if name == "watch":
                # The others open the same file and would say the same.
                for note in kb.notes:
                    self._post(IndexNote(plain(note)))
            return kb

        return Lane(name, acquire, lambda kb: kb.close())

    def _missing(self) -> Fault | None:
        """What stands in the way of an answer, found without starting a model."""
        if not self._engines.get().has_model():
            return Fault(
                "No chat model is installed, so questions cannot be answered yet.",
                "Press f7 to see which model suits this machine.",
            )
        return None
