"""What each prompt is given to fill in, and what it cannot do without.

The names are those that users of LightRAG and GraphRAG know from their prompts, so that a prompt written for
either needs few changes.
"""

from __future__ import annotations

from dataclasses import dataclass

_DELIMITERS = frozenset({"tuple_delimiter", "record_delimiter", "completion_delimiter"})
_EXTRACTION = _DELIMITERS | {"entity_types", "language", "examples", "input_text"}
_ANSWER = frozenset({"history", "response_type", "user_prompt"})

VARIABLE = frozenset(
    {
        "content_data",
        "context_data",
        "description_list",
        "description_name",
        "entity_name",
        "entity_names",
        "history",
        "input_text",
        "query",
        "user_prompt",
    }
)
"""Inputs whose value differs from call to call; what stands before the first of them is computed once."""


@dataclass(frozen=True)
class Contract:
    """What one prompt is given and must hold."""

    given: frozenset[str] = frozenset()
    """Inputs that have a value when the prompt is used."""

    needed: tuple[str, ...] = ()
    """Inputs without which the prompt is of no use."""

    beside: str = ""
    """Another prompt of the same folder that may hold the needed inputs instead."""

    shown: frozenset[str] = frozenset()
    """Inputs that should stand here or in `shown_beside`, since the form of the output needs them."""

    shown_beside: tuple[str, ...] = ()
    """Prompts that are sent together with this one."""

    ending: str = ""
    """With what the text must end."""

    mark: str = ""
    """What the text should tell the model to write."""


def _extraction(family: str) -> dict[tuple[str, str], Contract]:
    shown = frozenset() if family == "compact" else _DELIMITERS
    inputs = _EXTRACTION - (_DELIMITERS if family == "compact" else frozenset())
    system = Contract(
        inputs, shown=shown | {"entity_types"}, shown_beside=("extraction_examples", "extraction_user")
    )
    prompts = {
        "extraction_system": system,
        "extraction_user": Contract(inputs, ("input_text",), "extraction_system"),
        "extraction_examples": Contract(inputs - {"examples", "input_text"}),
        "relation_types": Contract(frozenset({"relation_types", "language"}), ("relation_types",)),
        "extraction_continue": Contract(inputs - {"examples", "input_text"}),
        "extraction_loop": Contract(inputs - {"examples", "input_text"}, mark="YES"),
    }
    return {(family, name): found for name, found in prompts.items()}


_CONTRACTS: dict[tuple[str, str], Contract] = {
    **_extraction("lightrag"),
    **_extraction("graphrag"),
    **_extraction("compact"),
    ("lightrag", "summarize_descriptions"): Contract(
        frozenset({"description_type", "description_name", "description_list", "summary_length", "language"}),
        ("description_list",),
    ),
    ("graphrag", "summarize_descriptions"): Contract(
        frozenset({"entity_name", "description_list", "summary_length", "language"}), ("description_list",)
    ),
    ("lightrag", "keywords"): Contract(frozenset({"examples", "language", "query"}), ("query",)),
    ("lightrag", "keywords_examples"): Contract(frozenset({"language"})),
    ("lightrag", "rewrite"): Contract(frozenset({"history", "query"}), ("history", "query")),
    ("lightrag", "rag_response"): Contract(
        _ANSWER | {"context_data"}, ("context_data",), mark="[no-context]"
    ),
    ("lightrag", "naive_response"): Contract(
        _ANSWER | {"content_data"}, ("content_data",), mark="[no-context]"
    ),
    ("lightrag", "naive_response_flexible"): Contract(
        _ANSWER | {"content_data"}, ("content_data",), mark="[General Knowledge]"
    ),
    ("lightrag", "fail_response"): Contract(ending="[no-context]"),
    ("graphrag", "claim_extraction"): Contract(
        _DELIMITERS | {"entity_specs", "claim_description", "examples", "input_text", "language"},
        ("entity_specs", "claim_description"),
        shown=_DELIMITERS,
        shown_beside=("claim_examples", "claim_user"),
    ),
    ("graphrag", "claim_user"): Contract(
        _DELIMITERS | {"input_text", "entity_names", "language"}, ("input_text",), "claim_extraction"
    ),
    ("graphrag", "claim_examples"): Contract(_DELIMITERS | {"language"}),
    ("graphrag", "claim_types"): Contract(frozenset({"claim_types", "language"}), ("claim_types",)),
    ("graphrag", "community_report"): Contract(frozenset({"input_text", "language"}), ("input_text",)),
}

INPUTS = frozenset[str]().union(*(contract.given for contract in _CONTRACTS.values()))
"""Every input that a prompt can have."""


def contract(family: str, name: str) -> Contract | None:
    """What the prompt is given and must hold; None if nothing in localrag uses it."""
    return _CONTRACTS.get((family, name))


def families() -> dict[str, tuple[str, ...]]:
    """The names of the prompts of each family."""
    found: dict[str, list[str]] = {}
    for family, name in _CONTRACTS:
        found.setdefault(family, []).append(name)
    return {family: tuple(names) for family, names in found.items()}
