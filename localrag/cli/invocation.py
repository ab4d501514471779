"""What one call of the command line was given, and how commands get their knowledge base and settings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localrag.cli import output

if TYPE_CHECKING:
    from localrag.kb import KnowledgeBase
    from localrag.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


SUFFIX = ".localrag"
KB_VARIABLE = "LOCALRAG_KB"


class NamedPath(click.Path):
    """The type of paths that a person names: an empty one, as of a variable that is not set, is refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """The path. Raises `click.BadParameter` for an empty one, which would mean the present folder."""
        if value == "":
            self.fail("a path is needed, not an empty text; '.' is this folder.", param, ctx)
        return super().convert(value, param, ctx)


@dataclass
class Invocation:
    """The options that belong to no single command; click hands it to each as its object."""

    kb: Path | None = None
    """The file named with `--kb`, before or after the command; the later one counts."""

    json: bool = False
    """Whether stdout gets one JSON document."""

    flags: dict[str, object] = field(default_factory=dict)
    """Settings given as options, as `load_settings` takes them."""

    def settings(self) -> Settings:
        """The settings of this run."""
        from localrag.settings import load_settings

        return load_settings(flags=self.flags)

    def named_kb(self) -> Path | None:
        """The file that was named, by option or by the variable LOCALRAG_KB; its ending may be left out."""
        variable = os.environ.get(KB_VARIABLE)
        named = self.kb or (Path(variable) if variable else None)
        if named is not None and named.name and not named.exists():
            completed = named.with_name(named.name + SUFFIX)
            return completed if completed.is_file() else named
        return named

    def kb_path(self) -> Path:
        """The knowledge base's file: the one that was named, else the only one in this folder."""
        from localrag.kb import find_knowledge_base

        named = self.named_kb()
        return find_knowledge_base(_folder() if named is None else Path(), named)

    @contextlib.contextmanager
    def knowledge_base(self, *, read_only: bool = False) -> Iterator[KnowledgeBase]:
        """The open knowledge base, with engines that start when they are needed and stop at the end."""
        from localrag import engines as engines_module
        from localrag.kb import KnowledgeBase

        path = self.kb_path()
        settings = self.settings()
        with contextlib.closing(engines_module.Engines(settings)) as engines:
            kb = KnowledgeBase.open(path, settings=settings, engines=engines, read_only=read_only)
            with kb:
                for note in kb.notes:
                    output.warn(note)
                yield kb


def _folder() -> Path:
    """The folder that the command runs in. Raises `KnowledgeBaseNotFound` if it was deleted meanwhile."""
    from localrag.errors import KnowledgeBaseNotFound

    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise KnowledgeBaseNotFound(
            "The folder that this command runs in was deleted.",
            "Go to another folder, or name the knowledge base in full with --kb FILE.",
        ) from error


def _set_kb(context: click.Context, parameter: click.Parameter, value: Path | None) -> None:
    if value is None:
        return
    if not value.name:
        raise click.BadParameter("a file name is needed, such as notes.localrag.", context, parameter)
    context.ensure_object(Invocation).kb = value


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Invocation).json = True


def _set_flag(name: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def callback(context: click.Context, parameter: click.Parameter, value: object) -> None:
        if value is not None:
            context.ensure_object(Invocation).flags[name] = value

    return callback


def kb_option(command: Command) -> Command:
    """Add `--kb FILE`."""
    return click.option(
        "--kb",
        type=click.Path(path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_set_kb,
        help=f"The knowledge base. Without it: the variable {KB_VARIABLE}, else the only *.localrag here.",
    )(command)


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_set_json,
        help="Write one JSON document to stdout, for programs; errors too.",
    )(command)


def engine_options(command: Command) -> Command:
    """Add the options that choose the models and the threads for one run."""
    chat = click.option(
        "--model",
        metavar="NAME",
        expose_value=False,
        callback=_set_flag("models.chat"),
        help="Model that reads and answers: a name of `localrag models list` or a GGUF file.",
    )
    embed = click.option(
        "--embed-model",
        metavar="NAME",
        expose_value=False,
        callback=_set_flag("models.embed"),
        help="Model that makes the vectors.",
    )
    threads = click.option(
        "--threads",
        type=click.IntRange(min=0),
        metavar="N",
        expose_value=False,
        callback=_set_flag("engine.threads"),
        help="Threads of the engine; 0 takes the processor's cores.",
    )
    return chat(embed(threads(command)))


def _free_types(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Invocation).flags["extraction.entity_types"] = ()


def entity_types_option(command: Command) -> Command:
    """Add `--no-entity-types`."""
    return click.option(
        "--no-entity-types",
        is_flag=True,
        expose_value=False,
        callback=_free_types,
        help="Let the model find types of its own instead of those of extraction.entity_types.",
    )(command)


def gleaning_option(command: Command) -> Command:
    """Add `--gleaning off|once|until-no`."""
    return click.option(
        "--gleaning",
        type=click.Choice(["off", "once", "until-no"]),
        expose_value=False,
        callback=_set_flag("extraction.gleaning"),
        help="Whether a passage that was read is looked through again for what is missing, if the model says "
        "that something is: never, once, or until it says no.",
    )(command)


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
