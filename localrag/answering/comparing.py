"""Answers a question that compares two things from the answers about each of them.

The model says what each of them is; which is earlier, or whether they are the same, is not left to it. What
cannot be compared so is asked as a whole, as any question is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from localrag.answering.citations import joined
from localrag.answering.comparisons import Comparison, verdict
from localrag.answering.marks import reference_list
from localrag.answering.request import heading
from localrag.answering.stepping import Search, Stepping
from localrag.answering.types import Citation, Step

_SHORT = "short"
_LONGEST_FACT = 200


@dataclass(frozen=True)
class Compared:
    """The answer to a comparison."""

    text: str
    """Markdown: the body and its list of references."""

    citations: tuple[Citation, ...]
    """What it rests on, by their numbers."""

    steps: tuple[Step, ...]
    """The answer about each of the two, and what was looked up for them."""


class Comparing:
    """One comparison."""

    def __init__(self, stepping: Stepping, asked: Comparison, *, form: str, maximum: int) -> None:
        """`form` is the form of the answer; at most `maximum` references are listed."""
        self._stepping = stepping
        self._asked = asked
        self._form = form
        self._maximum = maximum
        self.result: Compared | None = None
        """The answer; None if the two could not be compared."""

    def run(self, search: Search) -> Iterator[Step]:
        """Ask about each of the two; gives each step before it is asked and with its answer."""
        stepping, sides, steps = self._stepping, [], []
        for question in self._asked.questions:
            before = len(stepping.steps)
            yield from stepping.run(question, search)
            yield Step(stepping.question)
            step = stepping.ask(stepping.question, search)
            if step is None:
                return
            yield step
            looked_up = stepping.steps[before:]
            steps += [*looked_up, step]
            sides.append((step, [citation for one in (step, *looked_up) for citation in one.citations]))
        said = verdict(self._asked, (sides[0][0].answer, sides[1][0].answer))
        if said:
            self.result = self._written(said, sides, tuple(steps))

    def _written(
        self, said: str, sides: list[tuple[Step, list[Citation]]], steps: tuple[Step, ...]
    ) -> Compared:
        cited = joined((), [citation for _, citations in sides for citation in citations], self._maximum)
        numbers = {citation.label: citation.number for citation in cited}

        def marks(*citations: Citation) -> str:
            places = sorted({numbers[each.label] for each in citations if each.label in numbers})
            return "".join(f"[{place}]" for place in places)

        chinese = self._asked.language == "zh"
        blank, stop, colon = ("", "。", "：") if chinese else (" ", ".", ": ")
        text = f"{said}{blank}{marks(*(each for _, citations in sides for each in citations))}{stop}"
        if self._form != _SHORT:
            for item, (step, citations) in zip(self._asked.items, sides, strict=True):
                fact = " ".join(step.answer.split())[:_LONGEST_FACT].rstrip(".。")
                text += f"{blank}{item}{colon}{fact}{blank}{marks(*citations)}{stop}"
        return Compared(text + reference_list(heading(self._asked.language), numbers), cited, steps)
