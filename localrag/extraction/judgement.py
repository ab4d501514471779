"""Weights by which the compact profile judges names and pairs, for each language of prompts.

Logistic regressions with a small ridge penalty over what `engine.judging` counts, fitted on about 200 English
and 80 Chinese hand-marked passages, names of short ones as Qwen2.5-Coder 1.5B read them; none of these is in
a reported figure. The priors of the fit came from cross-validation, so that what the model thinks is not
valued too little.
"""

from __future__ import annotations

from dataclasses import dataclass

from localrag.engine.weighed_program import NameWeights, PairWeights


@dataclass(frozen=True)
class Judgement:
    """What is listed in texts of one language."""

    names: NameWeights
    """How names are judged in a text of a sentence or two."""

    pairs: PairWeights
    """How pairs are judged there."""

    weigh_pairs: bool
    """Whether the model is asked there which names go together."""

    least_name: float
    """Log-odds from which on a name is listed there."""

    least_pair: float
    """Log-odds from which on a pair is joined there."""

    least_of_many: float
    """Prior, as log-odds, from which on a name of a longer text is listed. The model is not asked there: in
    the middle of a long text a name comes less to its mind where a list would begin, and chances alone are
    right more often."""


MANY = 3
"""Sentences from which on a text is long."""

UNLIKELY = -3.0
"""Priors, as log-odds, below which a name is not weighed."""

PAIRS_OF_MANY = PairWeights(
    bias=-2.526,
    adjacent=-0.055,
    leads=0.694,
    together=0.297,
    entities=-0.001,
    siblings=-0.409,
    aside=1.201,
    bound=0.392,
    next=0.049,
    several=0.234,
    opening=0.821,
)
"""How pairs are judged in a long text of any language, by the text alone: what is named in its first
sentence, or in several, is joined with most. No long Chinese texts with marked pairs were there to fit it."""

LEAST_PAIR_OF_MANY = -2.5
"""Log-odds from which on a pair of a long text is joined."""

EVEN_TYPES, EVEN_PHRASES = 0.25, 0.5
"""How much of what a model thinks of a type whatever the name, and of a relation's type whatever the pair, is
taken off."""

NEUTRAL = {"en": "Name", "zh": "名称"}
"""A word that names nothing, by the language of the prompts."""

JUDGEMENTS = {
    "en": Judgement(
        NameWeights(bias=2.178, prior=0.677, first=0.132, rest=0.347, close=0.156, tokens=-0.52),
        # What the model thinks of a pair adds nothing here to what its sentences tell.
        PairWeights(
            bias=-5.015,
            adjacent=0.881,
            distance=0.146,
            leads=1.094,
            together=2.341,
            entities=-0.204,
            siblings=-1.36,
            aside=0.863,
            bound=0.609,
            next=-1.345,
            opening=0.467,
        ),
        weigh_pairs=False,
        least_name=-0.5,
        least_pair=-3.0,
        least_of_many=0.0,
    ),
    "zh": Judgement(
        NameWeights(bias=1.997, prior=0.665, first=0.135, rest=0.364, close=0.067, tokens=-0.444),
        PairWeights(
            bias=-1.988,
            ahead=-0.036,
            back=-0.05,
            better=0.441,
            adjacent=0.633,
            distance=-0.073,
            leads=1.215,
            together=-0.507,
            entities=0.486,
            siblings=-1.844,
            aside=-0.237,
            bound=0.374,
        ),
        weigh_pairs=True,
        least_name=-0.8,
        least_pair=-1.5,
        least_of_many=-0.7,
    ),
}
"""By the language of the prompts."""
