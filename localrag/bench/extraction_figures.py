"""What is told of a set: shares and rates made of the counts, and None where the set cannot tell."""

from __future__ import annotations

from dataclasses import dataclass

from localrag.bench.extraction_data import GoldSet
from localrag.bench.extraction_scores import Share, Tally


@dataclass(frozen=True)
class Figures:
    """What is told of a set; None where the set cannot tell it."""

    entity_p: float | None
    """Share of the extracted entities that are marked."""

    entity_r: float | None
    """Share of the marked entities that were extracted."""

    entity_f1: float | None
    """Both in one."""

    typed_f1: float | None
    """The same with the right type, where the model was given the set's types."""

    pair_recall: float | None
    """Share of the related pairs that are joined by any relation."""

    relation_f1: float | None
    """Relations with type and direction, where the model was given the set's types."""

    nodes_per_gold: float | None
    """Nodes per found entity after merging; 1 is ideal, more means spellings that stayed apart."""

    invented_share: float
    """Names written that are not in the text."""

    unusable_share: float
    """Calls that failed or wrote what is no record."""

    orphan_share: float
    """Relations written with an end that is no entity."""

    runaway_share: float
    """Calls that their bound of tokens ended in the middle of a loop."""

    seconds_per_passage: float
    """Wall time."""

    tokens_per_passage: float
    """Tokens computed: prompts without shared prefixes, and what was written."""


@dataclass(frozen=True)
class Further:
    """More of the same run, for a closer look."""

    passages: int
    """Passages read."""

    calls: int
    """Calls of the model."""

    entities_per_passage: float
    """Entities extracted."""

    relations_per_passage: float
    """Relations extracted."""

    pair_precision: float | None
    """Share of the joined pairs that are marked."""

    typed_p: float | None
    """Precision with types."""

    typed_r: float | None
    """Recall with types."""

    relation_p: float | None
    """Precision of relations with type and direction."""

    relation_r: float | None
    """Recall of relations with type and direction."""

    gold_per_node: float | None
    """Marked entities per matching node; more than 1 means wrongly merged."""

    cut_share: float
    """Calls that their bound of tokens ended."""

    looped_share: float
    """Calls in which a loop was taken back."""

    new_prompt_tokens_per_passage: float
    """Tokens of prompts that were computed."""

    shared_prompt_tokens_per_passage: float
    """Tokens of prompts that a shared prefix gave."""

    output_tokens_per_passage: float
    """Tokens written."""

    cpu_seconds_per_passage: float | None
    """Processor time of all threads."""


def figures(gold: GoldSet, total: Tally, passages: int, seconds: float, *, schema: bool) -> Figures:
    """What a run tells of a set; `schema` says whether the model was given the set's types.

    Precision, and what is made of it, is None where not all entities are marked; merging where the set has
    no aliases.
    """
    whole = gold.exhaustive
    cost = total.cost
    return Figures(
        entity_p=_share(total.right) if whole else None,
        entity_r=_share(total.found),
        entity_f1=f1(total.right, total.found) if whole else None,
        typed_f1=f1(total.typed_right, total.typed_found) if whole and schema else None,
        pair_recall=_share(total.pairs),
        relation_f1=f1(total.relations_right, total.relations_found) if whole and schema else None,
        nodes_per_gold=_share(total.nodes) if gold.aliases else None,
        invented_share=_share(total.invented) or 0.0,
        unusable_share=_share(Share(cost.unusable, cost.calls)) or 0.0,
        orphan_share=_share(total.orphans) or 0.0,
        runaway_share=_share(Share(cost.runaway, cost.calls)) or 0.0,
        seconds_per_passage=round(seconds / passages, 3),
        tokens_per_passage=round((cost.prompt_tokens + cost.output_tokens) / passages, 1),
    )


def further(gold: GoldSet, total: Tally, passages: int, cpu: float | None, *, schema: bool) -> Further:
    """The closer look at the same run; `cpu` are seconds of processor time, None if not known."""
    cost, whole = total.cost, gold.exhaustive
    return Further(
        passages=passages,
        calls=cost.calls,
        entities_per_passage=round(total.right.total / passages, 2),
        relations_per_passage=round(total.joined.total / passages, 2),
        pair_precision=_share(total.joined) if whole else None,
        typed_p=_share(total.typed_right) if whole and schema else None,
        typed_r=_share(total.typed_found) if schema else None,
        relation_p=_share(total.relations_right) if whole and schema else None,
        relation_r=_share(total.relations_found) if schema else None,
        gold_per_node=_share(total.golds) if gold.aliases else None,
        cut_share=_share(Share(cost.cut, cost.calls)) or 0.0,
        looped_share=_share(Share(cost.looped, cost.calls)) or 0.0,
        new_prompt_tokens_per_passage=round(cost.prompt_tokens / passages, 1),
        shared_prompt_tokens_per_passage=round(cost.shared_tokens / passages, 1),
        output_tokens_per_passage=round(cost.output_tokens / passages, 1),
        cpu_seconds_per_passage=None if cpu is None else round(cpu / passages, 3),
    )


def f1(precision: Share, recall: Share) -> float | None:
    """The harmonic mean of two shares; None if neither can be told, 0 if nothing is right."""
    if precision.value is None and recall.value is None:
        return None
    p, r = precision.value or 0.0, recall.value or 0.0
    return round(2 * p * r / (p + r), 4) if p + r else 0.0


def _share(share: Share) -> float | None:
    return None if share.value is None else round(share.value, 4)
