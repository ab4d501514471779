"""The course of a job that weighs: names, then their types and what they may be joined with, then phrases.

Nothing that can be judged is written by the model. It reads what a line might begin with, and is taken back;
what it thinks of the tokens there decides. So a list has no order of the model's and no end of its own: each
name and each pair is judged for itself. Only where types or phrases are words of the model's own it writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from localrag.engine.decide import Move
from localrag.engine.judging import (
    chosen_names,
    chosen_pairs,
    chosen_phrases,
    chosen_types,
    name_numbers,
    name_odds,
    pair_numbers,
    pair_odds,
)
from localrag.engine.lean import BETWEEN, writable_name
from localrag.engine.listing import (
    ListedEntities,
    ListedRelations,
    Segment,
    arrow_head,
    entity_head,
    entity_segments,
    pair_head,
    relation_segments,
)
from localrag.engine.matching import Vocabulary
from localrag.engine.weighed_program import WeighedRecords, checked
from localrag.engine.weighing import Path, Weigher, telling
from localrag.engine.writing import Emit, Scores, Writer

if TYPE_CHECKING:
    from localrag.engine.job import Job

_END_TOKENS, _TYPE_TOKENS, _WORD_TOKENS = 3, 4, 3
"""Tokens that the end of a list, a type and a word of a phrase may take."""

Pair = tuple[int, int]
"""Places of two entities in the list."""


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
        """Nothing is pending afterwards: the scores at the prompt's end are the first that count.

        Raises `ConstraintError` for types or phrases that cannot stand on a line.
        """
        checked(program)
        self._job = job
        self._program = program
        self._vocabulary = vocabulary
        self._pieces = pieces
        self._emit = emit
        self._usable = [place for place, name in enumerate(program.names) if writable_name(name)]
        # A name that the budget cannot hold could not be listed either.
        self._heads = {
            place: head
            for place in self._usable
            if len(head := self._encoded(entity_head(program.names[place]))) <= job.request.max_tokens
        }
        self._firsts = {place: self._encoded(f" {program.names[place]}")[0] for place in self._heads}
        """The first token of each name behind an arrow."""
        self._types = telling([self._encoded(f" {type_}\n") for type_ in program.types])
        self._phrases = telling([self._encoded(f" {phrase}\n") for phrase in program.phrases])
        self._weighed = [
            place for place in self._heads if program.unlikely <= program.priors[place] < program.sure
        ]
        self._seen: set[int] = set()
        """Names whose types, and what may be joined with them, were weighed."""
        self._logs: dict[int, tuple[float, ...]] = {}
        self._type_logs: dict[int, tuple[float, ...]] = {}
        self._next_logs: dict[int, dict[int, float]] = {}
        self._neutral = self._encoded(entity_head(program.neutral)) if program.neutral else ()
        self._common: tuple[float, ...] = ()
        """The types behind the neutral word."""
        self._numbers: dict[int, tuple[float, ...]] = {}
        self._listed: list[int] = []
        self._shares: dict[Pair, float] = {}
        self._pair_numbers: dict[Pair, tuple[float, ...]] = {}
        self._pairs: list[Pair] = []
        self._writer: Writer | None = None
        self._listing = False
        """Whether the list of names is being written."""
        self._weigher = Weigher(self._name_paths())
        self._then: Callable[[], None] = self._names_weighed

    def feed(self, logits: Scores) -> None:
        """Take the scores at the current place and go on."""
        if self._writer is not None:
            self._writer.feed(logits)
            self._written()
            return
        weigher = self._weigher
        if not weigher.done:
            move = weigher.take(logits)
            if move is not None:
                self._go(move)
            if not weigher.done:
                return
        self._go(Move(weigher.leave, ()))
        self._then()

    def written(self) -> dict[str, Any]:
        """What the result says of the output; with `explain`, also all that was judged."""
        segments = [(name, data.decode("utf-8", "replace")) for name, data in self._job.output.segments]
        found: dict[str, Any] = {"text": "".join(text for _, text in segments), "segments": segments}
        if self._writer is not None:
            found = self._writer.written()
        if self._program.explain:
            pairs = [[*pair, *numbers] for pair, numbers in self._pair_numbers.items()]
            names = [[place, *numbers] for place, numbers in self._numbers.items()]
            found = {**found, "judged": {"names": names, "listed": self._listed, "pairs": pairs}}
        return found

    # Names.

    def _name_paths(self) -> list[Path]:
        """What is read to judge the names; of those that are likely, also what comes behind them."""
        paths = [self._heads[place] for place in self._weighed]
        if self._neutral:
            paths.extend((*self._neutral, *type_) for type_ in self._types)
        for place in self._weighed:
            if self._program.priors[place] >= self._program.eager:
                paths.extend(self._paths_behind(place))
        return paths

    def _paths_behind(self, place: int) -> list[Path]:
        """What may stand behind a name: its types, and the first tokens of what it may be joined with."""
        self._seen.add(place)
        head = self._heads[place]
        paths = [(*head, *type_) for type_ in self._types]
        if self._program.weigh_pairs:
            arrow = self._encoded(arrow_head(self._program.names[place]))
            paths += [(*arrow, token) for token in sorted(set(self._firsts.values()))]
        return paths

    def _names_weighed(self) -> None:
        for place in self._weighed:
            self._logs[place] = self._weigher.logs(self._heads[place])
            self._numbers[place] = name_numbers(self._program.priors[place], self._logs[place])
        self._keep(self._weigher, self._seen)
        if self._neutral:
            start = len(self._neutral)
            self._common = tuple(self._weigher.log((*self._neutral, *t), start) for t in self._types)
        self._list_names()

    def _list_names(self) -> None:
        """Judge the names, and read behind those that are listed what was not read yet."""
        program = self._program
        odds = {}
        for place in self._heads:
            if place in self._numbers:
                odds[place] = name_odds(program.name_weights, self._numbers[place])
            elif program.priors[place] >= program.sure:
                odds[place] = program.priors[place]
        self._listed = self._fitting_names(chosen_names(program, odds), odds)
        missing = [place for place in self._listed if place not in self._seen]
        self._begin([path for place in missing for path in self._paths_behind(place)], self._rest_weighed)

    def _rest_weighed(self) -> None:
        self._keep(self._weigher, [place for place in self._listed if place not in self._type_logs])
        names = [self._program.names[place] for place in self._listed]
        if not self._program.types:
            self._listing = True
            self._write(ListedEntities(names, self._program))
            return
        logs = [self._type_logs[place] for place in self._listed]
        types = chosen_types(self._program, logs, self._common)
        self._put(entity_segments(list(zip(names, types, strict=True))))
        self._judge_pairs()

    def _keep(self, weigher: Weigher, places: Sequence[int] | set[int]) -> None:
        """Note what was read behind names."""
        for place in places:
            head = self._heads[place]
            self._type_logs[place] = tuple(weigher.log((*head, *type_), len(head)) for type_ in self._types)
            if self._program.weigh_pairs:
                arrow = self._encoded(arrow_head(self._program.names[place]))
                self._next_logs[place] = {
                    token: weigher.log((*arrow, token), len(arrow)) for token in set(self._firsts.values())
                }

    # Pairs.

    def _judge_pairs(self) -> None:
        """Choose the pairs; where their phrases come from a list, weigh these."""
        program, listed = self._program, self._listed
        self._share()
        links = {(left, right): kind for left, right, kind in program.links}
        for left, right in combinations(range(len(listed)), 2):
            link = links.get((listed[left], listed[right]), "")
            self._pair_numbers[left, right] = pair_numbers(program, listed, (left, right), self._shares, link)
        odds = {
            pair: pair_odds(program.pair_weights, numbers) for pair, numbers in self._pair_numbers.items()
        }
        chosen = chosen_pairs(program, odds, self._shares, len(listed)) if program.max_relations > 0 else []
        self._pairs = self._fitting_pairs(chosen, odds)
        if program.phrases:
            paths = [path for pair in self._pairs for path in self._phrase_paths(pair)]
            self._begin(paths, self._phrases_weighed)
        elif program.writes_phrases:
            names = [program.names[place] for place in listed]
            self._write(ListedRelations([(names[a], names[b]) for a, b in self._pairs], program))
        else:
            self._put_relations([(*pair, "") for pair in self._pairs])

    def _share(self) -> None:
        """The logarithm of each entity's probability behind another and an arrow, among all others listed."""
        if not self._program.weigh_pairs:
            return
        for source, place in enumerate(self._listed):
            logs = {
                target: self._next_logs[place][self._firsts[other]]
                for target, other in enumerate(self._listed)
                if target != source
            }
            top = max(logs.values(), default=0.0)
            total = top + math.log(sum(math.exp(log - top) for log in logs.values())) if logs else 0.0
            self._shares.update({(source, target): log - total for target, log in logs.items()})

    def _phrase_head(self, pair: Pair) -> Path:
        source, target = (self._program.names[self._listed[end]] for end in pair)
        return self._encoded(pair_head(source, target))

    def _phrase_paths(self, pair: Pair) -> list[Path]:
        """Both directions of a pair, each with every phrase."""
        heads = [self._phrase_head(way) for way in _both_ways(pair)]
        return [(*head, *end) for head in heads for end in self._phrases]

    def _phrases_weighed(self) -> None:
        logs: dict[Pair, tuple[float, ...]] = {}
        for way in (way for pair in self._pairs for way in _both_ways(pair)):
            head = self._phrase_head(way)
            logs[way] = tuple(self._weigher.log((*head, *end), len(head)) for end in self._phrases)
        self._put_relations(chosen_phrases(self._program, self._pairs, logs))

    def _put_relations(self, relations: Sequence[tuple[int, int, str]]) -> None:
        names = [self._program.names[place] for place in self._listed]
        self._put(relation_segments([(names[a], names[b], phrase) for a, b, phrase in relations]))
        self._job.finish = "stop"

    # The budget.

    def _fitting_names(self, chosen: list[int], odds: Mapping[int, float]) -> list[int]:
        """The names whose lines fit into the budget, the likeliest first; all, if the model writes none."""
        if self._program.types:
            return chosen
        room = self._job.request.max_tokens - _END_TOKENS
        fitting = []
        for place in sorted(chosen, key=lambda place: (-odds[place], place)):
            room -= len(self._encoded(f"{self._program.names[place]}{BETWEEN}")) + _TYPE_TOKENS
            if room < 0:
                break
            fitting.append(place)
        return sorted(fitting)

    def _fitting_pairs(self, chosen: list[Pair], odds: Mapping[Pair, float]) -> list[Pair]:
        """The pairs whose lines fit into what is left, the likeliest first.

        Of lines that are only weighed each may take what there is.
        """
        program, output = self._program, self._job.output
        if not (program.writes_phrases or program.phrases):
            return chosen
        left = self._job.request.max_tokens - output.tokens - output.rolled_back
        phrase = 1 + program.phrase_words * _WORD_TOKENS
        if program.phrase_words == 1:
            phrase = 1 + program.word_chars
        costs = {pair: len(self._phrase_head(pair)) + 1 + phrase for pair in chosen}
        if program.phrases:
            return [pair for pair in chosen if costs[pair] <= left]
        room, fitting = left - _END_TOKENS, []
        for pair in sorted(chosen, key=lambda pair: (-odds[min(pair), max(pair)], pair)):
            room -= costs[pair]
            if room < 0:
                break
            fitting.append(pair)
        return sorted(fitting)

    def _encoded(self, text: str) -> Path:
        return tuple(self._vocabulary.encode(text))

    # Places.

    def _begin(self, paths: list[Path], then: Callable[[], None]) -> None:
        """Weigh more texts, whose first tokens nobody asks for."""
        self._weigher, self._then = Weigher(paths, root=False), then
        if self._weigher.done:
            then()
        else:
            self._go(self._weigher.begin())

    def _go(self, move: Move) -> None:
        """Take back the last tokens that were weighed, and read others."""
        job = self._job
        job.take_back(move.back)
        job.pending.extend(move.tokens)
        job.asks = max(self._weigher.asks, 1)
        job.output.weighed += len(move.tokens)

    # What is written.

    def _put(self, segments: Sequence[Segment]) -> None:
        """Lines that need no model."""
        for name, data in segments:
            self._job.output.segments.append((name, data))
            if self._job.request.stream:
                text = data.decode("utf-8", "replace")
                self._emit({"event": "text", "id": self._job.request.id, "segment": name, "text": text})

    def _write(self, driver: ListedEntities | ListedRelations) -> None:
        """Lines in which the model has a word."""
        self._job.asks = 1
        self._writer = Writer(self._job, self._vocabulary, self._pieces, self._emit, driver)
        self._written()

    def _written(self) -> None:
        """Go on with the pairs where the list of names has ended."""
        if self._listing and self._job.finish == "stop":
            self._listing = False
            self._job.finish = ""
            self._writer = None
            self._judge_pairs()


def _both_ways(pair: Pair) -> tuple[Pair, Pair]:
    return pair, (pair[1], pair[0])
