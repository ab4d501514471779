"""The course of a job that weighs: names, then their types, then pairs, then a phrase for each.

What is weighed is read and taken back; what is listed is written, forced but for types and phrases. So the
list has no order of the model's and no end of its own: each name and each pair is judged for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from localrag.engine.decide import Decider
from localrag.engine.judging import (
    chosen_names,
    chosen_pairs,
    name_numbers,
    name_odds,
    pair_numbers,
    pair_odds,
)
from localrag.engine.lean import (
    ARROW,
    BETWEEN,
    END,
    ENTITY,
    MARK,
    RELATIONSHIP,
    values_terminal,
    writable_name,
)
from localrag.engine.matching import Vocabulary
from localrag.engine.steps import PlainSegments, Step, literal
from localrag.engine.weighed_program import WeighedRecords
from localrag.engine.weighing import Weigher
from localrag.engine.writing import Emit, Scores, Writer

if TYPE_CHECKING:
    from localrag.engine.job import Job

_END_TOKENS, _TYPE_TOKENS, _WORD_TOKENS = 3, 4, 3
"""Tokens that the end of a list, a type and a word of a phrase may take."""

_CLOSER = BETWEEN.rstrip()
"""What ends a name on its line, as far as no type has begun."""


class Weighing:
    """Drives one job under `WeighedRecords`."""

    def __init__(
        self,
        job: Job,
        program: WeighedRecords,
        vocabulary: Vocabulary,
        pieces: Callable[[int], bytes],
        emit: Emit,
    ) -> None:
        """Nothing is pending afterwards, unless no name needs weighing."""
        self._job = job
        self._program = program
        self._vocabulary = vocabulary
        self._pieces = pieces
        self._emit = emit
        self._usable = [place for place, name in enumerate(program.names) if writable_name(name)]
        self._paths = {
            place: tuple(vocabulary.encode(program.names[place] + _CLOSER))
            for place in self._usable
            if program.unlikely <= program.priors[place] < program.sure
        }
        # A name that the budget cannot hold could not be listed either.
        self._paths = {
            place: path for place, path in self._paths.items() if len(path) <= job.request.max_tokens
        }
        self._numbers: dict[int, tuple[float, ...]] = {}
        self._listed: list[int] = []
        self._shares: dict[tuple[int, int], float] = {}
        self._pair_numbers: dict[tuple[int, int], tuple[float, ...]] = {}
        self._source = -1
        self._decider: Decider | None = None
        self._writer: Writer | None = None
        self._last: int | None = None
        """The last token of the entities' list."""
        self._names: Weigher | None = Weigher(list(self._paths.values()))
        if not self._paths:
            self._list_names()

    def feed(self, logits: Scores) -> None:
        """Take the scores at the current place and go on."""
        if self._names is not None:
            self._weigh_name(self._names, logits)
        elif self._decider is not None:
            self._weigh_pair(self._decider, logits)
        elif self._writer is not None:
            self._writer.feed(logits)
            self._after_names(self._writer)

    def written(self) -> dict[str, Any]:
        """What the result says of the output; with `explain`, also all that was judged."""
        found = {"text": "", "segments": []} if self._writer is None else self._writer.written()
        if self._program.explain:
            pairs = [[*pair, *numbers] for pair, numbers in self._pair_numbers.items()]
            names = [[place, *numbers] for place, numbers in self._numbers.items()]
            found = {**found, "judged": {"names": names, "listed": self._listed, "pairs": pairs}}
        return found

    # Names.

    def _weigh_name(self, weigher: Weigher, logits: Scores) -> None:
        move = weigher.take(logits)
        if move is not None:
            self._go(move.back, move.tokens)
            return
        for place, path in self._paths.items():
            self._numbers[place] = name_numbers(self._program.priors[place], weigher.logs(path))
        self._go(weigher.leave, ())
        self._list_names()
        self._read_again(None)

    def _list_names(self) -> None:
        """Judge the names and begin to write those that are listed."""
        program = self._program
        odds = {}
        for place in self._usable:
            if place in self._numbers:
                odds[place] = name_odds(program.name_weights, self._numbers[place])
            elif program.priors[place] >= program.sure:
                odds[place] = program.priors[place]
        self._listed = self._fitting_names(chosen_names(program, odds), odds)
        self._names = None
        driver = ListedEntities([program.names[place] for place in self._listed], program)
        self._writer = Writer(self._job, self._vocabulary, self._pieces, self._emit, driver)
        self._after_names(self._writer)

    def _after_names(self, writer: Writer) -> None:
        """Go on with the pairs where the list of names has ended."""
        if self._job.finish == "stop" and self._source < 0:
            self._job.finish = ""
            self._last = writer.last_token
            self._next_source()

    # Pairs.

    def _next_source(self) -> None:
        """Weigh what the next entity may be joined with; after the last, write the pairs."""
        listed = len(self._listed)
        self._source += 1
        if self._source >= listed or listed < 2 or self._program.max_relations < 1:
            self._list_pairs()
            return
        if listed == 2:
            # With one other entity there is nothing to choose between.
            self._shares = {(0, 1): 0.0, (1, 0): 0.0}
            self._list_pairs()
            return
        names = [self._program.names[place] for place in self._listed]
        head = f"{names[self._source]}{ARROW} "
        options = [f"{head}{name}{_CLOSER}" for place, name in enumerate(names) if place != self._source]
        self._decider = Decider(options, self._vocabulary.encode)
        self._go(0, self._decider.common)

    def _weigh_pair(self, decider: Decider, logits: Scores) -> None:
        move = decider.take(logits)
        if move is not None:
            self._go(move.back, move.tokens)
            return
        probabilities, _ = decider.probabilities()
        others = [place for place in range(len(self._listed)) if place != self._source]
        for other, probability in zip(others, probabilities, strict=True):
            self._shares[self._source, other] = math.log(max(probability, 1e-12))
        self._decider = None
        self._go(decider.reached, ())
        self._next_source()
        if self._decider is None:
            self._read_again(self._last)

    def _list_pairs(self) -> None:
        """Judge the pairs and begin to write those that are listed."""
        program, listed = self._program, self._listed
        sentences = [program.sentences[place] for place in listed]
        links = {(left, right): kind for left, right, kind in program.links}
        self._pair_numbers = {
            (left, right): pair_numbers(
                left, right, self._shares, sentences, links.get((listed[left], listed[right]), "")
            )
            for left in range(len(listed))
            for right in range(left + 1, len(listed))
        }
        odds = {
            pair: pair_odds(program.pair_weights, numbers) for pair, numbers in self._pair_numbers.items()
        }
        names = [program.names[place] for place in listed]
        chosen = chosen_pairs(program, odds, self._shares, len(names)) if program.max_relations > 0 else []
        chosen = self._fitting_pairs(chosen, odds)
        self._source = max(self._source, 0)
        driver = ListedRelations([(names[left], names[right]) for left, right in chosen], program)
        self._writer = Writer(self._job, self._vocabulary, self._pieces, self._emit, driver)

    # The budget.

    def _fitting_names(self, chosen: list[int], odds: Mapping[int, float]) -> list[int]:
        """The names whose lines fit into the budget, the likeliest first."""
        room = self._job.request.max_tokens - _END_TOKENS
        fitting = []
        for place in sorted(chosen, key=lambda place: (-odds[place], place)):
            room -= self._cost(f"{self._program.names[place]}{BETWEEN}") + _TYPE_TOKENS
            if room < 0:
                break
            fitting.append(place)
        return sorted(fitting)

    def _fitting_pairs(
        self, chosen: list[tuple[int, int]], odds: Mapping[tuple[int, int], float]
    ) -> list[tuple[int, int]]:
        """The pairs whose lines fit into what is left, the likeliest first."""
        names = [self._program.names[place] for place in self._listed]
        output = self._job.output
        room = self._job.request.max_tokens - output.tokens - output.rolled_back - _END_TOKENS
        phrase = 1 + self._program.phrase_words * _WORD_TOKENS
        if self._program.phrase_words == 1:
            phrase = 1 + self._program.word_chars
        fitting = []
        for left, right in sorted(chosen, key=lambda pair: (-odds[min(pair), max(pair)], pair)):
            room -= self._cost(f"{names[left]}{ARROW} {names[right]}{BETWEEN}") + phrase
            if room < 0:
                break
            fitting.append((left, right))
        return sorted(fitting)

    def _cost(self, text: str) -> int:
        return len(self._vocabulary.encode(text))

    # Places.

    def _go(self, back: int, tokens: Sequence[int]) -> None:
        """Take back the last tokens that were weighed, and read others."""
        self._job.take_back(back)
        self._job.pending.extend(tokens)
        self._job.output.weighed += len(tokens)

    def _read_again(self, token: int | None) -> None:
        """Where nothing is forced behind what was taken back, the scores there are needed once more."""
        if not (self._job.finish or self._job.pending):
            self._job.read_again(token)


class ListedEntities(PlainSegments):
    """One line for each name; the model chooses the type."""

    def __init__(self, names: Sequence[str], program: WeighedRecords) -> None:
        self._left = list(names)
        self._types = values_terminal(program.types, program.type_words, program.type_chars)

    def first(self) -> Step:
        """The first name, or the end of an empty list."""
        if not self._left:
            return Step(MARK, f"start: {literal(END + chr(10))}\n")
        name = literal(f"{self._left.pop(0)}{BETWEEN}")
        return Step(ENTITY, f"start: NAME TYPE\nNAME: {name}\nTYPE: {self._types}\n")

    def following(self, text: str) -> Step | None:
        """The next name; nothing behind the end of the list."""
        return None if text == END + "\n" else self.first()


class ListedRelations(PlainSegments):
    """One line for each pair; the model writes, or chooses, what joins it."""

    def __init__(self, pairs: Sequence[tuple[str, str]], program: WeighedRecords) -> None:
        self._left = list(pairs)
        self._phrases = values_terminal(program.phrases, program.phrase_words, program.word_chars)

    def first(self) -> Step:
        """The first pair, or the end of an empty list."""
        if not self._left:
            return Step(MARK, f"start: {literal(END)}\n")
        source, target = self._left.pop(0)
        names = literal(f"{source}{ARROW} {target}{BETWEEN}")
        return Step(RELATIONSHIP, f"start: NAMES PHRASE\nNAMES: {names}\nPHRASE: {self._phrases}\n")

    def following(self, text: str) -> Step | None:
        """The next pair; nothing behind the end of the list."""
        return None if text == END else self.first()
