"""Tells which sources a statement rests on, by what can be compared: words, names, numbers, times.

A small model seldom writes marks, and where it is made to, mostly names the first sources, whatever it used.
What it used can be seen: what the statement says stands there. Since an answer is often one word, what the
question says counts too, at half the weight: the first source holds the answer, the next one what leads from
the question to it. Such sources name each other, which speaks for a further one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import PurePosixPath

from localrag.answering.particulars import LONGEST, Ground, Particulars, is_wide, particulars
from localrag.retrieval.context import Source
from localrag.retrieval.types import EntityHit, Passage

ASKED = 0.5
"""Weight of what the question says, beside 1 of what the statement says."""

PARTICULAR = 1.0
"""Weight of a name, a number or a time, beside that of its words."""

LINKED = 0.5
"""What a further source gains where it names one that was chosen, or is named by it."""

LEAST_NEW = 0.25
"""A further source must add this share of what the sources explain."""

LEAST_LISTED = 0.5
"""A source that the model names itself counts if it explains this share of what the best one does."""

PASSAGE_BONUS = 1.25
"""A passage is the text itself, so it goes before an entity or a relation that explains hardly more."""

_BRACKETS = re.compile(r"\s*[（(][^()（）]*[）)]")
_LEAST_TITLE = 3

Term = tuple[str, str]
"""What can be found in a source: its kind, and how it is written."""

Has = Callable[[Ground], bool]


class Support:
    """The sources of one answer, prepared to be compared with its statements."""

    def __init__(self, question: str, sources: Sequence[Source]) -> None:
        self._asked = particulars(question)
        self._sources = {source.number: source for source in sources}
        self._joined: dict[tuple[int, ...], Ground] = {}
        self._settled: set[Term] = set()

    @cached_property
    def _grounds(self) -> Mapping[int, Ground]:
        """The texts, prepared when the first sentence is complete: the first word need not wait for that."""
        return {number: Ground(text_of(source)) for number, source in self._sources.items()}

    @property
    def asked_names(self) -> tuple[str, ...]:
        """Names in the question."""
        return self._asked.names

    def knows(self, number: int) -> bool:
        """Whether there is such a source."""
        return number in self._sources

    def ground(self, numbers: Sequence[int]) -> Ground:
        """The texts of some sources as one."""
        key = tuple(sorted(set(numbers)))
        if len(key) == 1:
            return self._grounds[key[0]]
        if key not in self._joined:
            self._joined[key] = Ground("\n\n".join(self._grounds[number].text for number in key))
        return self._joined[key]

    def resting_on(self, statement: Particulars, voted: Sequence[int] = ()) -> list[int]:
        """Numbers of the sources that a statement rests on, the one that explains most first.

        `voted` are the numbers that the model named itself. They are added where the source explains much of
        the statement; where nothing can be compared, as in another script, they are the result.
        """
        votes = [number for number in dict.fromkeys(voted) if self.knows(number)]
        found = self._explained(statement)
        weights = found.weights
        if not weights or not self._tells(statement, found.held):
            return votes
        chosen = self._covering(found.held, weights)
        best = _weight(found.held[chosen[0]], weights)
        least = LEAST_LISTED * best
        return chosen + [n for n in votes if n not in chosen and _weight(found.held[n], weights) >= least]

    def accepts(self, statement: Particulars, number: int) -> bool:
        """Whether a source that the model names behind a part of a sentence can be meant."""
        return self.knows(number) and number in self.resting_on(statement, [number])

    def reads(self, statement: Particulars) -> bool:
        """Whether some source is written in the statement's kind of script, so that words can be compared."""
        wide = is_wide(statement.text)
        return any(ground.is_wide == wide for ground in self._grounds.values())

    def settle(self, numbers: Sequence[int]) -> None:
        """What of the question these sources explain is cited; the next statement need not cite it again."""
        for term, has in _terms(self._asked):
            if any(has(self._grounds[number]) for number in numbers):
                self._settled.add(term)

    def _tells(self, statement: Particulars, held: Mapping[int, set[Term]]) -> bool:
        """Whether some source has anything of the statement; a bare yes or no says only what was asked."""
        own = {term for term, _ in _terms(statement)}
        return not own or any(not own.isdisjoint(terms) for terms in held.values())

    def _explained(self, statement: Particulars) -> _Explained:
        """What of statement and question each source holds. What few sources have says more."""
        weights: dict[Term, float] = {}
        held: dict[int, set[Term]] = {number: set() for number in self._grounds}
        wanted = [(term, has, 1.0) for term, has in _terms(statement)]
        own = {term for term, _, _ in wanted}
        wanted += [
            (term, has, ASKED)
            for term, has in _terms(self._asked)
            if term not in own and term not in self._settled
        ]
        for term, has, share in wanted:
            having = [number for number, ground in self._grounds.items() if has(ground)]
            if having:
                kind = 1.0 if term[0] == "word" else PARTICULAR
                weights[term] = share * kind * math.log1p(len(held) / len(having))
            for number in having:
                held[number].add(term)
        return _Explained(weights, held)

    def _covering(self, held: Mapping[int, set[Term]], weights: Mapping[Term, float]) -> list[int]:
        """Sources chosen one after the other, each for what those before leave unexplained."""
        total = sum(weights.values())
        left = set(weights)
        chosen: list[int] = []
        while left and len(chosen) < len(held):
            gains = {
                number: _weight(known & left, weights) * self._bonus(number, chosen)
                for number, known in held.items()
                if number not in chosen
            }
            number = max(gains, key=lambda n: (gains[n], -n))
            if gains[number] <= 0 or (chosen and gains[number] < LEAST_NEW * total):
                break
            chosen.append(number)
            left -= held[number]
        return chosen

    def _bonus(self, number: int, chosen: Sequence[int]) -> float:
        passage = PASSAGE_BONUS if self._is_passage(number) else 1.0
        return passage * (1 + LINKED * any((number, other) in self._links for other in chosen))

    def _is_passage(self, number: int) -> bool:
        return isinstance(self._sources[number].item, Passage)

    @cached_property
    def _links(self) -> set[tuple[int, int]]:
        """Pairs of sources of which one names the other's subject."""
        found: set[tuple[int, int]] = set()
        for number, source in self._sources.items():
            for name in _subjects(source):
                for other, ground in self._grounds.items():
                    if other != number and ground.has_name(name):
                        found.update(((number, other), (other, number)))
        return found


class _Explained:
    """What sources hold of what is looked for."""

    def __init__(self, weights: dict[Term, float], held: dict[int, set[Term]]) -> None:
        self.weights = weights
        self.held = held


def _terms(found: Particulars) -> Iterator[tuple[Term, Has]]:
    """All that can be compared, each with the test whether a text holds it."""
    for word in sorted(found.words):
        yield ("word", word), partial(_has_word, word)
    for name in found.names:
        yield ("name", name), partial(Ground.has_name, name=name)
    for item in found.numbers:
        yield ("number", item.text), partial(Ground.has_number, amount=item)
    for text, time in found.times:
        yield ("time", text), partial(Ground.has_time, text=text, wanted=time)


def _has_word(word: str, ground: Ground) -> bool:
    return word in ground.words


def _weight(terms: set[Term], weights: Mapping[Term, float]) -> float:
    return sum(weights[term] for term in terms if term in weights)


def _subjects(source: Source) -> Iterator[str]:
    """What a source is about: its nearest heading, the name of its file, an entity, a relation's ends."""
    item = source.item
    if isinstance(item, Passage):
        names = [item.heading.rpartition(" › ")[2], PurePosixPath(item.document).stem]
    elif isinstance(item, EntityHit):
        names = [item.name]
    else:
        names = [item.source, item.target]
    for name in names:
        bare = _BRACKETS.sub("", name).strip()
        if len(bare) >= _LEAST_TITLE or (bare and is_wide(bare)):
            yield bare


def text_of(source: Source) -> str:
    """All that a source says, the names of what it stands in included."""
    item = source.item
    if isinstance(item, Passage):
        place = PurePosixPath(item.document).stem[:LONGEST]
        return f"{place}\n{item.heading}\n{item.text}"
    if isinstance(item, EntityHit):
        return f"{item.name}\n{item.type}\n{item.description}"
    return f"{item.source}\n{item.target}\n{item.keywords}\n{item.description}"
