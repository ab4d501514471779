"""The conversation: all its turns, of which those near the one that is read are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from localrag.tui.turns import TurnRecord, without_references
from localrag.tui.widgets.answer_text import harmless_markdown
from localrag.tui.widgets.cited import CitationList, FoundList
from localrag.tui.widgets.turn import Turn
from localrag.tui.words import count

__all__ = [
    "CitationList",
    "Conversation",
    "FoundList",
    "Turn",
    "harmless_markdown",
    "without_references",
]

MOST_TURNS = 50
"""Turns that are drawn at once."""

AT_ONCE = 10
"""Turns that are drawn when a conversation is opened, and that come back at a time."""


class MoreLine(Static):
    """Says how many turns are not drawn; a click brings some back."""

    @dataclass
    class Chosen(Message):
        """Some are to come back."""

        earlier: bool
        """Whether those before, or those behind what is drawn."""

    def __init__(self, *, earlier: bool) -> None:
        super().__init__("", markup=False, classes="more")
        self._earlier = earlier

    def show(self, number: int) -> None:
        """Say how many there are; without any nothing is shown."""
        where = "earlier" if self._earlier else "later"
        self.update(
            f"{'▲' if self._earlier else '▼'} {count(number, f'{where} question')}: click, or scroll on"
        )
        self.display = number > 0

    def on_click(self, event: events.Click) -> None:
        """Bring some back."""
        event.stop()
        self.post_message(self.Chosen(self._earlier))


class Conversation(VerticalScroll, can_focus=False):
    """All turns, the newest at the bottom and in view."""

    HELP = """
    Scroll with the arrows, page up and page down. **tab** goes from one answer and its sources to the next.
    **ctrl+n** begins anew.
    """

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self.records: list[TurnRecord] = []
        """All turns, the oldest first."""
        self._first = 0
        """The first that is drawn."""
        self._end = 0
        """Behind the last that is."""
        self._moving = False
        self._held: Turn | None = None
        """The turn that stays at the top while what is around it is still being drawn."""
        self._holding = False

    def compose(self) -> ComposeResult:
        """Words of welcome until the first question."""
        yield Static("", id="welcome", markup=False)
        yield MoreLine(earlier=True)
        yield MoreLine(earlier=False)

    def on_mount(self) -> None:
        """Follow what is written."""
        self._say_more()
        self.watch(self, "virtual_size", self._changed, init=False)
        self.watch(self, "scroll_y", self._scrolled, init=False)

    def on_resize(self) -> None:
        """The space has changed, if not the contents."""
        self._changed()

    def _changed(self) -> None:
        self.call_after_refresh(self.follow)
        if self._held is not None:
            self.call_after_refresh(self._hold)

    def hold(self, turn: Turn) -> None:
        """Keep a turn at the top until somebody scrolls."""
        self.release_anchor()
        self._held = turn
        self.call_after_refresh(self._hold)

    def _hold(self) -> None:
        if self._held is not None and self._held.is_attached:
            self._holding = True
            self.scroll_to_widget(self._held, animate=False, top=True, force=True, immediate=True)
            self._holding = False

    def follow(self) -> None:
        """Keep the newest text in view once there is more than fits; whoever scrolls up stays there."""
        overflows = self.max_scroll_y > 0
        if overflows != self.is_anchored:
            self.anchor(overflows)
            if not overflows:
                self.scroll_home(animate=False)

    def welcome(self, words: str) -> None:
        """Say what can be done; shown while there is no question."""
        self.query_one("#welcome", Static).update(words)

    # Turns

    def record(self, number: int) -> TurnRecord | None:
        """What is known of a turn, drawn or not."""
        return next((record for record in reversed(self.records) if record.number == number), None)

    def turn(self, number: int) -> Turn | None:
        """The turn with a number, if it is drawn."""
        return next((turn for turn in self.query(Turn) if turn.number == number), None)

    async def begin(self, number: int, question: str) -> Turn:
        """Show a new question."""
        self._held = None
        await self.show_last()
        self.records.append(TurnRecord(number, question))
        for old in list(self.query(Turn))[: max(0, self._end - self._first - MOST_TURNS + 1)]:
            await old.remove()
            self._first += 1
        self._end = len(self.records)
        turn = Turn(self.records[-1])
        await self.mount(turn, before=self.query(MoreLine).last())
        self._say_more()
        self.anchor(self.max_scroll_y > 0)
        self.scroll_end(animate=False)
        return turn

    async def take_away(self, record: TurnRecord) -> None:
        """Forget a turn, since another one takes its place."""
        place = self.records.index(record)
        turn = self.turn(record.number)
        del self.records[place]
        self._first -= place < self._first
        self._end -= place < self._end
        if turn is not None:
            await turn.remove()
        self._say_more()

    async def open(self, records: Sequence[TurnRecord]) -> None:
        """Show another conversation, from its end."""
        self._moving, self._held = True, None
        await self.query(Turn).remove()
        self.records = list(records)
        self._first = self._end = 0
        await self.show_last()
        self.call_after_refresh(self._settled)

    def _settled(self) -> None:
        """From now on it is a person who scrolls."""
        self._moving = False

    async def clear(self) -> None:
        """Begin anew."""
        await self.open([])

    async def show_last(self) -> None:
        """Draw the newest turns, unless they are."""
        if self._end < len(self.records) or not self._end:
            await self.query(Turn).remove()
            self._end = len(self.records)
            self._first = max(0, self._end - AT_ONCE)
            await self._draw(self._first, self._end)
        self._say_more()
        self.call_after_refresh(self.scroll_end, animate=False)

    async def more(self, *, earlier: bool) -> None:
        """Draw some of those before, or behind, those that are; as many go at the other end if it is full."""
        if self._moving:
            return
        self._moving = True
        try:
            await (self._earlier() if earlier else self._later())
            self._say_more()
        finally:
            self._moving = False

    async def _earlier(self) -> None:
        first = max(0, self._first - AT_ONCE)
        if first == self._first:
            return
        stays = self.turn(self.records[self._first].number)
        await self._draw(first, self._first, before=stays)
        self._first = first
        while self._end - self._first > MOST_TURNS and self.records[self._end - 1].ended:
            await self._remove(self._end - 1)
            self._end -= 1
        if stays is not None:
            self.hold(stays)

    async def _later(self) -> None:
        end = min(len(self.records), self._end + AT_ONCE)
        await self._draw(self._end, end)
        self._end = end
        while self._end - self._first > MOST_TURNS:
            await self._remove(self._first)
            self._first += 1

    async def _draw(self, first: int, end: int, before: Turn | None = None) -> None:
        turns = [Turn(record) for record in self.records[first:end]]
        if turns:
            await self.mount_all(turns, before=before or self.query(MoreLine).last())

    async def _remove(self, place: int) -> None:
        turn = self.turn(self.records[place].number)
        if turn is not None:
            await turn.remove()

    def _say_more(self) -> None:
        self.query_one("#welcome").display = not self.records
        before, behind = self.query(MoreLine)
        before.show(self._first)
        behind.show(len(self.records) - self._end)

    def _scrolled(self, old: float, new: float) -> None:
        if self._moving or self._holding or old == new:
            return
        self._held = None
        if new <= 0 or new >= self.max_scroll_y:
            self.call_after_refresh(self._at_an_end)

    async def _at_an_end(self) -> None:
        """Draw more where somebody has scrolled to the end of what is drawn, and is still there."""
        if self.max_scroll_y <= 0:
            return
        if self.scroll_y <= 0 and self._first:
            await self.more(earlier=True)
        elif self.scroll_y >= self.max_scroll_y and self._end < len(self.records):
            await self.more(earlier=False)

    @on(MoreLine.Chosen)
    async def _more_chosen(self, event: MoreLine.Chosen) -> None:
        event.stop()
        await self.more(earlier=event.earlier)

    # Going from one to the other

    @on(Turn.Stepped)
    async def _stepped(self, event: Turn.Stepped) -> None:
        """Go to another turn, which is drawn if it is not."""
        event.stop()
        turns = list(self.query(Turn))
        place = turns.index(event.turn)
        if event.step == "last":
            await self.show_last()
        elif event.step == "first" and self._first:
            await self._from_the_beginning()
        elif event.step == "previous" and place == 0:
            await self.more(earlier=True)
        elif event.step == "next" and event.turn is turns[-1]:
            await self.more(earlier=False)
        turns = list(self.query(Turn))
        at = turns.index(event.turn) if event.turn in turns else 0
        goals = {"first": 0, "last": len(turns) - 1, "previous": at - 1, "next": at + 1}
        self.go_to(turns[max(0, min(goals[event.step], len(turns) - 1))])

    async def _from_the_beginning(self) -> None:
        await self.query(Turn).remove()
        self._first, self._end = 0, min(AT_ONCE, len(self.records))
        await self._draw(self._first, self._end)
        self._say_more()

    def go_to(self, turn: Turn) -> None:
        """Put the focus on a turn, with its question in view."""
        turn.focus(scroll_visible=False)
        self.hold(turn)
