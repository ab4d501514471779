"""The program of weighed records: which names a text offers, and how what a model thinks of them counts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from localrag.errors import ConstraintError

LINKS = ("siblings", "aside", "bound")
"""What can stand between two names, under the names of its weights."""


@dataclass(frozen=True)
class NameWeights:
    """How a name's log-odds follow from what is known of it; a logistic regression."""

    bias: float = 0.0
    """What is added for every name."""

    prior: float = 1.0
    """For its log-odds before the model was asked."""

    first: float = 0.0
    """For the logarithm of its first token's probability, where a line of the list may begin."""

    rest: float = 0.0
    """For the mean logarithm of the tokens behind the first, that which ends the name among them."""

    close: float = 0.0
    """For the logarithm of what ends the name."""

    tokens: float = 0.0
    """For the logarithm of the number of its tokens."""


@dataclass(frozen=True)
class PairWeights:
    """How the log-odds that two entities are joined follow from what is known of them."""

    bias: float = 0.0
    """What is added for every pair."""

    ahead: float = 0.0
    """For the logarithm of the probability of the later one behind the earlier one and an arrow, among all
    others."""

    back: float = 0.0
    """For the same the other way round."""

    better: float = 0.0
    """For the larger of the two."""

    adjacent: float = 0.0
    """If no other entity stands between them."""

    distance: float = 0.0
    """For the logarithm of how many places they are apart in the order of the text."""

    leads: float = 0.0
    """If one is the first of the text."""

    together: float = 0.0
    """If one sentence names both."""

    entities: float = 0.0
    """For the logarithm of the number of entities."""

    siblings: float = 0.0
    """If only a comma or an "and" stands between them: items of one list."""

    aside: float = 0.0
    """If one stands in parentheses behind the other."""

    bound: float = 0.0
    """If a short word such as "of" or "in" binds one to the other."""

    next: float = 0.0
    """If they stand in neighbouring sentences and in none together."""

    several: float = 0.0
    """For how many of the two stand in more than one sentence."""

    opening: float = 0.0
    """For how many of them stand in the first sentence."""


@dataclass(frozen=True)
class WeighedRecords:
    """Lines as `LeanRecords` writes them, but the program and not the model says which.

    The model reads each name where a line of the list may begin, without writing it; what it thinks of the
    name's tokens, together with the name's prior, decides whether it is listed. Behind the names that are
    listed it reads the types, and with `weigh_pairs` which others may follow an arrow; behind the pairs that
    are likely enough, either way, the phrases. It writes only where types or phrases are its own words. An
    engine that cannot weigh offers the likely names to the model as `LeanRecords` does.
    """

    names: tuple[str, ...]
    """What an entity may be called, in the order of the text; distinct."""

    priors: tuple[float, ...]
    """For each name the log-odds of being one, as far as its form and place tell."""

    spans: tuple[tuple[int, int], ...]
    """For each name the place where it stands."""

    sentences: tuple[tuple[int, ...], ...]
    """For each name the numbers of the sentences that hold it."""

    types: tuple[str, ...]
    """As in `LeanRecords`."""

    links: tuple[tuple[int, int, str], ...] = ()
    """What the text between two names says, by their numbers in `names`, the smaller one first: one of
    `LINKS`; pairs about which it says nothing are left out."""

    type_words: int = 3
    """As in `LeanRecords`."""

    type_chars: int = 20
    """As in `LeanRecords`."""

    phrases: tuple[str, ...] = ()
    """As in `LeanRecords`."""

    phrase_words: int = 8
    """As in `LeanRecords`."""

    word_chars: int = 24
    """As in `LeanRecords`."""

    name_weights: NameWeights = NameWeights()
    """How names are judged."""

    pair_weights: PairWeights = PairWeights()
    """How pairs are judged."""

    least_name: float = 0.0
    """Log-odds from which on a name is listed."""

    least_pair: float = 0.0
    """Log-odds from which on a pair is joined."""

    sure: float = 100.0
    """Priors from here on need no weighing."""

    eager: float = -1.0
    """Priors from which on types are read together with the name: it will hardly be left out."""

    weigh_pairs: bool = True
    """Whether the model is asked which names go together; else only the text tells."""

    writes_phrases: bool = True
    """Whether the model writes what joins two entities where `phrases` lists nothing; else it stays empty."""

    even_types: float = 0.0
    """How much of what the model thinks of a type behind `neutral` is taken off behind names, from 0 to 1."""

    neutral: str = ""
    """A word that may stand for anything; empty takes nothing off."""

    even_phrases: float = 0.0
    """How much of a phrase's mean over all pairs of the text is taken off."""

    unlikely: float = -100.0
    """Priors below are not weighed and not listed."""

    max_entities: int = 14
    """Most entity lines; the likeliest stay."""

    max_relations: int = 16
    """Most relation lines; the likeliest stay."""

    pairs_per_name: float = 0.0
    """Most relation lines for each entity line, on average; 0 sets no such bound."""

    explain: bool = False
    """Whether the result holds the numbers that were judged, for fitting the weights."""

    kind: Literal["weighed"] = "weighed"

    def __post_init__(self) -> None:
        """Raises `ConstraintError` for lists of different lengths."""
        if len({len(self.names), len(self.priors), len(self.spans), len(self.sentences)}) != 1:
            raise ConstraintError("Names, priors, spans and sentences of weighed records go together.")


def checked(program: WeighedRecords) -> None:
    """Raises `ConstraintError` for types and phrases that cannot stand on a line, or have no room."""
    if any(not text.strip() or "\n" in text for text in (*program.types, *program.phrases)):
        raise ConstraintError("Types and phrases of weighed records are words on one line.")
    if len(set(program.types)) < len(program.types) or len(set(program.phrases)) < len(program.phrases):
        raise ConstraintError("Types and phrases of weighed records are told apart by their words.")
    if min(program.phrase_words, program.word_chars, program.type_words, program.type_chars) < 1:
        raise ConstraintError("A phrase needs room for at least one word of one character.")


def weighed_records(data: dict[str, Any]) -> WeighedRecords:
    """The program of JSON data."""
    lists = {key: tuple(data[key]) for key in ("names", "priors", "types", "phrases")}
    pairs = {key: tuple(tuple(row) for row in data[key]) for key in ("spans", "sentences", "links")}
    weights = {
        "name_weights": NameWeights(
            **{item.name: data["name_weights"][item.name] for item in fields(NameWeights)}
        ),
        "pair_weights": PairWeights(
            **{item.name: data["pair_weights"][item.name] for item in fields(PairWeights)}
        ),
    }
    return WeighedRecords(**{**data, **lists, **pairs, **weights})
