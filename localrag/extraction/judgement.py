"""Weights by which the compact profile judges names and pairs, for each language of prompts.

Logistic regressions with a small ridge penalty over what `engine.judging` counts, fitted on about 160 English
and 80 Chinese hand-marked passages as Qwen2.5-Coder 1.5B read them; none of these is in a reported figure.
The priors of the fit came from cross-validation, so that what the model thinks is not valued too little.
"""

from __future__ import annotations

from dataclasses import dataclass

from localrag.engine.weighed_program import NameWeights, PairWeights


@dataclass(frozen=True)
class Judgement:
    """What is listed in texts of one language."""

    names: NameWeights
    """How names are judged in a text of a sentence or two."""

    names_of_many: NameWeights
    """How they are judged in longer texts: where a list would begin, a name in the middle of a long text
    comes less to the model's mind, so that counts for less."""

    pairs: PairWeights
    """How pairs are judged."""

    least_name: float
    """Log-odds from which on a name is listed."""

    least_pair: float
    """Log-odds from which on a pair is joined."""


MANY = 3
"""Sentences from which on a text is long."""

SURE = 2.5
"""Priors, as log-odds, from which on a name of a long text is listed unweighed; .98 of them are right."""

UNLIKELY = -3.0
"""Priors, as log-odds, below which a name is not weighed."""

JUDGEMENTS = {
    "en": Judgement(
        NameWeights(bias=2.178, prior=0.677, first=0.132, rest=0.347, close=0.156, tokens=-0.52),
        NameWeights(bias=1.584, prior=0.761, first=0.088, rest=0.2, close=0.132, tokens=-0.272),
        PairWeights(
            bias=-1.748,
            ahead=0.056,
            back=0.071,
            better=0.195,
            adjacent=0.33,
            distance=0.275,
            leads=0.737,
            together=0.52,
            entities=0.166,
            siblings=-1.157,
            aside=0.736,
            bound=0.331,
        ),
        -0.5,
        -1.4,
    ),
    "zh": Judgement(
        NameWeights(bias=1.997, prior=0.665, first=0.135, rest=0.364, close=0.067, tokens=-0.444),
        # No long Chinese texts with marked names were there to fit with.
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
        -0.8,
        -1.5,
    ),
}
"""By the language of the prompts."""
