"""The options of questions, which `ask` and `search` share: mode, filters, further knowledge bases."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localrag.cli.invocation import NamedPath

if TYPE_CHECKING:
    from localrag.answering.options import AskOptions
    from localrag.kb import KnowledgeBase

Command = TypeVar("Command", bound=Callable[..., Any])

MODES = ("auto", "mix", "naive", "local", "global", "hybrid", "path", "bypass", "drift", "communities")

_MODE_HELP = (
    "auto: by the kind of question; mix: passages, entities and relations; naive: passages only; local: "
    "entities and what they touch; global: relations; hybrid: both; path: what connects the things named; "
    "bypass: the model alone."
)
_FILTERS = (
    (("--document", "documents"), "DOC", True, "Only this document: path, folder/, pattern, or number."),
    (("--folder",), "FOLDER", False, "Only documents in this folder."),
    (("--tag", "tags"), "TAG", True, "Only documents with this tag."),
    (("--media",), "KIND", True, "Only documents of this kind, such as md or application/pdf."),
    (
        ("--from", "since"),
        "DAY",
        False,
        "Only files changed on this day or later: 2024-05-31, 2024-05, 2024.",
    ),
    (("--until",), "DAY", False, "Only files changed until the end of this day, month or year."),
    (("--type", "types"), "TYPE", True, "Only entities of this type."),
    (("--claim-type", "claim_types"), "TYPE", True, "Only documents that make a claim of this type."),
    (("--claim-status", "claim_statuses"), "STATUS", True, "Only TRUE, FALSE or SUSPECTED claims."),
)


@dataclass(frozen=True)
class Asked:
    """What was given of the shared options."""

    mode: str
    """How it is searched."""

    filters: dict[str, Any]
    """What the search is narrowed to, by the names of the options."""

    bases: tuple[Path, ...]
    """Further knowledge bases."""

    def options(self, kb: KnowledgeBase, **more: Any) -> AskOptions:
        """The options for the library. Raises `UsageError` for a filter that names what is not there."""
        from localrag.answering.options import AskOptions

        return AskOptions(mode=self.mode, filter=kb.filter(**self.filters), bases=self.bases, **more)


def question_options(command: Command) -> Command:
    """Add the shared options; the command gets them as one `Asked`, named `asked`."""

    @functools.wraps(command)  # with the options that were added to it before
    def gathered(*context: Any, **given: Any) -> object:
        names = [words[-1].lstrip("-") for words, *_ in _FILTERS]
        filters = {name: given.pop(name) for name in names}
        asked = Asked(given.pop("mode"), filters, given.pop("bases"))
        return command(*context, asked=asked, **given)

    wrapped: Callable[..., object] = click.option(
        "--base",
        "bases",
        type=NamedPath(),
        multiple=True,
        metavar="FILE",
        help="Search this knowledge base too; may be given several times.",
    )(gathered)
    for words, metavar, many, text in reversed(_FILTERS):
        default: dict[str, Any] = {"multiple": True} if many else {"default": ""}
        wrapped = click.option(*words, metavar=metavar, help=text, **default)(wrapped)
    return click.option(  # type: ignore[return-value]
        "--mode", type=click.Choice(MODES), default="auto", show_default=True, help=_MODE_HELP
    )(wrapped)
